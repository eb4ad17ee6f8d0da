"""The list of the tool calls pane: a line for each call, and lines below it for the calls within it.

The selection follows the newest call until the user selects another, and again once the user selects the
last.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar

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
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.select_list import Kind, SelectList
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.call_lines import (
    NAME_COLUMN,
    call_row,
    command_row,
    heading_row,
    hidden_row,
    step_row,
    waiting_row,
)
from cogency_tui.tui.transcript.call_unit import CallUnit
from cogency_tui.tui.transcript.units import Transcript

_FOLD_END = NAME_COLUMN + 4
"""Cells of a row up to the end of the fold mark."""

_NOTHING = "Everything the agent reads, searches, edits and runs appears here as it happens."
_NO_MATCH = "No matching calls. Press Esc, or click the filter above, to clear it."


class CallList(SelectList[Row]):
    """Shows the rows of `calls`."""

    BINDING_GROUP_TITLE = "Tool calls"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Previous call", show=False, id="calls.previous"),
        Binding("down,j", "move(1)", "Next call", show=False, id="calls.next"),
        Binding("home,g", "end(-1)", "First call", show=False, id="calls.first"),
        Binding("end,G", "end(1)", "Jump to last call and follow new calls", show=False, id="calls.last"),
        Binding("pageup", "detail(-1)", "Scroll details up", show=False, id="calls.detail_up"),
        Binding("pagedown", "detail(1)", "Scroll details down", show=False, id="calls.detail_down"),
        Binding(
            "enter,c",
            "locate",
            "Show in conversation",
            id="calls.locate",
            tooltip="Show the call in the conversation",
        ),
        Binding("space", "fold", "Expand or collapse", show=False, id="calls.fold"),
        Binding("left,h", "fold(True)", "Collapse nested calls", show=False, id="calls.close"),
        Binding("right,l", "fold(False)", "Expand nested calls", show=False, id="calls.open"),
        Binding("slash", "filter", "Filter", id="calls.filter", tooltip="Filter calls by tool or subject"),
        Binding("F", "failures", "Failures", id="calls.failures", tooltip="Show only failed calls, or all"),
        # The pane offers it at the calls that it is for.
        Binding("A", "agent", "Sub-agent", show=False, id="calls.agent", tooltip="Show the call's sub-agent"),
        Binding("o", "images", "View image", show=False, id="calls.images", tooltip="View the call's images"),
        Binding("x", "stop", "Stop", id="calls.stop", tooltip="Stop the background command"),
        Binding("y", "copy", "Copy", id="calls.copy", tooltip="Copy the call's output"),
    ]

    class Paged(Message):
        """The user pages through the detail, one page in `direction`."""

        def __init__(self, direction: int) -> None:
            self.direction = direction
            super().__init__()

    class Asked(Message):
        """The user requests `locate`, `filter`, `failures`, `agent`, `images`, `stop` or `copy`."""

        def __init__(self, what: str) -> None:
            self.what = what
            super().__init__()

    def __init__(self, clock: Callable[[], float], *, id: str | None = None) -> None:
        super().__init__(self._draw_row, self._key_of_row, focusable=True, id=id)
        self._clock = clock
        self.calls = CallRows(Transcript())
        self.frame = 0
        self.following = True

    @property
    def call(self) -> CallUnit | None:
        """The selected call."""
        return self.calls.transcript.call(self.key) if isinstance(self.key, int) else None

    @property
    def command(self) -> BackgroundCommand | None:
        """The selected background command."""
        return self.calls.command(self.key) if isinstance(self.key, str) else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable what the selected row has not."""
        if action == "stop":
            return self.command is not None and self.command.state == "running"
        if action in ("locate", "agent"):
            return self.call is not None
        if action == "images":
            return self.call is not None and bool(self.call.images)
        return super().check_action(action, parameters)

    @property
    def highlight(self) -> tuple[str, str]:
        return super().highlight if self.has_focus else ("raised", "dim")

    def kind_of(self, row: Row) -> Kind:
        if row.is_heading:
            return Kind.HEADING
        return Kind.ENTRY if row.step == -1 else Kind.DETAIL

    def place_of(self, key: Hashable) -> int | None:
        return self.calls.place(key) if isinstance(key, int | str) else None

    def show_transcript(self, transcript: Transcript) -> None:
        """Show the calls of another transcript, from the newest."""
        self.calls = CallRows(transcript, self.calls.filter, self.calls.commands)
        self.following = True
        self._show_changes()

    def update_calls(self, touched: Sequence[int], frame: int) -> None:
        """Update units that are new or changed, or whose running time has advanced."""
        self.frame = frame
        self.calls.update(touched)
        self._show_changes()

    def show_commands(self, commands: Sequence[BackgroundCommand]) -> None:
        """Show the background commands."""
        self.calls.show_commands(commands)
        self._show_changes()

    def select_by(self, call_filter: CallFilter) -> None:
        """Show only what the filter admits."""
        self.calls.select(call_filter)
        self._show_changes()

    def select(self, place: int) -> None:
        self.following = self._key_of_row(self.rows[place]) == self.calls.newest()
        super().select(place)

    def click_row(self, y: int, event: events.Click) -> None:
        row = self.rows[y]
        super().click_row(y, event)
        if row.step == HIDDEN:
            self.calls.fold(row.call, False)
            self._show_changes()
        elif event.chain > 1:
            self.action_locate()
        elif row.step == -1 and event.x < self.MARGIN + _FOLD_END:
            self.action_fold()

    def action_detail(self, direction: int) -> None:
        self.post_message(self.Paged(direction))

    def action_locate(self) -> None:
        self.post_message(self.Asked("locate"))

    def action_filter(self) -> None:
        self.post_message(self.Asked("filter"))

    def action_failures(self) -> None:
        self.post_message(self.Asked("failures"))

    def action_agent(self) -> None:
        self.post_message(self.Asked("agent"))

    def action_images(self) -> None:
        self.post_message(self.Asked("images"))

    def action_stop(self) -> None:
        self.post_message(self.Asked("stop"))

    def action_copy(self) -> None:
        self.post_message(self.Asked("copy"))

    def action_fold(self, folded: bool | None = None) -> None:
        if isinstance(self.key, int) and self.calls.mark_of(self.key):
            self.calls.fold(self.key, folded)
            self._show_changes()

    def _key_of_row(self, row: Row) -> Key:
        return self.calls.commands[row.command].id if row.command >= 0 else row.call

    def _draw_row(self, row: Row, width: int, styles: ThemeStyles, on: str) -> Line:
        rows, now = self.calls, self._clock()
        if row.is_heading:
            title = rows.commands[row.heading].conversation
            return heading_row(f"{HEADING}: {title}" if title else HEADING, width, styles)
        if row.command >= 0:
            command = rows.commands[row.command]
            return command_row(
                command.command,
                command.elapsed(now),
                command.state,
                width,
                styles,
                frame=self.frame,
                on=on,
                word=command.found,
                name=command.id,
            )
        call = rows.transcript.call(row.call)
        if row.step == HIDDEN:
            return hidden_row(rows.hidden(row.call), width, styles, on=on)
        if row.step >= 0:
            step = call.steps()[row.step]
            return step_row(call, step, width, styles, frame=self.frame, on=on)
        if waits := waits_for(call, rows.before(row.call) if call.state == "queued" else ()):
            return waiting_row(call, waits, width, styles, on=on)
        remark = cause_of_skip(call, rows.before(row.call)) if call.state == "skipped" else ""
        fold = rows.mark_of(row.call)
        return call_row(call, width, styles, now=now, frame=self.frame, on=on, fold=fold, remark=remark)

    def _show_changes(self) -> None:
        """Refresh after the rows or their contents changed."""
        self.rows = self.calls.rows
        self.notice = _NO_MATCH if self.calls.filter else _NOTHING
        gone = self.following or self.place_of(self.key) is None
        self.restore(self.calls.newest() if gone else self.key, self.selected)
