"""The remotes that git contacts under names that the user gave them.

Invariant: an uncertain remote counts as another destination. A remote counts only while all of git's
settings for it are as they were before the agent's first command, and only in the project's own repository.
The calls block.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from cogency_tui.workspace.git.repository_queries import Repository

ALL = "*"
"""Represents every remote."""

DEFAULT = "origin"
"""Remote of a transfer that names none, unless its branch follows another."""

_IRRELEVANT = re.compile(
    r"(?:advice|alias|color|column|commit|grep|help|init|log|rerere|stash|status|tag|user)\..*"
    r"|branch\..+\.(?:description|merge|rebase)|branch\.(?:autosetupmerge|autosetuprebase|sort)"
    r"|diff\.(?:algorithm|colormoved|context|mnemonicprefix|noprefix|renames)|fetch\.(?:prune|prunetags)"
    r"|merge\.(?:conflictstyle|ff|stat)|pull\.(?:ff|rebase)|push\.(?:autosetupremote|default|followtags)"
    r"|rebase\.(?:autosquash|autostash|stat|updaterefs)"
)
"""Settings that do not affect transfers."""

_TRACKED = re.compile(r"branch\..+\.(?:push)?remote")
_OF_REMOTE = re.compile(r"remote\.(.+)\.[a-z]+")

Settings = frozenset[tuple[str, str]]


class Remotes:
    """The remotes of the repository at `root`, as they were when they were learned."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = Lock()
        self._learned: tuple[Path | None, Settings] | None = None

    def learn(self) -> None:
        """Read the configuration, the first time."""
        with self._lock:
            if self._learned is None:
                self._learned = _common(self._root), _settings(self._root)

    def lead(self, command: str, cwd: Path) -> bool:
        """Return whether `command`, run in `cwd` (resolved), uses the network only through git, and only
        learned remotes."""
        from cogency_tui.tools.shell.git_transfers import transfers_of

        if self._learned is None or (found := transfers_of(command, cwd)) is None:
            return False
        return all(self._as_learned(directory, found.remotes) for directory in found.directories)

    def _as_learned(self, directory: Path, names: Sequence[str]) -> bool:
        """Return whether git's settings for these remotes are unchanged there."""
        assert self._learned is not None
        common, before = self._learned
        if common is None or _common(directory) != common:
            return False
        now = _settings(directory)
        known = _remotes_in(before) & _remotes_in(now)
        if not known or not known.issuperset({*names} - {ALL, DEFAULT}):
            return False
        return not any(_matters(key, value, names, known) for key, value in now - before)


def _remotes_in(settings: Settings) -> set[str]:
    return {found[1] for key, _ in settings if (found := _OF_REMOTE.fullmatch(key)) and key.endswith(".url")}


def _matters(key: str, value: str, names: Sequence[str], known: set[str]) -> bool:
    """Return whether an added setting may redirect a transfer with these remotes."""
    if _IRRELEVANT.fullmatch(key):
        return False
    if _TRACKED.fullmatch(key):
        return value not in known
    other = _OF_REMOTE.fullmatch(key)
    return other is None or ALL in names or other[1] in (*known, DEFAULT)


def _common(directory: Path) -> Path | None:
    found = Repository(directory).common_directory() if directory.is_dir() else None
    return None if found is None else Path(os.path.realpath(found))


def _settings(directory: Path) -> Settings:
    found = Repository(directory).settings()
    # Where git has no answer, a setting that no other repository has.
    return frozenset([("", str(directory))] if found is None else [(key, value) for _, key, value in found])
