"""What providers deliver beside the events of answers: opaque items of reasoning, and their own ids of calls.

An item belongs to an event, and to the model that wrote it: no other model is sent it. It is part of requests
alone, and of no export, search or view.
"""

import json
import sqlite3
from collections.abc import Sequence
from typing import cast

from cogency_tui.protocol.messages import AnswerItem, Place
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.database import Database
from cogency_tui.store.events import missing

_INSERT = (
    "INSERT INTO answer_items (conversation_id, unit, place, provider, model, body) VALUES (?, ?, ?, ?, ?, ?)"
)
_SELECT = (
    "SELECT id, unit, place, body FROM answer_items"
    " WHERE conversation_id = ? AND provider = ? AND model = ? AND id > ? ORDER BY id"
)
_COPY = (
    "INSERT INTO answer_items (conversation_id, unit, place, provider, model, body)"
    " SELECT ?1, unit, place, provider, model, body FROM answer_items WHERE conversation_id = ?2"
    " AND unit IN (SELECT unit FROM events WHERE conversation_id = ?1) ORDER BY id"
)


class StoredAnswerItems:
    """The items of all conversations. All methods raise `StoreError`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, conversation_id: str, provider: str, model: str, items: Sequence[AnswerItem]) -> None:
        """Store items of an answer of this model's."""
        key = to_column(conversation_id)
        rows = [
            (key, to_column(unit), place, to_column(provider), to_column(model), to_column(json.dumps(item)))
            for unit, place, item in items
        ]

        def work(connection: sqlite3.Connection) -> None:
            try:
                connection.executemany(_INSERT, rows)
            except sqlite3.IntegrityError as exc:
                raise missing(conversation_id) from exc

        await self._database.write(work)

    async def of(
        self, conversation_id: str, provider: str, model: str, after: int = 0
    ) -> list[tuple[int, AnswerItem]]:
        """Return the items of this model's, those numbered above `after`, with their numbers."""
        values = (to_column(conversation_id), to_column(provider), to_column(model), after)
        return await self._database.read(lambda connection: _read(connection, values))


def _read(connection: sqlite3.Connection, values: tuple[object, ...]) -> list[tuple[int, AnswerItem]]:
    return [
        (id, AnswerItem(from_column(unit), cast("Place", place), json.loads(from_column(body))))
        for id, unit, place, body in connection.execute(_SELECT, values)
    ]


def copy(connection: sqlite3.Connection, id: str, fork: str) -> None:
    """Copy the items of the events that `fork` has of the conversation `id`."""
    connection.execute(_COPY, (to_column(fork), to_column(id)))
