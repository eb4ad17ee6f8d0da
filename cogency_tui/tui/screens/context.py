"""What fills the context, and the summary in it: two dialogs, which change nothing themselves."""

from collections.abc import Awaitable, Callable
from time import time
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import TextArea

from cogency_tui.errors import CogencyError
from cogency_tui.store.summaries import Summary
from cogency_tui.text import clean
from cogency_tui.tui.drawing.cards import draw_problem
from cogency_tui.tui.drawing.context import describe_author, draw_contents
from cogency_tui.tui.drawing.lines import Line
from cogency_tui.tui.host import app_of
from cogency_tui.tui.inquiry import Contents
from cogency_tui.tui.screens.answering import Dialog
from cogency_tui.tui.screens.dialogs import STYLES, Choice, Choices, Confirmation, DialogBody
from cogency_tui.tui.screens.reading import ReadingScreen
from cogency_tui.tui.theming import Inks
from cogency_tui.tui.transcript import Problem
from cogency_tui.tui.widgets.in_order import act_in_order
from cogency_tui.tui.widgets.pane_title import PaneTitle

_CLOSE: Choice = ("escape", "close", "close")


class ContextScreen(ReadingScreen[Summary]):
    """Shows `contents`; returns the summary if that is to be seen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "summary", "View and edit the summary", id="context.summary")
    ]

    def __init__(self, contents: Contents, *, clock: Callable[[], float] = time) -> None:
        super().__init__()
        self._contents = contents
        self._clock = clock

    def compose(self) -> ComposeResult:
        summary: list[Choice] = [("e", "view and edit the summary", "summary")]
        with Vertical(id="context"):
            yield PaneTitle("Context", id="context-title")
            yield DialogBody(self._draw, id="context-body")
            with Vertical(classes="dialog-foot"):
                yield Choices([*(summary if self._contents.summary else []), _CLOSE])

    def action_summary(self) -> None:
        if self._contents.summary is not None:
            self.dismiss(self._contents.summary)

    def _draw(self, width: int, inks: Inks) -> list[Line]:
        return draw_contents(self._contents, width, inks, self._clock())


class SummaryText(TextArea):
    """The text of a summary while it is edited."""

    async def _on_key(self, event: events.Key) -> None:
        await act_in_order(self, event)


class SummaryScreen(Dialog[bool]):
    """Shows a summary in a text area and hands what the person makes of it to `save`; whether that was
    done."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", id="summary.save"),
        Binding("escape", "leave", "Leave", id="summary.leave"),
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
        with Vertical(id="summary"):
            yield PaneTitle("Summary", id="summary-title")
            yield SummaryText(self._text, soft_wrap=True, compact=True, id="summary-text")
            yield DialogBody(self._draw_problem, id="summary-problem")
            with Vertical(classes="dialog-foot"):
                yield Choices([("ctrl+s", "save", "save"), ("escape", "leave", "leave")])

    def on_mount(self) -> None:
        area = self.query_one(TextArea)
        area.cursor_blink = False
        area.highlight_cursor_line = False
        self.query_one(DialogBody).display = False
        self.query_one(PaneTitle).state(describe_author(self._summary, self._clock()))

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        self.call_next(self.run_action, event.action)

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
        if self.query_one(TextArea).text == self._text:
            self.dismiss(False)
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self.dismiss(False)

        app_of(self).push_screen(Confirmation("Leave without saving what you changed?"), answered)

    def _draw_problem(self, width: int, inks: Inks) -> list[Line]:
        return draw_problem(self._problem, width, inks) if self._problem else []
