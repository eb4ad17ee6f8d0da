"""A transcript with a search: every find in view is marked, and one of them is current.

A folded unit is opened while it has the current find. The search itself runs in slices between frames.
"""

from collections.abc import Callable, Iterable
from functools import partial
from time import time

from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.worker import Worker

from cogency_tui.tui.kit.line_view import Look
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.transcript.block_view import BlockPlace, BlockView
from cogency_tui.tui.transcript.document import Anchor, Place
from cogency_tui.tui.transcript.text_finder import Finder, Span, count_in_markdown, finds_on
from cogency_tui.tui.transcript.units import Prose, Transcript

_AROUND = 4
"""Lines above and below the view from which a find may reach into it."""


class FindView(BlockView):
    """Draws a transcript with the finds in it."""

    class Found(Message):
        """There are `total` finds; the `nth`, from 1, is current (0: none)."""

        def __init__(self, nth: int, total: int) -> None:
            self.nth = nth
            self.total = total
            super().__init__()

    class FindEnded(Message):
        """The search has ended."""

    def __init__(
        self,
        welcome: Callable[[int], list[Line]],
        *,
        clock: Callable[[], float] = time,
        id: str | None = None,
    ) -> None:
        super().__init__(welcome, clock=clock, id=id)
        self._finder: Finder | None = None
        self._search: Worker[None] | None = None
        self._find: tuple[int, int] | None = None
        self._stands: tuple[Place, int] | None = None
        self._opened: int | None = None
        self._origin: tuple[bool, Anchor] | None = None
        self._spans: dict[Place, list[tuple[Span, bool]]] = {}

    @property
    def finding(self) -> bool:
        """Whether a search is active."""
        return self._finder is not None

    def show(self, transcript: Transcript) -> None:
        self._forget()
        super().show(transcript)

    def find(self, query: str) -> None:
        """Search for `query`, from where the search began."""
        if not self.transcript.units:
            return
        if self._finder is None:
            self._finder = Finder(self.transcript)
        if self._origin is None:
            top = self.document.place(self.scroll_offset.y)
            self._origin = self.following, self.document.anchor(top)
        search = partial(self._look_for, self._finder, query)
        self._search = self.run_worker(search, group="find", exclusive=True)

    def keep_find(self) -> None:
        """Accept the present position as the new one."""
        self._origin = self._opened = None

    def end_find(self) -> None:
        """End the search; return to where it began, unless the position was accepted."""
        self._close_opened()
        self._return()
        self._forget()
        self._changed()
        self.refresh_bindings()

    def go_to_find(self, step: int) -> None:
        """Go to the next find, or with -1 to the previous one."""
        if self._finder is None:
            return
        if self._find is None:
            cursor = self.cursor or BlockPlace(0, 0)
            target = self._finder.nearest(cursor.unit, cursor.unit)
        else:
            target = self._finder.next(*self._find, step)
        if target:
            self._go_to(target)

    def update_units(self, touched: Iterable[int]) -> None:
        touched = list(touched)
        super().update_units(touched)
        if self._finder:
            self._finder.update(touched)
            self._tell()

    def reflow(self) -> None:
        super().reflow()
        if self._find:
            self._stands = self._locate(*self._find)

    def render_lines(self, crop: Region) -> list[Strip]:
        self._spans = self._finds_in_view() if self._finder and self._finder.query else {}
        return super().render_lines(crop)

    def strip_at(self, y: int, look: Look) -> Strip:
        strip = super().strip_at(y, look)
        if not self._spans or y >= self.document.height:
            return strip
        for span, stands in self._spans.get(self.document.place(y), ()):
            style = (
                look.inks("surface", "edit", "bold") if stands else look.inks("text", "cursor", "underline")
            )
            strip = self.painted(strip, span.start, span.stop, style)
        return strip

    async def _look_for(self, finder: Finder, query: str) -> None:
        await finder.look_for(query)
        self._find = self._stands = None
        self._close_opened()
        self._return(keep=True)
        top, bottom = self.scroll_offset.y, min(self.scroll_offset.y + self.page, self.document.height) - 1
        units = self.document.place(top).unit, self.document.place(bottom).unit
        if target := finder.nearest(*units):
            self._go_to(target)
        self._tell()
        self._changed()
        self.refresh_bindings()

    def _go_to(self, target: tuple[int, int]) -> None:
        """Go to the `nth` find of a unit, which is opened if necessary."""
        unit, nth = self._find = target
        if self._opened != unit:
            self._close_opened()
        if self._is_folded_away(unit):
            self.document.expanded.add(unit)
            self.document.touch(unit)
            self._opened = unit
        self._stands = place, _character = self._locate(unit, nth)
        document, page = self.document, self.page
        start = Place(unit, place.block, 0)
        document.measure(start, place.line + page)
        document.measure(start, -page)
        self.resize_column(document.height)
        y, top = document.number(place), self.scroll_offset.y
        if not top <= y < top + page:
            self.jump(max(0, min(y - page // 3, self.max_scroll_y)))
        self._moved = BlockPlace(unit, place.block)
        self._tell()
        self._changed()

    def _is_folded_away(self, unit: int) -> bool:
        """Whether some finds in `unit` are hidden while it is folded."""
        assert self._finder is not None
        if unit in self.document.expanded or not self.document.is_expandable(unit):
            return False
        shown = finds_on(self.document.lines_of(unit, 0), self._finder.query)
        return len(shown) < self._finder.count(unit)

    def _locate(self, unit: int, nth: int) -> tuple[Place, int]:
        """The line and the character at which the `nth` find of `unit` begins."""
        assert self._finder is not None
        query, text, block = self._finder.query, self.transcript.units[unit], 0
        if isinstance(text, Prose) and not text.thinking:
            for block in range(self.document.blocks(unit)):
                source = self.document.source(unit, block)
                count = count_in_markdown(text.text[slice(*source)], query) if source else 0
                if nth < count:
                    break
                nth -= count
        found = finds_on(self.document.lines_of(unit, block), query)
        if not found:
            return self.document.first_line(unit, block), -1
        span = found[min(nth, len(found) - 1)][0]
        return Place(unit, block, span.line), span.start

    def _finds_in_view(self) -> dict[Place, list[tuple[Span, bool]]]:
        assert self._finder is not None
        document, top = self.document, self.scroll_offset.y
        if not self.transcript.units:
            return {}
        first = document.place(max(0, top - _AROUND))
        last = document.place(max(0, min(top + self.page + _AROUND, document.height) - 1))
        shown = list(document.places(first, last))
        spans: dict[Place, list[tuple[Span, bool]]] = {}
        for find in finds_on([line for _place, line in shown], self._finder.query):
            stands = (shown[find[0].line][0], find[0].start) == self._stands
            for span in find:
                spans.setdefault(shown[span.line][0], []).append((span, stands))
        return spans

    def _tell(self) -> None:
        finder = self._finder
        if finder is not None:
            nth = finder.ordinal(*self._find) if self._find else 0
            self.post_message(self.Found(nth, finder.total))

    def _close_opened(self) -> None:
        """Fold the unit that was opened for a find."""
        if self._opened is not None:
            self.document.expanded.discard(self._opened)
            self.document.touch(self._opened)
            self._opened = None

    def _return(self, *, keep: bool = False) -> None:
        """Return to where the search began."""
        if self._origin is None:
            return
        following, anchor = self._origin
        if following:
            self.follow()
        else:
            self.set_following(False)
            self.stand_at(self.document.find(anchor)[0])
            self.settle()
        if not keep:
            self._origin = None

    def _forget(self) -> None:
        if self._finder is not None:
            if self._search:
                self._search.cancel()
            self.post_message(self.FindEnded())
        self._finder = self._find = self._stands = self._origin = self._opened = None
        self._spans = {}
