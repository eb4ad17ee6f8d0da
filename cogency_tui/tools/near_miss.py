"""What a file has in place of text that was not found in it.

Invariant: bounded work and a short answer, whatever the file; lines are quoted as JSON strings, so that
tabs, trailing blanks and odd characters can be seen and copied.
"""

import json

_MOST_LINES = 20_000
_MOST_COMPARED = 5_000
_LONGEST = 400
_SHOWN = 12
_ALIKE = 0.6


def near_miss(plain: str, old: str) -> str:
    """One paragraph: the passage that differs in white space only, or the most similar one."""
    lines = plain.split("\n")[:_MOST_LINES]
    wanted = old.strip("\n").split("\n")
    if not any(line.strip() for line in wanted):
        return "It is white space only: give the text around it too."
    start = _same_but_for_blanks(lines, wanted)
    if start is not None:
        return (
            f"Line {start + 1:,} differs from it only in white space. The file has:\n"
            f"{_quoted(lines, start, len(wanted))}"
        )
    start = _most_similar(lines, wanted)
    if start is not None:
        return f"The most similar passage is:\n{_quoted(lines, start, len(wanted))}"
    return "Nothing in the file is like it: read the file again."


def _same_but_for_blanks(lines: list[str], wanted: list[str]) -> int | None:
    target = ["".join(line.split()) for line in wanted]
    squeezed = ["".join(line.split()) for line in lines]
    if len(target) == 1:
        return next((index for index, line in enumerate(squeezed) if target[0] in line), None)
    first, *middle, last = target
    for index in range(len(squeezed) - len(target) + 1):
        if (
            squeezed[index].endswith(first)
            and squeezed[index + len(target) - 1].startswith(last)
            and squeezed[index + 1 : index + len(target) - 1] == middle
        ):
            return index
    return None


def _most_similar(lines: list[str], wanted: list[str]) -> int | None:
    from difflib import SequenceMatcher

    # The longest line says most about where the passage is.
    offset = max(range(len(wanted)), key=lambda index: len(wanted[index].strip()))
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted[offset].strip()[:_LONGEST])
    best, place = _ALIKE, None
    for index, line in enumerate(lines[:_MOST_COMPARED]):
        matcher.set_seq1(line.strip()[:_LONGEST])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            ratio = matcher.ratio()
            if ratio > best:
                best, place = ratio, index
    return None if place is None else max(0, place - offset)


def _quoted(lines: list[str], start: int, count: int) -> str:
    rows = [
        f"{number}: {json.dumps(line[:_LONGEST], ensure_ascii=False)}"
        for number, line in enumerate(lines[start : start + min(count, _SHOWN)], start + 1)
    ]
    if count > _SHOWN:
        rows.append("…")
    return "\n".join(rows)
