"""The agents' data of one project: values under keys, and a log.

An expired value is gone: no read returns it, and the next write removes it. The log only grows.
"""

import json
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cogency_tui.errors import StoreError
from cogency_tui.protocol.taint_sources import NONE, Sources, recorded
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.database import Database
from cogency_tui.store.events import encode

_SET = (
    "INSERT INTO relic_values (project, key, value, expires, sources) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (project, key) DO UPDATE"
    " SET value = excluded.value, expires = excluded.expires, sources = excluded.sources"
)
_GET = (
    "SELECT value, expires, sources FROM relic_values"
    " WHERE project = ? AND key = ? AND (expires IS NULL OR expires > ?)"
)
_LAST = "SELECT seq, timestamp, entry, sources FROM relic_log WHERE project = ? ORDER BY seq DESC LIMIT ?"


@dataclass(frozen=True, slots=True)
class CachedValue:
    """A value of the cache; `expires` is in Unix seconds, None for one that stays. `sources` are those of
    the conversation that stored it, None where an older version did."""

    value: Any
    expires: float | None
    sources: Sources | None = NONE


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An entry of the log; `timestamp` is in Unix seconds, `sources` as in `CachedValue`."""

    timestamp: float
    entry: Any
    sources: Sources | None = NONE


class Relics:
    """The data of `project`. Values and entries are any JSON. All methods raise `StoreError`."""

    def __init__(self, database: Database, project: str, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._project = to_column(project)
        self._clock = clock

    async def set(self, key: str, value: Any, ttl: float | None = None, sources: Sources = NONE) -> None:
        """Store `value` under `key`, replacing an earlier one, for `ttl` seconds if given; `sources` are
        those of the storing conversation."""
        now = self._clock()
        expires = None if ttl is None else now + ttl
        row = (self._project, to_column(key), encode(value), expires, _column(sources))

        def work(connection: sqlite3.Connection) -> None:
            _remove_expired(connection, now)
            connection.execute(_SET, row)

        await self._database.write(work)

    async def get(self, key: str) -> CachedValue | None:
        """Return the value under `key`, if any."""
        values = (self._project, to_column(key), self._clock())
        row = await self._database.read(lambda connection: connection.execute(_GET, values).fetchone())
        if row is None:
            return None
        try:
            return CachedValue(json.loads(from_column(row[0])), row[1], _sources(row[2]))
        except ValueError as exc:
            raise StoreError(f"The value of {key!r} in the cache cannot be read.", "Set it again.") from exc

    async def delete(self, key: str) -> bool:
        """Remove the value under `key`; return whether there was one."""
        now = self._clock()
        values = (self._project, to_column(key))

        def work(connection: sqlite3.Connection) -> bool:
            _remove_expired(connection, now)
            sql = "DELETE FROM relic_values WHERE project = ? AND key = ?"
            return connection.execute(sql, values).rowcount == 1

        return await self._database.write(work)

    async def append(self, entry: Any, sources: Sources = NONE) -> None:
        """Add `entry` to the log; `sources` are those of the storing conversation."""
        row = (self._project, self._clock(), encode(entry), _column(sources))
        sql = "INSERT INTO relic_log (project, timestamp, entry, sources) VALUES (?, ?, ?, ?)"
        await self._database.write(lambda connection: connection.execute(sql, row))

    async def read(self, limit: int) -> list[LogEntry]:
        """Return the last `limit` entries of the log, oldest first; one that cannot be read is left out."""
        rows: list[tuple[int, float, str | bytes, str | bytes | None]] = await self._database.read(
            lambda connection: connection.execute(_LAST, (self._project, limit)).fetchall()
        )
        entries: list[LogEntry] = []
        for seq, timestamp, entry, sources in reversed(rows):
            try:
                entries.append(LogEntry(timestamp, json.loads(from_column(entry)), _sources(sources)))
            except ValueError:
                self._note(f"Entry {seq} of the log cannot be read and is omitted.")
        return entries

    def _note(self, notice: str) -> None:
        if notice not in self._database.notices:
            self._database.notices.append(notice)


def _column(sources: Sources) -> str | bytes:
    return encode({"sources": sources.certain, "possible_sources": sources.possible})


def _sources(column: str | bytes | None) -> Sources | None:
    return None if column is None else recorded(json.loads(from_column(column)))


def _remove_expired(connection: sqlite3.Connection, now: float) -> None:
    connection.execute("DELETE FROM relic_values WHERE expires <= ?", (now,))
