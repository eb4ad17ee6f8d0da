"""The tool calls pane: every call of the conversation on a line, and the detail of one of them below.

The selection follows the newest call until the person selects another, and again from the last one on.
"""

from collections.abc import Callable
from time import time
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from cogency_tui.tui.calls import Call, Step
from cogency_tui.tui.drawing.calls import call_row, draw_detail, step_row
from cogency_tui.tui.drawing.lines import Line, wrap
from cogency_tui.tui.transcript import Transcript
from cogency_tui.tui.widgets.bar import Divider, Surface
from cogency_tui.tui.widgets.line_view import LineView
from cogency_tui.tui.widgets.pane_title import PaneTitle


class CallList(LineView):
    """The calls, one line each; below one that others work for, a line for each of their calls."""

    BINDING_GROUP_TITLE = "In the tool calls"

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Previous call", show=False, id="calls.previous"),
        Binding("down,j", "move(1)", "Next call", show=False, id="calls.next"),
        Binding("home,g", "move(-1000000)", "First call", show=False, id="calls.first"),
        Binding("end,G", "move(1000000)", "Last call", show=False, id="calls.last"),
        Binding("pageup", "detail(-1)", "Detail up", show=False, id="calls.detail_up"),
        Binding("pagedown", "detail(1)", "Detail down", show=False, id="calls.detail_down"),
    ]

    class Selected(Message):
        """The person selected another call."""

    class Paged(Message):
        """The person pages through the detail, one page in `direction`."""

        def __init__(self, direction: int) -> None:
            self.direction = direction
            super().__init__()

    def __init__(self, clock: Callable[[], float], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock
        self._calls: list[Call] = []
        self._rows: list[tuple[int, Step | None]] = []
        self.frame = 0
        self.selected = -1
        self.following = True

    @property
    def call(self) -> Call | None:
        """The selected call."""
        return self._calls[self.selected] if self._calls else None

    def show(self, calls: list[Call]) -> None:
        """Show `calls`; the newest one is selected unless the person went to another."""
        self._calls = calls
        if self.following or self.selected >= len(calls):
            self.selected = _newest(calls)
        self._rows = []
        for index, call in enumerate(calls):
            self._rows.append((index, None))
            self._rows += [(index, step) for step in call.steps()]
        self.resize_column(len(self._rows))
        self._reveal_selected()
        self.refresh()

    def line_at(self, y: int) -> Line | None:
        if not self._calls:
            return self._empty[y] if y < len(self._empty) else None
        if y >= len(self._rows):
            return None
        surface = self.surface_at(y)
        index, step = self._rows[y]
        if step is not None:
            return step_row(step, self.text_width, self.inks, frame=self.frame, on=surface)
        call = self._calls[index]
        return call_row(call, self.text_width, self.inks, now=self._clock(), frame=self.frame, on=surface)

    def surface_at(self, y: int) -> str:
        chosen = y < len(self._rows) and self._rows[y] == (self.selected, None)
        return "cursor" if chosen and self.has_focus else "surface"

    def _reveal_selected(self) -> None:
        for y, (index, step) in enumerate(self._rows):
            if index == self.selected and step is None:
                self.reveal(y)

    @property
    def _empty(self) -> list[Line]:
        said = "What the agent reads, searches, edits and runs appears here as it happens."
        return wrap([Segment(said, self.inks("dim"))], self.text_width)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        y = self.scroll_offset.y + event.y
        self._select(self._rows[y][0] if y < len(self._rows) else len(self._calls) - 1)

    def action_move(self, step: int) -> None:
        self._select(self.selected + step)

    def action_detail(self, direction: int) -> None:
        self.post_message(self.Paged(direction))

    def _select(self, index: int) -> None:
        if self._calls:
            self.selected = max(0, min(index, len(self._calls) - 1))
            self.following = self.selected >= _newest(self._calls)
            self._reveal_selected()
            self.refresh()
            self.post_message(self.Selected())


def _newest(calls: list[Call]) -> int:
    """The last call that something has come of, or is coming; the last one where there is none."""
    places = (place for place in reversed(range(len(calls))) if calls[place].state != "queued")
    return next(places, len(calls) - 1)


class CallDetail(LineView):
    """The lines of one call's detail; at the end of one that still runs."""

    def __init__(self, clock: Callable[[], float], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock
        self._call: Call | None = None
        self._lines: list[Line] = []

    def show(self, call: Call | None) -> None:
        """Show `call`, at its end while it runs and else from its beginning."""
        other = call is not self._call
        self._call = call
        self._lines = draw_detail(call, self.text_width, self.inks, self._clock()) if call else []
        self.resize_column(len(self._lines))
        if call and not call.settled:
            self.jump(self.max_scroll_y)
        elif other:
            self.jump(0)
        self.refresh()

    def line_at(self, y: int) -> Line | None:
        return self._lines[y] if y < len(self._lines) else None

    def on_resize(self) -> None:
        self.show(self._call)


class ToolCalls(Surface):
    """Composes the pane."""

    def __init__(self, *, clock: Callable[[], float] = time, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock
        self._transcript = Transcript()

    def compose(self) -> ComposeResult:
        yield PaneTitle("Tool calls", id="calls-title")
        yield CallList(self._clock, id="calls-list")
        yield Divider(id="calls-divider")
        yield CallDetail(self._clock, id="calls-detail")

    def show(self, transcript: Transcript) -> None:
        """Show the calls of another transcript."""
        self._transcript = transcript
        self.query_one(CallList).following = True
        self.refresh_calls()

    def refresh_calls(self, frame: int = 0) -> None:
        """Calls are new or have changed, or time has passed."""
        calls = [self._transcript.call(index) for index in self._transcript.calls]
        rows, detail = self.query_one(CallList), self.query_one(CallDetail)
        rows.frame = frame
        rows.show(calls)
        detail.show(rows.call)
        self.query_one(Divider).display = bool(calls)
        running = sum(call.state == "running" for call in calls)
        count = f"{len(calls)} · {running} running" if running else str(len(calls)) if calls else ""
        self.query_one(PaneTitle).state(count)

    def on_call_list_selected(self, event: CallList.Selected) -> None:
        event.stop()
        self.query_one(CallDetail).show(self.query_one(CallList).call)

    def on_call_list_paged(self, event: CallList.Paged) -> None:
        event.stop()
        detail = self.query_one(CallDetail)
        detail.jump(detail.scroll_offset.y + event.direction * max(1, detail.page - 1))
