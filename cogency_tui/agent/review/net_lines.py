"""The net difference of the agent's files: as they are on the disk, against before the agent's first edit.

It counts what is there, whoever wrote it; a file that is as before the agent is in it no more. No content is
stored, and a file is read again only when it has changed.
"""

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from cogency_tui.agent.edits.file_history import FileHistory
from cogency_tui.agent.edits.journal import Journal
from cogency_tui.agent.review.hunk_composition import content as content_of
from cogency_tui.agent.review.hunk_composition import is_readable
from cogency_tui.agent.review.model import LARGEST, MOST_LINES
from cogency_tui.errors import StoreError, WorkspaceError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Version
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace.diff import LineCounts
from cogency_tui.workspace.file_or_link import Stamp, content, located, stamp_of, status
from cogency_tui.workspace.paths import Workspace
from cogency_tui.workspace.three_way_merge import line_differences, lines

_UNCOUNTED = LineCounts(0, 0)
"""For a file that differs, but not in lines that can be counted."""


class Base(NamedTuple):
    """A file before the agent's first edit; it may have been `renamed` since."""

    version: Version
    renamed: bool


class _Counted(NamedTuple):
    """The counts of a file at this stamp, None without a difference."""

    stamp: Stamp
    base: Base
    counts: LineCounts | None


class NetLines:
    """Counts the lines of the files with changes of the agent's, by their paths today."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._bases: dict[str, Base] = {}
        self._counted: dict[str, _Counted] = {}

    def begin(self, histories: Iterable[tuple[str, FileHistory]]) -> None:
        """Count these files from now on, each with its path today and its whole history."""
        self._bases = {path: Base(each.change.before, bool(each.change.old_path)) for path, each in histories}

    def add(self, histories: Sequence[FileHistory]) -> None:
        """Count the files of another turn, too."""
        for change in (each.change for each in histories if not each.is_replaced):
            moved = self._bases.pop(change.old_path, None)
            base = moved or self._bases.get(change.path) or Base(change.before, False)
            self._bases[change.path] = Base(base.version, base.renamed or bool(change.old_path))

    async def read(self) -> dict[str, LineCounts]:
        """The counts of the files that differ now.

        Raises:
            StoreError: the store cannot be opened.
        """
        blobs, bases = await self._journal.blobs(), dict(self._bases)
        return await in_thread(self._read, bases, blobs)

    def _read(self, bases: dict[str, Base], blobs: Blobs) -> dict[str, LineCounts]:
        found: dict[str, LineCounts] = {}
        for path, base in bases.items():
            # Of one that cannot be read no more is known than that the agent changed it.
            counts: LineCounts | None = _UNCOUNTED
            with suppress(WorkspaceError, StoreError):
                counts = self._counts_of(path, base, blobs)
            if counts is not None:
                found[path] = counts
        return found

    def _counts_of(self, path: str, base: Base, blobs: Blobs) -> LineCounts | None:
        workspace, read = self._journal.workspace, time.time_ns()
        entry = status(workspace, located(workspace, path))
        known = self._counted.get(path)
        if entry is not None and known is not None and known[:2] == (stamp_of(entry), base):
            return known.counts
        stamp, counts = _compared(workspace, path, base, blobs)
        if stamp is not None and stamp.settled(read):
            self._counted[path] = _Counted(stamp, base, counts)
        return counts


def _compared(
    workspace: Workspace, path: str, base: Base, blobs: Blobs
) -> tuple[Stamp | None, LineCounts | None]:
    """Compare a file with its base; return its stamp, and the counts, None without a difference."""
    version = base.version
    with content(workspace, located(workspace, path)) as opened:
        if opened is None:
            is_same = version.kind == "absent" or base.renamed
            return None, None if is_same else _counts(version, b"", blobs)
        stamp, source = opened
        if stamp.size > LARGEST:
            return stamp, _UNCOUNTED
        data = source.read()
    kind = "link" if stamp.is_link else "file"
    is_alike = (version.kind, version.size, version.mode) == (kind, len(data), stamp.permissions)
    if is_alike and not base.renamed and version.kept and content_of(version, blobs) == data:
        return stamp, None
    return stamp, _UNCOUNTED if stamp.is_link else _counts(version, data, blobs)


def _counts(base: Version, data: bytes, blobs: Blobs) -> LineCounts:
    sides = lines(content_of(base, blobs), data) if is_readable(base) else None
    if sides is None or sum(map(len, sides)) > MOST_LINES:
        return _UNCOUNTED
    old, new = sides
    changes = line_differences(old, new)
    return LineCounts(
        sum(end - start for _, _, start, end in changes), sum(end - start for start, end, _, _ in changes)
    )
