"""The changed files: a row each under headings, with its state and its added and removed lines."""

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from cogency_tui.agent.review.model import ChangedFile
from cogency_tui.tui.kit.lines import Line, cells, fit, fit_path, width_of
from cogency_tui.tui.kit.select_list import SelectList
from cogency_tui.tui.review.keys import filter_key
from cogency_tui.tui.review.rows import FileRow, Heading, ListRow, step_from
from cogency_tui.tui.review.states import GLYPHS, KIND_LETTERS, ROLES, counted

_WORDY = 40
"""Cells from which a row has room for the word of its state."""

_WORD = 9
_COUNTS = 11


class FileList(SelectList[ListRow]):
    """Selects a file; the selection skips headings."""

    BINDING_GROUP_TITLE = "In the list of files"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step(-1)", "Previous file", show=False, id="review.list.up"),
        Binding("down", "step(1)", "Next file", show=False, id="review.list.down"),
        Binding("pageup", "step(-10)", "Ten files up", show=False, id="review.list.page_up"),
        Binding("pagedown", "step(10)", "Ten files down", show=False, id="review.list.page_down"),
        Binding("home", "step(-1000000)", "First file", show=False, id="review.list.home"),
        Binding("end", "step(1000000)", "Last file", show=False, id="review.list.end"),
        Binding("enter,right,l", "open", "Look at it", id="review.list.open", tooltip="Go to its diff"),
        filter_key("review.list.filter"),
    ]

    class Selected(Message):
        """Another file is selected."""

    class Opened(Message):
        """The user opens the selected file."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.can_focus = True

    @property
    def file(self) -> ChangedFile | None:
        """The selected file."""
        row = self.row
        return row.file if isinstance(row, FileRow) else None

    def update_rows(self, rows: Sequence[ListRow], selected: int) -> None:
        """Show other rows at the same scroll position."""
        top = self.scroll_offset.y
        self.show(rows, selected)
        self.jump(min(top, self.max_scroll_y))
        self._reveal()

    def move(self, step: int) -> None:
        """Select the file `step` files on."""
        if self._rows and step:
            self.select(step_from(self._rows, self.selected, step))

    def select(self, place: int) -> None:
        """Select the file in this row."""
        if place != self.selected:
            super().move(place - self.selected)
            self.post_message(self.Selected())

    def on_click(self, event: events.Click) -> None:
        # Textual would also call the base class's handler, which selects the file beside a clicked heading.
        event.prevent_default()
        y = self.scroll_offset.y + event.y
        if y < len(self._rows) and isinstance(self._rows[y], FileRow):
            self.select(y)
            self.post_message(self.Opened())

    def action_step(self, step: int) -> None:
        self.move(step)

    def action_open(self) -> None:
        self.post_message(self.Opened())

    def draw_row(self, row: ListRow, on: str) -> Line:
        return self._draw_heading(row) if isinstance(row, Heading) else self._draw_file(row, on)

    def surface_at(self, y: int) -> str:
        return "cursor" if y == self.selected and self.file is not None else "surface"

    def _reveal(self) -> None:
        super()._reveal()
        if self.page and self.selected == 1 and self.scroll_offset.y == 1:
            # Scrolls to the heading above the first file.
            self.jump(0)

    def _draw_heading(self, row: Heading) -> Line:
        width, inks = self.text_width, self.inks
        title = fit_path(row.title, width) if row.is_path else row.title
        about = fit(row.about, max(0, width - cells(title) - 2))
        return Line(
            [
                Segment(title, inks("dim", attributes="bold")),
                Segment(f"  {about}" if about else "", inks("dim")),
            ]
        )

    def _draw_file(self, row: FileRow, on: str) -> Line:
        width, inks, file = self.text_width, self.inks, row.file
        state = file.state
        left = [
            Segment(f"{GLYPHS[state]} ", inks(ROLES[state], on)),
            Segment(f"{KIND_LETTERS[file.kind]} ", inks("dim", on)),
        ]
        right = [Segment(f" {counted(file.added, file.removed)}", inks("dim", on))]
        if width >= _WORDY:
            right = [
                Segment(right[0].text.rjust(_COUNTS), inks("dim", on)),
                Segment(state.rjust(_WORD), inks(ROLES[state], on)),
            ]
        room = width - width_of(left) - width_of(right)
        label = fit_path(row.label, room) if row.is_path else fit(row.label, room)
        role = "dim" if state == "reverted" else "text"
        name = Segment(label + " " * (room - cells(label)), inks(role, on))
        return Line([*left, name, *right])
