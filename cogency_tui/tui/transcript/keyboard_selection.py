"""The lines of a transcript view that are selected by key: from one end that stays to one that moves."""

from textual.geometry import Offset
from textual.selection import Selection

from cogency_tui.tui.transcript.cursor import BlockCursor, BlockPlace
from cogency_tui.tui.transcript.document import LinePosition
from cogency_tui.tui.transcript.view import TranscriptView, address, place_at


class LineSelection:
    """Selects whole lines of `view`; `cursor` follows the moving end."""

    def __init__(self, view: TranscriptView, cursor: BlockCursor) -> None:
        self._view = view
        self._cursor = cursor
        self._ends: tuple[LinePosition, LinePosition] | None = None

    @property
    def is_active(self) -> bool:
        """True if lines are selected by key."""
        return self._ends is not None and self._view.text_selection is not None

    def forget(self) -> None:
        """End the selection by key; the selected lines stay selected."""
        self._ends = None

    def toggle(self) -> None:
        """Select the lines of the block at the cursor; when repeated clear the selection."""
        if self.is_active:
            self._view.screen.clear_selection()
        elif (block := self._cursor.place) is not None:
            self._select(self._view.document.first_line(*block), self._last_line(block))

    def extend(self, step: int) -> None:
        """Extend or shrink the selection by a line, at its moving end."""
        document = self._view.document
        if self._ends is not None and self.is_active:
            y = document.number(self._ends[1]) + step
            if 0 <= y < document.height:
                self._select(self._ends[0], document.place(y))
        elif (block := self._cursor.place) is not None:
            line = self._last_line(block) if step < 0 else document.first_line(*block)
            self._select(line, line)

    def extend_by_block(self, step: int) -> None:
        """Extend or shrink the selection by a block."""
        assert self._ends is not None
        start, end = self._ends
        target = self._cursor.beside(BlockPlace(end.unit, end.block), step)
        if target is not None:
            is_below = step > 0 or LinePosition(*target, 0) >= start
            first = self._view.document.first_line(*target)
            self._select(start, self._last_line(target) if is_below else first)

    def follow_reflow(self) -> None:
        """Take over the ends of the selection, whose lines have changed."""
        selection = self._view.text_selection
        if self._ends is None or selection is None or selection.start is None or selection.end is None:
            return
        first, last = place_at(selection.start.y), place_at(selection.end.y)
        self._ends = (first, last) if self._ends[0] <= self._ends[1] else (last, first)

    def _last_line(self, block: BlockPlace) -> LinePosition:
        return LinePosition(*block, self._view.document.block_height(*block) - 1)

    def _select(self, start: LinePosition, end: LinePosition) -> None:
        """Select whole lines; `end` is the moving one, and is scrolled into view."""
        self._ends = start, end
        self._cursor.put(BlockPlace(end.unit, end.block))
        view, document = self._view, self._view.document
        document.measure(LinePosition(end.unit, end.block, 0), 1)
        view.resize_column(document.height)
        view.reveal(document.number(end))
        first, last = sorted((start, end))
        length = len(document.line(last).text)
        selection = Selection(Offset(0, address(first)), Offset(length, address(last)))
        view.screen.selections = {view: selection}
