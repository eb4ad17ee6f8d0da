"""Repetition: the last change, with what was typed in insert mode, for `.` and counts."""

from typing import NamedTuple

from cogency_tui.tui.prompt.vim.commands import Command


class Typed(NamedTuple):
    """What was typed in insert mode: characters erased before the cursor, then a text."""

    erased: int = 0
    text: str = ""


class LastChange(NamedTuple):
    """A command, and what was typed in the insert mode that it entered."""

    command: Command
    typed: Typed = Typed()


class Insertion(NamedTuple):
    """An insert mode: the text and the place where it began, and the command that entered it, if one did."""

    text: str
    at: int
    command: Command | None = None

    @property
    def lead(self) -> str:
        """What goes before each repetition."""
        return "\n" if self.command and self.command.command in ("o", "O") else ""

    @property
    def repeats(self) -> int:
        """How often the typed text is inserted once more."""
        return self.command.times - 1 if self.command and not self.command.operator else 0


def typed_since(begun: Insertion, text: str) -> Typed:
    """What turned the text that an insertion began with into `text`, as seen from its cursor."""
    start = shared(begun.text[: begun.at], text)
    rest = begun.text[begun.at :]
    if text[start:].endswith(rest):
        return Typed(begun.at - start, text[start : len(text) - len(rest)])
    end = len(text) - shared(text[::-1], begun.text[start:][::-1])
    return Typed(0, text[start : max(start, end)])


def shared(one: str, other: str) -> int:
    """The number of equal characters at the beginning of two texts."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
