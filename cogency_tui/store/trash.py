"""The trash: conversations that lists and searches leave out. Nothing in it is deleted automatically."""

import time

from cogency_tui.store.column_text import to_column
from cogency_tui.store.database import Database
from cogency_tui.store.events import missing
from cogency_tui.store.store import COLUMNS, StoredConversation, conversation_of

_LISTED = f"SELECT {COLUMNS} FROM conversations WHERE trashed IS NOT NULL"


class Trash:
    """Moves conversations to the trash and back. All methods raise `StoreError`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def move(self, id: str) -> None:
        """Move a conversation to the trash; one that is there keeps its time."""
        await self._set(id, "trashed = coalesce(trashed, ?)", time.time())

    async def restore(self, id: str) -> None:
        """Restore a conversation, if it is in the trash."""
        await self._set(id, "trashed = ?", None)

    async def restore_if_trashed(self, id: str) -> bool:
        """Restore a conversation if it is in the trash, and return whether it was."""
        sql = "UPDATE conversations SET trashed = NULL WHERE id = ? AND trashed IS NOT NULL"
        key = to_column(id)
        return await self._database.write(lambda connection: connection.execute(sql, (key,)).rowcount == 1)

    async def listed(
        self, *, limit: int, before: StoredConversation | None = None
    ) -> list[StoredConversation]:
        """Return at most `limit` conversations in the trash, the last moved first; `before` is the last of
        the page above."""
        terms = "" if before is None else " AND (trashed, id) < (?, ?)"
        values = () if before is None else (before.trashed, to_column(before.id))
        sql = f"{_LISTED}{terms} ORDER BY trashed DESC, id DESC LIMIT ?"
        return await self._database.read(
            lambda connection: [conversation_of(row) for row in connection.execute(sql, (*values, limit))]
        )

    async def _set(self, id: str, assignment: str, value: float | None) -> None:
        sql = f"UPDATE conversations SET {assignment} WHERE id = ?"
        key = to_column(id)
        changed = await self._database.write(
            lambda connection: connection.execute(sql, (value, key)).rowcount
        )
        if not changed:
            raise missing(id)
