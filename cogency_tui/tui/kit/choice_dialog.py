"""A dialog that lists the choices of one thing with what each means, and returns the chosen one."""

from collections.abc import Sequence
from operator import attrgetter
from typing import ClassVar

import msgspec
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType

from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.dialogs import Choice
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.list_dialog import ListDialog, Note
from cogency_tui.tui.kit.select_list import SelectList, list_keys
from cogency_tui.tui.theme_styles import ThemeStyles

_WIDE = 80
"""Columns of a screen from which on most meanings fit beside the choices."""


class ChoiceRow(msgspec.Struct, frozen=True):
    """A choice and its meaning; `current` is the present one."""

    value: str
    meaning: str = ""
    current: bool = False


class ChoiceDialog(ListDialog["str | None", ChoiceRow]):
    """Returns the value of one of `rows`; None if the user cancels."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Cancel", id="choice.close"),
        Binding("enter,space", "choose", "Choose", id="choice.choose"),
        *list_keys("choice"),
    ]

    def __init__(self, title: str, rows: Sequence[ChoiceRow]) -> None:
        self._name_width = max((cells(one_line(row.value)) for row in rows), default=0)
        listed = SelectList(self._draw_row, attrgetter("value"), id="choice-list")
        super().__init__("choice", title, listed, Note(self._draw_note, id="choice-note"))
        self._offered = rows

    def on_mount(self) -> None:
        self.rows.show(self._offered, next((row.value for row in self._offered if row.current), None))
        self.show_selected()

    def on_resize(self, event: events.Resize) -> None:
        # In a wide dialog each meaning is beside its choice.
        assert self.note is not None
        self.note.display = event.size.width < _WIDE
        self.call_after_refresh(self._explain_cut)

    def _explain_cut(self) -> None:
        """Show the note if a meaning does not fit beside its choice."""
        room = self.rows.text_width - self._name_width - 4
        if self.note is not None and any(cells(row.meaning) > room for row in self._offered):
            self.note.display = True
            self._fit_note()

    async def clicked(self) -> None:
        self.action_choose()

    def action_choose(self) -> None:
        if (row := self.rows.row) is not None:
            self.dismiss(row.value)

    def choices(self) -> list[Choice]:
        return [("enter", "choose", "choose"), ("escape", "cancel", "close")]

    def _draw_note(self, width: int, styles: ThemeStyles) -> list[Line]:
        row = self.rows.row
        return wrap([Segment(row.meaning, styles("text"))], width) if row and row.meaning else []

    def _draw_row(self, row: ChoiceRow, width: int, styles: ThemeStyles, on: str) -> Line:
        name = one_line(row.value)
        gap = " " * (self._name_width - cells(name) + 2)
        return Line(
            [
                Segment("● " if row.current else "  ", styles("accent", on)),
                Segment(fit(name, width - 2), styles("text", on, "bold" if row.current else "")),
                Segment(gap + fit(row.meaning, width - self._name_width - 4), styles("dim", on)),
            ]
        )
