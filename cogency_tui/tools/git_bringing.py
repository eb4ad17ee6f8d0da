"""Commands of the shell that bring files of the project with commits, and write none by other means.

Invariant: what is not known here counts as writing anything. No command here makes a commit of what lies in
the directory, so that what `HEAD` has after it was committed before, or came from elsewhere.
"""

import re

from cogency_tui.tools.command_line import parse
from cogency_tui.tools.confinement import alters, has_starting_option, unconfined
from cogency_tui.tools.shell_words import Simple

_BRINGING = frozenset(
    ("bisect", "checkout", "cherry-pick", "merge", "pull", "rebase", "reset", "restore", "revert", "stash")
    + ("submodule", "switch", "worktree")
)
_COMING = _BRINGING | {"fetch"}
_LOOKING = frozenset(
    ("branch", "diff", "fetch", "log", "ls-files", "merge-base", "rev-parse", "show", "status", "tag")
)
_BESIDE = frozenset(
    (":", "[", "cat", "cd", "echo", "false", "grep", "head", "ls", "pwd", "sleep", "tail")
    + ("test", "true", "wc")
)

_GOING_ON = ("continue", "skip", "abort", "quit", "edit-todo")
"""Options with which git does what files of its own say, which any program can have written."""

_BISECTING = [["start"], ["good"], ["bad"], ["old"], ["new"], ["skip"]]
_LOCAL = re.compile(r"file:|\.{1,2}/|\.\.$|[/~]")
"""Addresses of repositories on this machine, which any program can have made."""


def bringing_words(command: str) -> tuple[str, ...]:
    """The words of a command that consists of commands of git that bring commits, and of programs that only
    look; empty for any other."""
    if alters(command):
        return ()
    found = [simple for simple in parse(command) if simple.words]
    gits = [simple for simple in found if simple.words[0].text == "git"]
    brings = any(simple.arguments and simple.arguments[0].text in _COMING for simple in gits)
    if not (brings and all(_is_harmless(simple) for simple in found)):
        return ()
    return tuple(word.text for simple in gits for word in simple.words)


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
    if name in ("fetch", "pull") and any(_LOCAL.match(each) for each in others):
        return False
    if name in ("cherry-pick", "merge", "pull", "revert"):
        # Git looks for a program by the name of a strategy.
        return not simple.has("s", "strategy")
    if name == "bisect":
        return others[:1] in _BISECTING
    if name == "submodule":
        return others[:1] == ["update"]
    return name in _BRINGING or name in _LOOKING
