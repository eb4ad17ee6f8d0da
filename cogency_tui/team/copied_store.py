"""A copy of the store that pushes too: both are the same origin, and would give the same numbers to different
things. The one that finds what is not its own in the database becomes an origin of its own."""

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from cogency_tui.protocol.transcript import is_private_command
from cogency_tui.store import events, increments, origins
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.open_locks import Presence
from cogency_tui.store.origins import Origin
from cogency_tui.store.store import Store
from cogency_tui.team.connection import Connection
from cogency_tui.team.local_state import LocalState

_TABLES = (
    ("events", "seq", "conversation_id"),
    ("usage", "id", "conversation_id"),
    ("edits", "id", "conversation"),
)
"""Tables of rows with a number and a time: the numbers here, and the conversations of the rows."""

Times = Mapping[int, float]
"""The times of rows by their numbers. Two stores that go on do not give a number at the same time."""


class Renewed(NamedTuple):
    """A new origin of a copied store, and the number of conversations that belong to the other one."""

    origin: Origin
    ceded: int


async def is_all_ours(
    connection: Connection, here: sqlite3.Connection, origin: Origin, ids: Iterable[str]
) -> bool:
    """Return whether all that the database has of these conversations of our origin is from this store."""
    for id in ids:
        for table, number, conversation in _TABLES:
            there = await _times(connection, table, origin, id)
            sql = f"SELECT {number}, timestamp FROM {table} WHERE {conversation} = ?"
            if there and not there.items() <= dict(here.execute(sql, (to_column(id),)).fetchall()).items():
                return False
    return True


async def renew(
    connection: Connection, data: Path, state: LocalState, server: str, own: Origin, ids: Iterable[str]
) -> Renewed:
    """Give the store a new origin, and to the other one those of these conversations, which the database has,
    that are not continued here; what is open in another process stays ours."""
    there = {id: await _times(connection, "events", own, id) for id in ids}
    # What the other one has withdrawn is not pushed again by this one.
    sql = "SELECT id FROM cogency.withdrawn WHERE origin = $1"
    withdrawn = [row["id"] for row in await connection.fetch(sql, own.id)]
    used = {mark.conversation for mark in Presence(data).elsewhere()}

    def work(database: sqlite3.Connection) -> list[str]:
        if origins.own(database).id != own.id:
            # A sync has noticed it meanwhile.
            return []
        origins.renew(database)
        return increments.adopt(
            database, own, lambda id: id not in used and _is_whole(database, id, there.get(id))
        )

    async with await Store.open(data) as store:
        ceded = await store.database.write(work, durable=True)
        found = await store.database.read(origins.own)
    state.note_renewal(server, own.id, ceded, withdrawn)
    return Renewed(found, len(ceded))


async def _times(connection: Connection, table: str, origin: Origin, id: str) -> Times:
    sql = f"SELECT number, at FROM cogency.{table} WHERE origin = $1 AND conversation = $2"
    return {row["number"]: row["at"] for row in await connection.fetch(sql, origin.id, id)}


def _is_whole(connection: sqlite3.Connection, id: str, there: Times | None) -> bool:
    """Return whether all that a conversation has here is there, and nothing else before its end."""
    if there is None:
        return False
    ours: dict[int, float] = {}
    sql = "SELECT seq, timestamp, type, body FROM events WHERE conversation_id = ?"
    for number, at, kind, body in connection.execute(sql, (to_column(id),)):
        if '"ran"' not in from_column(body) or not is_private_command(events.decode(kind, body)):
            ours[number] = at
    last = max(ours, default=0)
    return ours == {number: at for number, at in there.items() if number <= last}
