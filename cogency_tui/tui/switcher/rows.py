"""The open conversations as rows: their state, their figures, and the time of their last event."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from rich.segment import Segment

from cogency_tui.protocol.events import Measure
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.number_format import dollars, tokens, when, whole_seconds
from cogency_tui.tui.theme_styles import ThemeStyles

Condition: TypeAlias = Literal["waiting", "working", "failed", "done", "idle"]
"""The state of an open conversation: `done` is one whose end the user has not seen."""

_SHORTEST = 20
"""Cells of the title, below which the figures give way."""

_SHORTEST_TITLE = 12
"""Cells of the title, below which the name of the worktree gives way."""

CONDITIONS: dict[Condition, tuple[str, str]] = {
    "waiting": ("? waiting for you", "edit"),
    "working": ("⠋ working", "running"),
    "failed": ("✗ failed", "bad"),
    "done": ("✓ done", "good"),
    "idle": ("idle", "dim"),
}
"""The words of each, with a glyph, and their role."""


class OpenConversation(msgspec.Struct, frozen=True):
    """An open conversation. `key` identifies it, for the user `number`; `is_unread` means that the user has
    not seen the end of its work; `seconds` is how long it has been working, `retry` the seconds until it
    repeats a request (0 if it does not), `at` the Unix time of its last event (0 if it has none), `message`
    the user's last message, `question` what it asks, `unsaved` what the user has typed in boxes that are
    open, `background` its background commands that run, `worktree` the name of the git worktree that it
    is in, or was in if `is_worktree_removed`. One that `is_rerun` runs a turn again in a scratch copy."""

    key: str
    title: str
    condition: Condition
    number: int = 1
    current: bool = False
    is_unread: bool = False
    seconds: int = 0
    retry: int = 0
    question: str = ""
    message: str = ""
    total: Measure = {}
    at: float = 0.0
    unsaved: Sequence[str] = ()
    background: Sequence[str] = ()
    worktree: str = ""
    is_worktree_removed: bool = False
    is_rerun: bool = False

    @property
    def is_running(self) -> bool:
        """True if it works or waits for an answer."""
        return self.condition in ("working", "waiting")

    @property
    def name(self) -> str:
        """The title on one line."""
        return one_line(self.title) or "New conversation"


def describe_state(row: OpenConversation) -> str:
    """The state in words, with a glyph."""
    words = CONDITIONS[row.condition][0]
    if row.condition == "idle" and row.background:
        return f"▸ {len(row.background)} background"
    if row.condition != "working":
        return words
    return (
        f"⠋ retrying in {whole_seconds(row.retry)}" if row.retry else f"{words} {whole_seconds(row.seconds)}"
    )


class Columns(NamedTuple):
    """The cells of the columns: the number, the state, and the figures."""

    number: int
    state: int
    widths: tuple[int, int, int]


def _figures(row: OpenConversation, now: float) -> tuple[str, str, str]:
    """Its tokens, its cost and the time of its last event."""
    used = row.total.get("input", 0) + row.total.get("output", 0)
    cost = row.total.get("cost")
    return (
        f"{tokens(used)} tokens" if used else "",
        "" if cost is None else dollars(cost),
        when(row.at, now) if row.at else "",
    )


def columns_of(rows: Sequence[OpenConversation], now: float) -> Columns:
    """The columns that these rows need at a Unix time."""
    figures = [_figures(row, now) for row in rows]
    first, second, third = (max(map(cells, column)) for column in zip(*figures, strict=True))
    number = max(cells(str(row.number)) for row in rows)
    return Columns(number, max(cells(describe_state(row)) for row in rows), (first, second, third))


def draw_row(
    row: OpenConversation, width: int, styles: ThemeStyles, on: str, *, now: float, columns: Columns
) -> Line:
    """Draw its number, its title and its state; on the right the figures, where there is room."""
    figures = [
        f"  {figure.rjust(cell)}"
        for figure, cell in zip(_figures(row, now), columns.widths, strict=True)
        if cell
    ]
    room = width - columns.number - 3 - columns.state - 2
    while figures and room - sum(map(cells, figures)) < _SHORTEST:
        figures.pop(0)
    right = "".join(figures)
    place = f" ⎇ {one_line(row.worktree)}" if row.worktree else " · rerun" * row.is_rerun
    place += " removed" * row.is_worktree_removed
    place = fit(place, max(0, room - cells(right) - _SHORTEST_TITLE))
    title = fit(row.name, room - cells(right) - cells(place))
    state, role = describe_state(row), CONDITIONS[row.condition][1]
    words = state.partition(" ")[2] or state
    strong = "" if row.condition == "idle" or (row.condition == "failed" and not row.is_unread) else "bold"
    return Line(
        [
            Segment(f"{row.number:{columns.number}} ", styles("dim", on)),
            Segment("● " if row.current else "  ", styles("accent", on)),
            Segment(title, styles("text", on, "bold" if row.current else "")),
            Segment(place, styles("branch", on)),
            Segment(" " * max(0, room - cells(title + place) - cells(right) + 2), styles("text", on)),
            Segment(state[: -len(words)], styles(role, on)),
            Segment(words, styles(role, on, strong)),
            Segment(" " * (columns.state - cells(state)) + right, styles("dim", on)),
        ]
    )


def draw_note(row: OpenConversation | None, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw what the conversation asks, or else the user's last message."""
    if row is None:
        return []
    if row.question:
        return wrap([Segment(one_line(row.question), styles("edit"))], width)
    return wrap([Segment(one_line(row.message), styles("dim"))], width) if row.message else []


_LONGEST_NAME, _LONGEST_QUESTION = 32, 48
"""Cells in a notification."""

_MOST_COMMANDS = 5
"""The background commands that are named."""


def describe_news(row: OpenConversation) -> str:
    """What a conversation that is not shown has come to, for a notification."""
    name = f"“{fit(row.name, _LONGEST_NAME)}”"
    if row.condition == "waiting":
        return f"{name} is waiting: {fit(one_line(row.question), _LONGEST_QUESTION)}"
    return f"{name} {'failed' if row.condition == 'failed' else 'is done'}."


def describe_closing(row: OpenConversation) -> str:
    """The question whether to close a conversation; empty if nothing would be lost or interrupted."""
    question = f"{_describe_work(row)} Interrupt and close it?" if row.is_running else ""
    if row.background and not question:
        stops = f"Stop {_them(row.background)} and close the conversation?"
        question = f"{_describe_background(row.background)}\n\n{stops}"
    elif row.background:
        question = f"{_describe_background(row.background)}\n\n{question}"
    return _describe_loss(row.unsaved, question, "close the conversation")


def describe_quit(rows: Sequence[OpenConversation], questions: int) -> str:
    """The question whether to quit, with so many `questions` open in the conversation that is shown; empty if
    nothing would be lost or interrupted."""
    running = [row for row in rows if row.is_running]
    unsaved = [text if row.current else f"{text} in “{row.name}”" for row in rows for text in row.unsaved]
    question = _describe_interruption(running, questions) if running else ""
    if background := [each for row in rows for each in row.background]:
        asks = question or f"Stop {_them(background)} and quit?"
        question = f"{_describe_background(background)}\n\n{asks}"
    return _describe_loss(unsaved, question, "quit")


def _describe_background(commands: Sequence[str]) -> str:
    """Name the background commands that would end."""
    many = len(commands) > 1
    head = f"{len(commands)} background commands are running" if many else "A background command is running"
    listed = [f"  {fit(each, _LONGEST_QUESTION)}" for each in commands[:_MOST_COMMANDS]]
    more = [f"  … {len(commands) - _MOST_COMMANDS} more"] if len(commands) > _MOST_COMMANDS else []
    return "\n".join([f"{head}:\n", *listed, *more])


def _them(commands: Sequence[str]) -> str:
    return "them" if len(commands) > 1 else "it"


def _describe_loss(unsaved: Sequence[str], question: str, verb: str) -> str:
    """What is not saved, and the `question`; without one, whether to do it, as `verb` names it."""
    if not unsaved:
        return question
    named, many = " and ".join(unsaved), len(unsaved) > 1
    lost = f"{named[0].upper()}{named[1:]} {'are' if many else 'is'} not saved."
    return f"{lost}\n\n{question}" if question else f"{lost} Discard {'them' if many else 'it'} and {verb}?"


def _describe_interruption(rows: Sequence[OpenConversation], questions: int) -> str:
    """The question whether to quit, which interrupts the work in `rows`."""
    if len(rows) == 1 and rows[0].current:
        if not questions:
            return f"{'The rerun' if rows[0].is_rerun else 'The agent'} is working. Interrupt it and quit?"
        return f"{'A question is' if questions == 1 else f'{questions} questions are'} open. Quit anyway?"
    if len(rows) == 1:
        return f"{_describe_work(rows[0])} Interrupt it and quit?"
    listed = "\n".join(f"  {_named(row)}{', waiting for you' * (row.condition == 'waiting')}" for row in rows)
    return f"{len(rows)} conversations are in progress:\n\n{listed}\n\nInterrupt them and quit?"


def _named(row: OpenConversation) -> str:
    """Its title; that of a rerun is of the conversation whose turn it runs again."""
    return f"{'Rerun of ' * row.is_rerun}“{row.name}”"


def _describe_work(row: OpenConversation) -> str:
    return f"{_named(row)} is {'waiting for you' if row.condition == 'waiting' else 'still running'}."
