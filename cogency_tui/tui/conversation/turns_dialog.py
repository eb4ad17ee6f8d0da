"""Dialogs of the conversation's turns, filtered by what is typed; one of them is the table of contents."""

from collections.abc import Sequence
from operator import attrgetter
from time import time
from typing import ClassVar, TypeVar

from textual.binding import Binding, BindingType

from cogency_tui.tui.conversation.turns import Turn, columns_of, draw_turn
from cogency_tui.tui.kit.dialogs import Choice, DialogBody
from cogency_tui.tui.kit.filtered_list_dialog import FilteredListDialog, matches
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.select_list import LETTERS, SelectList, list_keys
from cogency_tui.tui.theme_styles import ThemeStyles

Result = TypeVar("Result")


class TurnsDialog(FilteredListDialog[Result, Turn]):
    """Lists `turns`, with the one of the message `selected` selected first. A subclass binds `open`, which
    Enter runs, and `back`."""

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
        self._now = time()
        self._columns = columns_of(turns, self._now)

    async def on_mount(self) -> None:
        self.rows.show(self._turns, self._first)
        await self.moved()
        self._count()

    def show_matching(self, text: str) -> None:
        self.rows.show([turn for turn in self._turns if matches(turn.text, text)], self.rows.key)
        self._count()

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
