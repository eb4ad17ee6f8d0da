"""Code as lines on the raised surface, colored by pygments with the theme's syntax colors.

The number of lines is known without coloring any: each is colored when it is rendered. A short block is
colored as a whole once it is complete; in others each row is colored alone, which changes only tokens that
span several rows (a docstring). A source is read from its top as far as it is rendered.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from itertools import accumulate
from threading import Lock
from typing import Any

from rich.segment import Segment

from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.command_output import OutputLines, TextLine
from cogency_tui.tui.kit.lazy_text_layout import MOST_LAID, LazyLayout, Recent
from cogency_tui.tui.kit.lines import CONTINUATION, Line, fold, folds, width_of
from cogency_tui.tui.theme_styles import ThemeStyles

_WHOLE_LIMIT = 3_000
ROW_LIMIT = 2_000
"""Characters of a row beyond which it has no colors."""

_AHEAD = 6_000
"""Characters that are read at once to color a row below them: about what a frame has time for."""

_MOST_READ = 500_000
"""Characters of a source beyond which each row is colored alone."""

_PIECE = 8_192
_LINES = 2_000
"""The size of the cache of colored lines."""

_GAP = 2
"""Cells between code and the name of its language."""

_FRAME = 2
"""Cells around each row of code."""

_HANGING, _NARROWEST_HANGING = f"{CONTINUATION} ", 12
"""The mark of a continuation, and the cells of a row below which there is no room for it."""

_LEXERS = 64
"""The size of the lexer cache: any text may be given as a language."""

_ROLES = {
    "Keyword.Type": "type",
    "Keyword.Constant": "number",
    "Keyword": "keyword",
    "Operator.Word": "keyword",
    "Operator": "operator",
    "Name.Function": "function",
    "Name.Class": "type",
    "Name.Exception": "type",
    "Name.Builtin": "builtin",
    "Name.Decorator": "function",
    "Name.Tag": "keyword",
    "Name.Attribute": "function",
    "Literal.String": "string",
    "Literal.Number": "number",
    "Comment": "comment",
    "Generic.Heading": "keyword",
    "Generic.Inserted": "good",
    "Generic.Deleted": "bad",
    "Generic.Prompt": "keyword",
}


_SPANNING = ("string", "comment")
"""The roles of what may span rows."""


@cache
def _role(token: Any) -> str:
    name = str(token).removeprefix("Token.")
    while name:
        if name in _ROLES:
            return _ROLES[name]
        name = name.rpartition(".")[0]
    return "text"


@lru_cache(_LEXERS)
def _lexer(language: str) -> Any:
    # Pygments creates these names at import time.
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def read_code(language: str, text: str) -> Iterator[list[tuple[str, str]]]:
    """The rows of `text` in pieces, each with its color role. Unknown languages, and text with a row too
    long to lex quickly, have no colors."""
    lexer = _lexer(language.lower()) if language else None
    if lexer is not None and all(len(row) <= ROW_LIMIT for row in text.split("\n")):
        yield from _read(lexer, text)
        return
    for row in text.split("\n"):
        yield [(row, "text")] if row else []


Pieces = Sequence[tuple[str, str]]
"""The parts of a line of code, each with its color role."""


@lru_cache(_LINES)
def color_line(language: str, text: str) -> Pieces:
    """Color a line of code by itself; one that the lexer changes is returned as it is."""
    read = [*read_code(language, text)]
    whole = len(read) == 1 and "".join(piece for piece, _ in read[0]) == text
    return read[0] if whole else [(text, "text")]


def _read(lexer: Any, text: str) -> Iterator[list[tuple[str, str]]]:
    return (row for row, _is_open in _rows_of(lexer, text))


def _rows_of(lexer: Any, text: str) -> Iterator[tuple[list[tuple[str, str]], bool]]:
    """The rows of `text` in pieces; and whether a string or a comment goes on in the next row."""
    tokens: Iterable[tuple[Any, str]] = lexer.get_tokens(text)
    row: list[tuple[str, str]] = []
    for token, value in tokens:
        first, *others = value.split("\n")
        role = _role(token)
        if first:
            row.append((first, role))
        for other in others:
            yield row, role in _SPANNING
            row = [(other, role)] if other else []
    yield row, False


class SourceColors:
    """The colors of the rows of a source, also those of strings and comments that span several rows.

    They are read from the top down as far as they are needed. Reading far ahead would block for too long: a
    row far below is colored alone, and `is_behind`, until `read_on`, which blocks, has reached it.
    """

    def __init__(self, language: str, rows: Sequence[str]) -> None:
        self.rows = rows
        self._language = language
        self._read: list[Pieces] = []
        self._starts = [0]
        """The rows at which no string or comment is open."""
        self._wanted = 0
        self._lock = Lock()

    @property
    def is_behind(self) -> bool:
        """True if a row was colored alone that `read_on` can color."""
        return self._wanted > len(self._read)

    def pieces(self, index: int) -> Pieces:
        """The pieces of a row, which together are its text."""
        if index >= len(self._read):
            self._want(index)
        row, read = self.rows[index], self._read[index] if index < len(self._read) else None
        if read is not None and "".join(text for text, _ in read) == row:
            return read
        return color_line(self._language, row) if len(row) <= ROW_LIMIT else [(row, "text")]

    def start_of(self, index: int) -> int:
        """The last row, down to this one, at which no string or comment is open, as far as that was read."""
        return self._starts[bisect_right(self._starts, index) - 1] if index < len(self._read) else index

    def read_on(self) -> None:
        """Read as far as rows were wanted; blocks."""
        with self._lock:
            while self.is_behind:
                self._read_row()

    def read_whole(self) -> None:
        """Read all rows, as far as they are read at all; blocks."""
        self._wanted = self._last
        self.read_on()

    def _want(self, index: int) -> None:
        if index >= self._last:
            return
        self._wanted = max(self._wanted, index + 1)
        if self._ends[index] - self._ends[len(self._read)] <= _AHEAD and self._lock.acquire(blocking=False):
            try:
                while len(self._read) <= index:
                    self._read_row()
            finally:
                self._lock.release()

    def _read_row(self) -> None:
        row, is_open = next(self._reader, (list[tuple[str, str]](), False))
        self._read.append(row)
        if not is_open:
            self._starts.append(len(self._read))

    @cached_property
    def _ends(self) -> list[int]:
        """The number of characters down to the end of each row."""
        return [*accumulate(len(row) + 1 for row in self.rows)]

    @cached_property
    def _last(self) -> int:
        """The number of rows that can be read."""
        return bisect_right(self._ends, _MOST_READ) if _lexer(self._language) else 0

    @cached_property
    def _reader(self) -> Iterator[tuple[list[tuple[str, str]], bool]]:
        rows = (row if len(row) <= ROW_LIMIT else "" for row in self.rows[: self._last])
        return _rows_of(_lexer(self._language), "\n".join(rows))


class CodeLines:
    """The lines of code that grows at its end, `width` cells wide with a cell of surface left and right.

    The language is named at the end of the first line, if it has room there. Where surfaces look the same,
    there is a rule above, which names it, and one below. Where a row is too long for a line, its further
    lines have a mark in the cell on the left.
    """

    def __init__(self, language: str, width: int, styles: ThemeStyles) -> None:
        self._lexer = _lexer(language.lower()) if language else None
        self._width = min(_PIECE, max(4, width))
        self._theme_styles = styles
        self._language = language
        self._ruled = styles.palette.flat
        self._rows: list[str] = []
        self._joints: list[str] = []
        self._ends: list[int] = []
        self._drawn: Recent[list[Line]] = Recent(MOST_LAID)
        self._partial = 0
        self._whole = False

    def __len__(self) -> int:
        return 2 * self._ruled + max(1, self._ends[-1] if self._ends else 0)

    def line(self, y: int) -> Line:
        y -= self._ruled
        if y < 0 or not self._ends:
            return padding(self._language, self._width, self._theme_styles)
        if y >= self._ends[-1]:
            return padding("", self._width, self._theme_styles, joint="")
        row = bisect_right(self._ends, y)
        first = self._ends[row - 1] if row else 0
        lines = self._drawn.get(row)
        if lines is None:
            lines = self._paint(row)
        return lines[y - first]

    def extend(self, rows: Iterable[str], partial: str | None = None) -> None:
        """Add complete rows, and the unfinished row, which the next call replaces."""
        for _piece in range(self._partial):
            self._drop_last()
        for row in rows:
            self._add(row)
        complete = len(self._rows)
        if partial is not None:
            self._add(partial)
        self._partial = len(self._rows) - complete

    def close(self) -> None:
        """End the code: a short block is now colored as a whole."""
        if not self._rows:
            self._add("")
        self._partial = 0
        size = sum(map(len, self._rows)) + len(self._rows)
        longest = max(map(len, self._rows), default=0)
        short = size <= _WHOLE_LIMIT and longest <= ROW_LIMIT and len(self._rows) <= MOST_LAID
        self._whole = short and self._lexer is not None
        if self._whole:
            self._drawn.clear()

    def _add(self, row: str) -> None:
        row = row.expandtabs(4)
        # Nothing joins the first row to the rule.
        joint = "" if self._ruled and not self._rows else "\n"
        room = (self._width - 2) * (_PIECE // (self._width - 2))
        for start in range(0, max(1, len(row)), room):
            self._rows.append(row[start : start + room])
            self._joints.append("" if start else joint)
            self._measure()

    def _measure(self) -> None:
        rows = folds(self._rows[-1], *self._rooms)
        self._ends.append((self._ends[-1] if self._ends else 0) + len(rows))

    @property
    def _rooms(self) -> tuple[int, int]:
        """The cells of the first line of a row, and of its continuations."""
        room = self._width - _FRAME
        return room, room - len(self._hanging)

    @property
    def _hanging(self) -> str:
        """The mark beside a continuation."""
        return _HANGING if self._width - _FRAME >= _NARROWEST_HANGING else ""

    def _drop_last(self) -> None:
        self._rows.pop()
        self._joints.pop()
        self._ends.pop()
        self._drawn.drop(len(self._rows))

    def _paint(self, row: int) -> list[Line]:
        if not self._whole:
            segments = next(self._color(self._rows[row]), list[Segment]())
            return self._drawn.put(row, self._frame(row, segments))
        painted = [
            self._drawn.put(index, self._frame(index, segments))
            for index, segments in enumerate(self._color("\n".join(self._rows)))
        ]
        return painted[row]

    def _color(self, text: str) -> Iterator[list[Segment]]:
        """Color the rows of `text`."""
        styles = self._theme_styles
        if self._lexer is None or (len(text) > ROW_LIMIT and not self._whole):
            for plain in text.split("\n"):
                yield [Segment(plain, styles("text", "raised"))] if plain else []
            return
        for row in _read(self._lexer, text):
            yield [Segment(piece, styles(role, "raised")) for piece, role in row]

    def _frame(self, row: int, code: list[Segment]) -> list[Line]:
        fill, dim = self._theme_styles("text", "raised"), self._theme_styles("dim", "raised")
        lines: list[Line] = []
        for line in fold(code, *self._rooms):
            head = f" {self._hanging}" if lines else " "
            rest = max(0, self._width - len(head) - width_of(line.segments))
            name = "" if row or lines or self._ruled else self._name(rest)
            end = [Segment(" " * (rest - cells(name)), fill), Segment(name, dim)]
            joint = line.joint if lines else self._joints[row]
            lines.append(Line([Segment(head, dim), *line.segments, *end], joint, len(head), len(name)))
        return lines

    def _name(self, room: int) -> str:
        """The language as the end of a line, if there is room for it and a gap before it."""
        name = f"{self._language} " if self._language else ""
        return name if cells(name) + _GAP <= room else ""


def padding(name: str, width: int, styles: ThemeStyles, joint: str = "\n") -> Line:
    """Draw the line above or below code: surface, or a rule where surfaces look the same, and `name`."""
    label = f" {fit(name, width - 2)} " if name else ""
    space = ("─" if styles.palette.flat else " ") * (width - cells(label))
    segments = [Segment(space, styles("rule", "raised")), Segment(label, styles("dim", "raised"))]
    return Line(segments, joint, len(space) + len(label))


class SourceLayout(LazyLayout):
    """The numbered lines of the source `text`, `width` cells wide; colored row by row when rendered.

    `numbers` are those of its lines, 0 for a remark among them; by default they count from 1. `colors` are
    those of the source if they are known, as at another width.
    """

    HANG = 0

    def __init__(
        self,
        text: OutputLines,
        language: str,
        width: int,
        styles: ThemeStyles,
        *,
        numbers: Sequence[int] = (),
        colors: SourceColors | None = None,
    ) -> None:
        self._language = language
        following = iter(numbers or range(1, text.total + 1))
        self._numbers = [0 if line.continued else next(following) for line in text.lines]
        self._digits = len(str(max(self._numbers, default=1)))
        self.colors = colors or SourceColors(language, self._source(text))
        super().__init__(text, max(self._digits + 8, width) - self._digits - _FRAME, styles)

    def recolor(self) -> None:
        """Color the lines again, after more of the source was read."""
        self._laid.clear()

    def _source(self, text: OutputLines) -> list[str]:
        """The lines down to the first gap: below it, what is open is not known."""
        rows: list[str] = []
        last = 0
        for number, line in zip(self._numbers, text.lines, strict=True):
            if number > last + 1:
                break
            last = number or last
            rows.append(line.text if number else "")
        return rows

    def lay(self, index: int, line: TextLine) -> list[Line]:
        styles, number = self.theme_styles, self._numbers[index]
        code = fold(self._color(index, line), self.width)
        fill = styles("text", "raised")
        heads = [str(number or (CONTINUATION if line.continued else "")), *[CONTINUATION] * (len(code) - 1)]
        joints = ["" if line.continued else "\n", *[each.joint for each in code[1:]]]
        return [
            Line(
                [
                    Segment(head.rjust(self._digits), styles("dim")),
                    Segment(" ", fill),
                    *each.segments,
                    Segment(" " * (self.width + 1 - width_of(each.segments)), fill),
                ],
                joint,
                self._digits + 1,
            )
            for head, each, joint in zip(heads, code, joints, strict=True)
        ]

    def _color(self, index: int, line: TextLine) -> list[Segment]:
        return [Segment(text, self.theme_styles(role, "raised")) for text, role in self._pieces(index, line)]

    def _pieces(self, index: int, line: TextLine) -> Pieces:
        if self._numbers[index] and index < len(self.colors.rows):
            return self.colors.pieces(index)
        is_code = self._numbers[index] or line.continued
        return color_line(self._language, line.text) if is_code else [(line.text, "dim")]
