"""Commands of the shell that bring files of the project with commits.

Invariant: what is not known here counts as writing anything. No command here makes a commit of what lies in
the directory, unless it resumes: what `HEAD` has after it was committed before, or came from elsewhere.
"""

import re
from dataclasses import dataclass

from cogency_tui.tools.command_line import parse
from cogency_tui.tools.confinement import alters, has_starting_option, unconfined
from cogency_tui.tools.shell_words import Simple

_MERGING = frozenset(("cherry-pick", "merge", "pull", "rebase", "revert", "stash"))
_BRINGING = _MERGING | frozenset(
    ("bisect", "checkout", "reset", "restore", "submodule", "switch", "worktree")
)
_COMING = _BRINGING | {"fetch"}
_LOOKING = frozenset(
    ("branch", "diff", "fetch", "log", "ls-files", "merge-base", "rev-parse", "show", "status", "tag")
)
_BESIDE = frozenset(
    (":", "[", "cat", "cd", "echo", "false", "grep", "head", "ls", "pwd", "sleep", "tail")
    + ("test", "true", "wc")
)

_RESUMING = ("continue", "skip", "abort", "quit")
_GOING_ON = (*_RESUMING, "edit-todo")
"""Options with which git does what files of its own say, which any program can have written."""

_RESUMED = frozenset(("am", "cherry-pick", "merge", "rebase", "revert"))
_BISECTING = [["start"], ["good"], ["bad"], ["old"], ["new"], ["skip"]]
_LOCAL = re.compile(r"file:|\.{1,2}/|\.\.$|[/~]")
"""Addresses of repositories on this machine, which any program can have made."""


@dataclass(frozen=True, slots=True)
class Bringing:
    """What a command may bring. `words` are those of its git commands. With `merges` the index has what it
    brings, also where git stops half way. One that `resumes` what has stopped, or leaves it, may do anything
    else."""

    words: tuple[str, ...]
    merges: bool = False
    resumes: bool = False


def bringing(command: str) -> Bringing | None:
    """What a command brings that consists of commands of git that bring commits, and of programs that only
    look, or that goes on with what git has left half way; None for any other."""
    found = [simple for simple in parse(command) if simple.words]
    gits = [simple for simple in found if simple.words[0].text == "git"]
    words = tuple(word.text for simple in gits for word in simple.words)
    if any(_resumes(simple) for simple in gits):
        return Bringing(words, resumes=True)
    names = {simple.arguments[0].text for simple in gits if simple.arguments}
    if alters(command) or names.isdisjoint(_COMING) or not all(_is_harmless(simple) for simple in found):
        return None
    merges = not names.isdisjoint(_MERGING) and not any(_takes_paths(simple) for simple in gits)
    return Bringing(words, merges)


def _resumes(simple: Simple) -> bool:
    texts = [word.text for word in simple.arguments]
    if texts[:2] == ["bisect", "reset"]:
        return True
    return simple.has("", *_RESUMING) and not _RESUMED.isdisjoint(texts)


def _takes_paths(simple: Simple) -> bool:
    """Whether it may take files out of a commit by their names."""
    operands = [word.text for word in simple.operands("bB")]
    if operands[:1] != ["checkout"]:
        return operands[:1] == ["restore"]
    return len(operands) > 2 or any(word.text == "--" for word in simple.arguments)


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
