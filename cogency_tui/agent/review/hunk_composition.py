"""The hunks of a file's successive changes: composed into outlines, which are cached in the store.

The regions of the composition map lines of the first version to those of the last that replaced them, with
the changes responsible. Invariant: outside the regions the first and the last version have the same lines
in the same order, and regions do not touch. A hunk of an edit is in exactly one region.

An outline has no text. Recorded edits never change, so it is cached under its edits. Reading contents
blocks.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from cogency_tui.agent.edits.file_history import FileHistory, Revision
from cogency_tui.agent.review.model import LARGEST, MOST_LINES, NoLines, Outline
from cogency_tui.errors import WorkspaceError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Version
from cogency_tui.store.reviews import Part
from cogency_tui.workspace.diff import Check
from cogency_tui.workspace.text_files import decode
from cogency_tui.workspace.three_way_merge import Hunk, Range, hunks, is_text, line_differences, lines


class Change(NamedTuple):
    """Lines replaced in one step; `part` is the agent's hunk that did so, None for another's."""

    old: Range
    new: Range
    part: Part | None


@dataclass(frozen=True, slots=True)
class Region:
    """Lines of the first version (`base`) and of the last (`new`); `parts` are the agent's; `others`: it
    includes changes by others.
    """

    base: Range
    new: Range
    parts: tuple[Part, ...]
    others: bool = False


def composed(steps: Iterable[Sequence[Change]]) -> list[Region]:
    """The regions of several steps, each given from top to bottom and in their order."""
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
    # The offsets of a line between regions from its place in the first version, and in the last.
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
            combined = tuple(sorted(dict.fromkeys(parts)))
            found.append(Region((start + to_base, end + base), (start + to_new, end + new), combined, others))
            to_base, to_new = base, new
        cluster = [item] if item is not None else []
    return found


def _length(range: Range) -> int:
    return range[1] - range[0]


_FORM = 1
"""A part of the keys: outlines of another format, or by another comparison, are not used any more."""


@dataclass(frozen=True, slots=True)
class Outlines:
    """The hunks of a history, or why there are none; `parts` are all hunks of each of its edits."""

    hunks: tuple[Outline, ...]
    no_lines: NoLines = ""
    parts: tuple[Part, ...] = ()


def cache_key(history: FileHistory) -> str:
    """The cache key of a history's outlines; it changes when stored contents are removed."""
    versions = [version for edit in history.edits for version in (edit.before, edit.after)]
    form = f"{[edit.id for edit in history.edits]} {[version.kept for version in versions]}"
    return f"{_FORM}:{hashlib.sha256(form.encode()).hexdigest()[:32]}"


def outlines_of(history: FileHistory, blobs: Blobs, check: Check | None = None) -> Outlines:
    """The hunks of the agent's changes of a file.

    Raises:
        StoreError: a stored content cannot be read.
    """
    if all(edit.before.holds(edit.after) for edit in history.edits):
        return Outlines(())
    steps = history.revisions
    if why := _no_lines(steps):
        return Outlines((), why)
    versions = [steps[0].before, *(step.after for step in steps)]
    contents = [content(version, blobs) for version in versions]
    if why := _not_comparable(contents):
        return Outlines((), why)
    found = [hunks(before, after, check=check) for before, after in pairwise(contents)]
    regions = composed(_changes(step, each) for step, each in zip(steps, found, strict=True))
    parts = tuple(
        Part(step.edit.id, hunk.id)
        for step, each in zip(steps, found, strict=True)
        for hunk in each
        if step.edit is not None
    )
    return Outlines(tuple(_outlined(regions, contents[0], contents[-1])), "", parts)


def packed(outlines: Outlines) -> Any:
    """Outlines as a JSON value."""
    return {
        "no_lines": outlines.no_lines,
        "parts": outlines.parts,
        "hunks": [
            (hunk.id, hunk.parts, hunk.base, hunk.old, hunk.new, hunk.added, hunk.removed, hunk.mixed)
            for hunk in outlines.hunks
        ],
    }


def unpacked(value: Mapping[str, Any]) -> Outlines:
    """The outlines in a value of `packed`."""
    found = [
        Outline(id, _parts(parts), tuple(base), tuple(old), tuple(new), added, removed, mixed)
        for id, parts, base, old, new, added, removed, mixed in value["hunks"]
    ]
    return Outlines(tuple(found), value["no_lines"], _parts(value["parts"]))


def _parts(value: Sequence[Any]) -> tuple[Part, ...]:
    return tuple(Part(*part) for part in value)


def content(version: Version, blobs: Blobs) -> bytes:
    """The content of a version; empty if it is absent.

    Raises:
        StoreError: it cannot be read.
    """
    return blobs.read(version.digest, version.size) if version.kind != "absent" else b""


def is_readable(version: Version) -> bool:
    """Return whether the lines of a version can be read."""
    is_small_file = version.kind == "file" and version.kept and version.size <= LARGEST
    return is_small_file or version.kind == "absent"


def _no_lines(steps: Sequence[Revision]) -> NoLines:
    versions = [version for step in steps for version in (step.before, step.after)]
    if any(version.kind == "link" for version in versions):
        return "link"
    if any(version.size > LARGEST for version in versions):
        return "too large"
    return "" if all(version.kept or version.kind == "absent" for version in versions) else "not kept"


def _not_comparable(contents: Sequence[bytes]) -> NoLines:
    if not is_text(*contents):
        return "binary"
    for data in contents:
        try:
            decode(data, "")
        except WorkspaceError:
            return "binary"
    most = max((data.count(b"\n") for data in contents), default=0)
    return "too large" if 2 * most > MOST_LINES else ""


def _changes(step: Revision, found: Sequence[Hunk]) -> list[Change]:
    edit = step.edit
    return [Change(hunk.old, hunk.new, Part(edit.id, hunk.id) if edit else None) for hunk in found]


def _outlined(regions: Sequence[Region], first: bytes, last: bytes) -> list[Outline]:
    sides = lines(first, last)
    assert sides is not None, "Contents that cannot be compared were left out."
    old_lines, new_lines = sides
    found: list[Outline] = []
    shift = 0
    for region in regions:
        if not region.parts:
            continue
        (start, end), (new_start, new_end) = region.base, region.new
        before, after = old_lines[start:end], new_lines[new_start:new_end]
        old = new_start + shift, new_start + shift + len(before)
        shift += len(before) - len(after)
        changes = line_differences(before, after)
        if not changes:
            # The agent changed these lines, and then changed them back.
            continue
        added = sum(each[3] - each[2] for each in changes)
        removed = sum(each[1] - each[0] for each in changes)
        id = _id(region.parts)
        found.append(Outline(id, region.parts, region.base, old, region.new, added, removed, region.others))
    return found


def _id(parts: Sequence[Part]) -> str:
    form = " ".join(f"{edit}:{hunk}" for edit, hunk in parts)
    return hashlib.sha256(form.encode()).hexdigest()[:12]
