"""The base of dialogs whose list shows what matches the words that are typed."""

from collections.abc import Iterable
from typing import ClassVar

from textual.widget import Widget
from textual.widgets import Input

from cogency_tui.tui.kit.dialogs import Choice, DialogBody
from cogency_tui.tui.kit.filter_line import FilterField
from cogency_tui.tui.kit.list_dialog import ListDialog, Result, Row
from cogency_tui.tui.kit.select_list import SelectList


class FilteredListDialog(ListDialog[Result | None, Row]):
    """A dialog of rows with a field above them. A subclass binds `back`, which clears the field, or else
    closes the dialog without a result."""

    AUTO_FOCUS: ClassVar[str | None] = "FilterField"

    def __init__(self, name: str, title: str, rows: SelectList[Row], note: DialogBody | None = None) -> None:
        super().__init__(name, title, rows, note)
        self._field = FilterField(id=f"{name}-filter")
        self._filtered = ""

    def show_matching(self, text: str) -> None:
        """Show the rows that match a text, which is in lower case and without blanks around it."""
        raise NotImplementedError

    @property
    def closing(self) -> Choice:
        """The key that clears the filter, or else closes the dialog."""
        return ("escape", "clear filter" if self._filtered else "close", "back")

    def parts(self) -> Iterable[Widget]:
        return [self._field, *super().parts()]

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.catch_up()

    def catch_up(self) -> None:
        """Show what matches by now: a key may be faster than the change of the field."""
        if self._filtered != self._field.value:
            self._filtered = self._field.value
            self.show_matching(self._filtered.strip().casefold())
            self.show_selected()

    def action_back(self) -> None:
        if self._field.value:
            self._field.value = ""
        else:
            self.dismiss(None)


def matches(text: str, words: str) -> bool:
    """Return whether a text has each of some words, which are in lower case."""
    folded = text.casefold()
    return all(word in folded for word in words.split())
