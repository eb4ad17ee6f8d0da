"""The rows of a diff as lines: numbers, sign, colored code, and the words that differ.

Heights are known without drawing anything; each row is colored and marked when it is rendered.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, overload

from rich.segment import Segment
from rich.style import Style

from cogency_tui.safe_text import reveal
from cogency_tui.tui.kit.code import ROW_LIMIT, Pieces, SourceColors, color_line
from cogency_tui.tui.kit.lazy_text_layout import MOST_LAID, Heights, Recent
from cogency_tui.tui.kit.lines import CONTINUATION, Line, Segments, fold, folds, width_of
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.workspace.diff_rows import Row, Rows, Span

_TAB = 4

_LONGEST_FOLDED = 8_000
"""Characters of an ASCII row beyond which it is cut to equal lines, each made when it is rendered."""

SIGNS = {"same": " ", "removed": "−", "added": "+", "note": " "}
_ROLES = {"same": "dim", "removed": "bad", "added": "good", "note": "dim"}

BOTH_NUMBERS = 60
"""Cells from which a row has room for both of its numbers."""


class Coloring:
    """The colors of both sides of a diff, whose first lines have the numbers `old_first` and `new_first`.

    Strings and comments that span several lines are right only if the sides are short enough, at most
    `whole` characters, to be read as a whole.
    """

    def __init__(
        self,
        path: str,
        old: Sequence[str],
        new: Sequence[str],
        *,
        whole: int,
        old_first: int = 1,
        new_first: int = 1,
    ) -> None:
        self._path = path
        self._texts = old, new
        self._firsts = old_first, new_first
        self._whole = whole
        self._language = ""
        self._sides: list[SourceColors] | None = None

    def read(self) -> None:
        """Read the sides now, if they are short."""
        # Imports pygments, which only what is rendered needs.
        from cogency_tui.tui.kit.file_text import language_of

        self._language = language_of(self._path)
        self._sides = []
        if self._language and sum(len(line) for side in self._texts for line in side) <= self._whole:
            self._sides = [SourceColors(self._language, side) for side in self._texts]
            for side in self._sides:
                side.read_whole()

    def pieces(self, row: Row) -> Pieces:
        """The pieces of a line, which together are its text."""
        if self._sides is None:
            self.read()
        side, number = (0, row.old) if row.kind == "removed" else (1, row.new)
        if self._sides and number is not None:
            place = number - self._firsts[side]
            if 0 <= place < len(self._texts[side]) and self._texts[side][place] == row.text:
                return self._sides[side].pieces(place)
        return color_line(self._language, row.text) if len(row.text) <= ROW_LIMIT else [(row.text, "text")]

    def above(self, number: int) -> Sequence[str]:
        """The new lines above this one, down from where the string or comment begins that is open there."""
        place = number - self._firsts[1]
        start = self._sides[1].start_of(place) if self._sides else place
        return self._texts[1][start:place]


class RowSource(Protocol):
    """Colors and compares the rows of a diff."""

    def pieces(self, row: Row) -> Pieces: ...

    def changed_words(self, row: Row) -> Sequence[Span]: ...


@dataclass(frozen=True, slots=True)
class Pen:
    """The parameters of drawing rows `width` cells wide on the surface `on`.

    `digits` is the length of the largest number, 0 for rows without numbers.
    """

    source: RowSource
    width: int
    theme_styles: ThemeStyles
    digits: int
    on: str = "surface"

    @property
    def gutter(self) -> int:
        """The cells of the numbers and the sign."""
        numbers = 2 * self.digits + 1 if self.digits and self.width >= BOTH_NUMBERS else self.digits
        return numbers + 3

    def numbers(self, row: Row) -> str:
        """The numbers of a row: both, or where they have no room the one in its own side."""
        if self.width >= BOTH_NUMBERS and self.digits:
            return f"{self._number(row.old)} {self._number(row.new)}"
        return self._number(row.old if row.kind == "removed" else row.new)

    def _number(self, number: int | None) -> str:
        return str(number or "").rjust(self.digits) if self.digits else ""


def surface_of(row: Row | None, on: str, *, gone: bool) -> str:
    """The surface of a row; `on` for an unchanged one, and for a reverted change."""
    return row.kind if row is not None and row.kind in ("removed", "added") and not gone else on


def height_of(text: str, room: int) -> int:
    """The number of lines of `room` cells that a line of code takes."""
    if "\t" in text:
        text = text.expandtabs(_TAB)
    if text.isascii() and (len(text) <= room or len(text) > _LONGEST_FOLDED):
        return -(-len(text) // room) or 1
    return len(folds(reveal(text), room))


def heights_of(texts: Sequence[str], room: int) -> "Heights | Even":
    """The heights of lines of code; much faster than `height_of` for each if all are short."""
    if all(len(text) <= room and text.isascii() and "\t" not in text for text in texts):
        return Even(len(texts))
    return Heights(height_of(text, room) for text in texts)


class Even:
    """Heights of lines that take one line each."""

    def __init__(self, count: int) -> None:
        self.total = count

    def __getitem__(self, index: int) -> int:
        return 1

    def locate(self, y: int) -> tuple[int, int]:
        """The line of code at line `y`, with offset 0."""
        return y, 0


class RowBlock:
    """Rows one below the other; `gone` means that the change is reverted, and has no colors."""

    def __init__(self, rows: Rows, pen: Pen, *, gone: bool = False) -> None:
        self.rows = rows
        self._pen = pen
        self._gone = gone
        self._room = max(4, pen.width - pen.gutter)
        self.heights = heights_of(rows.texts(), self._room)
        self._drawn: Recent[Sequence[Line]] = Recent(MOST_LAID)

    def __len__(self) -> int:
        return self.heights.total

    def line(self, y: int) -> Line:
        index, offset = self.heights.locate(y)
        lines = self._drawn.get(index)
        if lines is None:
            lines = self._drawn.put(index, self._draw(self.rows[index]))
        return lines[min(offset, len(lines) - 1)]

    def _draw(self, row: Row) -> Sequence[Line]:
        return draw_row(row, self._pen.numbers(row), self._pen, self._room, gone=self._gone)


def draw_row(row: Row, numbers: str, pen: Pen, room: int, *, gone: bool) -> Sequence[Line]:
    """Draw a row with its numbers and sign on as many lines as it takes; the numbers are on the first."""
    text = row.text.expandtabs(_TAB) if len(row.text) > _LONGEST_FOLDED else ""
    gutter = _Gutter(row, numbers, pen, room, gone=gone)
    if text and text.isascii():
        return _CutRow(reveal(text), gutter)
    code = fold(_code_of(row, pen, gutter.on, gone=gone), room)
    return [gutter.draw(line.segments, line.joint, first=not place) for place, line in enumerate(code)]


class _Gutter:
    """What is before and behind the lines of code of a row."""

    def __init__(self, row: Row, numbers: str, pen: Pen, room: int, *, gone: bool) -> None:
        styles = pen.theme_styles
        self.room = room
        self.on = surface_of(row, pen.on, gone=gone)
        self.text = styles("text", self.on)
        dim, role = styles("dim", self.on), "dim" if gone else _ROLES[row.kind]
        self._first = [Segment(numbers, dim), Segment(f" {SIGNS[row.kind]} ", styles(role, self.on))]
        self._other = [Segment(" " * len(numbers), dim), Segment(f" {CONTINUATION} ", dim)]
        self._lead = len(numbers) + 3

    def draw(self, code: Segments, joint: str, *, first: bool) -> Line:
        """Draw a line of code, the first of its row or another."""
        rest = Segment(" " * (self.room - width_of(code)), self.text)
        return Line([*(self._first if first else self._other), *code, rest], joint, self._lead)


class _CutRow(Sequence[Line]):
    """The lines of a very long row."""

    def __init__(self, text: str, gutter: _Gutter) -> None:
        self._text = text
        self._gutter = gutter

    def __len__(self) -> int:
        return -(-len(self._text) // self._gutter.room)

    @overload
    def __getitem__(self, index: int) -> Line: ...

    @overload
    def __getitem__(self, index: slice) -> list[Line]: ...

    def __getitem__(self, index: int | slice) -> Line | list[Line]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index] * self._gutter.room
        code = [Segment(self._text[place : place + self._gutter.room], self._gutter.text)]
        return self._gutter.draw(code, "" if place else "\n", first=not place)


def _code_of(row: Row, pen: Pen, on: str, *, gone: bool) -> list[Segment]:
    if row.kind == "note" or (gone and row.kind != "same"):
        return _drawn([(row.text, "dim")], (), Style(), pen.theme_styles, on)
    role = _ROLES[row.kind]
    mark = pen.theme_styles(role, on, "bold underline")
    spans = () if gone else pen.source.changed_words(row)
    # Without surfaces, colors of code would hide which lines were removed.
    is_flat = pen.theme_styles.palette.flat and row.kind != "same"
    pieces = [(row.text, role)] if is_flat else pen.source.pieces(row)
    return _drawn(pieces, spans, mark, pen.theme_styles, on)


def _drawn(pieces: Pieces, spans: Sequence[Span], mark: Style, styles: ThemeStyles, on: str) -> list[Segment]:
    """Draw `pieces`, those within `spans` in the style `mark`."""
    segments: list[Segment] = []
    place = column = 0
    for text, role in pieces:
        for part, marked in _cut(text, place, spans):
            shown = _expand(part, column) if "\t" in part else part
            column += len(shown)
            segments.append(Segment(reveal(shown), mark if marked else styles(role, on)))
        place += len(text)
    return segments


def _cut(text: str, place: int, spans: Sequence[Span]) -> list[tuple[str, bool]]:
    """Split `text`, which begins at character `place` of its line, into parts within and outside spans."""
    end = place + len(text)
    found: list[tuple[str, bool]] = []
    at = place
    for start, stop in spans:
        first, last = max(start, place), min(stop, end)
        if first >= last:
            continue
        if first > at:
            found.append((text[at - place : first - place], False))
        found.append((text[first - place : last - place], True))
        at = last
    if at < end:
        found.append((text[at - place :], False))
    return found


def _expand(text: str, column: int) -> str:
    """Replace tabs by spaces in `text`, which begins in this column."""
    return (" " * column + text).expandtabs(_TAB)[column:]
