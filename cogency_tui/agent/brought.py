"""Guarded files that came with commits: they lie in a working tree as its last commit has them, or the index
where git makes one of others, or a stash that is taken out.

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
from cogency_tui.tools.git_bringing import Bringing
from cogency_tui.tools.git_facts import Repository
from cogency_tui.workspace.paths import Workspace

_MOST = 500
"""Edits that git is asked about."""

_MOST_STASHES = 40


_Change = TypeVar("_Change", bound=FileChange)


def brought(
    edits: Sequence[_Change],
    workspace: Workspace,
    new: Sequence[_Change],
    commits: KnownCommits,
    brings: Bringing,
) -> list[_Change]:
    """The edits that left files as the last commit has them, or what is about to be one, or removed what it
    does not have. Those that are `new` have to come from commits that are not in doubt."""
    if len(edits) > _MOST:
        return []
    common = _common(workspace.root)
    if common is None:
        return []
    own = _tree_of(workspace.root, common)
    trees: dict[Path, Path | None] = {}
    inside: dict[Path, list[Path]] = defaultdict(list)
    for path in {path for edit in edits for path in _paths(edit, workspace)}:
        directory = next(each for each in path.parents if each.is_dir())
        if directory not in trees:
            trees[directory] = _tree_of(directory, common)
        tree = trees[directory]
        if tree is not None and ".git" not in path.parts:
            inside[tree].append(path)
    made = {path for edit in new for path in _paths(edit, workspace)}
    same = set[Path]()
    for tree, paths in inside.items():
        files = _Files(tree, paths)
        found = files.as_in("HEAD")
        if tree == own:
            found |= _half_way(files, commits, brings)
        if brings.resumes:
            # It may have made commits by any means.
            found -= made - (files.as_in(*commits.half_way()) if tree == own else set())
        if _common(tree) == common:
            found -= {path for path in made & found if commits.doubts(files.names[path])}
        same |= found
    return [edit for edit in edits if same.issuperset(_paths(edit, workspace))]


def _half_way(files: "_Files", commits: KnownCommits, brings: Bringing) -> set[Path]:
    """The files that are as what a command of git has made of commits without committing it."""
    found = set[Path]()
    if commits.knows_index and (brings.merges or brings.resumes):
        found |= files.as_staged()
    if brings.merges and "stash" in brings.words:
        found |= files.as_in(*commits.stashes[:_MOST_STASHES])
    return found


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


class _Files:
    """Files of a working tree as they are, beside what git has of them."""

    def __init__(self, tree: Path, paths: Sequence[Path]) -> None:
        self.names = {path: os.path.relpath(path, tree) for path in paths}
        self._repository = Repository(tree)
        modes = {path: _mode(path) for path in paths}
        files = [path for path, mode in modes.items() if mode.startswith("100")]
        objects = self._repository.names_of(files)
        self._found: dict[Path, tuple[str, str] | None] = {}
        if objects is not None:
            self._found |= {path: None for path, mode in modes.items() if not mode}
            self._found |= {path: (modes[path], name) for path, name in zip(files, objects, strict=True)}

    def as_in(self, *commits: str) -> set[Path]:
        """Those that one of the commits has as they are, or does not have either."""
        same = set[Path]()
        for commit in commits:
            committed = self._repository.committed(self.names.values(), commit)
            if committed is not None:
                same |= {
                    path for path, file in self._found.items() if file == committed.get(self.names[path])
                }
        return same

    def as_staged(self) -> set[Path]:
        """Those that the index has as they are, otherwise than the last commit."""
        staged = self._repository.changed_in_index() or {}
        return {
            path
            for path, file in self._found.items()
            if self.names[path] in staged and staged[self.names[path]] == file
        }


def _mode(path: Path) -> str:
    """The mode that git has for a file; empty where there is none, and `other` where it is no file."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return ""
    if not stat.S_ISREG(mode):
        return "other"
    return "100755" if mode & stat.S_IXUSR else "100644"
