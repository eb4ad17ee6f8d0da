"""The base of dialogs that are read: their lines scroll, and what they offer is at their foot."""

from typing import ClassVar, Generic, TypeVar

from textual import events
from textual.binding import Binding, BindingType

from cogency_tui.tui.screens.answering import Dialog
from cogency_tui.tui.screens.dialogs import STYLES, Choices, DialogBody

Result = TypeVar("Result")

_AROUND = 7
"""Lines of a dialog's title and foot."""


class ReadingScreen(Dialog[Result | None], Generic[Result]):
    """Has one `DialogBody`. Closed, it returns None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "close", "Close", id="dialog.close"),
        Binding("up,k", "scroll(-1)", "Up", show=False, id="dialog.up"),
        Binding("down,j", "scroll(1)", "Down", show=False, id="dialog.down"),
        Binding("pageup", "scroll(-10)", "Page up", show=False, id="dialog.page_up"),
        Binding("pagedown,space", "scroll(10)", "Page down", show=False, id="dialog.page_down"),
    ]
    AUTO_FOCUS = ""
    CSS_PATH = STYLES

    def on_resize(self, event: events.Resize) -> None:
        """Leave room for what is at the foot, however much there is to read."""
        if self.query(Choices):
            self.query_one(DialogBody).styles.max_height = max(3, event.size.height * 86 // 100 - _AROUND)

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        self.call_next(self.run_action, event.action)

    def action_close(self) -> None:
        self.dismiss(None)

    def action_scroll(self, lines: int) -> None:
        body = self.query_one(DialogBody)
        body.jump(body.scroll_offset.y + lines)
