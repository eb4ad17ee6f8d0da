"""The changed files: a row each under headings, with its state and its added and removed lines."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType

from cogency_tui.agent.review.model import ChangedFile, FileKey
from cogency_tui.tui.kit.cell_text import cells, fit, fit_path
from cogency_tui.tui.kit.lines import Line, width_of
from cogency_tui.tui.kit.number_format import counted
from cogency_tui.tui.kit.select_list import SelectList
from cogency_tui.tui.review.file_rows import FileHeading, FileRow, ListRow
from cogency_tui.tui.review.hunk_states import (
    KIND_LETTERS,
    ROLES,
    comment_mark,
    file_glyph,
    file_state,
    file_words,
)
from cogency_tui.tui.review.keys import filter_key
from cogency_tui.tui.theme_styles import ThemeStyles

_WORDY = 40
"""Cells from which a row has room for its state, whatever its name."""

_LEFT = 4
"""Cells of the glyphs before a name."""

_STATE = 8
"""Cells of the longest state of one hunk."""

_SPACE = 2
"""Cells between two columns."""


class FileList(SelectList[ListRow]):
    """Selects a file; the selection skips headings."""

    BINDING_GROUP_TITLE = "Changed files"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Previous file", show=False, id="review.list.up"),
        Binding("down,j", "move(1)", "Next file", show=False, id="review.list.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="review.list.page_up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="review.list.page_down"),
        Binding("home", "end(-1)", "First file", show=False, id="review.list.home"),
        Binding("end", "end(1)", "Last file", show=False, id="review.list.end"),
        Binding("enter,right,l", "open", "Open", id="review.list.open", tooltip="Go to the diff of the file"),
        filter_key("review.list.filter"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(self._draw_row, _key_of, focusable=True, id=id)
        self._columns = _Columns()
        self._picked: Collection[FileKey] = ()

    @property
    def file(self) -> ChangedFile | None:
        """The selected file."""
        row = self.row
        return row.file if isinstance(row, FileRow) else None

    @property
    def natural_width(self) -> int:
        """The width at which no name is cut; it does not depend on the states."""
        columns = self._columns
        return (
            2 * self.MARGIN + _LEFT + columns.name + columns.counts + max(_STATE, columns.glyphs) + 2 * _SPACE
        )

    def select_undecided(self) -> None:
        """Select the next file with an undecided hunk, if there is one."""
        below = enumerate(self.rows[self.selected + 1 :], self.selected + 1)
        undecided = (y for y, row in below if isinstance(row, FileRow) and "new" in row.file.states)
        self.select(next(undecided, self.selected))

    def show_picked(self, files: Collection[FileKey]) -> None:
        """Mark these files as those with selected hunks."""
        self._picked = files
        self.refresh()

    def show_rows(self, rows: Sequence[ListRow], selected: int) -> None:
        """Show other rows at the same scroll position, with the one at a place selected."""
        self.rows = rows
        files = [row for row in rows if isinstance(row, FileRow)]
        self._columns = _columns([row.file for row in files], [row.label for row in files])
        self.restore(None, selected)

    def _draw_row(self, row: ListRow, width: int, styles: ThemeStyles, on: str) -> Line:
        if isinstance(row, FileHeading):
            return _draw_heading(row, width, styles)
        return _draw_file(row, self._columns, width, styles, on, picked=row.file.key in self._picked)

    def action_open(self) -> None:
        self.post_message(self.Chosen(again=True))


def _key_of(row: ListRow) -> FileKey | None:
    return row.file.key if isinstance(row, FileRow) else None


def _draw_heading(row: FileHeading, width: int, styles: ThemeStyles) -> Line:
    title = fit_path(row.text, width) if row.is_path else row.text
    about = fit(row.aside, max(0, width - cells(title) - 2))
    return Line(
        [
            Segment(title, styles("dim", attributes="bold")),
            Segment(f"  {about}" if about else "", styles("dim")),
        ]
    )


@dataclass(frozen=True, slots=True)
class _Columns:
    """The widest name, counts, and state of some files; the states in words, and `short`."""

    name: int = 0
    counts: int = 0
    words: int = 0
    glyphs: int = 0

    def fit(self, room: int) -> tuple[int, bool]:
        """The width of the states beside which no name is cut, 0 without them, and whether they are short."""
        left = room - self.name - self.counts - _SPACE
        if self.words + _SPACE <= left:
            return self.words, False
        return (self.glyphs if self.glyphs + _SPACE <= left or room >= _WORDY else 0), True


def _columns(files: Sequence[ChangedFile], labels: Sequence[str]) -> _Columns:
    return _Columns(
        max(map(cells, labels), default=0),
        max((sum(cells(text) for text, _role in _counts(file)) for file in files), default=0),
        *(max((_state_width(file, short=short) for file in files), default=0) for short in (False, True)),
    )


def _state_width(file: ChangedFile, *, short: bool) -> int:
    return sum(cells(text) for text, _role in file_words(file, short=short))


def _counts(file: ChangedFile) -> list[tuple[str, str]]:
    """The comments that go with the next message, and the lines, each with its role."""
    lines = counted(file.added, file.removed)
    comments = comment_mark(len(file.unsent))
    return [(comments, "accent"), (" " if comments and lines else "", "dim"), (lines, "dim")]


def _draw_file(
    row: FileRow, columns: _Columns, width: int, styles: ThemeStyles, on: str, *, picked: bool
) -> Line:
    file = row.file
    mark = Segment("◆ ", styles("accent", on)) if picked else None
    left = [
        Segment(f"{file_glyph(file)} ", styles(ROLES[file.state], on)),
        mark or Segment(f"{KIND_LETTERS[file.kind]} ", styles("dim", on)),
    ]
    counts = [Segment(text, styles(role, on)) for text, role in _counts(file)]
    right = [Segment(" " * (columns.counts + _SPACE - width_of(counts)), styles("dim", on)), *counts]
    states, short = columns.fit(width - _LEFT)
    if states:
        words = file_state(file, styles, on, short=short)
        right += [Segment(" " * (states + _SPACE - width_of(words)), styles("text", on)), *words]
    room = max(1, width - width_of(left) - width_of(right))
    label = fit_path(row.label, room) if row.is_path else fit(row.label, room)
    role = "dim" if file.state in ("reverted", "gone") else "text"
    name = Segment(label + " " * (room - cells(label)), styles(role, on))
    return Line([*left, name, *right])
