"""The prompt: several lines of text, Enter sends, the history is at the edges.

It keeps the line-editing keys that people have in their fingers, and never loses a text: what was being
written comes back after a walk through the history.
"""

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from cogency_tui.text import clean


class Prompt(TextArea):
    """A text area that sends."""

    BINDING_GROUP_TITLE = "In the prompt"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "send",
            "Send",
            id="prompt.send",
            tooltip="Send the message, or queue it while one is worked on",
        ),
        Binding("shift+enter,ctrl+j,alt+enter", "break_line", "New line", show=False, id="prompt.newline"),
        Binding("up", "earlier", "Earlier message", show=False, id="prompt.earlier"),
        Binding("down", "later", "Later message", show=False, id="prompt.later"),
        Binding("home,ctrl+a", "cursor_line_start", "Beginning of the line", show=False, id="prompt.home"),
        Binding("end,ctrl+e", "cursor_line_end", "End of the line", show=False, id="prompt.end"),
        Binding("alt+b,ctrl+left", "cursor_word_left", "Word left", show=False, id="prompt.word_left"),
        Binding("alt+f,ctrl+right", "cursor_word_right", "Word right", show=False, id="prompt.word_right"),
        Binding(
            "ctrl+w,alt+backspace",
            "delete_word_left",
            "Delete the word on the left",
            show=False,
            id="prompt.delete_word_left",
        ),
        Binding(
            "alt+d", "delete_word_right", "Delete the word on the right", show=False, id="prompt.delete_word"
        ),
        Binding(
            "ctrl+u",
            "delete_to_start_of_line",
            "Delete to the beginning of the line",
            show=False,
            id="prompt.delete_before",
        ),
        Binding(
            "ctrl+k",
            "delete_to_end_of_line_or_delete_line",
            "Delete to the end of the line",
            show=False,
            id="prompt.delete_after",
        ),
    ]

    class Sent(Message):
        """The person sent `text`."""

        def __init__(self, text: str) -> None:
            self.text = text
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(
            id=id,
            placeholder="Ask, @file, /command",
            soft_wrap=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
            compact=True,
            tab_behavior="focus",
        )
        self.cursor_blink = False
        self._history: list[str] = []
        self._place = 0
        self._draft = ""

    def remember(self, texts: list[str]) -> None:
        """Make `texts` the history, the oldest first."""
        self._history = [text for text in texts if text.strip()]
        self._place = len(self._history)

    def replace_text(self, text: str) -> None:
        """Put `text` in the place of what is there, the cursor at its end."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    def clear_draft(self) -> None:
        """Empty the prompt; what was in it is the last of the history."""
        if text := self.text.strip():
            self.remember([*self._history, text])
        self.load_text("")

    def action_send(self) -> None:
        text = self.text.strip()
        if not text:
            return
        if not self._history or self._history[-1] != text:
            self._history.append(text)
        self._place = len(self._history)
        self._draft = ""
        self.load_text("")
        self.post_message(self.Sent(text))

    def action_break_line(self) -> None:
        self.insert("\n")

    def action_earlier(self) -> None:
        if self.cursor_location[0] or not self._place:
            self.action_cursor_up()
            return
        if self._place == len(self._history):
            self._draft = self.text
        self._place -= 1
        self.replace_text(self._history[self._place])

    def action_later(self) -> None:
        if not self.cursor_at_last_line or self._place >= len(self._history):
            self.action_cursor_down()
            return
        self._place += 1
        at_draft = self._place == len(self._history)
        self.replace_text(self._draft if at_draft else self._history[self._place])

    async def _on_key(self, event: events.Key) -> None:
        """Act on our own keys here, in the order in which they were typed.

        Left to bubble up, Enter would be acted on by the app while the text before it, or already the text
        after it, is still on its way.
        """
        if event.is_printable:
            return
        active = self.screen.active_bindings.get(event.key)
        if active is not None and active.node is self and active.enabled:
            event.stop()
            event.prevent_default()
            await self.run_action(active.binding.action)

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.insert(clean(event.text))
