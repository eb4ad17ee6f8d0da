"""A pane that shows one block of lines, made for the present width and colors."""

from collections.abc import Callable
from typing import TypeAlias

from cogency_tui.tui.kit.lazy_text_layout import Fixed, GradualBlock, LayoutBlock
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.timeline.keys import Read

Make: TypeAlias = Callable[[int, ThemeStyles], LayoutBlock]
"""Makes a block of the given width in cells, in these colors."""


def _nothing(_width: int, _theme_styles: ThemeStyles) -> LayoutBlock:
    return Fixed([])


class BlockPane(Read):
    """Shows the block made last."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._make: Make = _nothing
        self._block: LayoutBlock = Fixed([])
        self._made_for: object = None
        self._is_loading = False

    def show(self, make: Make = _nothing, *, retain: bool = False) -> None:
        """Show another block from its beginning, or, with `retain`, at the present scroll position."""
        top = self.scroll_offset.y if retain else 0
        self._make, self._made_for = make, None
        self._lay()
        while top > self.max_scroll_y and self._load_piece():
            pass
        self.jump(min(top, self.max_scroll_y))
        self.refresh()

    def line_at(self, y: int) -> Line | None:
        self._lay()
        return self._block.line(y) if y < len(self._block) else None

    def on_resize(self) -> None:
        self._lay()

    def _lay(self) -> None:
        target = self.text_width, self.theme_styles
        if self._made_for != target:
            self._made_for = target
            self._block = self._make(*target)
            self.resize_column(len(self._block))
            self._load_later()

    def _load_later(self) -> None:
        """Load the rest of a long block, a piece between frames."""
        if isinstance(self._block, GradualBlock) and self._block.loading and not self._is_loading:
            self._is_loading = True
            self.call_between(self._load)

    def _load(self) -> None:
        self._is_loading = False
        if self._load_piece():
            self.refresh()
            self._load_later()

    def _load_piece(self) -> bool:
        """Load a piece; return whether there was one."""
        block = self._block
        if not (isinstance(block, GradualBlock) and block.loading):
            return False
        block.load()
        self.resize_column(len(block))
        return True
