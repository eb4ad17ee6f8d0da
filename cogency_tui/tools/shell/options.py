"""Options and operands of known programs, parsed as these do.

Invariant: a command with an option that is not in its program's table is not parsed at all, so that no
value can be mistaken for an option, or vice versa.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cogency_tui.tools.shell.simple_command import LISTED, NAME_OR_NOTHING, SOME_NAME, Word

_EXPANDING = re.compile(r"[*?\[]|\{[^}]*(?:,|\.\.)")
_NUMBER = re.compile(r"-\d+")


@dataclass(frozen=True, slots=True)
class Table:
    """The options of a program: letters and long names that take no value, those that take one, long names
    whose value is always attached, and whether a number may be one."""

    letters: str = ""
    valued: str = ""
    names: frozenset[str] = frozenset()
    valued_names: frozenset[str] = frozenset()
    attached: frozenset[str] = frozenset()
    numbers: bool = False


class Arguments(NamedTuple):
    """The options of a command, by letters and long names, its operands and the number of them before
    `--`."""

    options: frozenset[str]
    operands: Sequence[Word]
    before: int


def table(
    letters: str = "",
    valued: str = "",
    names: str = "",
    valued_names: str = "",
    attached: str = "",
    *,
    numbers: bool = False,
) -> Table:
    """Create a table of options; the names are separated by blanks."""
    plain, with_value, with_attached = (frozenset(each.split()) for each in (names, valued_names, attached))
    return Table(letters, valued, plain, with_value, with_attached, numbers)


def read_arguments(words: Sequence[Word], known: Table, *, unknown: bool = False) -> Arguments | None:
    """Parse the arguments of a program; None where one may be an option that is not in its table. With
    `unknown`, a word that only the shell knows counts as an operand. Names out of a list always do."""
    options, operands = set[str](), list[Word]()
    rest = iter(words)
    for word in rest:
        text = word.text
        if not (word.known or is_listed(word) or (unknown and _is_value(word))):
            return None
        if text == "--" and word.known:
            return Arguments(frozenset(options), [*operands, *rest], len(operands))
        if not (word.known and text.startswith("-")) or text == "-":
            operands.append(word)
            continue
        if _expands(word):
            return None
        found = _long(text, rest, known) if text.startswith("--") else _short(text, rest, known)
        if found is None:
            return None
        options |= found
    return Arguments(frozenset(options), operands, len(operands))


def _long(text: str, rest: Iterator[Word], known: Table) -> set[str] | None:
    name, equals, _ = text.removeprefix("--").partition("=")
    takes = name in known.valued_names or (equals and name in known.attached)
    if not (takes if equals else name in known.names | known.valued_names):
        return None
    return None if takes and not equals and not _is_value(next(rest, None)) else {name}


def _short(text: str, rest: Iterator[Word], known: Table) -> set[str] | None:
    if known.numbers and _NUMBER.fullmatch(text):
        return set()
    found = set[str]()
    for at, letter in enumerate(text[1:], 2):
        found.add(letter)
        if letter in known.valued:
            return None if at == len(text) and not _is_value(next(rest, None)) else found
        if letter not in known.letters:
            return None
    return found


def is_listed(word: Word) -> bool:
    """Return whether a word is a name out of a list, or several."""
    return word is LISTED or (not word.known and word.resolved in (SOME_NAME, NAME_OR_NOTHING))


def _is_value(word: Word | None) -> bool:
    """Return whether a word is surely exactly one, and so the value of the option before it."""
    return word is not None and not word.splits and not _expands(word)


def _expands(word: Word) -> bool:
    """Return whether the shell may expand it to other words."""
    return bool(_EXPANDING.search(word.pattern))
