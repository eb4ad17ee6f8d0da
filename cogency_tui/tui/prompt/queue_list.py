"""The queued messages above the prompt: a numbered list with buttons for each."""

from rich.segment import Segment
from textual import events
from textual.message import Message

from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.line_view import LineView
from cogency_tui.tui.kit.lines import Line, cells, fit
from cogency_tui.tui.message_queue import MessageQueue

MOST_ROWS = 4

_BUTTONS = (("↑", "up"), ("↓", "down"), ("✕", "remove"))
_STEP = 2
"""Cells from one button to the next."""


class QueueList(LineView):
    """Draws the queue; takes no space while it is empty."""

    ALLOW_SELECT = False

    class Pressed(Message):
        """The user asks to `up`, `down`, `remove` or `edit` the message at `place`."""

        def __init__(self, place: int, what: str) -> None:
            self.place = place
            self.what = what
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.can_focus = False
        self.display = False
        self._queue: MessageQueue | None = None

    def show(self, queue: MessageQueue) -> None:
        """Show the queue in its present state."""
        self._queue = queue
        height = min(MOST_ROWS, len(queue))
        if height and height != self.page:
            self.styles.height = height
        self.display = bool(height)
        self.resize_column(len(queue))
        if queue.held is not None and self.page:
            self.reveal(queue.held)
        self.refresh()

    def surface_at(self, y: int) -> str:
        return "cursor" if self._queue is not None and self._queue.held == y else "raised"

    def line_at(self, y: int) -> Line | None:
        queue = self._queue
        if queue is None or y >= len(queue):
            return None
        on = self.surface_at(y)
        dim, accent = self.theme_styles("dim", on), self.theme_styles("accent", on)
        number = f"{y + 1} "
        tail = "  editing below" if queue.held == y else ""
        room = self._buttons_at() - self.MARGIN - len(number) - 1
        text = fit(one_line(queue.messages[y].text), room - len(tail)) + tail
        buttons = (Segment(f"{glyph} ", accent) for glyph, _what in _BUTTONS)
        return Line(
            [
                Segment(number, accent),
                Segment(text + " " * max(0, room - cells(text) + 1), dim),
                *buttons,
            ]
        )

    def on_click(self, event: events.Click) -> None:
        event.stop()
        place = self.scroll_offset.y + event.y
        if self._queue is None or place >= len(self._queue):
            return
        button = (event.x - self._buttons_at()) // _STEP
        what = _BUTTONS[button][1] if 0 <= button < len(_BUTTONS) else "edit"
        self.post_message(self.Pressed(place, what))

    def _buttons_at(self) -> int:
        """The column of the first button, from the widget's edge."""
        return self.MARGIN + self.text_width - _STEP * len(_BUTTONS)
