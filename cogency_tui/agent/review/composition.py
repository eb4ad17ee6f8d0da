"""Changes of a file that follow each other, composed into one: which lines of the first version were
replaced by which of the last, and by whose changes. Pure.

Invariant: outside the regions the first and the last version have the same lines in the same order, and
regions do not touch. A hunk of an edit is in exactly one region.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cogency_tui.store.reviews import Part
from cogency_tui.workspace.merge import Range


class Change(NamedTuple):
    """Lines replaced in one step; `part` is the agent's hunk that did, None for somebody else's."""

    old: Range
    new: Range
    part: Part | None


@dataclass(frozen=True, slots=True)
class Region:
    """Lines of the first version (`base`) and of the last (`new`); `parts` are the agent's, `others` says
    that somebody else's changes are in it, too."""

    base: Range
    new: Range
    parts: tuple[Part, ...]
    others: bool = False


def composed(steps: Iterable[Sequence[Change]]) -> list[Region]:
    """The regions of several steps, given from top to bottom each and in their order."""
    regions: list[Region] = []
    for step in steps:
        regions = _then(regions, step)
    return regions


class _Item(NamedTuple):
    """A region so far, or a change after it, in the lines of the version between them."""

    start: int
    end: int
    is_change: bool
    number: int


def _then(regions: Sequence[Region], changes: Sequence[Change]) -> list[Region]:
    items = [_Item(*region.new, False, index) for index, region in enumerate(regions)]
    items += [_Item(*change.old, True, index) for index, change in enumerate(changes)]
    items.sort()
    found: list[Region] = []
    # How far a line between regions is from its place in the first version, and in the last.
    to_base = to_new = 0
    cluster: list[_Item] = []
    for item in [*items, None]:
        if item is not None and (not cluster or item.start <= max(each.end for each in cluster)):
            cluster.append(item)
            continue
        if cluster:
            base, new, parts, others = to_base, to_new, list[Part](), False
            for each in cluster:
                if each.is_change:
                    change = changes[each.number]
                    new += _length(change.new) - _length(change.old)
                    parts += [change.part] if change.part else []
                    others |= change.part is None
                else:
                    region = regions[each.number]
                    base += _length(region.base) - _length(region.new)
                    parts += region.parts
                    others |= region.others
            start, end = cluster[0].start, max(each.end for each in cluster)
            kept = tuple(sorted(dict.fromkeys(parts)))
            found.append(Region((start + to_base, end + base), (start + to_new, end + new), kept, others))
            to_base, to_new = base, new
        cluster = [item] if item is not None else []
    return found


def _length(range: Range) -> int:
    return range[1] - range[0]
