"""Markdown cut into blocks while it is being written, line by line, without parsing it.

A cut is made only where a parser sees one as well, so that each block can be drawn by itself and when it
is looked at. Where the cuts are depends on the text alone, and not on the pieces that it comes in.
"""

import re
from dataclasses import dataclass, replace

LIMIT = 8192
"""Characters after which a block is cut even where it goes on: what is being written is drawn each time."""

_LIST_LIMIT = 2048
_OPENING = re.compile(r"(?P<indent> {0,3})(?P<mark>`{3,}(?=[^`]*\Z)|~{3,})(?P<info>.*)\Z")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|\Z)")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|\Z)")
_DELIMITER = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\Z")


@dataclass(slots=True)
class Fence:
    """How a fence was opened: `indent` spaces are taken off its lines, `info` is what follows the mark."""

    mark: str
    info: str
    indent: int

    @property
    def language(self) -> str:
        return self.info.split(maxsplit=1)[0] if self.info.strip() else ""

    def closes(self, line: str) -> bool:
        """Whether `line` closes it."""
        bare = line.strip(" \t")
        closing = len(bare) >= len(self.mark) and not bare.strip(self.mark[0])
        return closing and len(line) - len(line.lstrip(" ")) < 4

    def may_close(self, line: str) -> bool:
        """Whether `line`, which is still being written, may come to close it."""
        bare = line.strip(" ")
        return bool(bare) and not bare.strip(self.mark[0])

    def body(self, line: str) -> str:
        """A line of its code."""
        spaces = len(line) - len(line.lstrip(" "))
        return line[min(self.indent, spaces) :]


@dataclass(slots=True)
class Block:
    """The part of a text from `start` to `stop`. Between it and the block above stands a blank line where
    there is a `gap`, else `joint`. `header` is where the head of the table is that goes on in it."""

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
    """Cuts a text that grows at its end; `blocks` are those that nothing is added to any more."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._text = ""
        self._open: Block | None = None
        self._line = 0
        self._searched = 0
        self._joint: str | None = None

    def feed(self, text: str) -> None:
        """Go on to the end of `text`, which is all of it so far."""
        self._text = text
        while (end := text.find("\n", max(self._line, self._searched))) >= 0:
            self._take(self._line, end)
            self._line = end + 1
            self._joint = None
        self._searched = len(text)
        while len(text) - self._line > LIMIT and not (self._open and self._open.fence):
            self._break_line(text)

    def pending(self) -> list[Block]:
        """The blocks that may still grow, as they are now: none, one, or two."""
        line = self._text[self._line :]
        before = self._open
        if not line.strip():
            return [replace(before)] if before else []
        if before and before.fence:
            whole = before.fence.may_close(line)
            return [replace(before, stop=before.stop if whole else len(self._text))]
        if before is None or self._starts(before, line):
            after = self._begun(before, self._line, len(self._text), line)
            # What a fence is called is not known before its first line is complete.
            return [
                replace(block) for block in (before, after) if block and not (block is after and after.fence)
            ]
        return [replace(before, stop=len(self._text))]

    def close(self) -> None:
        """Nothing more comes."""
        if self._line < len(self._text):
            self._take(self._line, len(self._text))
            self._line = len(self._text)
        self._settle()

    def _take(self, start: int, stop: int) -> None:
        """Take in the complete line from `start` to `stop`."""
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

    def _begun(self, before: Block | None, start: int, stop: int, line: str) -> Block:
        """The block that begins with `line`."""
        if self._joint is not None:
            return Block(start, stop, gap=False, joint=self._joint)
        opening = _OPENING.match(line)
        fence = Fence(opening["mark"], opening["info"], len(opening["indent"])) if opening else None
        block = Block(start, stop, fence=fence)
        block.lists = _ITEM.match(line) is not None
        block.heading = _HEADING.match(line) is not None
        if before and self._is_forced(before, line):
            block.gap, block.header = before.blank, before.header or self._table_head(before)
        return block

    def _starts(self, block: Block, line: str) -> bool:
        """Whether `line` begins another block below `block`."""
        if block.heading or _HEADING.match(line):
            return True
        if (opening := _OPENING.match(line)) and not (block.lists and opening["indent"]):
            return True
        if block.blank and line[0] not in " \t" and not (block.lists and _ITEM.match(line)):
            return True
        return self._is_forced(block, line)

    def _is_forced(self, block: Block, line: str) -> bool:
        """Whether `block` is too long for `line`, which would belong to it."""
        if block.heading or _HEADING.match(line) or _OPENING.match(line):
            return False
        size = block.stop - block.start
        item = block.lists and line[0] not in " \t" and _ITEM.match(line) is not None
        if block.blank and not item and line[0] not in " \t":
            return False
        return size > LIMIT or (item and size > _LIST_LIMIT)

    def _table_head(self, block: Block) -> tuple[int, int] | None:
        """Where the two lines are that a table begins with, if `block` is one."""
        first = self._text.find("\n", block.start, block.stop)
        second = self._text.find("\n", first + 1, block.stop)
        if min(first, second) < 0 or "|" not in self._text[block.start : second]:
            return None
        return (block.start, second) if _DELIMITER.match(self._text[first + 1 : second]) else None

    def _break_line(self, text: str) -> None:
        """Make a block of the beginning of a line that is too long to be drawn again and again."""
        end = self._line + LIMIT
        space = text.rfind(" ", self._line + LIMIT // 2, end)
        stop = space if space > 0 else end
        self._take(self._line, stop)
        self._settle()
        self._line = stop + (space > 0)
        self._joint = " " if space > 0 else ""
