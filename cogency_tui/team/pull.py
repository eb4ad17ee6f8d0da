"""Pulling: a conversation of another's, with those of its sub-agents, into the local store, where it can be
read, searched and forked. What arrives goes through the decoder of imports, a small transaction a part, so
that no turn waits for it."""

import base64
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from cogency_tui.errors import ConversationGoneError, HistoryServerError, UsageError
from cogency_tui.safe_text import one_line
from cogency_tui.store import foreign_sessions, increments, origins
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.column_text import to_column
from cogency_tui.store.export_import import blamed_on, parsed_line
from cogency_tui.store.increments import Position, Taken
from cogency_tui.store.origins import PREFIX, Origin
from cogency_tui.store.search.index_file import BLOBS
from cogency_tui.store.store import Store
from cogency_tui.team.connection import Connection
from cogency_tui.team.local_state import LocalState
from cogency_tui.team.rows import encoded

_EVENTS, _USAGE, _EDITS = 200, 500, 40
"""Most rows of a part."""

_NAMED = (
    "SELECT origin, id FROM cogency.conversations WHERE NOT is_call AND id LIKE $1"
    " AND ($2 = '' OR origin = $2) ORDER BY id <> $4, updated DESC LIMIT $3"
)
_CHANGED = (
    "SELECT c.origin, c.id, c.revision FROM unnest($1::text[], $2::text[]) AS known (origin, id)"
    " JOIN cogency.conversations c ON c.origin = known.origin AND c.id = known.id WHERE NOT c.is_call"
)
_FOUND = "SELECT origin, id, owner, title, machine FROM cogency.read_conversations($1, $2) ORDER BY place"
_BELOW = """
WITH RECURSIVE below AS (
    SELECT c.id, 0 AS depth FROM cogency.conversations c WHERE c.origin = $1 AND c.id = $2
    UNION ALL
    SELECT c.id, b.depth + 1 FROM cogency.conversations c JOIN below b ON c.parent = b.id
    WHERE c.origin = $1 AND c.is_call AND b.depth < 20
)
SELECT id FROM below GROUP BY id ORDER BY min(depth), id
"""
_ROWS = (
    "SELECT id, record, changing, position, revision FROM cogency.read_conversations($1, $2) ORDER BY place"
)
_CONTENTS = "SELECT digest, data FROM cogency.read_contents($1, $2, $3)"
_CANDIDATES = 5


class TeamConversation(NamedTuple):
    """A conversation there: its origin, its id in it, and who owns it."""

    origin: str
    id: str
    owner: str
    title: str
    machine: str


async def find(connection: Connection, name: str) -> TeamConversation:
    """Return the conversation whose id is `name` or begins with it; `ORIGIN/ID` names its origin as well.

    Raises:
        UsageError: there is none that the user may see, or there are several.
    """
    origin, _, id = name.rpartition("/")
    escaped = id.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    keys = await connection.fetch(_NAMED, f"{escaped}%", origin, _CANDIDATES + 1, id)
    found = await _found(connection, [tuple(key) for key in keys])
    found = [each for each in found if each.id == id] or found
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(
            f"No conversation of the team begins with {name!r}.", "Find it with `cogency-tui recall --team`."
        )
    shown = ", ".join(f"{each.origin}/{each.id} ({each.title or 'untitled'})" for each in found[:_CANDIDATES])
    raise UsageError(
        f"Several conversations begin with {name!r}: {shown}.", "Pass the whole of one of these."
    )


async def pull(
    connection: Connection,
    store: Store,
    state: LocalState,
    server: str,
    found: TeamConversation,
    progress: Callable[[int], object] = lambda _events: None,
) -> str:
    """Store what is new of a conversation here; return its id here. `progress` receives the number of events
    after each part.

    Raises:
        UsageError: it is one of ours.
        HistoryServerError: it is no longer there, or something in it is invalid.
    """
    own = await store.database.read(origins.own)
    if found.origin == own.id:
        raise UsageError("That conversation is one of yours, and here.", f"Open it: {found.id}.")
    blobs = Blobs(store.database.path.parent / BLOBS)
    # The database knows the owner; the rest of the name is what they call themselves.
    origin = Origin(found.origin, f"{found.owner}@{found.machine.rpartition('@')[2]}")
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        ids = [row["id"] for row in await connection.fetch(_BELOW, found.origin, found.id)]
        rows = await connection.fetch(_ROWS, [found.origin] * len(ids), ids)
        if not rows or rows[0]["id"] != found.id:
            raise ConversationGoneError("That conversation is no longer there, or no longer shared with you.")
        pulling = _Pulling(connection, store, blobs, origin, progress)
        try:
            id, *_ = [await pulling.pull(row) for row in rows]
        except UsageError as exc:
            raise HistoryServerError(
                f"What {one_line(found.owner)} has stored of that conversation is invalid, and was not"
                f" pulled: {exc}"
            ) from exc
    await store.database.write(increments.link)
    for row in rows:
        state.note_pulled(server, found.origin, row["id"], row["revision"])
    return id


async def changed(connection: Connection, state: LocalState, server: str) -> list[TeamConversation]:
    """Return the pulled conversations of which there is more now."""
    pulled = state.pulled(server)
    if not pulled:
        return []
    origins, ids = [origin for origin, _ in pulled], [id for _, id in pulled]
    rows = await connection.fetch(_CHANGED, origins, ids)
    keys = {(row["origin"], row["id"]): row["revision"] for row in rows}
    return await _found(connection, [key for key, revision in keys.items() if revision > pulled[key]])


async def _found(connection: Connection, keys: Sequence[tuple[str, str]]) -> list[TeamConversation]:
    origins, ids = [origin for origin, _ in keys], [id for _, id in keys]
    return [TeamConversation(*row) for row in await connection.fetch(_FOUND, origins, ids)]


class _Pulling:
    """Pulls conversations of one origin."""

    def __init__(
        self,
        connection: Connection,
        store: Store,
        blobs: Blobs,
        origin: Origin,
        progress: Callable[[int], object],
    ) -> None:
        self._connection = connection
        self._store = store
        self._blobs = blobs
        self._origin = origin
        self._progress = progress
        self._events = 0

    async def pull(self, row: Any) -> str:
        """Pull one conversation in parts; return its id here."""
        head, origin, id = _head(row["record"]), self._origin, row["id"]
        sent: set[str] = set()
        while True:
            reached = await self._store.database.read(lambda connection: _reached(connection, origin, id))
            lines, to, whole = await _part(self._connection, origin.id, id, reached, sent)
            if whole:
                lines += filter(None, row["changing"].split("\n"))
            first = {
                **head,
                "since": msgspec.to_builtins(reached),
                "to": msgspec.to_builtins(to),
                "whole": whole,
            }
            taken = await self._take([encoded(first), *lines])
            if whole:
                return taken.id

    async def _take(self, lines: list[str]) -> Taken:
        taken: Taken = await self._store.database.write(
            lambda connection: increments.take(connection, self._blobs, self._origin, lines)
        )
        if taken.waits:
            raise HistoryServerError(f"The conversation cannot be pulled: {taken.waits} is missing.")
        self._events += taken.events
        self._progress(self._events)
        return taken


def _head(record: str) -> dict[str, Any]:
    """Return the first line of an increment.

    Raises:
        UsageError: it is none.
    """
    with blamed_on(1):
        given = parsed_line(record)
        return {name: given[name] for name in ("conversation", "owner")}


def _reached(connection: Any, origin: Origin, id: str) -> Position:
    found = foreign_sessions.find(connection, f"{PREFIX}{origin.id}", id)
    if found is None:
        return increments.START
    sql = "SELECT event, usage, edit FROM received WHERE id = ?"
    row = connection.execute(sql, (to_column(found.id),)).fetchone()
    return Position(*row) if row else increments.START


async def _part(
    connection: Connection, origin: str, id: str, reached: Position, sent: set[str]
) -> tuple[list[str], Position, bool]:
    """Return the lines of what follows `reached`, the position behind them, and whether they are the last."""

    async def read(kind: str, line: str, most: int, after: int) -> list[Any]:
        sql = f"SELECT number, {line} AS line FROM cogency.read_{kind}($1, $2, $3, $4) ORDER BY number"
        return await connection.fetch(sql, origin, id, after, most + 1)

    events = await read("events", "body", _EVENTS, reached.event)
    usage = await read("usage", "record", _USAGE, reached.usage)
    edits = await read("edits", "record", _EDITS, reached.edit)
    whole = len(events) <= _EVENTS and len(usage) <= _USAGE and len(edits) <= _EDITS
    events, usage, edits = events[:_EVENTS], usage[:_USAGE], edits[:_EDITS]
    digests = list(_digests([row["line"] for row in (*events, *edits)]))
    lines = await _contents(connection, origin, id, [each for each in digests if each not in sent])
    sent.update(digests)
    lines += [f'{{"event":{row["line"]},"number":{row["number"]}}}' for row in events]
    lines += [f'{{"usage":{row["line"]},"number":{row["number"]}}}' for row in usage]
    lines += [f'{{"edit":{row["line"]}}}' for row in edits]
    last = (
        rows[-1]["number"] if rows else number
        for rows, number in ((events, reached.event), (usage, reached.usage), (edits, reached.edit))
    )
    event, cycle, edit = last
    return lines, Position(event, cycle, edit), whole


async def _contents(connection: Connection, origin: str, id: str, digests: list[str]) -> list[str]:
    if not digests:
        return []
    return [
        encoded({"content": digest, "size": len(data), "data": base64.b64encode(data).decode()})
        for digest, data in await connection.fetch(_CONTENTS, origin, id, digests)
    ]


def _digests(lines: Iterable[str]) -> Iterable[str]:
    """Yield the digests that events and edits refer to; what is invalid is left to the decoder."""
    for line in lines:
        if "digest" not in line:
            continue
        with suppress(ValueError, RecursionError):
            found = msgspec.json.decode(line, type=_Referring, strict=False)
            yield from filter(None, (found.before_digest, found.after_digest))
            yield from (image.digest for image in (*found.images, *found.payload.images))


class _Image(msgspec.Struct):
    digest: str = ""


class _Payload(msgspec.Struct):
    images: list[_Image] = []


class _Referring(_Payload):
    """What an event or an edit refers to by digests."""

    before_digest: str = ""
    after_digest: str = ""
    payload: _Payload = msgspec.field(default_factory=_Payload)
