"""The dialog for text in the review: replacement lines for a hunk, or a comment.

It returns the text, and changes nothing itself. No text is lost by mistake: leaving asks for confirmation.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import TextArea

from cogency_tui.errors import CogencyError
from cogency_tui.tui.kit.dialogs import STYLES, Choices, Confirmation, Dialog
from cogency_tui.tui.kit.keys import act_in_order
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.kit.typed_app import app_of

REVIEW_STYLES = Path(__file__).parent.parent / "styles" / "review.tcss"


@dataclass(frozen=True, slots=True)
class Task:
    """The text to write. A `short` one is sent with Enter, and Ctrl+J breaks its lines."""

    title: str
    about: str
    text: str
    verb: str
    short: bool = False


class ReviewText(TextArea):
    """The text, for editing."""

    def __init__(self, text: str, *, short: bool, id: str | None = None) -> None:
        super().__init__(
            text, soft_wrap=short, compact=True, id=id, tab_behavior="focus" if short else "indent"
        )
        self.indent_type = "tabs" if "\t" in text else "spaces"
        self.cursor_blink = False
        self.highlight_cursor_line = False
        self._short = short

    async def _on_key(self, event: events.Key) -> None:
        if self._short and event.key == "ctrl+j":
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


class WritingScreen(Dialog[str | None]):
    """Returns the written text; None if the user leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "accept", "Save", id="writing.accept"),
        Binding("enter", "send", "Save", show=False, id="writing.send", tooltip="Save the comment"),
        Binding("ctrl+g", "outside", "Editor", id="writing.editor", tooltip="Edit in $EDITOR"),
        Binding("escape", "leave", "Cancel", id="writing.leave"),
    ]
    AUTO_FOCUS = "#writing-text"
    CSS_PATH: ClassVar = [STYLES, REVIEW_STYLES]

    def __init__(self, task: Task) -> None:
        super().__init__()
        self._expected = task

    def compose(self) -> ComposeResult:
        task = self._expected
        key = "enter" if task.short else "ctrl+s"
        with Vertical(id="writing", classes="-comment" if task.short else ""):
            yield PaneTitle(task.title, id="writing-title")
            yield ReviewText(task.text, short=task.short, id="writing-text")
            with Vertical(classes="dialog-foot"):
                more = [("ctrl+j", "new line", "line")] if task.short else []
                yield Choices(
                    [
                        (key, task.verb, "accept"),
                        *more,
                        ("ctrl+g", "$EDITOR", "outside"),
                        ("escape", "cancel", "leave"),
                    ]
                )

    def on_mount(self) -> None:
        self.query_one(PaneTitle).state(self._expected.about)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        del parameters
        return action != "send" or self._expected.short

    def action_accept(self) -> None:
        self.dismiss(self.query_one(TextArea).text)

    def action_send(self) -> None:
        self.action_accept()

    def action_line(self) -> None:
        self.query_one(TextArea).insert("\n")

    def action_outside(self) -> None:
        self.run_worker(self._edit_outside, group="editor", exclusive=True)

    def action_leave(self) -> None:
        if self.query_one(TextArea).text == self._expected.text:
            self.dismiss(None)
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self.dismiss(None)

        app_of(self).push_screen(Confirmation("Discard your text?"), answered)

    async def _edit_outside(self) -> None:
        from cogency_tui.tui.terminal.external_editor import edit_outside

        area = self.query_one(TextArea)
        before = area.text
        try:
            text = await edit_outside(app_of(self), before, os.environ)
        except CogencyError as exc:
            self.notify(exc.advice, severity="warning", markup=False)
            return
        ended = before.endswith("\n") and text and not text.endswith("\n")
        area.load_text(f"{text}\n" if ended else text)
