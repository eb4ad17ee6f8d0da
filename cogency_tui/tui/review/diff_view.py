"""The diff of one file, with a cursor on a line and thereby in a hunk.

Invariant: through every new layout (another width, a fold, a change of the file) the cursor stays on its
line, and the line at its place on the screen.
"""

from typing import ClassVar, Literal, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from cogency_tui.agent.review.model import Hunk
from cogency_tui.tui.kit.line_view import DrawContext, LineView, overlaid
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.review.diff_layout import FREE, Gap, Known, Layout
from cogency_tui.tui.review.keys import filter_key
from cogency_tui.tui.review.open_file import OpenFile
from cogency_tui.tui.review.section_drawing import Key

Way = Literal["auto", "side by side", "unified"]

_SPLIT_FROM = 104
"""Cells from which both sides fit."""


class Inset(NamedTuple):
    """A widget of so many lines below a hunk."""

    widget: Widget
    hunk: str
    rows: int


class DiffView(LineView):
    """Shows an `OpenFile`, or the reason why there is none."""

    MARGIN = 1
    BINDING_GROUP_TITLE = "Diff"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "screen.line(-1)", "Line up", show=False, id="review.diff.up"),
        Binding("down", "screen.line(1)", "Line down", show=False, id="review.diff.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="review.diff.page_up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="review.diff.page_down"),
        Binding("home,g", "end(-1)", "Beginning", show=False, id="review.diff.home"),
        Binding("end,G", "end(1)", "End", show=False, id="review.diff.end"),
        filter_key("review.diff.filter"),
    ]

    class Moved(Message):
        """The cursor moved to another hunk."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.way: Way = "auto"
        self.file: OpenFile | None = None
        self._text = ""
        self._layout: Layout | None = None
        self._known: Known = {}
        self._known_for: object = None
        self._cursor = 0
        self._unseen = False
        self._texts: list[Line] = []
        self._inset: Inset | None = None

    @property
    def hunk(self) -> Hunk | None:
        """The hunk at the cursor."""
        place = self.place
        return self.file.hunks[place] if self.file and place is not None else None

    @property
    def place(self) -> int | None:
        """The number of that hunk, from 0."""
        found = self._layout.locate(self._cursor) if self._layout else None
        return found[0].hunk if found and self.file and self.file.hunks else None

    @property
    def fold(self) -> int | None:
        """The fold at the cursor."""
        found = self._layout.locate(self._cursor) if self._layout else None
        return found[0].fold if found else None

    @property
    def line_number(self) -> int:
        """The line at the cursor in the file after the change, from 1."""
        found = self._layout.locate(self._cursor) if self._layout else None
        return max(1, found[0].number(found[1])) if found else 1

    @property
    def attended(self) -> Region:
        """The rows of the hunk at the cursor; of a long one, the row of the cursor."""
        place, top = self.place, self.scroll_offset.y
        if self._layout is None or place is None:
            return Region()
        first, end = self._layout.hunk_span(place)
        if end - first > self.page // 2:
            first, end = self._cursor, self._cursor + 1
        view = self.content_region
        return Region(view.x, view.y + first - top, view.width, end - first).intersection(view)

    @property
    def is_split(self) -> bool:
        """True if both sides are side by side."""
        return self._is_split_by_width if self.way == "auto" else self.way == "side by side"

    @property
    def _is_split_by_width(self) -> bool:
        """True if there is room for both sides, and each has lines: else one would be an empty half."""
        file = self.file
        return file is not None and self.text_width >= _SPLIT_FROM and bool(file.diff.old and file.diff.new)

    def say(self, text: str) -> None:
        """Show a text instead of a file."""
        self.file = self._layout = None
        self._text = text
        self._texts = wrap([Segment(text, self.theme_styles("dim"))], self.text_width - 1) if text else []
        self.resize_column(len(self._texts))
        self.jump(0)
        self.refresh()

    def open(self, file: OpenFile, hunk: int) -> None:
        """Show another file, with the cursor on this hunk."""
        self.file = file
        self._cursor = 0
        self._lay()
        self.jump(0)
        self.go_to(hunk)

    def renew(self, file: OpenFile | None = None) -> None:
        """Refresh the file, after a change, or the text."""
        if file is not None:
            self.file = file
        if self.file is None:
            self.say(self._text)
            return
        anchor = self._anchor()
        self._lay()
        self._return_to(anchor)
        self.refresh()

    def turn(self) -> None:
        """Show the sides in the other arrangement, which is automatic again if the width asks for it."""
        split = not self.is_split
        self.way = "auto" if split == self._is_split_by_width else "side by side" if split else "unified"
        self.renew()

    def go_to(self, hunk: int) -> None:
        """Move the cursor to a hunk, and scroll to it: all of it where it fits."""
        if self._layout is None:
            return
        top, end = self._layout.hunk_span(hunk)
        page, at = self.page, self.scroll_offset.y
        self._unseen = not page
        if end - top >= page or top - 1 < at:
            self.jump(max(0, top - 1))
        elif end > at + page:
            self.jump(end - page)
        self._put(top)

    def inset(self, widget: Widget, hunk: str, rows: int) -> None:
        """Show a widget of so many lines below a hunk, or above all of them (`WHOLE_FILE`)."""
        inset = Inset(widget, hunk, rows)
        if inset != self._inset:
            self._inset = inset
            self.renew()
            self._reveal_inset()

    def clear_inset(self) -> None:
        """Close the gap that the widget was in."""
        self._inset = None
        self.renew()

    def _reveal_inset(self) -> None:
        """Scroll so that all of the widget is visible, and the hunk ends right above it."""
        gap, top = self._gap, self._layout.place(FREE, 0) if self._layout else None
        if top is not None and gap is not None:
            self.jump(min(top, max(self.scroll_offset.y, top + gap.rows - self.page)))
        self._place_inset()

    @property
    def _gap(self) -> Gap | None:
        """The lines for the widget: half of the screen at most."""
        if self._inset is None:
            return None
        most = max(1, min(app_of(self).size.height // 2, self.page))
        return Gap(self._inset.hunk, min(self._inset.rows, most))

    def _place_inset(self) -> None:
        """Move the widget into its gap; where there is none, or it is scrolled away, to the nearest edge."""
        inset, gap, container = self._inset, self._gap, self.parent
        if inset is None or gap is None or not isinstance(container, Widget):
            return
        last = max(0, self.page - gap.rows)
        top = self._layout.place(FREE, 0) if self._layout else None
        y = last if top is None else max(0, min(top - self.scroll_offset.y, last))
        inset.widget.styles.height = gap.rows
        inset.widget.styles.offset = (0, self.region.y - container.content_region.y + y)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._place_inset()

    def unfold(self, gap: int) -> None:
        """Show the lines of a fold."""
        if self.file is not None:
            self.file.unfolded.add(gap)
            self.renew()

    def toggle_folds(self) -> None:
        """Show all lines, or fold them again."""
        if self.file is not None:
            gaps = set(range(len(self.file.hunks) + 1))
            self.file.unfolded = set() if self.file.unfolded == gaps else gaps
            self.renew()

    def line_at(self, y: int) -> Line | None:
        if self._layout is None:
            return (
                self._texts[y].indented(Segment(" ", self.theme_styles())) if y < len(self._texts) else None
            )
        found = self._layout.locate(y)
        if found is None:
            return None
        section, offset = found
        mine = self.file is not None and self.file.hunks and section.hunk == self.place
        bar = Segment("▌" if mine and section.fold is None else " ", self.theme_styles("accent"))
        return section.line(offset).indented(bar)

    def strip_at(self, y: int, context: DrawContext) -> Strip:
        strip = super().strip_at(y, context)
        if self._layout is None or y != self._cursor or y >= self._layout.height or not self.has_focus:
            return strip
        cursor = context.theme_styles("text", "cursor")
        over = Style(bgcolor=cursor.bgcolor, reverse=cursor.reverse)
        return overlaid(strip, over)

    def on_resize(self) -> None:
        if self._layout is None:
            self.say(self._text)
        else:
            self.renew()
            if self._unseen and self.page:
                self.go_to(self.place or 0)
            self.reveal(self._cursor)
        self._reveal_inset()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        y = self.scroll_offset.y + event.y
        if self._layout is not None and y < self._layout.height:
            self._put(y)
            if self.fold is not None:
                self.unfold(self.fold)

    def is_at_end(self, way: int) -> bool:
        """Return whether the cursor is on the last line (`way` 1), or on the first (-1); so also without any
        lines."""
        return self._layout is None or not 0 <= self._cursor + way < self._layout.height

    def move_cursor(self, step: int) -> None:
        """Move the cursor by lines, at most to the first or the last."""
        if self._layout is None:
            return
        self._put(max(0, min(self._cursor + step, self._layout.height - 1)))
        self.reveal(self._cursor)

    def action_page(self, way: int) -> None:
        step = way * max(1, self.page - 2)
        self.scroll_lines(step)
        self.move_cursor(step)

    def action_end(self, way: int) -> None:
        self.move_cursor(way * self.virtual_size.height)

    def _put(self, y: int) -> None:
        before = self.place
        self._cursor = y
        if self.place != before:
            self.post_message(self.Moved())
        self.refresh()

    def _lay(self) -> None:
        file = self.file
        if file is None:
            return
        facts = (file, self.text_width, self.theme_styles, self.is_split)
        if self._known_for != facts:
            self._known, self._known_for = {}, facts
        width, split = self.text_width - 1, self.is_split
        self._layout = Layout(file, width, self.theme_styles, self._known, split=split, gap=self._gap)
        self.resize_column(self._layout.height)

    def _anchor(self) -> tuple[Key, int, int, int | None]:
        """The section and line at the cursor, its distance from the top of the screen, and the hunk."""
        found = self._layout.locate(self._cursor) if self._layout else None
        if found is None:
            return ("", ""), 0, 0, None
        section, offset = found
        return section.key, offset, self._cursor - self.scroll_offset.y, self.place

    def _return_to(self, anchor: tuple[Key, int, int, int | None]) -> None:
        key, offset, down, hunk = anchor
        layout = self._layout
        if layout is None:
            return
        y = layout.place(key, offset)
        if y is None and hunk is not None and self.file and hunk < len(self.file.hunks):
            # The fold was opened: its lines follow the hunk, or precede the first.
            y = layout.hunk_span(hunk)[0] if key[0] != "fold" else None
        y = max(0, min(self._cursor if y is None else y, layout.height - 1))
        self._cursor = y
        self.jump(max(0, min(y - down, self.max_scroll_y)))
