"""The base of every pane: a scrolling column of ready lines, passed to the compositor unchanged.

Strips bypass the styles cache and are built once a line; a change of height never triggers a new layout;
scrolling is immediate. Text can be selected: a position is a character and the address of its line, which
stays the same when lines above come or go.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, cast

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Offset, Region, Size
from textual.reactive import Reactive
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from cogency_tui.tui.kit.bar import filtered
from cogency_tui.tui.kit.cell_text import cells
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.scroll_bar import ColumnScrollBar
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.theme_styles import ThemeStyles, theme_styles_of


class DrawContext(NamedTuple):
    """The styles for drawing lines; constant within a frame, and expensive to look up."""

    width: int
    theme_styles: ThemeStyles
    selection: Selection | None


def overlaid(strip: Strip, style: Style) -> Strip:
    """`strip` with `style` on top of its segments; `Strip.apply_style` puts it below."""
    segments = [Segment(text, own + style if own else style) for text, own, _control in strip]
    return Strip(segments, strip.cell_length)


class LineView(ScrollView, can_focus=True):
    """Shows the lines that a subclass returns by number."""

    ALLOW_SELECT = True
    MARGIN = 2
    """Blank cells left of every line; as many are free on the right, including the scroll bar."""

    _reported_size = Size()
    """The size that the last `Resize` told."""

    def _on_mount(self, event: events.Mount) -> None:
        screen: Any = self.screen
        screen.screen_layout_refresh_signal.subscribe(self, self._follow_layout, immediate=True)

    def _on_resize(self, event: events.Resize) -> None:
        self._reported_size = self.size

    def _follow_layout(self, _screen: Screen[Any]) -> None:
        """Send the `Resize` that Textual omits if the size was read between a style and its layout."""
        if self.size != self._reported_size:
            # Textual's own, if there is one, is handled before.
            self.call_later(self._report_size)

    def _report_size(self) -> None:
        size = self.size
        if size and size != self._reported_size:
            self.post_message(events.Resize(size, self.virtual_size))
        self._reported_size = size

    @property
    def theme_styles(self) -> ThemeStyles:
        return theme_styles_of(app_of(self).theme)

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = bar = ColumnScrollBar(thickness=self.scrollbar_size_vertical)
            bar.display = False
            # Textual leaves the parameter of `App` open.
            app: Any = app_of(self)
            app._start_widget(self, bar)
        return self._vertical_scrollbar

    @property
    def text_width(self) -> int:
        """Cells available to a line."""
        return max(8, self.size.width - 2 * self.MARGIN)

    @property
    def page(self) -> int:
        """The number of visible lines."""
        return self.size.height

    @property
    def attended(self) -> Region:
        """The rows of the screen that the user works with, which nothing covers."""
        return Region()

    def line_at(self, y: int) -> Line | None:
        """Line `y`, or None past the end."""
        raise NotImplementedError

    def surface_at(self, y: int) -> str:
        """The surface of line `y`."""
        return "surface"

    def address_of(self, y: int) -> int:
        """A number for line `y` that grows with `y`, and stays when lines above change."""
        return y

    def line_with(self, address: int) -> int:
        """The line that has, or would have, this address."""
        return address

    def resize_column(self, height: int) -> None:
        """Set the number of lines."""
        if height != self.virtual_size.height:
            size = Size(self.size.width, height)
            self.set_reactive(cast("Reactive[Size]", Widget.virtual_size), size)
            self._scroll_update(self.virtual_size)

    def call_between(self, work: Callable[[], object]) -> None:
        """Call `work` after what waits in the loop now: Textual makes queued calls of a widget at once."""
        asyncio.get_running_loop().call_soon(self.call_next, work)

    def jump(self, y: int) -> None:
        """Scroll at once, so that line `y` is the first."""
        self.scroll_target_y = y
        self.scroll_y = y

    def reveal(self, y: int) -> None:
        """Scroll as little as needed to show line `y`."""
        top = self.scroll_offset.y
        if y < top:
            self.jump(y)
        elif y >= top + self.page:
            self.jump(y - self.page + 1)

    def scroll_lines(self, step: int) -> None:
        """Scroll by `step` lines, as far as possible."""
        self.jump(max(0, min(self.scroll_offset.y + step, self.max_scroll_y)))

    def scroll_page(self, direction: int) -> None:
        """Scroll by a page, less two lines."""
        self.scroll_lines(direction * max(1, self.page - 2))

    def scroll_to(self, x: float | None = None, y: float | None = None, **options: Any) -> None:
        options["animate"] = False
        super().scroll_to(x, y, **options)

    def render_line(self, y: int) -> Strip:
        """Render a line with the positions of its characters, which the screen needs for selection."""
        y += self.scroll_offset.y
        return self.strip_at(y, self._draw_context()).apply_offsets(-self.MARGIN, self.address_of(y))

    def render_lines(self, crop: Region) -> list[Strip]:
        top, context = self.scroll_offset.y, self._draw_context()
        strips = [self.strip_at(top + y, context) for y in crop.line_range]
        if crop.column_span != (0, context.width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return filtered(self, strips)

    def _draw_context(self) -> DrawContext:
        return DrawContext(self.size.width, self.theme_styles, self.text_selection)

    def strip_at(self, y: int, context: DrawContext) -> Strip:
        """Line `y` as it is shown."""
        line, surface = self.line_at(y), self.surface_at(y)
        if line is None:
            return Strip.blank(context.width, context.theme_styles("text", surface))
        return self.strip_of(line, surface, self.address_of(y) if context.selection else y, context)

    def strip_of(self, line: Line, surface: str, address: int, context: DrawContext) -> Strip:
        """`line`, which has this address, as it is shown on `surface`."""
        strip = line.strip(context.width, context.theme_styles("text", surface), self.MARGIN)
        if context.selection is None:
            return strip
        return self._mark_selected(strip, context.selection, address, len(line.text))

    def _mark_selected(self, strip: Strip, selection: Selection, address: int, length: int) -> Strip:
        span = selection.get_span(address)
        if span is None:
            return strip
        start, end = span
        style = self.screen.get_component_rich_style("screen--selection")
        return self.painted(strip, max(0, start), length if end == -1 else min(end, length), style)

    def painted(self, strip: Strip, start: int, end: int, style: Style) -> Strip:
        """`strip` with `style` over the characters of its line from `start` to `end`."""
        before, rest = strip.text[: self.MARGIN + start], strip.text[: self.MARGIN + end]
        cuts = [cells(before), max(cells(before), cells(rest)), strip.cell_length]
        if cuts[0] == cuts[1]:
            return strip
        before_it, within, *after_it = strip.divide(cuts)
        return Strip.join([before_it, overlaid(within, style), *after_it])

    def lines_between(self, first: int, last: int | None) -> Iterable[tuple[int, Line]]:
        """The lines from one address to another, or to the end, each with its address."""
        y, end = self.line_with(first), self.virtual_size.height - 1 if last is None else self.line_with(last)
        while y <= end and (line := self.line_at(y)) is not None:
            yield self.address_of(y), line
            y += 1

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        start, end = selection.start or Offset(0, self.address_of(0)), selection.end
        copied: list[str] = []
        for address, line in self.lines_between(start.y, None if end is None else end.y):
            text = line.text
            begin = max(line.lead, start.x) if address == start.y else line.lead
            stop = end.x if end is not None and address == end.y else len(text)
            copied += [line.joint if copied else "", text[begin:stop].rstrip()]
        return "".join(copied), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()
