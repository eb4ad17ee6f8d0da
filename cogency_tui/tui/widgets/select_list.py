"""A list of rows of which one is selected; the keys are the screen's, so that one can type to filter."""

from collections.abc import Sequence
from typing import Generic, TypeVar

from textual import events
from textual.message import Message

from cogency_tui.tui.drawing.lines import Line
from cogency_tui.tui.widgets.line_view import LineView

Row = TypeVar("Row")


class SelectList(LineView, Generic[Row]):
    """One line a row. Subclasses say how a row is drawn."""

    ALLOW_SELECT = False

    class Chosen(Message):
        """A row was clicked; it is the selected one."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.can_focus = False
        self._rows: Sequence[Row] = ()
        self.selected = 0

    @property
    def rows(self) -> Sequence[Row]:
        """All of them."""
        return self._rows

    @property
    def row(self) -> Row | None:
        """The selected row, if there is any."""
        return self._rows[self.selected] if self._rows else None

    def show(self, rows: Sequence[Row], selected: int = 0) -> None:
        """Show `rows`, the one numbered `selected` selected."""
        self._rows = rows
        self.selected = selected
        self.resize_column(len(rows))
        self.jump(0)
        self._reveal()
        self.refresh()

    def move(self, step: int) -> None:
        """Select another one."""
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
        """Have the selected row in sight, once it is known what is."""
        if self.page:
            self.reveal(self.selected)

    def surface_at(self, y: int) -> str:
        return "cursor" if y == self.selected and self._rows else "surface"

    def line_at(self, y: int) -> Line | None:
        return self.draw_row(self._rows[y], self.surface_at(y)) if y < len(self._rows) else None
