"""Recall in a team's database: searches and previews the conversations there, and brings one here.

A conversation there has the id `ORIGIN/ID`. All methods raise `HistoryServerError` if the server cannot be
used, `ConfigError` without a usable address and `UsageError` without the driver; a caller may cancel them.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from cogency_tui.agent.recall.recall import HITS
from cogency_tui.agent.recall.results import Hit, ListedConversation, Preview, ResultPage, as_hit
from cogency_tui.config.schema import HistorySettings
from cogency_tui.errors import UsageError
from cogency_tui.store import foreign_sessions, increments, origins
from cogency_tui.store.origins import PREFIX
from cogency_tui.store.search.documents import Document
from cogency_tui.store.search.query import Query, parse
from cogency_tui.store.search.searcher import Cursor, Order
from cogency_tui.store.store import Store, StoredConversation
from cogency_tui.team.connection import SharedConnection
from cogency_tui.team.local_state import LocalState
from cogency_tui.team.pull import TeamConversation, pull
from cogency_tui.team.push import identify
from cogency_tui.team.search import TeamMatch, calls_of_edits, hits, preview, search

PATIENCE = 10.0
"""Seconds for a connection, and for each of its statements."""


class Pulled(NamedTuple):
    """A conversation that is here now, and a place in it: the event numbered `event` of `within`, 0 for its
    end."""

    conversation: StoredConversation
    within: str
    event: int


class TeamRecall:
    """The conversations in the team's database that the user may see, over one connection."""

    def __init__(self, settings: HistorySettings, store: Callable[[], Awaitable[Store]]) -> None:
        self._settings = settings
        self._store = store
        self._connection = SharedConnection(settings, PATIENCE)
        self._found: dict[str, TeamConversation] = {}

    def close(self) -> None:
        """Close the connection, without waiting for it."""
        self._connection.release()

    async def page(self, query: str, *, order: Order, limit: int, after: Cursor | None = None) -> ResultPage:
        """At most `limit` conversations that match, as `Recall.page` returns them; the next page begins after
        its `next`."""
        asked = parse(query)
        own = await (await self._store()).database.read(origins.own)
        async with self._connection.use() as connection:
            user: str = await connection.fetchval("SELECT session_user::text")
            page = await search(connection, asked, order=order, limit=limit, after=after)
            edits = [edit for each in page.found for edit in _edits(_origin_of(each), each.match.hits)]
            calls = await calls_of_edits(connection, edits)
        self._found |= {each.match.conversation.id: _named(each) for each in page.found}
        listed = await asyncio.to_thread(_listed, page.found, asked, calls, {user: own.id})
        return ResultPage(listed, page.next, asked.terms, asked.problems)

    async def hits(self, id: str, query: str) -> list[Hit]:
        """The matches in one conversation, oldest first."""
        asked = parse(query)
        origin, _, original = id.partition("/")
        async with self._connection.use() as connection:
            found = await hits(connection, asked, origin, original, HITS)
            calls = await calls_of_edits(connection, _edits(origin, found))
        return await asyncio.to_thread(_hits, origin, found, asked, calls)

    async def preview(self, id: str, at: int | None = None) -> Preview:
        """Events around the one numbered `at`, or the last ones."""
        origin, _, original = id.partition("/")
        async with self._connection.use() as connection:
            return Preview(*await preview(connection, origin, original, at))

    async def pull(self, id: str, within: str, event: int, progress: Callable[[int], object]) -> Pulled:
        """Bring a conversation here, or what is new of it, with those of its sub-agents; one of ours that is
        here stays as it is. The place in it becomes one here. `progress` receives the number of new events.

        Raises:
            UsageError: it began here, and is no longer here; or something in it is invalid.
        """
        store = await self._store()
        origin, _, original = id.partition("/")
        if origin == (await store.database.read(origins.own)).id:
            here = original
        else:
            here = await self._pull(store, self._found[id], progress)
        conversation = await store.conversation(here)
        if conversation is None:
            raise UsageError(
                "This conversation began in this store, and is no longer in it.",
                "It can only be read, in the preview.",
            )
        return await store.database.read(
            lambda connection: _place(connection, conversation, within.partition("/")[2], event)
        )

    async def _pull(self, store: Store, found: TeamConversation, progress: Callable[[int], object]) -> str:
        state = await asyncio.to_thread(LocalState, store.database.path.parent)
        try:
            async with self._connection.use() as connection:
                server = await identify(connection, state, self._settings)
                return await pull(connection, store, state, server, found, progress)
        finally:
            state.close()


Calls = Mapping[tuple[str, int], int]
"""The numbers of events by the edits that they made."""


def _listed(
    found: Iterable[TeamMatch], query: Query, calls: Calls, own: Mapping[str, str]
) -> tuple[ListedConversation, ...]:
    """Matches as a page shows them; `own` is our origin, by our name there."""
    return tuple(
        ListedConversation(
            each.match.conversation,
            tuple(_hits(_origin_of(each), each.match.hits, query, calls)),
            each.match.more,
            *(0, 0, None),
            source=_owner(each, own),
            shared_as=each.project,
        )
        for each in found
    )


def _owner(found: TeamMatch, own: Mapping[str, str]) -> str:
    """Who has a conversation: another user, or a machine of ours."""
    if found.owner not in own:
        return found.owner
    return "this machine" if own[found.owner] == _origin_of(found) else found.machine


def _hits(origin: str, found: Iterable[Document], query: Query, calls: Calls) -> list[Hit]:
    return [
        as_hit(
            replace(each, conversation=f"{origin}/{each.conversation}"),
            query,
            each.source if each.source >= 0 else calls.get((origin, -each.source), 0),
        )
        for each in found
    ]


def _edits(origin: str, found: Iterable[Document]) -> list[tuple[str, int]]:
    return [(origin, -each.source) for each in found if each.source < 0]


def _origin_of(found: TeamMatch) -> str:
    return found.match.conversation.source.removeprefix(PREFIX)


def _named(found: TeamMatch) -> TeamConversation:
    stored = found.match.conversation
    return TeamConversation(_origin_of(found), stored.original, found.owner, stored.title, found.machine)


def _place(
    connection: sqlite3.Connection, conversation: StoredConversation, within: str, event: int
) -> Pulled:
    """The place here of an event that its owner has given a number."""
    if not conversation.source:
        return Pulled(conversation, within, event)
    place = foreign_sessions.find(connection, conversation.source, within) or conversation
    return Pulled(conversation, place.id, increments.event_at(connection, place, event) or 0)
