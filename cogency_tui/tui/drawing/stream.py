"""Markdown while it is being written, and long after: blocks that are drawn when they are looked at.

Work is proportional to what is new and to what is seen. Of what is being written only the last block is
drawn again, and of a fence only its last row; a block's height is estimated until it is drawn. Only what was
looked at last is held ready.
"""

from collections import OrderedDict

from cogency_tui.tui.drawing.blocks import Block, BlockCutter, Fence
from cogency_tui.tui.drawing.code import CodeLines
from cogency_tui.tui.drawing.heights import Heights
from cogency_tui.tui.drawing.lines import BLANK, Line
from cogency_tui.tui.drawing.markdown import MarkdownDrawer, parse
from cogency_tui.tui.drawing.sheet import MOST_LAID, Fixed
from cogency_tui.tui.drawing.sheet import Block as Drawn
from cogency_tui.tui.theming import Inks

_LINES = 1024
"""How many lines are held ready, about."""

_BLOCKS = 4
"""How many blocks are held ready however long they are."""


class MarkdownStream:
    """The lines of a text that grows at its end, and the blocks that it consists of."""

    def __init__(self, width: int, inks: Inks) -> None:
        self._width = width
        self._inks = inks
        self._drawer = MarkdownDrawer(width, inks)
        self._cutter = BlockCutter()
        self._text = ""
        self._blocks: list[Block] = []
        self._settled = 0
        self._drawn: OrderedDict[int, Drawn] = OrderedDict()
        self._heights = Heights()
        self._end: Fixed | None = None
        self._code: CodeLines | None = None
        self._fed = 0

    def __len__(self) -> int:
        """How many lines there are, as far as is known."""
        return self._heights.total

    @property
    def laid(self) -> int:
        """About how many lines are held ready."""
        return sum(min(len(drawn), MOST_LAID) for drawn in self._drawn.values())

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return len(self._blocks)

    def show(self, text: str, *, closed: bool) -> None:
        """Show `text`, which begins with what was shown before; `closed` when nothing more comes."""
        self._text = text
        self._end = None
        self._cutter.feed(text)
        if closed:
            self._cutter.close()
        for block in self._cutter.blocks[self._settled :]:
            self._put(self._settled, block, settled=True)
            self._settled += 1
        pending = self._cutter.pending()
        for place, block in enumerate(pending, self._settled):
            self._put(place, block, settled=False)
        self._leave(self._settled + len(pending))

    def end_with(self, lines: list[Line]) -> None:
        """Show `lines` below the text."""
        end = len(self._text)
        self._blocks.append(Block(end, end))
        self._drawn.pop(len(self._blocks) - 1, None)
        self._end = Fixed(lines)
        self._heights.append(len(lines) + self._gap(len(self._blocks) - 1))

    def source(self, block: int) -> tuple[int, int]:
        """Where the source of `block` begins and ends in the text."""
        return self._blocks[block].start, self._blocks[block].stop

    def top(self, block: int) -> int:
        """The line that `block` begins at; the blank one that sets it off is its first."""
        return self._heights.before(block)

    def height(self, block: int) -> int:
        """How many lines `block` has, which is drawn for it."""
        if block >= len(self._blocks):
            return 0
        self._look(block)
        return self._heights[block]

    def locate(self, index: int) -> tuple[int, int]:
        """The block that line `index` belongs to as far as is known, and the line within it."""
        return self._heights.locate(index) if self._blocks else (0, index)

    def line(self, block: int, offset: int) -> Line:
        """Line `offset` of `block`; a blank one past its end."""
        if block >= len(self._blocks):
            return BLANK
        drawn, offset = self._look(block), offset - self._gap(block)
        return drawn.line(offset) if 0 <= offset < len(drawn) else BLANK

    def _gap(self, place: int) -> int:
        return int(place > 0 and self._blocks[place].gap)

    def _put(self, place: int, block: Block, *, settled: bool) -> None:
        """Make `block` the one at `place`; of an earlier state of it what is drawn already stays."""
        if place == len(self._blocks):
            self._blocks.append(block)
            self._code = None
            self._heights.append(self._estimate(place))
            return
        before, self._blocks[place] = self._blocks[place], block
        if block.fence and self._code and place == len(self._blocks) - 1:
            self._write(self._code, block, settled=settled)
            self._heights.set(place, len(self._code) + self._gap(place))
            self._code = None if settled else self._code
        elif (before.start, before.stop) != (block.start, block.stop) or before.fence != block.fence:
            self._drawn.pop(place, None)

    def _leave(self, count: int) -> None:
        """Leave `count` blocks: what seemed to begin another turned out to belong to the one above."""
        while len(self._blocks) > count:
            self._blocks.pop()
            self._drawn.pop(len(self._blocks), None)
            self._heights.pop()

    def _look(self, place: int) -> Drawn:
        drawn = self._drawn.get(place)
        if drawn is None:
            drawn = self._drawn[place] = self._draw(place)
            self._heights.set(place, len(drawn) + self._gap(place))
            while len(self._drawn) > _BLOCKS and self.laid > _LINES:
                self._drawn.popitem(last=False)
        else:
            self._drawn.move_to_end(place)
        return drawn

    def _draw(self, place: int) -> Drawn:
        block = self._blocks[place]
        if self._end is not None and place == len(self._blocks) - 1:
            return self._end
        if block.fence:
            return self._draw_code(place, block, block.fence)
        header = f"{self._text[slice(*block.header)]}\n" if block.header else ""
        lines = self._drawer.draw(parse(header + block.source(self._text)))
        if lines and not block.gap:
            lines[0] = Line(lines[0].segments, block.joint, lines[0].lead)
        return Fixed(lines)

    def _draw_code(self, place: int, block: Block, fence: Fence) -> CodeLines:
        code = CodeLines(fence.language, self._width, self._inks)
        settled, self._fed = place < self._settled, 0
        self._write(code, block, settled=settled)
        self._code = self._code if settled else code
        return code

    def _write(self, code: CodeLines, block: Block, *, settled: bool) -> None:
        """Add to `code` what is new in its fence."""
        text, stop, fence = self._text, block.stop, block.fence
        assert fence is not None
        self._fed = self._fed or text.find("\n", block.start, stop) + 1
        rows: list[str] = []
        partial: str | None = None
        if self._fed:
            while (end := text.find("\n", self._fed, stop)) >= 0:
                rows.append(fence.body(text[self._fed : end]))
                self._fed = end + 1
            partial = text[self._fed : stop]
        if settled and partial is not None:
            rows += [] if fence.closes(partial) else [fence.body(partial)]
            partial = None
        code.extend(rows, None if partial is None else fence.body(partial))
        if settled:
            code.close()

    def _estimate(self, place: int) -> int:
        block = self._blocks[place]
        rows = self._text.count("\n", block.start, block.stop)
        wrapped = 0 if block.fence else (block.stop - block.start) // max(8, self._width)
        return max(1, rows, wrapped) + self._gap(place)
