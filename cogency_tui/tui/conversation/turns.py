"""The turns of a conversation as rows: the message that begins each, and what came of it."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from rich.segment import Segment

from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.number_format import when
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.messages_and_notices import describe_changes, describe_seconds
from cogency_tui.tui.transcript.units import Transcript, TurnEnd, Unit, UserMessage

_SHORTEST = 24
"""Cells of the text, below which the figures beside it give way."""


class Turn(NamedTuple):
    """One turn: the `unit` of its message, sent at a Unix time, and its duration and changes, worded as at
    its end in the conversation; a running turn has neither yet."""

    unit: int
    text: str
    sent: float
    seconds: str
    changes: str


def turns_of(transcript: Transcript) -> list[Turn]:
    """The turns of a transcript, the oldest first."""
    units = transcript.units
    starts = [index for index, unit in enumerate(units) if isinstance(unit, UserMessage)]
    return [_turn(units, start, end) for start, end in pairwise([*starts, len(units)])]


def turn_at(turns: Sequence[Turn], unit: int) -> Turn | None:
    """The turn that unit `unit` belongs to."""
    return next((turn for turn in reversed(turns) if turn.unit <= unit), turns[0] if turns else None)


class Columns(NamedTuple):
    """The cells of the columns of a list of turns."""

    clock: int
    changes: int
    seconds: int


def columns_of(turns: Iterable[Turn], now: float) -> Columns:
    """The columns that these turns need at a Unix time."""
    texts = [(when(turn.sent, now), turn.changes, turn.seconds) for turn in turns]
    return Columns(*(max(map(cells, column)) for column in zip(*texts, strict=True)))


def draw_turn(turn: Turn, width: int, styles: ThemeStyles, on: str, *, now: float, columns: Columns) -> Line:
    """Draw its time and its text; on the right its changes and its duration, where there is room."""
    figures = [f"  {turn.changes.rjust(columns.changes)}", f"  {turn.seconds.rjust(columns.seconds)}"]
    room = width - columns.clock - 2
    while figures and room - sum(map(cells, figures)) < _SHORTEST:
        figures.pop()
    right = "".join(figures)
    text = fit(one_line(turn.text), room - cells(right))
    return Line(
        [
            Segment(f"{when(turn.sent, now).rjust(columns.clock)}  ", styles("dim", on)),
            Segment(text + " " * max(0, room - cells(text) - cells(right)), styles("text", on)),
            Segment(right, styles("dim", on)),
        ]
    )


def _turn(units: Sequence[Unit], start: int, end: int) -> Turn:
    message = units[start]
    assert isinstance(message, UserMessage)
    ends = (unit for unit in units[start:end] if isinstance(unit, TurnEnd))
    figures = next(ends, TurnEnd())
    return Turn(start, message.text, message.sent, describe_seconds(figures), describe_changes(figures))
