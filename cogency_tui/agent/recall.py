"""Past conversations as a place to go to: listed, searched, looked into, put in order.

The one way to them for the recall screen, the command line and the agent's own tool; what it answers is in
`recalled`. Nothing here holds up a turn: searches have a thread and a connection of their own, and who
cancels one stops it. Every list is paged by key: a page's `next` is given back as `after`, None is the last.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Literal, TypeVar

from cogency_tui.agent.comparison import Comparison, compare
from cogency_tui.agent.recalled import Hit, Indexed, Page, Preview, hit_of, listed
from cogency_tui.child_processes import start_interpreter
from cogency_tui.errors import UsageError
from cogency_tui.store import events, transfer
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.conversations import Conversation, Store
from cogency_tui.store.forks import Forks, Tree
from cogency_tui.store.presence import Mark, Presence
from cogency_tui.store.search.index import BLOBS
from cogency_tui.store.search.query import parse
from cogency_tui.store.search.searcher import Cursor, Order, Scope, Searcher
from cogency_tui.store.search.service import SearchService
from cogency_tui.store.statistics import Statistics, statistics
from cogency_tui.store.trash import Trash

T = TypeVar("T")
Where = Literal["project", "everywhere", "trash"]

HITS = 500
"""Hits of one conversation that are counted."""

_WORK = "work"

BACKLOG = 300
"""Events that are not in the index, from which on bringing it up to date is worth a process."""

_UPDATE = "from cogency_tui.store.search.child import main; main()"


class Recall:
    """The conversations of the person; `project` is the directory that is meant by `where="project"`.

    All methods raise `StoreError` where the store fails, and for an id that there is not.
    """

    def __init__(self, store: Callable[[], Awaitable[Store]], project: str) -> None:
        self.project = project
        self._store = store
        self._service: SearchService | None = None
        self._presence: Presence | None = None
        self._indexing: asyncio.Lock = asyncio.Lock()

    async def close(self) -> None:
        """End the search's thread, and take this process's marks away. It can be used again."""
        service, self._service = self._service, None
        if service is not None:
            await service.close()
        if self._presence is not None:
            await asyncio.to_thread(self._presence.leave)

    async def page(
        self,
        query: str = "",
        *,
        where: Where = "project",
        order: Order = "newest",
        limit: int = 50,
        after: Cursor | None = None,
        without: str | None = None,
    ) -> Page:
        """At most `limit` conversations that match what the person typed (see `store.search.query`), the
        last updated first; in `best` order the best of the newest first. An empty query lists all.

        Cancel it when the person types on. `without` is a conversation to leave out.
        """
        asked = parse(query)
        scope = Scope(self.project if where == "project" else None, without, where == "trash")
        live = {mark.conversation: mark for mark in await self.open_elsewhere()}

        def work(searcher: Searcher) -> Page:
            answer = searcher.search(asked, scope, order=order, limit=limit, after=after)
            found = [
                listed(searcher, match, asked, live.get(match.conversation.id)) for match in answer.found
            ]
            return Page(tuple(found), answer.next, asked.terms, asked.problems)

        return await self._search(work)

    async def hits(self, id: str, query: str, *, most: int = HITS) -> list[Hit]:
        """Where one conversation matches, the oldest first: for going from hit to hit."""
        asked = parse(query)

        def work(searcher: Searcher) -> list[Hit]:
            return [hit_of(searcher, each, asked) for each in searcher.hits(asked, id, most)]

        return await self._search(work)

    async def preview(self, id: str, at: int | None = None, *, before: int = 20, behind: int = 40) -> Preview:
        """Events of the conversation `id` around the one numbered `at`, or its last ones."""

        def work(searcher: Searcher) -> Preview:
            return Preview(*events.around(searcher.view.connection, id, at, before, behind))

        return await self._search(work)

    # Putting in order.

    async def rename(self, id: str, title: str) -> None:
        """Give a title; an empty one lets the first message give it again with the next."""
        await (await self._store()).rename(id, title)

    async def trash(self, id: str) -> None:
        """Move to the trash; `restore` takes back."""
        await Trash((await self._store()).database).move(id)

    async def restore(self, id: str) -> None:
        """Take out of the trash."""
        await Trash((await self._store()).database).restore(id)

    async def fork(self, id: str, through: int | None = None) -> Conversation:
        """A new conversation with the events up to the number `through`, or all.

        Raises:
            UsageError: it has no event of that number.
        """
        return await Forks((await self._store()).database).fork(id, through)

    async def tree(self, id: str) -> Tree:
        """The tree of forks in which a conversation stands, from its root."""
        return await Forks((await self._store()).database).tree(id)

    async def compare(self, left: str, right: str) -> Comparison:
        """What two conversations have in common, and what each came to since: answers, files, cost."""
        return await compare(await self._store(), left, right)

    # In and out.

    async def export_lines(self, id: str) -> list[str]:
        """A conversation as lines of JSON, which `import_lines` takes; for reading, see `agent.export`."""
        blobs = await self._blobs()

        def work(searcher: Searcher) -> list[str]:
            connection = searcher.view.connection
            connection.execute("BEGIN")
            try:
                lines = transfer.exported(connection, id, blobs)
                return [json.dumps(line, ensure_ascii=True, separators=(",", ":")) for line in lines]
            finally:
                connection.execute("ROLLBACK")

        return await self._search(work)

    async def import_lines(self, lines: Sequence[str]) -> Conversation:
        """Store what `export_lines` gave, all or nothing.

        Raises:
            UsageError: it is no export; the message says which line is wrong.
        """
        store, blobs = await self._store(), await self._blobs()
        id = await store.database.write(partial(transfer.imported, lines=lines, blobs=blobs))
        found = await store.conversation(id)
        assert found is not None
        return found

    # Figures and marks.

    async def statistics(
        self, *, where: Where = "project", since: float | None = None, before: float | None = None
    ) -> Statistics:
        """What a period came to, between two moments in Unix seconds."""
        project = self.project if where == "project" else None
        return await self._search(
            lambda searcher: statistics(searcher.view.connection, project, since, before)
        )

    async def open_elsewhere(self) -> list[Mark]:
        """The conversations that other processes have open now."""
        return await asyncio.to_thread((await self._marks()).elsewhere)

    async def enter(self, id: str, now: float) -> bool:
        """Mark a conversation as open here, until `leave` or `close`; False where another process has it."""
        return await asyncio.to_thread((await self._marks()).enter, id, now)

    @asynccontextmanager
    async def working_in(self, id: str, now: float) -> AsyncGenerator[None]:
        """Mark a conversation as at work here, as long as the block runs.

        Raises:
            UsageError: another process has it open.
        """
        marks = await self._marks()
        if not await asyncio.to_thread(marks.enter, id, now, _WORK):
            # Where the disk takes no mark, nobody else need have it.
            held = [mark for mark in await asyncio.to_thread(marks.elsewhere) if mark.conversation == id]
            if held:
                raise UsageError(
                    f"This conversation is open in process {held[0].pid}.",
                    f"Wait until it is closed there, or go on in a copy: cogency-tui conversations fork {id}",
                )
        try:
            yield
        finally:
            await asyncio.to_thread(marks.leave, id, _WORK)

    async def leave(self, id: str) -> None:
        """Take that mark away."""
        await asyncio.to_thread((await self._marks()).leave, id)

    # The index.

    async def indexed(self) -> Indexed:
        """How far the index is."""
        return Indexed(*await self._search(lambda searcher: searcher.extent()))

    async def update_index(self, *, least: int = BACKLOG) -> AsyncIterator[Indexed]:
        """Bring the index up to date, in a process of its own and as far as it lacks `least` events; how far
        it is, from time to time. Whoever stops listening stops it: nothing of what is done is lost."""
        state = await self.indexed()
        if state.total - state.done < least or self._indexing.locked():
            return
        async with self._indexing:
            directory = (await self._store()).database.path.parent
            child = await start_interpreter(_UPDATE, str(directory))
            assert child.stdout is not None
            try:
                async for line in child.stdout:
                    done, total = line.split()
                    yield Indexed(int(done), int(total))
            finally:
                with suppress(ProcessLookupError):
                    child.terminate()
                await child.wait()

    async def _search(self, work: Callable[[Searcher], T]) -> T:
        return await (await self._searching()).run(work)

    async def _searching(self) -> SearchService:
        if self._service is None:
            store = await self._store()
            self._service = self._service or SearchService(store.database.path.parent, store.notices)
        return self._service

    async def _marks(self) -> Presence:
        if self._presence is None:
            directory = (await self._store()).database.path.parent
            self._presence = self._presence or Presence(directory)
        return self._presence

    async def _blobs(self) -> Blobs:
        return Blobs((await self._store()).database.path.parent / BLOBS)
