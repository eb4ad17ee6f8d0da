"""The list and the preview: side by side, or where there is no room one in the place of the other.

The preview follows what is selected in the list.
"""

from collections.abc import Awaitable, Callable
from functools import partial

from textual.app import ComposeResult
from textual.containers import Horizontal

from cogency_tui.agent.recall import Recall
from cogency_tui.agent.recalled import Hit
from cogency_tui.errors import CogencyError
from cogency_tui.tui.recall.list_view import RecallList
from cogency_tui.tui.recall.preview import PreviewPane, PreviewView
from cogency_tui.tui.recall.rows import Entry
from cogency_tui.tui.recall.searching import PREVIEW, Searching
from cogency_tui.tui.recall.telling import nothing_in
from cogency_tui.tui.widgets.bar import Surface
from cogency_tui.tui.widgets.pane_title import PaneTitle

_BESIDE = 96
"""Cells of a screen from which on both have room."""


class RecallPanes(Horizontal):
    """Shows what `searching` found; `complain` is told what could not be shown."""

    def __init__(
        self,
        recall: Recall,
        searching: Searching,
        clock: Callable[[], float],
        complain: Callable[[CogencyError], None],
        *,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._recall = recall
        self._searching = searching
        self._clock = clock
        self._complain = complain
        self._wanted: bool | None = None

    def compose(self) -> ComposeResult:
        with Surface(id="recall-left"):
            yield RecallList(self._clock, id="recall-list")
        yield PreviewPane(self._recall, clock=self._clock, id="recall-right")

    @property
    def list(self) -> RecallList:
        return self.query_one(RecallList)

    @property
    def preview(self) -> PreviewView:
        return self.query_one(PreviewView)

    @property
    def entry(self) -> Entry | None:
        """The selected conversation."""
        return self.list.entry

    @property
    def hit(self) -> Hit | None:
        """Where one stands in it."""
        shown = self.list
        return self._pane.hit_of(shown.entry, shown.hit) if shown.entry else None

    @property
    def covers(self) -> bool:
        """Whether the preview stands in the place of the list."""
        return not self.query_one("#recall-left").display

    @property
    def _pane(self) -> PreviewPane:
        return self.query_one(PreviewPane)

    def show_found(self, keep: str | None) -> None:
        """Show what another search found; `keep` is to be selected, if it is there."""
        asked, shown = self._searching.asked, self.list
        shown.everywhere = asked.where != "project"
        shown.notice = nothing_in(asked)
        shown.show(self._searching.catalogue, keep)
        self._clear_if_empty()

    def show_more(self) -> None:
        """More was found, or something is there no longer."""
        back = self.list.hold()
        self.list.update_rows()
        back()
        self._clear_if_empty()

    def show_failure(self, error: CogencyError) -> None:
        """Nothing could be found."""
        self.list.notice = error.advice
        self.list.refresh()

    def look(self) -> None:
        """Show what is selected."""
        if (entry := self.entry) is not None:
            asked, terms = self._searching.asked, self._searching.terms
            elsewhere = asked.where != "project"
            self._show(partial(self._pane.look, entry, self.list.hit, asked.text, terms, project=elsewhere))

    def step(self, step: int) -> None:
        """Go to the next hit of the selected conversation, or with -1 to the one before."""
        if (entry := self.entry) is not None and not self._pane.wait(entry, step):
            self._show(partial(self._pane.step, entry, step, self._searching.terms))

    def fit(self, width: int) -> None:
        """Show what there is room for on a screen of this width, or what the person wants to see of it."""
        beside = width >= _BESIDE
        shown = beside if self._wanted is None else self._wanted
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
        # What is so by itself need not be wanted: on a wider screen it may be otherwise.
        self._wanted = None if shown == (width >= _BESIDE) else shown
        self.fit(width)

    def enter(self, pages: int = 0) -> None:
        """Have the focus, in the list if it is shown, so many pages further on."""
        if self.covers:
            self.preview.focus()
            return
        self.list.focus()
        if pages:
            self.list.action_page(pages)

    def light(self) -> None:
        """Show whether the preview has the focus."""
        self.query_one("#recall-preview-title", PaneTitle).light(self.screen.focused is self.preview)

    def on_recall_list_selected(self, event: RecallList.Selected) -> None:
        event.stop()
        self.look()

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
