"""Pins: the parts of a conversation that stay verbatim in the model's context.

A log: a row states that an event was pinned, or no longer is, and the last one of an event counts. The pin of
a call is that of its event; its result comes with it.
"""

import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from cogency_tui.protocol.events import Event, ResultEvent
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.database import Database
from cogency_tui.store.events import decode, missing

PINNED = (
    "SELECT event FROM pins WHERE pinned AND id IN"
    " (SELECT max(id) FROM pins WHERE conversation_id = ? GROUP BY event)"
)
"""The numbers of the pinned events of a conversation."""

_VERSION = "SELECT coalesce(max(id), 0) FROM pins WHERE conversation_id = ?"
_EVENTS = (
    f"SELECT seq, type, body, unit FROM events WHERE seq IN ({PINNED})"
    " AND conversation_id = ? AND seq <= coalesce(?, seq) ORDER BY seq"
)
_EVENT = "SELECT seq, type, body, unit FROM events WHERE seq = ? AND conversation_id = ?"
_RESULT = (
    "SELECT body FROM events WHERE conversation_id = ? AND seq > ? AND unit = ? AND type = 'result'"
    " ORDER BY seq LIMIT 1"
)
_OWN = "SELECT seq FROM events WHERE conversation_id = ? AND type = 'user' ORDER BY seq LIMIT 1 OFFSET ?"
_UNIT = (
    "SELECT seq FROM events WHERE conversation_id = ? AND unit = ? AND type IN ('think', 'respond', 'call')"
    " ORDER BY seq LIMIT 1"
)
_NTH = "SELECT count(*) FROM events WHERE conversation_id = ? AND type = 'user' AND seq <= ?"


@dataclass(frozen=True, slots=True)
class PinnedPart:
    """A pinned event: its number, and the result if it is a call that has one."""

    number: int
    event: Event
    result: ResultEvent | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a conversation: the unit with an id, or the user's `nth` message or command, from 1."""

    unit: str = ""
    nth: int = 0


class Pins:
    """The pins of all conversations. All methods raise `StoreError`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def parts(self, conversation_id: str, through: int | None = None) -> list[PinnedPart]:
        """Return the pinned parts in their order, up to the event numbered `through`, by default all; none
        that cannot be read."""
        return await self._database.read(lambda connection: _parts(connection, conversation_id, through))

    async def part(self, conversation_id: str, number: int) -> PinnedPart | None:
        """Return the part that the pin of an event would keep; None if it cannot be read."""

        def work(connection: sqlite3.Connection) -> PinnedPart | None:
            key = to_column(conversation_id)
            rows = connection.execute(_EVENT, (number, key)).fetchall()
            return next(iter(_read(connection, key, rows)), None)

        return await self._database.read(work)

    async def version(self, conversation_id: str) -> int:
        """Return a number that changes with each pin of a conversation."""
        key = to_column(conversation_id)
        row = await self._database.read(lambda connection: connection.execute(_VERSION, (key,)).fetchone())
        return row[0]

    async def places(self, conversation_id: str) -> list[Place]:
        """Return where the pinned parts are."""
        return await self._database.read(lambda connection: _places(connection, conversation_id))

    async def event_at(self, conversation_id: str, place: Place) -> int | None:
        """Return the number of the event at a place; None if it is not stored."""
        sql, value = (_UNIT, to_column(place.unit)) if place.unit else (_OWN, place.nth - 1)
        key = to_column(conversation_id)
        row = await self._database.read(lambda connection: connection.execute(sql, (key, value)).fetchone())
        return row[0] if row else None

    async def set(self, conversation_id: str, event: int, *, pinned: bool) -> None:
        """Record that an event is pinned, or no longer is."""
        row = (to_column(conversation_id), event, pinned, time.time())

        def work(connection: sqlite3.Connection) -> None:
            try:
                connection.execute(
                    "INSERT INTO pins (conversation_id, event, pinned, created) VALUES (?, ?, ?, ?)", row
                )
            except sqlite3.IntegrityError as exc:
                raise missing(conversation_id) from exc

        await self._database.write(work)


def copy(connection: sqlite3.Connection, id: str, fork: str, at: int, new: Mapping[int, int]) -> None:
    """Copy the log of the conversation `id` to `fork`, of events up to the one numbered `at`. `new` are the
    numbers of its events in the fork."""
    rows = connection.execute(
        "SELECT event, pinned, created FROM pins WHERE conversation_id = ? AND event <= ? ORDER BY id",
        (to_column(id), at),
    ).fetchall()
    connection.executemany(
        "INSERT INTO pins (conversation_id, event, pinned, created) VALUES (?, ?, ?, ?)",
        [(to_column(fork), new[event], *rest) for event, *rest in rows if event in new],
    )


def _parts(connection: sqlite3.Connection, id: str, through: int | None) -> list[PinnedPart]:
    key = to_column(id)
    return _read(connection, key, connection.execute(_EVENTS, (key, key, through)).fetchall())


def _read(
    connection: sqlite3.Connection, key: str | bytes, rows: Sequence[tuple[Any, ...]]
) -> list[PinnedPart]:
    found: list[PinnedPart] = []
    for number, kind, body, unit in rows:
        with suppress(ValueError, RecursionError):
            result = _result(connection, key, number, unit) if kind == "call" else None
            found.append(PinnedPart(number, decode(kind, body), result))
    return found


def _result(
    connection: sqlite3.Connection, key: str | bytes, call: int, unit: str | bytes
) -> ResultEvent | None:
    row = connection.execute(_RESULT, (key, call, unit)).fetchone()
    event = decode("result", row[0]) if row else None
    return event if event is not None and event["type"] == "result" else None


def _places(connection: sqlite3.Connection, id: str) -> list[Place]:
    key = to_column(id)
    found: list[Place] = []
    for number, kind, _body, unit in connection.execute(_EVENTS, (key, key, None)).fetchall():
        if kind == "user":
            found.append(Place(nth=connection.execute(_NTH, (key, number)).fetchone()[0]))
        else:
            found.append(Place(unit=from_column(unit)))
    return found
