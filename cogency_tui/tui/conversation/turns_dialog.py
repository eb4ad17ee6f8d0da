"""Dialogs of the conversation's turns, filtered by what is typed; one of them is the table of contents."""

from collections.abc import Sequence
from operator import attrgetter
from time import time
from typing import ClassVar, TypeVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from cogency_tui.tui.conversation.turns import Turn, columns_of, draw_turn
from cogency_tui.tui.kit.dialogs import Choice, DialogBody
from cogency_tui.tui.kit.filter_line import FilterField
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.list_dialog import ListDialog
from cogency_tui.tui.kit.select_list import LETTERS, SelectList, list_keys
from cogency_tui.tui.theme_styles import ThemeStyles

Result = TypeVar("Result")


class TurnsDialog(ListDialog[Result, Turn]):
    """Lists `turns`, with the one of the message `selected` selected first. A subclass binds `open`, which
    Enter runs, and `back`."""

    AUTO_FOCUS = "FilterField"

    def __init__(
        self,
        name: str,
        title: str,
        turns: Sequence[Turn],
        selected: int | None,
        note: DialogBody | None = None,
    ) -> None:
        rows: SelectList[Turn] = SelectList(self._draw_row, attrgetter("unit"), id=f"{name}-list")
        rows.notice = "No matching turns."
        super().__init__(name, title, rows, note)
        self._turns = turns
        self._first = selected
        self._field = FilterField(id=f"{name}-filter")
        self._filtered = ""
        self._now = time()
        self._columns = columns_of(turns, self._now)

    def parts(self) -> list[Widget]:
        return [self._field, *super().parts()]

    async def on_mount(self) -> None:
        self.rows.show(self._turns, self._first)
        await self.moved()
        self._count()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.catch_up()

    @property
    def closing(self) -> Choice:
        """The key that clears the filter, or else closes the dialog."""
        return ("escape", "clear filter" if self._filtered else "close", "back")

    def catch_up(self) -> None:
        if self._filtered != self._field.value:
            self._filtered = self._field.value
            words = self._filtered.casefold().split()
            found = [turn for turn in self._turns if all(word in turn.text.casefold() for word in words)]
            self.rows.show(found, self.rows.key)
            self._count()
            self.show_selected()

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


class TurnsScreen(TurnsDialog["int | None"]):
    """Returns the unit of the chosen turn's message; `current` is the turn in view."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Go to turn", id="turns.open"),
        Binding("escape", "back", "Close", id="turns.back", tooltip="Clear the filter, or close"),
        *list_keys("turns", without=LETTERS),
    ]

    def __init__(self, turns: Sequence[Turn], current: Turn | None) -> None:
        super().__init__("turns", "Turns", turns, current and current.unit)

    def choices(self) -> list[Choice]:
        go: list[Choice] = [("enter", "go to turn", "open")] if self.rows.row is not None else []
        return [*go, self.closing]

    async def clicked(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        self.catch_up()
        if (turn := self.rows.row) is not None:
            self.dismiss(turn.unit)
