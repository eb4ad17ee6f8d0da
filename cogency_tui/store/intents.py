"""Intents: the changes that a process is about to make in a project, on the disk before it makes them.

Invariant: an intent exists from before the first change of a call until its edits are recorded, and is
removed in the transaction that records them. An intent whose process has ended was interrupted, and is
settled: its changes become edits, and its call gets its result, once, however many processes find it.
"""

import json
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cogency_tui.process_identity import own_start, start_of
from cogency_tui.protocol.events import ResultEvent
from cogency_tui.store import edits, events, streaming_units
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.database import Database
from cogency_tui.store.edit_records import Edit, FileChange, Origin, Undone, Version
from cogency_tui.store.edits import Also

_TEXTS = ("root", "conversation", "caller", "project", "call", "tool", "started", "shadow", "files", "beside")
_COLUMNS = (
    *("id", "root", "conversation", "caller", "turn", "project", "call", "tool"),
    *("pid", "started", "began", "ended", "last", "files", "shadow", "position", "beside", "covers"),
)
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM intents"
_INSERT = (
    f"INSERT INTO intents ({', '.join(_COLUMNS[1:])}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL,"
    " coalesce(?, (SELECT max(id) FROM edits), 0), ?, ?, ?, ?, ?)"
)
_END = "UPDATE intents SET ended = ? WHERE id = ?"
_DELETE = "DELETE FROM intents WHERE id = ?"
_MOVE = "UPDATE intents SET shadow = ?, position = ?, last = ?, beside = ? WHERE id = ?"
_EVENT = "SELECT 1 FROM events WHERE conversation_id = ? AND unit = ? AND type = ?"


@dataclass(frozen=True, slots=True)
class Beside:
    """Calls and edits that were concurrent with a snapshot of a project: `calls` (conversation and call)
    that had begun, and the calls of edits recorded up to the number `last`.

    Their changes say nothing about the state at the snapshot.
    """

    calls: frozenset[tuple[str, str]] = frozenset()
    last: int = 0

    def made(self, edit: Edit) -> bool:
        """Return whether one of them made an edit."""
        return 0 < edit.id <= self.last or (edit.origin.caller, edit.call) in self.calls


@dataclass(frozen=True, slots=True)
class Shadow:
    """The snapshot of a project before a command: the file of this name, up to the byte `position`.

    `last` is the number of the last edit before the snapshot, None without one; `beside` are the calls that
    were concurrent with it.
    """

    name: str = ""
    position: int = 0
    last: int | None = None
    beside: Beside = field(default_factory=Beside)


@dataclass(frozen=True, slots=True)
class Intent:
    """The changes that a call is about to make below the directory `root`: `changes` are planned; a command
    has a `shadow` instead.

    `began` and `ended` are in Unix seconds; `ended` is None while a command is awaited, or changes are not
    recorded. `last` is the number of the last edit when the call began, or before the snapshot of a
    command. `covers` are the files and directories that the user was asked about; None where all may be
    changed.
    """

    id: int
    root: str
    origin: Origin
    call: str
    tool: str
    pid: int
    started: str
    began: float
    ended: float | None
    last: int
    changes: tuple[FileChange, ...]
    shadow: Shadow
    covers: tuple[Path, ...] | None = None

    @property
    def is_own(self) -> bool:
        """True if it belongs to this process."""
        return self.pid == os.getpid() and self.started == own_start(self.pid)

    @property
    def is_live(self) -> bool:
        """True if its process runs."""
        return start_of(self.pid) == self.started


Claim = Callable[[Sequence[Edit], Sequence[Intent]], Iterable[FileChange]]
"""Selects the changes that are in neither the edits nor the intents of others."""


class Intents:
    """The intents in the user's database. All methods raise `StoreError`."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    async def begin(
        self,
        root: str,
        origin: Origin,
        call: str,
        tool: str,
        changes: Iterable[FileChange] = (),
        shadow: Shadow | None = None,
        covers: Collection[Path] | None = None,
    ) -> int:
        """Record the intent of a call, synced to the disk; return its number."""
        pid, shadow = os.getpid(), shadow or Shadow()
        files = json.dumps([asdict(change) for change in changes], separators=(",", ":"))
        row = [
            *(root, origin.conversation, origin.caller, origin.turn, origin.project, call, tool),
            *(pid, own_start(pid), self._clock(), shadow.last, files, shadow.name, shadow.position),
            *(_encoded_calls(shadow.beside), None if covers is None else json.dumps([*map(str, covers)])),
        ]
        bound = [to_column(value) if isinstance(value, str) else value for value in row]

        def work(connection: sqlite3.Connection) -> int:
            id = connection.execute(_INSERT, bound).lastrowid
            assert id is not None
            return id

        return await self._database.write(work, durable=True)

    async def end(self, id: int) -> None:
        """Record that a command is no longer awaited."""
        row = (self._clock(), id)
        await self._database.write(lambda connection: connection.execute(_END, row))

    async def move(self, id: int, shadow: Shadow) -> None:
        """Replace the snapshot of a command that continues."""
        row = (
            to_column(shadow.name),
            shadow.position,
            shadow.last or 0,
            to_column(_encoded_calls(shadow.beside)),
            id,
        )
        await self._database.write(lambda connection: connection.execute(_MOVE, row), durable=True)

    async def drop(self, id: int) -> None:
        """Remove an intent that came to nothing, or whose edits are recorded."""
        await self._database.write(lambda connection: connection.execute(_DELETE, (id,)))

    async def below(self, root: str) -> list[Intent]:
        """Return the intents in the directory `root`, by any process, the oldest first."""
        return await self._database.read(lambda connection: _below(connection, root))

    async def since(self, root: str, project: str, last: int) -> tuple[list[Edit], list[Intent]]:
        """Return the edits in `project` after that of the number `last`, and the intents in `root`, by any
        process, at one moment: a change is in one of the two."""

        def work(connection: sqlite3.Connection) -> tuple[list[Edit], list[Intent]]:
            # One transaction: between two, an intent could become edits.
            connection.execute("BEGIN")
            try:
                return edits.since(connection, project, last), _below(connection, root)
            finally:
                connection.execute("COMMIT")

        return await self._database.read(work)

    async def roots(self) -> list[str]:
        """Return the directories with intents to settle, or changes to revert."""
        sql = "SELECT root FROM intents UNION SELECT root FROM unagreed_edits"
        rows: list[tuple[str | bytes]] = await self._database.read(
            lambda connection: connection.execute(sql).fetchall()
        )
        return [from_column(root) for (root,) in rows]

    async def record(
        self,
        root: str,
        last: int,
        source: tuple[Origin, str, str],
        claim: Claim,
        also: Also | None = None,
    ) -> list[Edit]:
        """Record the changes of a command, with its origin, call and tool as `source`: those that `claim`
        selects, given the edits after the number `last` and the intents in `root` at the moment of
        recording. No other process records them meanwhile. `also` runs as in `Edits.add`."""
        origin, call, tool = source

        def work(connection: sqlite3.Connection) -> list[Edit]:
            changes = claim(edits.since(connection, origin.project, last), _below(connection, root))
            made = edits.insert(connection, origin, call, tool, changes, self._clock())
            if also is not None:
                also(connection, made)
            return made

        return await self._database.write(work, durable=True)

    async def shadows(self) -> set[str]:
        """Return the names of the snapshot files of intents and of changes to revert."""
        sql = "SELECT shadow FROM intents WHERE shadow != '' UNION SELECT shadow FROM unagreed_edits"
        rows: list[tuple[str]] = await self._database.read(
            lambda connection: connection.execute(sql).fetchall()
        )
        return {name for (name,) in rows}

    async def referenced(self) -> set[str]:
        """Return the digests of the contents of planned changes, which a clean-up must leave."""
        rows: list[tuple[str | bytes]] = await self._database.read(
            lambda connection: connection.execute("SELECT files FROM intents").fetchall()
        )
        changes = [change for (files,) in rows for change in _changes(from_column(files))]
        return {side.digest for each in changes for side in (each.before, each.after) if side.digest}

    async def unagreed(self, root: str) -> dict[str, set[int]]:
        """Return the edits in the directory `root` that are to be reverted, by conversation."""
        sql = "SELECT conversation, id FROM unagreed_edits JOIN edits ON edits.id = edit WHERE root = ?"
        rows: list[tuple[str | bytes, int]] = await self._database.read(
            lambda connection: connection.execute(sql, (to_column(root),)).fetchall()
        )
        found: dict[str, set[int]] = {}
        for conversation, id in rows:
            found.setdefault(from_column(conversation), set()).add(id)
        return found

    async def drop_unagreed(self, ids: Iterable[int]) -> None:
        """Remove edits that were reverted, or that the user knows cannot be."""
        rows = [(id,) for id in ids]
        await self._database.write(
            lambda connection: connection.executemany("DELETE FROM unagreed_edits WHERE edit = ?", rows),
            durable=True,
        )

    async def tool_of(self, intent: Intent) -> str:
        """Return the name of the tool whose call an intent is for: that of a hook has another name."""

        def read(connection: sqlite3.Connection) -> str:
            row = connection.execute(
                "SELECT body FROM events WHERE conversation_id = ? AND unit = ? AND type = 'call'",
                (to_column(intent.origin.caller), to_column(intent.call)),
            ).fetchone()
            with suppress(ValueError, TypeError, KeyError, RecursionError):
                event: Any = events.decode("call", row[0])
                return str(json.loads(event["content"])["name"])
            return intent.tool

        return await self._database.read(read)

    async def settle(
        self, intent: Intent, changes: Sequence[FileChange], answer: ResultEvent | None, also: Also
    ) -> list[Edit] | None:
        """Record the changes of an interrupted call, and `answer` as its result if it has none; run `also`
        before the commit. None where another process has done so. Without an `answer` the call was not
        interrupted: recording it failed."""

        def work(connection: sqlite3.Connection) -> list[Edit] | None:
            if not connection.execute(_DELETE, (intent.id,)).rowcount:
                return None
            made = edits.insert(
                *(connection, intent.origin, intent.call, intent.tool, changes, self._clock()),
                interrupted=answer is not None,
            )
            also(connection, made)
            if answer is None:
                return made
            caller = intent.origin.caller
            if _has(connection, caller, intent.call, "call") and not _has(
                connection, caller, intent.call, "result"
            ):
                streaming_units.seal(connection, caller)
                events.append(connection, caller, answer)
            return made

        return await self._database.write(work, durable=True)


def dropping(id: int) -> Also:
    """Return a function that removes an intent in the transaction that records its edits."""
    return lambda connection, _made: connection.execute(_DELETE, (id,))


def ending(id: int, also: Also | None) -> Also:
    """As `dropping`, but the intent stays until the contents that its act set aside are removed; and run
    `also`."""

    def work(connection: sqlite3.Connection, made: list[Edit]) -> None:
        connection.execute(_END, (time.time(), id))
        if also is not None:
            also(connection, made)

    return work


def _has(connection: sqlite3.Connection, conversation: str, unit: str, kind: str) -> bool:
    row = (to_column(conversation), to_column(unit), kind)
    return connection.execute(_EVENT, row).fetchone() is not None


def _below(connection: sqlite3.Connection, root: str) -> list[Intent]:
    rows = connection.execute(f"{_SELECT} WHERE root = ? ORDER BY id", (to_column(root),))
    return [_intent(row) for row in rows]


def add_unagreed(connection: sqlite3.Connection, intent: Intent, ids: Iterable[int]) -> None:
    """Record that the user has not agreed to edits of an interrupted command."""
    bound = to_column(intent.root), to_column(intent.shadow.name)
    connection.executemany("INSERT INTO unagreed_edits VALUES (?, ?, ?)", [(id, *bound) for id in ids])


def _intent(row: tuple[Any, ...]) -> Intent:
    row_of: dict[str, Any] = dict(zip(_COLUMNS, row, strict=True))
    row_of |= {name: from_column(row_of[name]) for name in _TEXTS}
    return Intent(
        row_of["id"],
        row_of["root"],
        Origin(row_of["conversation"], row_of["caller"], row_of["turn"], row_of["project"]),
        row_of["call"],
        row_of["tool"],
        row_of["pid"],
        row_of["started"],
        row_of["began"],
        row_of["ended"],
        row_of["last"],
        _changes(row_of["files"]),
        Shadow(row_of["shadow"], row_of["position"], row_of["last"], _decoded_calls(row_of["beside"])),
        None if row_of["covers"] is None else tuple(map(Path, json.loads(row_of["covers"]))),
    )


def _encoded_calls(beside: Beside) -> str:
    return json.dumps([beside.last, *sorted(beside.calls)], separators=(",", ":"))


def _decoded_calls(text: str) -> Beside:
    """Decode concurrent calls; none in a value of an older program."""
    last, *calls = json.loads(text or "[0]")
    return Beside(frozenset((caller, call) for caller, call in calls), last)


def _changes(files: str) -> tuple[FileChange, ...]:
    return tuple(
        FileChange(
            each["path"],
            Version(**each["before"]),
            Version(**each["after"]),
            each["old_path"],
            each["made"],
            tuple(Undone(**undone) for undone in each["undoes"]),
        )
        for each in json.loads(files)
    )
