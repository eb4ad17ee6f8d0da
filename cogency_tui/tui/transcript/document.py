"""A conversation as one tall column of lines, drawn only where it is visible.

A place in it is a line of a block of a unit. Each height is either known (drawn at this width) or estimated;
the sum over all units before a line is O(log n) either way. Drawn units are cached for one width and theme,
and only the most recent ones, enough for a few screens. Units that are folded away (`Folding`) have no lines.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from time import time
from typing import NamedTuple, TypeGuard

from cogency_tui.protocol.events import PlannedStep
from cogency_tui.tui.kit.lazy_text_layout import Heights
from cogency_tui.tui.kit.lines import BLANK, Line
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.call_unit import CallUnit
from cogency_tui.tui.transcript.folding import Folding
from cogency_tui.tui.transcript.messages_and_notices import FOLDED_ROWS, is_long, is_shortened
from cogency_tui.tui.transcript.pen import TAIL, Pen
from cogency_tui.tui.transcript.unit_lines import (
    FOLDED_AWAY,
    DrawnUnit,
    draw_plan_card,
    draw_run,
    draw_unit,
    is_plan_shortened,
)
from cogency_tui.tui.transcript.units import Notice, Prose, Transcript, Unit, UserMessage, is_own

_UNITS, _LINES = 256, 1024
"""The most units, and lines of them, in the cache."""

_OFTEN = 16
"""Drawings between two checks of the cache's size: a check takes longer than a drawing."""

_CLOSE: frozenset[type] = frozenset({CallUnit, Notice})


class LinePosition(NamedTuple):
    """A line. The blank line between a unit and the one above is line -1 of the lower one."""

    unit: int
    block: int
    line: int


class Anchor(NamedTuple):
    """A character that stays the same at any width: the `letter` of a block's text as it reads."""

    unit: int
    block: int
    letter: int


class Document:
    """The lines of a transcript's units, `width` cells wide. `review_key` is the key that opens the review;
    where it is None, nothing offers that. `tail` lines are shown of the output of a running command."""

    def __init__(
        self,
        transcript: Transcript,
        width: int,
        styles: ThemeStyles,
        clock: Callable[[], float] = time,
        review_key: str | None = None,
        tail: int = TAIL,
    ) -> None:
        self.transcript = transcript
        self.width = width
        self.theme_styles = styles
        self.frame = 0
        self.expanded = {index for index, unit in enumerate(transcript.units) if is_own(unit)}
        self._clock = clock
        self._review_key = review_key
        self.tail = tail
        self._folding = Folding(transcript.units, self.expanded)
        self._drawn: OrderedDict[int, DrawnUnit] = OrderedDict()
        self._grown: set[int] = set()
        """The answers that have changed since they were drawn."""
        self._drawings = 0
        self._heights = Heights(self._estimate(index) for index in range(len(transcript.units)))

    @property
    def height(self) -> int:
        return self._heights.total

    def reflow(self, width: int, styles: ThemeStyles, tail: int = TAIL) -> None:
        """Drop what was drawn for another width, theme or tail."""
        if (width, styles, tail) == (self.width, self.theme_styles, self.tail):
            return
        self.tail = tail
        if width != self.width:
            self.width = width
            units = len(self.transcript.units)
            self._heights = Heights(self._estimate(index) for index in range(units))
        self.theme_styles = styles
        self._drawn.clear()

    def touch(self, index: int) -> None:
        """Mark unit `index` as new or changed; it is drawn when it is next visible."""
        if index >= len(self._heights):
            self._extend()
        if _is_answer(self.transcript.units[index]):
            self._grown.add(index)
            return
        self._drawn.pop(index, None)
        self._refold(self._folding.update(index))
        self._drawn.pop(self.shown_by(index), None)
        for card in self.cards_beside(index):
            self._drawn.pop(card, None)

    def cards_beside(self, index: int) -> Sequence[int]:
        """The checklists that unit `index` may have changed."""
        return self._folding.plans.beside(index)

    def cut(self, count: int) -> None:
        """Remove all but the first `count` units."""
        if len(self._heights) <= count:
            return
        while len(self._heights) > count:
            last = len(self._heights) - 1
            self._heights.pop()
            self._drawn.pop(last, None)
            self.expanded.discard(last)
        self._refold(self._folding.cut(count))
        if (card := self._folding.plans.last) is not None:
            self._drawn.pop(card, None)

    def toggle(self, index: int, block: int = 0) -> None:
        """Open or close unit `index`, or the run that begins with it if `block` shows that."""
        if self._folding.run(index) and block < self.own_block(index):
            self._refold(self._folding.toggle(index))
        else:
            self.expanded ^= {index}
            self.touch(index)

    def is_open(self, index: int, block: int = 0) -> bool:
        """Return whether unit `index` is open, or the run that begins with it if `block` shows that."""
        if self._folding.run(index) and block < self.own_block(index):
            return self._folding.is_open(index)
        return index in self.expanded

    def end(self, index: int, block: int = 0) -> int:
        """The last line, as far as known, of unit `index`, or of the run that its `block` shows."""
        run = self._folding.run(index) if block < self.own_block(index) else ()
        return self.top((run[-1] if run else index) + 1) - 1

    def unfold(self, index: int) -> None:
        """Give unit `index` lines if it has none."""
        self._refold(self._folding.open_around(index))
        if self._folding.is_gone(index):
            self.expanded.add(index)
            self.touch(index)

    def shown_by(self, index: int) -> int:
        """The unit whose lines represent unit `index`."""
        return self._folding.shown_by(index)

    def own_block(self, index: int) -> int:
        """The block that unit `index` itself begins with: after the line of a run that it opens."""
        return int(bool(self._folding.run(index)))

    def shown_in(self, index: int, block: int) -> Sequence[int]:
        """The units that a block shows: those of a run for its line, otherwise the block's own."""
        if self._folding.plans.card(index) == index:
            return (self._folding.plans.shown_in(index),)
        run = self._folding.run(index)
        return run if run and block < self.own_block(index) else (index,)

    def top(self, index: int) -> int:
        """The line that unit `index` begins at."""
        return self._heights.before(index)

    def place(self, y: int) -> LinePosition:
        """The place of line `y`, as far as known."""
        unit, offset = self._heights.locate(y)
        offset -= self._gap(unit)
        if offset < 0:
            return LinePosition(unit, 0, -1)
        block, line = self._drawn_unit(unit).locate(offset)
        return LinePosition(unit, block, line)

    def number(self, place: LinePosition) -> int:
        """The number of the line at `place`, as far as known."""
        unit = place.unit
        return self.top(unit) + self._gap(unit) + self._drawn_unit(unit).top(place.block) + place.line

    def line(self, place: LinePosition) -> Line:
        """The line at `place`."""
        return BLANK if place.line < 0 else self._drawn_unit(place.unit).line(place.block, place.line)

    def measure(self, start: LinePosition, lines: int) -> None:
        """Draw the `lines` lines from `start` on (upwards if negative), so that their heights are exact."""
        step = 1 if lines > 0 else -1
        left = abs(lines) + (start.line if step > 0 else 0)
        unit, block = start.unit, start.block
        while 0 <= (unit := self._folding.skip(unit, step)) < len(self.transcript.units):
            drawn = self._drawn_unit(unit)
            block = drawn.count - 1 if block < 0 and step < 0 else block
            while 0 <= block < drawn.count and left > 0:
                left -= drawn.height(block)
                block += step
            self._heights.set(unit, len(drawn) + self._gap(unit))
            if left <= 0:
                return
            unit, block = unit + step, 0 if step > 0 else -1

    def places(self, first: LinePosition, last: LinePosition) -> Iterator[tuple[LinePosition, Line]]:
        """The lines from `first` to `last`."""
        place = first
        while place <= last:
            unit, block, line = place
            drawn = self._drawn_unit(unit)
            height = drawn.height(block) if block < drawn.count else 0
            if line < height:
                yield place, self.line(place)
                place = LinePosition(unit, block, line + 1)
            elif block + 1 < drawn.count:
                place = LinePosition(unit, block + 1, 0)
            elif unit + 1 < len(self.transcript.units):
                place = LinePosition(unit + 1, 0, -self._gap(unit + 1))
            else:
                return

    def blocks(self, unit: int) -> int:
        """The number of blocks of unit `unit`."""
        return self._drawn_unit(unit).count

    def block_height(self, unit: int, block: int) -> int:
        """The number of lines of a block."""
        return self._drawn_unit(unit).height(block)

    def lines_of(self, unit: int, block: int) -> list[Line]:
        """All lines of a block."""
        return [self.line(LinePosition(unit, block, line)) for line in range(self.block_height(unit, block))]

    def first_line(self, unit: int, block: int) -> LinePosition:
        """The first line of a block that is not blank."""
        blank = (
            block > 0
            and self._drawn_unit(unit).height(block) > 1
            and not self.line(LinePosition(unit, block, 0)).segments
        )
        return LinePosition(unit, block, int(blank))

    def source(self, unit: int, block: int) -> tuple[int, int] | None:
        """The position of a block's source in its unit's text; None if the block is the unit."""
        return self._drawn_unit(unit).source(block)

    def anchor(self, place: LinePosition, character: int = 0) -> Anchor:
        """The anchor of `character` in the line at `place`; letter -1 is the line above a unit."""
        if place.line < 0:
            return Anchor(place.unit, place.block, -1)
        before = sum(_letters(self.line(place._replace(line=index))) for index in range(place.line))
        line = self.line(place)
        within = max(0, character - line.lead)
        return Anchor(place.unit, place.block, before + (len(line.joint) + within if within else 0))

    def find(self, anchor: Anchor) -> tuple[LinePosition, int]:
        """The present place of an anchor: its line, and the character in it."""
        unit, block, letter = anchor
        if letter < 0:
            return LinePosition(unit, block, -self._gap(unit)), 0
        height = self._drawn_unit(unit).height(block)
        for index in range(height):
            place = LinePosition(unit, block, index)
            line = self.line(place)
            size = _letters(line)
            if letter < size or index == height - 1:
                return place, min(len(line.text), max(0, letter - len(line.joint)) + line.lead)
            letter -= size
        return LinePosition(unit, block, 0), 0

    def is_expandable(self, index: int) -> bool:
        unit = self.transcript.units[index]
        if isinstance(unit, Notice):
            return is_shortened(unit, self.width, self.theme_styles)
        if isinstance(unit, UserMessage):
            return is_long(unit)
        if (plan := self._plan_at(index)) is not None:
            return self._is_folded(index) or is_plan_shortened(plan, self._pen)
        return isinstance(unit, CallUnit) or (isinstance(unit, Prose) and unit.thinking and not unit.open)

    def _extend(self) -> None:
        """Add the units that are new."""
        units, first = self.transcript.units, len(self._heights)
        self.expanded.update(index for index in range(first, len(units)) if is_own(units[index]))
        changed = self._folding.extend()
        for index in range(first, len(units)):
            self._heights.append(self._estimate(index))
        self._refold(changed)

    def _refold(self, changed: range) -> None:
        """Forget the lines of units that now take others, and correct the gap below them."""
        if not changed:
            return
        for index in changed:
            if not _is_answer(self.transcript.units[index]):
                self._drawn.pop(index, None)
                self._heights.set(index, self._estimate(index))
        if (below := changed.stop) < len(self._heights) and below in self._drawn:
            self._heights.set(below, len(self._drawn[below]) + self._gap(below))

    def _gap(self, index: int) -> int:
        """Blank lines above a unit: none between the cards of calls, or between notices."""
        above = None if self._folding.is_gone(index) else self._folding.before(index)
        if above is None:
            return 0
        kind = type(self.transcript.units[index])
        return int(kind not in _CLOSE or type(self.transcript.units[above]) is not kind)

    def _drawn_unit(self, index: int) -> DrawnUnit:
        drawn = self._drawn.get(index)
        if drawn is None and self._folding.is_gone(index):
            return FOLDED_AWAY
        if drawn is None or index in self._grown:
            self._grown.discard(index)
            drawn = self._drawn[index] = self._draw(index, drawn)
            self._drawn.move_to_end(index)
            self._heights.set(index, len(drawn) + self._gap(index))
            self._drawings += 1
            if not self._drawings % _OFTEN:
                self._forget_oldest()
        else:
            self._drawn.move_to_end(index)
        return drawn

    def _forget_oldest(self) -> None:
        laid = sum(drawn.laid for drawn in self._drawn.values())
        while len(self._drawn) > 1 and (len(self._drawn) > _UNITS or laid > _LINES):
            laid -= self._drawn.popitem(last=False)[1].laid

    def _draw(self, index: int, drawn: DrawnUnit | None) -> DrawnUnit:
        unit, folding = self.transcript.units[index], self._folding
        if _is_answer(unit):
            return self._draw_answer(unit, drawn)
        pen, expanded = self._pen, index in self.expanded
        if (plan := self._plan_at(index)) is not None:
            return draw_plan_card(plan, pen, folded=self._is_folded(index), expanded=expanded)
        if not (run := folding.run(index)):
            return draw_unit(unit, pen, expanded=expanded, within=folding.is_within(index))
        calls = [self.transcript.call(each) for each in run]
        return draw_run(calls, pen, opened=folding.is_open(index), expanded=expanded)

    @property
    def _pen(self) -> Pen:
        return Pen(self.width, self.theme_styles, self._clock(), self.frame, self._review_key, self.tail)

    def _is_folded(self, index: int) -> bool:
        """Return whether a checklist is one line, since another one follows."""
        plans = self._folding.plans
        return plans.card(index) == index and not plans.is_last(index)

    def _plan_at(self, index: int) -> Sequence[PlannedStep] | None:
        """The plan that unit `index` shows; None if it shows none."""
        if self._folding.plans.card(index) == index:
            return self._folding.plans.plan(index)
        unit = self.transcript.units[index]
        return unit.plan if isinstance(unit, CallUnit) else None

    def _draw_answer(self, unit: Prose, drawn: DrawnUnit | None) -> DrawnUnit:
        from cogency_tui.tui.kit.markdown_stream import MarkdownStream

        stream = drawn if isinstance(drawn, MarkdownStream) else MarkdownStream(self.width, self.theme_styles)
        stream.show(unit.text, closed=not unit.open)
        return stream

    def _estimate(self, index: int) -> int:
        """Estimate the number of lines of a unit, without drawing it."""
        if self._folding.is_gone(index):
            return 0
        match self.transcript.units[index]:
            case UserMessage() as message if index not in self.expanded and is_long(message):
                return FOLDED_ROWS
            case UserMessage(text=text) | Prose(text=text, thinking=False):
                return 1 + text.count("\n") + len(text) // max(20, self.width)
            case _:
                return 1 + self._gap(index)


async def prepare() -> None:
    """Load the module that draws answers in a thread: it takes longer than a frame."""
    await asyncio.to_thread(import_module, "cogency_tui.tui.kit.markdown_stream")


def _is_answer(unit: Unit) -> TypeGuard[Prose]:
    return isinstance(unit, Prose) and not unit.thinking


def _letters(line: Line) -> int:
    """The number of characters that a line adds to the text as it reads."""
    return len(line.joint) + max(0, len(line.text.rstrip()) - line.lead)
