"""Hunks of which nothing is left: overwritten by the agent since, undone, or removed by others. One that
others removed and the agent then made again is gone, too: the later one is there.

There is nothing to decide about them; keeping one restores it. No content is stored, and an unchanged file
is not read again.
"""

import hashlib
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from cogency_tui.agent.edits.file_history import by_file, change_of, is_agents, path_today, unbroken
from cogency_tui.agent.edits.journal import Journal
from cogency_tui.agent.review.model import LARGEST, ChangedFile
from cogency_tui.agent.review.snapshot import ReviewSnapshot
from cogency_tui.agent.review.survival import overwritten, remade
from cogency_tui.errors import StoreError, WorkspaceError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Edit, FileChange, Version
from cogency_tui.store.reviews import Part
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace.file_or_link import Stamp, content, located, stamp_of, status

_WHOLE = ""
"""In place of the id of a hunk, for a file without hunks."""

_NONE: frozenset[str] = frozenset()


class _Known(NamedTuple):
    """The hunks that are gone from the file of this stamp, given the agent's `latest` version."""

    stamp: Stamp
    latest: Version
    gone: frozenset[str]


_Runs = Sequence[Sequence[Edit]]
"""The agent's edits of a file, oldest first, divided where others changed it."""


class Superseded:
    """Finds such hunks of the agent's changes, in the files of `journal`."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._known: dict[tuple[int, ...], _Known] = {}
        """By the edits of a change."""
        self._remade: dict[tuple[int, ...], frozenset[str]] = {}
        """By the edits of a change and the last one of its file."""

    async def mark(self, snapshot: ReviewSnapshot, files: Sequence[ChangedFile]) -> list[ChangedFile]:
        """The files, with the state `gone` in place of `new` for such hunks."""
        blobs, runs = await self._journal.blobs(), _runs_by_edit(snapshot.edits)

        def work() -> list[ChangedFile]:
            return [
                _marked(file, self._gone_from(file, snapshot, runs[file.last.id], blobs)) for file in files
            ]

        return await in_thread(work)

    def _gone_from(
        self, file: ChangedFile, snapshot: ReviewSnapshot, runs: _Runs, blobs: Blobs
    ) -> frozenset[str]:
        # Where another file has come to its path, that is no evidence.
        if "new" not in file.states or file.key.replaced:
            return _NONE
        path = path_today(file.path, snapshot.renames, file.last.id)
        # What cannot be read may still be there.
        with suppress(WorkspaceError, StoreError):
            gone = self._gone(file, path, runs[-1][-1].after, blobs)
            return gone | self._made_again(file, runs, blobs)
        return _NONE

    def _made_again(self, file: ChangedFile, runs: _Runs, blobs: Blobs) -> frozenset[str]:
        key = (*(edit.id for edit in file.edits), runs[-1][-1].id)
        if key not in self._remade:
            later = [run for run in runs if run[0].id > file.last.id]
            self._remade[key] = frozenset(_remade(file, later, blobs))
        return self._remade[key]

    def _gone(self, file: ChangedFile, path: str, latest: Version, blobs: Blobs) -> frozenset[str]:
        workspace, key, read = self._journal.workspace, tuple(edit.id for edit in file.edits), time.time_ns()
        entry, known = status(workspace, located(workspace, path)), self._known.get(key)
        if entry is None:
            return _NONE if file.last.after.kind == "absent" else frozenset(_ids(file))
        if known is not None and known[:2] == (stamp_of(entry), latest):
            return known.gone
        with content(workspace, located(workspace, path)) as opened:
            if opened is None or opened[0].size > LARGEST:
                return _NONE
            stamp, source = opened
            gone = frozenset(_overwritten(file, source.read(), latest, blobs))
        if stamp.settled(read):
            self._known[key] = _Known(stamp, latest, gone)
        return gone


def gone_parts(file: ChangedFile) -> list[Part]:
    """The parts of the hunks that are gone; of a file without hunks its edits."""
    own = [hunk.parts for hunk in file.hunks] or [[Part(edit.id) for edit in file.edits]]
    return [part for parts, state in zip(own, file.states, strict=True) if state == "gone" for part in parts]


def _runs_by_edit(edits: Iterable[Edit]) -> dict[int, _Runs]:
    """The runs of the file that each of the agent's edits changed."""
    here, replaced = by_file((edit for edit in edits if is_agents(edit)), change_of)
    found: dict[int, _Runs] = {}
    for own in (*here.values(), *replaced):
        found |= dict.fromkeys((edit.id for edit in own), unbroken(own, change_of))
    return found


def _remade(file: ChangedFile, later: _Runs, blobs: Blobs) -> set[str]:
    change = _change(file)
    return {hunk for run in later for hunk in remade(change, file.hunks, run[0].before, run[-1].after, blobs)}


def _change(file: ChangedFile) -> FileChange:
    return FileChange(file.path, file.edits[0].before, file.last.after)


def _overwritten(file: ChangedFile, now: bytes, latest: Version, blobs: Blobs) -> set[str]:
    change = _change(file)
    if not file.hunks or hashlib.sha256(now).hexdigest() == change.after.digest:
        return set()
    return overwritten(change, file.hunks, now, latest, blobs)


def _marked(file: ChangedFile, gone: frozenset[str]) -> ChangedFile:
    pairs = zip(_ids(file), file.states, strict=True)
    states = tuple("gone" if id in gone and state == "new" else state for id, state in pairs)
    return replace(file, states=states) if gone else file


def _ids(file: ChangedFile) -> list[str]:
    return [hunk.id for hunk in file.hunks] or [_WHOLE]
