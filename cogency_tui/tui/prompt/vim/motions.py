"""Motions: from one place of a text to another.

A motion returns None where it cannot move: an operator then does nothing.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

from cogency_tui.tui.prompt.vim.lines import (
    first_word,
    indent_end,
    last_place,
    line_end,
    line_start,
    row_of,
    row_start,
)

END_OF_LINE = float("inf")
"""The wanted column after `$`."""

_BLANK, _PUNCTUATION, _WORD, _EMOJI = 0, 1, 2, 3
_SCRIPTS = (
    (0x2000, 0x206F, _PUNCTUATION),
    (0x2190, 0x23FF, _PUNCTUATION),
    (0x2460, 0x27FF, _PUNCTUATION),
    (0x3000, 0x3000, _BLANK),
    (0x3001, 0x3020, _PUNCTUATION),
    (0x3040, 0x309F, 4),
    (0x30A0, 0x30FF, 5),
    (0x3300, 0x9FFF, 6),
    (0xAC00, 0xD7A3, 7),
    (0xD800, 0xDFFF, _PUNCTUATION),
    (0xF900, 0xFAFF, 6),
    (0xFF01, 0xFF0F, _PUNCTUATION),
    (0x1F300, 0x1FAFF, _EMOJI),
    (0x20000, 0x2FA1F, 6),
)
"""Ranges of characters whose runs are words of their own, and the kind of each."""

_PAIRS = {"(": ")", "[": "]", "{": "}"}
_OPENING = {closing: opening for opening, closing in _PAIRS.items()}


class Move(NamedTuple):
    """The result of a motion. An operator works up to `to`, including it, or on whole lines.

    `want` is the column that the next `j` or `k` aims at, if it is not that of the cursor.
    """

    to: int
    kind: Literal["exclusive", "inclusive", "lines"] = "exclusive"
    want: float | None = None


class Aim(NamedTuple):
    """The column, in cells, that `j` and `k` aim at while the cursor is still `at` this place."""

    at: int
    column: float


class Find(NamedTuple):
    """A search in the line: its key (`f`, `F`, `t`, `T`) and the character."""

    key: str
    character: str


@dataclass(frozen=True)
class Origin:
    """Where a motion starts, and what is known there.

    `count` is 0 if none was typed; `want` is the column, in cells, that `j` and `k` aim at; `find` is the
    last search, and `operator` the waiting operator. `rows` returns the places where the rows of the screen
    begin.
    """

    text: str
    at: int
    cells: Callable[[str], int]
    rows: Callable[[], Sequence[int]]
    want: float
    count: int = 0
    operator: str = ""
    find: Find | None = None

    @property
    def times(self) -> int:
        return max(1, self.count)


Motion: TypeAlias = Callable[[Origin], Move | None]


def kind_of(character: str, *, big: bool) -> int:
    """The kind of a character: neighbours of one kind are a word; 0 is blank."""
    if character in " \t\n":
        return _BLANK
    if big:
        return _WORD
    code = ord(character)
    if code < 0x100:
        return _WORD if character.isalnum() or character == "_" else _PUNCTUATION
    return next((kind for first, last, kind in _SCRIPTS if first <= code <= last), _WORD)


def _kind_at(text: str, at: int, *, big: bool) -> int:
    return kind_of(text[at], big=big) if 0 <= at < len(text) else _BLANK


def is_empty_line(text: str, at: int) -> bool:
    """Return whether the line of `at` is empty."""
    return line_start(text, at) == line_end(text, at)


def begins_word(text: str, at: int, *, big: bool) -> bool:
    """Return whether a word begins at `at`; an empty line is a word."""
    kind = _kind_at(text, at, big=big)
    return kind != _kind_at(text, at - 1, big=big) if kind else is_empty_line(text, at)


def ends_word(text: str, at: int, *, big: bool) -> bool:
    """Return whether a word ends with the character at `at`."""
    kind = _kind_at(text, at, big=big)
    return kind != _BLANK and kind != _kind_at(text, at + 1, big=big)


def _left(origin: Origin) -> Move | None:
    start = line_start(origin.text, origin.at)
    moves = origin.at > start or origin.operator
    return Move(max(start, origin.at - origin.times)) if moves else None


def _right(origin: Origin) -> Move | None:
    end = line_end(origin.text, origin.at)
    last = end if origin.operator else last_place(origin.text, origin.at)
    return Move(min(last, origin.at + origin.times)) if origin.at < last or origin.operator else None


def _back(origin: Origin) -> Move | None:
    """Left, and on to the line before."""
    at = origin.at
    for _ in range(origin.times):
        if not at:
            break
        at -= 1
        if origin.text[at] == "\n" and not is_empty_line(origin.text, at) and not origin.operator:
            at -= 1
    return Move(at) if at != origin.at else None


def _onward(origin: Origin) -> Move | None:
    """Right, and on to the line after."""
    text, at = origin.text, origin.at
    for _ in range(origin.times):
        passes = not (origin.operator or is_empty_line(text, at))
        over = passes and at + 1 == line_end(text, at)
        if at + 1 + over > len(text) or (over and line_end(text, at) == len(text)):
            break
        at += 1 + over
    return Move(at) if at != origin.at else None


def _first_column(origin: Origin) -> Move:
    return Move(line_start(origin.text, origin.at))


def _first_word(origin: Origin) -> Move:
    return Move(first_word(origin.text, origin.at))


def _line_end(origin: Origin) -> Move | None:
    text, rows = origin.text, origin.times - 1
    row = row_of(text, origin.at)
    last = text.count("\n")
    if rows and row == last:
        return None
    there = row_start(text, min(row + rows, last))
    return Move(last_place(text, there), "inclusive", want=END_OF_LINE)


def _vertical(origin: Origin, direction: int) -> Move | None:
    text = origin.text
    row, last = row_of(text, origin.at), text.count("\n")
    target = min(max(0, row + direction * origin.times), last)
    if target == row:
        return None
    start = row_start(text, target)
    place = _place_at_column(origin, start, last_place(text, start), origin.want)
    return Move(place, "lines", want=origin.want)


def _place_at_column(origin: Origin, start: int, last: int, column: float) -> int:
    """The place from `start` to `last` that is nearest to a column, in cells, from `start`."""
    place = start
    while place < last and origin.cells(origin.text[start : place + 1]) <= column:
        place += 1
    return place


def _column(origin: Origin) -> Move:
    start = line_start(origin.text, origin.at)
    column = origin.times - 1
    place = _place_at_column(origin, start, last_place(origin.text, start), column)
    return Move(place, want=column)


def _screen_row(origin: Origin) -> tuple[Sequence[int], int]:
    """The rows of the screen, and the number of that of the cursor."""
    rows = origin.rows()
    return rows, bisect_right(rows, origin.at) - 1


def _row_last(text: str, rows: Sequence[int], row: int) -> int:
    """The last place of a row of the screen."""
    last = last_place(text, rows[row])
    return min(last, rows[row + 1] - 1) if row + 1 < len(rows) else last


def _vertical_on_screen(origin: Origin, direction: int) -> Move | None:
    text = origin.text
    rows, row = _screen_row(origin)
    target = min(max(0, row + direction * origin.times), len(rows) - 1)
    if target == row:
        return None
    column = origin.want - origin.cells(text[line_start(text, origin.at) : rows[row]])
    start = rows[target]
    place = _place_at_column(origin, start, _row_last(text, rows, target), column)
    return Move(place, want=column + origin.cells(text[line_start(text, start) : start]))


def _first_on_screen(origin: Origin) -> Move:
    rows, row = _screen_row(origin)
    return Move(rows[row])


def _last_on_screen(origin: Origin) -> Move:
    rows, row = _screen_row(origin)
    return Move(_row_last(origin.text, rows, row), "inclusive", want=END_OF_LINE)


def _line_away(origin: Origin, rows: int) -> Move | None:
    """The first word of the line so many lines below, or (negative) above."""
    row, last = row_of(origin.text, origin.at), origin.text.count("\n")
    target = min(max(0, row + rows), last)
    if rows and target == row:
        return None
    return Move(first_word(origin.text, row_start(origin.text, target)), "lines")


def _last_word_of_line(origin: Origin) -> Move:
    """The last character of the line that is not blank."""
    text = origin.text
    there = row_start(text, row_of(text, origin.at) + origin.times - 1)
    start = line_start(text, there)
    body = text[start : line_end(text, there)].rstrip(" \t")
    return Move(start + max(0, len(body) - 1), "inclusive")


def _row(origin: Origin, default: int) -> Move:
    row = origin.count - 1 if origin.count else default
    there = row_start(origin.text, min(row, origin.text.count("\n")))
    return Move(first_word(origin.text, there), "lines")


def _first_row(origin: Origin) -> Move:
    return _row(origin, 0)


def _last_row(origin: Origin) -> Move:
    return _row(origin, origin.text.count("\n"))


def _word(origin: Origin, *, big: bool) -> Move | None:
    """To the next word; an operator does not go beyond the end of the last word's line."""
    text, at = origin.text, origin.at
    for left in reversed(range(origin.times)):
        before = at
        at = _next(text, at, partial(begins_word, text, big=big))
        if origin.operator and not left and (end := _end_of_last_word(text, before, at, big=big)):
            return Move(end)
    if at == len(text) and not origin.operator:
        at = last_place(text, at)
    return Move(at) if at != origin.at or origin.operator else None


def _end_of_last_word(text: str, at: int, target: int, *, big: bool) -> int:
    """The end of the line if the word at `at` is its last one, and `target` is beyond; else 0."""
    end = line_end(text, at)
    kind = _kind_at(text, at, big=big)
    place = at
    while place < end and _kind_at(text, place, big=big) == kind:
        place += 1
    return end if place == end < target else 0


def change_word(origin: Origin, *, big: bool) -> Move | None:
    """`w` of the operator `c`: on a word to its end, without the blanks after it."""
    text = origin.text
    if not _kind_at(text, origin.at, big=big):
        return _word(origin, big=big)
    at = origin.at - 1
    for _ in range(origin.times):
        at = _next(text, at, partial(ends_word, text, big=big))
    return Move(min(at, max(0, len(text) - 1)), "inclusive")


def _word_end(origin: Origin, *, big: bool) -> Move | None:
    text, at = origin.text, origin.at
    for _ in range(origin.times):
        at = _next(text, at, partial(ends_word, text, big=big))
    if at == len(text):
        at = last_place(text, at)
    return Move(at, "inclusive") if at != origin.at or origin.operator else None


def _previous_end(origin: Origin, *, big: bool) -> Move | None:
    """The end of the word before; an empty line is a word."""
    text, at = origin.text, origin.at
    for _ in range(origin.times):
        places = range(at - 1, -1, -1)
        ends = (place for place in places if ends_word(text, place, big=big) or is_empty_line(text, place))
        at = next(ends, 0)
    return Move(at, "inclusive") if at != origin.at else None


def _word_start(origin: Origin, *, big: bool) -> Move | None:
    text, at = origin.text, origin.at
    for _ in range(origin.times):
        places = range(at - 1, -1, -1)
        at = next((place for place in places if begins_word(text, place, big=big)), 0)
    return Move(at) if at != origin.at else None


def _next(text: str, at: int, holds: Callable[[int], bool]) -> int:
    """The next place after `at` where `holds`, or the end of the text."""
    return next((place for place in range(at + 1, len(text)) if holds(place)), len(text))


def _paragraph(origin: Origin, direction: int) -> Move | None:
    """To the next empty line before or after a paragraph."""
    text = origin.text
    lines = text.split("\n")
    row = row_of(text, origin.at)
    for left in reversed(range(origin.times)):
        found = _empty_row(lines, row, direction)
        if not 0 <= found < len(lines):
            return _text_edge(origin, direction) if not left else None
        row = found
    return Move(row_start(text, row))


def _empty_row(lines: list[str], row: int, direction: int) -> int:
    """The next empty row in this direction that has text before it."""
    seen = False
    while 0 <= row < len(lines):
        if not lines[row] and seen:
            break
        seen = seen or bool(lines[row])
        row += direction
    return row


def _text_edge(origin: Origin, direction: int) -> Move:
    if direction < 0:
        return Move(0)
    end = last_place(origin.text, len(origin.text))
    return Move(end, "exclusive" if is_empty_line(origin.text, end) else "inclusive")


def _matching(origin: Origin) -> Move | None:
    """To the bracket that matches the next one in the line."""
    text = origin.text
    places = range(origin.at, line_end(text, origin.at))
    start = next((place for place in places if text[place] in "()[]{}"), None)
    if start is None or origin.count:
        return None
    found = match_bracket(text, start)
    return None if found is None else Move(found, "inclusive")


def match_bracket(text: str, at: int) -> int | None:
    """The place of the bracket that matches the one at `at`."""
    mark = text[at]
    other = _PAIRS.get(mark) or _OPENING[mark]
    places = range(at, len(text)) if mark in _PAIRS else range(at, -1, -1)
    depth = 0
    for place in places:
        depth += (text[place] == mark) - (text[place] == other)
        if not depth:
            return place
    return None


def _again(origin: Origin, *, reverse: bool) -> Move | None:
    if origin.find is None:
        return None
    find = origin.find._replace(key=origin.find.key.swapcase()) if reverse else origin.find
    return _find_in_line(origin, find, again=True)


def _find_in_line(origin: Origin, find: Find, *, again: bool) -> Move | None:
    """To the character, or (`t`, `T`) to the place before it; a repeated `t` goes on from there."""
    back, till = find.key in "FT", find.key in "tT"
    places = [*_places_of(origin, find.character, back=back)]
    step = 1 if back else -1
    if till and again and origin.times == 1 and places and places[0] + step == origin.at:
        del places[0]
    if len(places) < origin.times:
        return None
    return Move(places[origin.times - 1] + (step if till else 0), "exclusive" if back else "inclusive")


def _places_of(origin: Origin, character: str, *, back: bool) -> Iterator[int]:
    text, at = origin.text, origin.at
    places = range(at - 1, line_start(text, at) - 1, -1) if back else range(at + 1, line_end(text, at))
    return (place for place in places if text[place] == character)


def in_indent(text: str, at: int) -> bool:
    """Return whether nothing but blanks is before `at` in its line."""
    return at <= indent_end(text, at)


MOTIONS: dict[str, Motion] = {
    "h": _left,
    "l": _right,
    "\b": _back,
    " ": _onward,
    "j": partial(_vertical, direction=1),
    "k": partial(_vertical, direction=-1),
    "0": _first_column,
    "^": _first_word,
    "$": _line_end,
    "|": _column,
    "gj": partial(_vertical_on_screen, direction=1),
    "gk": partial(_vertical_on_screen, direction=-1),
    "g0": _first_on_screen,
    "g$": _last_on_screen,
    "g_": _last_word_of_line,
    "+": lambda origin: _line_away(origin, origin.times),
    "-": lambda origin: _line_away(origin, -origin.times),
    "_": lambda origin: _line_away(origin, origin.times - 1),
    "ge": partial(_previous_end, big=False),
    "gE": partial(_previous_end, big=True),
    "gg": _first_row,
    "G": _last_row,
    "w": partial(_word, big=False),
    "W": partial(_word, big=True),
    "e": partial(_word_end, big=False),
    "E": partial(_word_end, big=True),
    "b": partial(_word_start, big=False),
    "B": partial(_word_start, big=True),
    "{": partial(_paragraph, direction=-1),
    "}": partial(_paragraph, direction=1),
    "%": _matching,
    ";": partial(_again, reverse=False),
    ",": partial(_again, reverse=True),
}
"""The motions, by their keys; without those that find a character."""


def move_of(motion: str, origin: Origin) -> Move | None:
    """Where a motion leads: the keys of `MOTIONS`, or `f`, `F`, `t` or `T` and a character."""
    if len(motion) == 2 and motion[0] in "fFtT":
        return _find_in_line(origin, Find(motion[0], motion[1]), again=False)
    return MOTIONS[motion](origin)
