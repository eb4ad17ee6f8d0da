"""Guarded files that came with commits: files that are in a working tree as its last commit has them, as
git composed them from others (in the index, with conflict marks), or as a stash has them that was popped.

Invariant: only working trees of the project's own repository and of its submodules count. Nothing in a git
directory counts, nor what a commit made by a command changed in the project's repository. The calls block.
"""

import hashlib
import os
import re
import stat
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence, Set
from functools import partial
from itertools import chain, combinations
from pathlib import Path
from typing import TypeVar

from cogency_tui.agent.edits.known_commits import Doubted, History, KnownCommits
from cogency_tui.agent.edits.merge_replay import Merges, Search, Sides, sides
from cogency_tui.store.file_versions import FileChange
from cogency_tui.tools.shell.git_checkouts import Bringing
from cogency_tui.workspace.git.blockers import read_regular
from cogency_tui.workspace.git.cached_facts import Answers, CachedRepository
from cogency_tui.workspace.git.facts import Repository
from cogency_tui.workspace.git.merges import merging_repository
from cogency_tui.workspace.paths import Workspace

_MOST = 500
"""Edits for which git is queried."""

_LONGEST = 1 << 20
_MOST_VERSIONS = 20
_MOST_MERGED = 100
"""Files whose merge is replayed."""

_MOST_TIPS = 8
_LINK = "120000"
_OF_FILES = ("100644", "100755")

_LABELS = frozenset(
    ("HEAD", "base", "ours", "theirs", "Updated upstream", "Stashed changes", "merged common ancestors")
)
_COMMIT = re.compile(r"(?:parent of )?([0-9a-f]{7,64})(?: \((.*)\))?")
"""The labels that git writes after conflict marks."""

_FAVORING = ("ours", "theirs")
"""Endings of the words by which git takes one side of a conflict."""

Kept = Set[tuple[str, str, str]]
"""Recorded contents of files that were not put back: paths, kinds and digests."""

_Edit = TypeVar("_Edit", bound=FileChange)
_Change = tuple[str, str]
"""The objects of a file before and after; empty if it did not exist."""


def brought(
    edits: Sequence[_Edit],
    workspace: Workspace,
    kept: Kept | None,
    commits: KnownCommits,
    brings: Bringing,
) -> list[_Edit]:
    """The edits that left files as the last commit, or a pending one, has them, or removed what it does not
    have. Contents that are not in `kept` must come from commits that are not in doubt; if `kept` is None,
    none have to.
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
    kept = _all(edits) if kept is None else kept
    made = {path for edit in edits if _all([edit]) - kept for path in _paths(edit, workspace)}
    texts = {(workspace.root / path, digest) for path, kind, digest in kept if kind == "file"}
    same = set[Path]()
    for tree, paths in inside.items():
        if history := commits.of(tree):
            same |= _Files(tree, paths, made, texts, history, brings).brought()
    return [edit for edit in edits if same.issuperset(_paths(edit, workspace))]


def _all(edits: Iterable[FileChange]) -> Kept:
    return {(edit.path, edit.after.kind, edit.after.digest) for edit in edits}


def _paths(edit: FileChange, workspace: Workspace) -> list[Path]:
    return [workspace.root / each for each in (edit.path, edit.old_path) if each]


class _Files:
    """Files of a working tree and git's versions of them; those that a command has `made` must not come
    from doubtful commits, but may have a content whose digest is in `kept`.
    """

    def __init__(
        self,
        tree: Path,
        paths: Sequence[Path],
        made: Set[Path],
        kept: Set[tuple[Path, str]],
        history: History,
        brings: Bringing,
    ) -> None:
        self._kept = kept
        self._names = {path: os.path.relpath(path, tree) for path in paths}
        self._made = made
        self._history = history
        self._brings = brings
        self._repository = CachedRepository(tree, Answers.unlimited())
        self._doubted: dict[str, Doubted] = {}
        self._committed: dict[str, dict[str, tuple[str, str]]] = {}
        modes = {path: _mode(path) for path in paths}
        self._found = {path: self._entries(path, mode) for path, mode in modes.items() if mode != "other"}
        """The objects that git may have for each file; none for a file that does not exist."""

    def brought(self) -> set[Path]:
        """The files that git has put there from commits that are not in doubt."""
        committed = self._same("HEAD")
        found = self._undoubted(committed, "HEAD")
        if found == self._found.keys():
            return found
        sources = self._history.sources(self._repository, self._brings)
        parted = self._parted(sources[:_MOST_TIPS])
        sources = [*dict.fromkeys((*sources, *(base for base, _, _ in parted)))]
        # Beside other commands, staged contents may come from anywhere.
        merges = not self._brings.takes_paths and (self._brings.alone or self._repository.is_half_way())
        staged = self._staged() if merges else set[Path]()
        stashed = (self._same(each) for each in self._history.stashes)
        unmerged = self._unmerged()
        placed = committed.union(staged, unmerged, *stashed)
        found |= placed - self._made
        for commit in sources:
            found |= self._undoubted(self._same(commit) & placed, commit)
        left = sorted(placed - found)[:_MOST_MERGED]
        if left:
            with merging_repository() as repository:
                merges = Merges(repository)
                found |= {
                    path
                    for path in left
                    if self._is_merged(path, sources, parted, merges, marked=path in unmerged)
                }
        return found

    def _entries(self, path: Path, mode: str) -> frozenset[tuple[str, str] | None]:
        """The file as git would store it: as it is, or with the line endings that git converts."""
        if not mode:
            return frozenset((None,))
        repository = self._repository
        if mode == _LINK:
            return frozenset(((mode, repository.name_of(_target(path))),))
        names = repository.names_of([path]) or []
        text = read_regular(path, _LONGEST)
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

    def _parted(self, sources: Sequence[str]) -> list[tuple[str, str, str]]:
        """The merges that may have happened: the common ancestor of two commits, the one merged into, and
        the other.
        """
        found: list[tuple[str, str, str]] = []
        for one, other in combinations(sources, 2):
            for base in self._repository.parted([one, other]):
                if base not in (one, other):
                    found += (base, other, one), (base, one, other)
        return found

    def _is_merged(
        self,
        path: Path,
        sources: Sequence[str],
        parted: Sequence[tuple[str, str, str]],
        merges: Merges,
        *,
        marked: bool,
    ) -> bool:
        """Whether the file is a merge of these commits by git, with conflict marks where git leaves them."""
        name, repository = self._names[path], self._repository
        held = {commit: self._entry(name, commit) for commit in sources}
        mode = _mode(path)
        if mode not in _OF_FILES or mode not in {mode for mode, _ in held.values()}:
            return False
        undoubted = [commit for commit in sources if self._undoubted([path], commit)]
        changes = self._changes(name, sources)
        texts = self._texts(path, chain(*changes), chain(*self._changes(name, undoubted)))
        named, between = (
            [(texts[old], texts[new]) for old, new in each if old in texts and new in texts]
            for each in changes
        )
        text_of = {commit: texts[each] for commit, (_, each) in held.items() if each in texts}
        first = [
            (text_of[ours], (text_of[base], text_of[theirs]))
            for base, ours, theirs in parted
            if {base, ours, theirs} <= text_of.keys()
        ]
        text = read_regular(path, _LONGEST)
        if not any(b"\r\n" in each for each in texts.values()):
            text = text.replace(b"\r\n", b"\n")
        lines = frozenset(line.rstrip(b"\r") for each in texts.values() for line in each.split(b"\n"))
        wanted = sides(text, partial(self._is_label, path), lines) if marked else Sides.of(text)
        favors = any(word.endswith(_FAVORING) for word in self._brings.words)
        union = repository.merges_lines(name)
        if wanted is None:
            return False
        search = Search(merges, wanted, text_of.values(), favors=favors, union=union)
        return search.finds(first, named, between)

    def _entry(self, name: str, commit: str) -> tuple[str, str]:
        """The mode and the object of a file in a commit; empty if the commit has no such file."""
        if commit not in self._committed:
            self._committed[commit] = self._repository.committed(self._names.values(), commit) or {}
        return self._committed[commit].get(name, ("", ""))

    def _changes(self, name: str, commits: Sequence[str]) -> tuple[list[_Change], list[_Change]]:
        """The changes of a file by these commits and between them; then those by the commits in between,
        oldest first. For a revert, the changes are also inverted.
        """
        objects = [self._entry(name, commit)[1] for commit in commits]
        by = [(self._entry(name, f"{commit}^")[1], new) for commit, new in zip(commits, objects, strict=True)]
        between = self._repository.changes_of(name, commits, _MOST_VERSIONS) or []
        if "revert" in self._brings.words:
            by = [*((new, old) for old, new in by), *by]
            between = [(new, old) for old, new in reversed(between)]
        named = (*by, *combinations(dict.fromkeys(objects), 2))
        return [*dict.fromkeys(each for each in named if each[0] != each[1])], between

    def _texts(self, path: Path, changes: Iterable[_Change], sound: Iterable[_Change]) -> dict[str, bytes]:
        """The contents of these objects, none of them doubtful."""
        texts = {"": b""}
        known = {*chain.from_iterable(sound)}
        for each in dict.fromkeys(chain.from_iterable(changes)):
            text = self._repository.blob(each, _LONGEST) if each else None
            if text is not None and (each in known or self._is_kept(path, text)):
                texts[each] = text
        return texts

    def _is_kept(self, path: Path, text: bytes) -> bool:
        return (path, hashlib.sha256(text).hexdigest()) in self._kept

    def _is_label(self, path: Path, label: str) -> bool:
        """Whether git labels a side of a conflict like this: with a word of the command, or with a commit
        that changed the file, and its subject.
        """
        if label in _LABELS or (label in self._brings.words and " " not in label):
            return True
        repository = self._repository
        if not (found := _COMMIT.fullmatch(label)):
            return False
        subject = found[2]
        return subject is None or any(
            subject == repository.subject(commit)
            and self._names[path] in (repository.changed_in([commit]) or ())
            and path in self._undoubted([path], commit)
            for commit in repository.named([found[1]]) or ()
        )


def _target(link: Path) -> bytes:
    try:
        return os.fsencode(link.readlink())
    except OSError:
        return b""


def _mode(path: Path) -> str:
    """Git's mode for a file; empty if there is none, and `other` if it is no file."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return ""
    if stat.S_ISLNK(mode):
        return _LINK
    if not stat.S_ISREG(mode):
        return "other"
    return _OF_FILES[bool(mode & stat.S_IXUSR)]
