"""Commits that commands have made since the first of them, by whatever means.

Invariant: a commit is known that was there before the first command, or that came with a command which does
nothing but bring commits, while no other ran. Of one that a command finds and that is not known, the paths
that it changed are in doubt from then on. The calls block.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from cogency_tui.tools.git_facts import Repository

_PARTS = re.compile(r"\.{2,3}|=|^\^")
"""What stands around the names of commits in a word: `a..b`, `--onto=a`."""

_MOST = 1000
"""Commits that are looked at; with more all paths are in doubt."""


class KnownCommits:
    """The commits of the repository around `directory`."""

    def __init__(self, directory: Path) -> None:
        self._repository = Repository(directory)
        self._known: frozenset[str] | None = None
        self._doubted: set[str] = set()
        self._all_doubted = False

    def begin(self, words: Sequence[str]) -> None:
        """A command is about to run; it can bring what the repository has, and what its `words` name."""
        if self._known is None:
            self._known = self._tips(()) or frozenset()
        if words:
            self._doubt(self._tips(words))

    def end(self, words: Sequence[str]) -> None:
        """A command is over beside which no other ran: what it has brought is known."""
        if words:
            self._known = (self._known or frozenset()) | (self._tips(()) or frozenset())

    def doubts(self, path: str) -> bool:
        """Whether a commit that a command has made changed a path from the top of the repository."""
        return self._all_doubted or path in self._doubted

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
