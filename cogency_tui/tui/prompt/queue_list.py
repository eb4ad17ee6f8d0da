"""The queued messages above the prompt: a numbered list with buttons for each."""

from rich.segment import Segment
from textual import events
from textual.css.scalar import Scalar
from textual.message import Message

from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.line_view import LineView
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.message_queue import MessageQueue, describe_time

MOST_ROWS = 4

_LEAST_TEXT = 16
"""Cells of a message below which its row does not say when it goes."""

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
        self.display = bool(queue)
        self._lay_out()
        self.refresh(layout=min(MOST_ROWS, len(queue)) != self.page)

    def fit(self, rows: int) -> int:
        """Take at most `rows`; return how many are taken."""
        height = min(MOST_ROWS, rows, len(self._queue or ()))
        # Assigning even the present height triggers a new layout.
        if self.styles.inline.get_rule("height", None) != Scalar.from_number(height):
            self.styles.height = height
        return height

    def on_resize(self) -> None:
        self._lay_out()
        self.refresh()

    def _lay_out(self) -> None:
        queue = self._queue
        if queue is None or not self.page:
            return
        self.resize_column(1 if self._is_summary else len(queue))
        if queue.held is not None:
            self.reveal(queue.held)

    @property
    def _is_summary(self) -> bool:
        """True where one row stands for several messages, none of which is being edited."""
        queue = self._queue
        return queue is not None and self.page == 1 and len(queue) > 1 and queue.held is None

    def surface_at(self, y: int) -> str:
        return "cursor" if self._queue is not None and self._queue.held == y else "raised"

    def line_at(self, y: int) -> Line | None:
        queue = self._queue
        if queue is None or y >= len(queue):
            return None
        if self._is_summary:
            return self._draw_summary(queue)
        on = self.surface_at(y)
        dim, accent = self.theme_styles("dim", on), self.theme_styles("accent", on)
        number = f"{y + 1} "
        room = self._buttons_at() - self.MARGIN - len(number) - 1
        tail = _describe_row(queue, y, room - _LEAST_TEXT)
        text = fit(one_line(queue.messages[y].text), room - len(tail))
        gap = " " * max(0, room - cells(text) - len(tail))
        buttons = (Segment(f"{glyph} ", accent) for glyph, _what in _BUTTONS)
        return Line([Segment(number, accent), Segment(f"{text}{gap}{tail} ", dim), *buttons])

    def _draw_summary(self, queue: MessageQueue) -> Line:
        """The number of messages, and the beginning of the next one."""
        count = f"{len(queue)} queued  "
        text = fit(one_line(queue.messages[0].text), self.text_width - len(count))
        styles = self.theme_styles
        return Line([Segment(count, styles("accent", "raised")), Segment(text, styles("dim", "raised"))])

    def on_click(self, event: events.Click) -> None:
        event.stop()
        place = self.scroll_offset.y + event.y
        if self._queue is None or place >= len(self._queue):
            return
        if self._is_summary:
            self.post_message(self.Pressed(len(self._queue) - 1, "edit"))
            return
        button = (event.x - self._buttons_at()) // _STEP
        what = _BUTTONS[button][1] if 0 <= button < len(_BUTTONS) else "edit"
        self.post_message(self.Pressed(place, what))

    def _buttons_at(self) -> int:
        """The column of the first button, from the widget's edge."""
        return self.MARGIN + self.text_width - _STEP * len(_BUTTONS)


def _describe_row(queue: MessageQueue, place: int, width: int) -> str:
    """Describe the state of a message in at most `width` cells: whether it is being edited, when it goes and
    by which key that changes, and behind which it waits."""
    first = queue.first_after_turn(place)
    goes = describe_time(at_step=first is None) if queue.in_turn else ""
    behind = f"{goes}, behind {first + 1}" if goes and first not in (None, place) else goes
    if queue.held != place:
        descriptions = (behind, goes)
    else:
        key = f"{goes} (Alt+T)" if queue.can_toggle_time(place) else behind
        descriptions = (f"editing below · {key}" if key else "", key, "editing below")
    fitting = (f"  {each}" for each in descriptions if each and len(each) + 2 <= width)
    return next(fitting, "")
