"""The remotes that git contacts under names that the user gave them, and the destinations in a command
line.

Invariant: an uncertain remote counts as another destination. A remote counts only while all of git's
settings for it are as they were before the agent's first command, and only in the project's own repository.
The calls block.
"""

import os
import re
from pathlib import Path
from threading import Lock

from cogency_tui.tools.shell.command_line import parse
from cogency_tui.tools.shell.programs import git_with, programs_with
from cogency_tui.tools.shell.rule_options import GIT_TRANSFERS
from cogency_tui.tools.shell.simple_command import Simple
from cogency_tui.tools.shell.taint_free_commands import alters, unconfined
from cogency_tui.tools.shell.word_paths import Places
from cogency_tui.workspace.git.repository_queries import Repository

_NAME = re.compile(r"\w[\w.-]*")
_ALL = "*"
_DEFAULT = "origin"
"""Remote of a transfer that names none, unless its branch follows another."""

_LASTING = programs_with("names") | {"set"}
"""Builtins that change the environment of later commands; so does `printf` with `-v`."""

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
        if self._learned is None or "git" not in command or alters(command):
            return False
        places = Places(cwd)
        names: list[str] = []
        for simple in parse(command):
            if simple.assignments or _sets_variables(simple):
                return False
            if _transfers(simple):
                name = _remote_of(simple)
                if name is None:
                    return False
                names.append(name)
            elif unconfined(simple):
                return False
            places.follow(simple)
        if not names or not places.known:
            return False
        return all(self._as_learned(directory, names) for directory in places.directories)

    def _as_learned(self, directory: Path, names: list[str]) -> bool:
        """Return whether git's settings for these remotes are unchanged there."""
        assert self._learned is not None
        common, before = self._learned
        if common is None or _common(directory) != common:
            return False
        now = _settings(directory)
        known = _remotes_in(before) & _remotes_in(now)
        if not known or not known.issuperset({*names} - {_ALL, _DEFAULT}):
            return False
        return not any(_matters(key, value, names, known) for key, value in now - before)


def _remotes_in(settings: Settings) -> set[str]:
    return {found[1] for key, _ in settings if (found := _OF_REMOTE.fullmatch(key)) and key.endswith(".url")}


def _matters(key: str, value: str, names: list[str], known: set[str]) -> bool:
    """Return whether an added setting may redirect a transfer with these remotes."""
    if _IRRELEVANT.fullmatch(key):
        return False
    if _TRACKED.fullmatch(key):
        return value not in known
    other = _OF_REMOTE.fullmatch(key)
    return other is None or _ALL in names or other[1] in (*known, _DEFAULT)


def _sets_variables(simple: Simple) -> bool:
    return simple.program in _LASTING or (simple.program == "printf" and simple.has("v"))


def _transfers(simple: Simple) -> bool:
    return simple.program == "git" and any(word.text in GIT_TRANSFERS for word in simple.arguments[:1])


def _remote_of(simple: Simple) -> str | None:
    """Return the remote that a transfer names; None where it may use another."""
    command, *rest = simple.arguments
    plain = simple.words[0].text == "git" and all(word.known and not word.pattern for word in simple.words)
    if not plain or not GIT_TRANSFERS[command.text].allow([word.text for word in rest]):
        return None
    if command.text != "push" and simple.has("a", "all"):
        return _ALL
    operands = simple.operands()[1:]
    if not operands:
        return _DEFAULT
    return operands[0].text if _NAME.fullmatch(operands[0].text) else None


def _common(directory: Path) -> Path | None:
    found = Repository(directory).common_directory() if directory.is_dir() else None
    return None if found is None else Path(os.path.realpath(found))


def _settings(directory: Path) -> Settings:
    found = Repository(directory).settings()
    # Where git has no answer, a setting that no other repository has.
    return frozenset([("", str(directory))] if found is None else [(key, value) for _, key, value in found])


_ADDRESSING = git_with("addresses")


def destinations(command: str) -> frozenset[str]:
    """Return the words of plain `git remote`, `git config` and `git branch`, and the addresses of
    `git push`, by which the command line itself sets the destination of transfers: each may be a name of a
    remote or an address."""
    if "git" not in command or alters(command):
        return frozenset()
    gits = [simple for simple in parse(command) if simple.words and simple.words[0].text == "git"]
    return frozenset(word for simple in gits for word in _destinations(simple))


def _destinations(simple: Simple) -> list[str]:
    name, *others = [word.text for word in simple.arguments if word.known] or [""]
    if name in _ADDRESSING:
        return others
    # Its hooks may do more; and a name does not show where the remote of this name is.
    return [each for each in others if ":" in each or "/" in each] if name == "push" else []
