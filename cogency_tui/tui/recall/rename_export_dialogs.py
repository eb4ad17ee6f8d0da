"""Dialogs about a past conversation: its title, and the format of an export."""

from pathlib import Path
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.dialogs import (
    STYLES,
    Choice,
    Choices,
    Dialog,
    DialogBox,
    DialogTitle,
)
from cogency_tui.tui.kit.keys import act_in_order, key_name
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.list_dialog import ListDialog, Note
from cogency_tui.tui.kit.select_list import SelectList, list_keys
from cogency_tui.tui.recall.export import FORMS, Form
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.workspace.protected_names import short_path

RECALL_STYLES = Path(__file__).parent.parent / "styles" / "recall.tcss"
"""Loaded when the recall screen is first shown."""


_NAME_WIDTH = max(cells(name) for name, _about in FORMS.values())


class TitleField(Input):
    """The title, for editing."""

    async def _on_key(self, event: events.Key) -> None:
        await act_in_order(self, event)


class RenameScreen(Dialog["str | None"]):
    """Returns a title other than `title`; an empty one restores the title from the first message."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Rename", id="rename.accept"),
        Binding("escape", "close", "Cancel", id="rename.leave"),
    ]
    AUTO_FOCUS = "#rename-title"
    CSS_PATH: ClassVar = [STYLES, RECALL_STYLES]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def compose(self) -> ComposeResult:
        yield DialogBox(
            DialogTitle("Rename", id="rename-head"),
            TitleField(self._title, placeholder="Leave empty to use the first message", id="rename-title"),
            keys=Choices([("enter", "rename", "open"), ("escape", "cancel", "close")]),
            id="rename",
            classes="-question",
        )

    def on_mount(self) -> None:
        self.query_one(TitleField).cursor_blink = False

    @property
    def unsaved(self) -> str:
        return "" if self.query_one(TitleField).value == self._title else "the new title"

    def action_open(self) -> None:
        title = self.query_one(TitleField).value.strip()
        self.dismiss(None if title == self._title else title)


class ExportScreen(ListDialog["Form | None", Form]):
    """Returns the format in which the conversation called `title` is to be written into `directory`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Cancel", id="export.close"),
        Binding("enter,space", "choose", "Export", id="export.choose"),
        Binding("m", "export('md')", "Markdown", id="export.markdown"),
        Binding("h", "export('html')", "HTML", id="export.html"),
        Binding("l", "export('jsonl')", "JSON Lines", id="export.lines"),
        *list_keys("export"),
    ]
    CSS_PATH: ClassVar = [STYLES, RECALL_STYLES]

    def __init__(self, title: str, directory: Path) -> None:
        rows = SelectList(self._draw_row, str, id="export-list")
        super().__init__("export", "Export", rows, Note(self._draw_note, id="export-note"))
        self._title = title
        self._directory = directory

    def on_mount(self) -> None:
        self.heading.state(self._title)
        self.rows.show(list(FORMS))
        self.show_selected()

    def note_lines(self, height: int) -> int:
        del height
        return 2

    async def clicked(self) -> None:
        self.action_choose()

    def action_choose(self) -> None:
        if (form := self.rows.row) is not None:
            self.dismiss(form)

    def action_export(self, form: Form) -> None:
        self.dismiss(form)

    def choices(self) -> list[Choice]:
        return [("enter", "export", "choose"), ("escape", "cancel", "close")]

    def _draw_row(self, form: Form, width: int, styles: ThemeStyles, on: str) -> Line:
        name, about = FORMS[form]
        key = self._key_of(form)
        gap = " " * (_NAME_WIDTH - cells(name) + 2)
        room = width - cells(key) - _NAME_WIDTH - 4
        return Line(
            [
                Segment(f"{key}  ", styles("text", on)),
                Segment(name, styles("text", on, "bold")),
                Segment(gap + fit(about, room), styles("dim", on)),
            ]
        )

    def _key_of(self, form: Form) -> str:
        """The key of a format, which the user may have remapped."""
        bound, action = self.active_bindings, f"export({form!r})"
        return next((key_name(key) for key, each in bound.items() if each.binding.action == action), " ")

    def _draw_note(self, width: int, styles: ThemeStyles) -> list[Line]:
        return wrap([Segment(f"Saves to {short_path(self._directory)}.", styles("dim"))], width)
