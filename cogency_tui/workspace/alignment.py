"""Where two sequences of lines are the same: anchors, and a greedy search for what differs little.

Pure. Both find runs of equal lines that ascend on both sides, and give up at a bound rather than take long.
"""

from array import array
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from itertools import pairwise

Block = tuple[int, int, int]
"""A run of equal lines: where it begins before and after, and its length."""


def anchors(old: Sequence[int], new: Sequence[int], run: int = 1) -> list[tuple[int, int]]:
    """Lines that occur once on each side, as many as keep their order; with `run` the first lines of runs
    of so many lines that do."""
    place, twin = _once(_runs(old, run)), _once(_runs(new, run))
    pairs = [(index, twin[line]) for line, index in place.items() if index >= 0 and twin.get(line, -1) >= 0]
    if all(one[1] < other[1] for one, other in pairwise(pairs)):
        return pairs
    # The longest ascending subsequence: for each length the pair that ends one with the smallest place.
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
    """The runs of equal lines of a shortest edit script, and the steps that it took to find it.

    No runs where that would take more than `most` steps, which grow with the square of what differs
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
    """The runs on the way that a search took, from its end back to its beginning."""
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
    """Both with a number for each line, the same where lines are: quick to compare and to hash."""
    numbers: dict[str, int] = {}
    return (
        [numbers.setdefault(line, len(numbers)) for line in old],
        [numbers.setdefault(line, len(numbers)) for line in new],
    )


def common(old: Sequence[object], new: Sequence[object]) -> int:
    """How many lines at the beginning are the same."""
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
    # As bytes a run is hashed and compared at once, whatever its length.
    packed, size = array("i", lines).tobytes(), array("i").itemsize
    return [packed[size * at : size * (at + run)] for at in range(len(lines) - run + 1)]


def _once(lines: Sequence[Hashable]) -> dict[Hashable, int]:
    """Where each line stands, -1 for one that occurs more than once; in the order of their first places."""
    found: dict[Hashable, int] = {}
    for index, line in enumerate(lines):
        found[line] = -1 if line in found else index
    return found
