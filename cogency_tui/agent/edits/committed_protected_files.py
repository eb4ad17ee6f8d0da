"""Protected files that came with commits: files that are in a working tree as its last commit has them, as
git composed them from others (in the index, with conflict marks), or as a stash has them that was popped.
What none of the commits had that a command left was not removed by git.

Invariant: only working trees of the project's own repository and of its submodules count. Nothing in a git
directory counts, nor what a commit made by a command changed in the project's repository. The calls block.
"""

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import TypeVar

from cogency_tui.agent.edits.agent_commits import Doubted, History, KnownCommits
from cogency_tui.agent.edits.merge_replay import Merges
from cogency_tui.agent.edits.merge_result_check import LINK, LONGEST, MergedFiles, mode_of
from cogency_tui.store.edit_records import FileChange
from cogency_tui.tools.journal_protocol import Bringing
from cogency_tui.workspace.git.blocking_files import read_regular
from cogency_tui.workspace.git.cached_queries import CachedRepository, QueryCache
from cogency_tui.workspace.git.merge_repository import merging_repository
from cogency_tui.workspace.git.repository_queries import Repository
from cogency_tui.workspace.paths import Workspace

_MOST = 500
"""Edits for which git is queried."""

_MOST_MERGED = 100
"""Files whose merge is replayed."""


RecordedContents = Set[tuple[str, str, str]]
"""Recorded contents of files that were not put back: paths, kinds and digests."""

_Edit = TypeVar("_Edit", bound=FileChange)


def brought(
    edits: Sequence[_Edit],
    workspace: Workspace,
    recorded: RecordedContents | None,
    commits: KnownCommits,
    brings: Bringing,
) -> list[_Edit]:
    """The edits that left files as the last commit, or a pending one, has them, or removed what a commit
    that the command left has and it does not. Contents that are not in `recorded` must come from commits that
    are not in doubt; if `recorded` is None, none have to.
    """
    if len(edits) > _MOST:
        return []
    trees: dict[Path, Path | None] = {}
    inside: dict[Path, list[Path]] = defaultdict(list)
    for path in {path for edit in edits for path in _paths(edit, workspace)}:
        directory = next(each for each in path.parents if each.is_dir())
        if directory not in trees:
            trees[directory] = Repository(directory).root
        tree = trees[directory]
        if tree is not None and ".git" not in path.parts:
            inside[tree].append(path)
    recorded = _all(edits) if recorded is None else recorded
    made = {path for edit in edits if _all([edit]) - recorded for path in _paths(edit, workspace)}
    texts = {(workspace.root / path, digest) for path, kind, digest in recorded if kind == "file"}
    same = set[Path]()
    for tree, paths in inside.items():
        if history := commits.of(tree):
            same |= _Files(tree, paths, made, texts, history, brings).brought()
    return [edit for edit in edits if same.issuperset(_paths(edit, workspace))]


def _all(edits: Iterable[FileChange]) -> RecordedContents:
    return {(edit.path, edit.after.kind, edit.after.digest) for edit in edits}


def _paths(edit: FileChange, workspace: Workspace) -> list[Path]:
    return [workspace.root / each for each in (edit.path, edit.old_path) if each]


class _Files:
    """Files of a working tree and git's versions of them; those that a command has `made` must not come
    from doubtful commits, but may have a content whose digest is in `recorded`.
    """

    def __init__(
        self,
        tree: Path,
        paths: Sequence[Path],
        made: Set[Path],
        recorded: Set[tuple[Path, str]],
        history: History,
        brings: Bringing,
    ) -> None:
        self._recorded = recorded
        self._names = {path: os.path.relpath(path, tree) for path in paths}
        self._made = made
        self._history = history
        self._brings = brings
        self._repository = CachedRepository(tree, QueryCache.unlimited())
        self._doubted: dict[str, Doubted] = {}
        modes = {path: mode_of(path) for path in paths}
        others = {path for path, mode in modes.items() if mode == "other"} | self._removed_by_others(modes)
        self._found = {path: self._entries(path, mode) for path, mode in modes.items() if path not in others}
        """The objects that git may have for each file; none for a file that does not exist."""

    def brought(self) -> set[Path]:
        """The files that git has put there from commits that are not in doubt."""
        committed = self._same("HEAD")
        found = self._undoubted(committed, "HEAD")
        if found == self._found.keys():
            return found
        sources = self._history.sources(self._repository, self._brings)
        merged = MergedFiles(
            sources, self._names, self._repository, self._brings, self._is_undoubted, self._recorded
        )
        # Beside other commands, staged contents may come from anywhere.
        merges = not self._brings.takes_paths and (self._brings.alone or self._repository.is_half_way())
        staged = self._staged() if merges else set[Path]()
        stashed = (self._same(each) for each in self._history.stashes)
        unmerged = self._unmerged()
        placed = committed.union(staged, unmerged, *stashed)
        found |= placed - self._made
        for commit in merged.commits:
            found |= self._undoubted(self._same(commit) & placed, commit)
        left = sorted(placed - found)[:_MOST_MERGED]
        if left:
            with merging_repository() as repository:
                merges = Merges(repository)
                found |= {path for path in left if merged.has(path, merges, marked=path in unmerged)}
        return found

    def _removed_by_others(self, modes: Mapping[Path, str]) -> set[Path]:
        """The files that are gone and that git cannot have removed."""
        gone = {path: self._names[path] for path, mode in modes.items() if not mode}
        if not gone:
            return set()
        absent = {name for path, name in gone.items() if path not in self._made}
        removed = self._history.may_remove(gone.values(), absent, self._repository, self._brings)
        return {path for path, name in gone.items() if name not in removed}

    def _entries(self, path: Path, mode: str) -> frozenset[tuple[str, str] | None]:
        """The file as git would store it: as it is, or with the line endings that git converts."""
        if not mode:
            return frozenset((None,))
        repository = self._repository
        if mode == LINK:
            return frozenset(((mode, repository.name_of(_target(path))),))
        names = repository.names_of([path]) or []
        text = read_regular(path, LONGEST)
        if b"\r\n" in text:
            names.append(repository.name_of(text.replace(b"\r\n", b"\n")))
        return frozenset((mode, name) for name in names)

    def _same(self, commit: str) -> set[Path]:
        committed = self._repository.committed(self._names.values(), commit)
        if committed is None:
            return set()
        return {path for path, files in self._found.items() if committed.get(self._names[path]) in files}

    def _undoubted(self, paths: Collection[Path], commit: str) -> set[Path]:
        """The paths that a command did not make, or that the commit has from known commits."""
        if self._made.isdisjoint(paths):
            return set(paths)
        if commit not in self._doubted:
            self._doubted[commit] = self._history.doubted(commit, self._brings, self._repository)
        doubted = self._doubted[commit]
        return {path for path in paths if path not in self._made or self._names[path] not in doubted}

    def _is_undoubted(self, path: Path, commit: str) -> bool:
        return bool(self._undoubted([path], commit))

    def _staged(self) -> set[Path]:
        """The files that match the index and differ there from the last commit."""
        staged = self._repository.changed_in_index() or {}
        return {
            path
            for path, files in self._found.items()
            if self._names[path] in staged and staged[self._names[path]] in files
        }

    def _unmerged(self) -> set[Path]:
        names = self._repository.unmerged() or ()
        return {path for path in self._found if self._names[path] in names}


def _target(link: Path) -> bytes:
    try:
        return os.fsencode(link.readlink())
    except OSError:
        return b""
