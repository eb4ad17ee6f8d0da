"""The question before a fork from the conversation: its key may have begun a text for the prompt instead."""

from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from cogency_tui.tui.kit.dialogs import STYLES, Choices, Dialog, DialogBody, DialogBox
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.theme_styles import ThemeStyles

_QUESTION = "Fork the conversation here? The original stays unchanged."


class ForkDialog(Dialog["bool | str | None"]):
    """Returns True to fork, or a text that is typed, which begins with the key for the fork."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "Fork", id="fork.accept"),
        Binding("escape", "close", "Cancel", id="fork.close"),
    ]
    AUTO_FOCUS = ""
    CSS_PATH = STYLES

    def __init__(self, letter: str) -> None:
        super().__init__()
        self._typed = letter

    def compose(self) -> ComposeResult:
        keys = Choices([("enter", "fork", "accept"), ("escape", "cancel", "close")])
        body = DialogBody(_draw, id="confirmation-body")
        yield DialogBox(body, keys=keys, id="confirmation", classes="-question")

    def action_accept(self) -> None:
        self.dismiss(True)

    def on_key(self, event: events.Key) -> None:
        if event.character and event.is_printable:
            event.stop()
            self._typed += event.character
            # After the keys that were typed at once with this one.
            self.call_later(self._type)

    def _type(self) -> None:
        self.dismiss(self._typed)


def _draw(width: int, styles: ThemeStyles) -> list[Line]:
    return wrap([Segment(_QUESTION, styles("text"))], width)
