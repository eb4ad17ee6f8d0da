"""The list of conversations: rows are drawn when shown, and more are requested before the end is in view.

One conversation is selected, and, if it has hits, one of these.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from cogency_tui.agent.recall.results import Hit
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.select_list import Heading, Kind, SelectList, list_keys
from cogency_tui.tui.recall.row_lines import (
    FactColumns,
    columns_of,
    draw_entry,
    draw_heading,
    draw_hit,
    relative_hit,
)
from cogency_tui.tui.recall.rows import Catalogue, HitRow, Item, RecallEntry, Row
from cogency_tui.tui.terminal.title_and_notifications import State
from cogency_tui.tui.theme_styles import ThemeStyles

_AHEAD = 3
"""Pages below the view within which more rows are requested."""


class RecallList(SelectList[Row]):
    """Shows a catalogue."""

    BINDING_GROUP_TITLE = "Conversations"

    BINDINGS: ClassVar[list[BindingType]] = [
        *list_keys("recall.list", without=("end", "G")),
        Binding(
            "end,G", "end(1)", "Last", show=False, id="recall.list.last", tooltip="Last loaded conversation"
        ),
        Binding(
            "space", "fold", "Forks", show=False, id="recall.list.fold", tooltip="Expand or collapse forks"
        ),
        Binding("left,h", "close", "Collapse forks", show=False, id="recall.list.close"),
        Binding("right,l", "open", "Expand forks", show=False, id="recall.list.open"),
    ]

    class MoreRequested(Message):
        """The end of the loaded rows is near."""

    class Left(Message):
        """The user moved up from the first row."""

    def __init__(self, clock: Callable[[], float], *, id: str | None = None) -> None:
        super().__init__(self._draw_row, _key_of, focusable=True, id=id)
        self._clock = clock
        self.catalogue = Catalogue(clock())
        self.everywhere = False
        self.states: Mapping[str, State] = {}
        """The states of the conversations that are open here, by their ids."""
        self._columns = FactColumns()
        self.nth = 0
        """The number of the selected hit in its conversation."""

    @property
    def entry(self) -> RecallEntry | None:
        """The selected conversation."""
        return self.catalogue.entries.get(self.key) if isinstance(self.key, str) else None

    @property
    def hit(self) -> Hit | None:
        """The selected hit."""
        entry = self.entry
        return entry.hits[self.nth] if entry and self.nth < len(entry.hits) else None

    def kind_of(self, row: Row) -> Kind:
        return Kind.DETAIL if isinstance(row, HitRow) else super().kind_of(row)

    def place_of(self, key: Hashable) -> int | None:
        return self.catalogue.place(key) if isinstance(key, str) else None

    def show_catalogue(self, catalogue: Catalogue, select: str | None = None) -> None:
        """Show another catalogue from its beginning, with conversation `select` selected if it is there."""
        self.catalogue = catalogue
        self.jump(0)
        self.key, self.selected = None, 0
        self.show_changes(select)

    def show_changes(self, select: str | None = None) -> None:
        """Refresh after the rows changed; the selection and its position stay."""
        before, self.rows = self.key, self.catalogue.rows
        entries = self.catalogue.entries.values()
        self._columns = columns_of(entries, self._clock(), everywhere=self.everywhere)
        self.restore(self.key if self.place_of(select) is None else select, self.selected)
        if self.key != before:
            self.nth = 0
            self.post_message(self.Selected())
        self._request_more(1)

    def show_states(self, states: Mapping[str, State]) -> None:
        """Show which conversations are open here, and their states."""
        if states != self.states:
            self.states = states
            self.refresh()

    def hold(self) -> Callable[[], None]:
        """Return a function that restores the selection's position in view after rows came in above it."""
        place = self.place_of(self.key)
        offset = None if place is None else place - self.scroll_offset.y

        def back() -> None:
            now = self.place_of(self.key)
            if offset is not None and now is not None:
                self.jump(max(0, min(now - offset, self.max_scroll_y)))

        return back

    def select(self, place: int, nth: int | None = None) -> None:
        """Select the conversation at `place`, and its `nth` hit: by default the first one, or the same."""
        is_same = place == self.selected
        nth = nth if nth is not None else self.nth if is_same else 0
        is_other_hit, self.nth = nth != self.nth, nth
        if not is_same:
            super().select(place)
        elif is_other_hit:
            self.refresh()
            self.post_message(self.Selected())

    def move(self, step: int) -> None:
        """Select the conversation `step` further on; moving up from the first leads to the field."""
        before = self.selected
        super().move(step)
        if step == -1 and self.selected == before:
            self.post_message(self.Left())

    def action_fold(self, folded: bool | None = None) -> None:
        item = self._item()
        if item is not None and item.below:
            self.catalogue.fold(item.id, folded)
            self.show_changes()

    def action_close(self) -> None:
        """Fold the forks of the selected conversation; on a fork, go to its parent."""
        item = self._item()
        if item is not None and item.below and not item.folded:
            self.action_fold(True)
        elif item is not None and (parent := self.catalogue.parent(item.id)) is not None:
            self.select(self.catalogue.place(parent) or 0)

    def action_open(self) -> None:
        self.action_fold(False)

    def click_row(self, y: int, event: events.Click) -> None:
        row = self.rows[y]
        if isinstance(row, Heading) or (place := self.place_of(row.id)) is None:
            return
        nth = row.nth if isinstance(row, HitRow) else 0
        again = (place, nth) == (self.selected, self.nth)
        self.select(place, nth)
        self.post_message(self.Chosen(again))

    def on_resize(self) -> None:
        # The base class's handler is called as well.
        self._request_more(1)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._request_more(_AHEAD)

    def _request_more(self, pages: int) -> None:
        """Request more rows if fewer than `pages` are left; rows that fill no page never scroll."""
        if self.scroll_offset.y + pages * max(self.page, 1) >= len(self.catalogue.rows):
            self.post_message(self.MoreRequested())

    def _item(self) -> Item | None:
        return row if isinstance(row := self.row, Item) else None

    def _draw_row(self, row: Row, width: int, styles: ThemeStyles, on: str) -> Line:
        if isinstance(row, Heading):
            return draw_heading(row.text, styles)
        entry = self.catalogue.entries[row.id]
        if isinstance(row, HitRow):
            is_selected = (row.id, row.nth) == (self.key, self.nth)
            hit = relative_hit(entry.hits[row.nth], entry.conversation.project)
            return draw_hit(hit, row.depth, width, styles, on, selected=is_selected)
        state, now = self.states.get(row.id), self._clock()
        return draw_entry(entry, row, self._columns, width, styles, on, now=now, state=state)


def _key_of(row: Row) -> str | None:
    return None if isinstance(row, Heading) else row.id
