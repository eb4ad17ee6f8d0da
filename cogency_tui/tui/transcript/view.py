"""A transcript as a column of lines, drawn only where it is visible: scrolling and following.

Invariant: the reading position is a line of a unit, not a number of lines from the top; new units below, and
new measurements above, never move it. At the end the view follows new units; elsewhere nothing that streams
in below is drawn at all.
"""

from collections.abc import Callable, Iterable, Sequence
from time import time
from typing import Protocol

from rich.segment import Segment
from textual import events
from textual.geometry import Offset, Region
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from cogency_tui.tui.kit.line_view import DrawContext, LineView
from cogency_tui.tui.kit.lines import Line, width_of
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.transcript.document import Anchor, Document, LinePosition, prepare
from cogency_tui.tui.transcript.messages_and_notices import time_of
from cogency_tui.tui.transcript.pen import TAIL
from cogency_tui.tui.transcript.units import PendingMessage, Prose, Transcript, UserMessage

_BLOCK_BITS, _LINE_BITS = 24, 24
_WIDEST = 92
"""Cells of the text column, at most: longer lines are hard to read."""

_PANES_FIT = 110
"""Cells of a window from which the tool calls have room beside the conversation: `BOTH_FIT` of `main.panes`,
which is above this module and, unlike it, part of the first frame."""

_LONG_TAIL = 5


def address(place: LinePosition) -> int:
    """A number for a place that grows with it."""
    return (place.unit << _BLOCK_BITS | place.block) << _LINE_BITS | (place.line + 1)


def place_at(address: int) -> LinePosition:
    """The place with this address."""
    block, line = address >> _LINE_BITS, address & ((1 << _LINE_BITS) - 1)
    return LinePosition(block >> _BLOCK_BITS, block & ((1 << _BLOCK_BITS) - 1), line - 1)


class Overlay(Protocol):
    """Marks over the lines of a transcript."""

    def begin_frame(self) -> bool:
        """Prepare a frame; return whether it has marks."""
        ...

    def paint(self, strip: Strip, place: LinePosition, context: DrawContext) -> Strip:
        """Mark the line at `place`."""
        ...


def no_welcome(_width: int) -> list[Line]:
    return []


def no_review() -> str | None:
    return None


class TranscriptView(LineView):
    """Draws a transcript with its `overlays`. `welcome` makes the lines of an empty one; `review_key` returns
    the name of the key that opens the review, or None where it cannot be opened."""

    class Followed(Message):
        """The view started or stopped following, or `new` units came in below it."""

        def __init__(self, following: bool, new: int) -> None:
            self.following = following
            self.new = new
            super().__init__()

    def __init__(
        self,
        welcome: Callable[[int], list[Line]] = no_welcome,
        *,
        review_key: Callable[[], str | None] = no_review,
        clock: Callable[[], float] = time,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._review_key = review_key
        self._welcome = welcome
        self._clock = clock
        self._document: Document | None = None
        self.transcript = Transcript()
        self.overlays: Sequence[Overlay] = ()
        self._painting: Sequence[Overlay] = ()
        self._greeting: list[Line] = []
        self._seen = 0
        self._page = 0
        self._pinning = False
        self._held: int | None = None
        """The unit that stays in sight while the view follows the end."""
        self.following = True

    @property
    def document(self) -> Document:
        """The lines in the present width and theme."""
        if self._document is None:
            self._document = Document(
                self.transcript,
                self.text_width,
                self.theme_styles,
                self._clock,
                self._review_key(),
                self._tail,
            )
        return self._document

    @property
    def text_width(self) -> int:
        return min(_WIDEST, super().text_width)

    @property
    def _tail(self) -> int:
        """The lines to show of the output of a running command: more where no pane beside has all of it."""
        return TAIL if app_of(self).size.width >= _PANES_FIT else _LONG_TAIL

    def show(self, transcript: Transcript) -> None:
        """Draw another transcript, from its end."""
        self.transcript = transcript
        self._document = None
        self._held = None
        self.set_following(True)
        self.settle()
        self.refresh()

    def update_units(self, touched: Iterable[int]) -> None:
        """Redraw units of the transcript that are new or changed."""
        document = self.document
        touched = sorted(touched)
        if not touched:
            return
        if touched[0] == 0:
            self.run_worker(prepare, group="prepare")
        for index in touched:
            document.touch(index)
        touched = sorted({*touched, *(card for index in touched for card in document.cards_beside(index))})
        if self.following:
            height, top = document.height, self.scroll_offset.y
            self.settle()
            if (height, top) == (document.height, self.scroll_offset.y):
                self._refresh_from(document.shown_by(touched[0]))
            else:
                self.refresh()
            return
        self.resize_column(document.height)
        self.post_message(self.Followed(False, len(self.transcript.units) - self._seen))
        shown = {document.shown_by(index) for index in touched}
        if any(self.is_visible(index) and not self._is_open_prose(index) for index in shown):
            self.settle()
            self.refresh()

    def tick(self, frame: int, live: Iterable[int]) -> None:
        """Redraw the units that show a running time."""
        document = self.document
        document.frame = frame
        for index in live:
            document.touch(index)
            shown = document.shown_by(index)
            if self.is_visible(shown):
                document.measure(LinePosition(shown, 0, 0), 1)
                self._refresh_from(shown)

    def line_at(self, y: int) -> Line | None:
        if not self.transcript.units:
            return self._greeting[y] if y < len(self._greeting) else None
        if y >= self.document.height:
            return None
        return self.document.line(self.document.place(y))

    def render_lines(self, crop: Region) -> list[Strip]:
        self._painting = [each for each in self.overlays if each.begin_frame()]
        return super().render_lines(crop)

    def surface_of(self, place: LinePosition) -> str:
        """The surface of the line at `place`: a message of the user has one as wide as the view."""
        unit = self.transcript.units[place.unit]
        is_message = place.line >= 0 and isinstance(unit, UserMessage | PendingMessage)
        return "raised" if is_message else "surface"

    def in_margin(self, strip: Strip, mark: str, on: str) -> Strip:
        """`strip` with `mark`, on the surface `on`, in its left margin."""
        style = self.theme_styles("accent", on)
        margin = Line([Segment(mark.ljust(self.MARGIN), style)]).strip(self.MARGIN, style)
        return Strip.join([margin, strip.crop(self.MARGIN, strip.cell_length)])

    def _mark_message(self, strip: Strip, line: Line, place: LinePosition) -> Strip:
        """Add the bar of a message, and on its first line its time, which no copy has."""
        message = self.transcript.units[place.unit]
        message = message.message if isinstance(message, PendingMessage) else message
        time = time_of(message, self._clock()) if isinstance(message, UserMessage) else ""
        # The surface of a message is as wide as the pane, not as its text.
        room = super().text_width - width_of(line.segments)
        end = self.MARGIN + super().text_width
        if not place.line and room >= len(time) + 2:
            style = self.theme_styles("dim", "raised")
            shown = Line([Segment(time, style)]).strip(len(time), style)
            strip = Strip.join([strip.crop(0, end - len(time)), shown, strip.crop(end)])
        return self.in_margin(strip, "▌", "raised")

    def strip_at(self, y: int, context: DrawContext) -> Strip:
        document = self.document
        if not self.transcript.units or y >= document.height:
            return super().strip_at(y, context)
        place = document.place(y)
        line, surface = document.line(place), self.surface_of(place)
        strip = self.strip_of(line, surface, address(place), context)
        if surface == "raised":
            strip = self._mark_message(strip, line, place)
        for overlay in self._painting:
            strip = overlay.paint(strip, place, context)
        return strip

    def address_of(self, y: int) -> int:
        return address(self.document.place(y)) if self.transcript.units else y

    def line_with(self, address: int) -> int:
        return self.document.number(place_at(address)) if self.transcript.units else address

    def lines_between(self, first: int, last: int | None) -> Iterable[tuple[int, Line]]:
        if not self.transcript.units:
            yield from super().lines_between(first, last)
            return
        end = LinePosition(len(self.transcript.units), 0, 0) if last is None else place_at(last)
        for place, line in self.document.places(place_at(first), end):
            yield address(place), line

    @property
    def page(self) -> int:
        return self._page

    def on_resize(self, event: events.Resize) -> None:
        del event
        # Textual looks the size up in the layout on each access.
        self._page = self.size.height
        self.reflow()

    def reflow(self) -> None:
        """Redraw for the present width and theme; reading position and selection stay."""
        document = self.document
        shape = self.text_width, self.theme_styles, self._tail
        if shape != (document.width, document.theme_styles, document.tail):
            held: Anchor | None = None
            if not self.following and self.transcript.units:
                held = document.anchor(document.place(self.scroll_offset.y))
            selected = self._hold_selection()
            document.reflow(*shape)
            if held is not None:
                self.start_at(document.find(held)[0])
            if selected:
                self.screen.selections = {**self.screen.selections, self: selected()}
        self._greeting = self._welcome(self.text_width)
        self.settle()
        self.refresh()

    def start_at(self, place: LinePosition) -> None:
        """Scroll so that the line at `place` is the first."""
        self.document.measure(place, 2 * self.page)
        self.resize_column(self.document.height)
        self._pin(self.document.number(place))

    def show_place(self, place: LinePosition, *, only_if_hidden: bool = False) -> None:
        """Scroll so that the line at `place` is a third down."""
        document, page = self.document, self.page
        start = LinePosition(place.unit, place.block, 0)
        document.measure(start, place.line + page)
        document.measure(start, -page)
        self.resize_column(document.height)
        y, top = document.number(place), self.scroll_offset.y
        if not (only_if_hidden and top <= y < top + page):
            self.jump(max(0, min(y - page // 3, self.max_scroll_y)))

    def toggle(self, index: int, block: int = 0) -> None:
        """Open or close unit `index`, or the run that its `block` is the line of; the lines above it
        move only if what opens has no room below them."""
        self.document.toggle(index, block)
        self.set_following(False)
        self.settle()
        if self.document.is_open(index, block):
            self._reveal_opened(index, block)
        self.set_following(self.scroll_offset.y >= self.max_scroll_y)
        self.refresh()

    def _reveal_opened(self, index: int, block: int) -> None:
        """Scroll as much of an open unit or run into view as fits, from its beginning."""
        first = self.document.number(LinePosition(index, block, 0))
        self.reveal(min(self.document.end(index, block), first + self.page - 1))
        self.reveal(first)

    def _hold_selection(self) -> Callable[[], Selection] | None:
        """Return a function that restores the selection after the lines have changed."""
        document, selection = self.document, self.text_selection
        if selection is None:
            return None
        ends = selection.start, selection.end
        # The end is anchored by the last character before it.
        held = [
            None if end is None else document.anchor(place_at(end.y), end.x - back)
            for end, back in zip(ends, (0, 1), strict=True)
        ]

        def selected() -> Selection:
            found = [None if anchor is None else document.find(anchor) for anchor in held]
            return Selection(
                *(
                    None if place is None else Offset(place[1] + forth, address(place[0]))
                    for place, forth in zip(found, (0, 1), strict=True)
                )
            )

        return selected

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        # A resize moves the view before `on_resize`, which restores it.
        if not self._pinning and self._page == self.size.height:
            # Units that streamed in below are measured only when the view comes near them: only then is the
            # end's position known.
            self.set_following(False)
            self._held = None
            self.settle()
            if self.scroll_offset.y >= self.max_scroll_y:
                self.set_following(True)

    def follow(self) -> None:
        """Go to the end and follow it."""
        self.set_following(True)
        self.settle()
        self.refresh()

    def _is_open_prose(self, index: int) -> bool:
        unit = self.transcript.units[index]
        return isinstance(unit, Prose) and unit.open

    def is_visible(self, index: int) -> bool:
        """Return whether any line of unit `index` is in view."""
        top = self.scroll_offset.y
        start = self.document.top(index)
        end = self.document.top(index + 1)
        return start < top + self.page and end > top

    def _refresh_from(self, index: int) -> None:
        top = max(0, self.document.top(index) - self.scroll_offset.y)
        self.refresh(Region(0, top, self.size.width, max(0, self.page - top)))

    def set_following(self, following: bool) -> None:
        """Set whether the view follows the end."""
        if following != self.following or following:
            self.following = following
            self._seen = len(self.transcript.units)
            self.post_message(self.Followed(following, 0))

    def settle(self) -> None:
        """Measure the view and a page around it; then restore the reading position."""
        document = self.document
        count, page = len(self.transcript.units), self.page
        if not count or not page:
            self.resize_column(len(self._greeting))
            return
        if self.following:
            document.measure(LinePosition(count - 1, -1, 0), -2 * page)
            self.resize_column(document.height)
            self._pin(self._end())
            return
        place = document.place(self.scroll_offset.y)
        document.measure(place, 2 * page)
        document.measure(LinePosition(place.unit, place.block, 0), -page)
        self.resize_column(document.height)
        self._pin(document.number(place))

    def hold(self, unit: int | None) -> None:
        """Keep a unit and what is above it in sight while the view follows the end; None ends that."""
        self._held = unit
        self.settle()
        self.refresh()

    def _end(self) -> int:
        """The first line to show while the view follows the end."""
        if self._held is None or self._held + 1 >= len(self.transcript.units):
            return self.max_scroll_y
        return max(0, min(self.max_scroll_y, self.document.top(self._held + 1) - self.page))

    def _pin(self, y: int) -> None:
        self._pinning = True
        self.jump(y)
        self._pinning = False
