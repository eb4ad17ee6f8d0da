"""The list and the preview: side by side, or, where the screen is narrow, one in place of the other.

The preview follows the selection in the list. The texts about a search are its chips, its count, and the
reason for an empty list.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from textual.app import ComposeResult
from textual.containers import Horizontal

from cogency_tui.agent.recall.results import Hit
from cogency_tui.errors import CogencyError
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.bar import Surface
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.recall.background_search import PREVIEW, Asked, Place, Searching
from cogency_tui.tui.recall.list_view import RecallList
from cogency_tui.tui.recall.preview import PreviewPane, PreviewView
from cogency_tui.tui.recall.rows import RecallEntry
from cogency_tui.tui.recall.search_bar import Chip, filters_in

_PLACES: dict[Place, str] = {
    "project": "this project",
    "everywhere": "all projects",
    "team": "team",
    "trash": "trash",
}


def wider(where: Place) -> Place:
    """The scope after the chip of `where` is removed."""
    return "project" if where == "trash" else "everywhere"


def chips_of(asked: Asked, problems: Sequence[str]) -> list[Chip]:
    """The chips for scope, order, and filters, both understood and not (`problems`)."""
    where = asked.where
    action = "" if where == "everywhere" else f"scope({wider(where)!r})"
    chips = [Chip(_PLACES[where], "Where to search; F2 changes it", action)]
    if asked.order == "best":
        chips.append(Chip("best first", "Sort order; F3 changes it", "order"))
    for each in filters_in(asked.text):
        chips.append(Chip(each.text, "Filter; click to remove it", f"drop({each.start})"))
    return [*chips, *(Chip(problem, "Searched as plain text", trouble=True) for problem in problems)]


def count_of(found: int, total: int | None, *, complete: bool) -> str:
    """Describe the number of conversations: those `found`, or `total` if known."""
    if complete:
        return plural(found, "conversation")
    return f"{found:,}+ conversations" if total is None else f"{max(found, total):,} conversations"


def nothing_in(asked: Asked) -> str:
    """Describe why the list is empty, and the next step."""
    if asked.text.strip():
        return "No matches." + (" F2 searches all projects." if asked.where == "project" else "")
    if asked.where == "trash":
        return "The trash is empty."
    if asked.where == "team":
        return "The team shares no conversations with you yet. `cogency-tui history share` shares yours."
    if asked.where == "project":
        return "No conversations in this project yet. F2 shows all projects."
    return "No conversations yet."


_BESIDE = 96
"""Cells of a screen from which both fit."""


class RecallPanes(Horizontal):
    """Shows the results of `searching`; `complain` receives errors."""

    def __init__(
        self,
        searching: Searching,
        clock: Callable[[], float],
        complain: Callable[[CogencyError], None],
        *,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._searching = searching
        self._clock = clock
        self._complain = complain
        self._requested: bool | None = None

    def compose(self) -> ComposeResult:
        with Surface(id="recall-left"):
            yield RecallList(self._clock, id="recall-list")
        yield PreviewPane(self._searching.source, clock=self._clock, id="recall-right")

    @property
    def list(self) -> RecallList:
        return self.query_one(RecallList)

    @property
    def preview(self) -> PreviewView:
        return self.query_one(PreviewView)

    @property
    def entry(self) -> RecallEntry | None:
        """The selected conversation."""
        return self.list.entry

    @property
    def hit(self) -> Hit | None:
        """The shown hit in it."""
        shown = self.list
        return self._pane.hit_of(shown.entry, shown.hit) if shown.entry else None

    @property
    def covers(self) -> bool:
        """True if the preview covers the list."""
        return not self.query_one("#recall-left").display

    @property
    def _pane(self) -> PreviewPane:
        return self.query_one(PreviewPane)

    def show_found(self, retain: str | None) -> None:
        """Show the results of another search; `retain` is to be selected, if it is there."""
        asked, shown = self._searching.asked, self.list
        shown.everywhere = asked.where != "project"
        shown.notice = nothing_in(asked)
        shown.show_catalogue(self._searching.catalogue, retain)
        self._clear_if_empty()

    def show_more(self) -> None:
        """Refresh after results were added or removed."""
        back = self.list.hold()
        self.list.show_changes()
        back()
        self._clear_if_empty()

    def show_instead(self, notice: str) -> None:
        """Show a notice in place of conversations, unless some are found."""
        self.list.notice = one_line(notice)
        if self.list.catalogue is not self._searching.catalogue:
            self.list.show_catalogue(self._searching.catalogue)
            self._clear_if_empty()
        self.list.refresh()

    def show_selected(self) -> None:
        """Show the selected conversation in the preview."""
        if (entry := self.entry) is not None:
            asked, terms = self._searching.asked, self._searching.terms
            elsewhere = asked.where != "project"
            show = partial(self._pane.show_hit, self._searching.source, entry, self.list.hit)
            self._show(partial(show, asked.text, terms, project=elsewhere))

    def step(self, step: int) -> None:
        """Go to the next hit of the selected conversation, or with -1 to the previous one."""
        if (entry := self.entry) is not None and not self._pane.wait(entry, step):
            self._show(partial(self._pane.step, entry, step, self._searching.terms))

    def fit(self, width: int) -> None:
        """Show the panes that fit a screen of this width, or the one that the user prefers."""
        beside = width >= _BESIDE
        shown = beside if self._requested is None else self._requested
        self.set_class(not beside, "-narrow")
        self._pane.display = shown
        self.query_one("#recall-left").display = beside or not shown
        focused = self.screen.focused
        if focused is self.list and self.covers:
            self.preview.focus()
        elif focused is self.preview and not shown:
            self.list.focus()

    def toggle_preview(self, width: int) -> None:
        """Show or hide the preview."""
        shown = not self._pane.display
        # The default needs no preference: on a wider screen it may differ.
        self._requested = None if shown == (width >= _BESIDE) else shown
        self.fit(width)

    def enter(self, pages: int = 0) -> None:
        """Focus the list if it is shown, moved by `pages`; else the preview."""
        if self.covers:
            self.preview.focus()
            return
        self.list.focus()
        if pages:
            self.list.action_page(pages)

    def light(self) -> None:
        """Show whether the preview has the focus."""
        self.query_one("#recall-preview-title", PaneTitle).light(self.screen.focused is self.preview)

    def on_select_list_selected(self, event: RecallList.Selected) -> None:
        event.stop()
        self.show_selected()

    def _clear_if_empty(self) -> None:
        if self.entry is None:
            self._pane.clear()

    def _show(self, work: Callable[[], Awaitable[None]]) -> None:
        async def shown() -> None:
            try:
                await work()
            except CogencyError as exc:
                self._complain(exc)

        self.screen.run_worker(shown, group=PREVIEW, exclusive=True)
