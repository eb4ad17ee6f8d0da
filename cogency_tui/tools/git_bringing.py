"""Commands of the shell that bring files of the project with commits, and write none by other means.

Invariant: what is not known here counts as writing anything. No command here makes a commit of what lies in
the directory, so that what `HEAD` has after it was committed before, or came from elsewhere.
"""

from cogency_tui.tools.command_line import parse
from cogency_tui.tools.confinement import alters, has_starting_option, unconfined
from cogency_tui.tools.shell_words import Simple

_BRINGING = frozenset(
    ("bisect", "checkout", "cherry-pick", "merge", "pull", "rebase", "reset", "restore", "revert", "stash")
    + ("submodule", "switch", "worktree")
)
_LOOKING = frozenset(
    ("branch", "diff", "fetch", "log", "ls-files", "merge-base", "rev-parse", "show", "status", "tag")
)
_BESIDE = frozenset(
    (":", "[", "cat", "cd", "echo", "false", "grep", "head", "ls", "pwd", "sleep", "tail")
    + ("test", "true", "wc")
)


def only_brings(command: str) -> bool:
    """Whether a command consists of commands of git that bring commits, and of programs that only look."""
    if alters(command):
        return False
    found = [simple for simple in parse(command) if simple.words]
    gits = [simple for simple in found if simple.words[0].text == "git"]
    brings = any(simple.arguments and simple.arguments[0].text in _BRINGING for simple in gits)
    return brings and all(_is_harmless(simple) for simple in found)


def _is_harmless(simple: Simple) -> bool:
    first = simple.words[0]
    if not first.known or not all(word.known for word in simple.arguments):
        return False
    if first.text != "git":
        return first.text in _BESIDE and not unconfined(simple)
    name, *others = [word.text for word in simple.arguments] or [""]
    if has_starting_option(simple):
        return False
    if name == "rebase":
        return not simple.has("isx", "exec", "interactive", "strategy")
    if name in ("cherry-pick", "merge", "pull", "revert"):
        # Git looks for a program by the name of a strategy.
        return not simple.has("s", "strategy")
    if name == "bisect":
        return "run" not in others
    if name == "submodule":
        return others[:1] == ["update"]
    return name in _BRINGING or name in _LOOKING
