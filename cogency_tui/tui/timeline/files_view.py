"""The files at a point: a list, and for the selected one the difference from today or its contents."""

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from cogency_tui.agent.timeline.model import PastFile
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.bar import Bar, Surface, end_to_end
from cogency_tui.tui.kit.cell_text import cells, fit, fit_path
from cogency_tui.tui.kit.lines import Line, width_of
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.select_list import SelectList
from cogency_tui.tui.review.hunk_states import KIND_LETTERS
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.timeline.keys import Traveled
from cogency_tui.tui.timeline.lines_pane import BlockPane, Make

ComparedFile = tuple[PastFile, bool | None]
"""A file, and whether it is unchanged today; None if unknown."""

_WORDS = {True: "unchanged", False: "changed since", None: "current state unknown"}
_LATER_WORDS = {
    True: "changed later, now unchanged",
    False: "changed later",
    None: "changed later, state unknown",
}
_WORDY = 44
"""Cells from which a row has room for words."""

_GLYPHS = {True: "=", False: "≠", None: "?"}
_INKS = {True: "good", False: "edit", None: "dim"}


class FileRows(Traveled, SelectList[ComparedFile]):
    """Selects a file, and scrolls the text beside it."""

    BINDING_GROUP_TITLE = "Files"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Previous file", show=False, id="timeline.files.up"),
        Binding("down", "move(1)", "Next file", show=False, id="timeline.files.down"),
        Binding(
            "enter,space",
            "turn",
            "Show",
            id="timeline.files.turn",
            tooltip="Switch between the changes since and the text at this point",
        ),
        Binding("k", "scroll_text('line', -1)", "Text up", show=False, id="timeline.files.text_up"),
        Binding("j", "scroll_text('line', 1)", "Text down", show=False, id="timeline.files.text_down"),
        Binding("pageup", "scroll_text('page', -1)", "Page up", show=False, id="timeline.files.page_up"),
        Binding("pagedown", "scroll_text('page', 1)", "Page down", show=False, id="timeline.files.page_down"),
    ]

    class Turned(Message):
        """The user asks for the file's other text."""

    class Scrolled(Message):
        """The user scrolls the text, by lines or by pages."""

        def __init__(self, by: str, step: int) -> None:
            self.by = by
            self.step = step
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(draw_past_file, _path_of, focusable=True, id=id)

    def action_turn(self) -> None:
        self.post_message(self.Turned())

    def action_scroll_text(self, by: str, step: int) -> None:
        self.post_message(self.Scrolled(by, step))


def draw_past_file(row: ComparedFile, width: int, styles: ThemeStyles, on: str) -> Line:
    """Draw one line of the list."""
    file, still = row
    letter = KIND_LETTERS[file.change.kind] if file.change else "·"
    words = _words(file, still)
    left = [
        Segment(f"{_GLYPHS[still]} ", styles(_INKS[still], on)),
        Segment(f"{letter} ", styles("dim", on)),
    ]
    right = Segment(f"  {fit(words, width // 2) if width >= _WORDY else ''}", styles("dim", on))
    room = max(4, width - width_of([*left, right]))
    path = fit_path(one_line(file.path), room)
    name = Segment(path + " " * (room - cells(path)), styles("text" if file.change else "dim", on))
    return Line([*left, name, right])


def _path_of(row: ComparedFile) -> str:
    return row[0].path


class TextTitle(Bar):
    """Names the shown text and its file."""

    SURFACE = "surface"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._path = self._what = ""

    def say(self, path: str, what: str) -> None:
        """Show another path, and the kind of text."""
        self._path, self._what = one_line(path), what
        self.refresh()

    def segments(self, width: int) -> list[Segment]:
        styles = self.theme_styles
        right = [Segment(f"{fit(self._what, width // 2)}  ", styles("dim"))]
        path = fit_path(self._path, max(4, width - width_of(right) - 4))
        return end_to_end(
            [Segment(f"  {path}", styles("text", attributes="bold"))], right, width, styles, "surface"
        )


class FilesView(Surface):
    """The list above, the text below; `nothing` is shown if there are no files."""

    class Requested(Message):
        """Requests the difference of this file, or the contents that it `held`."""

        def __init__(self, file: PastFile, *, held: bool) -> None:
            self.file = file
            self.held = held
            super().__init__()

    def __init__(self, nothing: Make, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._nothing = nothing
        self._rows = FileRows(id="timeline-file-rows")
        self._title = TextTitle(id="timeline-file-title")
        self._text = BlockPane(id="timeline-file-text")
        self._text.can_focus = False
        self._held = False
        self._shown = ""

    def compose(self) -> ComposeResult:
        yield self._rows
        yield self._title
        yield self._text

    @property
    def rows(self) -> FileRows:
        return self._rows

    def show(self, files: Sequence[ComparedFile]) -> None:
        """Show other files, with the same path selected if it is there."""
        self._rows.show(files, self._rows.key)
        self._fit()
        self._ask()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """Give the list up to a third of the height."""
        self._rows.styles.height = max(1, min(len(self._rows.rows), max(2, self.size.height // 3)))

    def show_text(self, file: PastFile, make: Make) -> None:
        """Show the requested text, unless another file is selected by now."""
        row = self._rows.row
        if row is not None and row[0] == file:
            self._text.show(make, retain=self._shown == file.path)
            self._shown = file.path

    def describe(self) -> str:
        """Describe the number of files in a line."""
        rows = self._rows.rows
        changed = sum(file.change is not None for file, _still in rows)
        later = len(rows) - changed
        facts = [f"{plural(changed, 'file')} changed"]
        return " · ".join([*facts, *([f"{later} later"] if later else [])])

    def on_select_list_selected(self, event: SelectList.Selected) -> None:
        event.stop()
        self._ask()

    def on_file_rows_turned(self, event: FileRows.Turned) -> None:
        event.stop()
        self._held = not self._held
        self._shown = ""
        self._ask()

    def on_file_rows_scrolled(self, event: FileRows.Scrolled) -> None:
        event.stop()
        (self._text.action_line if event.by == "line" else self._text.action_page)(event.step)

    def _ask(self) -> None:
        row = self._rows.row
        if row is None:
            self._title.say("", "")
            self._text.show(self._nothing)
            return
        self._title.say(row[0].path, "at this point" if self._held else "− then   + now")
        self.post_message(self.Requested(row[0], held=self._held))


def _words(file: PastFile, still: bool | None) -> str:
    if file.then.kind == "absent":
        return "did not exist yet" if file.change is None else "deleted"
    if file.path_today != file.path and still is not False:
        return f"now {one_line(file.path_today)}"
    return _WORDS[still] if file.change else _LATER_WORDS[still]
