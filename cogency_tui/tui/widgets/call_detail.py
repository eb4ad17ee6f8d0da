"""The detail of the selected call or background command, scrolling on its own.

What still runs is followed at its end until the person scrolls away from it, and again from the end on.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from cogency_tui.tui.call_rows import BackgroundCommand
from cogency_tui.tui.calls import Call
from cogency_tui.tui.drawing.call_detail import CallSheet
from cogency_tui.tui.drawing.command_detail import CommandSheet
from cogency_tui.tui.drawing.lines import Line
from cogency_tui.tui.waiting import cause_of_skip, waits_for
from cogency_tui.tui.widgets.line_view import LineView


class CallDetail(LineView):
    """Shows one `CallSheet` or `CommandSheet`."""

    BINDING_GROUP_TITLE = "In the detail of a call"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False, id="detail.up"),
        Binding("down,j", "move(1)", "Down", show=False, id="detail.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="detail.page_up"),
        Binding("pagedown,space", "page(1)", "Page down", show=False, id="detail.page_down"),
        Binding("home,g", "move(-100000000)", "Beginning", show=False, id="detail.home"),
        Binding("end,G", "move(100000000)", "End, and follow", show=False, id="detail.end"),
    ]

    def __init__(self, clock: Callable[[], float], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock
        self._sheet: CallSheet | CommandSheet | None = None
        self._following = True
        self._placing = False
        self._loading = False

    def show(self, call: Call | None, before: Sequence[Call] = ()) -> None:
        """Show a call; `before` are the calls that it may depend on."""
        sheet = self._sheet if isinstance(self._sheet, CallSheet) and self._sheet.call is call else None
        if call is None:
            self._sheet = None
        else:
            waits, cause = waits_for(call, before), cause_of_skip(call, before)
            now = self._clock()
            if sheet is None or sheet.stale or not self._fits(sheet):
                self._sheet = CallSheet(
                    call, self.text_width, self.inks, now, waits=waits, cause=cause, gradual=True
                )
            else:
                sheet.refresh(now, waits=waits, cause=cause)
        self._place(live=call is not None and not call.settled, other=sheet is None)

    def show_command(self, command: BackgroundCommand, output: str) -> None:
        """Show a background command, and what it has written so far."""
        sheet = self._sheet if isinstance(self._sheet, CommandSheet) else None
        other = sheet is None or sheet.command.id != command.id
        if sheet is None or other or not self._fits(sheet):
            sheet = self._sheet = CommandSheet(self.text_width, self.inks)
        sheet.take(command, output, self._clock())
        self._place(live=command.state == "running", other=other)

    def line_at(self, y: int) -> Line | None:
        return self._sheet.line(y) if self._sheet and y < len(self._sheet) else None

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._placing:
            self._following = self.scroll_offset.y >= self.max_scroll_y

    def action_move(self, lines: int) -> None:
        self.jump(self.scroll_offset.y + lines)

    def action_page(self, direction: int) -> None:
        self.jump(self.scroll_offset.y + direction * max(1, self.page - 1))

    def _fits(self, sheet: CallSheet | CommandSheet) -> bool:
        return sheet.width == self.text_width and sheet.inks is self.inks

    def _place(self, *, live: bool, other: bool) -> None:
        self._placing = True
        self.resize_column(len(self._sheet) if self._sheet else 0)
        if other:
            self._following = True
        if live and self._following:
            self.jump(self.max_scroll_y)
        elif other:
            self.jump(0)
        self._placing = False
        self.refresh()
        self._load_later()

    def _load_later(self) -> None:
        if isinstance(self._sheet, CallSheet) and self._sheet.loading and not self._loading:
            self._loading = True
            self.call_later(self._load)

    def _load(self) -> None:
        self._loading = False
        if isinstance(self._sheet, CallSheet) and self._sheet.loading:
            self._sheet.load()
            self._place(live=not self._sheet.call.settled, other=False)
