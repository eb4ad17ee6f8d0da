"""The switcher: a dialog of the open conversations, which stays up to date while it is shown."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from time import time
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType

from cogency_tui.tui.kit.dialogs import Choice, Confirmation
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.list_dialog import ListDialog, Note
from cogency_tui.tui.kit.select_list import SelectList, list_keys
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.switcher.rows import (
    Columns,
    OpenConversation,
    columns_of,
    describe_closing,
    draw_note,
    draw_row,
)
from cogency_tui.tui.theme_styles import ThemeStyles

REFRESH = 0.5
"""Seconds between two refreshes of the rows."""


class SwitcherScreen(ListDialog["str | None", OpenConversation]):
    """Returns the key of the conversation to go to. `read` returns the rows now, `close` closes the
    conversation of a row; `selected` is the key of the row that is selected first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Go to", id="switcher.open"),
        Binding("x,delete", "close_conversation", "Close it", id="switcher.close_conversation"),
        Binding("escape,q", "close", "Back", id="switcher.close"),
        *(
            Binding(
                str(number), f"go_to({number})", f"Go to {number}", show=False, id=f"switcher.go_{number}"
            )
            for number in range(1, 10)
        ),
        *list_keys("switcher"),
    ]
    BOX = "-wide"

    def __init__(
        self,
        read: Callable[[], Sequence[OpenConversation]],
        close: Callable[[str], None],
        selected: str | None = None,
    ) -> None:
        rows: SelectList[OpenConversation] = SelectList(self._draw_row, attrgetter("key"), id="switcher-list")
        super().__init__("switcher", "Open conversations", rows, Note(self._draw_note, id="switcher-note"))
        self._read = read
        self._close_row = close
        self._first = selected
        self._columns = Columns(0, 0, (0, 0, 0))

    def on_mount(self) -> None:
        self.rows.show(self._rows(), self._first)
        self.show_selected()
        self.set_interval(REFRESH, self._refresh)

    def note_lines(self, height: int) -> int:
        del height
        return 1

    def choices(self) -> list[Choice]:
        closing: list[Choice] = [("x", "close conversation", "close_conversation")]
        return [
            ("enter", "go to", "open"),
            *(closing if self._can_close else []),
            ("escape", "back", "close"),
        ]

    @property
    def _can_close(self) -> bool:
        """True if another conversation would remain open."""
        return len(self.rows.rows) > 1

    async def clicked(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        if (row := self.rows.row) is not None:
            self.dismiss(row.key)

    def action_go_to(self, number: int) -> None:
        """Go to the conversation of this number."""
        if (row := next((row for row in self.rows.rows if row.number == number), None)) is not None:
            self.dismiss(row.key)

    def action_close_conversation(self) -> None:
        """Close the selected conversation; ask first if that interrupts it, or loses a text."""
        row = self.rows.row
        if row is None or not self._can_close:
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self._close_selected(row)

        if question := describe_closing(row):
            app_of(self).push_screen(Confirmation(question), answered)
        else:
            self._close_selected(row)

    def _close_selected(self, row: OpenConversation) -> None:
        self._close_row(row.key)
        if row.current:
            # Another conversation is shown now, without this dialog.
            self.dismiss(None)
        else:
            self._refresh()

    def on_screen_resume(self, _event: events.ScreenResume) -> None:
        self._refresh()

    def _refresh(self) -> None:
        """Show the rows as they are now."""
        if self.is_active and self.is_mounted and (rows := self._rows()) != self.rows.rows:
            self.rows.update_rows(rows)
            self.show_selected()

    def _rows(self) -> list[OpenConversation]:
        rows = [*self._read()]
        self._columns = columns_of(rows, time())
        self.heading.state(f"{len(rows)} open")
        return rows

    def _draw_row(self, row: OpenConversation, width: int, styles: ThemeStyles, on: str) -> Line:
        return draw_row(row, width, styles, on, now=time(), columns=self._columns)

    def _draw_note(self, width: int, styles: ThemeStyles) -> list[Line]:
        return draw_note(self.rows.row, width, styles)[:1]
