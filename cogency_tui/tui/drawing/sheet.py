"""Text of any length as lines on the screen, laid out only where it is looked at.

How many lines each line of text takes is known as soon as it is there; what is on them is made when they are
asked for, and the last ones are kept. A sheet follows a text that grows: `grow` takes in what is new.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from rich.segment import Segment
from rich.style import Style

from cogency_tui.tui.drawing.heights import Heights
from cogency_tui.tui.drawing.lines import BLANK, Line, cells, chop
from cogency_tui.tui.drawing.recent import Recent
from cogency_tui.tui.output import Lines, TextLine
from cogency_tui.tui.renditions import Rendition
from cogency_tui.tui.theming import Inks

MOST_LAID = 512
"""Lines of a text that are laid out at once."""


class Block(Protocol):
    """Lines that can be counted and looked up."""

    def __len__(self) -> int: ...

    def line(self, y: int) -> Line: ...


class Fixed:
    """Lines that are all there."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    def line(self, y: int) -> Line:
        return self._lines[y]


class Stack:
    """Blocks one below the other."""

    def __init__(self, blocks: Sequence[Block] = ()) -> None:
        self.blocks = list(blocks)

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def line(self, y: int) -> Line:
        for block in self.blocks:
            if y < len(block):
                return block.line(y)
            y -= len(block)
        return BLANK


class Sheet:
    """The lines of `text`, `width` cells wide, on the surface `on` and after `indent` blank cells.

    Text without an ink of its own has that of the role `role`.
    """

    def __init__(
        self, text: Lines, width: int, inks: Inks, *, role: str = "text", on: str = "surface", indent: int = 0
    ) -> None:
        self._text = text
        self.width = max(1, width - indent)
        self.inks = inks
        self._role = role
        self._on = on
        self._indent = indent
        self._heights = Heights()
        self._first = text.dropped
        self._laid: Recent[list[Line]] = Recent(MOST_LAID)
        self.grow()

    def __len__(self) -> int:
        return self._heights.total

    def grow(self) -> None:
        """Take in what has been added to the text since."""
        lines = self._text.lines
        if self._first != self._text.dropped:
            self._first = self._text.dropped
            self._heights = Heights(map(self._height, lines))
            self._laid.clear()
            return
        known = len(self._heights)
        if known:
            # The last line may have grown, or have been begun again.
            self._heights.set(known - 1, self._height(lines[known - 1]))
            self._laid.drop(known - 1)
        for line in lines[known:]:
            self._heights.append(self._height(line))

    def line(self, y: int) -> Line:
        index, offset = self._heights.locate(y)
        laid = self._laid.get(index)
        if laid is None:
            laid = self._laid.put(index, self.lay(index, self._text.lines[index]))
        return laid[offset] if offset < len(laid) else BLANK

    def _height(self, line: TextLine) -> int:
        text = line.text
        size = cells(text)
        if size <= self.width:
            return 1
        return -(-size // self.width) if text.isascii() else len(chop([Segment(text)], self.width))

    def lay(self, index: int, line: TextLine) -> list[Line]:
        """What is on the screen of one line of the text."""
        del index
        segments = [Segment(text, self._style(rendition)) for text, rendition in line.runs]
        laid = chop(segments, self.width)
        if line.continued:
            laid[0] = Line(laid[0].segments, "")
        if self._indent:
            head = Segment(" " * self._indent, self.inks("text", self._on))
            laid = [each.indented(head) for each in laid]
        return laid

    def _style(self, rendition: Rendition) -> Style:
        plain = not rendition.ink and not rendition.faint
        role = self._role if plain else rendition.role
        return self.inks(role, rendition.surface or self._on, rendition.attributes)


class GrowingText:
    """A text argument while it is written: lines that are appended to as the text gets longer."""

    def __init__(self, made_visible: Callable[[str], str]) -> None:
        self.lines = Lines()
        self._made_visible = made_visible
        self._taken = 0

    def take(self, text: str) -> None:
        """The text as it is now, which begins with what it was before."""
        if len(text) > self._taken:
            self.lines.write(self._made_visible(text[self._taken :]))
            self._taken = len(text)
