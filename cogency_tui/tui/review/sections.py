"""What a diff consists of from top to bottom: heads of hunks, lines, folds, and texts about them.

Sections know how high they are without drawing anything. Each line is drawn when it is looked at, after one
cell that is the view's.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rich.segment import Segment

from cogency_tui.agent.review.model import Row
from cogency_tui.tui.drawing.heights import Heights
from cogency_tui.tui.drawing.lines import Line
from cogency_tui.tui.review.code_lines import all_short, code_of, draw_row, height_of, surface_of
from cogency_tui.tui.review.lines_of_diff import Rows
from cogency_tui.tui.review.open_file import OpenFile
from cogency_tui.tui.theming import Inks

_KEPT = 256

Key = tuple[str, str]
"""What a section is, and which: stays when the diff is laid out again."""


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
    """What lines are drawn with, `width` cells wide; `digits` are those of the largest number."""

    file: OpenFile
    width: int
    inks: Inks
    digits: int


class Even:
    """Heights of lines that take one line each."""

    def __init__(self, count: int) -> None:
        self.total = count

    def __getitem__(self, index: int) -> int:
        return 1

    def locate(self, y: int) -> tuple[int, int]:
        """The line of code that line `y` is, and no line within it."""
        return y, 0


class Texts:
    """Lines that are all there; `number` is the line of the file that they are about."""

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
    """Stands for lines that are not shown."""

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
            if len(self._drawn) > _KEPT:
                self._drawn.popitem(last=False)
        return lines[min(offset, len(lines) - 1)]

    def number(self, y: int) -> int:
        return _number([*self._rows], self._heights.locate(y)[0])

    def _draw(self, row: Row) -> list[Line]:
        pen = self._pen
        old, new = (str(number or "").rjust(pen.digits) for number in (row.old, row.new))
        code = code_of(row, pen.file, pen.inks, gone=self._gone)
        return draw_row(row, f"{old} {new}", code, self._room, pen.inks, gone=self._gone)


def _heights(rows: Rows, room: int) -> Heights | Even:
    texts = rows.texts()
    return Even(len(texts)) if all_short(texts, room) else Heights(height_of(text, room) for text in texts)


Pair = tuple[Row | None, Row | None]


class SideBySide:
    """Lines as they were on the left and as they are on the right, those that belong together in one line."""

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
            if len(self._drawn) > _KEPT:
                self._drawn.popitem(last=False)
        return lines[min(offset, len(lines) - 1)]

    def number(self, y: int) -> int:
        rows = [pair[1] or pair[0] for pair in self._pairs]
        return _number([row for row in rows if row], self._heights.locate(y)[0])

    def _height(self, row: Row | None) -> int:
        return height_of(row.text, self._room) if row else 1

    def _draw(self, index: int) -> list[Line]:
        inks = self._pen.inks
        height = self._heights[index]
        left, right = (self._side(row, side, height) for side, row in enumerate(self._pairs[index]))
        rule = Segment("│", inks("rule"))
        return [
            Line([*one.segments, rule, *other.segments], lead=self._pen.digits + 3)
            for one, other in zip(left, right, strict=True)
        ]

    def _side(self, row: Row | None, side: int, height: int) -> list[Line]:
        pen = self._pen
        lines: list[Line] = []
        if row is not None:
            number = str((row.new if side else row.old) or "").rjust(pen.digits)
            code = code_of(row, pen.file, pen.inks, gone=self._gone)
            lines = draw_row(row, number, code, self._room, pen.inks, gone=self._gone)
        blank = Segment(
            " " * (pen.digits + 3 + self._room), pen.inks("text", surface_of(row, gone=self._gone))
        )
        return [*lines, *[Line([blank])] * (height - len(lines))]


def paired(lines: Rows) -> list[Pair]:
    """Lines side by side: versions of each other in one pair, others as they come."""
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
                # Whichever has no version on the other side comes first.
                one, other = (one, None) if one.twin is None else (None, other)
        pairs.append((one, other))
        left += one is not None
        right += other is not None
    return pairs


def _number(rows: Sequence[Row], index: int) -> int:
    """The line of the file after the change that row `index` is at; for one that was removed the next."""
    for row in rows[index : index + 1000]:
        if row.new:
            return row.new
    before = next((row.new for row in reversed(rows[:index]) if row.new), 0)
    return before + 1 if before else max(1, rows[index].old or 1)
