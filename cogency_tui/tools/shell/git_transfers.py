"""Transfers with git in a command line: the remotes that they name, and the destinations that it sets.

Invariant: an uncertain remote counts as another destination.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from cogency_tui.tools.shell.command_line import parse
from cogency_tui.tools.shell.git_remotes import ALL, DEFAULT
from cogency_tui.tools.shell.programs import git_with, programs_with
from cogency_tui.tools.shell.rule_options import GIT_TRANSFERS
from cogency_tui.tools.shell.simple_command import Simple
from cogency_tui.tools.shell.taint_free_commands import alters, unconfined
from cogency_tui.tools.shell.word_paths import Places

_NAME = re.compile(r"\w[\w.-]*")

_LASTING = programs_with("names") | {"set"}
"""Builtins that change the environment of later commands; so does `printf` with `-v`."""

_ADDRESSING = git_with("addresses")


class Transfers(NamedTuple):
    """The `remotes` of a command's transfers, by name (`ALL` for each that there is), and the directories in
    which it runs git."""

    remotes: Sequence[str]
    directories: Sequence[Path]


def transfers_of(command: str, cwd: Path) -> Transfers | None:
    """Return the transfers of `command`, run in `cwd` (resolved); None if it has none, or may contact
    anything else."""
    if "git" not in command or alters(command):
        return None
    places = Places(cwd)
    names: list[str] = []
    for simple in parse(command):
        if simple.assignments or _sets_variables(simple):
            return None
        if _transfers(simple):
            name = _remote_of(simple)
            if name is None:
                return None
            names.append(name)
        elif unconfined(simple):
            return None
        places.follow(simple)
    return Transfers(names, tuple(places.directories)) if names and places.known else None


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
        return ALL
    operands = simple.operands()[1:]
    if not operands:
        return DEFAULT
    return operands[0].text if _NAME.fullmatch(operands[0].text) else None


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
