"""Protected files that git merged: whether a file of a working tree is a merge of given commits, with
conflict marks where git leaves them. The calls block.
"""

import hashlib
import re
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial
from itertools import chain, combinations
from pathlib import Path

from cogency_tui.agent.edits.merge_replay import Merges, Search, Sides, sides
from cogency_tui.tools.journal_protocol import Bringing
from cogency_tui.workspace.git.blocking_files import read_regular
from cogency_tui.workspace.git.repository_queries import Repository

LONGEST = 1 << 20
LINK = "120000"
OF_FILES = ("100644", "100755")
_MOST_VERSIONS = 20
_MOST_TIPS = 8

_LABELS = frozenset(
    ("HEAD", "base", "ours", "theirs", "Updated upstream", "Stashed changes", "merged common ancestors")
)
_COMMIT = re.compile(r"(?:parent of )?([0-9a-f]{7,64})(?: \((.*)\))?")
"""The labels that git writes after conflict marks."""

_FAVORING = ("ours", "theirs")
"""Endings of the words by which git takes one side of a conflict."""

_Change = tuple[str, str]
"""The objects of a file before and after; empty if it did not exist."""


class MergedFiles:
    """The merges of the commits `tips` and of their common ancestors.

    `names` are the files' paths from the top. `is_undoubted` decides whether a file in a commit is not in
    doubt; other contents count if their digest is in `recorded`.
    """

    def __init__(
        self,
        tips: Sequence[str],
        names: Mapping[Path, str],
        repository: Repository,
        brings: Bringing,
        is_undoubted: Callable[[Path, str], bool],
        recorded: Set[tuple[Path, str]],
    ) -> None:
        self._names = names
        self._repository = repository
        self._brings = brings
        self._is_undoubted = is_undoubted
        self._recorded = recorded
        self._committed: dict[str, dict[str, tuple[str, str]]] = {}
        self._merges = self._parted(tips[:_MOST_TIPS])
        self.commits = [*dict.fromkeys((*tips, *(base for base, _, _ in self._merges)))]
        """The tips and their common ancestors."""

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

    def has(self, path: Path, merges: Merges, *, marked: bool) -> bool:
        """Return whether a file is one of these merges; `marked`: it may have conflict marks."""
        name, repository, sources = self._names[path], self._repository, self.commits
        held = {commit: self._entry(name, commit) for commit in sources}
        mode = mode_of(path)
        if mode not in OF_FILES or mode not in {mode for mode, _ in held.values()}:
            return False
        undoubted = [commit for commit in sources if self._is_undoubted(path, commit)]
        changes = self._changes(name, sources)
        texts = self._texts(path, chain(*changes), chain(*self._changes(name, undoubted)))
        named, between = (
            [(texts[old], texts[new]) for old, new in each if old in texts and new in texts]
            for each in changes
        )
        text_of = {commit: texts[each] for commit, (_, each) in held.items() if each in texts}
        first = [
            (text_of[ours], (text_of[base], text_of[theirs]))
            for base, ours, theirs in self._merges
            if {base, ours, theirs} <= text_of.keys()
        ]
        text = read_regular(path, LONGEST)
        if not any(b"\r\n" in each for each in texts.values()):
            text = text.replace(b"\r\n", b"\n")
        lines = frozenset(line.rstrip(b"\r") for each in texts.values() for line in each.split(b"\n"))
        expected = sides(text, partial(self._is_label, path), lines) if marked else Sides.of(text)
        favors = any(word.endswith(_FAVORING) for word in self._brings.words)
        union = repository.merges_lines(name)
        if expected is None:
            return False
        search = Search(merges, expected, text_of.values(), favors=favors, union=union)
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
            text = self._repository.blob(each, LONGEST) if each else None
            if text is not None and (each in known or self._is_recorded(path, text)):
                texts[each] = text
        return texts

    def _is_recorded(self, path: Path, text: bytes) -> bool:
        return (path, hashlib.sha256(text).hexdigest()) in self._recorded

    def _is_label(self, path: Path, label: str) -> bool:
        """Return whether git labels a side of a conflict like this: with a word of the command, or with a
        commit that changed the file, and its subject.
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
            and self._is_undoubted(path, commit)
            for commit in repository.named([found[1]]) or ()
        )


def mode_of(path: Path) -> str:
    """Git's mode for a file; empty if there is none, and `other` if it is no file."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return ""
    if stat.S_ISLNK(mode):
        return LINK
    if not stat.S_ISREG(mode):
        return "other"
    return OF_FILES[bool(mode & stat.S_IXUSR)]
