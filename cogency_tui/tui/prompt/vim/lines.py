"""Lines of a text, by offsets, and the indentation of lines."""

from collections.abc import Sequence

TAB = 4
"""Cells of a tab, and of the indentation that `>` adds."""


def line_start(text: str, at: int) -> int:
    """The beginning of the line of `at`."""
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """The end of the line of `at`: its newline, or the end of the text."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def last_place(text: str, at: int) -> int:
    """The last character of the line of `at`; of an empty line its end."""
    return max(line_start(text, at), line_end(text, at) - 1)


def indent_end(text: str, at: int) -> int:
    """The first character of the line of `at` that is not blank, or the end of a blank line."""
    place, end = line_start(text, at), line_end(text, at)
    while place < end and text[place] in " \t":
        place += 1
    return place


def first_word(text: str, at: int) -> int:
    """The first character of the line of `at` that is not blank, or the last one of a blank line."""
    return min(indent_end(text, at), last_place(text, at))


def row_of(text: str, at: int) -> int:
    """The number of the line of `at`, from 0."""
    return text.count("\n", 0, at)


def row_start(text: str, row: int) -> int:
    """The beginning of line `row`, or of the last line."""
    place = 0
    while row > 0 and (newline := text.find("\n", place)) >= 0:
        place, row = newline + 1, row - 1
    return place


def shift(line: str, steps: int) -> str:
    """Indent `line` by `steps`, or unindent it; an empty line stays empty."""
    if not line:
        return line
    body = line.lstrip(" \t")
    indent = len(line[: len(line) - len(body)].expandtabs(TAB))
    return " " * max(0, indent + steps * TAB) + body


def join(lines: Sequence[str]) -> tuple[str, int]:
    """Join lines by a space, where one is needed; return the result and the place of the last seam."""
    joined, before, seam = lines[0], lines[0], 0
    for line in lines[1:]:
        piece, seam = line.lstrip(" \t"), len(joined)
        spaced = joined and piece and not piece.startswith(")") and not before.endswith((" ", "\t"))
        joined, before = joined + (" " if spaced else "") + piece, piece
    return joined, seam
