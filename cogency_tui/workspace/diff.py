"""Unified diffs in time that is nearly linear, whatever the two texts are.

Invariant: applying the diff to `before` gives `after`, final newlines included. Lines that occur once on
both sides anchor the comparison (patience), where there are none runs of lines that do. Between anchors
difflib compares what is small enough, and a greedy search what differs little; the rest is shown as
replaced.
"""

from collections.abc import Callable, Iterator, Sequence

from cogency_tui.workspace import alignment

_CONTEXT = 3
_COMPARABLE = 90_000
"""The most pairs of lines that difflib is given at once: at worst some 0.1 s of work."""

_COMPARED = 500_000
"""The most pairs of lines that it is given in all."""

_SEARCHED = 250_000
"""The most steps of the greedy search in all: some 0.3 s at worst."""

_RUNS = (1, 4, 16)
"""How many lines together have to occur once to be an anchor, tried in turn."""

Block = alignment.Block

Check = Callable[[], None]
"""Called now and then while a comparison runs; what it raises ends it."""

Difference = tuple[int, int, int, int]
"""Lines that were replaced, first and end, and the lines that stand in their place, first and end."""

NO_NEWLINE = "\\ No newline at end of file"


def unified(
    before: str | None, after: str | None, path: str, shown: Callable[[str], str] | None = None
) -> str:
    """The unified diff of a file's content; None where there is no file. Empty when nothing changed. What it
    shows is what `shown` makes of the contents, line for line."""
    hunks = body(before or "", after or "", shown=shown)
    if not hunks and (before is None) == (after is None):
        return ""
    source = "/dev/null" if before is None else f"a/{path}"
    target = "/dev/null" if after is None else f"b/{path}"
    return f"--- {source}\n+++ {target}\n{hunks}"


def body(before: str, after: str, context: int = _CONTEXT, shown: Callable[[str], str] | None = None) -> str:
    """The hunks of a unified diff with so many lines of context, without the names of the files."""
    old, new = _lines(before), _lines(after)
    changes = list(differences(old, new))
    if shown is not None:
        old, new = _lines(shown(before)), _lines(shown(after))
    return "".join(_hunks(old, new, changes, context))


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


def _hunks(
    old: Sequence[str], new: Sequence[str], changes: Sequence[Difference], context: int
) -> Iterator[str]:
    """Changes with their context; those that share it are one hunk."""
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
    """What differs, in order: lines of `old` and the lines of `new` that stand in their place."""
    at_old = at_new = 0
    for start_old, start_new, size in (*_blocks(old, new, check), (len(old), len(new), 0)):
        if at_old < start_old or at_new < start_new:
            yield at_old, start_old, at_new, start_new
        at_old, at_new = start_old + size, start_new + size


def _blocks(old: Sequence[str], new: Sequence[str], check: Check | None) -> list[Block]:
    """Runs of equal lines, ascending on both sides."""
    first = alignment.common(old, new)
    last = alignment.common(old[first:][::-1], new[first:][::-1])
    end, new_end = len(old) - last, len(new) - last
    found: list[Block] = [block for block in ((0, 0, first), (end, new_end, last)) if block[2]]
    all_before, all_after = alignment.numbered(old[first:end], new[first:new_end])
    todo = [(first, end, first, new_end)]
    room, steps = _COMPARED, _SEARCHED
    while todo:
        if check is not None:
            check()
        a, a_end, b, b_end = todo.pop()
        before, after = all_before[a - first : a_end - first], all_after[b - first : b_end - first]
        if size := alignment.common(before, after):
            found.append((a, b, size))
            a, b, before, after = a + size, b + size, before[size:], after[size:]
        if size := alignment.common(before[::-1], after[::-1]):
            a_end, b_end = a_end - size, b_end - size
            found.append((a_end, b_end, size))
            before, after = before[:-size], after[:-size]
        if not before or not after or set(before).isdisjoint(after):
            continue
        pairs = len(before) * len(after)
        # What is small is compared line by line; runs of lines would only hide what is equal there.
        runs = _RUNS if pairs > _COMPARABLE else _RUNS[:1]
        anchors = next(filter(None, (alignment.anchors(before, after, run) for run in runs)), None)
        if anchors:
            todo += _between(anchors, a, a_end, b, b_end)
        elif pairs <= min(_COMPARABLE, room):
            room -= pairs
            found += ((a + at, b + other, size) for at, other, size in _compared(before, after))
        elif pairs > _COMPARABLE:
            blocks, taken = alignment.searched(before, after, steps)
            steps -= taken
            found += ((a + at, b + other, size) for at, other, size in blocks)
    return sorted(found)


def _between(
    anchors: list[tuple[int, int]], a: int, a_end: int, b: int, b_end: int
) -> Iterator[tuple[int, int, int, int]]:
    """The parts into which anchors divide a pair of ranges; each but the first begins with an anchor.

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
