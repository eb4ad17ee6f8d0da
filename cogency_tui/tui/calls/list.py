"""The list of the tool calls pane: a line for each call, and lines below it for the calls within it.

The selection follows the newest call until the user selects another, and again once the user selects the
last.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from cogency_tui.tui.calls.rows import (
    HEADING,
    HIDDEN,
    BackgroundCommand,
    CallFilter,
    CallRows,
    Key,
    Row,
    cause_of_skip,
    waits_for,
)
from cogency_tui.tui.kit.line_view import LineView
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.transcript.call import Call
from cogency_tui.tui.transcript.call_lines import (
    NAME_COLUMN,
    call_row,
    command_row,
    heading_row,
    hidden_row,
    step_row,
    waiting_row,
)
from cogency_tui.tui.transcript.units import Transcript

_FOLD_END = NAME_COLUMN + 4
"""Cells of a row up to the end of the fold mark."""


class CallList(LineView):
    """Shows `rows`, of which one is selected."""

    BINDING_GROUP_TITLE = "In the tool calls"

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Previous call", show=False, id="calls.previous"),
        Binding("down,j", "move(1)", "Next call", show=False, id="calls.next"),
        Binding("home,g", "move(-1000000)", "First call", show=False, id="calls.first"),
        Binding("end,G", "move(1000000)", "Last call, and follow", show=False, id="calls.last"),
        Binding("pageup", "detail(-1)", "Detail up", show=False, id="calls.detail_up"),
        Binding("pagedown", "detail(1)", "Detail down", show=False, id="calls.detail_down"),
        Binding(
            "enter,c",
            "locate",
            "Show in the conversation",
            id="calls.locate",
            tooltip="Go to the call's place in the conversation",
        ),
        Binding("space", "fold", "Open or close", show=False, id="calls.fold"),
        Binding("left,h", "fold(True)", "Close the calls within", show=False, id="calls.close"),
        Binding("right,l", "fold(False)", "Open the calls within", show=False, id="calls.open"),
        Binding("slash", "filter", "Filter", id="calls.filter", tooltip="Show calls by tool or subject"),
        Binding(
            "F", "failures", "Failures", id="calls.failures", tooltip="Show only what failed, or all again"
        ),
        Binding("x", "stop", "Stop", id="calls.stop", tooltip="Stop the command in the background"),
        Binding("y", "copy", "Copy", id="calls.copy", tooltip="Copy the output of the call"),
    ]

    class Selected(Message):
        """The user selected another call."""

    class Paged(Message):
        """The user pages through the detail, one page in `direction`."""

        def __init__(self, direction: int) -> None:
            self.direction = direction
            super().__init__()

    class Asked(Message):
        """The user requests `locate`, `filter`, `failures`, `stop` or `copy`."""

        def __init__(self, what: str) -> None:
            self.what = what
            super().__init__()

    def __init__(self, clock: Callable[[], float], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock
        self.rows = CallRows(Transcript())
        self.frame = 0
        self.selected: Key | None = None
        self.following = True

    @property
    def call(self) -> Call | None:
        """The selected call."""
        return self.rows.transcript.call(self.selected) if isinstance(self.selected, int) else None

    @property
    def command(self) -> BackgroundCommand | None:
        """The selected background command."""
        return self.rows.command(self.selected)

    def show(self, transcript: Transcript) -> None:
        """Show the calls of another transcript, from the newest."""
        self.rows = CallRows(transcript, self.rows.filter, self.rows.commands)
        self.following = True
        self._arranged()

    def update_calls(self, touched: Sequence[int], frame: int) -> None:
        """Update units that are new or changed, or whose running time has advanced."""
        self.frame = frame
        self.rows.update(touched)
        self._arranged()

    def show_commands(self, commands: Sequence[BackgroundCommand]) -> None:
        """Show the background commands."""
        self.rows.show_commands(commands)
        self._arranged()

    def select_by(self, call_filter: CallFilter) -> None:
        """Show only what the filter admits."""
        self.rows.select(call_filter)
        self._arranged()

    def select(self, key: Key) -> None:
        """Select a call or a command, if it is shown."""
        if self.rows.place(key) is not None:
            self.selected = key
            self.following = key == self.rows.newest()
            self._reveal_selected()
            self.refresh()
            self.post_message(self.Selected())

    def line_at(self, y: int) -> Line | None:
        rows = self.rows
        if y >= len(rows.rows):
            return self._empty[y] if not rows.rows and y < len(self._empty) else None
        return self._draw(rows.rows[y], self.surface_at(y))

    def surface_at(self, y: int) -> str:
        chosen = y == self._selected_row and self.has_focus
        return "cursor" if chosen else "surface"

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        y = self.scroll_offset.y + event.y
        key = self.rows.key(y)
        if key is None:
            return
        row = self.rows.rows[y]
        self.select(key)
        if row.step == HIDDEN:
            self.rows.fold(row.call, False)
            self._arranged()
        elif event.chain > 1:
            self.action_locate()
        elif row.step == -1 and event.x < self.MARGIN + _FOLD_END:
            self.action_fold()

    def action_move(self, step: int) -> None:
        y, rows = self._selected_row, self.rows
        if y is None:
            return
        places = [place for place, row in enumerate(rows.rows) if row.step == -1 and not row.is_heading]
        place = max(0, min(places.index(y) + step, len(places) - 1))
        key = rows.key(places[place])
        if key is not None:
            self.select(key)

    def action_detail(self, direction: int) -> None:
        self.post_message(self.Paged(direction))

    def action_locate(self) -> None:
        self.post_message(self.Asked("locate"))

    def action_filter(self) -> None:
        self.post_message(self.Asked("filter"))

    def action_failures(self) -> None:
        self.post_message(self.Asked("failures"))

    def action_stop(self) -> None:
        self.post_message(self.Asked("stop"))

    def action_copy(self) -> None:
        self.post_message(self.Asked("copy"))

    def action_fold(self, folded: bool | None = None) -> None:
        if isinstance(self.selected, int) and self.rows.mark_of(self.selected):
            self.rows.fold(self.selected, folded)
            self._arranged()

    def _draw(self, row: Row, on: str) -> Line:
        rows, width, inks, now = self.rows, self.text_width, self.inks, self._clock()
        if row.is_heading:
            return heading_row(HEADING, width, inks)
        if row.command >= 0:
            command = rows.commands[row.command]
            return command_row(
                command.command,
                command.elapsed(now),
                command.state,
                width,
                inks,
                frame=self.frame,
                on=on,
            )
        call = rows.transcript.call(row.call)
        if row.step == HIDDEN:
            return hidden_row(rows.hidden(row.call), width, inks, on=on)
        if row.step >= 0:
            return step_row(call.steps()[row.step], width, inks, frame=self.frame, on=on)
        if waits := waits_for(call, rows.before(row.call) if call.state == "queued" else ()):
            return waiting_row(call, waits, width, inks, on=on)
        told = cause_of_skip(call, rows.before(row.call)) if call.state == "skipped" else ""
        fold = rows.mark_of(row.call)
        return call_row(call, width, inks, now=now, frame=self.frame, on=on, fold=fold, told=told)

    @property
    def _empty(self) -> list[Line]:
        said = "What the agent reads, searches, edits and runs appears here as it happens."
        if self.rows.filter:
            said = "No call is like that. The mark above, or Esc, takes the filter away."
        return wrap([Segment(said, self.inks("dim"))], self.text_width)

    @property
    def _selected_row(self) -> int | None:
        return None if self.selected is None else self.rows.place(self.selected)

    def _arranged(self) -> None:
        """Refresh after the rows or their contents changed."""
        if self.following or self._selected_row is None:
            self.selected = self.rows.newest()
        self.resize_column(len(self.rows.rows))
        self._reveal_selected()
        self.refresh()

    def _reveal_selected(self) -> None:
        y = self._selected_row
        if not self.page or y is None:
            return
        rows, last = self.rows.rows, y
        while last + 1 < len(rows) and rows[last + 1].step != -1:
            last += 1
        self.reveal(last)
        self.reveal(y)
