"""Dialogs about a past conversation: its title, and the format of an export."""

from pathlib import Path
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from cogency_tui.tui.kit.dialogs import (
    STYLES,
    Choice,
    Choices,
    Dialog,
    DialogBody,
    DialogBox,
    DialogTitle,
    ReadingScreen,
)
from cogency_tui.tui.kit.keys import act_in_order
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.recall.export import FORMS, Form
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.workspace.protected_names import short_path

RECALL_STYLES = Path(__file__).parent.parent / "styles" / "recall.tcss"
"""Loaded when the recall screen is first shown."""


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
            DialogTitle("Title", id="rename-head"),
            TitleField(self._title, placeholder="Empty: the first message", id="rename-title"),
            keys=Choices([("enter", "rename", "open"), ("escape", "cancel", "close")]),
            id="rename",
            classes="-question",
        )

    def on_mount(self) -> None:
        self.query_one(TitleField).cursor_blink = False

    def action_open(self) -> None:
        title = self.query_one(TitleField).value.strip()
        self.dismiss(None if title == self._title else title)


class ExportScreen(ReadingScreen[Form]):
    """Returns the format in which the conversation called `title` is to be written into `directory`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "export('md')", "Markdown", id="export.markdown"),
        Binding("h", "export('html')", "HTML", id="export.html"),
        Binding("l", "export('jsonl')", "JSON Lines", id="export.lines"),
    ]
    CSS_PATH: ClassVar = [STYLES, RECALL_STYLES]

    def __init__(self, title: str, directory: Path) -> None:
        super().__init__()
        self._title = title
        self._directory = directory

    def compose(self) -> ComposeResult:
        choices: list[Choice] = [("m", "Markdown", "export('md')"), ("h", "HTML", "export('html')")]
        choices += [("l", "JSON Lines", "export('jsonl')"), ("escape", "cancel", "close")]
        yield DialogBox(
            DialogTitle("Export", id="export-head"),
            DialogBody(self._draw, id="export-body"),
            keys=Choices(choices),
            id="export",
            classes="-question",
        )

    def on_mount(self) -> None:
        self.query_one(DialogTitle).state(self._title)

    def action_export(self, form: Form) -> None:
        self.dismiss(form)

    def _draw(self, width: int, styles: ThemeStyles) -> list[Line]:
        lines: list[Line] = []
        for name, about in FORMS.values():
            segments = [
                Segment(f"{name}: ", styles("text", attributes="bold")),
                Segment(about, styles("dim")),
            ]
            lines += wrap(segments, width)
        return [
            *lines,
            *wrap([Segment(f"Saves to {short_path(self._directory)}.", styles("dim"))], width),
        ]
