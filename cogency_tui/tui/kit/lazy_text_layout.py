"""Text of any length as lines on the screen, laid out only where it is shown.

The number of screen lines of each line of text is computed when the text arrives; their contents are drawn
on request, and the most recent are cached. A sheet follows a text that grows: `grow` adds the new part.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar, runtime_checkable

from rich.segment import Segment
from rich.style import Style

from cogency_tui.tui.kit.cell_text import cells
from cogency_tui.tui.kit.command_output import OutputLines, TextLine
from cogency_tui.tui.kit.lines import BLANK, CONTINUATION, Line, fold, folds
from cogency_tui.tui.kit.sgr import Rendition
from cogency_tui.tui.theme_styles import ThemeStyles


class Heights:
    """The heights of units in a column, and the line that each begins at: prefix sums in a Fenwick tree.

    Every operation is O(log n), construction is O(n).
    """

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = list(heights)
        self._sums = [0, *self._heights]
        for index in range(1, len(self._sums)):
            parent = index + (index & -index)
            if parent < len(self._sums):
                self._sums[parent] += self._sums[index]
        self.total = sum(self._heights)

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def append(self, height: int) -> None:
        """Add a unit at the end."""
        self._heights.append(height)
        node = len(self._heights)
        total, child, first = height, node - 1, node - (node & -node)
        while child > first:
            total += self._sums[child]
            child -= child & -child
        self._sums.append(total)
        self.total += height

    def pop(self) -> None:
        """Remove the last unit."""
        self.total -= self._heights.pop()
        self._sums.pop()

    def set(self, index: int, height: int) -> int:
        """Change the height of unit `index`; return the difference."""
        change = height - self._heights[index]
        if change:
            self._heights[index] = height
            self.total += change
            node = index + 1
            while node < len(self._sums):
                self._sums[node] += change
                node += node & -node
        return change

    def before(self, index: int) -> int:
        """The sum of all heights before unit `index`."""
        total, node = 0, index
        while node:
            total += self._sums[node]
            node -= node & -node
        return total

    def locate(self, y: int) -> tuple[int, int]:
        """The unit that covers line `y`, and the line within it; past the end, the last unit's end.

        Requires at least one unit.
        """
        node, rest = 0, y
        step = 1 << len(self._heights).bit_length()
        while step:
            following = node + step
            if following < len(self._sums) and self._sums[following] <= rest:
                node = following
                rest -= self._sums[following]
            step >>= 1
        if node >= len(self._heights):
            return len(self._heights) - 1, self._heights[-1] + rest
        return node, rest


Value = TypeVar("Value")


class Recent(Generic[Value]):
    """A cache of values by number; beyond `most` entries the least recently used are dropped."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[int, Value] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, number: int) -> Value | None:
        """The value with this number, if it is cached."""
        value = self._values.get(number)
        if value is not None:
            self._values.move_to_end(number)
        return value

    def put(self, number: int, value: Value) -> Value:
        """Store and return `value`."""
        self._values[number] = value
        self._values.move_to_end(number)
        while len(self._values) > self._most:
            self._values.popitem(last=False)
        return value

    def drop(self, number: int) -> None:
        """Drop the value with this number, if it is cached."""
        self._values.pop(number, None)

    def clear(self) -> None:
        """Drop all values."""
        self._values.clear()


_NARROWEST_HANGING = 12
"""Cells below which continuations have no room for a mark."""

MOST_LAID = 512
"""The most laid-out lines of a text in memory."""


class LayoutBlock(Protocol):
    """Lines that can be counted and looked up."""

    def __len__(self) -> int: ...

    def line(self, y: int) -> Line: ...


@runtime_checkable
class GradualBlock(LayoutBlock, Protocol):
    """A block that has only its beginning at first: a megabyte at once would cause a noticeable delay."""

    @property
    def loading(self) -> bool:
        """True if part of it is missing."""
        ...

    def load(self) -> None:
        """Add a piece."""
        ...


class Fixed:
    """Lines that all exist already."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    def line(self, y: int) -> Line:
        return self._lines[y]


class Stack:
    """Blocks one below the other."""

    def __init__(self, blocks: Sequence[LayoutBlock] = ()) -> None:
        self.blocks = list(blocks)

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def line(self, y: int) -> Line:
        for block in self.blocks:
            if y < len(block):
                return block.line(y)
            y -= len(block)
        return BLANK


class LazyLayout:
    """The lines of `text`, `width` cells wide, on the surface `on` and after `indent` blank cells.

    Text without a color of its own has that of the role `role`. A long line is folded at spaces; what
    follows hangs beside a mark.
    """

    HANG = len(f"{CONTINUATION} ")
    """The cells of the mark of continuation."""

    def __init__(
        self,
        text: OutputLines,
        width: int,
        styles: ThemeStyles,
        *,
        role: str = "text",
        on: str = "surface",
        indent: int = 0,
    ) -> None:
        self._text = text
        self.width = max(1, width - indent)
        self._hang = self.HANG if self.width >= _NARROWEST_HANGING else 0
        self.theme_styles = styles
        self.role = role
        self.on = on
        self._indent = indent
        self._heights = Heights()
        self._first = text.dropped
        self._laid: Recent[list[Line]] = Recent(MOST_LAID)
        self.grow()

    def __len__(self) -> int:
        return self._heights.total

    def grow(self) -> None:
        """Add what was appended to the text since the last call."""
        lines = self._text.lines
        if self._first != self._text.dropped:
            self._first = self._text.dropped
            self._heights = Heights(map(self._height, lines))
            self._laid.clear()
            return
        known = len(self._heights)
        if known:
            # The last line may have grown or started over.
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
        text, first = line.text, self._room(line)
        return 1 if cells(text) <= first else len(folds(text, first, self.width - self._hang))

    def _room(self, line: TextLine) -> int:
        """The cells of the first screen line of `line`."""
        return self.width - self._hang if line.continued else self.width

    def lay(self, index: int, line: TextLine) -> list[Line]:
        """The screen lines of one line of the text."""
        del index
        segments = [Segment(text, self._style(rendition)) for text, rendition in line.runs]
        laid = fold(segments, self._room(line), self.width - self._hang)
        if line.continued:
            laid[0] = Line(laid[0].segments, "")
        if self._hang:
            mark = Segment(f"{CONTINUATION} ", self.theme_styles("dim", self.on))
            marked = 0 if line.continued else 1
            laid[marked:] = [each.indented(mark) for each in laid[marked:]]
        if self._indent:
            head = Segment(" " * self._indent, self.theme_styles("text", self.on))
            laid = [each.indented(head) for each in laid]
        return laid

    def _style(self, rendition: Rendition) -> Style:
        plain = not rendition.ink and not rendition.faint
        role = self.role if plain else rendition.role
        return self.theme_styles(role, rendition.surface or self.on, rendition.attributes)


class GrowingText:
    """A text argument while it is written: lines that are appended to as the text grows."""

    def __init__(self, made_visible: Callable[[str], str]) -> None:
        self.lines = OutputLines()
        self._made_visible = made_visible
        self._taken = 0

    def take(self, text: str) -> None:
        """Set the present text, which begins with the previous one."""
        if len(text) > self._taken:
            self.lines.write(self._made_visible(text[self._taken :]))
            self._taken = len(text)
