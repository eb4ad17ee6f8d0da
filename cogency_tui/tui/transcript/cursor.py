"""The cursor of a transcript view: the block that actions apply to.

Until the user moves it, it is on the last block in view; once it is scrolled out of sight, the next key
starts from there again.
"""

from collections.abc import Callable
from typing import NamedTuple

from textual.strip import Strip

from cogency_tui.tui.kit.line_view import DrawContext
from cogency_tui.tui.transcript.document import LinePosition
from cogency_tui.tui.transcript.view import TranscriptView


class BlockPlace(NamedTuple):
    """The `block` of a unit: a paragraph, a list or a fence of an answer, or all of any other unit."""

    unit: int
    block: int


class BlockCursor:
    """The cursor of `view`, marked while that has the focus; `changed` is called after each move."""

    def __init__(self, view: TranscriptView, changed: Callable[[], None]) -> None:
        self._view = view
        self._changed = changed
        self._moved: BlockPlace | None = None
        self._found: BlockPlace | None = None
        self._found_for: object = None
        self._marked: BlockPlace | None = None

    @property
    def place(self) -> BlockPlace | None:
        """The block at the cursor; None if there is none."""
        view = self._view
        if not view.transcript.units or not view.page:
            return None
        seen = self._moved, view.scroll_offset.y, view.page, view.document.height
        if seen != self._found_for:
            self._found, self._found_for = self._find(), seen
        return self._found

    def put(self, target: BlockPlace | None) -> None:
        """Put the cursor on a block without scrolling; None puts it on the last one in view."""
        self._moved = target

    def move_to(self, target: BlockPlace) -> None:
        """Move the cursor to a block, and scroll to its beginning."""
        self._moved = target
        view, document = self._view, self._view.document
        document.measure(LinePosition(*target, 0), 1)
        view.resize_column(document.height)
        first = document.number(document.first_line(*target))
        view.reveal(first + min(document.block_height(*target), view.page) - 1)
        view.reveal(first)
        self._changed()

    def move(self, step: int) -> None:
        """Move the cursor to the next block, or with -1 to the previous one."""
        if (place := self.place) is None:
            return
        # From inside a long block the first step goes to its own beginning.
        target = place if step < 0 and not self._is_whole(place) else self.beside(place, step)
        self.move_to(target or place)

    def beside(self, place: BlockPlace, step: int) -> BlockPlace | None:
        """The block after `place`, or with -1 before it."""
        document = self._view.document
        unit, block = place.unit, place.block + step
        while not 0 <= block < document.blocks(unit):
            unit += step
            if not 0 <= unit < len(self._view.transcript.units):
                return None
            block = 0 if step > 0 else document.blocks(unit) - 1
        return BlockPlace(unit, block)

    def begin_frame(self) -> bool:
        self._marked = self.place if self._view.has_focus else None
        return self._marked is not None

    def paint(self, strip: Strip, place: LinePosition, context: DrawContext) -> Strip:
        del context
        if (place.unit, place.block) != self._marked or not self._is_text(place):
            return strip
        return self._view.in_margin(strip, "▎", self._view.surface_of(place))

    def _find(self) -> BlockPlace:
        if self._moved is not None and self._is_seen(self._moved):
            return self._moved
        view, document = self._view, self._view.document
        bottom = min(view.scroll_offset.y + view.page, document.height) - 1
        place = document.place(bottom)
        if not self._is_text(place) and bottom > view.scroll_offset.y:
            place = document.place(bottom - 1)
        return BlockPlace(place.unit, place.block)

    def _is_seen(self, place: BlockPlace) -> bool:
        view, document = self._view, self._view.document
        if place.unit >= len(view.transcript.units) or not view.is_visible(place.unit):
            return False
        if place.block >= document.blocks(place.unit):
            return False
        top = view.scroll_offset.y
        last = document.number(LinePosition(*place, document.block_height(*place) - 1))
        return document.number(document.first_line(*place)) < top + view.page and last >= top

    def _is_whole(self, place: BlockPlace) -> bool:
        """Return whether the beginning of a block is in view."""
        document = self._view.document
        return document.number(document.first_line(*place)) >= self._view.scroll_offset.y

    def _is_text(self, place: LinePosition) -> bool:
        return place.line >= self._view.document.first_line(place.unit, place.block).line
