"""Summaries, which replace the older part of a conversation in the model's context.

The events themselves do not change; each summary names the last event that it covers. Only the latest
summary is in effect; earlier ones stay stored.
"""

import sqlite3
import time
from dataclasses import dataclass

from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.database import Database
from cogency_tui.store.events import missing


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of all events up to the one numbered `through`, by `model` or edited by the user."""

    id: int
    through: int
    text: str
    model: str
    created: float
    edited: bool


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

    async def add(self, conversation_id: str, through: int, text: str, model: str) -> None:
        """Add `text` as the summary of the events up to the one numbered `through`."""
        row = (to_column(conversation_id), through, to_column(text), to_column(model), time.time())

        def work(connection: sqlite3.Connection) -> None:
            try:
                connection.execute(
                    "INSERT INTO summaries (conversation_id, through, text, model, created, edited)"
                    " VALUES (?, ?, ?, ?, ?, 0)",
                    row,
                )
            except sqlite3.IntegrityError as exc:
                raise missing(conversation_id) from exc

        await self._database.write(work)

    async def edit(self, id: int, text: str) -> None:
        """Replace a summary's text by the user's words."""
        sql = "UPDATE summaries SET text = ?, edited = 1 WHERE id = ?"
        await self._database.write(lambda connection: connection.execute(sql, (to_column(text), id)))

    async def _select(self, conversation_id: str, order: str) -> list[Summary]:
        sql = (
            "SELECT id, through, text, model, created, edited FROM summaries"
            f" WHERE conversation_id = ? ORDER BY id {order}"
        )
        key = to_column(conversation_id)
        rows = await self._database.read(lambda connection: connection.execute(sql, (key,)).fetchall())
        return [
            Summary(id, through, from_column(text), from_column(model), created, bool(edited))
            for id, through, text, model, created, edited in rows
        ]
