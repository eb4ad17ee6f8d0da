"""A transcript with a cursor on one of its blocks: moving it, unfolding, and selecting lines.

Until the user moves the cursor it is on the last block in view; once it is scrolled out of sight, the next
key starts from there again.
"""

from collections.abc import Callable
from time import time
from typing import NamedTuple

from rich.segment import Segment
from textual import events
from textual.geometry import Offset, Region
from textual.selection import Selection
from textual.strip import Strip

from cogency_tui.tui.kit.line_view import Look
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.transcript.document import Place
from cogency_tui.tui.transcript.unit_view import UnitView, address, place_at
from cogency_tui.tui.transcript.units import Transcript


class BlockPlace(NamedTuple):
    """The `block` of a unit: a paragraph, a list or a fence of an answer, or all of any other unit."""

    unit: int
    block: int


class BlockView(UnitView):
    """Draws a transcript, with the cursor while it has the focus."""

    def __init__(
        self,
        welcome: Callable[[int], list[Line]],
        *,
        clock: Callable[[], float] = time,
        id: str | None = None,
    ) -> None:
        super().__init__(welcome, clock=clock, id=id)
        self._moved: BlockPlace | None = None
        self._lines_from: Place | None = None
        self._lines_to: Place | None = None
        self._marked: BlockPlace | None = None
        self._cursor: BlockPlace | None = None
        self._cursor_seen: object = None
        self._offered: object = None

    def show(self, transcript: Transcript) -> None:
        self._moved = None
        self._lines_from = None
        super().show(transcript)

    @property
    def cursor(self) -> BlockPlace | None:
        """The block that actions apply to; None if there is none."""
        if not self.transcript.units or not self.page:
            return None
        seen = self._moved, self.scroll_offset.y, self.page, self.document.height
        if seen != self._cursor_seen:
            self._cursor, self._cursor_seen = self._find_cursor(), seen
        return self._cursor

    def _find_cursor(self) -> BlockPlace:
        if self._moved is not None and self._is_seen(self._moved):
            return self._moved
        bottom = min(self.scroll_offset.y + self.page, self.document.height) - 1
        place = self.document.place(bottom)
        if not self._is_text(place) and bottom > self.scroll_offset.y:
            place = self.document.place(bottom - 1)
        return BlockPlace(place.unit, place.block)

    @property
    def selects_lines(self) -> bool:
        """Whether whole lines are being selected by key."""
        return self._lines_from is not None and self.text_selection is not None

    def render_lines(self, crop: Region) -> list[Strip]:
        self._marked = self.cursor if self.has_focus else None
        return super().render_lines(crop)

    def strip_at(self, y: int, look: Look) -> Strip:
        strip = super().strip_at(y, look)
        if self._marked is None or y >= self.document.height:
            return strip
        place = self.document.place(y)
        if (place.unit, place.block) != self._marked or not self._is_text(place):
            return strip
        mark = Strip([Segment("▎ ", look.inks("accent", self.surface_at(y)))], self.MARGIN)
        return Strip.join([mark, strip.crop(self.MARGIN, strip.cell_length)])

    def reflow(self) -> None:
        downwards = self.selects_lines and (self._lines_from or ()) <= (self._lines_to or ())
        super().reflow()
        selection = self.text_selection
        if self.selects_lines and selection and selection.start is not None and selection.end is not None:
            ends = place_at(selection.start.y), place_at(selection.end.y)
            self._lines_from, self._lines_to = ends if downwards else reversed(ends)

    def move_to(self, target: BlockPlace) -> None:
        """Move the cursor to a block, and scroll to its beginning."""
        self._moved = target
        document = self.document
        document.measure(Place(*target, 0), 1)
        self.resize_column(document.height)
        first = document.number(document.first_line(*target))
        last = first + min(document.block_height(*target), self.page) - 1
        self.reveal(last)
        self.reveal(first)
        self._changed()

    def go_to_unit(self, index: int) -> None:
        """Move the cursor to the beginning of unit `index`."""
        self.move_to(BlockPlace(index, 0))

    def toggle(self, index: int) -> None:
        """Open or close unit `index`; the lines above it do not move."""
        self.document.expanded ^= {index}
        self.document.touch(index)
        self.set_following(False)
        self.settle()
        self.set_following(self.scroll_offset.y >= self.max_scroll_y)
        self._changed()

    def action_block(self, step: int) -> None:
        """Move the cursor to the next or the previous block."""
        if self.selects_lines:
            self._extend_by_block(step)
            return
        if (cursor := self.cursor) is None:
            return
        # From inside a long block the first step goes to its own beginning.
        target = cursor if step < 0 and not self._is_whole(cursor) else self._beside(cursor, step)
        self.move_to(target or cursor)

    def action_expand(self) -> None:
        """Open or close the unit at the cursor."""
        if (cursor := self.cursor) is not None and self.document.is_expandable(cursor.unit):
            self._moved = cursor
            self.toggle(cursor.unit)

    def action_select_lines(self) -> None:
        """Select the lines of the block at the cursor; when repeated clear the selection."""
        if self.selects_lines:
            self.screen.clear_selection()
        elif (cursor := self.cursor) is not None:
            first = self.document.first_line(*cursor)
            self._select(first, Place(*cursor, self.document.block_height(*cursor) - 1))

    def action_extend(self, step: int) -> None:
        """Extend or shrink the selection by a line, at its moving end."""
        if not self.selects_lines:
            if (cursor := self.cursor) is not None:
                first = self.document.first_line(*cursor)
                last = Place(*cursor, self.document.block_height(*cursor) - 1)
                self._select(*((last, last) if step < 0 else (first, first)))
            return
        assert self._lines_from is not None
        assert self._lines_to is not None
        y = self.document.number(self._lines_to) + step
        if 0 <= y < self.document.height:
            self._select(self._lines_from, self.document.place(y))

    def selection_updated(self, selection: Selection | None) -> None:
        if selection is None:
            self._lines_from = self._lines_to = None
        super().selection_updated(selection)
        self._changed()

    def on_click(self, event: events.Click) -> None:
        if not self.transcript.units or self.text_selection is not None:
            return
        y = self.scroll_offset.y + event.y
        if y >= self.document.height:
            return
        place = self.document.place(y)
        self._moved = BlockPlace(place.unit, place.block)
        if self.document.is_expandable(place.unit) and place.line <= 0:
            self.toggle(place.unit)
        self._changed()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if self.has_focus:
            self._changed()

    def _changed(self) -> None:
        """Refresh after the cursor or its block changed, with the available actions."""
        self.refresh()
        cursor = self.cursor
        offered = cursor is not None, self.selects_lines, cursor and self.document.is_expandable(cursor.unit)
        if offered != self._offered:
            self._offered = offered
            self.refresh_bindings()

    def _beside(self, place: BlockPlace, step: int) -> BlockPlace | None:
        unit, block = place.unit, place.block + step
        while not 0 <= block < self.document.blocks(unit):
            unit += step
            if not 0 <= unit < len(self.transcript.units):
                return None
            block = 0 if step > 0 else self.document.blocks(unit) - 1
        return BlockPlace(unit, block)

    def _extend_by_block(self, step: int) -> None:
        assert self._lines_from is not None
        assert self._lines_to is not None
        here = BlockPlace(self._lines_to.unit, self._lines_to.block)
        target = self._beside(here, step)
        if target is not None:
            last = step > 0 or Place(*target, 0) >= self._lines_from
            end = Place(*target, self.document.block_height(*target) - 1)
            self._select(self._lines_from, end if last else self.document.first_line(*target))

    def _select(self, start: Place, end: Place) -> None:
        """Select whole lines; `end` is the moving one, and is scrolled into view."""
        self._lines_from, self._lines_to = start, end
        self._moved = BlockPlace(end.unit, end.block)
        document = self.document
        document.measure(Place(end.unit, end.block, 0), 1)
        self.resize_column(document.height)
        self.reveal(document.number(end))
        first, last = sorted((start, end))
        length = len(document.line(last).text)
        selection = Selection(Offset(0, address(first)), Offset(length, address(last)))
        self.screen.selections = {self: selection}

    def _is_seen(self, place: BlockPlace) -> bool:
        if place.unit >= len(self.transcript.units) or not self.is_visible(place.unit):
            return False
        document, top = self.document, self.scroll_offset.y
        if place.block >= document.blocks(place.unit):
            return False
        last = document.number(Place(*place, document.block_height(*place) - 1))
        return document.number(document.first_line(*place)) < top + self.page and last >= top

    def _is_whole(self, place: BlockPlace) -> bool:
        """Whether the beginning of a block is in view."""
        return self.document.number(self.document.first_line(*place)) >= self.scroll_offset.y

    def _is_text(self, place: Place) -> bool:
        return place.line >= self.document.first_line(place.unit, place.block).line
