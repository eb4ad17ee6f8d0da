"""A list of rows of which one is selected; the keys are the screen's, so that the user can type to filter."""

from collections.abc import Sequence
from typing import Generic, TypeVar

import msgspec
from textual import events
from textual.message import Message

from cogency_tui.tui.kit.line_view import LineView
from cogency_tui.tui.kit.lines import Line

Row = TypeVar("Row")


class SelectList(LineView, Generic[Row]):
    """One line for each row. Subclasses draw the rows."""

    ALLOW_SELECT = False

    class Chosen(Message):
        """A row was clicked, and is now selected."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.can_focus = False
        self._rows: Sequence[Row] = ()
        self.selected = 0

    @property
    def rows(self) -> Sequence[Row]:
        """All rows."""
        return self._rows

    @property
    def row(self) -> Row | None:
        """The selected row, if there is any."""
        return self._rows[self.selected] if self._rows else None

    def show(self, rows: Sequence[Row], selected: int = 0) -> None:
        """Show `rows`, with the one numbered `selected` selected."""
        self._rows = rows
        self.selected = selected
        self.resize_column(len(rows))
        self.jump(0)
        self._reveal()
        self.refresh()

    def move(self, step: int) -> None:
        """Move the selection by `step` rows."""
        if self._rows:
            self.selected = max(0, min(self.selected + step, len(self._rows) - 1))
            self._reveal()
            self.refresh()

    def draw_row(self, row: Row, on: str) -> Line:
        """The line of `row` on the surface `on`."""
        raise NotImplementedError

    def on_click(self, event: events.Click) -> None:
        row = self.scroll_offset.y + event.y
        if row < len(self._rows):
            self.move(row - self.selected)
            self.post_message(self.Chosen())

    def on_resize(self) -> None:
        self._reveal()

    def _reveal(self) -> None:
        """Scroll to the selected row, once the height of the view is known."""
        if self.page:
            self.reveal(self.selected)

    def surface_at(self, y: int) -> str:
        return "cursor" if y == self.selected and self._rows else "surface"

    def line_at(self, y: int) -> Line | None:
        return self.draw_row(self._rows[y], self.surface_at(y)) if y < len(self._rows) else None


class Heading(msgspec.Struct, frozen=True):
    """The heading of a group, with a remark beside it."""

    text: str
    aside: str = ""


class HeadedList(SelectList[Row]):
    """A list in which some rows are a `Heading`, which the selection skips."""

    def move(self, step: int) -> None:
        last = len(self._rows) - 1
        target = max(0, min(self.selected + step, last))
        onward = range(target, last + 1) if step > 0 else range(target, -1, -1)
        stop = next((at for at in onward if not isinstance(self._rows[at], Heading)), self.selected)
        super().move(stop - self.selected)
