"""Forks: conversations that begin with a copy of another's events up to one of them.

The parent does not change. Usage stays with the conversation that paid for it: a fork begins at zero.
"""

import sqlite3
from dataclasses import dataclass, replace

from cogency_tui.errors import UsageError
from cogency_tui.store import answer_items, event_chain, pins, requests, summaries
from cogency_tui.store.column_text import to_column
from cogency_tui.store.database import Database
from cogency_tui.store.events import BEGINS_TURN, missing
from cogency_tui.store.foreign_sessions import name_of_source
from cogency_tui.store.store import (
    COLUMNS,
    StoredConversation,
    conversation_of,
    insert,
    new_conversation_id,
    unix_time,
)

_ONE = f"SELECT {COLUMNS} FROM conversations WHERE id = ?"
_COPY = (
    "INSERT INTO events (seq, conversation_id, type, timestamp, unit, body)"
    " SELECT ? + row_number() OVER (ORDER BY seq), ?, type, timestamp, unit, body FROM events"
    " WHERE conversation_id = ? AND seq <= ? ORDER BY seq"
)
_NUMBERS = "SELECT seq FROM events WHERE conversation_id = ? ORDER BY seq"
_DEEPEST = 100
_CHILDREN = f"SELECT {COLUMNS} FROM conversations WHERE parent = ? AND call IS NULL ORDER BY created, id"


@dataclass(frozen=True, slots=True)
class ForkTree:
    """A conversation with its forks, the earliest first; the name of its source, empty for one of ours."""

    conversation: StoredConversation
    forks: "tuple[ForkTree, ...]" = ()
    source: str = ""


class Forks:
    """Forks of conversations. All methods raise `StoreError`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def fork(
        self, id: str, through: int | None = None, *, project: str | None = None
    ) -> StoredConversation:
        """Create a conversation with the events of this one up to the number `through`, by default all; in
        another directory if `project` is given.

        Raises:
            UsageError: it has no event of that number.
        """
        return await self._database.write(lambda connection: _fork(connection, id, through, project))

    async def tree(self, id: str) -> ForkTree:
        """Return the whole tree of a conversation, from the one that is no fork. It includes conversations
        in the trash, which others may be forks of."""
        return await self._database.read(lambda connection: _tree(connection, _top(connection, id), set()))

    async def shared(self, left: str, right: str) -> tuple[int, int]:
        """Return the numbers of the last events that two conversations have in common, 0 each where there
        is none."""

        def work(connection: sqlite3.Connection) -> tuple[int, int]:
            sql = "SELECT seq, type, body FROM events WHERE conversation_id = ? ORDER BY seq"
            last = (0, 0)
            sides = (connection.execute(sql, (to_column(id),)) for id in (left, right))
            for one, other in zip(*sides, strict=False):
                if one[1:] != other[1:]:
                    break
                last = (one[0], other[0])
            return last

        return await self._database.read(work)


def _fork(
    connection: sqlite3.Connection, id: str, through: int | None, project: str | None
) -> StoredConversation:
    key = to_column(id)
    row = connection.execute(_ONE, (key,)).fetchone()
    if row is None:
        raise missing(id)
    last = "SELECT max(seq) FROM events WHERE conversation_id = ? AND seq <= coalesce(?, seq)"
    (at,) = connection.execute(last, (key, through)).fetchone()
    if at is None or through not in (None, at):
        raise UsageError(
            f"The conversation {id!r} has no event {through}.",
            "List its events with `cogency-tui conversations show`.",
        )
    turns = f"SELECT count(*) FROM events WHERE conversation_id = ? AND seq <= ? AND {BEGINS_TURN}"
    now = unix_time()
    parent = conversation_of(row)
    fork = replace(
        parent,
        project=parent.project if project is None else project,
        id=new_conversation_id(),
        created=now,
        updated=now,
        turns=connection.execute(turns, (key, at)).fetchone()[0],
        tokens=0,
        cost=0.0,
        parent=id,
        call=None,
        trashed=None,
        forked_at=at,
        source="",
        original="",
    )
    insert(fork, connection)
    last = event_chain.next_number(connection) - 1
    connection.execute(_COPY, (last, fork.id, key, at))
    event_chain.extend(connection, last)
    sides = ([seq for (seq,) in connection.execute(_NUMBERS, (each,))] for each in (key, fork.id))
    new = dict(zip(*sides, strict=False))
    requests.copy(connection, id, fork.id, at, new)
    summaries.copy(connection, id, fork.id, at, new)
    pins.copy(connection, id, fork.id, at, new)
    answer_items.copy(connection, id, fork.id)
    return fork


def _top(connection: sqlite3.Connection, id: str) -> StoredConversation:
    seen: set[str] = set()
    while True:
        row = connection.execute(_ONE, (to_column(id),)).fetchone()
        if row is None:
            raise missing(id)
        found = conversation_of(row)
        seen.add(id)
        if found.parent is None or found.parent in seen:
            return found
        id = found.parent


def _tree(
    connection: sqlite3.Connection, conversation: StoredConversation, seen: set[str], depth: int = 0
) -> ForkTree:
    """Return a conversation with its forks; those more than `_DEEPEST` levels below the root are on the last
    level together."""
    seen.add(conversation.id)
    if depth < _DEEPEST:
        children = _children(connection, conversation.id, seen)
        below = tuple(_tree(connection, child, seen, depth + 1) for child in children)
        return ForkTree(conversation, below, _source_of(connection, conversation))
    last: list[ForkTree] = []
    pending = _children(connection, conversation.id, seen)
    while pending:
        each = pending.pop(0)
        seen.add(each.id)
        last.append(ForkTree(each, (), _source_of(connection, each)))
        pending += _children(connection, each.id, seen)
    return ForkTree(conversation, tuple(last), _source_of(connection, conversation))


def _source_of(connection: sqlite3.Connection, conversation: StoredConversation) -> str:
    return name_of_source(connection, conversation.source) if conversation.source else ""


def _children(connection: sqlite3.Connection, id: str, seen: set[str]) -> list[StoredConversation]:
    rows = connection.execute(_CHILDREN, (to_column(id),)).fetchall()
    return [child for child in map(conversation_of, rows) if child.id not in seen]
