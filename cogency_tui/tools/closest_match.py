"""The passage of a file that text which was not found in it probably meant.

Invariant: bounded work and a short answer, whatever the file. Lines are quoted as they are; differences
that are invisible in them (blanks, look-alikes, control characters) are described in words.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

_MOST_LINES = 20_000
_MOST_COMPARED = 5_000
_LONGEST = 400
_SHOWN = 12
_ALIKE = 0.6
_LEAST = 0.3
"""Least similarity to `old` of a passage that is shown."""

_SHORTEST_PART = 8
"""Least length of `old` that is looked for as a part of a line."""

_MOST_PLACES = 50
"""Most places compared for one line that occurs in several."""

_MOST_PASSAGES = 8
_MOST_EXPECTED = 60
"""Lines of `old` that are compared with each passage."""

_GAP = 3
"""Most lines that one side may have more than the other."""

_IN_GAP = 0.9
"""Weight of an equal line that is not in its place."""

_LEAD = 150
_BLANKS = " \t\f\v"
_NUMBERED = re.compile(r" *\d+\t")
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\'": "'", "\\\\": "\\"}
_ESCAPE = re.compile(r"\\[nt\"'\\]")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "0": "\0"}
_CONTROL_ESCAPE = re.compile(r"\\(?:(?P<code>x[01][0-9a-fA-F]|u00[01][0-9a-fA-F])|(?P<letter>[ntrbfva0\\]))")
_CONTROL_NAMES = {
    "\n": "a line break",
    "\t": "a tab",
    "\r": "a carriage return",
    "\b": "a backspace character",
    "\f": "a form feed",
    "\0": "a null character",
}
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#x[0-9a-fA-F]{1,6}|[a-zA-Z]{2,10});")
_MOST_ENTITIES = 3
_LOOKALIKES = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′ʼ`´", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("\u00a0\u2007\u202f\u2002\u2003\u2009\u200a\u3000", " "),
    }
)
_PLAIN_NAMES = {" ": "a space", "\t": "a tab", "\r": "a carriage return", "": "nothing"}


def near_miss(plain: str, old: str) -> str:
    """Describe the first line that differs between `old` and the passage that it probably meant, on both
    sides."""
    lines = plain.split("\n")[:_MOST_LINES]
    expected = old.strip("\n").split("\n")
    if not any(line.strip() for line in expected):
        return "It is only white space: include the text around it."
    if slip := _slip(plain, old, expected):
        return slip
    start = _same_but_for_blanks(lines, expected)
    if start is None:
        start = _most_similar(lines, expected[:_MOST_EXPECTED])
    if start is None:
        return "The file has nothing similar: read the file again."
    return _compared(lines, start, expected)


def _slip(plain: str, old: str, expected: Sequence[str]) -> str:
    """Describe a change of `old` as a whole, without which the file has it."""
    if (bare := "\n".join(expected)) in plain:
        return _longer_line(plain, old, bare) or (
            "It is there, but without the line breaks at its beginning or end."
        )
    if all(_NUMBERED.match(line) for line in expected if line):
        bare = "\n".join(_NUMBERED.sub("", line, count=1) for line in expected)
        if bare in plain:
            return "old has the line numbers that read shows: leave them out."
    if "\\" in old and _ESCAPE.sub(lambda match: _ESCAPES[match[0]], old) in plain:
        return r"old is escaped twice: write \n, \t, \" and \\ once in the JSON string, not as \\n."
    return _escape_slip(plain, old) or _entity_slip(plain, old) or _blank_lines_slip(plain, expected)


def _longer_line(plain: str, old: str, bare: str) -> str:
    """Describe the longer line of the file in which the last line of `old` is, which ends with a line break
    there; empty if the file has that as a line. `bare` is without line breaks around it."""
    if not old.endswith("\n") or f"{bare}\n" in plain or plain.endswith(bare):
        return ""
    number = plain.count("\n", 0, plain.index(bare) + len(bare))
    return _difference(plain.split("\n")[number], bare.rpartition("\n")[2], number + 1)


def _escape_slip(plain: str, old: str) -> str:
    """Report the first escape sequence of the file that `old` has as the character itself."""
    target = _CONTROL_ESCAPE.sub(_unescaped, old)
    start = _CONTROL_ESCAPE.sub(_unescaped, plain).find(target)
    if start < 0:
        return ""
    same = _escapes(old)
    for place, escape in _escapes(plain).items():
        if start <= place < start + len(target) and place - start not in same:
            name = _CONTROL_NAMES.get(target[place - start], "a control character")
            return f"The file has {escape} where old has {name}: write \\{escape} in the JSON string."
    return ""


def _unescaped(escape: re.Match[str]) -> str:
    if code := escape["code"]:
        return chr(int(code[1:], 16))
    return _CONTROLS.get(escape["letter"], escape[0])


def _escapes(text: str) -> dict[int, str]:
    """Return the escape sequences of control characters, by their place in the text without them."""
    escapes: dict[int, str] = {}
    shift = 0
    for escape in _CONTROL_ESCAPE.finditer(text):
        if (longer := len(escape[0]) - len(_unescaped(escape))) > 0:
            escapes[escape.start() - shift] = escape[0]
            shift += longer
    return escapes


def _entity_slip(plain: str, old: str) -> str:
    from html import unescape

    entities = list(dict.fromkeys(_ENTITY.findall(old)))
    if not entities or _ENTITY.sub(lambda entity: unescape(entity[0]), old) not in plain:
        return ""
    meant = ", ".join(f"{unescape(entity)} for {entity}" for entity in entities[:_MOST_ENTITIES])
    return f"old has HTML entities where the file has the characters: write {meant}."


def _blank_lines_slip(plain: str, expected: Sequence[str]) -> str:
    """Report the first run of blank lines whose length differs, if nothing else does."""
    lines = plain.split("\n")[:_MOST_LINES]
    full = [index for index, line in enumerate(lines) if line.strip()]
    wanted = [index for index, line in enumerate(expected) if line.strip()]
    texts, (first, *middle) = [lines[index] for index in full], [expected[index] for index in wanted]
    if not middle:
        return ""
    for at in range(len(texts) - len(middle)):
        following = texts[at + 1 : at + 1 + len(middle)]
        if (
            texts[at].endswith(first)
            and following[:-1] == middle[:-1]
            and following[-1].startswith(middle[-1])
        ):
            return _blank_lines_compared(full[at : at + len(wanted)], wanted)
    return ""


def _blank_lines_compared(have: Sequence[int], wanted: Sequence[int]) -> str:
    """Report the first blank lines that differ between the indices of the same other lines."""
    for (above, here), (above_in_old, here_in_old) in zip(pairwise(have), pairwise(wanted), strict=True):
        blank, blank_in_old = here - above - 1, here_in_old - above_in_old - 1
        if blank != blank_in_old:
            count = f"{blank or 'no'} blank line{'' if blank == 1 else 's'}"
            return f"The file has {count} before line {here + 1:,}, old has {blank_in_old or 'none'}."
    return ""


def _same_but_for_blanks(lines: list[str], expected: list[str]) -> int | None:
    target = ["".join(line.split()) for line in expected]
    squeezed = ["".join(line.split()) for line in lines]
    if len(target) == 1:
        if target[0] in squeezed:
            return squeezed.index(target[0])
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


def _most_similar(lines: list[str], expected: list[str]) -> int | None:
    """Find the start of the passage that is most like `expected`; None if none is alike."""
    passages = [*_with_equal_lines(lines, expected), *_with_a_similar_line(lines, expected)]
    rated = [(_likeness(lines, start, expected), -start) for start in dict.fromkeys(passages)]
    best, place = max(rated, default=(0.0, 0))
    return -place if best >= _LEAST else _with_a_similar_part(lines, expected)


def _with_a_similar_part(lines: list[str], expected: list[str]) -> int | None:
    """Find the line that has most of a single expected one in one piece; None if none has half of it."""
    from difflib import SequenceMatcher

    text = expected[0].strip()[:_LONGEST]
    if len(expected) > 1 or len(text) < _SHORTEST_PART:
        return None
    # Half of the text contains one of these quarters as a whole.
    size = len(text) // 4
    quarters = [text[start : start + size] for start in range(0, len(text) - size + 1, size)]
    alike = (index for index, line in enumerate(lines) if any(each in line for each in quarters))
    best, place = len(text) // 2, None
    for index in islice(alike, _MOST_PLACES):
        matcher = SequenceMatcher(None, lines[index], text, autojunk=False)
        if (size := matcher.find_longest_match().size) > best:
            best, place = size, index
    return place


def _with_equal_lines(lines: list[str], expected: list[str]) -> list[int]:
    """Find passages that have lines of `expected`; those with most of their text first."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for index, line in enumerate(lines):
        if len(found := places[line.strip()]) < _MOST_PLACES:
            found.append(index)
    votes: Counter[int] = Counter()
    for offset, line in enumerate(expected):
        text = line.strip()
        for index in places.get(text, ()) if text else ():
            votes[max(0, index - offset)] += len(text)
    return [start for start, _ in votes.most_common(_MOST_PASSAGES)]


def _with_a_similar_line(lines: list[str], expected: list[str]) -> Iterator[int]:
    """Find the passage whose line is most like the longest of `expected`."""
    from difflib import SequenceMatcher

    # The longest line identifies the passage best.
    offset = max(range(len(expected)), key=lambda index: len(expected[index].strip()))
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(expected[offset].strip()[:_LONGEST])
    best, place = _ALIKE, None
    for index, line in enumerate(lines[:_MOST_COMPARED]):
        matcher.set_seq1(line.strip()[:_LONGEST])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            ratio = matcher.ratio()
            if ratio > best:
                best, place = ratio, index
    if place is not None:
        yield max(0, place - offset)


def _likeness(lines: list[str], start: int, expected: list[str]) -> float:
    """Return the share of the text of `expected` that the lines from `start` on have, or nearly have."""
    whole = sum(len(line.strip()) for line in expected)
    return sum(_likeness_at(lines, start, index, target) for index, target in enumerate(expected)) / whole


def _likeness_at(lines: list[str], start: int, index: int, expected: str) -> float:
    """Rate how much of an expected line is in its place or a few lines off: one side may have a line more."""
    text = expected.strip()
    place = start + index
    ratio = _ratio(lines[place], expected) if place < len(lines) else 0.0
    near = [*lines[max(start, place - _GAP) : place], *lines[place + 1 : place + 1 + _GAP]]
    if ratio < _IN_GAP and any(line.strip() == text for line in near):
        ratio = _IN_GAP
    return ratio * len(text)


def _ratio(have: str, expected: str) -> float:
    """Rate how alike two lines are; 0 where they are not."""
    from difflib import SequenceMatcher

    have, expected = have.strip()[:_LONGEST], expected.strip()[:_LONGEST]
    if have == expected:
        return 1.0
    matcher = SequenceMatcher(None, have, expected, autojunk=False)
    if matcher.real_quick_ratio() <= _ALIKE or matcher.quick_ratio() <= _ALIKE:
        return 0.0
    ratio = matcher.ratio()
    return ratio if ratio > _ALIKE else 0.0


def _compared(lines: list[str], start: int, expected: list[str]) -> str:
    """Describe the first line that differs, and quote the passage where several do."""
    passage = lines[start : start + len(expected)]
    differ = [index for index in range(len(expected)) if not _same(passage, expected, index)]
    first = differ[0]
    number = start + first + 1
    if first >= len(passage):
        return f"The file ends after line {len(lines):,}; old continues with:\n{_shown(expected[first], 0)}"
    if missing := _missing(lines, start + first, expected, first):
        return missing
    difference = _difference(passage[first], expected[first], number)
    if len(differ) == 1:
        return difference
    rows = [f"{start + index + 1}\t{_shown(line, 0)}" for index, line in enumerate(passage[:_SHOWN])]
    more = ["…"] if len(passage) > _SHOWN else []
    return "\n".join([difference, f"{len(differ):,} lines differ. The file has:", *rows, *more])


def _same(passage: list[str], expected: list[str], index: int) -> bool:
    """Return whether a line of the passage contains the expected one: the first may begin before it, the last
    end after it."""
    if index >= len(passage):
        return False
    have, line = passage[index], expected[index]
    if len(expected) == 1:
        return line in have
    if index == 0:
        return have.endswith(line)
    return have.startswith(line) if index == len(expected) - 1 else have == line


def _missing(lines: list[str], place: int, expected: list[str], index: int) -> str:
    """Report that one side has a few lines more than the other, if that is the difference."""
    for gap in range(1, _GAP + 1):
        if lines[place + gap : place + gap + 1] == expected[index : index + 1]:
            left_out = "\n".join(_shown(line, 0) for line in lines[place : place + gap])
            which = f"line {place + 1:,}" if gap == 1 else f"lines {place + 1:,} to {place + gap:,}"
            return f"old leaves out {which} of the file:\n{left_out}"
        if expected[index + gap : index + gap + 1] == lines[place : place + 1]:
            more = "\n".join(_shown(line, 0) for line in expected[index : index + gap])
            what = "a line" if gap == 1 else f"{gap} lines"
            return f"old has {what} before line {place + 1:,} that the file does not have:\n{more}"
    return ""


def _difference(have: str, expected: str, number: int) -> str:
    """Describe the difference between a line of the file and one of `old`, and quote both."""
    at = _first_difference(have, expected)
    difference = _blank_difference(have, expected) or _odd_difference(have, expected, at) or "differs"
    return f"Line {number:,} {difference}:\nfile: {_shown(have, at[0])}\nold:  {_shown(expected, at[1])}"


def _blank_difference(have: str, expected: str) -> str:
    """Describe a difference in the blanks around a line, or within it."""
    if "".join(have.split()) != "".join(expected.split()):
        return ""
    indents = _indent(have), _indent(expected)
    if have.strip(_BLANKS) == expected.strip(_BLANKS) and indents[0] != indents[1]:
        return f"is indented with {_blanks(indents[0])}, old has {_blanks(indents[1])}"
    ends = _trail(have), _trail(expected)
    if have.strip(_BLANKS) == expected.strip(_BLANKS) and ends[0] != ends[1]:
        return f"ends with {_blanks(ends[0])}, in old with {_blanks(ends[1])}"
    return ""


def _odd_difference(have: str, expected: str, at: tuple[int, int]) -> str:
    """Name the two characters that differ first, where one of them is not what it looks like."""
    one, other = have[at[0] : at[0] + 1], expected[at[1] : at[1] + 1]
    if have.translate(_LOOKALIKES) != expected.translate(_LOOKALIKES) and not (_odd(one) or _odd(other)):
        return ""
    if (one.isspace() and other.isalnum()) or (one.isalnum() and other.isspace()):
        # The rest of the line differs, too.
        return ""
    return f"has {_named(one)} in column {at[0] + 1}, old has {_named(other)}"


def _first_difference(have: str, expected: str) -> tuple[int, int]:
    """Return the position of the first difference in each line: a part of a line is aligned where it fits
    best."""
    from difflib import SequenceMatcher

    shift = 0
    if len(expected) < len(have):
        match = SequenceMatcher(
            None, have[:_LONGEST], expected[:_LONGEST], autojunk=False
        ).find_longest_match()
        shift = max(0, match.a - match.b)
        if not have[:shift].strip():
            # Only the indentation is missing.
            shift = 0
    length = min(len(have) - shift, len(expected))
    place = next((index for index in range(length) if have[shift + index] != expected[index]), length)
    return shift + place, place


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(_BLANKS))]


def _trail(line: str) -> str:
    return line[len(line.rstrip(_BLANKS)) :]


def _blanks(text: str) -> str:
    """Describe blanks in words: `4 spaces`, `a tab and 2 spaces`."""
    if not text:
        return "nothing"
    runs: list[list[str]] = []
    for character in text:
        if runs and runs[-1][0] == character:
            runs[-1].append(character)
        else:
            runs.append([character])
    names = {" ": "space", "\t": "tab"}
    words: list[str] = []
    for run in runs[:4]:
        name = names.get(run[0], "blank")
        words.append(f"a {name}" if len(run) == 1 else f"{len(run):,} {name}s")
    return " and ".join([*words, *(["more"] if len(runs) > 4 else [])])


def _odd(character: str) -> bool:
    return bool(character) and not (character.isascii() and character.isprintable())


def _named(character: str) -> str:
    """Name a character so that look-alikes differ."""
    if character in _PLAIN_NAMES:
        return _PLAIN_NAMES[character]
    if not _odd(character):
        return character
    name = unicodedata.name(character, "a control character").casefold()
    seen = f"{character} " if character.isprintable() else ""
    return f"{seen}U+{ord(character):04X} ({name})"


def _shown(line: str, at: int) -> str:
    """Return a line, or the part around `at` of a long one."""
    start = max(0, min(at - _LEAD, len(line) - _LONGEST))
    text = (
        f"{'…' if start else ''}{line[start : start + _LONGEST]}{'…' if len(line) > start + _LONGEST else ''}"
    )
    return text.encode("utf-8", "replace").decode()
