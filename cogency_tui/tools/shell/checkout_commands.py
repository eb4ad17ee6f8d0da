"""Commands that bring files of the project with commits.

Invariant: a command that is not known here counts as doing anything else. A command here that does nothing
else creates commits only of content that was in the directory, was staged or committed before, or came from
elsewhere.
"""

import re

from cogency_tui.tools.journal_protocol import Bringing
from cogency_tui.tools.shell.command_line import parse
from cogency_tui.tools.shell.git_command import git_command, git_name
from cogency_tui.tools.shell.programs import git_with, programs_with
from cogency_tui.tools.shell.simple_command import Simple
from cogency_tui.tools.shell.taint_free_commands import alters, has_starting_option, unconfined

_BRINGING = git_with("brings")
_FETCHING = git_with("fetches")
_COMING = _BRINGING | _FETCHING | {"am"}
_KNOWN = git_with("brings", "looks", "sends")
_BESIDE = programs_with("beside")

_GOING_ON = ("continue", "skip", "abort", "quit", "edit-todo")
"""Options with which git continues from files of its own, which any program can have written."""

_BISECTING = [["start"], ["good"], ["bad"], ["old"], ["new"], ["skip"]]
_LOCAL = re.compile(r"file:|\.{1,2}/|\.\.$|[/~]")
"""Addresses of repositories on this machine, which any program can have created."""


def bringing(command: str) -> Bringing | None:
    """Return what a command brings if it has git bring commits, or continue an operation that stopped half
    way; None for any other."""
    found = [simple for simple in parse(command) if simple.words]
    gits = [simple for simple in found if simple.words[0].text == "git"]
    names = set(map(git_name, gits))
    if names.isdisjoint(_COMING):
        return None
    alone = not alters(command) and all(_is_harmless(simple) for simple in found)
    fetching = [simple for simple in gits if _FETCHING.intersection(word.text for word in simple.arguments)]
    return Bringing(
        tuple(word.text for simple in gits for word in simple.words),
        alone,
        fetches=not names.isdisjoint(_FETCHING),
        asks_remotes=bool(fetching) and all(_is_harmless(simple) for simple in fetching),
        takes_paths=any(_takes_paths(simple) for simple in gits),
    )


def _takes_paths(simple: Simple) -> bool:
    """Return whether it may take files out of a commit by their names."""
    command = git_command(simple)
    if command is None or command.name != "checkout":
        return command is not None and command.name == "restore"
    operands = Simple(command.words).operands("bB")
    return len(operands) > 1 or any(word.text == "--" for word in command.arguments)


def _is_harmless(simple: Simple) -> bool:
    first = simple.words[0]
    if not first.known or not all(word.known for word in simple.arguments):
        return False
    if first.text != "git":
        return first.text in _BESIDE and not unconfined(simple)
    name, *others = [word.text for word in simple.arguments] or [""]
    if has_starting_option(simple):
        return False
    if name != "bisect" and simple.has("", *_GOING_ON):
        return False
    if name == "rebase":
        return not simple.has("isx", "exec", "interactive", "strategy")
    if name in _FETCHING and (simple.has("a", "append") or any(_LOCAL.match(each) for each in others)):
        return False
    if name in ("cherry-pick", "merge", "pull", "revert"):
        # Git searches a program by the name of a strategy.
        return not simple.has("s", "strategy")
    if name == "bisect":
        return others[:1] in _BISECTING
    if name == "submodule":
        return others[:1] == ["update"]
    return name in _KNOWN


_SIDES = ("conflict", "merge", "ours", "theirs")
_LETTERS = "23m"
_OTHERS = ("patch", "source", "staged")


def settles_conflict(simple: Simple) -> bool:
    """Return whether a git command writes only one side of a conflict, or both with marks between them, as
    git itself has them."""
    texts = [word.text for word in simple.arguments]
    if simple.program != "git" or texts[:1] not in (["checkout"], ["restore"]):
        return False
    if any(each.writes and each.target.text != "/dev/null" for each in simple.redirections):
        return False
    return simple.has(_LETTERS, *_SIDES) and not simple.has("psSbB", *_OTHERS)
