"""The text field below a hunk: its lines, for editing, or a comment about it.

It returns the text, and changes nothing itself. No text is lost by mistake: canceling asks for confirmation.
It is part of the review from the beginning, so that text typed right after the key that opens it is in it.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from cogency_tui.errors import CogencyError
from cogency_tui.tui.kit.bar import Bar, end_to_end
from cogency_tui.tui.kit.cell_text import fit
from cogency_tui.tui.kit.code import SourceColors
from cogency_tui.tui.kit.dialogs import discard
from cogency_tui.tui.kit.edit_area import EditArea
from cogency_tui.tui.kit.file_text import language_of
from cogency_tui.tui.kit.footer import Hints
from cogency_tui.tui.kit.keys import act_in_order, draw_key, key_name
from cogency_tui.tui.kit.lines import width_of
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.theme_styles import theme_styles_of

_LEAST = 8
"""Cells for the remark beside the title; with fewer it is left out."""

_TITLE = 1
"""Lines above the text."""


@dataclass(frozen=True, slots=True)
class Task:
    """The text to write. A `short` one is sent with Enter, and Ctrl+J breaks its lines; another has line
    numbers from `line` on, and the colors of code in the file `path` below the lines `above`.
    """

    title: str
    about: str
    text: str
    verb: str
    short: bool = False
    path: str = ""
    line: int = 1
    above: Sequence[str] = ()
    draft: str | None = None
    """What was written instead of the text, and could not be saved."""


_NOTHING = Task("", "", "", "")


class EditorTitle(Bar):
    """The task, and the keys that end it."""

    SURFACE = "raised"

    _current = _NOTHING

    def show(self, task: Task) -> None:
        """Show another task."""
        self._current = task
        self.refresh()

    def segments(self, width: int) -> list[Segment]:
        styles, task = self.theme_styles, self._current
        left = [Segment(f"  {task.title}", styles("accent", "raised", "bold"))]
        right = self._keys(width - width_of(left) - 3)
        room = width - width_of([*left, *right]) - 4
        about = fit(task.about, room) if room >= _LEAST else ""
        return end_to_end(
            [*left, Segment(f"  {about}", styles("dim", "raised"))], right, width, styles, "raised"
        )

    def _keys(self, room: int) -> list[Segment]:
        """The keys that fit, at least the one to cancel."""
        save = ("enter" if self._current.short else "ctrl+s", self._current.verb)
        new_line, cancel = ("ctrl+j", "new line"), ("escape", "cancel")
        forms = [[save, new_line, cancel]] if self._current.short else []
        forms += [[save, cancel], [cancel]]
        drawn = [self._draw(form) for form in forms]
        return next((keys for keys in drawn if width_of(keys) <= room), drawn[-1])

    def _draw(self, keys: Sequence[tuple[str, str]]) -> list[Segment]:
        drawn = (draw_key(key_name(key), f"{verb}  ", self.theme_styles, "raised") for key, verb in keys)
        return [segment for pair in drawn for segment in pair]


class ReviewText(EditArea):
    """The text, for editing; `close` receives it when it is saved, or None."""

    BINDING_GROUP_TITLE = "Text field"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,ctrl+enter", "accept", "Save", id="writing.accept"),
        Binding("enter", "send", "Save", show=False, id="writing.send", tooltip="Save the comment"),
        Binding("ctrl+g", "outside", "Editor", id="writing.editor", tooltip="Edit in $EDITOR"),
        Binding("escape", "leave", "Cancel", id="writing.leave"),
    ]

    def __init__(self, close: Callable[[str | None], None], *, id: str | None = None) -> None:
        super().__init__("", compact=True, id=id, tab_behavior="indent")
        self.cursor_blink = False
        self.highlight_cursor_line = False
        self._end = close
        self._current = _NOTHING
        self._colors = SourceColors("", ())

    @property
    def unsaved(self) -> str:
        """The text as the user knows it; empty if it is as it was."""
        if self.text == self._current.text:
            return ""
        return "your comment" if self._current.short else "your edit"

    @property
    def rows(self) -> int:
        """The lines that it takes."""
        return max(2, self.wrapped_document.height)

    def begin(self, task: Task) -> None:
        """Show the text of a task."""
        self._current = task
        self.show_line_numbers = not task.short
        self.line_number_start = task.line
        self.indent_type = "tabs" if "\t" in task.text else "spaces"
        self.load_text(task.text if task.draft is None else task.draft)

    def get_line(self, line_index: int) -> Text:
        line = super().get_line(line_index)
        if not self._current.path:
            return line
        styles, at = theme_styles_of(app_of(self).theme), 0
        for piece, role in self._read_colors().pieces(len(self._current.above) + line_index):
            line.stylize(styles(role, "raised"), at, at + len(piece))
            at += len(piece)
        return line

    def _read_colors(self) -> SourceColors:
        """The colors of the present text, and of what is above it."""
        rows = [*self._current.above, *self.document.lines]
        if self._colors.rows != rows:
            self._colors = SourceColors(language_of(self._current.path), rows)
        return self._colors

    def get_cursor_line_end_location(self) -> tuple[int, int]:
        if self._current.short:
            return super().get_cursor_line_end_location()
        # A line of code that is wrapped is still one line.
        row, _column = self.cursor_location
        return row, len(self.document.get_line(row))

    def get_cursor_line_start_location(self, smart_home: bool = False) -> tuple[int, int]:
        if self._current.short:
            return super().get_cursor_line_start_location(smart_home)
        row, column = self.cursor_location
        line = self.document.get_line(row)
        indent = len(line) - len(line.lstrip())
        return row, indent if smart_home and column != indent else 0

    def key_hints(self) -> Hints:
        return Hints(("send" if self._current.short else "accept", "leave", "outside"))

    def key_label(self, action: str) -> str:
        return self._current.verb if action in ("send", "accept") else ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return super().check_action(action, parameters) if action != "send" else self._current.short

    def action_accept(self) -> None:
        self._end(self.text)

    def action_send(self) -> None:
        self._end(self.text)

    def action_leave(self) -> None:
        discard(self, self.unsaved, lambda: self._end(None))

    def action_outside(self) -> None:
        self.run_worker(self._edit_outside, group="editor", exclusive=True)

    async def _edit_outside(self) -> None:
        from cogency_tui.tui.terminal.external_editor import edit_outside

        before = self.text
        try:
            text = await edit_outside(app_of(self), before, os.environ)
        except CogencyError as exc:
            self.notify(exc.advice, severity="warning", markup=False)
            return
        ended = before.endswith("\n") and text and not text.endswith("\n")
        self.load_text(f"{text}\n" if ended else text)

    async def _on_key(self, event: events.Key) -> None:
        if self._current.short and event.key == "ctrl+j":
            event.stop()
            event.prevent_default()
            self.insert("\n")
            return
        active = None if event.is_printable else self.screen.active_bindings.get(event.key)
        if active is not None and active.enabled and active.node is self:
            # If the key bubbled up, it would be handled after later ones.
            event.stop()
            event.prevent_default()
            await self.run_action(active.binding.action)
        else:
            await act_in_order(self, event)


class TextEditor(Vertical):
    """Has one text at a time written, on as many lines as it takes; `resized` is called when these are
    others, `closed` when it is saved or canceled.
    """

    def __init__(
        self, resized: Callable[[], None], closed: Callable[[], None], *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.display = False
        self._title = EditorTitle(id="writing-title")
        self._area = ReviewText(self._end, id="writing-text")
        self._on_resized, self._on_closed = resized, closed
        self._take: Callable[[str], None] | None = None

    def compose(self) -> ComposeResult:
        yield self._title
        yield self._area

    @property
    def is_open(self) -> bool:
        """True while a text is written."""
        return self._take is not None

    @property
    def unsaved(self) -> str:
        """The text that closing would lose, as the user knows it; empty if none."""
        return self._area.unsaved if self.is_open else ""

    @property
    def rows(self) -> int:
        """The lines that it takes."""
        return _TITLE + self._area.rows

    def begin(self, task: Task, take: Callable[[str], None]) -> None:
        """Have a text written; `take` receives it unless the task is canceled."""
        self._take = take
        self._title.show(task)
        self._area.begin(task)
        self.display = True
        self.resume()

    def resume(self) -> None:
        """Focus the text."""
        self.screen.set_focus(self._area)

    def on_text_area_changed(self) -> None:
        self._on_resized()

    def on_resize(self) -> None:
        # The text is wrapped again first.
        self.call_after_refresh(self._on_resized)

    def _end(self, text: str | None) -> None:
        take, self._take = self._take, None
        self.display = False
        self._on_closed()
        if take is not None and text is not None:
            take(text)
