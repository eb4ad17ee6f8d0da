"""The search of the team's conversations: the same queries, snippets and ranking as in the local store.

The server selects the conversations that the user may see and that meet the query, the newest first, and
their best documents; ranking and snippets are those of the local search. A page begins at a key, as there.
"""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from math import isinf
from typing import Any, NamedTuple

from cogency_tui.protocol.events import Event
from cogency_tui.store.export_import import ConversationRecord, checked_event, decoded_record, parsed_line
from cogency_tui.store.origins import PREFIX
from cogency_tui.store.search.documents import Document, of_event
from cogency_tui.store.search.matching import Match, conditions_of, title_of
from cogency_tui.store.search.query import Query
from cogency_tui.store.search.ranking import closeness, score
from cogency_tui.store.search.searcher import WINDOW, Cursor, Order
from cogency_tui.store.store import StoredConversation
from cogency_tui.team.connection import Connection
from cogency_tui.team.rows import storable

_PATIENCE = 10.0
"""Seconds for a page: conversations that are invalid there are left out, and others follow."""

_MOST_KEYS = 1000
"""Most keys of one request: the server's limit."""

_SHOWN = 3
_RANKED = 4
_SECONDS = 2.0
"""Time after which the server ends a statement of a search, which then goes on with another."""

_SELECT = "SELECT origin, id, updated FROM cogency.search($1::jsonb, $2)"
_ROWS = (
    "SELECT origin, id, record, owner, machine, project"
    " FROM cogency.read_conversations($1, $2) ORDER BY place"
)
_HITS = "SELECT * FROM cogency.hits($1, $2, $3, $4, $5)"
_BEFORE = "SELECT number, type, body FROM cogency.read_events_until($1, $2, $3, $4)"
_AFTER = "SELECT number, type, body FROM cogency.read_events($1, $2, $3, $4)"
_LAST = (1 << 63) - 1
_CALLS = "SELECT origin, edit, event FROM cogency.calls_of_edits($1, $2)"


class TeamMatch(NamedTuple):
    """A conversation there that matches: `match` has it as the local search would; its id is `ORIGIN/ID`.

    `owner` is the user, `machine` the name of the origin, `project` the name under which it is shared.
    """

    match: Match
    owner: str
    machine: str
    project: str


class TeamPage(NamedTuple):
    """A page of matches, and where the next begins; None where this is the last."""

    found: tuple[TeamMatch, ...]
    next: Cursor | None


async def search(
    connection: Connection,
    query: Query,
    *,
    order: Order,
    limit: int,
    after: Cursor | None = None,
    project: str | None = None,
    now: float | None = None,
) -> TeamPage:
    """Return at most `limit` conversations that match, of the shared `project` or of all.

    Raises:
        asyncpg.PostgresError: see `connection.translated`.
    """
    searching = _Search(connection, query, project)
    if order == "newest" or not query.terms:
        return await searching.newest(limit, after)
    return await searching.best(limit, after, time.time() if now is None else now)


async def hits(connection: Connection, query: Query, origin: str, id: str, most: int) -> list[Document]:
    """Return the hits in one conversation, the oldest first."""
    found = await _Search(connection, query, None).matches([(origin, id, 0.0)], most)
    documents = found[0].match.hits if found else []
    return sorted(documents, key=lambda hit: (hit.timestamp, hit.source))


async def calls_of_edits(
    connection: Connection, edits: Sequence[tuple[str, int]]
) -> dict[tuple[str, int], int]:
    """Return the numbers of the events that called what made these edits, as far as they are there; an edit
    is an origin and a number."""
    if not edits:
        return {}
    rows = await connection.fetch(_CALLS, [origin for origin, _ in edits], [number for _, number in edits])
    return {(origin, edit): event for origin, edit, event in rows}


async def preview(
    connection: Connection, origin: str, id: str, at: int | None = None, before: int = 20, behind: int = 40
) -> tuple[tuple[tuple[int, Event], ...], bool, bool]:
    """Return events of a conversation there as `events.around` does, without storing them."""
    number = _LAST if at is None else at
    earlier = await connection.fetch(_BEFORE, origin, id, number, before + 2)
    later = await connection.fetch(_AFTER, origin, id, number, behind + 1)
    rows = [*reversed(earlier[: before + 1]), *later[:behind]]
    found = await asyncio.to_thread(_events, rows)
    return found, len(earlier) > before + 1, len(later) > behind


def _events(rows: Sequence[Any]) -> tuple[tuple[int, Event], ...]:
    """Decode rows that another client has written; invalid ones are left out."""
    return tuple((row["number"], event) for row in rows if (event := _event(row)) is not None)


class _Search:
    def __init__(self, connection: Connection, query: Query, project: str | None) -> None:
        self._connection = connection
        self._query = query
        self._conditions = conditions_of(query)
        self._asked = _asked(query, project)

    async def newest(self, limit: int, after: Cursor | None) -> TeamPage:
        above = after.above if after else None
        found: list[TeamMatch] = []
        until, size = time.monotonic() + _PATIENCE, limit
        while True:
            keys = await self._keys(above, size + 1)
            cursors = [_cursor(key) for key in keys]
            matches = await self.matches(keys[:size], _SHOWN)
            room = limit - len(found)
            found += matches[:room]
            if len(matches) >= room:
                last = next(at for at, (_, id) in enumerate(cursors) if id == _key_id(matches[room - 1]))
                return TeamPage(
                    tuple(found), Cursor(cursors[last], None) if last + 1 < len(cursors) else None
                )
            if len(keys) <= size:
                return TeamPage(tuple(found), None)
            above = cursors[size - 1]
            if time.monotonic() > until:
                return TeamPage(tuple(found), Cursor(above, None))
            size = min(2 * size, _MOST_KEYS - 1)

    async def best(self, limit: int, after: Cursor | None, now: float) -> TeamPage:
        above, last = (after.above, after.last) if after else (None, None)
        found: list[TeamMatch] = []
        while True:
            keys = await self._keys(above, WINDOW + 1)
            more = len(keys) > WINDOW
            matches = await self.matches(keys[:WINDOW], _RANKED)
            window = await asyncio.to_thread(self._scored, matches, now)
            left = sorted(
                (one for one in window if last is None or one[0] < last), key=lambda one: one[0], reverse=True
            )
            room = limit - len(found)
            found += [each._replace(match=_shown(each.match, self._query)) for _, each in left[:room]]
            if len(left) > room:
                return TeamPage(tuple(found), Cursor(above, left[room - 1][0]))
            if not more:
                return TeamPage(tuple(found), None)
            above, last = _cursor(keys[WINDOW - 1]), None
            if len(found) == limit:
                return TeamPage(tuple(found), Cursor(above, None))

    async def _keys(self, above: tuple[float, str] | None, most: int) -> list[tuple[str, str, float]]:
        asked = self._asked
        if above is not None:
            id, _, origin = above[1].partition("/")
            asked = {**asked, "above": [above[0], id, origin]}
        found: list[tuple[str, str, float]] = []
        while True:
            rows = await self._connection.fetch(_SELECT, json.dumps(asked), most - len(found))
            found += [(row["origin"], row["id"], row["updated"]) for row in rows if row["id"] is not None]
            if not rows or rows[-1]["id"] is not None or isinf(rows[-1]["updated"]):
                return found
            # The server has searched for long, and goes on from there.
            asked = {**asked, "above": [rows[-1]["updated"], "", ""]}

    def _scored(
        self, matches: Sequence[TeamMatch], now: float
    ) -> list[tuple[tuple[float, float, str], TeamMatch]]:
        return [
            ((score(each.match, self._query, now), each.match.conversation.updated, _key_id(each)), each)
            for each in matches
        ]

    async def matches(self, keys: Sequence[tuple[str, str, float]], most: int) -> list[TeamMatch]:
        """Return these conversations with at most `most` hits each, those first that meet the most."""
        origins, ids = [key[0] for key in keys], [key[1] for key in keys]
        rows = await self._connection.fetch(_ROWS, origins, ids)
        hits = await self._hits(rows, most)
        # Texts are decoded and compared off the loop: they may be long.
        return await asyncio.to_thread(self._matched, rows, hits, most)

    def _matched(self, rows: Sequence[Any], hits: Sequence[Any], most: int) -> list[TeamMatch]:
        documents: dict[int, list[Document]] = {}
        for row in hits:
            if (document := _document(row)) is not None:
                documents.setdefault(row["place"], []).append(document)
        found: list[TeamMatch] = []
        for place, row in enumerate(rows, 1):
            conversation = _conversation(row)
            if conversation is not None:
                match = self._match(conversation, documents.get(place, []), most)
                found.append(TeamMatch(match, row["owner"], row["machine"], row["project"]))
        return found

    def _match(self, conversation: StoredConversation, documents: list[Document], most: int) -> Match:
        wanted = [each for each in self._conditions if each.is_term] or self._conditions
        if conversation.renamed:
            # Documents have the ids that their origin gives.
            title = replace(title_of(conversation), conversation=conversation.original)
            documents = [title, *documents]
        hits = [each for each in documents if any(condition.test(each) for condition in wanted)]
        return Match(conversation, hits[:most], len(hits) > most)

    async def _hits(self, rows: Sequence[Any], most: int) -> list[Any]:
        if not self._conditions or not rows:
            return []
        documents: list[list[str]] = self._asked["documents"]
        wanted = [each for each in documents if each[0] == "term"] or documents
        phrase = storable(self._query.phrase)
        origins, ids = [row["origin"] for row in rows], [row["id"] for row in rows]
        return await self._connection.fetch(_HITS, json.dumps(wanted), phrase, origins, ids, most + 1)


def _asked(query: Query, project: str | None) -> dict[str, Any]:
    """The query as the server's function takes it."""
    rows = [("model", each) for each in query.models]
    rows += [("directory", each) for each in query.projects]
    rows += [("branch", each) for each in query.branches]
    rows += [("from", each) for each in query.sources]
    documents = [("term", each) for each in query.terms]
    documents += [("file", each) for each in query.files]
    documents += [("tool", each) for each in query.tools]
    documents += [("error", each) for each in query.errors]
    asked: dict[str, Any] = {
        "rows": [[name, storable(text)] for name, text in rows],
        "documents": [[name, storable(text)] for name, text in documents],
        "costs": [[how, repr(usd)] for how, usd in query.costs],
    }
    given = {"since": query.since, "before": query.before, "project": project, "seconds": _SECONDS}
    return asked | {name: value for name, value in given.items() if value is not None}


def _document(row: Any) -> Document | None:
    """The document of a hit, which another client has written; None where it is invalid."""
    if row["type"] != "edit":
        if _event(row) is None:
            return None
        return of_event((row["source"], row["conversation"], row["type"], row["at"], row["body"]))
    paths = tuple(row["paths"].split("\n"))
    return Document(
        row["source"], row["conversation"], "edit", row["body"], row["at"], row["tool"], paths=paths
    )


def _event(row: Any) -> Event | None:
    """The event of a row, which another client has written; None where it is invalid."""
    try:
        event = checked_event(parsed_line(row["body"]), time.time())
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return event if event["type"] == row["type"] else None


def _conversation(row: Any) -> StoredConversation | None:
    """The conversation of a row, which another client has written; None where it is invalid."""
    try:
        given = decoded_record(parsed_line(row["record"]), time.time())
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(given, ConversationRecord):
        return None
    return StoredConversation(
        *(f"{row['origin']}/{row['id']}", given.project, given.title, given.dialect, given.provider),
        *(given.model, given.created, given.updated, given.turns, given.tokens, given.cost, None),
        branch=given.branch,
        renamed=given.renamed,
        effort=given.effort,
        imported=True,
        source=f"{PREFIX}{row['origin']}",
        original=row["id"],
    )


def _key_id(each: TeamMatch) -> str:
    return f"{each.match.conversation.original}/{each.match.conversation.source[1:]}"


def _cursor(key: tuple[str, str, float]) -> tuple[float, str]:
    origin, id, updated = key
    return updated, f"{id}/{origin}"


def _shown(found: Match, query: Query) -> Match:
    """Sort the best hits first, and drop those beyond the length of a list."""
    hits = sorted(found.hits, key=lambda hit: closeness(hit, query), reverse=True)
    return Match(found.conversation, hits[:_SHOWN], found.more or len(hits) > _SHOWN)
