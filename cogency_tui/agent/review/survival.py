"""Survival of edits: determines whether their changes are still in the files, and where. Blocks, and
changes no file.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cogency_tui.agent.edits.prior_contents import Contents
from cogency_tui.agent.review.hunk_composition import content, is_readable
from cogency_tui.agent.review.model import (
    LARGEST,
    MOST_LINES,
    EditedFile,
    Fate,
    HunkFate,
    Outline,
    Rewrite,
)
from cogency_tui.errors import WorkspaceError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import FileChange, Version
from cogency_tui.workspace.diff import Check, Difference, LineCounts
from cogency_tui.workspace.text_files import decode, lines_of
from cogency_tui.workspace.three_way_merge import Range, hunks, line_differences, lines


@dataclass(frozen=True, slots=True)
class EditFate:
    """The survival of an edit.

    Of several hunks, `there` of `hunks` are still as it left them; both are 0 if there is only one, or they
    cannot be separated. `reason` is why the state is unknown.
    """

    state: Fate
    there: int = 0
    hunks: int = 0
    reason: str = ""


def fate_of(change: FileChange, contents: Contents, blobs: Blobs) -> EditFate:
    """The survival of a change; other changes of the same file are ignored.

    Raises:
        StoreError: a stored content cannot be read.
    """
    after = change.after
    try:
        now = contents.now(change.path, LARGEST)
    except WorkspaceError as error:
        return EditFate("unknown", reason=str(error))
    if now.equals(after):
        return EditFate("still there")
    if now.kind == "absent":
        return EditFate("gone")
    if not after.known:
        return EditFate("unknown", reason="what it left there is not known")
    parts = _content(change, now, blobs)
    counted = len(parts)
    if change.before.kind == after.kind == "file" and change.before.mode != after.mode:
        parts.append(_side(now.mode, change.before.mode, after.mode))
    state = parts[0] if len(set(parts)) == 1 else "changed since"
    if counted < 2:
        return EditFate(state)
    return EditFate(state, parts[:counted].count("still there"), counted)


def fates_of(
    change: FileChange,
    outlines: Sequence[Outline],
    path: str,
    contents: Contents,
    blobs: Blobs,
    edited: EditedFile | None = None,
) -> list[HunkFate]:
    """The survival of each hunk of a change, in the file that is now at `path`; `edited` is the file with the
    user's own lines, if there are any.

    Raises:
        StoreError: a stored content cannot be read.
    """
    try:
        now = contents.now(path, LARGEST)
    except WorkspaceError:
        return [HunkFate(each.id, "unknown", path, 0) for each in outlines]
    if now.kind == "absent":
        # Lines that were removed with the file are still removed.
        lost: Fate = "still there" if change.after.kind == "absent" else "gone"
        return [HunkFate(each.id, lost, path, 0) for each in outlines]
    sides = _lines((change.before, change.after, now), blobs)
    if sides is None:
        return [HunkFate(each.id, "changed since", path, 0) for each in outlines]
    old, new, present = sides
    reference = edited or EditedFile(new, [each.new for each in outlines])
    befores = [old[slice(*each.base)] for each in outlines]
    found = _found(reference.lines, present, [*zip(reference.ranges, befores, strict=True)], None)
    texts = _texts(now, path, blobs, len(present))

    def fate(outline: Outline, before: Sequence[bytes], own: _Found) -> HunkFate:
        agents, here = new[slice(*outline.new)], present[slice(*own.at)]
        state = own.fate if own.fate == "moved" else _compared(here, agents, before)
        is_rewritten = state in ("changed since", "gone")
        rewrites = _rewrites(agents, here, outline.new[0], own.line, texts) if is_rewritten else ()
        return HunkFate(outline.id, state, path, own.line + 1, tuple(rewrites))

    return [fate(*each) for each in zip(outlines, befores, found, strict=True)]


def overwritten(
    change: FileChange, outlines: Sequence[Outline], now: bytes, latest: Version, blobs: Blobs
) -> set[str]:
    """The ids of the hunks of a change of which nothing is left in the file as it is `now`: their lines were
    removed, or restored, or the agent has replaced all of them by its `latest` version of the file.

    Raises:
        StoreError: a stored content cannot be read.
    """
    sides = _lines((change.before, change.after, latest), blobs, now)
    if sides is None:
        return set()
    old, new, by_agent, present = sides
    targets = [(each.new, old[slice(*each.base)]) for each in outlines]
    found = _found(new, present, targets, None)
    replaced = _found(new, by_agent, targets, None)
    return {
        each.id
        for each, own, later in zip(outlines, found, replaced, strict=True)
        if own.fate == "gone" or (own.fate == "changed since" and later.covers(each.new))
    }


def lines_left(before: Version, after: Version, now: bytes, blobs: Blobs) -> LineCounts | None:
    """The lines added and removed that are left of a change in a file as it is `now`: what others changed
    besides does not count, and nothing of a hunk that is gone. None if these are no lines to count.

    Raises:
        StoreError: a stored content cannot be read.
    """
    sides = _lines((before, after), blobs, now)
    if sides is None or sum(map(len, sides)) > MOST_LINES:
        return None
    old, new, present = sides
    targets = [(hunk.new, old[slice(*hunk.old)]) for hunk in hunks(b"".join(old), b"".join(new))]
    found = zip(_found(new, present, targets, None), targets, strict=True)
    left = [(base, present[slice(*own.at)]) for own, (_, base) in found if own.fate != "gone"]
    changes = [each for sides in left for each in line_differences(*sides)]
    return LineCounts(
        sum(end - start for _, _, start, end in changes), sum(end - start for start, end, _, _ in changes)
    )


def remade(
    change: FileChange, outlines: Sequence[Outline], before: Version, after: Version, blobs: Blobs
) -> set[str]:
    """The ids of the hunks of a change that were gone `before` later edits of the file, and are there again
    `after` these.

    Raises:
        StoreError: a stored content cannot be read.
    """
    sides = _lines((change.before, change.after, before, after), blobs)
    if sides is None:
        return set()
    old, new, without, again = sides
    targets = [(each.new, old[slice(*each.base)]) for each in outlines]
    found = zip(outlines, _found(new, without, targets, None), _found(new, again, targets, None), strict=True)
    return {
        each.id for each, lost, own in found if lost.fate == "gone" and own.fate in ("still there", "moved")
    }


def _texts(now: Version, path: str, blobs: Blobs, count: int) -> Sequence[str] | None:
    """The current lines as text; None if they cannot be decoded into so many."""
    try:
        found = lines_of(decode(content(now, blobs), path).plain)
    except WorkspaceError:
        return None
    return found if len(found) == count else None


def _rewrites(
    agents: Sequence[bytes], here: Sequence[bytes], first: int, line: int, texts: Sequence[str] | None
) -> Iterator[Rewrite]:
    """The differences between the agent's lines, from `first` on, and those that are now at `line`."""
    if texts is None:
        return
    for start, end, at, at_end in line_differences(agents, here):
        own = tuple(texts[line + at : line + at_end])
        yield Rewrite(first + start, first + end, line + at + 1, own)


def _content(change: FileChange, now: Version, blobs: Blobs) -> list[Fate]:
    """The state of the lines, hunk by hunk, or of the whole; none if only the mode was changed."""
    before, after = change.before, change.after
    if change.kind == "mode":
        return []
    if now.holds(after) or now.holds(before):
        return ["still there" if now.holds(after) else "gone"]
    sides = _lines((before, after, now), blobs)
    if sides is None or after.kind != "file":
        return ["changed since"]
    old, new, present = sides
    found = hunks(b"".join(old), b"".join(new))
    own = _found(new, present, [(hunk.new, old[slice(*hunk.old)]) for hunk in found], None)
    # A moved hunk is not as the edit left it.
    fates: list[Fate] = ["changed since" if each.fate == "moved" else each.fate for each in own]
    return fates or ["changed since"]


def _lines(versions: Sequence[Version], blobs: Blobs, *more: bytes) -> list[list[bytes]] | None:
    """The lines of these versions, and of `more` contents; None if these are not known, or no lines."""
    readable = all(map(is_readable, versions))
    return lines(*(content(each, blobs) for each in versions), *more) if readable else None


@dataclass(frozen=True, slots=True)
class _Found:
    """A hunk's state, its current lines or their last place, and the changes since that touch it."""

    fate: Fate
    at: Range
    hits: Sequence[Difference] = ()

    @property
    def line(self) -> int:
        """The first of its lines."""
        return self.at[0]

    def covers(self, own: Range) -> bool:
        """Return whether the changes since have replaced each of the hunk's lines."""
        start, end = own
        return start < end and sum(min(end, hit[1]) - max(start, hit[0]) for hit in self.hits) == end - start


def _found(
    new: Sequence[bytes],
    present: Sequence[bytes],
    targets: Sequence[tuple[Range, Sequence[bytes]]],
    check: Check | None,
) -> list[_Found]:
    """Find hunks, given by their lines in `new` with the lines before the edit, in `present`."""
    changes = line_differences(new, present, check)
    ends = [change[1] for change in changes]
    found: list[_Found] = []
    for (start, end), before in targets:
        index = bisect_left(ends, start)
        shift = changes[index - 1][3] - changes[index - 1][1] if index else 0
        hits: list[Difference] = []
        while index < len(changes) and changes[index][0] <= end:
            change = changes[index]
            if _hits(change, start, end):
                hits.append(change)
            elif change[1] <= start:
                shift = change[3] - change[1]
            index += 1
        if not hits:
            found.append(_Found("still there", (start + shift, end + shift)))
            continue
        first = hits[0][2] if hits[0][0] <= start else start + shift
        last = hits[-1][3] + max(0, end - hits[-1][1])
        own = new[start:end]
        place = _place(own, present, changes)
        if place is None:
            fate = _compared(present[first:last], own, before)
            found.append(_Found(fate, (first, last), hits))
        else:
            found.append(_Found("moved", (place, place + len(own)), hits))
    return found


def _hits(change: Difference, start: int, end: int) -> bool:
    """Return whether a change touches these lines, or the place if there are none."""
    first, last = change[0], change[1]
    if start == end:
        return first <= start <= last
    return start < first < end if first == last else first < end and start < last


def _compared(here: Sequence[bytes], own: Sequence[bytes], before: Sequence[bytes]) -> Fate:
    """The state of lines of which these are left."""
    if list(here) == list(own):
        return "still there"
    return "gone" if not here or list(here) == list(before) else "changed since"


def _place(own: Sequence[bytes], present: Sequence[bytes], changes: Sequence[Difference]) -> int | None:
    """The current place of these lines, if they are distinctive enough to be recognised."""
    if not any(line.strip() for line in own):
        return None
    for _, _, start, end in changes:
        for index in range(start, end - len(own) + 1):
            if present[index] == own[0] and list(present[index : index + len(own)]) == list(own):
                return index
    return None


def _side(now: int, before: int, after: int) -> Fate:
    if now == after:
        return "still there"
    return "gone" if now == before else "changed since"
