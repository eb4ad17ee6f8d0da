"""The net difference that the agent's edits make: what is left of them in the files as they are on the disk.

Lines that others changed besides do not count, as in the review; a file of whose edits nothing is left is in
it no more. No content is stored, and a file is read again only when it has changed.
"""

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from cogency_tui.agent.edits.file_history import FileHistory
from cogency_tui.agent.edits.journal import Journal
from cogency_tui.agent.review.hunk_composition import content as content_of
from cogency_tui.agent.review.model import LARGEST
from cogency_tui.agent.review.survival import lines_left
from cogency_tui.errors import StoreError, WorkspaceError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Version
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace.diff import LineCounts
from cogency_tui.workspace.file_or_link import Stamp, content, located, stamp_of, status
from cogency_tui.workspace.paths import Workspace

_UNCOUNTED = LineCounts(0, 0)
"""For a file that differs, but not in lines that can be counted."""


class Edited(NamedTuple):
    """A file before the agent's first edit, and after the last; it may have been `renamed` between."""

    before: Version
    after: Version
    renamed: bool


class _Counted(NamedTuple):
    """The counts of a file at this stamp, None without a difference."""

    stamp: Stamp
    edited: Edited
    counts: LineCounts | None


class NetLines:
    """Counts the lines of the files with changes of the agent's, by their paths today."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._edited: dict[str, Edited] = {}
        self._counted: dict[str, _Counted] = {}

    def begin(self, histories: Iterable[tuple[str, FileHistory]]) -> None:
        """Count these files from now on, each with its path today and its whole history."""
        self._edited = {
            path: Edited(each.change.before, each.change.after, bool(each.change.old_path))
            for path, each in histories
        }

    def add(self, histories: Sequence[FileHistory]) -> None:
        """Count the files of another turn, too."""
        for change in (each.change for each in histories if not each.is_replaced):
            moved = self._edited.pop(change.old_path, None)
            known = moved or self._edited.get(change.path) or Edited(change.before, change.after, False)
            renamed = known.renamed or bool(change.old_path)
            self._edited[change.path] = Edited(known.before, change.after, renamed)

    async def read(self) -> dict[str, LineCounts]:
        """The counts of the files that differ now.

        Raises:
            StoreError: the store cannot be opened.
        """
        blobs, files = await self._journal.blobs(), dict(self._edited)
        return await in_thread(self._read, files, blobs)

    def _read(self, files: dict[str, Edited], blobs: Blobs) -> dict[str, LineCounts]:
        found: dict[str, LineCounts] = {}
        for path, edited in files.items():
            # Of one that cannot be read no more is known than that the agent changed it.
            counts: LineCounts | None = _UNCOUNTED
            with suppress(WorkspaceError, StoreError):
                counts = self._counts_of(path, edited, blobs)
            if counts is not None:
                found[path] = counts
        return found

    def _counts_of(self, path: str, edited: Edited, blobs: Blobs) -> LineCounts | None:
        workspace, read = self._journal.workspace, time.time_ns()
        entry = status(workspace, located(workspace, path))
        known = self._counted.get(path)
        if entry is not None and known is not None and known[:2] == (stamp_of(entry), edited):
            return known.counts
        stamp, counts = _compared(workspace, path, edited, blobs)
        if stamp is not None and stamp.settled(read):
            self._counted[path] = _Counted(stamp, edited, counts)
        return counts


def _compared(
    workspace: Workspace, path: str, edited: Edited, blobs: Blobs
) -> tuple[Stamp | None, LineCounts | None]:
    """Read what is left of the edits of a file; return its stamp, and the counts, None if nothing is."""
    with content(workspace, located(workspace, path)) as opened:
        if opened is None:
            return None, _counts_of_removed(edited, blobs)
        stamp, source = opened
        if stamp.size > LARGEST:
            return stamp, _UNCOUNTED
        data = source.read()
    if _is_as_before(edited, stamp, data, blobs):
        return stamp, None
    return stamp, _UNCOUNTED if stamp.is_link else _counts(edited, stamp.permissions, data, blobs)


def _counts_of_removed(edited: Edited, blobs: Blobs) -> LineCounts | None:
    """The counts of a file that is not there: if the agent did not remove it, nothing is left."""
    if edited.after.kind != "absent" or edited.before.kind == "absent" or edited.renamed:
        return None
    return lines_left(edited.before, edited.after, b"", blobs) or _UNCOUNTED


def _is_as_before(edited: Edited, stamp: Stamp, data: bytes, blobs: Blobs) -> bool:
    before, kind = edited.before, "link" if stamp.is_link else "file"
    is_alike = (before.kind, before.size, before.mode) == (kind, len(data), stamp.permissions)
    return is_alike and not edited.renamed and before.kept and content_of(before, blobs) == data


def _counts(edited: Edited, mode: int, data: bytes, blobs: Blobs) -> LineCounts | None:
    before, after, renamed = edited
    counts = lines_left(before, after, data, blobs)
    if counts is None or any(counts):
        return counts or _UNCOUNTED
    is_made = before.kind != after.kind and not (before.size or after.size)
    return counts if renamed or is_made or mode == after.mode != before.mode else None
