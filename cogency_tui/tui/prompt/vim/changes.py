"""Commands that change the text at the cursor without an operator."""

from collections.abc import Callable
from typing import TypeAlias

from cogency_tui.tui.prompt.vim.lines import (
    indent_end,
    join,
    last_place,
    line_end,
    line_start,
    row_of,
    row_start,
)
from cogency_tui.tui.prompt.vim.replacement import Replacement

Change: TypeAlias = Callable[[str, int, int], Replacement | None]
"""The change of a text at a place, for a count; None where there is nothing to change."""


def join_lines(text: str, at: int, rows: int) -> Replacement | None:
    """Join lines, at least two, at single spaces."""
    row, last = row_of(text, at), text.count("\n")
    if row == last:
        return None
    start = line_start(text, at)
    end = line_end(text, row_start(text, min(row + max(2, rows) - 1, last)))
    joined, seam = join(text[start:end].split("\n"))
    return Replacement(start, end, joined, start + min(seam, last_place(joined, 0)))


def swap_case(text: str, at: int, times: int) -> Replacement | None:
    """Change upper into lower case, and lower into upper."""
    end = min(at + times, line_end(text, at))
    if end == at:
        return None
    swapped = "".join(_swapped(each) for each in text[at:end])
    return Replacement(at, end, swapped, min(end, last_place(text, at)))


def replace(text: str, at: int, times: int, character: str) -> Replacement | None:
    """Replace characters by this one, or all by a single newline; None if there are fewer."""
    end = at + times
    if end > line_end(text, at):
        return None
    if character == "\n":
        return Replacement(at, end, character, at + 1)
    return Replacement(at, end, character * times, end - 1)


def open_line(text: str, at: int, *, below: bool) -> Replacement:
    """Insert an empty line."""
    place = line_end(text, at) if below else line_start(text, at)
    return Replacement(place, place, "\n", place + below)


def insertion_place(key: str, text: str, at: int) -> int:
    """The place where `i`, `a`, `I` or `A` inserts."""
    end = line_end(text, at)
    places = {"i": at, "a": min(at + 1, end), "I": indent_end(text, at), "A": end}
    return places[key]


def _swapped(character: str) -> str:
    """The other case of a character, unless it has other characters then."""
    swapped = character.swapcase()
    return swapped if len(swapped) == 1 else character


CHANGES: dict[str, Change] = {"J": join_lines, "~": swap_case}
"""The changes that need no more than the count, by their keys."""
