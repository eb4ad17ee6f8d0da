"""The field for the reason of a no."""

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.widgets import Input


class ReasonField(Input):
    """One line: what would be further lines, pasted or begun with the key for one, follows after a space.

    Textual's field drops all but the first line of a paste.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+j", "continue", "Continue", show=False)]

    def on_mount(self) -> None:
        self.cursor_blink = False
        # A key after the words of before goes on with them.
        self.select_on_focus = False

    def _on_paste(self, event: events.Paste) -> None:
        # Textual's handler, which is called after this one, inserts the text.
        event.text = " ".join(line.strip() for line in event.text.splitlines() if line.strip())

    def action_continue(self) -> None:
        self.insert_text_at_cursor(" ")
