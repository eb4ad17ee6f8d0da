"""The conversation pane: reading, and opening thoughts and calls, by key and by mouse."""

from collections.abc import Callable
from time import time
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.strip import Strip

from cogency_tui.tui.drawing.lines import Line
from cogency_tui.tui.transcript import Transcript
from cogency_tui.tui.widgets.unit_view import UnitView


class Conversation(UnitView):
    """A view of a transcript with a mark on one of its units: the one that Enter opens or closes."""

    BINDING_GROUP_TITLE = "In the conversation"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", "Up", show=False, id="conversation.up"),
        Binding("down,j", "scroll_down", "Down", show=False, id="conversation.down"),
        Binding("pageup", "page_up", "Page up", show=False, id="conversation.page_up"),
        Binding("pagedown,space", "page_down", "Page down", show=False, id="conversation.page_down"),
        Binding("home,g", "first", "Beginning", show=False, id="conversation.home"),
        Binding("end,G", "last", "End, and follow", show=False, id="conversation.end"),
        Binding("left_square_bracket", "block(-1)", "Previous block", show=False, id="conversation.previous"),
        Binding("right_square_bracket", "block(1)", "Next block", show=False, id="conversation.next"),
        Binding("enter", "expand", "Open or close the block", show=False, id="conversation.expand"),
    ]

    def __init__(
        self,
        welcome: Callable[[int], list[Line]],
        *,
        clock: Callable[[], float] = time,
        id: str | None = None,
    ) -> None:
        super().__init__(welcome, clock=clock, id=id)
        self._marked: int | None = None

    def show(self, transcript: Transcript) -> None:
        self._marked = None
        super().show(transcript)

    def strip_at(self, y: int) -> Strip:
        strip = super().strip_at(y)
        if self._marked is None or not self.has_focus or y != self._marked_line(self._marked):
            return strip
        mark = Strip([Segment("› ", self.inks("accent", attributes="bold"))], self.MARGIN)
        return Strip.join([mark, strip.crop(self.MARGIN, strip.cell_length)])

    def action_page_up(self) -> None:
        self.jump(self.scroll_offset.y - self.page + 2)

    def action_page_down(self) -> None:
        self.jump(self.scroll_offset.y + self.page - 2)

    def action_first(self) -> None:
        self.jump(0)

    def action_last(self) -> None:
        self.follow()

    def action_block(self, step: int) -> None:
        """Move the mark to the next or previous unit that opens."""
        document = self.document
        bottom, _offset = document.locate(self.scroll_offset.y + self.page - 1)
        index = self._marked if self._marked is not None else bottom + 1
        index += step
        while 0 <= index < len(self.transcript.units) and not document.is_expandable(index):
            index += step
        if 0 <= index < len(self.transcript.units):
            self._mark(index)

    def action_expand(self) -> None:
        """Open or close the marked unit, or the last one in view that opens."""
        if self._marked is None or not self.is_visible(self._marked):
            self._marked = None
            self.action_block(-1)
        if self._marked is not None:
            self.toggle(self._marked)

    def toggle(self, index: int) -> None:
        """Open or close unit `index`; what is above it stays where it is."""
        self.document.expanded ^= {index}
        self.document.touch(index)
        self.set_following(False)
        self.settle()
        self.set_following(self.scroll_offset.y >= self.max_scroll_y)
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        if not self.transcript.units or self.text_selection is not None:
            return
        y = self.scroll_offset.y + event.y
        if y >= self.document.height:
            return
        index, offset = self.document.locate(y)
        if self.document.is_expandable(index) and offset <= 1:
            self.toggle(index)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def _mark(self, index: int) -> None:
        self._marked = index
        document = self.document
        document.measure(index)
        self.resize_column(document.height)
        self.reveal(document.top(index) + 1)
        self.refresh()

    def _marked_line(self, index: int) -> int:
        """The first line of unit `index` that is not blank."""
        top = self.document.top(index)
        return top + (not self.document.line(index, 0).segments)
