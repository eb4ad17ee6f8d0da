"""Unified diffs in nearly linear time, whatever the two texts are.

Invariant: applying the diff to `before` gives `after`, final newlines included. Lines that occur once on
both sides anchor the comparison (patience), where there are none, runs of lines that do. Between anchors,
difflib compares what is small enough, and a greedy search what differs little; the rest is shown as
replaced.

Anchors and the search are pure. Both find runs of equal lines that ascend on both sides, and give up at a
bound.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

Block = tuple[int, int, int]
"""A run of equal lines: its start before and after, and its length."""


def common_runs(old: Sequence[int], new: Sequence[int], run: int = 1) -> list[tuple[int, int]]:
    """Pair lines that occur once on each side, as many as keep their order; with `run`, the first lines of
    unique runs of that length."""
    place, twin = _once(_runs(old, run)), _once(_runs(new, run))
    pairs = [(index, twin[line]) for line, index in place.items() if index >= 0 and twin.get(line, -1) >= 0]
    if all(one[1] < other[1] for one, other in pairwise(pairs)):
        return pairs
    # The longest ascending subsequence: for each length the pair that ends one at the smallest position.
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


def searched(old: Sequence[int], new: Sequence[int], most: int) -> tuple[list[Block], int]:
    """Return the runs of equal lines of a shortest edit script, and the number of steps of the search.

    No runs where that would take more than `most` steps, which grow with the square of the differences
    (Myers, "An O(ND) difference algorithm and its variations", 1986).
    """
    length, width = len(old), len(new)
    furthest: dict[int, int] = {1: 0}
    trace: list[dict[int, int]] = []
    steps = 0
    for cost in range(length + width + 1):
        steps += cost + 1
        if steps > most:
            return [], steps
        reached: dict[int, int] = {}
        for diagonal in range(-cost, cost + 1, 2):
            down = diagonal == -cost or (
                diagonal != cost and furthest.get(diagonal - 1, -1) < furthest.get(diagonal + 1, -1)
            )
            a = furthest.get(diagonal + 1, 0) if down else furthest[diagonal - 1] + 1
            b = a - diagonal
            start = a
            while a < length and b < width and old[a] == new[b]:
                a, b = a + 1, b + 1
            steps += a - start
            reached[diagonal] = a
            if a >= length and b >= width:
                trace.append(furthest)
                return _walked(trace, length, width), steps
        trace.append(furthest)
        furthest = reached
    return [], steps


def _walked(trace: list[dict[int, int]], a: int, b: int) -> list[Block]:
    """Collect the runs on the path of a search, from its end back to its beginning."""
    found: list[Block] = []
    for cost in range(len(trace) - 1, -1, -1):
        furthest = trace[cost]
        diagonal = a - b
        down = diagonal == -cost or (
            diagonal != cost and furthest.get(diagonal - 1, -1) < furthest.get(diagonal + 1, -1)
        )
        came = diagonal + 1 if down else diagonal - 1
        before_a = furthest.get(came, 0) if cost else 0
        start_a = before_a if down or not cost else before_a + 1
        if a > start_a:
            found.append((start_a, start_a - diagonal, a - start_a))
        a, b = before_a, before_a - came
    return found


def numbered(old: Sequence[str], new: Sequence[str]) -> tuple[list[int], list[int]]:
    """Number the lines of both, equal lines equally: numbers are quick to compare and to hash."""
    numbers: dict[str, int] = {}
    return (
        [numbers.setdefault(line, len(numbers)) for line in old],
        [numbers.setdefault(line, len(numbers)) for line in new],
    )


def common(old: Sequence[object], new: Sequence[object]) -> int:
    """Count the equal lines at the beginning."""
    most = min(len(old), len(new))
    at, step = 0, 1
    while at < most and old[at : at + step] == new[at : at + step]:
        at, step = at + step, step * 2
    at = min(at, most)
    while step > 1:
        step //= 2
        if at + step <= most and old[at : at + step] == new[at : at + step]:
            at += step
    return at


def _runs(lines: Sequence[int], run: int) -> Sequence[Hashable]:
    if run == 1:
        return lines
    # As bytes, a run of any length is hashed and compared at once.
    packed, size = array("i", lines).tobytes(), array("i").itemsize
    return [packed[size * at : size * (at + run)] for at in range(len(lines) - run + 1)]


def _once(lines: Sequence[Hashable]) -> dict[Hashable, int]:
    """Map each line to its position, -1 for one that occurs more than once; in the order of their first
    positions."""
    found: dict[Hashable, int] = {}
    for index, line in enumerate(lines):
        found[line] = -1 if line in found else index
    return found


_CONTEXT = 3
_COMPARABLE = 90_000
"""Most pairs of lines in one comparison by difflib: at worst some 0.1 s of work."""

_COMPARED = 500_000
"""Most pairs of lines in all its comparisons."""

_SEARCHED = 250_000
"""Most steps of the greedy search in all: some 0.3 s at worst."""

_RUNS = (1, 4, 16)
"""Lengths of unique runs that serve as anchors, tried in turn."""


Check = Callable[[], None]
"""Called now and then while a comparison runs; an exception ends it."""

Difference = tuple[int, int, int, int]
"""Replaced lines, first and end, and the lines in their place, first and end."""

NO_NEWLINE = "\\ No newline at end of file"


def unified(
    before: str | None, after: str | None, path: str, shown: Callable[[str], str] | None = None
) -> str:
    """Format the unified diff of a file's content; None where there is no file. Empty when nothing changed.
    `shown` transforms the contents line for line before they are shown."""
    hunks = body(before or "", after or "", shown=shown)
    if not hunks and (before is None) == (after is None):
        return ""
    source = "/dev/null" if before is None else f"a/{path}"
    target = "/dev/null" if after is None else f"b/{path}"
    return f"--- {source}\n+++ {target}\n{hunks}"


def body(before: str, after: str, context: int = _CONTEXT, shown: Callable[[str], str] | None = None) -> str:
    """Format the hunks of a unified diff with `context` lines of context, without the names of the files."""
    old, new = _lines(before), _lines(after)
    changes = list(differences(old, new))
    if shown is not None:
        old, new = _lines(shown(before)), _lines(shown(after))
    return "".join(_hunks(old, new, changes, context))


class LineCounts(NamedTuple):
    """The numbers of lines that a change adds and removes."""

    added: int
    removed: int

    def __str__(self) -> str:
        return f"+{self.added} −{self.removed}"


def count(diff: str) -> LineCounts:
    """Count the lines that a unified diff adds and removes."""
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
    return LineCounts(added, removed)


def _lines(text: str) -> list[str]:
    """Split text into lines with their newline; only a newline ends a line."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _length(field: str) -> int:
    return int(field.split(",")[1]) if "," in field else 1


def _hunks(
    old: Sequence[str], new: Sequence[str], changes: Sequence[Difference], context: int
) -> Iterator[str]:
    """Group changes with their context into hunks; changes that share context are one."""
    group: list[Difference] = []
    for change in changes:
        if group and change[0] - group[-1][1] > 2 * context:
            yield _hunk(old, new, group, context)
            group = []
        group.append(change)
    if group:
        yield _hunk(old, new, group, context)


def _hunk(old: Sequence[str], new: Sequence[str], changes: list[Difference], context: int) -> str:
    lead = min(context, changes[0][0])
    trail = min(context, len(old) - changes[-1][1])
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


def differences(old: Sequence[str], new: Sequence[str], check: Check | None = None) -> Iterator[Difference]:
    """Yield the differences in order: lines of `old` and the lines of `new` in their place."""
    at_old = at_new = 0
    for start_old, start_new, size in (*_blocks(old, new, check), (len(old), len(new), 0)):
        if at_old < start_old or at_new < start_new:
            yield at_old, start_old, at_new, start_new
        at_old, at_new = start_old + size, start_new + size


def _blocks(old: Sequence[str], new: Sequence[str], check: Check | None) -> list[Block]:
    """Return runs of equal lines, ascending on both sides."""
    first = common(old, new)
    last = common(old[first:][::-1], new[first:][::-1])
    end, new_end = len(old) - last, len(new) - last
    found: list[Block] = [block for block in ((0, 0, first), (end, new_end, last)) if block[2]]
    all_before, all_after = numbered(old[first:end], new[first:new_end])
    todo = [(first, end, first, new_end)]
    room, steps = _COMPARED, _SEARCHED
    while todo:
        if check is not None:
            check()
        a, a_end, b, b_end = todo.pop()
        before, after = all_before[a - first : a_end - first], all_after[b - first : b_end - first]
        if size := common(before, after):
            found.append((a, b, size))
            a, b, before, after = a + size, b + size, before[size:], after[size:]
        if size := common(before[::-1], after[::-1]):
            a_end, b_end = a_end - size, b_end - size
            found.append((a_end, b_end, size))
            before, after = before[:-size], after[:-size]
        if not before or not after or set(before).isdisjoint(after):
            continue
        pairs = len(before) * len(after)
        # Small ranges are compared line by line; runs of lines would only hide equal lines there.
        runs = _RUNS if pairs > _COMPARABLE else _RUNS[:1]
        anchors = next(filter(None, (common_runs(before, after, run) for run in runs)), None)
        if anchors:
            todo += _between(anchors, a, a_end, b, b_end)
        elif pairs <= min(_COMPARABLE, room):
            room -= pairs
            found += ((a + at, b + other, size) for at, other, size in _compared(before, after))
        elif pairs > _COMPARABLE:
            blocks, taken = searched(before, after, steps)
            steps -= taken
            found += ((a + at, b + other, size) for at, other, size in blocks)
    return sorted(found)


def _between(
    anchors: list[tuple[int, int]], a: int, a_end: int, b: int, b_end: int
) -> Iterator[tuple[int, int, int, int]]:
    """Yield the parts into which anchors divide a pair of ranges; each but the first begins with an anchor.

    Anchors that follow one another line by line are in one part: most do.
    """
    first_a, first_b = a, b
    last = (-1, -1)
    for anchor in anchors:
        if anchor != (last[0] + 1, last[1] + 1):
            yield first_a, a + anchor[0], first_b, b + anchor[1]
            first_a, first_b = a + anchor[0], b + anchor[1]
        last = anchor
    yield first_a, a_end, first_b, b_end


def _compared(old: Sequence[int], new: Sequence[int]) -> Iterator[Block]:
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for block in matcher.get_matching_blocks():
        if block.size:
            yield block.a, block.b, block.size
