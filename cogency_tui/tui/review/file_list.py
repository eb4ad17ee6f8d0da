"""The changed files: a row each under headings, with its state and its added and removed lines."""

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType

from cogency_tui.agent.review.model import ChangedFile, FileKey
from cogency_tui.tui.kit.lines import Line, cells, fit, fit_path, width_of
from cogency_tui.tui.kit.number_format import counted
from cogency_tui.tui.kit.select_list import SelectList
from cogency_tui.tui.review.file_rows import FileHeading, FileRow, ListRow
from cogency_tui.tui.review.hunk_states import GLYPHS, KIND_LETTERS, ROLES
from cogency_tui.tui.review.keys import filter_key
from cogency_tui.tui.theme_styles import ThemeStyles

_WORDY = 40
"""Cells from which a row has room for the word of its state."""

_WORD = 9
_COUNTS = 11


class FileList(SelectList[ListRow]):
    """Selects a file; the selection skips headings."""

    BINDING_GROUP_TITLE = "Changed files"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Previous file", show=False, id="review.list.up"),
        Binding("down", "move(1)", "Next file", show=False, id="review.list.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="review.list.page_up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="review.list.page_down"),
        Binding("home", "end(-1)", "First file", show=False, id="review.list.home"),
        Binding("end", "end(1)", "Last file", show=False, id="review.list.end"),
        Binding("enter,right,l", "open", "Open", id="review.list.open", tooltip="Go to the diff of the file"),
        filter_key("review.list.filter"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(_draw_row, _key_of, focusable=True, id=id)

    @property
    def file(self) -> ChangedFile | None:
        """The selected file."""
        row = self.row
        return row.file if isinstance(row, FileRow) else None

    def show_rows(self, rows: Sequence[ListRow], selected: int) -> None:
        """Show other rows at the same scroll position, with the one at a place selected."""
        self.rows = rows
        self.restore(None, selected)

    def action_open(self) -> None:
        self.post_message(self.Chosen(again=True))


def _key_of(row: ListRow) -> FileKey | None:
    return row.file.key if isinstance(row, FileRow) else None


def _draw_row(row: ListRow, width: int, styles: ThemeStyles, on: str) -> Line:
    if isinstance(row, FileHeading):
        return _draw_heading(row, width, styles)
    return _draw_file(row, width, styles, on)


def _draw_heading(row: FileHeading, width: int, styles: ThemeStyles) -> Line:
    title = fit_path(row.text, width) if row.is_path else row.text
    about = fit(row.aside, max(0, width - cells(title) - 2))
    return Line(
        [
            Segment(title, styles("dim", attributes="bold")),
            Segment(f"  {about}" if about else "", styles("dim")),
        ]
    )


def _draw_file(row: FileRow, width: int, styles: ThemeStyles, on: str) -> Line:
    file, state = row.file, row.file.state
    left = [
        Segment(f"{GLYPHS[state]} ", styles(ROLES[state], on)),
        Segment(f"{KIND_LETTERS[file.kind]} ", styles("dim", on)),
    ]
    right = [Segment(f" {counted(file.added, file.removed)}", styles("dim", on))]
    if width >= _WORDY:
        right = [
            Segment(right[0].text.rjust(_COUNTS), styles("dim", on)),
            Segment(state.rjust(_WORD), styles(ROLES[state], on)),
        ]
    room = width - width_of(left) - width_of(right)
    label = fit_path(row.label, room) if row.is_path else fit(row.label, room)
    role = "dim" if state == "reverted" else "text"
    name = Segment(label + " " * (room - cells(label)), styles(role, on))
    return Line([*left, name, *right])
