"""The sections of a diff from top to bottom: heads of hunks, lines, folds, and texts about them.

Sections know their height without drawing anything. Each line (numbers, sign, colored code, and the
differing words) is drawn when it is rendered, after one cell that belongs to the view.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rich.segment import Segment
from rich.style import Style

from cogency_tui.agent.review.intraline import Span
from cogency_tui.agent.review.model import Row
from cogency_tui.safe_text import reveal
from cogency_tui.tui.kit.lazy_text_layout import Heights
from cogency_tui.tui.kit.lines import Line, chop, width_of
from cogency_tui.tui.review.open_file import OpenFile, Pieces, Rows
from cogency_tui.tui.theme_styles import ThemeStyles

_TAB = 4
_LONGEST = 8_000
"""Characters of a line beyond which the rest is not shown."""

SIGNS = {"same": " ", "removed": "−", "added": "+"}
_ROLES = {"same": "dim", "removed": "bad", "added": "good"}


def surface_of(row: Row | None, *, gone: bool) -> str:
    """The surface of a line; that of the pane for a reverted change."""
    return "surface" if row is None or row.kind == "same" or gone else row.kind


def height_of(text: str, room: int) -> int:
    """The number of lines of `room` cells that a line of code takes."""
    if len(text) > _LONGEST:
        text = text[:_LONGEST] + "…"
    if "\t" in text:
        text = text.expandtabs(_TAB)
    if text.isascii():
        return -(-len(text) // room) or 1
    return len(chop([Segment(reveal(text))], room))


def all_short(texts: Sequence[str], room: int) -> bool:
    """Return whether each of these lines fits in `room` cells; much faster than `height_of` for each."""
    return all(len(text) <= room and text.isascii() and "\t" not in text for text in texts)


def code_of(row: Row, file: OpenFile, styles: ThemeStyles, *, gone: bool) -> list[Segment]:
    """A line of code; `gone` means that the change is reverted, and has no colors."""
    on = surface_of(row, gone=gone)
    pieces = file.coloring.pieces(row)
    if len(row.text) > _LONGEST:
        pieces = [(row.text[:_LONGEST] + "…", "text")]
    if gone and row.kind != "same":
        pieces = [("".join(text for text, _ in pieces), "dim")]
    mark = styles(_ROLES[row.kind], on, "bold underline")
    return _drawn(pieces, () if gone else file.diff.marks(row), mark, styles, on)


def draw_row(
    row: Row, numbers: str, code: Sequence[Segment], room: int, styles: ThemeStyles, *, gone: bool
) -> list[Line]:
    """Draw a line with its numbers and sign on as many lines as it takes; the numbers are on the first."""
    on = surface_of(row, gone=gone)
    role = "dim" if gone else _ROLES[row.kind]
    fill = styles("text", on)
    lines: list[Line] = []
    for line in chop(code, room):
        head = [
            Segment(numbers if not lines else " " * len(numbers), styles("dim", on)),
            Segment(f" {SIGNS[row.kind] if not lines else ' '} ", styles(role, on)),
        ]
        rest = Segment(" " * (room - width_of(line.segments)), fill)
        lines.append(Line([*head, *line.segments, rest], line.joint, len(numbers) + 3))
    return lines


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


_CACHED = 256

Key = tuple[str, str]
"""The kind of a section, and its id: stable when the diff is laid out again."""


class Section(Protocol):
    """`hunk` is the index of the hunk that it belongs to, `fold` that of the gap which it opens."""

    @property
    def key(self) -> Key: ...

    @property
    def hunk(self) -> int: ...

    @property
    def fold(self) -> int | None: ...

    def __len__(self) -> int: ...

    def line(self, y: int) -> Line: ...

    def number(self, y: int) -> int: ...


@dataclass(frozen=True, slots=True)
class Pen:
    """The parameters of drawing lines `width` cells wide; `digits` is the length of the largest number."""

    file: OpenFile
    width: int
    theme_styles: ThemeStyles
    digits: int


class Even:
    """Heights of lines that take one line each."""

    def __init__(self, count: int) -> None:
        self.total = count

    def __getitem__(self, index: int) -> int:
        return 1

    def locate(self, y: int) -> tuple[int, int]:
        """The line of code at line `y`, with offset 0."""
        return y, 0


class Texts:
    """Lines that all exist already; `number` is the line of the file that they refer to."""

    fold = None

    def __init__(self, key: Key, hunk: int, lines: Sequence[Line], at: int = 0) -> None:
        self.key = key
        self.hunk = hunk
        self._lines = lines
        self._at = at

    def __len__(self) -> int:
        return len(self._lines)

    def line(self, y: int) -> Line:
        return self._lines[y]

    def number(self, y: int) -> int:
        del y
        return self._at


class Fold(Texts):
    """Represents hidden lines."""

    def __init__(self, hunk: int, gap: int, line: Line, at: int) -> None:
        super().__init__(("fold", str(gap)), hunk, [line], at=at)
        self.fold = gap


class Unified:
    """Lines one below the other, with both numbers."""

    fold = None

    def __init__(self, key: Key, hunk: int, rows: Rows, pen: Pen, *, gone: bool = False) -> None:
        self.key = key
        self.hunk = hunk
        self._rows = rows
        self._pen = pen
        self._gone = gone
        self._room = max(4, pen.width - 2 * pen.digits - 4)
        self._heights = _heights(rows, self._room)
        self._drawn: OrderedDict[int, list[Line]] = OrderedDict()

    def __len__(self) -> int:
        return self._heights.total

    def line(self, y: int) -> Line:
        index, offset = self._heights.locate(y)
        lines = self._drawn.get(index)
        if lines is None:
            lines = self._drawn[index] = self._draw(self._rows[index])
            if len(self._drawn) > _CACHED:
                self._drawn.popitem(last=False)
        return lines[min(offset, len(lines) - 1)]

    def number(self, y: int) -> int:
        return _number([*self._rows], self._heights.locate(y)[0])

    def _draw(self, row: Row) -> list[Line]:
        pen = self._pen
        old, new = (str(number or "").rjust(pen.digits) for number in (row.old, row.new))
        code = code_of(row, pen.file, pen.theme_styles, gone=self._gone)
        return draw_row(row, f"{old} {new}", code, self._room, pen.theme_styles, gone=self._gone)


def _heights(rows: Rows, room: int) -> Heights | Even:
    texts = rows.texts()
    return Even(len(texts)) if all_short(texts, room) else Heights(height_of(text, room) for text in texts)


Pair = tuple[Row | None, Row | None]


class SideBySide:
    """Old lines on the left and new ones on the right, with corresponding ones in one line."""

    fold = None

    def __init__(self, key: Key, hunk: int, rows: Rows, pen: Pen, *, gone: bool = False) -> None:
        self.key = key
        self.hunk = hunk
        self._pairs = paired(rows)
        self._pen = pen
        self._gone = gone
        self._half = (pen.width - 1) // 2
        self._room = max(4, self._half - pen.digits - 3)
        short = all_short(rows.texts(), self._room)
        heights = (max(self._height(row) for row in pair) for pair in self._pairs)
        self._heights = Even(len(self._pairs)) if short else Heights(heights)
        self._drawn: OrderedDict[int, list[Line]] = OrderedDict()

    def __len__(self) -> int:
        return self._heights.total

    def line(self, y: int) -> Line:
        index, offset = self._heights.locate(y)
        lines = self._drawn.get(index)
        if lines is None:
            lines = self._drawn[index] = self._draw(index)
            if len(self._drawn) > _CACHED:
                self._drawn.popitem(last=False)
        return lines[min(offset, len(lines) - 1)]

    def number(self, y: int) -> int:
        rows = [pair[1] or pair[0] for pair in self._pairs]
        return _number([row for row in rows if row], self._heights.locate(y)[0])

    def _height(self, row: Row | None) -> int:
        return height_of(row.text, self._room) if row else 1

    def _draw(self, index: int) -> list[Line]:
        styles = self._pen.theme_styles
        height = self._heights[index]
        left, right = (self._side(row, side, height) for side, row in enumerate(self._pairs[index]))
        rule = Segment("│", styles("rule"))
        return [
            Line([*one.segments, rule, *other.segments], lead=self._pen.digits + 3)
            for one, other in zip(left, right, strict=True)
        ]

    def _side(self, row: Row | None, side: int, height: int) -> list[Line]:
        pen = self._pen
        lines: list[Line] = []
        if row is not None:
            number = str((row.new if side else row.old) or "").rjust(pen.digits)
            code = code_of(row, pen.file, pen.theme_styles, gone=self._gone)
            lines = draw_row(row, number, code, self._room, pen.theme_styles, gone=self._gone)
        blank = Segment(
            " " * (pen.digits + 3 + self._room), pen.theme_styles("text", surface_of(row, gone=self._gone))
        )
        return [*lines, *[Line([blank])] * (height - len(lines))]


def paired(lines: Rows) -> list[Pair]:
    """Pair lines for display side by side: versions of each other in one pair, others in order."""
    rows = [*lines]
    pairs: list[Pair] = []
    place = 0
    while place < len(rows):
        if rows[place].kind == "same":
            pairs.append((rows[place], rows[place]))
            place += 1
            continue
        removed: list[Row] = []
        added: list[Row] = []
        while place < len(rows) and rows[place].kind == "removed":
            removed.append(rows[place])
            place += 1
        while place < len(rows) and rows[place].kind == "added":
            added.append(rows[place])
            place += 1
        pairs += _matched(removed, added)
    return pairs


def _matched(removed: Sequence[Row], added: Sequence[Row]) -> list[Pair]:
    pairs: list[Pair] = []
    left = right = 0
    while left < len(removed) or right < len(added):
        one = removed[left] if left < len(removed) else None
        other = added[right] if right < len(added) else None
        if one and other:
            twins = one.twin is not None and one.twin + 1 == other.new
            alone = one.twin is None and other.twin is None
            if not (twins or alone):
                # A line without a version on the other side comes first.
                one, other = (one, None) if one.twin is None else (None, other)
        pairs.append((one, other))
        left += one is not None
        right += other is not None
    return pairs


def _number(rows: Sequence[Row], index: int) -> int:
    """The line of row `index` in the file after the change; for a removed one the next line."""
    for row in rows[index : index + 1000]:
        if row.new:
            return row.new
    before = next((row.new for row in reversed(rows[:index]) if row.new), 0)
    return before + 1 if before else max(1, rows[index].old or 1)
