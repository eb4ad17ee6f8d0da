"""The base of dialogs that list rows: a title, the list, a note about the selected row, and the keys."""

from collections.abc import Awaitable, Callable, Iterable
from typing import ClassVar, Generic, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget

from cogency_tui.errors import CogencyError
from cogency_tui.tui.kit.dialogs import (
    LOW,
    SHORT,
    STYLES,
    Choice,
    Choices,
    Dialog,
    DialogBody,
    DialogBox,
    DialogTitle,
)
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.select_list import SelectList
from cogency_tui.tui.theme_styles import ThemeStyles

Result = TypeVar("Result")
Row = TypeVar("Row")


_OTHERS = 4
"""Lines of a low screen that the title, the filter, one row and the keys need."""


class Note(DialogBody):
    """The selected row in full."""

    def __init__(self, draw: Callable[[int, ThemeStyles], list[Line]], *, id: str | None = None) -> None:
        super().__init__(draw, id=id)
        self.add_class("dialog-note")


class ListDialog(Dialog[Result], Generic[Result, Row]):
    """A dialog of `rows`. Its bindings, from `list_keys`, move the selection."""

    AUTO_FOCUS = ""
    CSS_PATH = STYLES

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("shift+up", "scroll_note(-1)", "Scroll the note up", show=False, id="dialog.note_up"),
        Binding("shift+down", "scroll_note(1)", "Scroll the note down", show=False, id="dialog.note_down"),
    ]

    BOX: ClassVar[str] = ""
    """The classes of the box: `-wide` and `-tall` for a larger one."""

    def __init__(self, name: str, title: str, rows: SelectList[Row], note: DialogBody | None = None) -> None:
        super().__init__()
        self.rows = rows
        self.note = note
        self.heading = DialogTitle(title, id=f"{name}-title")
        self._scope = name
        self._keys = Choices([])
        self._laid_out = 0
        """The most rows that the dialog had so far, which is as high as these."""

    def compose(self) -> ComposeResult:
        yield DialogBox(self.heading, *self.parts(), keys=self._keys, id=self._scope, classes=self.BOX)

    def parts(self) -> Iterable[Widget]:
        """The widgets between the title and the keys."""
        return [self.rows] if self.note is None else [self.rows, self.note]

    def choices(self) -> list[Choice]:
        """The keys that do something now."""
        raise NotImplementedError

    def note_lines(self, height: int) -> int:
        """The least lines of the note on a screen of `height` lines; the list has the others."""
        return 2 if height < LOW else 4

    async def load(self) -> None:
        """Show the present rows."""

    def on_resize(self, event: events.Resize) -> None:
        if self.note is not None:
            self.note.styles.height = self.note_lines(event.size.height)
            self.call_after_refresh(self._fit_note)

    def _fit_note(self) -> None:
        """Give the note the height that it needs where the dialog has all of a short screen, up to a half.
        Elsewhere its height is fixed, so that the list stays where it is as the selection moves.
        """
        height = self.size.height
        if self.note is not None and self.note.text_width > 0:
            lines = self.note_lines(height)
            needed = min(self.note.prepare(self.note.text_width), height // 2) if height < SHORT else 0
            self.note.styles.height = min(max(lines, needed), max(0, height - _OTHERS))

    def action_scroll_note(self, lines: int) -> None:
        if self.note is not None:
            self.note.jump(self.note.scroll_offset.y + lines)

    async def on_select_list_chosen(self, event: SelectList.Chosen) -> None:
        event.stop()
        await self.clicked()

    async def clicked(self) -> None:
        """Follow a click on a row."""
        await self.moved()

    async def moved(self) -> None:
        """Follow the selection."""
        if self.note is not None:
            self.note.jump(0)
        self.show_selected()

    def show_selected(self) -> None:
        """Show the note about the selected row, and the keys that do something on it."""
        if len(self.rows.rows) > self._laid_out:
            self._laid_out = len(self.rows.rows)
            self.rows.refresh(layout=True)
        self._keys.offer(self.choices())
        if self.note is not None:
            self.note.redraw()
            self._fit_note()
        self.refresh_bindings()

    async def do(self, work: Callable[[], Awaitable[object]]) -> bool:
        """Make a change, and show it or its error; return whether it succeeded."""
        try:
            await work()
        except CogencyError as exc:
            self.notify(exc.advice, severity="error", markup=False)
            return False
        finally:
            if self.is_attached:
                await self.load()
        return True

    def catch_up(self) -> None:
        """Apply the text typed so far."""

    async def action_move(self, step: int) -> None:
        self.catch_up()
        self.rows.move(step)
        await self.moved()

    async def action_page(self, direction: int) -> None:
        self.catch_up()
        self.rows.action_page(direction)
        await self.moved()

    async def action_end(self, way: int) -> None:
        self.rows.action_end(way)
        await self.moved()
