"""The units of a transcript as lines: each consists of blocks, which are drawn on request."""

from collections.abc import Sequence
from typing import Protocol

from rich.segment import Segment

from cogency_tui.tui.kit.lazy_text_layout import MOST_LAID, Fixed, Recent, Stack
from cogency_tui.tui.kit.lazy_text_layout import LayoutBlock as Rows
from cogency_tui.tui.kit.lines import BLANK, Line
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.call_detail import CallLayout
from cogency_tui.tui.transcript.call_lines import draw_call
from cogency_tui.tui.transcript.call_unit import CallUnit
from cogency_tui.tui.transcript.messages_and_notices import (
    draw_notice,
    draw_problem,
    draw_stopped,
    draw_thought,
    draw_user_message,
)
from cogency_tui.tui.transcript.units import Notice, Problem, Prose, Unit, UserMessage


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


class OneBlock:
    """A unit that is one block."""

    count = 1

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def laid(self) -> int:
        return min(len(self._rows), MOST_LAID)

    def source(self, block: int) -> tuple[int, int] | None:
        """None: the block is the unit."""
        del block
        return None

    def top(self, block: int) -> int:
        return len(self._rows) if block else 0

    def height(self, block: int) -> int:
        del block
        return len(self._rows)

    def locate(self, index: int) -> tuple[int, int]:
        return 0, index

    def line(self, block: int, offset: int) -> Line:
        return self._rows.line(offset) if not block and 0 <= offset < len(self._rows) else BLANK


class _Indented:
    """Rows indented by two cells."""

    def __init__(self, rows: Rows, styles: ThemeStyles) -> None:
        self._rows = rows
        self._indent = Segment("  ", styles())
        self._lines: Recent[Line] = Recent(MOST_LAID)

    def __len__(self) -> int:
        return len(self._rows)

    def line(self, y: int) -> Line:
        line = self._lines.get(y)
        if line is None:
            line = self._lines.put(y, self._rows.line(y).indented(self._indent))
        return line


def draw_unit(
    unit: Unit, width: int, styles: ThemeStyles, *, expanded: bool, now: float, frame: int
) -> OneBlock:
    """Draw any unit but an answer; `now` in Unix seconds, `frame` counts animation frames."""
    match unit:
        case UserMessage():
            return OneBlock(Fixed(draw_user_message(unit, width, styles)))
        case Prose():
            return OneBlock(Fixed(draw_thought(unit, width, styles, expanded=expanded, now=now, frame=frame)))
        case CallUnit():
            card = Fixed(draw_call(unit, width, styles, now=now, frame=frame))
            detail: Sequence[Rows] = CallLayout(unit, width - 2, styles, now).blocks if expanded else ()
            return OneBlock(Stack([card, *(_Indented(rows, styles) for rows in detail)]))
        case Problem():
            return OneBlock(Fixed(draw_problem(unit, width, styles)))
        case Notice():
            return OneBlock(Fixed(draw_notice(unit, width, styles, expanded=expanded)))
        case _:
            return OneBlock(Fixed(draw_stopped(styles)))
