"""Unified diffs in time that is nearly linear, whatever the two texts are.

Invariant: applying the diff to `before` gives `after`, final newlines included. Lines that occur once on
both sides anchor the comparison (patience); between anchors difflib compares what is small enough, and
the rest is shown as replaced.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

_CONTEXT = 3
_COMPARABLE = 90_000
"""The most pairs of lines that difflib is given at once: at worst some 0.1 s of work."""

_COMPARED = 500_000
"""The most pairs of lines that it is given in all."""

Block = tuple[int, int, int]
"""A run of equal lines: where it begins before and after, and its length."""

NO_NEWLINE = "\\ No newline at end of file"


def unified(before: str | None, after: str | None, path: str) -> str:
    """The unified diff of a file's content; None where there is no file. Empty when nothing changed."""
    old = _lines(before or "")
    new = _lines(after or "")
    hunks = list(_hunks(old, new))
    if not hunks and (before is None) == (after is None):
        return ""
    source = "/dev/null" if before is None else f"a/{path}"
    target = "/dev/null" if after is None else f"b/{path}"
    return "".join((f"--- {source}\n+++ {target}\n", *hunks))


def count(diff: str) -> tuple[int, int]:
    """How many lines a unified diff adds and removes."""
    added = removed = 0
    old_left = new_left = 0
    for line in diff.split("\n"):
        if old_left <= 0 and new_left <= 0:
            if line.startswith("@@ "):
                _, old, new, *_ = line.split(" ")
                old_left, new_left = _length(old), _length(new)
        elif line.startswith("+"):
            added += 1
            new_left -= 1
        elif line.startswith("-"):
            removed += 1
            old_left -= 1
        elif not line.startswith("\\"):
            old_left -= 1
            new_left -= 1
    return added, removed


def _lines(text: str) -> list[str]:
    """Lines with their newline; only a newline ends a line."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _length(field: str) -> int:
    return int(field.split(",")[1]) if "," in field else 1


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Changes with three lines of context; those that share context are one hunk."""
    changes = list(_changes(old, new))
    group: list[tuple[int, int, int, int]] = []
    for change in changes:
        if group and change[0] - group[-1][1] > 2 * _CONTEXT:
            yield _hunk(old, new, group)
            group = []
        group.append(change)
    if group:
        yield _hunk(old, new, group)


def _hunk(old: Sequence[str], new: Sequence[str], changes: list[tuple[int, int, int, int]]) -> str:
    lead = min(_CONTEXT, changes[0][0])
    trail = min(_CONTEXT, len(old) - changes[-1][1])
    first, new_first = changes[0][0] - lead, changes[0][2] - lead
    last, new_last = changes[-1][1] + trail, changes[-1][3] + trail
    pieces = [f"@@ -{_range(first, last)} +{_range(new_first, new_last)} @@\n"]
    position = first
    for old_start, old_end, new_start, new_end in changes:
        pieces.extend(_marked(" ", old[position:old_start]))
        pieces.extend(_marked("-", old[old_start:old_end]))
        pieces.extend(_marked("+", new[new_start:new_end]))
        position = old_end
    pieces.extend(_marked(" ", old[position:last]))
    return "".join(pieces)


def _range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    # An empty range is named by the line before it.
    return f"{start + 1 if length else start},{length}"


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n{NO_NEWLINE}\n"


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """What differs, in order: lines of `old` and the lines of `new` that stand in their place."""
    at_old = at_new = 0
    for start_old, start_new, size in (*_blocks(old, new), (len(old), len(new), 0)):
        if at_old < start_old or at_new < start_new:
            yield at_old, start_old, at_new, start_new
        at_old, at_new = start_old + size, start_new + size


def _blocks(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Runs of equal lines, ascending on both sides."""
    found: list[Block] = []
    todo = [(0, len(old), 0, len(new))]
    room = _COMPARED
    while todo:
        a, a_end, b, b_end = todo.pop()
        start_a, start_b = a, b
        while a < a_end and b < b_end and old[a] == new[b]:
            a, b = a + 1, b + 1
        if a > start_a:
            found.append((start_a, start_b, a - start_a))
        stop_a = a_end
        while a_end > a and b_end > b and old[a_end - 1] == new[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
        if a_end < stop_a:
            found.append((a_end, b_end, stop_a - a_end))
        if a == a_end or b == b_end:
            continue
        anchors = _anchors(old, a, a_end, new, b, b_end)
        if anchors:
            for anchor_a, anchor_b in (*anchors, (a_end, b_end)):
                todo.append((a, anchor_a, b, anchor_b))
                a, b = anchor_a, anchor_b
        elif (pairs := (a_end - a) * (b_end - b)) <= min(_COMPARABLE, room):
            room -= pairs
            found.extend(_compared(old, a, a_end, new, b, b_end))
    return sorted(found)


def _anchors(
    old: Sequence[str], a: int, a_end: int, new: Sequence[str], b: int, b_end: int
) -> list[tuple[int, int]]:
    """Lines that occur once on each side, as many as keep their order."""
    before, after = Counter(old[a:a_end]), Counter(new[b:b_end])
    place = {line: index for index, line in enumerate(new[b:b_end], b) if after[line] == 1}
    pairs = [
        (index, place[line])
        for index, line in enumerate(old[a:a_end], a)
        if line in place and before[line] == 1
    ]
    # The longest ascending subsequence: for each length the pair that ends one with the smallest `b`.
    tails: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for index, (_, position) in enumerate(pairs):
        length = bisect_left(tails, position)
        previous.append(ends[length - 1] if length else -1)
        if length == len(tails):
            tails.append(position)
            ends.append(index)
        else:
            tails[length] = position
            ends[length] = index
    chain: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index != -1:
        chain.append(pairs[index])
        index = previous[index]
    return chain[::-1]


def _compared(
    old: Sequence[str], a: int, a_end: int, new: Sequence[str], b: int, b_end: int
) -> Iterator[Block]:
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, old[a:a_end], new[b:b_end], autojunk=False)
    for block in matcher.get_matching_blocks():
        if block.size:
            yield a + block.a, b + block.b, block.size
