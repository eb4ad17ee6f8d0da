"""Frames as changes: of what a frame draws only the segments that differ from those shown are written.

The compositor draws every row of a widget that was refreshed: to turn one spinner it would send a pane.

Invariant: no character moves those after it. Terminals disagree about the width of some (emoji joined to one,
flags, variation selectors); their cells are cleared, and the cursor is placed behind them, so that a wrong
guess damages these cells only.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.strip import Strip

from cogency_tui.tui.kit.cell_text import cells
from cogency_tui.tui.kit.lines import width_of

_UNCERTAIN = re.compile("[\u200d\ufe0e\ufe0f\u20e3\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff]")
_RUNS = re.compile("((?:[^\x00-\x7f]|[\x00-\x7f](?=[\ufe0f\u20e3]))+)")
"""Characters outside ASCII, and those that a selector makes emoji."""


class Piece(NamedTuple):
    """A part of row `y` that begins in column `x`."""

    y: int
    x: int
    strip: Strip

    @property
    def end(self) -> int:
        return self.x + self.strip.cell_length


class ShownRows:
    """What the terminal shows, as far as it was drawn here."""

    def __init__(self) -> None:
        self._rows: dict[int, dict[int, Piece]] = {}
        """The pieces of each row, by the column that they begin in."""

    def forget(self) -> None:
        """Have everything drawn that comes next: the terminal shows something else."""
        self._rows.clear()

    def take(self, piece: Piece) -> Piece | None:
        """Note that `piece` is shown from now on; return the part of it that differs from what was."""
        if piece.x == piece.end:
            # It would overlap no other piece, and so never go.
            return None
        row = self._rows.setdefault(piece.y, {})
        before = row.get(piece.x)
        if before is None or before.end != piece.end:
            before = None
            self._rows[piece.y] = row = {
                x: each for x, each in row.items() if each.end <= piece.x or x >= piece.end
            }
        row[piece.x] = piece
        return piece if before is None else _difference(before, piece)


class Changes(CompositorUpdate):
    """The part of `update` that `shown` lacks when it is written. A new layout is written completely."""

    def __init__(self, update: LayoutUpdate | ChopsUpdate, shown: ShownRows) -> None:
        self._update = update
        self._shown = shown

    def render_segments(self, console: Console) -> str:
        update = self._update
        if isinstance(update, LayoutUpdate):
            self._shown.forget()
        pieces = _of_layout(update) if isinstance(update, LayoutUpdate) else _of_chops(update)
        changed = (self._shown.take(piece) for piece in pieces)
        return "".join(_placed(piece, console) for piece in changed if piece is not None)


def _of_layout(update: LayoutUpdate) -> Iterator[Piece]:
    for y, strips in enumerate(update.strips, update.region.y):
        x = update.region.x
        for strip in strips:
            yield Piece(y, x, strip)
            x += strip.cell_length


def _of_chops(update: ChopsUpdate) -> Iterator[Piece]:
    for y, left, right in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if strip is not None and x <= right and end > left:
                yield Piece(y, x, strip if end <= right else strip.crop(0, right - x))


def _difference(before: Piece, after: Piece) -> Piece | None:
    """The segments of `after` from the first that differs from `before` to the last; None without any."""
    old, new = [*before.strip], [*after.strip]
    first = _count_same(old, new)
    if first == len(new):
        return None
    most = min(len(old), len(new)) - first
    last = min(most, _count_same(reversed(old), reversed(new)))
    if not (first or last):
        return after
    middle = new[first : len(new) - last]
    return Piece(after.y, after.x + width_of(new[:first]), Strip(middle))


def _count_same(some: Iterable[Segment], others: Iterable[Segment]) -> int:
    """The number of segments at the beginning that look the same."""
    count = 0
    for one, other in zip(some, others, strict=False):
        if not _looks_same(one, other):
            break
        count += 1
    return count


def _looks_same(one: Segment, other: Segment) -> bool:
    if one.text != other.text:
        return False
    # Comparing styles takes much longer.
    return one.style is other.style or one.style == other.style or _look(one.style) == _look(other.style)


@lru_cache(1024)
def _look(style: Style | None) -> tuple[str, str | None]:
    """What a terminal shows of `style`, which also has data for the mouse."""
    return (Strip.render_ansi(style, ColorSystem.TRUECOLOR), style.link) if style else ("", None)


def _placed(piece: Piece, console: Console) -> str:
    """`piece` at its place, and whatever follows a character of uncertain width at its own."""
    go = f"\x1b[{piece.y + 1};{piece.x + 1}H"
    if not any(_UNCERTAIN.search(segment.text) for segment in piece.strip):
        return go + piece.strip.render(console)
    x, parts = piece.x, [go]
    for text, style, _control in piece.strip:
        for run in _RUNS.split(text):
            uncertain = _UNCERTAIN.search(run)
            drawn = Strip([Segment(run, style)]).render(console)
            if uncertain:
                blank = Strip([Segment(" " * cells(run), style)]).render(console)
                parts.append(f"{blank}\x1b[{piece.y + 1};{x + 1}H")
            x += cells(run)
            parts.append(f"{drawn}\x1b[{piece.y + 1};{x + 1}H" if uncertain else drawn)
    return "".join(parts)
