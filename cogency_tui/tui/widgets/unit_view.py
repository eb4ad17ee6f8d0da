"""A transcript as a column of lines that is drawn only where it is seen: scrolling, following, selecting.

The reading position is a line of a unit, not a number of lines from the top: what comes in below, or is
measured above, never moves it. While the reader is at the end the view follows; otherwise nothing that
streams in below is drawn at all.
"""

from collections.abc import Callable, Iterable
from time import time

from textual import events
from textual.geometry import Region
from textual.message import Message

from cogency_tui.tui.drawing.document import Document
from cogency_tui.tui.drawing.lines import Line
from cogency_tui.tui.transcript import Prose, Transcript
from cogency_tui.tui.widgets.line_view import LineView

_UNIT_BITS = 24


class UnitView(LineView):
    """Draws a transcript. `welcome` makes what an empty one shows."""

    class Followed(Message):
        """The view began or stopped to follow, or `new` units came in below it."""

        def __init__(self, following: bool, new: int) -> None:
            self.following = following
            self.new = new
            super().__init__()

    def __init__(
        self,
        welcome: Callable[[int], list[Line]],
        *,
        clock: Callable[[], float] = time,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._welcome = welcome
        self._clock = clock
        self._document: Document | None = None
        self.transcript = Transcript()
        self._greeting: list[Line] = []
        self._seen = 0
        self._pinning = False
        self.following = True

    @property
    def document(self) -> Document:
        """The lines in the present width and theme."""
        if self._document is None:
            self._document = Document(self.transcript, self.text_width, self.inks, self._clock)
        return self._document

    def show(self, transcript: Transcript) -> None:
        """Draw another transcript, from its end."""
        self.transcript = transcript
        self._document = None
        self.set_following(True)
        self.settle()
        self.refresh()

    def update_units(self, touched: Iterable[int]) -> None:
        """Units of the transcript are new or have changed."""
        document = self.document
        touched = sorted(touched)
        if not touched:
            return
        for index in touched:
            document.touch(index)
        if self.following:
            height, top = document.height, self.scroll_offset.y
            self.settle()
            if (height, top) == (document.height, self.scroll_offset.y):
                self._refresh_from(touched[0])
            else:
                self.refresh()
            return
        self.resize_column(document.height)
        self.post_message(self.Followed(False, len(self.transcript.units) - self._seen))
        if any(self.is_visible(index) and not self._is_open_prose(index) for index in touched):
            self.settle()
            self.refresh()

    def tick(self, frame: int, live: Iterable[int]) -> None:
        """Draw the units that show a running time again."""
        self.document.frame = frame
        for index in live:
            self.document.touch(index)
            if self.is_visible(index):
                self.document.measure(index)
                self._refresh_from(index)

    def line_at(self, y: int) -> Line | None:
        if not self.transcript.units:
            return self._greeting[y] if y < len(self._greeting) else None
        if y >= self.document.height:
            return None
        return self.document.line(*self.document.locate(y))

    def address_of(self, y: int) -> int:
        if not self.transcript.units:
            return y
        unit, offset = self.document.locate(y)
        return (unit << _UNIT_BITS) + offset

    def line_with(self, address: int) -> int:
        if not self.transcript.units:
            return address
        return self.document.top(address >> _UNIT_BITS) + (address & ((1 << _UNIT_BITS) - 1))

    def on_resize(self, event: events.Resize) -> None:
        del event
        self.reflow()

    def reflow(self) -> None:
        """Draw for the present width and theme, the reading position kept."""
        document = self.document
        if self.transcript.units and not self.following:
            unit, offset = document.locate(self.scroll_offset.y)
            document.reflow(self.text_width, self.inks)
            document.measure(unit)
            self.resize_column(document.height)
            self._pin(document.top(unit) + offset)
        else:
            document.reflow(self.text_width, self.inks)
        self._greeting = self._welcome(self.text_width)
        self.settle()
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._pinning:
            # What has streamed in below is measured only now that one comes near to it: only then is it
            # known where the end is.
            self.set_following(False)
            self.settle()
            if self.scroll_offset.y >= self.max_scroll_y:
                self.set_following(True)

    def follow(self) -> None:
        """Go to the end and stay there."""
        self.set_following(True)
        self.settle()
        self.refresh()

    def _is_open_prose(self, index: int) -> bool:
        unit = self.transcript.units[index]
        return isinstance(unit, Prose) and unit.open

    def is_visible(self, index: int) -> bool:
        """Whether any line of unit `index` is in view."""
        top = self.scroll_offset.y
        start = self.document.top(index)
        end = self.document.top(index + 1)
        return start < top + self.page and end > top

    def _refresh_from(self, index: int) -> None:
        top = max(0, self.document.top(index) - self.scroll_offset.y)
        self.refresh(Region(0, top, self.size.width, max(0, self.page - top)))

    def set_following(self, following: bool) -> None:
        """Stay at the end from now on, or do not."""
        if following != self.following or following:
            self.following = following
            self._seen = len(self.transcript.units)
            self.post_message(self.Followed(following, 0))

    def settle(self) -> None:
        """Measure what is in view and a page around it; then put the reading position back."""
        document = self.document
        count, page = len(self.transcript.units), self.page
        if not count or not page:
            self.resize_column(len(self._greeting))
            return
        if self.following:
            self._measure_upwards(count - 1, 2 * page)
            self.resize_column(document.height)
            self._pin(self.max_scroll_y)
            return
        unit, offset = document.locate(self.scroll_offset.y)
        document.measure(unit)
        index, seen = unit, -offset
        while index < count and seen < 2 * page:
            document.measure(index)
            seen += document.top(index + 1) - document.top(index)
            index += 1
        self._measure_upwards(unit - 1, page)
        self.resize_column(document.height)
        self._pin(document.top(unit) + offset)

    def _measure_upwards(self, index: int, lines: int) -> None:
        document = self.document
        while index >= 0 and lines > 0:
            document.measure(index)
            lines -= document.top(index + 1) - document.top(index)
            index -= 1

    def _pin(self, y: int) -> None:
        self._pinning = True
        self.jump(y)
        self._pinning = False
