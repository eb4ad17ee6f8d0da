"""The gap between two panes, which the user can drag with the mouse."""

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip

from cogency_tui.tui.kit.bar import Bar


class Splitter(Bar):
    """One cell wide. Moves nothing itself: reports where it was dragged to."""

    class Dragged(Message):
        """The splitter was dragged to column `x` of the screen; `dropped` when released there."""

        def __init__(self, splitter: "Splitter", x: int, *, dropped: bool) -> None:
            self.splitter = splitter
            self.x = x
            self.dropped = dropped
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, classes="splitter")
        self._dragging = False
        self._touched = False

    def render_line(self, y: int) -> Strip:
        if self._touched or self._dragging:
            return Strip([Segment("┃", self.theme_styles("accent", "background"))])
        if self.theme_styles.palette.flat:
            return Strip([Segment("│", self.theme_styles("rule", "background"))])
        return Strip.blank(1, self.theme_styles("text", "background"))

    def on_enter(self) -> None:
        self._touch(True)

    def on_leave(self) -> None:
        self._touch(False)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        event.stop()
        self._dragging = True
        self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragging:
            event.stop()
            self.post_message(self.Dragged(self, event.screen_x, dropped=False))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._dragging:
            event.stop()
            self._dragging = False
            self.release_mouse()
            self.refresh()
            self.post_message(self.Dragged(self, event.screen_x, dropped=True))

    def _touch(self, touched: bool) -> None:
        self._touched = touched
        self.refresh()
