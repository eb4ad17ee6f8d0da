"""Guarded files that came with commits: they lie in a working tree as its last commit has them.

Invariant: only working trees of the project's own repository and of its submodules count, and nothing in a
directory of git does, nor what a commit of the project's repository changed that a command has made. The
calls block.
"""

import os
import stat
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from cogency_tui.agent.known_commits import KnownCommits
from cogency_tui.store.versions import FileChange
from cogency_tui.tools.git_facts import Repository
from cogency_tui.workspace.paths import Workspace

_MOST = 500
"""Edits that git is asked about."""


_Change = TypeVar("_Change", bound=FileChange)


def brought(
    edits: Sequence[_Change], workspace: Workspace, new: Sequence[_Change], commits: KnownCommits
) -> list[_Change]:
    """The edits that left files as the last commit has them, or removed what it does not have. Of those that
    are `new` no commit may be in doubt."""
    if len(edits) > _MOST:
        return []
    common = _common(workspace.root)
    if common is None:
        return []
    trees: dict[Path, Path | None] = {}
    inside: dict[Path, list[Path]] = defaultdict(list)
    for path in {path for edit in edits for path in _paths(edit, workspace)}:
        directory = next(each for each in path.parents if each.is_dir())
        if directory not in trees:
            trees[directory] = _tree_of(directory, common)
        tree = trees[directory]
        if tree is not None and ".git" not in path.parts:
            inside[tree].append(path)
    doubted = {
        path
        for tree, paths in inside.items()
        for path in {path for edit in new for path in _paths(edit, workspace)}.intersection(paths)
        if _common(tree) == common and commits.doubts(os.path.relpath(path, tree))
    }
    same = {path for tree, paths in inside.items() for path in _as_committed(tree, paths)} - doubted
    return [edit for edit in edits if same.issuperset(_paths(edit, workspace))]


def _paths(edit: FileChange, workspace: Workspace) -> list[Path]:
    return [workspace.root / each for each in (edit.path, edit.old_path) if each]


def _common(directory: Path) -> Path | None:
    found = Repository(directory).common_directory()
    return None if found is None else Path(os.path.realpath(found))


def _tree_of(directory: Path, common: Path) -> Path | None:
    """The working tree around a directory, if it belongs to the repository at `common`."""
    root, own = Repository(directory).root, _common(directory)
    if root is None or own is None:
        return None
    return root if own == common or common / "modules" in own.parents else None


def _as_committed(tree: Path, paths: Sequence[Path]) -> list[Path]:
    repository = Repository(tree)
    names = {path: os.path.relpath(path, tree) for path in paths}
    committed = repository.committed(names.values())
    modes = {path: _mode(path) for path in paths}
    files = [path for path, mode in modes.items() if mode.startswith("100")]
    objects = repository.names_of(files)
    if committed is None or objects is None:
        return []
    found = {path: (modes[path], name) for path, name in zip(files, objects, strict=True)}
    return [
        path
        for path in paths
        if (modes[path] == "" or path in found) and found.get(path) == committed.get(names[path])
    ]


def _mode(path: Path) -> str:
    """The mode that git has for a file; empty where there is none, and `other` where it is no file."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return ""
    if not stat.S_ISREG(mode):
        return "other"
    return "100755" if mode & stat.S_IXUSR else "100644"
