"""A list of rows of which one is selected: rows are drawn when shown, however many there are.

The selection is the key of a row, and stays on it when others come and go. Headings, and details of the row
above them, cannot be selected. Either the list has the focus and its own keys, or its screen has the keys, so
that the user can type to filter.
"""

from collections.abc import Callable, Collection, Hashable, Sequence
from enum import Enum
from itertools import chain
from typing import ClassVar, Generic, TypeVar

import msgspec
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from cogency_tui.tui.kit.line_view import DrawContext, LineView
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.theme_styles import ThemeStyles

Row = TypeVar("Row")


class Heading(msgspec.Struct, frozen=True):
    """The heading of a group, with a remark beside it."""

    text: str
    aside: str = ""


class Kind(Enum):
    """The kind of a row. Only entries can be selected."""

    ENTRY = 0
    HEADING = 1
    DETAIL = 2


BAR = "▌"
"""Marks the selected row, beside its surface."""

LETTERS = ("k", "j", "g", "G", "home", "end")
"""The keys of a list that a text field takes."""


def list_keys(scope: str, without: Collection[str] = ()) -> list[BindingType]:
    """The keys of a list, with ids that begin with `scope`; not those in `without`."""
    bindings = [
        (("up", "k"), "move(-1)", "Up", "up"),
        (("down", "j"), "move(1)", "Down", "down"),
        (("pageup",), "page(-1)", "Page up", "page_up"),
        (("pagedown",), "page(1)", "Page down", "page_down"),
        (("home", "g"), "end(-1)", "First", "first"),
        (("end", "G"), "end(1)", "Last", "last"),
    ]
    return [
        Binding(",".join(left), action, text, show=False, id=f"{scope}.{id}")
        for keys, action, text, id in bindings
        if (left := [key for key in keys if key not in without])
    ]


class SelectList(LineView, Generic[Row]):
    """Draws each row as a line by `draw(row, width, styles, on)`, where `on` is its surface; `key` identifies
    a row. While there are no rows, it shows `notice`."""

    ALLOW_SELECT = False
    SURFACE: ClassVar[str] = "surface"

    class Selected(Message):
        """The user selected another row."""

    class Chosen(Message):
        """A row was clicked or opened, and is selected; `again` if it was selected before."""

        def __init__(self, again: bool) -> None:
            self.again = again
            super().__init__()

    def __init__(
        self,
        draw: Callable[[Row, int, ThemeStyles, str], Line],
        key: Callable[[Row], Hashable],
        *,
        focusable: bool = False,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.can_focus = focusable
        self.rows: Sequence[Row] = ()
        self.notice = ""
        self.selected = 0
        """The place of the selected row."""
        self.key: Hashable = None
        """The key of the selected row; None if there is none."""
        self._draw = draw
        self._key_of = key
        self._tallest = 0

    @property
    def row(self) -> Row | None:
        """The selected row, if there is any."""
        return self.rows[self.selected] if self.key is not None and self.selected < len(self.rows) else None

    @property
    def is_lit(self) -> bool:
        """True if the selected row is marked."""
        return True

    @property
    def highlight(self) -> tuple[str, str]:
        """The surface of the selected row, and the role of its bar."""
        return "cursor", "accent"

    def kind_of(self, row: Row) -> Kind:
        return Kind.HEADING if isinstance(row, Heading) else Kind.ENTRY

    def place_of(self, key: Hashable) -> int | None:
        """The place of the row with this key."""
        rows, key_of = self.rows, self._key_of
        if self.selected < len(rows) and key_of(rows[self.selected]) == key and self._is_entry(self.selected):
            return self.selected
        return next((y for y, row in enumerate(rows) if key_of(row) == key and self._is_entry(y)), None)

    def show(self, rows: Sequence[Row], key: Hashable = None) -> None:
        """Show `rows` from their beginning, with the row of this key selected, or else the first."""
        self.rows = rows
        self.jump(0)
        self.restore(key, 0)

    def update_rows(self, rows: Sequence[Row]) -> None:
        """Show `rows` at the same scroll position, with the same row selected, or else the same place."""
        self.rows = rows
        self.restore(self.key, self.selected)

    def restore(self, key: Hashable, otherwise: int, way: int = 1) -> None:
        """Refresh after the rows changed. Select the row of this key, or else the entry at a place, or else
        the next one from there, first below, or with `way` -1 above."""
        place = None if key is None else self.place_of(key)
        self._put(self._nearest(otherwise, way) if place is None else place)
        self.resize_column(len(self.rows))
        self.jump(min(self.scroll_offset.y, self.max_scroll_y))
        self.reveal_selected()
        self.refresh()

    def select(self, place: int) -> None:
        """Select the row at `place`."""
        if place != self.selected:
            self._put(place)
            self.reveal_selected()
            self.refresh()
            self.post_message(self.Selected())

    def move(self, step: int) -> None:
        """Select the entry `step` entries on, or the last one on the way."""
        way = 1 if step > 0 else -1
        found = y = self.selected
        while step and 0 <= (y := y + way) < len(self.rows):
            if self._is_entry(y):
                found, step = y, step - way
        self.select(found)

    def action_move(self, step: int) -> None:
        self.move(step)

    def action_page(self, direction: int) -> None:
        self.select(self._nearest(self.selected + direction * max(1, self.page - 2), direction))

    def action_end(self, way: int) -> None:
        self.select(self._nearest(len(self.rows) if way > 0 else 0, -way))

    def on_click(self, event: events.Click) -> None:
        y = self.scroll_offset.y + event.y
        if y < len(self.rows) and self.kind_of(self.rows[y]) is not Kind.HEADING:
            self.click_row(y, event)

    def click_row(self, y: int, event: events.Click) -> None:
        """Select the entry at `y`, or the one that the detail at `y` belongs to."""
        del event
        place = self._nearest(y, -1)
        again = place == self.selected
        self.select(place)
        self.post_message(self.Chosen(again))

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_resize(self) -> None:
        self.reveal_selected()

    def reveal_selected(self) -> None:
        """Scroll to the selected row with its details, and to the heading right above it."""
        if not self.page or self.key is None:
            return
        place = last = self.selected
        while last + 1 < len(self.rows) and self.kind_of(self.rows[last + 1]) is Kind.DETAIL:
            last += 1
        self.reveal(last)
        self.reveal(place)
        if place and self.page > 1 and self.kind_of(self.rows[place - 1]) is Kind.HEADING:
            self.reveal(place - 1)

    def surface_at(self, y: int) -> str:
        return self.highlight[0] if self._is_marked(y) else self.SURFACE

    def _is_marked(self, y: int) -> bool:
        return y == self.selected and self.key is not None and self.is_lit

    def strip_at(self, y: int, context: DrawContext) -> Strip:
        strip = super().strip_at(y, context)
        if not self._is_marked(y):
            return strip
        surface, role = self.highlight
        style = context.theme_styles(role, surface)
        return Strip.join([Line([Segment(BAR, style)]).strip(1, style), strip.crop(1)])

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        del container, viewport
        lines = len(self.rows) or len(self._notice_lines(max(8, width - 2 * self.MARGIN)))
        # What surrounds the list stays where it is while the list is filtered.
        self._tallest = max(self._tallest, lines)
        return self._tallest

    def line_at(self, y: int) -> Line | None:
        if y < len(self.rows):
            return self._draw(self.rows[y], self.text_width, self.theme_styles, self.surface_at(y))
        lines = [] if self.rows else self._notice_lines(self.text_width)
        return lines[y] if y < len(lines) else None

    def _notice_lines(self, width: int) -> list[Line]:
        return wrap([Segment(self.notice, self.theme_styles("dim"))], width) if self.notice else []

    def _is_entry(self, y: int) -> bool:
        return self.kind_of(self.rows[y]) is Kind.ENTRY

    def _put(self, place: int) -> None:
        self.selected = place
        is_entry = place < len(self.rows) and self._is_entry(place)
        self.key = self._key_of(self.rows[place]) if is_entry else None

    def _nearest(self, place: int, way: int) -> int:
        """The entry at `place`, or else the next one from there in direction `way`, or else in the other."""
        last = len(self.rows) - 1
        below, above = range(max(0, min(place, last)), last + 1), range(min(place, last), -1, -1)
        places = chain(below, above) if way > 0 else chain(above, below)
        return next((y for y in places if self._is_entry(y)), 0)
