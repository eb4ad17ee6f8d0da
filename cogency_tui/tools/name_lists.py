"""Commands that print names of files below what they name, and nothing else."""

import re

from cogency_tui.tools.shell_words import Simple

_FILTERS = frozenset(("head", "sort", "tail", "uniq"))
_ODD_OPTION = re.compile(
    r"-.*(?:format|printf|label|prefix|exec|replace|hyperlink|only-matching|time-style).*|-[a-zA-Z]*[or]"
)
"""Options by which what lists names may print something else."""


def lists_names(simple: Simple, *, piped: bool) -> bool:
    """Whether a command prints names of files below what it names, and nothing else. `piped`: it is given
    such names."""
    return (piped and _filters(simple)) or _lists(simple)


def _lists(simple: Simple) -> bool:
    texts = [word.text for word in simple.arguments]
    if simple.redirections or any(_ODD_OPTION.fullmatch(text) for text in texts if text != "-r"):
        return False
    match simple.program:
        case "ls" if simple.has("af", "all"):
            # `..` is among them.
            return False
        case "fd" | "fdfind" if simple.has("xX"):
            return False
        case "fd" | "fdfind" | "find" | "ls":
            return all(word.known for word in simple.arguments)
        case "git":
            return texts[:1] == ["ls-files"] or (texts[:1] == ["diff"] and "--name-only" in texts)
        case "grep" | "rg":
            return simple.has("l", "files-with-matches") or texts[:1] == ["--files"]
        case _:
            return False


def _filters(simple: Simple) -> bool:
    # Pieces of names may be any.
    plain = not simple.redirections and not simple.has("o", "output", "only-matching")
    if simple.program in ("head", "tail") and simple.has("c", "bytes"):
        return False
    if simple.program == "grep":
        return plain and len(simple.operands()) == 1
    return plain and simple.program in _FILTERS and all(word.text.isdecimal() for word in simple.operands())
