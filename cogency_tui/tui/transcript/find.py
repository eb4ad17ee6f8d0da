"""The search in a transcript view: every find in view is marked, and one of them is current.

A folded unit is open while it has the current find, and stays open only if the user keeps it. The search
itself runs in slices between frames.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from rich.style import Style
from textual.message import Message
from textual.strip import Strip
from textual.worker import Worker

from cogency_tui.tui.kit.line_view import DrawContext
from cogency_tui.tui.transcript.cursor import BlockCursor, BlockPlace
from cogency_tui.tui.transcript.document import Anchor, LinePosition
from cogency_tui.tui.transcript.text_finder import Finder, Span, count_in_markdown, finds_on
from cogency_tui.tui.transcript.units import Prose
from cogency_tui.tui.transcript.view import TranscriptView

_AROUND = 4
"""Lines above and below the view from which a find may reach into it."""

Mark = tuple[LinePosition, Span, Style]
"""Characters of the line at a place, and their style."""


class Highlights:
    """An overlay of the characters that `marks` returns for a frame."""

    def __init__(self, view: TranscriptView, marks: Callable[[], Iterable[Mark]]) -> None:
        self._view = view
        self._marks = marks
        self._spans: dict[LinePosition, list[tuple[Span, Style]]] = {}

    def begin_frame(self) -> bool:
        self._spans = {}
        for place, span, style in self._marks():
            self._spans.setdefault(place, []).append((span, style))
        return bool(self._spans)

    def paint(self, strip: Strip, place: LinePosition, context: DrawContext) -> Strip:
        del context
        for span, style in self._spans.get(place, ()):
            strip = self._view.painted(strip, span.start, span.stop, style)
        return strip


def finds_in_view(view: TranscriptView, query: str) -> Iterator[list[tuple[LinePosition, Span]]]:
    """Yield the matches of the case-folded `query` in view: the characters of each, in one or more lines."""
    document, top = view.document, view.scroll_offset.y
    if not view.transcript.units:
        return
    first = document.place(max(0, top - _AROUND))
    last = document.place(max(0, min(top + view.page + _AROUND, document.height) - 1))
    shown = list(document.places(first, last))
    for find in finds_on([line for _place, line in shown], query):
        yield [(shown[span.line][0], span) for span in find]


class Find:
    """Searches `view`, moves its `cursor` to matches, and calls `changed` after each move."""

    class Found(Message):
        """There are `total` matches; the `nth`, from 1, is current (0: none)."""

        def __init__(self, nth: int, total: int) -> None:
            self.nth = nth
            self.total = total
            super().__init__()

    class Ended(Message):
        """The search has ended."""

    def __init__(self, view: TranscriptView, cursor: BlockCursor, changed: Callable[[], None]) -> None:
        self.highlights = Highlights(view, self._marks)
        self._view = view
        self._cursor = cursor
        self._changed = changed
        self._finder: Finder | None = None
        self._search: Worker[None] | None = None
        self._current: tuple[int, int] | None = None
        """The unit of the current find, and its number there."""
        self._place: tuple[LinePosition, int] | None = None
        """The line and the character at which the current find begins."""
        self._opened: int | None = None
        self._origin: tuple[bool, Anchor] | None = None

    @property
    def is_active(self) -> bool:
        return self._finder is not None

    def begin(self, query: str) -> None:
        """Search for `query`, from where the search began."""
        view = self._view
        if not view.transcript.units:
            return
        if self._finder is None:
            self._finder = Finder(view.transcript)
        if self._origin is None:
            top = view.document.place(view.scroll_offset.y)
            self._origin = view.following, view.document.anchor(top)
        search = partial(self._run_search, self._finder, query)
        self._search = view.run_worker(search, group="find", exclusive=True)

    def accept(self) -> None:
        """Accept the present position as the new one."""
        self._origin = None

    def end(self) -> None:
        """End the search; return to where it began, unless the position was accepted."""
        opened = self._close_opened()
        if self._origin is not None:
            self._return()
        elif opened is not None:
            self._go_to_card(opened)
        self._finish()

    def keep(self, unit: int) -> bool:
        """End the search at the current find and leave its unit open; return False if the search has not
        opened `unit`."""
        if unit != self._opened:
            return False
        self._finish()
        return True

    def _go_to_card(self, folded: int) -> None:
        """Go to the line that is shown in place of a find: that of its unit, or of the run around that."""
        card = self._view.document.shown_by(folded)
        self._cursor.put(BlockPlace(card, 0))
        self._view.show_place(LinePosition(card, 0, 0), only_if_hidden=True)

    def _finish(self) -> None:
        self.forget()
        self._changed()
        self._view.refresh_bindings()

    def forget(self) -> None:
        """End the search at the present position."""
        if self._finder is not None:
            if self._search:
                self._search.cancel()
            self._view.post_message(self.Ended())
        self._finder = self._current = self._place = self._origin = self._opened = None

    def step(self, step: int) -> None:
        """Go to the next find, or with -1 to the previous one."""
        if self._finder is None:
            return
        if self._current is None:
            cursor = self._cursor.place or BlockPlace(0, 0)
            target = self._finder.nearest(cursor.unit)
        else:
            target = self._finder.next(*self._current, step)
        if target:
            self._go_to(target)

    def update_units(self, touched: Iterable[int]) -> None:
        """Search the units that are new or changed."""
        if self._finder:
            self._finder.update(touched)
            self._report()

    def follow_reflow(self) -> None:
        """Locate the current find on the lines that have changed."""
        if self._current:
            self._place = self._locate(*self._current)

    async def _run_search(self, finder: Finder, query: str) -> None:
        await finder.search(query)
        self._current = self._place = None
        self._close_opened()
        top = self._view.document.place(self._view.scroll_offset.y)
        if self._origin is not None:
            self._return(retain=True)
            # The field itself may have taken the first row from the view.
            top = self._view.document.find(self._origin[1])[0]
        if target := finder.nearest(top.unit, self._first_from(top)):
            self._go_to(target)
        self._report()
        self._changed()
        self._view.refresh_bindings()

    def _first_from(self, top: LinePosition) -> int:
        """The number of the first find at `top` or below, in the unit there."""
        assert self._finder is not None
        if not self._finder.count(top.unit) or top <= LinePosition(top.unit, 0, 0):
            return 0
        document, query, unit = self._view.document, self._finder.query, self._view.transcript.units[top.unit]
        source, before = document.source(top.unit, top.block), 0
        if isinstance(unit, Prose) and source is not None:
            before = count_in_markdown(unit.text[: source[0]], query)
        found = finds_on(document.lines_of(top.unit, top.block), query) if top.line > 0 else []
        return before + sum(spans[0].line < top.line for spans in found)

    def _go_to(self, target: tuple[int, int]) -> None:
        """Go to the `nth` find of a unit, which is opened if necessary."""
        unit, nth = self._current = target
        if self._opened != unit:
            self._close_opened()
        if self._is_folded_away(unit):
            self._view.document.expanded.add(unit)
            self._view.document.touch(unit)
            self._opened = unit
        self._place = place, _character = self._locate(unit, nth)
        self._view.show_place(place, only_if_hidden=True)
        self._cursor.put(BlockPlace(unit, place.block))
        self._report()
        self._changed()

    def _is_folded_away(self, unit: int) -> bool:
        """Return whether some matches in `unit` are hidden while it is folded."""
        assert self._finder is not None
        document = self._view.document
        if unit in document.expanded or not document.is_expandable(unit):
            return False
        shown = document.lines_of(unit, document.own_block(unit))
        return len(finds_on(shown, self._finder.query)) < self._finder.count(unit)

    def _locate(self, unit: int, nth: int) -> tuple[LinePosition, int]:
        """The line and the character at which the `nth` find of `unit` begins."""
        assert self._finder is not None
        document = self._view.document
        query, text, block = self._finder.query, self._view.transcript.units[unit], document.own_block(unit)
        if isinstance(text, Prose) and not text.thinking:
            for block in range(document.blocks(unit)):
                source = document.source(unit, block)
                count = count_in_markdown(text.text[slice(*source)], query) if source else 0
                if nth < count:
                    break
                nth -= count
        found = finds_on(document.lines_of(unit, block), query)
        if not found:
            return document.first_line(unit, block), -1
        span = found[min(nth, len(found) - 1)][0]
        return LinePosition(unit, block, span.line), span.start

    def _marks(self) -> Iterator[Mark]:
        if self._finder is None or not self._finder.query:
            return
        styles = self._view.theme_styles
        current, other = styles("surface", "edit", "bold"), styles("text", "cursor", "underline")
        for find in finds_in_view(self._view, self._finder.query):
            place, span = find[0]
            style = current if (place, span.start) == self._place else other
            yield from ((place, span, style) for place, span in find)

    def _report(self) -> None:
        finder = self._finder
        if finder is not None:
            nth = finder.ordinal(*self._current) if self._current else 0
            self._view.post_message(self.Found(nth, finder.total))

    def _close_opened(self) -> int | None:
        """Fold the unit that was opened for a find; return it, if there is one."""
        unit, self._opened = self._opened, None
        if unit is not None:
            self._view.document.expanded.discard(unit)
            self._view.document.touch(unit)
        return unit

    def _return(self, *, retain: bool = False) -> None:
        """Return to where the search began."""
        if self._origin is None:
            return
        (following, anchor), view = self._origin, self._view
        if following:
            view.follow()
        else:
            view.set_following(False)
            view.start_at(view.document.find(anchor)[0])
            view.settle()
        if not retain:
            self._origin = None
