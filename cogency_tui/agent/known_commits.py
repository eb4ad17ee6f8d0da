"""Commits that commands have made since the first of them, and what they have staged, by whatever means.

Invariant: a commit or a staged file is known that was there before the first command, or that came with a
command which does nothing but bring commits, while no other ran. Of a commit that a command finds and that is
not known, the paths that it changed are in doubt from then on, and so is a staged file. The calls block.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from cogency_tui.tools.git_bringing import Bringing
from cogency_tui.tools.git_facts import Repository

_PARTS = re.compile(r"\.{2,3}|=|^\^")
"""What stands around the names of commits in a word: `a..b`, `--onto=a`."""

_MOST = 1000
"""Commits that are looked at; with more all paths are in doubt."""

_Staged = tuple[str, tuple[str, str] | None]


class KnownCommits:
    """The commits of the repository around `directory`."""

    def __init__(self, directory: Path) -> None:
        self._repository = Repository(directory)
        self._known: frozenset[str] | None = None
        self._staged: set[_Staged] = set()
        self._doubted: set[str] = set()
        self._all_doubted = False
        self.knows_index = False
        """Whether it is known what was staged before the last command that brings anything."""
        self.stashes: Sequence[str] = ()
        """What was stashed before the last command that brings anything."""
        self._half_way: Sequence[str] = ()

    def begin(self, brings: Bringing | None) -> None:
        """A command is about to run; it can bring what the repository has, and what its words name."""
        if self._known is None:
            self._known = self._tips(()) or frozenset()
            self._staged = self._staged_now() or set()
        if brings is not None:
            self._doubt(self._tips(brings.words))
            self.stashes = self._repository.stash_commits() or ()
            self._half_way = self._repository.half_way() or ()
            staged = self._staged_now()
            self.knows_index = staged is not None
            self._doubt_staged((staged or set()) - self._staged)

    def end(self, brings: Bringing | None) -> None:
        """A command is over beside which no other ran: what it has brought is known."""
        if brings is not None and not brings.resumes:
            self._known = (self._known or frozenset()) | (self._tips(()) or frozenset())
            self._staged |= self._staged_now() or set()

    def half_way(self) -> list[str]:
        """The commits between which git stood and stands where it has stopped half way, but for those that a
        command has made since it was last looked."""
        found = dict.fromkeys((*self._half_way, *(self._repository.half_way() or ())))
        known = self._known or frozenset()
        return [each for each in found if self._repository.commits_since([each], known, 1) == []]

    def doubts(self, path: str) -> bool:
        """Whether a commit that a command has made changed a path from the top of the repository."""
        return self._all_doubted or path in self._doubted

    def _staged_now(self) -> set[_Staged] | None:
        found = self._repository.changed_in_index()
        return None if found is None else set(found.items())

    def _doubt_staged(self, staged: set[_Staged]) -> None:
        paths = {path for path, _ in staged}
        for commit in self.half_way() if staged else ():
            committed = self._repository.committed(paths, commit) or {}
            staged = {(path, file) for path, file in staged if file is None or committed.get(path) != file}
        self._doubted |= {path for path, _ in staged}

    def _tips(self, words: Sequence[str]) -> frozenset[str] | None:
        found = self._repository.commits(part for word in words for part in _PARTS.split(word))
        return None if found is None else frozenset(found)

    def _doubt(self, tips: frozenset[str] | None) -> None:
        known = self._known or frozenset()
        if tips is not None and tips <= known:
            return
        made = None if tips is None else self._repository.commits_since(tips, known, _MOST)
        changed = None if made is None else self._repository.changed_in(made)
        if made is None or changed is None or len(made) >= _MOST:
            self._all_doubted = True
        else:
            self._doubted |= changed
            self._known = known | (tips or frozenset())
