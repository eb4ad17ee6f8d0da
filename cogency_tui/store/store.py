"""The store of the user's conversations.

An awaited write is committed: it survives a killed process. Events are only appended; a conversation's row
(title, turns, tokens, cost) is updated in the same transaction.
"""

import asyncio
import base64
import re
import secrets
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cogency_tui.errors import UsageError
from cogency_tui.protocol.events import Diagnostic, Event, Measure, PlannedStep
from cogency_tui.store import events, streaming_units, usage
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.copies import copies_in
from cogency_tui.store.database import FILE, Database, companions, size_of
from cogency_tui.store.project_scope import main_project, of_project
from cogency_tui.store.usage import Spent

COLUMNS = (
    "id, project, title, dialect, provider, model, created, updated, turns, tokens, cost, parent, call,"
    " branch, renamed, trashed, forked_at, imported, effort, model_chosen, source, original"
)
"""Columns for `conversation_of`."""

_FLAGS = [COLUMNS.split(", ").index(name) for name in ("renamed", "imported", "model_chosen")]
_NUMBERS = ("created", "updated", "turns", "tokens", "cost", "renamed", "imported", "model_chosen")
_OPTIONAL = ("parent", "call", "trashed", "forked_at")
_SELECT = f"SELECT {COLUMNS} FROM conversations"
_NEW = (
    "{path} was missing or empty, and a new one was created, but there is a copy of your history, {copy}: "
    "`cogency-tui doctor --repair` restores it."
)
_NEWEST_FIRST = "ORDER BY updated DESC, id DESC"
_CANDIDATES = 5
_ID = re.compile("[0-9a-v]{16}")


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A conversation without its events.

    `created` and `updated` are in Unix seconds; `tokens` are those sent and generated so far; `cost` is in
    USD, where providers report it. `parent` is the conversation that it was forked from at the parent's
    event `forked_at`, or the one whose `call` started it as a sub-agent's. `branch` is that of the
    repository at the beginning. `renamed` marks a title of the user's own. `trashed` is the time of its
    move to the trash. `imported` marks a conversation that came from a file, or was forked from one that
    did. `effort` is the reasoning effort that the user chose in it, empty if none; `model_chosen` marks a
    `model` of the user's choice. `source` is the agent that it was imported from, or `@` and the origin of
    another machine or person (see `origins`), and `original` its id there; both are empty for one of ours,
    and for a fork.
    """

    id: str
    project: str
    title: str
    dialect: str
    provider: str
    model: str
    created: float
    updated: float
    turns: int
    tokens: int
    cost: float
    parent: str | None
    call: str | None = None
    branch: str = ""
    renamed: bool = False
    trashed: float | None = None
    forked_at: int | None = None
    imported: bool = False
    effort: str = ""
    model_chosen: bool = False
    source: str = ""
    original: str = ""

    @property
    def forked_after(self) -> int | None:
        """The last turn of a fork that has not been continued yet; None for any other conversation."""
        is_fork = self.parent is not None and self.call is None
        return self.turns if is_fork and self.updated == self.created else None


def unix_time() -> float:
    """Return the time in Unix seconds; 0 before 1970, as no export has a negative one."""
    return max(time.time(), 0.0)


def new_conversation_id() -> str:
    """Create an id of sixteen lower-case letters and digits that sorts by time: 45 bits of milliseconds since
    1970, 35 random."""
    number = int(unix_time() * 1000) << 35 | secrets.randbits(35)
    return base64.b32hexencode(number.to_bytes(10, "big")).decode().lower()


def is_conversation_id(id: str) -> bool:
    """Return whether an id has the form of `new_conversation_id`."""
    return _ID.fullmatch(id) is not None


class Store:
    """Conversations, their events, drafts and usage, in the user's data directory.

    `database` serves the other modules of the store; `notices` report data that could not be used.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.notices = database.notices
        self._reported = 0
        self._totals: dict[str, usage.Total] = {}

    def new_notices(self) -> list[str]:
        """Return the notices that this method has not returned before."""
        notices = self.notices[self._reported :]
        self._reported = len(self.notices)
        return notices

    async def report(self, show: Callable[[str], object]) -> None:
        """Show the user pending notices, and acknowledge them."""
        for notice in self.new_notices():
            show(notice)
        await self.acknowledge()

    async def acknowledge(self) -> None:
        """Acknowledge the notices of `new_notices`: the user has seen them."""
        if self._reported:
            await self.database.acknowledge(self.notices[: self._reported])

    @classmethod
    async def open(cls, directory: Path, *, patience: float = 5.0) -> Self:
        """Open or create the store in `directory`; `patience` is the time in seconds to wait for other
        processes' locks.

        Raises:
            StoreError: it cannot be used (as in all methods, when the file or the disk fails).
        """
        copies = await asyncio.to_thread(_copies_without_store, directory)
        database = await Database.open(directory, patience=patience)
        if copies:
            database.notify(_NEW.format(path=database.path, copy=copies[0]))
        return cls(database)

    @classmethod
    async def open_to_read(cls, directory: Path, *, patience: float = 5.0) -> Self:
        """Open the store in `directory` to read it alone, as `Database.open_to_read`.

        Raises:
            StoreError: there is none, it cannot be read, or another version of the program made it.
        """
        return cls(await Database.open_to_read(directory, patience=patience))

    async def close(self) -> None:
        """End the store's thread. Repeated calls are allowed."""
        await self.database.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def create_conversation(
        self,
        project: str,
        *,
        dialect: str,
        provider: str,
        model: str,
        id: str | None = None,
        parent: str | None = None,
        call: str | None = None,
        branch: str = "",
        effort: str = "",
        model_chosen: bool = False,
    ) -> StoredConversation:
        """Begin a conversation in the directory `project`; with `call`, as the work of that call of
        `parent`.

        Raises:
            UsageError: the `id` is taken.
        """
        now = unix_time()
        id = id or new_conversation_id()
        conversation = StoredConversation(
            *(id, project, "", dialect, provider, model, now, now, 0, 0, 0.0, parent, call, branch),
            effort=effort,
            model_chosen=model_chosen,
        )
        if not await self.database.write(partial(insert, conversation)):
            raise UsageError(f"Conversation {conversation.id!r} already exists.", "Choose another id.")
        return conversation

    async def conversation(self, id: str) -> StoredConversation | None:
        """Return the conversation of exactly this id."""
        found = await self._select("WHERE id = ?", to_column(id))
        return found[0] if found else None

    async def resolve(self, prefix: str) -> StoredConversation:
        """Return the one conversation whose id is `prefix`, or begins with it.

        Raises:
            UsageError: there is none, or there are several; then the message lists them.
        """
        if exact := await self.conversation(prefix):
            return exact
        end = to_column(prefix + "\U0010ffff")
        where = f"WHERE id >= ? AND id < ? {_NEWEST_FIRST} LIMIT ?"
        found = await self._select(where, to_column(prefix), end, _CANDIDATES + 1)
        if not found:
            raise UsageError(f"No conversation begins with {prefix!r}.", "List them to see their ids.")
        if len(found) > 1:
            shown = [f"{each.id} ({each.title or 'untitled'})" for each in found[:_CANDIDATES]]
            more = ["and more"] if len(found) > _CANDIDATES else []
            message = f"Several conversations begin with {prefix!r}: {', '.join(shown + more)}."
            raise UsageError(message, "Use more characters of the ID.")
        return found[0]

    async def conversations(
        self, project: str | None = None, *, limit: int, before: StoredConversation | None = None
    ) -> list[StoredConversation]:
        """Return at most `limit` conversations, the last updated first; `before` is the last of the page
        above.

        Those of sub-agents are left out, as everywhere but in `delegated`, and those in the trash.
        """

        def work(connection: sqlite3.Connection) -> list[StoredConversation]:
            terms, values = self._in_project(connection, project)
            if before is not None:
                terms.append("(updated, id) < (?, ?)")
                values += [before.updated, to_column(before.id)]
            sql = f"{_SELECT} WHERE {' AND '.join(terms)} {_NEWEST_FIRST} LIMIT ?"
            return [conversation_of(row) for row in connection.execute(sql, [*values, limit])]

        return await self.database.read(work)

    async def latest(self, project: str) -> StoredConversation | None:
        """Return the user's last updated conversation in `project` and its worktrees, and none of another
        agent, machine or person, whose next turn may come at any time."""

        def work(connection: sqlite3.Connection) -> StoredConversation | None:
            terms, values = self._in_project(connection, project)
            sql = f"{_SELECT} WHERE source = '' AND {' AND '.join(terms)} {_NEWEST_FIRST} LIMIT 1"
            row = connection.execute(sql, values).fetchone()
            return None if row is None else conversation_of(row)

        return await self.database.read(work)

    async def count(self, project: str | None = None) -> int:
        """Count the conversations."""

        def work(connection: sqlite3.Connection) -> int:
            terms, values = self._in_project(connection, project)
            sql = f"SELECT count(*) FROM conversations WHERE {' AND '.join(terms)}"
            return connection.execute(sql, values).fetchone()[0]

        return await self.database.read(work)

    def _in_project(
        self, connection: sqlite3.Connection, project: str | None
    ) -> tuple[list[str], list[object]]:
        """The conditions on listed conversations, of a project if one is given, and their values."""
        terms, values = ["call IS NULL", "trashed IS NULL"], list[object]()
        if project is not None:
            term, values = of_project(connection, self.database.path.parent, project)
            terms.append(term)
        return terms, values

    async def main_project(self, project: str) -> str:
        """Return the main project of a worktree, as far as it is known; of any other directory, itself."""
        data = self.database.path.parent
        return await self.database.read(lambda connection: main_project(connection, data, project))

    async def delegated(self, parent: str) -> list[StoredConversation]:
        """Return the conversations of the sub-agents that calls of `parent` started, oldest first."""
        where = "WHERE parent = ? AND call IS NOT NULL ORDER BY created, id"
        return await self._select(where, to_column(parent))

    async def rename(self, id: str, title: str) -> None:
        """Give a conversation a title of the user's; after an empty one, the next message sets it."""
        await self._update(id, "title = ?, renamed = ?", to_column(title), bool(title))

    async def name(self, id: str, title: str, *, instead_of: str) -> bool:
        """Title a conversation that still has the title `instead_of`; return False where the user or a later
        message has given it another."""
        sql = "UPDATE conversations SET title = ? WHERE id = ? AND title = ? AND NOT renamed"
        values = (to_column(title), to_column(id), to_column(instead_of))
        return await self.database.write(lambda connection: connection.execute(sql, values).rowcount == 1)

    async def set_settings(
        self,
        id: str,
        *,
        dialect: str | None = None,
        provider: str | None = None,
        model: str | None = None,
        effort: str | None = None,
        model_chosen: bool | None = None,
    ) -> None:
        """Record the settings for the next turns; None leaves a setting unchanged."""
        values = {
            "dialect": dialect,
            "provider": provider,
            "model": model,
            "effort": effort,
            "model_chosen": model_chosen,
        }
        assignments = ", ".join(f"{name} = coalesce(?, {name})" for name in values)
        await self._update(id, assignments, *values.values())

    async def append(self, conversation_id: str, event: Event) -> int:
        """Append a complete event, and remove its drafts; return its number, which grows over all
        conversations.

        Raises:
            ValueError: an event that is not stored (`PERSISTED`), or a partial one.
            StoreError: there is no such conversation.
        """
        events.check_persisted(event)
        return await self.database.write(partial(_append, conversation_id, event))

    async def events(self, conversation_id: str) -> list[Event]:
        """Return all events in order. Rows that cannot be read are left out, and reported once in
        `notices`."""
        return [event for _number, event in await self.numbered_events(conversation_id)]

    async def numbered_events(self, conversation_id: str, after: int = 0) -> list[tuple[int, Event]]:
        """Return the events with their numbers, those up to the number `after` left out."""
        return [each async for page in self.event_pages(conversation_id, after) for each in page]

    async def event_pages(
        self, conversation_id: str, after: int = 0
    ) -> AsyncGenerator[list[tuple[int, Event]]]:
        """Yield numbered events in pages, so that a long conversation need not be in memory at once."""
        through: int | None = after
        while through is not None:
            read = partial(events.read_page, conversation_id=conversation_id, after=through)
            found, notices, through = await self.database.read(read)
            self.notices += [notice for notice in notices if notice not in self.notices]
            yield found

    async def image_digests(self) -> set[str]:
        """Return the digests of the images of all events, which a clean-up must leave."""
        images = await self.database.read(events.stored_images)
        return {image["digest"] for image in images}

    async def environments(self, conversation_id: str, through: int | None = None) -> list[str]:
        """Return the environment blocks of its messages, up to the event numbered `through`."""
        return await self.database.read(
            lambda connection: events.environments(connection, conversation_id, through)
        )

    async def diagnostics(self, conversation_id: str) -> dict[str, list[Diagnostic]]:
        """Return the problems that its edits brought, by the ids of the calls."""
        return await self.database.read(lambda connection: events.diagnostics(connection, conversation_id))

    async def messages(self, conversation_id: str, through: int) -> list[tuple[int, str]]:
        """Return what the user has written, up to the event numbered `through`, with the numbers of the
        events."""
        return await self.database.read(
            lambda connection: events.messages(connection, conversation_id, through)
        )

    async def last_messages(self, conversation_id: str, most: int) -> list[str]:
        """Return up to `most` messages of the user, the last one at the end."""
        return await self.database.read(
            lambda connection: events.last_messages(connection, conversation_id, most)
        )

    async def plan(self, conversation_id: str, through: int) -> list[PlannedStep]:
        """Return the model's plan after the event numbered `through`; empty without one."""
        return await self.database.read(lambda connection: events.plan(connection, conversation_id, through))

    async def unfinished_until(self, conversation_id: str) -> str:
        """Return the command that the last turns were to make succeed; empty if it did, or the user has
        written something else since."""
        return await self.database.read(
            lambda connection: events.unfinished_until(connection, conversation_id)
        )

    async def ends_cut_off(self, conversation_id: str) -> bool:
        """Return whether the last event is an answer during which the program ended."""
        return await self.database.read(lambda connection: events.ends_cut_off(connection, conversation_id))

    async def background(self, conversation_id: str) -> dict[str, bool]:
        """Return the background commands that the model knows of: the ids, and whether each runs."""
        return await self.database.read(lambda connection: events.background(connection, conversation_id))

    async def append_draft(
        self, conversation_id: str, unit_id: str, type: streaming_units.Unit, text: str
    ) -> None:
        """Checkpoint a unit that still streams: `text` is only what is new since the last checkpoint."""
        await self.database.write(
            lambda connection: streaming_units.append(connection, conversation_id, unit_id, type, text)
        )

    async def recover(self, conversation_id: str) -> list[Event]:
        """Complete the drafts of processes that have ended, as interrupted units; return these units."""
        return await self.database.write(lambda connection: streaming_units.seal(connection, conversation_id))

    async def record_usage(self, conversation_id: str, step: Measure) -> None:
        """Record the usage of one cycle."""
        await self.database.write(lambda connection: usage.record(connection, conversation_id, step))

    async def usage(self, conversation_id: str) -> Measure:
        """Return the conversation's usage so far: tokens, seconds and USD, where known."""
        before = self._totals.get(conversation_id, usage.NOTHING)
        total = await self.database.read(partial(usage.total, conversation_id=conversation_id, before=before))
        self._totals[conversation_id] = total
        return total.measure

    async def spent(self, moment: float, conversation_id: str | None = None) -> Spent:
        """Sum the spending since a time in Unix seconds, of a conversation with its sub-agents or of all."""
        return await self.database.read(lambda connection: usage.spent(connection, moment, conversation_id))

    async def _select(self, clauses: str, *values: object) -> list[StoredConversation]:
        return await self.database.read(
            lambda connection: [
                conversation_of(row) for row in connection.execute(f"{_SELECT} {clauses}", values)
            ]
        )

    async def _update(self, id: str, assignments: str, *values: object) -> None:
        sql = f"UPDATE conversations SET {assignments} WHERE id = ?"
        key = to_column(id)
        if not await self.database.write(lambda connection: connection.execute(sql, (*values, key)).rowcount):
            raise events.missing(id)


def _copies_without_store(directory: Path) -> list[Path]:
    """Return the copies of a store that is missing or empty, the newest first, without empty ones."""
    wal, _ = companions(path := directory / FILE)
    try:
        found = [] if size_of(path) or size_of(wal) else copies_in(directory)
        return [copy for copy in found if size_of(copy)]
    except OSError:
        # The opening names it.
        return []


def insert(conversation: StoredConversation, connection: sqlite3.Connection) -> bool:
    """Add a conversation's row; False where the id is taken."""
    values = [
        to_column(value) if isinstance(value, str) else value
        for value in (getattr(conversation, name) for name in COLUMNS.split(", "))
    ]
    marks = ", ".join("?" * len(values))
    sql = f"INSERT INTO conversations ({COLUMNS}) VALUES ({marks}) ON CONFLICT DO NOTHING"
    return connection.execute(sql, values).rowcount == 1


def _append(conversation_id: str, event: Event, connection: sqlite3.Connection) -> int:
    if event["type"] == "think" or event["type"] == "respond":
        streaming_units.complete(connection, conversation_id, event["id"])
    return events.append(connection, conversation_id, event)


def conversation_of(row: tuple[Any, ...]) -> StoredConversation:
    """Convert a row of `COLUMNS`."""
    values: list[Any] = [from_column(value) if isinstance(value, bytes) else value for value in row]
    for index, name in enumerate(COLUMNS.split(", ")):
        if values[index] is None and name not in _OPTIONAL:
            # Damage has left no value: the conversation's events are readable all the same.
            values[index] = 0 if name in _NUMBERS else ""
    for flag in _FLAGS:
        values[flag] = bool(values[flag])
    return StoredConversation(*values)
