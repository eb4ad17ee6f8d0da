"""The table of contents: a dialog of the conversation's turns, filtered by what is typed."""

from collections.abc import Sequence
from operator import attrgetter
from time import time
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from cogency_tui.tui.conversation.turns import Turn, columns_of, draw_turn
from cogency_tui.tui.kit.dialogs import Choice
from cogency_tui.tui.kit.filter_line import FilterField
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.list_dialog import ListDialog
from cogency_tui.tui.kit.select_list import LETTERS, SelectList, list_keys
from cogency_tui.tui.theme_styles import ThemeStyles


class TurnsScreen(ListDialog["int | None", Turn]):
    """Returns the unit of the chosen turn's message; `current` is the turn in view."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Go to turn", id="turns.open"),
        Binding("escape", "back", "Close", id="turns.back", tooltip="Clear the filter, or close"),
        *list_keys("turns", without=LETTERS),
    ]
    AUTO_FOCUS = "FilterField"

    def __init__(self, turns: Sequence[Turn], current: Turn | None) -> None:
        rows: SelectList[Turn] = SelectList(self._draw_row, attrgetter("unit"), id="turns-list")
        rows.notice = "No matching turns."
        super().__init__("turns", "Turns", rows)
        self._turns = turns
        self._current = current
        self._field = FilterField(id="turns-filter")
        self._filtered = ""
        self._now = time()
        self._columns = columns_of(turns, self._now)

    def parts(self) -> list[Widget]:
        return [self._field, self.rows]

    async def on_mount(self) -> None:
        self.rows.show(self._turns, self._current and self._current.unit)
        await self.moved()
        self._count()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.catch_up()

    def choices(self) -> list[Choice]:
        go: list[Choice] = [("enter", "go to turn", "open")] if self.rows.row is not None else []
        return [*go, ("escape", "clear filter" if self._filtered else "close", "back")]

    def catch_up(self) -> None:
        if self._filtered != self._field.value:
            self._filtered = self._field.value
            words = self._filtered.casefold().split()
            found = [turn for turn in self._turns if all(word in turn.text.casefold() for word in words)]
            self.rows.show(found, self.rows.key)
            self._count()
            self.show_selected()

    async def clicked(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        self.catch_up()
        if (turn := self.rows.row) is not None:
            self.dismiss(turn.unit)

    def action_back(self) -> None:
        if self._field.value:
            self._field.value = ""
        else:
            self.dismiss(None)

    def _count(self) -> None:
        total, found = len(self._turns), len(self.rows.rows)
        self.heading.state(f"{total:,}" if found == total else f"{found:,} of {total:,}")

    def _draw_row(self, turn: Turn, width: int, styles: ThemeStyles, on: str) -> Line:
        return draw_turn(turn, width, styles, on, now=self._now, columns=self._columns)
