"""A conversation as one tall column of lines, drawn only where it is looked at.

Each unit's height is either known (it has been drawn at this width) or estimated from its length; the
sum over all units before a line is O(log n) either way. Drawn units are kept by a key of width and
theme, the most recently shown ones only; what is open is drawn again from where it was settled.
"""

from collections import OrderedDict
from collections.abc import Callable
from time import time
from typing import TYPE_CHECKING, Protocol

import msgspec

from cogency_tui.tui.calls import Call
from cogency_tui.tui.drawing.calls import draw_call
from cogency_tui.tui.drawing.cards import draw_problem, draw_said, draw_stopped, draw_thought
from cogency_tui.tui.drawing.heights import Heights
from cogency_tui.tui.drawing.lines import BLANK, Line
from cogency_tui.tui.theming import Inks
from cogency_tui.tui.transcript import Problem, Prose, Said, Transcript, Unit

if TYPE_CHECKING:
    from cogency_tui.tui.drawing.stream import MarkdownStream

_KEPT = 256


class Drawn(Protocol):
    """Lines that can be counted and looked up."""

    def __len__(self) -> int: ...

    def line(self, index: int) -> Line: ...


class _Fixed:
    """Lines that are all there."""

    def __init__(self, lines: list[Line]) -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    def line(self, index: int) -> Line:
        return self._lines[index]


class _Answer(msgspec.Struct):
    """The stream that draws an answer, and how much of its text it has been fed."""

    stream: "MarkdownStream"
    fed: int = 0
    closed: bool = False


class Document:
    """The lines of a transcript's units, `width` cells wide."""

    def __init__(
        self, transcript: Transcript, width: int, inks: Inks, clock: Callable[[], float] = time
    ) -> None:
        self.transcript = transcript
        self.width = width
        self.inks = inks
        self.frame = 0
        self.expanded: set[int] = set()
        self._clock = clock
        self._drawn: OrderedDict[int, Drawn] = OrderedDict()
        self._answers: dict[int, _Answer] = {}
        self._exact: set[int] = set()
        self._heights = Heights(self._estimate(index) for index in range(len(transcript.units)))

    @property
    def height(self) -> int:
        return self._heights.total

    def reflow(self, width: int, inks: Inks) -> None:
        """Forget what was drawn for another width or theme."""
        if (width, inks) == (self.width, self.inks):
            return
        if width != self.width:
            self._exact.clear()
            self.width = width
            units = len(self.transcript.units)
            self._heights = Heights(self._estimate(index) for index in range(units))
        self.inks = inks
        self._drawn.clear()
        self._answers.clear()

    def touch(self, index: int) -> None:
        """Unit `index` is new or has changed; it is drawn when it is next looked at."""
        while len(self._heights) <= index:
            self._heights.append(self._estimate(len(self._heights)))
        self._drawn.pop(index, None)
        self._exact.discard(index)

    def top(self, index: int) -> int:
        """The line that unit `index` begins at."""
        return self._heights.before(index)

    def locate(self, y: int) -> tuple[int, int]:
        """The unit that line `y` belongs to, and the line within it."""
        return self._heights.locate(y)

    def measure(self, index: int) -> int:
        """Draw unit `index` if it is not; by how many lines that corrected its height."""
        if index in self._exact and index in self._drawn:
            return 0
        height = len(self._draw(index)) + self._gap(index)
        self._exact.add(index)
        return self._heights.set(index, height)

    def line(self, index: int, offset: int) -> Line:
        """Line `offset` of unit `index`; the first is blank where a gap sets it off."""
        offset -= self._gap(index)
        drawn = self._draw(index)
        return drawn.line(offset) if 0 <= offset < len(drawn) else BLANK

    def is_expandable(self, index: int) -> bool:
        unit = self.transcript.units[index]
        return isinstance(unit, Call) or (isinstance(unit, Prose) and unit.thinking and not unit.open)

    def _gap(self, index: int) -> int:
        """Blank lines above a unit: none between the cards of calls."""
        units = self.transcript.units
        if index == 0 or (isinstance(units[index], Call) and isinstance(units[index - 1], Call)):
            return 0
        return 1

    def _draw(self, index: int) -> Drawn:
        drawn = self._drawn.get(index)
        if drawn is None:
            drawn = self._drawn[index] = self._draw_unit(index, self.transcript.units[index])
            while len(self._drawn) > _KEPT:
                evicted, _lines = self._drawn.popitem(last=False)
                self._answers.pop(evicted, None)
        else:
            self._drawn.move_to_end(index)
        return drawn

    def _draw_unit(self, index: int, unit: Unit) -> Drawn:
        expanded, now = index in self.expanded, self._clock()
        match unit:
            case Said():
                return _Fixed(draw_said(unit, self.width, self.inks))
            case Prose(thinking=True):
                return _Fixed(
                    draw_thought(unit, self.width, self.inks, expanded=expanded, now=now, frame=self.frame)
                )
            case Prose():
                return self._draw_answer(index, unit)
            case Call():
                return _Fixed(
                    draw_call(unit, self.width, self.inks, expanded=expanded, now=now, frame=self.frame)
                )
            case Problem():
                return _Fixed(draw_problem(unit, self.width, self.inks))
            case _:
                return _Fixed(draw_stopped(self.inks))

    def _draw_answer(self, index: int, unit: Prose) -> Drawn:
        answer = self._answers.get(index)
        if answer is None:
            from cogency_tui.tui.drawing.stream import MarkdownStream

            answer = self._answers[index] = _Answer(MarkdownStream(self.width, self.inks))
        answer.stream.feed(unit.text[answer.fed :])
        answer.fed = len(unit.text)
        if not unit.open and not answer.closed:
            answer.closed = True
            answer.stream.close()
        if not unit.interrupted:
            return answer.stream
        lines = [answer.stream.line(index) for index in range(len(answer.stream))]
        return _Fixed([*lines, BLANK, *draw_stopped(self.inks)])

    def _estimate(self, index: int) -> int:
        """About how many lines a unit takes, without drawing it."""
        match self.transcript.units[index]:
            case Said(text=text) | Prose(text=text, thinking=False):
                return 1 + text.count("\n") + len(text) // max(20, self.width)
            case _:
                return 1 + self._gap(index)
