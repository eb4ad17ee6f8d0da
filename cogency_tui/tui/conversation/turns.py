"""The turns of a conversation as rows: the message that begins each, and what came of it."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from rich.segment import Segment

from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.lines import Line, cells, fit
from cogency_tui.tui.kit.number_format import duration, plural, when
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.call_unit import CallUnit
from cogency_tui.tui.transcript.units import Prose, Transcript, Unit, UserMessage

_SHORTEST = 24
"""Cells of the text, below which the figures beside it give way."""


class Turn(NamedTuple):
    """One turn: the `unit` of its message, sent at a Unix time, its duration in seconds, and the files that
    its calls changed, with the lines added and removed."""

    unit: int
    text: str
    sent: float
    seconds: float
    files: int
    added: int
    removed: int


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
    texts = [(when(turn.sent, now), _changes(turn), _seconds(turn)) for turn in turns]
    return Columns(*(max(map(cells, column)) for column in zip(*texts, strict=True)))


def draw_turn(turn: Turn, width: int, styles: ThemeStyles, on: str, *, now: float, columns: Columns) -> Line:
    """Draw its time and its text; on the right its changes and its duration, where there is room."""
    figures = [f"  {_changes(turn).rjust(columns.changes)}", f"  {_seconds(turn).rjust(columns.seconds)}"]
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
    within = units[start + 1 : end]
    following = units[end] if end < len(units) else None
    left = following.sent if isinstance(following, UserMessage) else 0.0
    changes = [change for unit in within if isinstance(unit, CallUnit) for change in unit.changes()]
    return Turn(
        start,
        message.text,
        message.sent,
        max([0.0, *(_ended(unit, left) - message.sent for unit in within)]),
        len({change.path for change in changes}),
        sum(change.added for change in changes),
        sum(change.removed for change in changes),
    )


def _ended(unit: Unit, left: float) -> float:
    """When a unit ended. An answer read from the store lasts until the next event, which for the last one is
    the message after it, at `left`: only its start is known."""
    match unit:
        case Prose():
            return unit.ended if unit.ended != left else unit.started
        case CallUnit():
            return unit.started + unit.duration
        case _:
            return 0.0


def _seconds(turn: Turn) -> str:
    return duration(turn.seconds) if turn.seconds else ""


def _changes(turn: Turn) -> str:
    return f"{plural(turn.files, 'file')} +{turn.added:,} −{turn.removed:,}" if turn.files else ""
