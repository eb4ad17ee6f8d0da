"""A simple command of the shell: its words and redirections, as far as they are known without running it."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice, product

from cogency_tui.tools.shell.unsafe_listed_names import Splitting


@dataclass(frozen=True, slots=True)
class Word:
    """A word without its quotes.

    `pattern` is set where the shell expands it to paths: the same with quoted `*`, `?` and `[` escaped.
    `known` is False where only the shell knows its value, and `splits` is set where that may be several
    words. `resolved` is then a pattern of its possible paths, as far as the command itself shows them;
    `lead` is the text before all expansions; `certain` is its literal beginning, values of variables
    included (as alternatives in braces where a loop sets one); `variable` is the one whose value it is, in
    quotes and with nothing else.
    """

    text: str
    known: bool = True
    pattern: str = ""
    splits: bool = field(default=False, compare=False)
    resolved: str = field(default="", compare=False)
    lead: str = field(default="", compare=False)
    certain: str = field(default="", compare=False)
    variable: str = field(default="", compare=False)

    @property
    def sure(self) -> bool:
        """True if its paths can be determined."""
        return self.known or bool(self.resolved)

    def after(self, beginning: str) -> "Word":
        """Return the text behind `beginning`; programs and some shells expand the home directory there."""
        text, pattern, resolved, lead, certain = (
            each.removeprefix(beginning) if each.startswith(beginning) else ""
            for each in (self.text, self.pattern, self.resolved, self.lead, self.certain)
        )
        text = os.path.expanduser(text)  # noqa: PTH111 (as text)
        return Word(text, self.known, pattern, self.splits, resolved, lead, certain)


@dataclass(frozen=True, slots=True)
class Redirection:
    """A redirection of a command's input or output: `operator` as written, without the descriptor.

    The target of `<<` has no text; it is known where nothing is expanded in the here-document, whose lines
    are the `body`.
    """

    operator: str
    target: Word
    body: list[str] = field(default_factory=list[str], compare=False)

    @property
    def overwrites(self) -> bool:
        """True if it discards the content of an existing file."""
        return self.operator in (">", ">|", "&>", ">&") and not self.target.text.isdecimal()

    @property
    def writes(self) -> bool:
        """True if it writes a file."""
        return self.overwrites or self.operator in (">>", "&>>", "<>")


@dataclass(frozen=True, slots=True)
class Simple:
    """One program with its words and redirections; `words` may be empty. `then` is the operator behind it;
    `assignments` are the variables that are set for it, or alone; `splitting` is how `xargs` splits its
    list of names."""

    words: tuple[Word, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    then: str = field(default="", compare=False)
    assignments: tuple[Word, ...] = field(default=(), compare=False)
    splitting: Splitting = field(default="", compare=False)

    @property
    def piped(self) -> bool:
        """True if its output goes to the next one."""
        return self.then in ("|", "|&")

    @property
    def program(self) -> str:
        """Name of the program without its directory; empty where it is not known."""
        first = self.words[0] if self.words else Word("", known=False)
        return first.text.rpartition("/")[2] if first.known else ""

    @property
    def arguments(self) -> tuple[Word, ...]:
        """Words behind the program."""
        return self.words[1:]

    def operands(self, with_value: str = "") -> list[Word]:
        """Return the arguments that are no options. `with_value` are the letters of options that take the
        next."""
        found: list[Word] = []
        plain = skip = False
        for word in self.arguments:
            if skip:
                skip = False
            elif plain or not word.text.startswith("-") or word.text == "-":
                found.append(word)
            elif word.text == "--":
                plain = True
            elif not word.text.startswith("--"):
                skip = word.text[-1] in with_value
        return found

    def has(self, letters: str = "", *names: str) -> bool:
        """Return whether an option of one of these letters, or a long one of these names, is given.

        A long one may be abbreviated, as programs allow.
        """
        for word in self.arguments:
            text = word.text.partition("=")[0]
            if text == "--":
                return False
            if text.startswith("--"):
                if any(f"--{name}".startswith(text) for name in names):
                    return True
            elif text.startswith("-") and any(letter in text[1:] for letter in letters):
                return True
        return False

    def gives(self, options: Sequence[str]) -> bool:
        """Return whether one of these options, with their dashes, is given."""
        letters = "".join(option[1:] for option in options if not option.startswith("--"))
        return self.has(letters, *(option[2:] for option in options if option.startswith("--")))


SOME_NAME = "{.,0}"
"""A pattern for names of files in a directory, and of the directory itself."""

NAME_OR_NOTHING = "{,.,0}"
"""As `SOME_NAME`, for the output of a command that lists names and may find none."""

LISTED = Word("", known=False)
"""Placeholder for the words that `xargs` reads from the command before it; known by identity."""

TOO_DEEP = Simple((Word("\0", known=False),))
"""Placeholder for commands that are nested too deeply to be examined."""

TOO_MANY = Simple((Word("\0\0", known=False),))
"""Placeholder for the commands of a text beyond the number that is examined."""


# Expansion of braces

_MOST_ALTERNATIVES = 64
_DEEPEST_BRACES = 5

_BRACES = re.compile(r"\{([^{}]*)\}")
_ROW = re.compile(r"\{(?:-?\d+|[A-Za-z])\.\.(?:-?\d+|[A-Za-z])(?:\.\.-?\d+)?\}")


def alternatives(pattern: str) -> list[str] | None:
    """Expand braces; None where they form a sequence, are nested, or yield too many words."""
    found = _innermost(pattern)
    return None if found is None or any(map(_may_expand, found)) else found


def all_alternatives(pattern: str) -> list[str] | None:
    """Expand braces, nested ones too; a sequence of numbers or letters counts as one name. None where they
    are nested too deeply, or yield too many words."""
    names = [_ROW.sub("0", pattern)]
    for _ in range(_DEEPEST_BRACES):
        if not any(map(_may_expand, names)):
            return names
        found = [_innermost(name) for name in names]
        names = [name for each in found for name in each or ()]
        if None in found or len(names) > _MOST_ALTERNATIVES:
            return None
    return None


def _innermost(pattern: str) -> list[str] | None:
    """Expand innermost braces; None where they form a sequence, or yield too many words."""
    pieces = _BRACES.split(pattern)
    if any(".." in piece and "," not in piece for piece in pieces[1::2]):
        return None
    choices = [
        [piece] if index % 2 == 0 else piece.split(",") if "," in piece else [f"{{{piece}}}"]
        for index, piece in enumerate(pieces)
    ]
    found = ["".join(parts) for parts in islice(product(*choices), _MOST_ALTERNATIVES + 1)]
    return found if len(found) <= _MOST_ALTERNATIVES else None


def _may_expand(name: str) -> bool:
    """Return whether the shell may expand braces in it."""
    start, end = name.find("{"), name.rfind("}")
    return 0 <= start < end and ("," in name[start:end] or ".." in name[start:end])
