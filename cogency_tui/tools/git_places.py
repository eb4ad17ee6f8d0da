"""The `.git` that a command of git moves, or makes lead elsewhere, without naming it."""

from collections.abc import Iterator
from itertools import pairwise

from cogency_tui.tools.shell_words import Simple, Word

_OPTION = "--separate-git-dir"
_SHORTEST = "--se"
"""Git takes any beginning of an option that no other has."""

_MAKING = frozenset(("clone", "init"))


def moved_by_git(simple: Simple) -> Iterator[Word]:
    """The places of `.git` from which a command moves the repository."""
    if simple.program != "git" or not any(map(_separates, simple.arguments)):
        return
    operands = simple.operands("Cc")
    if not operands or operands[0].text not in _MAKING:
        return
    values = [
        value for option, value in pairwise(simple.arguments) if _separates(option) and "=" not in option.text
    ]
    start = "".join(f"{value.text}/" for option, value in pairwise(simple.arguments) if option.text == "-C")
    here = [Word(".")] if operands[0].text == "init" else []
    for word in (*here, *operands[1:]):
        if "://" not in word.text and not any(word is value for value in values):
            yield Word(f"{start}{word.text}/.git", known=word.known)


def _separates(word: Word) -> bool:
    name = word.text.partition("=")[0]
    return _OPTION.startswith(name) and name.startswith(_SHORTEST)
