"""Edits: every change of a file that a tool made, and the user's decisions about it.

Rows are added, never changed except for whether their contents are still stored; the number of an edit
grows with time, over all conversations. A decision about an edit or one of its hunks is a separate mark.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from cogency_tui.errors import UsageError
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.database import Database
from cogency_tui.store.edit_records import Edit, FileChange, Mark, Origin, State, Undone, Version
from cogency_tui.store.events import BEGINS_TURN, encode, missing
from cogency_tui.store.fork_lineage import FAMILY, history_of

_ORIGIN = ("conversation", "caller", "turn", "project")
_TEXTS = ("call", "tool", "path", "old_path", "made", "kind")
_VERSION = ("kind", "digest", "size", "mode", "kept")
COLUMNS = (
    *_ORIGIN,
    *_TEXTS,
    "timestamp",
    "undoes",
    *(f"{side}_{name}" for side in ("before", "after") for name in _VERSION),
)
"""Columns of an edit's row, without its number."""

_INTERRUPTED = "id IN (SELECT edit FROM interrupted_edits)"
_MERGED = "id IN (SELECT edit FROM merged_edits)"
_SHARED = "(SELECT group_concat(conversation, char(10)) FROM shared_edits WHERE edit = edits.id)"
_SELECT = f"SELECT id, {', '.join(COLUMNS)}, {_INTERRUPTED}, {_MERGED}, {_SHARED} FROM edits"
_INSERT = f"INSERT INTO edits ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
_PERSONS = """
    WITH RECURSIVE above (id, parent, call, turns, project) AS (
        SELECT id, parent, call, turns, project FROM conversations WHERE id = ?
        UNION ALL
        SELECT c.id, c.parent, c.call, c.turns, c.project
        FROM conversations c JOIN above ON c.id = above.parent WHERE above.call IS NOT NULL
    )
    SELECT id, turns, project FROM above WHERE call IS NULL
"""
"""Selects the user's conversation to which a sub-agent's belongs, at any depth."""

_MARK = "INSERT OR REPLACE INTO edit_marks (edit, hunk, state, note, timestamp) VALUES (?, ?, ?, ?, ?)"
_MARKS = f"""
    {FAMILY}
    SELECT edit, hunk, state, note, m.timestamp FROM edit_marks m JOIN edits e ON e.id = m.edit
    WHERE e.conversation IN (SELECT id FROM family) OR e.caller = ? ORDER BY m.timestamp, edit, hunk
"""
_BEGAN = f"SELECT timestamp FROM events WHERE conversation_id = ? AND {BEGINS_TURN} ORDER BY seq DESC LIMIT 1"
_REFERENCED = (
    "SELECT before_digest FROM edits WHERE before_kept UNION SELECT after_digest FROM edits WHERE after_kept"
)


Also = Callable[[sqlite3.Connection, list[Edit]], object]
"""Writes in the transaction that records edits."""


class Edits:
    """The edits in the user's database. All methods raise `StoreError`."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    async def origin(self, caller: str) -> Origin:
        """Return the origin of an edit that a call in the conversation `caller` makes now."""

        def work(connection: sqlite3.Connection) -> Origin:
            row = connection.execute(_PERSONS, (to_column(caller),)).fetchone()
            if row is None:
                raise missing(caller)
            return Origin(from_column(row[0]), caller, row[1], from_column(row[2]))

        return await self._database.read(work)

    async def add(
        self,
        origin: Origin,
        call: str,
        tool: str,
        changes: Iterable[FileChange],
        also: Also | None = None,
    ) -> list[Edit]:
        """Record the changes of a call, all or none; the edits that they revert are marked as reverted.

        Where a reverted edit was an undo, the edits that it had reverted become `new` again. `also` runs in
        the same transaction, with the recorded edits. The contents must be synced to the disk before.
        """
        changes = list(changes)

        def work(connection: sqlite3.Connection) -> list[Edit]:
            made = insert(connection, origin, call, tool, changes, self._clock())
            if also is not None:
                also(connection, made)
            return made

        return await self._database.write(work, durable=bool(changes))

    async def get(self, id: int) -> Edit:
        """Return the edit of this number.

        Raises:
            UsageError: there is none.
        """
        # Nor is there an edit with a number beyond SQLite's range.
        found = await self._select("WHERE id = ?", id) if 0 < id < 1 << 63 else []
        if not found:
            raise UsageError(f"Edit {id} not found.", "List their numbers with `cogency-tui edits list`.")
        return found[0]

    async def began(self, conversation: str) -> float | None:
        """Return when the last turn of a conversation began, in Unix seconds; None where there was none."""
        key = to_column(conversation)
        found = await self._database.read(lambda connection: connection.execute(_BEGAN, (key,)).fetchone())
        return found[0] if found else None

    async def of_conversation(
        self, conversation: str, *, turn: int | None = None, path: str | None = None
    ) -> list[Edit]:
        """Return the edits made in a conversation, including its sub-agents', the oldest first.

        For a sub-agent's conversation these are its own. `path` also matches the old path of a renaming.
        """
        key = to_column(conversation)
        terms, values = ["(conversation = ? OR caller = ?)"], list[object]([key, key])
        if turn is not None:
            terms.append("turn = ?")
            values.append(turn)
        _at_path(path, terms, values)
        return await self._select(f"WHERE {' AND '.join(terms)} ORDER BY id", *values)

    async def in_history(self, conversation: str) -> list[Edit]:
        """Return the edits of a conversation, those that it has from the one that it was forked from, and
        the reverts of all these in any fork, the oldest first."""
        return await self._database.read(lambda connection: history_of(connection, conversation, _selected))

    async def shared_with(self, conversation: str) -> list[Edit]:
        """Return the edits of other conversations that commands of this one may have made, the oldest
        first."""
        where = "WHERE id IN (SELECT edit FROM shared_edits WHERE conversation = ?) ORDER BY id"
        return await self._select(where, to_column(conversation))

    async def of_project(
        self, project: str, *, path: str | None = None, limit: int, before: int | None = None
    ) -> list[Edit]:
        """Return at most `limit` edits in the directory `project`, the latest first; `before` is the number
        of the last edit on the page above."""
        terms: list[str] = ["project = ?"]
        values: list[object] = [to_column(project)]
        _at_path(path, terms, values)
        if before is not None:
            terms.append("id < ?")
            values.append(before)
        return await self._select(f"WHERE {' AND '.join(terms)} ORDER BY id DESC LIMIT ?", *values, limit)

    async def since(self, project: str, id: int) -> list[Edit]:
        """Return the edits in `project` after that of this number, by any process, the oldest first."""
        return await self._database.read(lambda connection: since(connection, project, id))

    async def any_by(self, tools: Iterable[str], conversation: str, id: int) -> bool:
        """Return whether one of these tools made an edit in a conversation, or in a fork or the origin of
        it, after the edit of this number."""
        names = [to_column(tool) for tool in tools]
        made = f"SELECT 1 FROM edits WHERE {{}} AND tool IN ({', '.join('?' * len(names))}) AND id > ?"
        family = f"conversation IN ({FAMILY} SELECT id FROM family)"
        sql = f"{made.format(family)} UNION ALL {made.format('caller = ?')} LIMIT 1"
        values = [to_column(conversation), *names, id] * 2
        return await self._database.read(lambda connection: bool(connection.execute(sql, values).fetchone()))

    async def last(self) -> int:
        """Return the number of the last edit of all; 0 when there is none."""
        sql = "SELECT coalesce(max(id), 0) FROM edits"
        return (await self._database.read(lambda connection: connection.execute(sql).fetchone()))[0]

    async def note_merged(self, edits: Iterable[Edit]) -> None:
        """Mark edits that came with commits of a remote."""
        rows = [(edit.id,) for edit in edits]
        sql = "INSERT OR IGNORE INTO merged_edits VALUES (?)"
        await self._database.write(lambda connection: connection.executemany(sql, rows))

    async def marks(self, conversation: str) -> list[Mark]:
        """Return the decisions about the edits of a conversation and its forks, the earliest first."""
        key = to_column(conversation)
        return await self._database.read(
            lambda connection: [
                Mark(id, from_column(hunk), state, from_column(note), at)
                for id, hunk, state, note, at in connection.execute(_MARKS, (key, key))
            ]
        )

    async def referenced(self) -> set[str]:
        """Return the digests of all contents that edits refer to, which a clean-up must leave."""
        rows: list[tuple[str]] = await self._database.read(
            lambda connection: connection.execute(_REFERENCED).fetchall()
        )
        return {digest for (digest,) in rows}

    async def _select(self, clauses: str, *values: object) -> list[Edit]:
        return await self._database.read(lambda connection: _selected(connection, clauses, values))


def _selected(connection: sqlite3.Connection, clauses: str, values: tuple[object, ...]) -> list[Edit]:
    return [*_readable(connection.execute(f"{_SELECT} {clauses}", values))]


def since(connection: sqlite3.Connection, project: str, id: int) -> list[Edit]:
    """Return the edits of `Edits.since`."""
    return _selected(connection, "WHERE project = ? AND id > ? ORDER BY id", (to_column(project), id))


def insert(
    connection: sqlite3.Connection,
    origin: Origin,
    call: str,
    tool: str,
    changes: Iterable[FileChange],
    now: float,
    *,
    interrupted: bool = False,
) -> list[Edit]:
    """Record the changes of a call, as `Edits.add` does."""
    made = [_insert(connection, change, origin, call, tool, max(now, 0.0)) for change in changes]
    if interrupted:
        connection.executemany("INSERT INTO interrupted_edits VALUES (?)", [(edit.id,) for edit in made])
        made = [replace(edit, interrupted=True) for edit in made]
    return made


def _at_path(path: str | None, terms: list[str], values: list[Any]) -> None:
    if path is not None:
        terms.append("(path = ? OR old_path = ?)")
        values += [to_column(path)] * 2


def _insert(
    connection: sqlite3.Connection, change: FileChange, origin: Origin, call: str, tool: str, now: float
) -> Edit:
    undoes = encode([(undone.edit, undone.hunk) for undone in change.undoes])
    row = [
        *(origin.conversation, origin.caller, origin.turn, origin.project),
        *(call, tool, change.path, change.old_path, change.made, change.kind, now, undoes),
        *(getattr(version, name) for version in (change.before, change.after) for name in _VERSION),
    ]
    bound = [to_column(value) if isinstance(value, str) else value for value in row]
    id = connection.execute(_INSERT, bound).lastrowid
    assert id is not None
    reverted: State = "reverted"
    shared = [(id, to_column(conversation)) for conversation in change.shared_with]
    connection.executemany("INSERT INTO shared_edits VALUES (?, ?)", shared)
    decided = [(undone, reverted) for undone in change.undoes]
    while decided:
        undone, state = decided.pop()
        connection.execute(_MARK, (undone.edit, to_column(undone.hunk), state, "", now))
        other: State = "new" if state == reverted else reverted
        decided += [(each, other) for each in _undoes_of(connection, undone.edit) if each.edit < undone.edit]
    return Edit(
        *(change.path, change.before, change.after, change.old_path, change.made, change.undoes),
        *(change.shared_with, id, origin, call, tool, now),
    )


def _undoes_of(connection: sqlite3.Connection, id: int) -> tuple[Undone, ...]:
    row = connection.execute("SELECT undoes FROM edits WHERE id = ?", (id,)).fetchone()
    return _undone(row[0]) if row else ()


def _readable(rows: Iterable[tuple[Any, ...]]) -> Iterator[Edit]:
    """Yield the edits of rows; those that damage has left without a value, or with an invalid list, are
    left out."""
    for row in rows:
        if None not in row[:-1]:
            with suppress(ValueError, TypeError):
                yield _edit(row)


def _undone(column: str | bytes) -> tuple[Undone, ...]:
    return tuple(Undone(*pair) for pair in json.loads(from_column(column)))


def _edit(row: tuple[Any, ...]) -> Edit:
    values: list[Any] = [from_column(value) if isinstance(value, bytes) else value for value in row]
    field = dict(zip(("id", *COLUMNS, "interrupted", "is_merged", "shared_with"), values, strict=True))
    shared_with = tuple((field["shared_with"] or "").splitlines())
    return Edit(
        *(field["path"], _version("before", field), _version("after", field), field["old_path"]),
        *(field["made"], _undone(field["undoes"]), shared_with, field["id"]),
        Origin(*(field[name] for name in _ORIGIN)),
        *(field["call"], field["tool"], field["timestamp"], bool(field["interrupted"])),
        bool(field["is_merged"]),
    )


def _version(side: str, field: dict[str, Any]) -> Version:
    kind, digest, size, mode, kept = (field[f"{side}_{name}"] for name in _VERSION)
    # An undo sets permission bits only, whatever an import by an earlier version has stored here.
    return Version(kind, digest, size, mode & 0o777, bool(kept))
