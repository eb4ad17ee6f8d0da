"""The search behind the list: runs the last query, page by page. Earlier queries are cancelled."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from textual.screen import Screen

from cogency_tui.agent.recall.results import Indexed, ListedConversation, ResultPage
from cogency_tui.errors import CogencyError, StoreError
from cogency_tui.store.forks import ForkTree
from cogency_tui.store.search.searcher import Cursor, Order
from cogency_tui.tui.recall.preview import Source
from cogency_tui.tui.recall.rows import Catalogue

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.agent.recall.team_recall import TeamRecall

Place: TypeAlias = Literal["project", "everywhere", "team", "trash"]
"""Where to search: in the store, or in the team's database."""

PREVIEW = "recall-preview"
"""The group of the workers that fill the preview: they use the same thread."""

_FIRST = 50
_NEXT = 200
"""Conversations on each page after the first."""


class Asked(NamedTuple):
    """A query: text, scope and order."""

    text: str = ""
    where: Place = "project"
    order: Order = "newest"


class Searching:
    """Searches the store of `agent` for `screen`, or the database of its `team`. Callbacks: `found` receives,
    on each page, whether the catalogue is new; `counted` reports that `total` is known; `indexed` receives
    the progress of the index while it is built, then None; `failed` receives errors."""

    def __init__(
        self,
        screen: Screen[Any],
        agent: "Agent",
        team: "TeamRecall | None",
        clock: Callable[[], float],
        *,
        found: Callable[[bool], None],
        counted: Callable[[], None],
        indexed: Callable[[Indexed | None], None],
        failed: Callable[[CogencyError], None],
    ) -> None:
        self.asked = Asked()
        self.catalogue = Catalogue(clock())
        self.terms: tuple[str, ...] = ()
        self.problems: tuple[str, ...] = ()
        self.busy = False
        self.failed = False
        """True if the last search has found nothing because it failed."""
        self.total: int | None = None
        """The number of conversations in the scope, as far as known without a search."""
        self._screen = screen
        self._agent = agent
        self._recall = agent.recall
        self._team = team
        self._clock = clock
        self._found = found
        self._counted = counted
        self._indexed = indexed
        self._failed = failed
        self._next: Cursor | None = None

    @property
    def complete(self) -> bool:
        """True if all results have been found."""
        return not self.busy and self._next is None

    @property
    def source(self) -> Source:
        """Where the conversations that were found are read."""
        return self._team if self._team is not None and self.asked.where == "team" else self._recall

    def ask(self, asked: Asked) -> None:
        """Start another search. What was found in another database than its own is no longer there."""
        if asked.where != self.asked.where and "team" in {asked.where, self.asked.where}:
            self.catalogue, self._next = Catalogue(self._clock()), None
        self.asked = asked
        self.busy, self.failed = True, False
        workers: Any = self._screen.workers
        workers.cancel_group(self._screen, PREVIEW)
        self.total = None
        self._run(partial(self._begin, asked))

    def go_on(self) -> None:
        """Load the next page, if there is one and no search is running."""
        if not self.busy and self._next is not None:
            self.busy = True
            self._run(partial(self._continue, self.asked, self._next))

    def drop(self, id: str) -> None:
        """Remove a conversation that left the scope."""
        if self.total is not None and id in self.catalogue.entries:
            self.total -= 1
        self.catalogue.remove(id)

    async def follow_index(self) -> None:
        """Update the index, and report its progress."""
        try:
            async for state in self._recall.update_index():
                self._indexed(state)
        except CogencyError as exc:
            self._failed(exc)
        self._indexed(None)

    def _run(self, work: Callable[[], Awaitable[None]]) -> None:
        self._screen.run_worker(work(), group="recall-search", exclusive=True)

    async def _begin(self, asked: Asked) -> None:
        listing = not asked.text.strip() and asked.where != "trash"
        try:
            page, trees = await self._page(asked, _FIRST, None)
        except CogencyError as exc:
            self.busy, self.failed, self._next = False, True, None
            self.catalogue = Catalogue(self._clock())
            self._failed(exc)
            return
        self.catalogue = Catalogue(
            self._clock(), self.catalogue.folded, grouped=asked.order == "newest", whole=listing
        )
        self.terms, self.problems = page.terms, page.problems
        self._take(page, trees, first=True)
        if listing and page.next is not None and asked.where != "team":
            self._screen.run_worker(partial(self._count, asked), group="recall-count", exclusive=True)

    async def _count(self, asked: Asked) -> None:
        """Count the conversations, which takes longer than finding the first page."""
        try:
            store, project = await self._agent.store(), str(self._agent.project)
            total = await store.count(project if asked.where == "project" else None)
        except CogencyError as exc:
            self._failed(exc)
            return
        if asked == self.asked:
            self.total = total
            self._counted()

    async def _continue(self, asked: Asked, after: Cursor) -> None:
        try:
            page, trees = await self._page(asked, _NEXT, after)
        except CogencyError as exc:
            # The page is loaded again when it is requested again.
            self.busy = False
            self._failed(exc)
            return
        self._take(page, trees, first=False)

    def _take(self, page: ResultPage, trees: dict[str, ForkTree], *, first: bool) -> None:
        self.catalogue.add(page.listed, trees)
        self.busy, self._next = False, page.next
        self._found(first)

    async def _page(
        self, asked: Asked, limit: int, after: Cursor | None
    ) -> tuple[ResultPage, dict[str, ForkTree]]:
        if asked.where == "team":
            assert self._team is not None
            return await self._team.page(asked.text, order=asked.order, limit=limit, after=after), {}
        page = await self._recall.page(
            asked.text, where=asked.where, order=asked.order, limit=limit, after=after
        )
        trees: dict[str, ForkTree] = {}
        for each in page.listed if asked.where != "trash" else ():
            id = each.conversation.id
            if _has_family(each) and id not in trees:
                # The conversation may have been removed since it was found.
                with suppress(StoreError):
                    _spread(await self._recall.tree(id), trees)
        return page, trees


def _has_family(listed: ListedConversation) -> bool:
    return bool(listed.forks) or listed.conversation.parent is not None


def _spread(tree: ForkTree, trees: dict[str, ForkTree]) -> None:
    """Register `tree` for all its members."""
    pending = [tree]
    while pending:
        each = pending.pop()
        trees[each.conversation.id] = tree
        pending += each.forks
