"""The units of a transcript as lines: each consists of blocks, which are drawn on request."""

from collections.abc import Sequence
from typing import Protocol

from rich.segment import Segment

from cogency_tui.protocol.events import PlannedStep
from cogency_tui.tui.kit.lazy_text_layout import MOST_LAID, Fixed, Recent, Stack
from cogency_tui.tui.kit.lazy_text_layout import LayoutBlock as Rows
from cogency_tui.tui.kit.lines import BLANK, Line
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.call_detail import CallLayout
from cogency_tui.tui.transcript.call_lines import draw_call, run_row
from cogency_tui.tui.transcript.call_unit import CallUnit
from cogency_tui.tui.transcript.messages_and_notices import (
    draw_notice,
    draw_pending_message,
    draw_problem,
    draw_summarized,
    draw_thought,
    draw_turn_end,
    draw_user_message,
)
from cogency_tui.tui.transcript.pen import Pen
from cogency_tui.tui.transcript.units import (
    Notice,
    PendingMessage,
    Problem,
    Prose,
    Summarized,
    TurnEnd,
    Unit,
    UserMessage,
)


class DrawnUnit(Protocol):
    """A unit's lines by block. `len` is an estimate; `height` is exact for its block."""

    def __len__(self) -> int: ...

    @property
    def laid(self) -> int:
        """The approximate number of cached lines."""
        ...

    @property
    def count(self) -> int: ...

    def source(self, block: int) -> tuple[int, int] | None: ...

    def top(self, block: int) -> int: ...

    def height(self, block: int) -> int: ...

    def locate(self, index: int) -> tuple[int, int]: ...

    def line(self, block: int, offset: int) -> Line: ...


class Blocks:
    """A unit that consists of these blocks, one below the other."""

    def __init__(self, *blocks: Rows) -> None:
        self._blocks = blocks

    def __len__(self) -> int:
        return sum(map(len, self._blocks))

    @property
    def laid(self) -> int:
        return min(len(self), MOST_LAID)

    @property
    def count(self) -> int:
        return len(self._blocks)

    def source(self, block: int) -> tuple[int, int] | None:
        """None: the block is the unit."""
        del block
        return None

    def top(self, block: int) -> int:
        return sum(map(len, self._blocks[:block]))

    def height(self, block: int) -> int:
        return len(self._blocks[block]) if 0 <= block < len(self._blocks) else 0

    def locate(self, index: int) -> tuple[int, int]:
        for block, rows in enumerate(self._blocks[:-1]):
            if index < len(rows):
                return block, index
            index -= len(rows)
        return max(0, len(self._blocks) - 1), index

    def line(self, block: int, offset: int) -> Line:
        return self._blocks[block].line(offset) if 0 <= offset < self.height(block) else BLANK


FOLDED_AWAY = Blocks()
"""A unit without lines."""


class _Indented:
    """Rows indented by some cells."""

    def __init__(self, rows: Rows, indent: int, styles: ThemeStyles) -> None:
        self._rows = rows
        self._indent = Segment(" " * indent, styles())
        self._lines: Recent[Line] = Recent(MOST_LAID)

    def __len__(self) -> int:
        return len(self._rows)

    def line(self, y: int) -> Line:
        line = self._lines.get(y)
        if line is None:
            line = self._lines.put(y, self._rows.line(y).indented(self._indent))
        return line


INDENT = 2
"""Cells before a call; twice as many before a call of an open run."""


def draw_unit(unit: Unit, pen: Pen, *, expanded: bool, within: bool = False) -> Blocks:
    """Draw any unit but an answer; `within` if it is a call of an open run."""
    match unit:
        case UserMessage():
            return Blocks(Fixed(draw_user_message(unit, pen, expanded=expanded)))
        case PendingMessage():
            return Blocks(Fixed(draw_pending_message(unit, pen)))
        case Prose():
            return Blocks(Fixed(draw_thought(unit, pen, expanded=expanded)))
        case CallUnit():
            return Blocks(_draw_call(unit, pen, 2 * INDENT if within else INDENT, expanded=expanded))
        case Problem():
            return Blocks(Fixed(draw_problem(unit, pen.width, pen.styles)))
        case Notice():
            return Blocks(Fixed(draw_notice(unit, pen.width, pen.styles, expanded=expanded)))
        case Summarized():
            return Blocks(Fixed([draw_summarized(unit, pen)]))
        case TurnEnd():
            return Blocks(Fixed(draw_turn_end(unit, pen)))


def draw_run(calls: Sequence[CallUnit], pen: Pen, *, opened: bool, expanded: bool) -> Blocks:
    """Draw the line of a run, and below it, if the run is `opened`, the first of its `calls`."""
    line = _Indented(Fixed([run_row(calls, _narrowed(pen, INDENT), opened=opened)]), INDENT, pen.styles)
    return Blocks(line, _draw_call(calls[0], pen, 2 * INDENT, expanded=expanded)) if opened else Blocks(line)


def draw_plan_card(plan: Sequence[PlannedStep], pen: Pen, *, folded: bool, expanded: bool) -> Blocks:
    """Draw a checklist: a `folded` one is one line, unless it is `expanded`."""
    # Many conversations have no plan.
    from cogency_tui.tui.transcript.plan_lines import draw_plan

    within = _narrowed(pen, INDENT)
    lines = draw_plan(plan, within, folded=folded and not expanded, expanded=expanded)
    return Blocks(_Indented(Fixed(lines), INDENT, pen.styles))


def is_plan_shortened(plan: Sequence[PlannedStep], pen: Pen) -> bool:
    """Return whether an expanded checklist shows more than one that is not folded."""
    from cogency_tui.tui.transcript.plan_lines import is_shortened

    return is_shortened(plan, _narrowed(pen, INDENT + 2))


def _draw_call(call: CallUnit, pen: Pen, indent: int, *, expanded: bool) -> Rows:
    within = _narrowed(pen, indent)
    card = draw_call(call, within, expanded=expanded)
    detail: Sequence[Rows] = ()
    if expanded:
        row = card[0].text
        blocks = CallLayout(call, within.width - INDENT, pen.styles, pen.now, row=row).blocks
        detail = [_Indented(rows, INDENT, pen.styles) for rows in blocks]
    return _Indented(Stack([Fixed(card), *detail]), indent, pen.styles)


def _narrowed(pen: Pen, cells: int) -> Pen:
    return pen._replace(width=max(8, pen.width - cells))
