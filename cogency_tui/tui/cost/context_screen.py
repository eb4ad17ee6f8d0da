"""The contents of the context and its summary, drawn as lines and shown in two dialogs.

The lines are a bar of the whole, a table with a line for each part, the instruction files, and the summary.
The dialogs change nothing themselves.
"""

from collections.abc import Awaitable, Callable
from time import time
from typing import ClassVar, Literal

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import TextArea

from cogency_tui.agent.compaction import figures_of
from cogency_tui.agent.project.instructions import LONGEST, Instructions, Source
from cogency_tui.errors import CogencyError
from cogency_tui.safe_text import clean, one_line, reveal
from cogency_tui.store.summaries import Summary
from cogency_tui.tui.cost.context_usage import Contents
from cogency_tui.tui.kit.cell_text import cells, fit, fit_path
from cogency_tui.tui.kit.dialogs import (
    STYLES,
    Choice,
    Choices,
    Dialog,
    DialogBody,
    DialogBox,
    DialogTitle,
    ReadingScreen,
    discard,
)
from cogency_tui.tui.kit.edit_area import EditArea
from cogency_tui.tui.kit.keys import act_in_order
from cogency_tui.tui.kit.lines import BLANK, Line, wrap
from cogency_tui.tui.kit.meter import draw_bar
from cogency_tui.tui.kit.number_format import percent, plural, size, tokens, when
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.messages_and_notices import describe_summarized, draw_problem
from cogency_tui.tui.transcript.pin_marks import PIN
from cogency_tui.tui.transcript.units import Problem, Summarized

_NAME = 15
_FIGURES = 16
_WIDEST = 48
_NAMED = 6


def draw_contents(contents: Contents, width: int, styles: ThemeStyles, now: float) -> list[Line]:
    """Draw the table, and below it the instructions and the summary, if any."""
    whole, used = contents.size, contents.used
    of = f" of {tokens(whole)}" if whole else ""
    head = f"About {tokens(used)}{of} tokens used, {one_line(contents.model)}"
    lines = wrap([Segment(head, styles("text"))], width)
    if whole:
        lines.append(_meter(used, whole, width, styles))
    lines += [BLANK, _heading(width, styles)]
    lines += [_row(part.name, part.tokens, used, width, styles) for part in contents.parts]
    if not whole:
        unknown = "The context size of this model is unknown. Set context_size under its provider."
        lines += [BLANK, *wrap([Segment(unknown, styles("dim"))], width)]
    elif used > whole:
        lines += [
            BLANK,
            *wrap(
                [Segment("This exceeds the context. /compact summarizes older messages.", styles("bad"))],
                width,
            ),
        ]
    if contents.instructions is not None:
        lines += _instructions(contents.instructions, width, styles)
    lines += [BLANK, *_pinned(contents, width, styles), *_summaries(contents, width, styles, now)]
    return [
        *lines,
        *wrap([Segment("~ estimated", styles("dim"))], width),
    ]


def _instructions(instructions: Instructions, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw each instruction file with its owner and size, and the files that cannot be read."""
    rows = [_source(source, width, styles) for source in instructions.sources]
    nested = [one_line(path) for path in instructions.nested]
    if nested:
        more = f", and {len(nested) - _NAMED} more" if len(nested) > _NAMED else ""
        text = f"Read before editing in their directories: {', '.join(nested[:_NAMED])}{more}"
        rows += wrap([Segment(text, styles("dim"))], width)
    for problem in instructions.problems:
        rows += wrap([Segment(f"✗ {reveal(problem)}", styles("bad"))], width)
    if not rows:
        return []
    return [BLANK, Line([Segment("Active instructions", styles("text", attributes="bold"))]), *rows]


def _source(source: Source, width: int, styles: ThemeStyles) -> Line:
    cut = f", truncated to {size(LONGEST)}" if source.size > LONGEST else ""
    right = f"{'user' if source.own else 'project'}, {size(source.size)}{cut}"
    room = max(4, width - cells(right) - 2)
    path = fit_path(one_line(source.path), room)
    return Line(
        [
            Segment(path + " " * (room - cells(path) + 2), styles("text")),
            Segment(fit(right, width - room - 2), styles("edit" if cut else "dim")),
        ]
    )


def describe_author(summary: Summary, now: float) -> str:
    """Describe the author of a summary, and its time."""
    edited = ", edited by you" if summary.edited else ""
    return f"by {one_line(summary.model)}, {when(summary.created, now)}{edited}"


def _pinned(contents: Contents, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw the number of pinned parts, and the tokens that they have and may have."""
    if (pinned := contents.pinned) is None or not pinned.parts:
        return []
    text = f"{plural(pinned.parts, 'part')} pinned: ~{tokens(pinned.tokens)} of {tokens(pinned.room)} tokens"
    return wrap([Segment(f"{PIN} ", styles("accent")), Segment(text, styles("text"))], width)


def _summaries(contents: Contents, width: int, styles: ThemeStyles, now: float) -> list[Line]:
    """Draw a line for each of the last summaries, and the author of the one in force."""
    if contents.summary is None:
        none = "Nothing summarized yet. /compact summarizes older messages."
        return wrap([Segment(none, styles("dim"))], width)
    rows: list[Line] = []
    for summary, messages in contents.summaries[:_NAMED]:
        figures = figures_of(summary, messages)
        text = f"◇ {describe_summarized(Summarized(**figures))} · {when(summary.created, now)}"
        rows.append(Line([Segment(fit(text, width), styles("text"))]))
    length = plural(len(contents.summary.text.split()), "word")
    text = f"Older messages are replaced by a summary: {length}, {describe_author(contents.summary, now)}."
    return [*rows, *wrap([Segment(text, styles("dim"))], width)]


def _meter(used: int, whole: int, width: int, styles: ThemeStyles) -> Line:
    """Draw the used and free share of the context, as a bar and in words."""
    share = used / whole
    words = f"  {percent(share)} used, ~{tokens(max(0, whole - used))} free"
    room = max(0, min(_WIDEST, width - cells(words)))
    role = "dim" if share < 0.75 else "edit" if share < 0.9 else "bad"
    return Line([*draw_bar(used, whole, room, styles, role), Segment(words, styles("text"))])


def _heading(width: int, styles: ThemeStyles) -> Line:
    room = _bar_room(width)
    return Line([Segment(" " * (_NAME + room) + f"{'tokens':>8}{'share':>8}", styles("dim"))])


def _row(name: str, count: int, used: int, width: int, styles: ThemeStyles) -> Line:
    """Draw a part; its bar and share are relative to the tokens used."""
    share = count / used if used else 0.0
    room = _bar_room(width)
    label = one_line(name)
    return Line(
        [
            Segment(label + " " * max(1, _NAME - cells(label)), styles("text")),
            *draw_bar(count, used, room, styles),
            Segment(f"{'~' + tokens(count):>8}{percent(share):>8}", styles("dim")),
        ]
    )


def _bar_room(width: int) -> int:
    return max(0, min(_WIDEST, width - _NAME - _FIGURES))


_CLOSE: Choice = ("escape", "close", "close")

Opened = Literal["compactions"]
"""What the user wants to see next."""


class ContextScreen(ReadingScreen[Summary | Opened]):
    """Shows `contents`; returns the summary if the user wants to edit it, or that they want to see what the
    summaries replaced."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "compactions", "View what was summarized", id="context.compactions"),
        Binding("e", "summary", "Edit the summary", id="context.summary"),
    ]

    def __init__(self, contents: Contents, *, clock: Callable[[], float] = time) -> None:
        super().__init__()
        self._contents = contents
        self._clock = clock

    def compose(self) -> ComposeResult:
        summary: list[Choice] = [
            ("enter", "view summaries", "compactions"),
            ("e", "edit summary", "summary"),
        ]
        yield DialogBox(
            DialogTitle("Context", id="context-title"),
            DialogBody(self._draw, id="context-body"),
            keys=Choices([*(summary if self._contents.summary else []), _CLOSE]),
            id="context",
        )

    def action_compactions(self) -> None:
        self.dismiss("compactions" if self._contents.summary else None)

    def action_summary(self) -> None:
        if self._contents.summary is not None:
            self.dismiss(self._contents.summary)

    def _draw(self, width: int, styles: ThemeStyles) -> list[Line]:
        return draw_contents(self._contents, width, styles, self._clock())


class SummaryText(EditArea):
    """The text of a summary, for editing."""

    async def _on_key(self, event: events.Key) -> None:
        await act_in_order(self, event)


class SummaryScreen(Dialog[bool]):
    """Shows a summary in a text area and passes the edited text to `save`; returns whether it was saved."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", id="summary.save"),
        Binding("escape", "leave", "Cancel", id="summary.leave"),
    ]
    AUTO_FOCUS = "#summary-text"
    CSS_PATH = STYLES

    def __init__(
        self,
        summary: Summary,
        save: Callable[[str], Awaitable[None]],
        *,
        clock: Callable[[], float] = time,
    ) -> None:
        super().__init__()
        self._summary = summary
        self._text = clean(summary.text)
        self._save = save
        self._clock = clock
        self._problem: Problem | None = None

    def compose(self) -> ComposeResult:
        yield DialogBox(
            DialogTitle("Summary", id="summary-title"),
            SummaryText(self._text, soft_wrap=True, compact=True, id="summary-text"),
            DialogBody(self._draw_problem, id="summary-problem"),
            keys=Choices([("ctrl+s", "save", "save"), ("escape", "cancel", "leave")]),
            id="summary",
            classes="-tall",
        )

    @property
    def unsaved(self) -> str:
        return "" if self.query_one(TextArea).text == self._text else "your edit of the summary"

    def on_mount(self) -> None:
        area = self.query_one(TextArea)
        area.cursor_blink = False
        area.highlight_cursor_line = False
        self.query_one(DialogBody).display = False
        self.query_one(DialogTitle).state(describe_author(self._summary, self._clock()))

    async def action_save(self) -> None:
        text = self.query_one(TextArea).text
        if text == self._text:
            self.dismiss(False)
            return
        try:
            await self._save(text)
        except CogencyError as exc:
            self._problem = Problem(str(exc), exc.hint)
            body = self.query_one(DialogBody)
            body.display = True
            body.redraw()
        else:
            self.dismiss(True)

    def action_leave(self) -> None:
        discard(self, self.unsaved, lambda: self.dismiss(False))

    def _draw_problem(self, width: int, styles: ThemeStyles) -> list[Line]:
        return draw_problem(self._problem, width, styles) if self._problem else []
