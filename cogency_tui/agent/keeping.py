"""What is kept of files that a tool is about to change, and what then became of them. The calls block."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from cogency_tui.agent.contents import Contents, Limits
from cogency_tui.errors import WorkspaceError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.versions import ABSENT, Edit, FileChange, Net, Version
from cogency_tui.tools.changes import Change, load
from cogency_tui.tools.git_facts import Repository
from cogency_tui.workspace.ignore import ALWAYS
from cogency_tui.workspace.paths import Workspace
from cogency_tui.workspace.place import TICK, files_below, located, missing_above, stamp_of, status

_REBUILT = ALWAYS - {".git", ".hg", ".svn", ".jj"}
"""Directories that are not kept with what is around them: a program made them, and can again."""


_LARGEST = 4 << 20
"""Bytes of a content that is compared with that of the last commit."""


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


def made_since(began: float, found: Iterable[Net], workspace: Workspace, blobs: Blobs) -> dict[Path, Version]:
    """What is in files of which nobody loses anything but what the calls since `began` have put there."""
    # What was written earlier was only moved there.
    own = [
        each
        for each in found
        if each.change.after.kept and _is_newer(located(workspace, each.change.path).path, began)
    ]
    earlier = {each.change.path: list(_alone_since(each.edits)) for each in own}
    committed = _committed([path for path, versions in earlier.items() if versions], workspace)
    return {
        located(workspace, each.change.path).path: each.change.after
        for each in own
        if any(
            version.kind == "absent"
            or (path == each.change.path and _is_object(version, committed.get(path), blobs))
            for path, version in earlier[each.change.path]
        )
    }


def _alone_since(edits: Sequence[Edit]) -> Iterator[tuple[str, Version]]:
    """What a file was before each of the last edits between which nobody else changed it, and where."""
    following = edits[-1].after
    for edit in reversed(edits):
        if edit.shared_with or not edit.after.equals(following):
            return
        yield edit.old_path or edit.path, edit.before
        following = edit.before


def _is_newer(path: Path, began: float) -> bool:
    try:
        return path.lstat().st_mtime_ns >= began * 1e9 - TICK
    except OSError:
        return False


def _committed(paths: Sequence[str], workspace: Workspace) -> dict[str, str]:
    """The names of the objects that the last commit has at these paths."""
    repository = Repository(workspace.root)
    found = repository.committed(paths) if paths and repository.root == workspace.root else None
    return {path: name for path, (_mode, name) in (found or {}).items()}


def _is_object(version: Version, name: str | None, blobs: Blobs) -> bool:
    """Whether git has a content under this name."""
    if name is None or not version.kept or version.size > _LARGEST:
        return False
    data = blobs.read(version.digest, version.size)
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest() == name


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
