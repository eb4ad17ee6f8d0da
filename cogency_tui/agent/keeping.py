"""What is kept of files that a tool is about to change, and what then became of them. The calls block."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from cogency_tui.agent.contents import Contents, Limits
from cogency_tui.errors import WorkspaceError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.versions import ABSENT, FileChange, Version
from cogency_tui.tools.changes import Change, load
from cogency_tui.workspace.ignore import ALWAYS
from cogency_tui.workspace.paths import Workspace
from cogency_tui.workspace.place import files_below, located, missing_above, stamp_of, status

_REBUILT = ALWAYS - {".git", ".hg", ".svn", ".jj"}
"""Directories that are not kept with what is around them: a program made them, and can again."""


def planned(changes: Iterable[Change], workspace: Workspace, blobs: Blobs) -> list[FileChange]:
    """Changes that are about to be made, with what they replace and what they put there kept for good."""
    found = [_planned(change, workspace, blobs) for change in changes]
    blobs.sync()
    return found


def _planned(change: Change, workspace: Workspace, blobs: Blobs) -> FileChange:
    path = workspace.name_of(change.location.path)
    after = _version(change, change.after, workspace, blobs)
    if change.before is None:
        return FileChange(path, ABSENT, after, made=missing_above(workspace, change.location)[1])
    return FileChange(path, _version(change, change.before, workspace, blobs), after)


def made(
    changes: Sequence[Change], plans: Sequence[FileChange], failed: bool, workspace: Workspace
) -> list[FileChange]:
    """The changes as they came out; of a failure, those that are found to have been made."""
    found: list[FileChange] = []
    for change, plan in zip(changes, plans, strict=True):
        if failed and not _is_made(change, workspace):
            continue
        after = replace(plan.after, mode=_mode(change, workspace))
        if not plan.before.equals(after):
            found.append(replace(plan, after=after))
    return found


def _is_made(change: Change, workspace: Workspace) -> bool:
    try:
        return load(workspace, change.location) == change.after
    except WorkspaceError:
        return False


def _version(change: Change, data: bytes, workspace: Workspace, blobs: Blobs) -> Version:
    stored = blobs.put_bytes(data)
    return Version("file", stored.digest, stored.size, _mode(change, workspace), stored.kept)


def _mode(change: Change, workspace: Workspace) -> int:
    found = status(workspace, change.location)
    return stamp_of(found).permissions if found else 0


def at_stake(
    paths: Sequence[Path], workspace: Workspace, contents: Contents, limits: Limits
) -> tuple[list[FileChange], int, int]:
    """Every file at these paths as it is, then how many were left out and their bytes."""
    found: list[FileChange] = []
    room = limits.stake_total
    left_out = left_out_size = 0
    for path in (each for top in paths for each in _files_at(top)):
        name = workspace.name_of(path)
        try:
            there = status(workspace, located(workspace, name))
            if there is None:
                continue
            if len(found) == limits.stake_files or there.st_size > min(room, limits.kept):
                left_out, left_out_size = left_out + 1, left_out_size + there.st_size
                continue
            version = contents.now(name)
        except WorkspaceError:
            continue
        room -= version.size
        found.append(FileChange(name, version, version))
    return found, left_out, left_out_size


def _files_at(path: Path) -> Iterable[Path]:
    return files_below(path, _REBUILT) if path.is_dir() and not path.is_symlink() else [path]
