"""Summaries, which replace the older part of a conversation in the model's context.

The events themselves do not change; each summary names the last event that it covers. Only the latest
summary is in effect; earlier ones stay stored.
"""

import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.database import Database
from cogency_tui.store.events import missing

COLUMNS = "through, text, model, created, edited, tokens_before, tokens_after, unread, result_limit"

_COVERED = """
    SELECT count(*) FROM events WHERE conversation_id = ?1 AND seq > ?2 AND seq <= ?3
    AND type != 'error' AND (
        type != 'result'
        OR unit NOT IN (SELECT unit FROM events WHERE conversation_id = ?1 AND type = 'call')
    )
"""
"""Counts messages and calls. A result belongs to its call, but that of a malformed call has none. The error
that ended a turn is in no context."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of all events up to the one numbered `through`, by `model` or edited by the user.

    It took the context from `tokens_before` to `tokens_after` (estimated). Its model was not sent the events
    up to the one numbered `unread`, and of each result at most `result_limit` characters. All four are 0
    where they are unknown.
    """

    id: int
    through: int
    text: str
    model: str
    created: float
    edited: bool
    tokens_before: int = 0
    tokens_after: int = 0
    unread: int = 0
    result_limit: int = 0


class Summaries:
    """The summaries of all conversations. All methods raise `StoreError`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def latest(self, conversation_id: str) -> Summary | None:
        """Return the summary in effect."""
        found = await self._select(conversation_id, "DESC LIMIT 1")
        return found[0] if found else None

    async def all(self, conversation_id: str) -> list[Summary]:
        """Return every summary, the oldest first."""
        return await self._select(conversation_id, "ASC")

    async def covered(self, conversation_id: str) -> list[tuple[Summary, int]]:
        """Return every summary, the oldest first, with the number of messages and calls that were in the
        context until then."""
        found = await self.all(conversation_id)
        ends = [0, *(each.through for each in found)]
        rows = [(to_column(conversation_id), *span) for span in pairwise(ends)]
        counts = await self._database.read(
            lambda connection: [connection.execute(_COVERED, row).fetchone()[0] for row in rows]
        )
        return list(zip(found, counts, strict=True))

    async def add(
        self,
        conversation_id: str,
        through: int,
        text: str,
        model: str,
        *,
        unread: int = 0,
        result_limit: int = 0,
    ) -> int:
        """Add `text` as the summary of the events up to the one numbered `through`; return its id."""
        row = (to_column(conversation_id), through, to_column(text), to_column(model), time.time())

        def work(connection: sqlite3.Connection) -> int:
            try:
                added = connection.execute(
                    "INSERT INTO summaries (conversation_id, through, text, model, created, edited, unread,"
                    " result_limit) VALUES (?, ?, ?, ?, ?, 0, ?, ?)",
                    (*row, unread, result_limit),
                )
            except sqlite3.IntegrityError as exc:
                raise missing(conversation_id) from exc
            assert added.lastrowid is not None
            return added.lastrowid

        return await self._database.write(work)

    async def measure(self, id: int, before: int, after: int) -> None:
        """Record the tokens of the context before and after a summary."""
        sql = "UPDATE summaries SET tokens_before = ?, tokens_after = ? WHERE id = ?"
        await self._database.write(lambda connection: connection.execute(sql, (before, after, id)))

    async def edit(self, id: int, text: str) -> None:
        """Replace a summary's text by the user's words."""
        sql = "UPDATE summaries SET text = ?, edited = 1 WHERE id = ?"
        await self._database.write(lambda connection: connection.execute(sql, (to_column(text), id)))

    async def _select(self, conversation_id: str, order: str) -> list[Summary]:
        sql = f"SELECT id, {COLUMNS} FROM summaries WHERE conversation_id = ? ORDER BY id {order}"
        key = to_column(conversation_id)
        rows = await self._database.read(lambda connection: connection.execute(sql, (key,)).fetchall())
        return [
            Summary(id, through, from_column(text), from_column(model), created, bool(edited), *figures)
            for id, through, text, model, created, edited, *figures in rows
        ]


def copy(connection: sqlite3.Connection, id: str, fork: str, at: int, new: Mapping[int, int]) -> None:
    """Copy the summaries of the conversation `id` to `fork`, of events up to the one numbered `at`. `new`
    are the numbers of its events in the fork."""
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM summaries WHERE conversation_id = ? AND through <= ? ORDER BY id",
        (to_column(id), at),
    ).fetchall()
    connection.executemany(
        f"INSERT INTO summaries (conversation_id, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (to_column(fork), new.get(through, 0), *rest, new.get(unread, 0), result_limit)
            for through, *rest, unread, result_limit in rows
        ],
    )
