"""The sections of a diff from top to bottom: heads of hunks, rows, folds, and texts about them.

Sections know their height without drawing anything. Each row is drawn when it is rendered, after one cell
that belongs to the view.
"""

from collections.abc import Sequence
from typing import Protocol

from rich.segment import Segment

from cogency_tui.tui.kit.diff_rows import Even, Pen, RowBlock, draw_row, heights_of, surface_of
from cogency_tui.tui.kit.lazy_text_layout import MOST_LAID, Heights, Recent
from cogency_tui.tui.kit.lines import Line
from cogency_tui.workspace.diff_rows import Row, Rows

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


class Unified(RowBlock):
    """Lines one below the other."""

    fold = None

    def __init__(self, key: Key, hunk: int, rows: Rows, pen: Pen, *, gone: bool = False) -> None:
        super().__init__(rows, pen, gone=gone)
        self.key = key
        self.hunk = hunk

    def number(self, y: int) -> int:
        return _number([*self.rows], self.heights.locate(y)[0])


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
        left, right = (
            heights_of([row.text if (row := pair[side]) else "" for pair in self._pairs], self._room)
            for side in (0, 1)
        )
        heights = (max(left[index], right[index]) for index in range(len(self._pairs)))
        even = isinstance(left, Even) and isinstance(right, Even)
        self._heights = Even(len(self._pairs)) if even else Heights(heights)
        self._drawn: Recent[tuple[Sequence[Line], Sequence[Line]]] = Recent(MOST_LAID)
        self._lines: Recent[Line] = Recent(MOST_LAID)

    def __len__(self) -> int:
        return self._heights.total

    def line(self, y: int) -> Line:
        return self._lines.get(y) or self._lines.put(y, self._draw(*self._heights.locate(y)))

    def number(self, y: int) -> int:
        rows = [pair[1] or pair[0] for pair in self._pairs]
        return _number([row for row in rows if row], self._heights.locate(y)[0])

    def _draw(self, index: int, offset: int) -> Line:
        sides = self._drawn.get(index)
        if sides is None:
            left, right = self._pairs[index]
            sides = self._drawn.put(index, (self._side(left, 0), self._side(right, 1)))
        one, other = (
            lines[offset].segments if offset < len(lines) else [self._blank(row)]
            for lines, row in zip(sides, self._pairs[index], strict=True)
        )
        rule = Segment("│", self._pen.theme_styles("rule"))
        return Line([*one, rule, *other], lead=self._pen.digits + 3)

    def _side(self, row: Row | None, side: int) -> Sequence[Line]:
        if row is None:
            return ()
        number = str((row.new if side else row.old) or "").rjust(self._pen.digits)
        return draw_row(row, number, self._pen, self._room, gone=self._gone)

    def _blank(self, row: Row | None) -> Segment:
        on = surface_of(row, self._pen.on, gone=self._gone)
        return Segment(" " * (self._pen.digits + 3 + self._room), self._pen.theme_styles("text", on))


def paired(lines: Rows) -> list[Pair]:
    """Pair lines for display side by side: versions of each other in one pair, others in order."""
    rows = [*lines]
    pairs: list[Pair] = []
    place = 0
    while place < len(rows):
        if rows[place].kind not in ("removed", "added"):
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
