"""The list of conversations: rows are drawn when shown, and more are requested before the end is in view.

One conversation is selected, and, if it has hits, one of these.
"""

from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from cogency_tui.agent.recall.results import Hit
from cogency_tui.tui.kit.line_view import LineView
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.recall.row_lines import draw_entry, draw_heading, draw_hit
from cogency_tui.tui.recall.rows import Catalogue, Entry, Heading, HitRow, Item

_AHEAD = 3
"""Pages below the view within which more rows are requested."""


class RecallList(LineView):
    """Shows a catalogue. While it is empty, `notice` gives the reason."""

    BINDING_GROUP_TITLE = "In the list"

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False, id="recall.list.up"),
        Binding("down,j", "move(1)", "Down", show=False, id="recall.list.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="recall.list.page_up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="recall.list.page_down"),
        Binding("home,g", "move(-1000000000)", "First", show=False, id="recall.list.first"),
        Binding(
            "end,G", "move(1000000000)", "Last", show=False, id="recall.list.last", tooltip="Last one loaded"
        ),
        Binding(
            "space", "fold", "Forks", show=False, id="recall.list.fold", tooltip="Fold or show the forks"
        ),
        Binding("left,h", "close", "Fold the forks", show=False, id="recall.list.close"),
        Binding("right,l", "open", "Show the forks", show=False, id="recall.list.open"),
    ]

    class Selected(Message):
        """Another conversation, or another hit of it, is selected."""

    class Chosen(Message):
        """The selected row was clicked again."""

    class MoreWanted(Message):
        """The end of the loaded rows is near."""

    class Left(Message):
        """The user moved up from the first row."""

    def __init__(self, clock: Callable[[], float], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock
        self.catalogue = Catalogue(clock())
        self.everywhere = False
        self.notice = ""
        self.selected: str | None = None
        self.nth = 0
        self._at = 0

    @property
    def entry(self) -> Entry | None:
        """The selected conversation."""
        return self.catalogue.entries.get(self.selected) if self.selected else None

    @property
    def hit(self) -> Hit | None:
        """The selected hit."""
        entry = self.entry
        return entry.hits[self.nth] if entry and self.nth < len(entry.hits) else None

    def show(self, catalogue: Catalogue, keep: str | None = None) -> None:
        """Show another catalogue from its beginning, with the conversation `keep` selected if it is there."""
        self.catalogue = catalogue
        self.jump(0)
        self.selected, self.nth, self._at = None, 0, 0
        self.update_rows(keep)

    def update_rows(self, select: str | None = None) -> None:
        """Refresh after the rows changed; the selection and its position stay."""
        rows = self.catalogue.rows
        self.resize_column(len(rows) if rows else 1)
        wanted = select if select and self.catalogue.place(select) is not None else self.selected
        if wanted is None or self.catalogue.place(wanted) is None:
            wanted = self._near(self._at)
        if wanted != self.selected:
            self._select(wanted)
        self._at = self._place() or 0
        self._reveal()
        self.refresh()
        self._want_more(1)

    def hold(self) -> Callable[[], None]:
        """Return a function that restores the selection's position in view after rows came in above it."""
        place = self._place()
        offset = None if place is None else place - self.scroll_offset.y

        def back() -> None:
            now = self._place()
            if offset is not None and now is not None:
                self.jump(max(0, min(now - offset, self.max_scroll_y)))

        return back

    def _place(self) -> int | None:
        return self.catalogue.place(self.selected) if self.selected else None

    def _near(self, y: int) -> str | None:
        """The conversation at row `y`, or the nearest one to it."""
        rows = self.catalogue.rows
        for place in [*range(min(y, len(rows)), len(rows)), *range(min(y, len(rows)) - 1, -1, -1)]:
            row = rows[place]
            if isinstance(row, Item):
                return row.id
        return None

    def _select(self, id: str | None, nth: int = 0) -> None:
        if (id, nth) != (self.selected, self.nth):
            self.selected, self.nth = id, nth
            self._at = self._place() or 0
            self._reveal()
            self.refresh()
            self.post_message(self.Selected())

    def move(self, step: int) -> None:
        """Select the conversation `step` further on; moving up from the first leads to the field."""
        place = self._place()
        found = None if place is None else self.catalogue.beside(place, step)
        if found is not None:
            row = self.catalogue.rows[found]
            assert isinstance(row, Item)
            self._select(row.id)
        elif step == -1:
            self.post_message(self.Left())

    def action_move(self, step: int) -> None:
        most = len(self.catalogue.rows) or 1
        self.move(max(-most, min(step, most)))

    def action_page(self, direction: int) -> None:
        if (place := self._place()) is None:
            return
        aim = max(0, min(place + direction * max(1, self.page - 2), len(self.catalogue.rows) - 1))
        row = self.catalogue.beside(aim - direction, direction)
        if row is None:
            row = self.catalogue.beside(aim + direction, -direction)
        if row is not None and isinstance(item := self.catalogue.rows[row], Item):
            self._select(item.id)

    def action_fold(self, folded: bool | None = None) -> None:
        item = self._item()
        if item is not None and item.below:
            self.catalogue.fold(item.id, folded)
            self.update_rows()

    def action_close(self) -> None:
        """Fold the forks of the selected conversation; on a fork, go to its parent."""
        item = self._item()
        if item is not None and item.below and not item.folded:
            self.action_fold(True)
        elif item is not None and (parent := self.catalogue.parent(item.id)) is not None:
            self._select(parent)

    def action_open(self) -> None:
        self.action_fold(False)

    def on_click(self, event: events.Click) -> None:
        y = self.scroll_offset.y + event.y
        row = self.catalogue.rows[y] if y < len(self.catalogue.rows) else None
        if not isinstance(row, Item | HitRow):
            return
        nth = row.nth if isinstance(row, HitRow) else 0
        if (row.id, nth) == (self.selected, self.nth):
            self.post_message(self.Chosen())
        self._select(row.id, nth)

    def on_resize(self) -> None:
        self._reveal()
        self._want_more(1)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._want_more(_AHEAD)

    def _want_more(self, pages: int) -> None:
        """Request more rows if fewer than `pages` are left; rows that fill no page never scroll."""
        if self.scroll_offset.y + pages * max(self.page, 1) >= len(self.catalogue.rows):
            self.post_message(self.MoreWanted())

    def _item(self) -> Item | None:
        place = self._place()
        row = None if place is None else self.catalogue.rows[place]
        return row if isinstance(row, Item) else None

    def _reveal(self) -> None:
        """Scroll to the selected conversation with its hits, and the heading above."""
        if not self.page or (place := self._place()) is None:
            return
        entry = self.entry
        self.reveal(place + min(len(entry.hits) if entry else 0, self.page - 1))
        self.reveal(place)
        if place and isinstance(self.catalogue.rows[place - 1], Heading):
            self.reveal(place - 1)

    def surface_at(self, y: int) -> str:
        row = self.catalogue.rows[y] if y < len(self.catalogue.rows) else None
        return "cursor" if isinstance(row, Item) and row.id == self.selected else "surface"

    def line_at(self, y: int) -> Line | None:
        rows, width, inks = self.catalogue.rows, self.text_width, self.inks
        if not rows:
            lines = wrap([Segment(self.notice, inks("dim"))], width) if self.notice else []
            return lines[y] if y < len(lines) else None
        if y >= len(rows):
            return None
        row, on = rows[y], self.surface_at(y)
        if isinstance(row, Heading):
            return draw_heading(row.title, inks)
        entry = self.catalogue.entries[row.id]
        if isinstance(row, HitRow):
            selected = row.id == self.selected and row.nth == self.nth
            return draw_hit(entry.hits[row.nth], row.depth, width, inks, on, selected=selected)
        return draw_entry(entry, row, width, inks, on, now=self._clock(), everywhere=self.everywhere)
