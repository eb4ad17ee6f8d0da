"""Markdown as it is written: cut into blocks line by line, without parsing, and drawn on request.

A cut is made only where a parser sees one as well, so that each block can be drawn alone, when it is shown.
The cuts depend on the text alone, not on the pieces in which it arrives.

Work is proportional to what is new and to what is visible: while text arrives only the last block is
redrawn, and of a fence only its last row. A block's height is estimated until it is drawn. Only the blocks
shown last are cached.
"""

import re
from collections import OrderedDict
from dataclasses import dataclass, replace

from cogency_tui.tui.kit.code import CodeLines
from cogency_tui.tui.kit.diff_code import DiffCode, code_block
from cogency_tui.tui.kit.lazy_text_layout import MOST_LAID, Fixed, Heights
from cogency_tui.tui.kit.lazy_text_layout import LayoutBlock as Drawn
from cogency_tui.tui.kit.lines import BLANK, Line
from cogency_tui.tui.kit.markdown import MarkdownDrawer, parse
from cogency_tui.tui.theme_styles import ThemeStyles

LIMIT = 8192
"""Characters after which a block is cut anyway: the open block is redrawn with each change."""

_LIST_LIMIT = 2048
_OPENING = re.compile(r"(?P<indent> {0,3})(?P<mark>`{3,}(?=[^`]*\Z)|~{3,})(?P<info>.*)\Z")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|\Z)")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|\Z)")
_LINK_OPEN = re.compile(r"(?<![\\!])\[([^\[\]\n]+)\]\([^()\s]*\Z")
_BOLD_OPEN = re.compile(r"(?:^|[\s(])\*\*(?=[^\s*])")
_DELIMITER = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\Z")


@dataclass(slots=True)
class Fence:
    """An opening fence: its lines lose up to `indent` leading spaces, `info` follows the mark."""

    mark: str
    info: str
    indent: int

    @property
    def language(self) -> str:
        return self.info.split(maxsplit=1)[0] if self.info.strip() else ""

    def closes(self, line: str) -> bool:
        """Return whether `line` closes the fence."""
        bare = line.strip(" \t")
        closing = len(bare) >= len(self.mark) and not bare.strip(self.mark[0])
        return closing and len(line) - len(line.lstrip(" ")) < 4

    def may_close(self, line: str) -> bool:
        """Return whether `line`, which is still incomplete, may come to close the fence."""
        bare = line.strip(" ")
        return bool(bare) and not bare.strip(self.mark[0])

    def body(self, line: str) -> str:
        """The code on a line of the fence."""
        spaces = len(line) - len(line.lstrip(" "))
        return line[min(self.indent, spaces) :]


@dataclass(slots=True)
class MarkdownBlock:
    """The part of a text from `start` to `stop`. With a `gap`, a blank line separates it from the block
    above, else `joint` does. `header` is the position of the table head that the block continues."""

    start: int
    stop: int
    gap: bool = True
    joint: str = "\n"
    fence: Fence | None = None
    header: tuple[int, int] | None = None
    lists: bool = False
    heading: bool = False
    blank: bool = False

    def source(self, text: str) -> str:
        """Its own part of the whole `text`."""
        return text[self.start : self.stop]


class BlockCutter:
    """Cuts a text that grows at its end; `blocks` are the finished ones."""

    def __init__(self) -> None:
        self.blocks: list[MarkdownBlock] = []
        self._text = ""
        self._open: MarkdownBlock | None = None
        self._line = 0
        self._searched = 0
        self._joint: str | None = None

    def feed(self, text: str) -> None:
        """Process `text`, the whole text so far."""
        self._text = text
        while (end := text.find("\n", max(self._line, self._searched))) >= 0:
            self._take(self._line, end)
            self._line = end + 1
            self._joint = None
        self._searched = len(text)
        while len(text) - self._line > LIMIT and not (self._open and self._open.fence):
            self._break_line(text)

    def pending(self) -> list[MarkdownBlock]:
        """The blocks that may still grow, in their present state: none, one, or two."""
        line = self._text[self._line :]
        before = self._open
        if not line.strip():
            return [replace(before)] if before else []
        if before and before.fence:
            whole = before.fence.may_close(line)
            return [replace(before, stop=before.stop if whole else len(self._text))]
        if before is None or self._starts(before, line):
            after = self._begun(before, self._line, len(self._text), line)
            # The info string of a fence is unknown until its first line is complete.
            return [
                replace(block) for block in (before, after) if block and not (block is after and after.fence)
            ]
        return [replace(before, stop=len(self._text))]

    def close(self) -> None:
        """End the text."""
        if self._line < len(self._text):
            self._take(self._line, len(self._text))
            self._line = len(self._text)
        self._settle()

    def _take(self, start: int, stop: int) -> None:
        """Process the complete line from `start` to `stop`."""
        line, block = self._text[start:stop], self._open
        if block and block.fence:
            block.stop = stop
            if block.fence.closes(line):
                self._settle()
        elif not line.strip():
            if block:
                block.blank = True
        elif block is None or self._starts(block, line):
            self._settle()
            self._open = self._begun(block, start, stop, line)
        else:
            block.stop, block.blank = stop, False
            block.lists = block.lists or _ITEM.match(line) is not None

    def _settle(self) -> None:
        if self._open:
            self.blocks.append(self._open)
            self._open = None

    def _begun(self, before: MarkdownBlock | None, start: int, stop: int, line: str) -> MarkdownBlock:
        """The block that begins with `line`."""
        if self._joint is not None:
            return MarkdownBlock(start, stop, gap=False, joint=self._joint)
        opening = _OPENING.match(line)
        fence = Fence(opening["mark"], opening["info"], len(opening["indent"])) if opening else None
        block = MarkdownBlock(start, stop, fence=fence)
        block.lists = _ITEM.match(line) is not None
        block.heading = _HEADING.match(line) is not None
        if before and self._is_forced(before, line):
            block.gap, block.header = before.blank, before.header or self._table_head(before)
        return block

    def _starts(self, block: MarkdownBlock, line: str) -> bool:
        """Return whether `line` begins another block below `block`."""
        if block.heading or _HEADING.match(line):
            return True
        if (opening := _OPENING.match(line)) and not (block.lists and opening["indent"]):
            return True
        if block.blank and line[0] not in " \t" and not (block.lists and _ITEM.match(line)):
            return True
        return self._is_forced(block, line)

    def _is_forced(self, block: MarkdownBlock, line: str) -> bool:
        """Return whether `block` is too long to accept `line`, which would belong to it."""
        if block.heading or _HEADING.match(line) or _OPENING.match(line):
            return False
        size = block.stop - block.start
        item = block.lists and line[0] not in " \t" and _ITEM.match(line) is not None
        if block.blank and not item and line[0] not in " \t":
            return False
        return size > LIMIT or (item and size > _LIST_LIMIT)

    def _table_head(self, block: MarkdownBlock) -> tuple[int, int] | None:
        """The position of the two head lines of a table, if `block` is one."""
        first = self._text.find("\n", block.start, block.stop)
        second = self._text.find("\n", first + 1, block.stop)
        if min(first, second) < 0 or "|" not in self._text[block.start : second]:
            return None
        return (block.start, second) if _DELIMITER.match(self._text[first + 1 : second]) else None

    def _break_line(self, text: str) -> None:
        """Finish a block with the beginning of a line that is too long to be redrawn repeatedly."""
        end = self._line + LIMIT
        space = text.rfind(" ", self._line + LIMIT // 2, end)
        stop = space if space > 0 else end
        self._take(self._line, stop)
        self._settle()
        self._line = stop + (space > 0)
        self._joint = " " if space > 0 else ""


def close_marks(source: str) -> str:
    """`source`, whose last line is still being written, with the marks closed that are open in it.

    Code, bold text and links (without the part of their address that has arrived) are drawn as what they
    become.
    """
    before, newline, line = source.rpartition("\n")
    if line.count("`") % 2:
        line += "`"
    else:
        line = _LINK_OPEN.sub(r"[\1]()", line)
    bold = line.count("**") % 2 and any(_BOLD_OPEN.finditer(line))
    return f"{before}{newline}{line}{'**' if bold else ''}"


_LINES = 192
"""The approximate limit of cached lines."""

_BLOCKS = 4
"""Blocks that are cached however long they are."""

_OFTEN = 16
"""Drawings between two checks of the cache's size: a check takes longer than a drawing."""


class MarkdownStream:
    """The lines and blocks of a Markdown text that grows at its end."""

    def __init__(self, width: int, styles: ThemeStyles) -> None:
        self._width = width
        self._theme_styles = styles
        self._drawer = MarkdownDrawer(width, styles)
        self._cutter = BlockCutter()
        self._text = ""
        self._blocks: list[MarkdownBlock] = []
        self._settled = 0
        self._drawn: OrderedDict[int, Drawn] = OrderedDict()
        self._drawings = 0
        self._heights = Heights()
        self._code: CodeLines | DiffCode | None = None
        """The code of the last fence, if that is open and drawn; its text is in it up to `_fed`."""
        self._fed = 0

    def __len__(self) -> int:
        """The number of lines, as far as known."""
        return self._heights.total

    @property
    def laid(self) -> int:
        """The approximate number of cached lines."""
        return sum(map(_laid, self._drawn.values()))

    @property
    def count(self) -> int:
        """The number of blocks."""
        return len(self._blocks)

    def show(self, text: str, *, closed: bool) -> None:
        """Show `text`, which begins with what was shown before; `closed` when it is complete."""
        self._text = text
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

    def source(self, block: int) -> tuple[int, int]:
        """The start and end of the source of `block` in the text."""
        return self._blocks[block].start, self._blocks[block].stop

    def top(self, block: int) -> int:
        """The line that `block` begins at, including the blank line above it."""
        return self._heights.before(block)

    def height(self, block: int) -> int:
        """The number of lines of `block`, which is drawn to count them."""
        if block >= len(self._blocks):
            return 0
        self._drawn_block(block)
        return self._heights[block]

    def locate(self, index: int) -> tuple[int, int]:
        """The block that line `index` belongs to, as far as known, and the line within it."""
        return self._heights.locate(index) if self._blocks else (0, index)

    def line(self, block: int, offset: int) -> Line:
        """Line `offset` of `block`; a blank one past its end."""
        if block >= len(self._blocks):
            return BLANK
        drawn, offset = self._drawn_block(block), offset - self._gap(block)
        return drawn.line(offset) if 0 <= offset < len(drawn) else BLANK

    def _gap(self, place: int) -> int:
        return int(place > 0 and self._blocks[place].gap)

    def _put(self, place: int, block: MarkdownBlock, *, settled: bool) -> None:
        """Set the block at `place`; drawn lines of its earlier state are reused."""
        if place == len(self._blocks):
            self._blocks.append(block)
            self._code = None
            self._heights.append(self._estimate(place))
            return
        before, self._blocks[place] = self._blocks[place], block
        if block.fence and self._code and place == len(self._blocks) - 1:
            self._fed = self._write(self._code, block, self._fed, settled=settled)
            self._heights.set(place, len(self._code) + self._gap(place))
            self._code = None if settled else self._code
        elif settled or _part(before) != _part(block):
            # A settled block is drawn without the marks that closed it.
            self._drawn.pop(place, None)

    def _leave(self, count: int) -> None:
        """Truncate to `count` blocks: what seemed to begin another belongs to the one above."""
        while len(self._blocks) > count:
            self._blocks.pop()
            self._drawn.pop(len(self._blocks), None)
            self._heights.pop()

    def _drawn_block(self, place: int) -> Drawn:
        drawn = self._drawn.get(place)
        if drawn is None:
            drawn = self._drawn[place] = self._draw(place)
            self._heights.set(place, len(drawn) + self._gap(place))
            self._drawings += 1
            if not self._drawings % _OFTEN:
                self._forget_oldest()
        else:
            self._drawn.move_to_end(place)
        return drawn

    def _forget_oldest(self) -> None:
        laid = self.laid
        while len(self._drawn) > _BLOCKS and laid > _LINES:
            laid -= _laid(self._drawn.popitem(last=False)[1])

    def _draw(self, place: int) -> Drawn:
        block = self._blocks[place]
        if block.fence:
            return self._draw_code(place, block, block.fence)
        header = f"{self._text[slice(*block.header)]}\n" if block.header else ""
        source = block.source(self._text)
        lines = self._drawer.draw(parse(header + (source if place < self._settled else close_marks(source))))
        if lines and not block.gap:
            lines[0] = Line(lines[0].segments, block.joint, lines[0].lead, lines[0].tail)
        return Fixed(lines)

    def _draw_code(self, place: int, block: MarkdownBlock, fence: Fence) -> CodeLines | DiffCode:
        code = code_block(fence.language, self._width, self._theme_styles)
        settled = place < self._settled
        fed = self._write(code, block, 0, settled=settled)
        if not settled:
            self._code, self._fed = code, fed
        return code

    def _write(self, code: CodeLines | DiffCode, block: MarkdownBlock, fed: int, *, settled: bool) -> int:
        """Add to `code` the rows of its fence from the place `fed` of the text on, 0 for all of them; return
        the place after them."""
        text, stop, fence = self._text, block.stop, block.fence
        assert fence is not None
        fed = fed or text.find("\n", block.start, stop) + 1
        rows: list[str] = []
        partial: str | None = None
        if fed:
            while (end := text.find("\n", fed, stop)) >= 0:
                rows.append(fence.body(text[fed:end]))
                fed = end + 1
            partial = text[fed:stop]
        if settled and partial is not None:
            rows += [] if fence.closes(partial) else [fence.body(partial)]
            partial = None
        code.extend(rows, None if partial is None else fence.body(partial))
        if settled:
            code.close()
        return fed

    def _estimate(self, place: int) -> int:
        block = self._blocks[place]
        rows = self._text.count("\n", block.start, block.stop)
        wrapped = 0 if block.fence else (block.stop - block.start) // max(8, self._width)
        return max(1, rows, wrapped) + self._gap(place)


def _part(block: MarkdownBlock) -> tuple[int, int, Fence | None]:
    return block.start, block.stop, block.fence


def _laid(drawn: Drawn) -> int:
    return min(len(drawn), MOST_LAID)
