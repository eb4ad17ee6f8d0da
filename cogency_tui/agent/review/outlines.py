"""The hunks of a file's changes without their text: worked out once, then kept in the store.

What edits changed never changes, so an outline is kept under the edits that it is of. Blocks.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from cogency_tui.agent.review.chains import Chain, Step
from cogency_tui.agent.review.composition import Change, Region, composed
from cogency_tui.agent.review.model import LARGEST, MOST_LINES, NoLines, Outline
from cogency_tui.errors import WorkspaceError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.reviews import Part
from cogency_tui.store.versions import Version
from cogency_tui.workspace.diff import Check, differences
from cogency_tui.workspace.merge import Hunk, hunks, is_text, lines
from cogency_tui.workspace.text import decode

_FORM = 1
"""Part of the keys: outlines of another form, or by another comparison, are not used any more."""


@dataclass(frozen=True, slots=True)
class Outlines:
    """The hunks of a chain, or why there are none; `parts` are all hunks of each of its edits."""

    hunks: tuple[Outline, ...]
    no_lines: NoLines = ""
    parts: tuple[Part, ...] = ()


def key_of(chain: Chain) -> str:
    """What the outlines of a chain are kept under; contents that were let go of give another one."""
    versions = [version for edit in chain.edits for version in (edit.before, edit.after)]
    said = f"{[edit.id for edit in chain.edits]} {[version.kept for version in versions]}"
    return f"{_FORM}:{hashlib.sha256(said.encode()).hexdigest()[:32]}"


def outlines_of(chain: Chain, blobs: Blobs, check: Check | None = None) -> Outlines:
    """The hunks of what the agent did to a file.

    Raises:
        StoreError: something that was kept cannot be read.
    """
    if all(edit.before.holds(edit.after) for edit in chain.edits):
        return Outlines(())
    steps = chain.steps
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
    """What a file held; nothing where there was none.

    Raises:
        StoreError: it cannot be read.
    """
    return blobs.read(version.digest, version.size) if version.kind != "absent" else b""


def _no_lines(steps: Sequence[Step]) -> NoLines:
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


def _changes(step: Step, found: Sequence[Hunk]) -> list[Change]:
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
        changes = [*differences([*map(_text, before)], [*map(_text, after)])]
        if not changes:
            # The agent changed these lines, and then changed them back.
            continue
        added = sum(each[3] - each[2] for each in changes)
        removed = sum(each[1] - each[0] for each in changes)
        id = _id(region.parts)
        found.append(Outline(id, region.parts, region.base, old, region.new, added, removed, region.others))
    return found


def _text(line: bytes) -> str:
    return line.decode("latin-1")


def _id(parts: Sequence[Part]) -> str:
    said = " ".join(f"{edit}:{hunk}" for edit, hunk in parts)
    return hashlib.sha256(said.encode()).hexdigest()[:12]
