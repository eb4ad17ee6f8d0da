"""A simple command of the shell: its words and redirections, as far as they are known without running it."""

import os
from dataclasses import dataclass, field

from cogency_tui.tools.odd_names import Splitting


@dataclass(frozen=True, slots=True)
class Word:
    """A word without its quotes. `pattern` is set where the shell makes paths of it: the same with quoted
    `*`, `?` and `[` made plain. `known` is False where only the shell knows what it will be, and `splits` set
    where that may be several words. `resolved` is then a pattern of the paths that it comes to, as far as the
    command itself says, `lead` what stands before all that the shell puts in, `certain` what it begins with
    to the letter, values of variables included (as alternatives in braces where a loop sets one), and
    `variable` the one that it is the value of, in quotes and with nothing else."""

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
        """Whether the paths that it comes to can be told."""
        return self.known or bool(self.resolved)

    def after(self, beginning: str) -> "Word":
        """What follows in it; programs and some shells put in the home directory there."""
        text, pattern, resolved, lead, certain = (
            each.removeprefix(beginning) if each.startswith(beginning) else ""
            for each in (self.text, self.pattern, self.resolved, self.lead, self.certain)
        )
        text = os.path.expanduser(text)  # noqa: PTH111 (as text)
        return Word(text, self.known, pattern, self.splits, resolved, lead, certain)


@dataclass(frozen=True, slots=True)
class Redirection:
    """Where a command's input or output goes: `operator` as written, without the descriptor.

    The target of `<<` has no text; it is known where nothing is expanded in the here-document, whose lines
    are the `body`.
    """

    operator: str
    target: Word
    body: list[str] = field(default_factory=list[str], compare=False)

    @property
    def overwrites(self) -> bool:
        """Whether a file there loses what it holds."""
        return self.operator in (">", ">|", "&>", ">&") and not self.target.text.isdecimal()

    @property
    def writes(self) -> bool:
        """Whether a file there is written."""
        return self.overwrites or self.operator in (">>", "&>>", "<>")


@dataclass(frozen=True, slots=True)
class Simple:
    """One program with its words and redirections; `words` may be empty. `then` is the operator behind it;
    `assignments` are the variables that are set for it, or alone, and `splitting` is how `xargs` takes apart
    the list whose names it gives it."""

    words: tuple[Word, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    then: str = field(default="", compare=False)
    assignments: tuple[Word, ...] = field(default=(), compare=False)
    splitting: Splitting = field(default="", compare=False)

    @property
    def piped(self) -> bool:
        """Whether its output goes to the next one."""
        return self.then in ("|", "|&")

    @property
    def program(self) -> str:
        """The program's name without its directory; empty where it is not known."""
        first = self.words[0] if self.words else Word("", known=False)
        return first.text.rpartition("/")[2] if first.known else ""

    @property
    def arguments(self) -> tuple[Word, ...]:
        """What follows the program."""
        return self.words[1:]

    def operands(self, with_value: str = "") -> list[Word]:
        """The arguments that are no options. `with_value` are the letters of options that take the next."""
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
        """Whether an option of one of these letters, or a long one of these names, is given.

        A long one may be cut short, as programs let it be.
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


SOME_NAME = "{.,0}"
"""A pattern for names of files in a directory, and of the directory itself."""

NAME_OR_NOTHING = "{,.,0}"
"""The same for what a command prints that lists names and may find none."""

LISTED = Word("", known=False)
"""Stands for the words that `xargs` reads from the command before it; known by identity."""

TOO_DEEP = Simple((Word("\0", known=False),))
"""Stands for what is nested too deeply to be looked into."""

TOO_MANY = Simple((Word("\0\0", known=False),))
"""Stands for the commands of a text after so many that the rest is not looked at."""
