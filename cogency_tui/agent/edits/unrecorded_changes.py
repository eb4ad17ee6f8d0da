"""The changes that a command has made and that are not recorded yet, from its shadow: of a command that was
interrupted, or that still runs while another call is about to write the same files.

Invariant: the edits of a file are recorded in the order in which they were made. Whoever writes a file first
records, under the command's name, what foreground commands of any process have changed in it. What commands
in the background have changed only their own process records first.
"""

import math
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from cogency_tui.agent.edits.change_attribution import (
    changes_of,
    planned_by,
    rivals,
    shared,
    sides,
    unclaimed,
    written_by_us,
)
from cogency_tui.agent.edits.prior_contents import Contents
from cogency_tui.agent.edits.protected_file_restore import without_ordinary
from cogency_tui.errors import WorkspaceError
from cogency_tui.store.edit_records import Edit, FileChange
from cogency_tui.store.intents import Intent
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace import snapshot
from cogency_tui.workspace.file_or_link import TICK, located, missing_above, status
from cogency_tui.workspace.paths import Workspace

if TYPE_CHECKING:
    from cogency_tui.agent.edits.journal import Journal


async def changes_since(
    journal: "Journal", before: snapshot.Snapshot, contents: Contents
) -> tuple[list[FileChange], snapshot.Snapshot]:
    """The differences from the snapshot before a command, whose `contents` are known, and the current one.

    Raises:
        StoreError: the store refuses a content.
    """
    blobs = await journal.blobs()

    def compare() -> tuple[list[FileChange], snapshot.Snapshot]:
        after = journal.take(rules=before.rules)
        differences = snapshot.differences(journal.workspace, before, after)
        changes = changes_of(differences, contents, journal.limits.left)
        changes = without_ordinary(changes, before.protected, after.protected, journal.workspace, blobs)
        return changes, after

    return await in_thread(compare)


async def record_running(journal: "Journal", paths: Collection[str]) -> None:
    """Record what foreground commands have changed in the files at `paths`, which another call is about to
    write. The caller holds the journal's lock, and that of the project.

    Raises:
        StoreError: it cannot be recorded.
    """
    for intent in await (await journal.intents()).below(journal.root):
        if intent.shadow.name and intent.ended is None and intent.is_live:
            written = await in_thread(_written_since, intent.began, paths, journal.workspace)
            if written:
                await _record(journal, intent, written)


async def _record(journal: "Journal", intent: Intent, paths: Collection[str]) -> None:
    intents, edits = await journal.intents(), await journal.edits()
    blobs, contents = await journal.blobs(), await journal.contents()
    last = await edits.last()
    recorded = await edits.since(intent.origin.project, intent.last)
    paths = await in_thread(_unrecorded, paths, recorded, contents)
    if not paths:
        return
    before = journal.commands.before(intent.id)
    if before is None:
        before, known, _ = await in_thread((await journal.shadow()).read, intent.shadow)
        contents = contents.of_another(known)
    if not before.files.keys() & paths and not await in_thread(_existing, paths, journal.workspace):
        # None was there before the command, and none is there now.
        return
    changes, after = await changes_since(journal, before, contents)
    changes = [each for each in changes if {each.path, each.old_path} & {*paths}]
    ours = await in_thread(written_by_us, changes, journal.workspace, blobs, before.began)

    def claim(recorded: Sequence[Edit], running: Sequence[Intent]) -> Iterable[FileChange]:
        if all(each.id != intent.id for each in running):
            # It has ended, and its changes are recorded.
            return []
        others = [*recorded, *planned_by(running, changes), *ours]
        left = unclaimed(changes, others, intent.shadow.beside, last)
        return shared(rivals(running, intent.origin.conversation), left, after, time.time())

    await in_thread(blobs.sync)
    await intents.record(journal.root, intent.last, (intent.origin, intent.call, intent.tool), claim)


def _written_since(began: float, paths: Iterable[str], workspace: Workspace) -> list[str]:
    """The files that may have been written, made or removed since a moment in Unix seconds. Blocks."""
    return [path for path in paths if _changed_at(path, workspace) >= began * 1e9 - TICK]


def _changed_at(path: str, workspace: Workspace) -> float:
    """When a file, or the nearest directory above it, last changed, in nanoseconds of Unix time."""
    try:
        location = located(workspace, path)
        found = status(workspace, location) or missing_above(workspace, location)[0].stat()
    except (OSError, WorkspaceError):
        return math.inf
    return found.st_ctime_ns


def _unrecorded(paths: Iterable[str], recorded: Sequence[Edit], contents: Contents) -> list[str]:
    """The files that the last of their `recorded` edits did not leave as they are. Blocks."""
    made = [edit for edit in recorded if edit.kind != "snapshot"]
    found: list[str] = []
    for path in paths:
        left = [after for _before, after in sides(path, made)]
        # What cannot be read cannot be recorded either.
        with suppress(WorkspaceError):
            if not left or not contents.now(path).equals(left[-1]):
                found.append(path)
    return found


def _existing(paths: Iterable[str], workspace: Workspace) -> list[str]:
    return [path for path in paths if status(workspace, located(workspace, path))]
