"""Pushing: what is new of the user's own shared conversations, an increment a transaction.

Invariant: a position is stored after the server has committed what is before it. What is sent again, because
an answer or a process was lost, is there already, and changes nothing. Pushes of a user follow each other,
so that a late one cannot overwrite a newer row.
"""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from cogency_tui.config.schema import HistorySettings
from cogency_tui.errors import HistoryServerError
from cogency_tui.file_lock import file_lock
from cogency_tui.store import origins
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.database import FILE, open_to_read
from cogency_tui.store.increments import outgoing, own_conversations
from cogency_tui.store.origins import Origin
from cogency_tui.store.search.index_file import BLOBS
from cogency_tui.team import copied_store, forks
from cogency_tui.team.address import Address, address_of
from cogency_tui.team.connection import PATIENCE, Connection, check_version, connected, words_of
from cogency_tui.team.forks import CopiedFrom
from cogency_tui.team.local_state import LocalState, Pushed, Refusal, Share, shared_projects
from cogency_tui.team.rows import Rows, folded, rows_of, storable

COLUMNS = (
    *("origin", "id", "parent", "call", "project", "share", "title", "turns", "cost", "updated", "trashed"),
    *("folded_title", "folded_model", "folded_directory", "folded_branch", "record", "position", "revision"),
    "changing",
)
_FIXED = 4
"""Columns of a conversation that are never updated: the first ones."""

_ADD = (
    f"INSERT INTO cogency.conversations ({', '.join(COLUMNS)})"
    f" VALUES ({', '.join(f'${number}' for number in range(1, len(COLUMNS) + 1))})"
)


def _update(names: Sequence[str]) -> str:
    """The statement that updates these columns of the conversation ($1, $2)."""
    values = ", ".join(f"{name} = ${number}" for number, name in enumerate(names, 3))
    return (
        f"UPDATE cogency.conversations SET {values}, changed = clock_timestamp()"
        " WHERE origin = $1 AND id = $2"
    )


def _insert(table: str, types: str) -> str:
    """The statement that inserts many rows of a conversation, given as an array a column."""
    given = ", ".join(f"${number}::{each}[]" for number, each in enumerate(types.split(), 3))
    return (
        f"INSERT INTO cogency.{table} SELECT $1, $2, given.* FROM unnest({given}) AS given (number, at)"
        " WHERE at >= (SELECT cogency.oldest()) ON CONFLICT DO NOTHING"
    )


_EVENTS = _insert("events", "bigint float8 text text bool text text text")
_EDITS = _insert("edits", "bigint float8 text text text text text text")
_USAGE = _insert("usage", "bigint float8 text text bigint bigint bigint float8 text")
_CONTENTS = (
    "INSERT INTO cogency.contents (digest, data) SELECT * FROM unnest($1::text[], $2::bytea[])"
    " ON CONFLICT DO NOTHING"
)
_USES = (
    "INSERT INTO cogency.content_uses (origin, conversation, digest)"
    " SELECT $1, $2, unnest($3::text[]) ON CONFLICT DO NOTHING"
)
_KNOWN = "SELECT id, revision FROM cogency.conversations WHERE origin = $1"
_SUM = "SELECT count(*), coalesce(sum(revision), 0)::bigint FROM cogency.conversations WHERE origin = $1"

_GROWING = (
    ("events", "seq", "conversation_id"),
    ("usage", "id", "conversation_id"),
    ("edits", "id", "caller"),
    ("summaries", "id", "conversation_id"),
    ("pins", "id", "conversation_id"),
    ("review_actions", "id", "conversation"),
)
"""Tables that grow: their numbers, and the conversations of their rows."""

_CHANGING = (
    "SELECT id, project, updated, turns, tokens, cost, title, trashed, model, effort, branch"
    " FROM conversations WHERE source = ''"
)
_CALLERS = "SELECT DISTINCT caller FROM edits WHERE conversation = ?"
_REACHED = (
    "SELECT (SELECT max(seq) FROM events WHERE conversation_id = ?1),"
    " (SELECT max(id) FROM usage WHERE conversation_id = ?1), (SELECT max(id) FROM edits WHERE caller = ?1)"
)

_NONE: Mapping[str, str] = {}
_PUSH_LOCK = "team-push.lock"

_REINDEXED = 500
"""Rows that are indexed anew in a statement."""

_LONGER = 4
"""How much longer than others the statements of a push may take: an increment has up to 16 MB."""


class Shared(NamedTuple):
    """A conversation that is to be pushed, and how it is shared; `above` is the one whose call started it."""

    id: str
    share: Share
    above: str


class Seen(NamedTuple):
    """What of the store was seen: the last numbers of its tables, and the rows of our conversations."""

    numbers: tuple[int, ...]
    rows: Mapping[str, tuple[object, ...]]


@dataclass(slots=True)
class Report:
    """What a push has done: conversations and rows that were sent, and the failures of single ones. `copied`
    is set if the store was found to be a copy of another one, and got a new origin; `ceded` counts the
    conversations that belong to the other one since. `refusals` are by project."""

    conversations: set[str] = field(default_factory=set[str])
    events: int = 0
    withdrawn: int = 0
    copied: bool = False
    ceded: int = 0
    failures: dict[str, str] = field(default_factory=dict[str, str])
    refusals: dict[str, Refusal] = field(default_factory=dict[str, Refusal])

    def refuse(self, one: "Shared", words: str) -> None:
        """Note that a conversation is not accepted."""
        self.failures[one.id] = words
        before = self.refusals.get(one.share.project, Refusal(words, is_whole=False))
        self.refusals[one.share.project] = before._replace(waiting=before.waiting + 1)


class LocalStore:
    """The user's store, read beside the program that writes it, on a connection of its own; its increments
    are without the values of `secrets`."""

    def __init__(self, data: Path, secrets: Mapping[str, str] = _NONE) -> None:
        self.data = data
        self._secrets = secrets
        self._clean: dict[str, bool] = {}
        self.blobs = Blobs(data / BLOBS)
        self._connection: sqlite3.Connection | None = None

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection, opened on first use.

        Raises:
            sqlite3.Error: the store cannot be read.
        """
        if self._connection is None:
            self._connection = open_to_read(self.data / FILE, 10.0)
        return self._connection

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def origin(self) -> Origin:
        """Return the store's own origin."""
        return origins.own(self.connection)

    def version(self) -> int:
        """Return a number that changes with each change by another connection."""
        return self.connection.execute("PRAGMA data_version").fetchone()[0]

    def shared(self, shares: Iterable[Share], settings: HistorySettings) -> list[Shared]:
        """Return our own conversations of shared projects, each behind its parent."""
        rows = self.connection.execute(
            "SELECT id, project, iif(call IS NULL, '', parent) FROM conversations WHERE source = ''"
        )
        known = {from_column(id): (from_column(project), from_column(above)) for id, project, above in rows}
        projects = {project for project, _above in known.values()}
        found = shared_projects(self.data, shares, projects, settings.private)
        return [
            Shared(id, found[project], above)
            for id in own_conversations(self.connection)
            for project, above in [known.get(id, ("", ""))]
            if project in found
        ]

    def to_send(self, state: LocalState, settings: HistorySettings) -> list[Shared]:
        """Return the shared conversations but for those that stay here: withdrawn ones, and forks with text
        of others or of those, with their sub-agents'."""
        hidden, staying = state.hidden(), self.staying(state)
        found: list[Shared] = []
        for each in self.shared(state.shares(), settings):
            if each.id in hidden or each.above in hidden:
                hidden.add(each.id)
            elif each.id not in staying:
                found.append(each)
        return found

    def of_project(self, project: str) -> list[Shared]:
        """Return our own conversations of a main project as if it were shared, also if it is private."""
        return self.shared([Share(project, "", "own", 0.0)], HistorySettings())

    def staying(self, state: LocalState) -> dict[str, CopiedFrom]:
        """Return our forks that sharing their project does not send, and what they begin with."""
        return forks.staying(forks.links(self.connection), state.hidden(), state.allowed_forks())

    def changes(self, before: Seen | None = None) -> tuple[set[str], Seen]:
        """Return the conversations of ours of which there may be more than `before`, and what is seen now."""
        numbers = tuple(
            self.connection.execute(f"SELECT coalesce(max({number}), 0) FROM {table}").fetchone()[0]
            for table, number, _id in _GROWING
        )
        rows = {from_column(row[0]): row[1:] for row in self.connection.execute(_CHANGING)}
        if before is None:
            return set(rows), Seen(numbers, rows)
        changed = {id for id, row in rows.items() if before.rows.get(id) != row}
        for (table, number, id), last in zip(_GROWING, before.numbers, strict=True):
            found = self.connection.execute(f"SELECT DISTINCT {id} FROM {table} WHERE {number} > ?", (last,))
            ids = {from_column(each) for (each,) in found}
            if table == "review_actions":
                # A decision may be about an edit of a sub-agent's.
                ids |= {
                    from_column(each)
                    for id in ids
                    for (each,) in self.connection.execute(_CALLERS, (to_column(id),))
                }
            changed |= ids
        return changed & rows.keys(), Seen(numbers, rows)

    def waiting(self, state: LocalState, settings: HistorySettings) -> int:
        """Count the shared conversations of which events, cycles or edits were not pushed, or that are shared
        in another way now, without those that stay here."""
        pushed = state.pushed(state.server(settings.url))
        return sum(self._waits(each, pushed.get(each.id, Pushed())) for each in self.to_send(state, settings))

    def _waits(self, one: Shared, pushed: Pushed) -> bool:
        if pushed.revision and (pushed.name, pushed.audience) != one.share[1:3]:
            return True
        there = (pushed.position.event, pushed.position.usage, pushed.position.edit)
        here = self.connection.execute(_REACHED, (to_column(one.id),)).fetchone()
        return any(sent < (reached or 0) for sent, reached in zip(there, here, strict=True))

    def increment(self, id: str, pushed: Pushed) -> Rows | None:
        """Return the rows of the next increment of a conversation; None if nothing is new."""
        self.connection.execute("BEGIN")
        try:
            lines, to = outgoing(
                self.connection,
                self.blobs,
                id,
                pushed.position,
                secrets=self._secrets,
                clean=self._clean,
            )
            return rows_of(self.connection, self.blobs, lines, to, self._secrets)
        finally:
            self.connection.execute("ROLLBACK")


@contextmanager
def opened_store(data: Path) -> Generator[LocalStore]:
    """Open the store in a data directory for a moment."""
    store = LocalStore(data)
    try:
        yield store
    finally:
        store.close()


class Pusher:
    """Pushes over one connection."""

    def __init__(
        self,
        connection: Connection,
        store: LocalStore,
        state: LocalState,
        settings: HistorySettings,
        patience: float = PATIENCE,
    ) -> None:
        self._connection = connection
        self._store = store
        self._state = state
        self._settings = settings
        self._patience = _LONGER * patience
        self.progressed: Callable[[int], None] = lambda _pushed: None
        """Called with the number of conversations that a push has sent something of so far."""

        self.is_current: Callable[[], bool] = lambda: True
        """Called before anything is sent; False ends the push: its settings are no longer in force."""

    async def push(self, ids: Iterable[str] | None = None) -> Report:
        """Push what is new of all shared conversations, or of these; withdraw what is to be withdrawn.

        Raises:
            HistoryServerError: another process of this user's has been pushing for too long, or the schema is
                of another version.
        """
        async with pushing_alone(self._store.data, self._patience):
            # It may have been updated since the connection was made.
            await check_version(self._connection, address_of(self._settings))
            return await self._push(ids)

    async def restrict(self, project: str) -> None:
        """Take what was pushed of a project from those who are to see it no longer, before anything is sent:
        only its owner sees it until the next push.

        Raises:
            HistoryServerError: another process of this user's has been pushing for too long.
        """
        async with pushing_alone(self._store.data, self._patience):
            server = await identify(self._connection, self._state, self._settings)
            origin = await asyncio.to_thread(self._store.origin)
            shared = await asyncio.to_thread(self._store.shared, self._state.shares(), self._settings)
            pushed, hidden = self._state.pushed(server), self._state.hidden()
            for each in shared:
                if each.share.project == project and each.id in pushed and each.id not in hidden:
                    await self._restrict(server, origin, each, pushed[each.id])
            await self._reindex()

    async def _restrict_staying(self, server: str, origin: Origin, pushed: Mapping[str, Pushed]) -> None:
        """Restrict forks that are there from before they stayed here."""
        staying = await asyncio.to_thread(self._store.staying, self._state)
        there = {id for id in staying if id in pushed} - self._state.hidden()
        if there:
            for each in await asyncio.to_thread(self._store.shared, self._state.shares(), self._settings):
                if each.id in there:
                    await self._restrict(server, origin, each, pushed[each.id])

    async def _restrict(self, server: str, origin: Origin, one: Shared, before: Pushed) -> Pushed:
        """Let only its owner see a conversation that some are to see no longer: what comes then, as which
        project, may be refused."""
        if not narrows(before, one.share):
            return before
        async with self._connection.transaction():
            revision = await self._begin(origin, one.id, before)
            await self._connection.execute(_update(("share", "revision")), origin.id, one.id, "own", revision)
        restricted = before._replace(revision=revision, audience="own")
        self._state.note_pushed(server, one.id, restricted)
        return restricted

    async def _push(self, ids: Iterable[str] | None) -> Report:
        report = Report()
        server = await identify(self._connection, self._state, self._settings)
        report.withdrawn = await settle_withdrawals(self._connection, self._store, self._state, server)
        origin, pushed = await self._compare(server, report)
        report.withdrawn += await self._withdraw_ended(server, pushed)
        await self._restrict_staying(server, origin, pushed)
        wanted = None if ids is None else set(ids)
        chosen: list[Shared] = []
        for each in await asyncio.to_thread(self._store.to_send, self._state, self._settings):
            if wanted is None:
                chosen.append(each)
            elif each.id in wanted or each.above in wanted:
                wanted.add(each.id)
                chosen.append(each)
        report.refusals = await self._refused(chosen if wanted is not None else None)
        for each in chosen:
            if not self.is_current():
                break
            if each.share not in self._state.shares():
                # It has ended, or is shared in another way.
                continue
            await self._push_one(server, origin, each, pushed.get(each.id, Pushed()), report)
            self.progressed(len(report.conversations))
        await self._reindex()
        return report

    async def _withdraw_ended(self, server: str, pushed: Collection[str]) -> int:
        """Withdraw those of the `pushed` conversations that are of ending projects; return their number."""
        ended = self._state.ending()
        for project in ended:
            found = await asyncio.to_thread(self._store.of_project, project)
            self._state.withdraw_ended(project, server, [each.id for each in found if each.id in pushed])
        return await settle_withdrawals(self._connection, self._store, self._state, server) if ended else 0

    async def _refused(self, chosen: Iterable[Shared] | None) -> dict[str, Refusal]:
        """Return why shared projects, or those of the conversations, are not accepted at all."""
        shares = {each.share for each in chosen} if chosen is not None else self._state.shares()
        found = {each.project: await refusal_of(self._connection, each) for each in shares}
        return {project: Refusal(words, is_whole=True) for project, words in found.items() if words}

    async def _reindex(self) -> None:
        """Index what is shared in another way now for those who see it, a small transaction a part."""
        while await self._connection.fetchval("SELECT cogency.reindex($1)", _REINDEXED):
            pass

    async def _compare(self, server: str, report: Report) -> tuple[Origin, dict[str, Pushed]]:
        """Return our origin, a new one where another copy of this store has pushed as it, and what of it is
        there."""
        origin = await asyncio.to_thread(self._store.origin)
        pushed = self._state.pushed(server)
        noted = {id: each.revision for id, each in pushed.items()}
        there = await self._connection.fetchrow(_SUM, origin.id)
        if tuple(there) == (len(noted), sum(noted.values())):
            return origin, pushed
        known = {row["id"]: row["revision"] for row in await self._connection.fetch(_KNOWN, origin.id)}
        # An answer was lost, the server was restored from an earlier copy, or this is not the only pusher.
        odd = [id for id, revision in known.items() if revision != noted.get(id, 0)]
        if not await copied_store.is_all_ours(self._connection, self._store.connection, origin, odd):
            renewed = await copied_store.renew(
                self._connection, self._store.data, self._state, server, origin, known
            )
            report.copied, report.ceded = True, renewed.ceded
            return renewed.origin, {}
        for id, each in pushed.items():
            if each.revision > known.get(id, 0):
                pushed[id] = Pushed()
        return origin, {
            id: pushed.get(id, Pushed())._replace(revision=known.get(id, 0)) for id in {*pushed, *known}
        }

    async def _push_one(
        self, server: str, origin: Origin, one: Shared, before: Pushed, report: Report
    ) -> None:
        import asyncpg

        try:
            before = await self._restrict(server, origin, one, before)
            while True:
                rows = await asyncio.to_thread(self._store.increment, one.id, before)
                if not self.is_current():
                    return
                if rows is None:
                    if before.revision and (before.name, before.audience) != one.share[1:3]:
                        before = await self._change_share(origin, one, before)
                        self._state.note_pushed(server, one.id, before)
                        report.conversations.add(one.id)
                    return
                before = await self._send(origin, one, rows, before)
                self._state.note_pushed(server, one.id, before)
                report.conversations.add(one.id)
                report.events += len(rows.events)
        except asyncpg.InsufficientPrivilegeError as exc:
            if await self._connection.fetchval("SELECT cogency.is_withdrawn($1, $2)", origin.id, one.id):
                self._state.note_withdrawn(server, one.id)
                return
            words = await refusal_of(self._connection, one.share)
            report.refuse(one, words or f"The project {one.share.name!r} is not accepted: {words_of(exc)}.")
        except (
            asyncpg.DataError,
            asyncpg.IntegrityConstraintViolationError,
            asyncpg.ProgramLimitExceededError,
        ) as exc:
            # It would be refused each time: the conversations behind it must not wait for it.
            report.refuse(one, f"The conversation {one.id} is not accepted: {words_of(exc)}.")

    async def _send(self, origin: Origin, one: Shared, rows: Rows, before: Pushed) -> Pushed:
        """Send an increment; return what is then there."""
        import asyncpg

        try:
            return await self._send_once(origin, one, rows, before)
        except asyncpg.CheckViolationError as exc:
            if getattr(exc, "constraint_name", None) is not None:
                raise
            # Meanwhile the partition of its month was created: the default one no longer takes it.
            return await self._send_once(origin, one, rows, before)

    async def _send_once(self, origin: Origin, one: Shared, rows: Rows, before: Pushed) -> Pushed:
        """Send an increment in one transaction."""
        async with self._connection.transaction():
            revision = await self._begin(origin, one.id, before)
            values = row_values(origin, one, rows, revision)
            await self._put(values, is_new=not before.revision, with_changing=rows.whole)
            for sql, batch in ((_EVENTS, rows.events), (_EDITS, rows.edits), (_USAGE, rows.usage)):
                if batch:
                    columns = [list(column) for column in zip(*batch, strict=True)]
                    await self._connection.execute(sql, origin.id, rows.id, *columns, timeout=self._patience)
            if rows.contents:
                digests, data = (list(column) for column in zip(*rows.contents, strict=True))
                await self._connection.execute(_CONTENTS, digests, data, timeout=self._patience)
                await self._connection.execute(_USES, origin.id, rows.id, digests)
            await self._connection.execute("SELECT pg_notify('cogency', '')")
        return Pushed(rows.to, revision, one.share.name, one.share.audience)

    async def _put(self, values: list[Any], *, is_new: bool, with_changing: bool) -> None:
        # Members cannot select what ON CONFLICT DO UPDATE would read.
        if is_new:
            await self._connection.execute(_ADD, *values)
        else:
            end = len(COLUMNS) if with_changing else -1
            await self._connection.execute(_update(COLUMNS[_FIXED:end]), *values[:2], *values[_FIXED:end])

    async def _change_share(self, origin: Origin, one: Shared, before: Pushed) -> Pushed:
        async with self._connection.transaction():
            revision = await self._begin(origin, one.id, before)
            await self._connection.execute(
                _update(("project", "share", "revision")),
                *(origin.id, one.id, one.share.name, one.share.audience, revision),
            )
            await self._connection.execute("SELECT pg_notify('cogency', '')")
        return Pushed(before.position, revision, one.share.name, one.share.audience)

    async def _begin(self, origin: Origin, id: str, before: Pushed) -> int:
        """Wait for earlier pushes, and return the next revision of a conversation.

        Raises:
            HistoryServerError: the conversation was removed meanwhile, or pushed by another process.
        """
        await self._connection.execute(f"SET LOCAL statement_timeout = {int(self._patience * 1000)}")
        await _register(self._connection, origin)
        sql = "SELECT revision FROM cogency.conversations WHERE origin = $1 AND id = $2"
        found = await self._connection.fetchval(sql, origin.id, id) or 0
        if found != before.revision:
            what = "removed" if found < before.revision else "pushed by another copy of this history"
            raise HistoryServerError(f"The conversation was {what} meanwhile.", passing=True)
        return found + 1


async def refusal_of(connection: Connection, share: Share) -> str:
    """Return why the database accepts nothing of a project from the user, and what helps; empty if it
    does."""
    sql = "SELECT cogency.may_share($1, $2) AS may, session_user::text AS who"
    row = await connection.fetchrow(sql, share.audience, share.name)
    if row["may"]:
        return ""
    values = ", ".join("'{}'".format(each.replace("'", "''")) for each in (share.name, row["who"]))
    return (
        f"The project {share.name!r} is not accepted: you are not a member of it. An administrator adds you:"
        f" INSERT INTO cogency.members VALUES ({values}); or share it with `history share --with own`, or"
        " `--with team --as NAME`."
    )


def narrows(before: Pushed, share: Share) -> bool:
    """Return whether some who see what was pushed of a conversation are to see it no longer."""
    if not before.revision or share.audience == "team" or before.audience == "own":
        return False
    return share.audience == "own" or (before.name, before.audience) != (share.name, share.audience)


def row_values(origin: Origin, one: Shared, rows: Rows, revision: int) -> list[Any]:
    import msgspec

    row = rows.row
    title = str(row["title"])
    return [
        *(
            origin.id,
            rows.id,
            row["parent"],
            row["call"],
            one.share.name,
            one.share.audience,
            storable(title),
        ),
        *(row["turns"], row["cost"], row["updated"], row["trashed"] is not None),
        folded(title) if row["renamed"] else "",
        folded(f"{row['provider']}/{row['model']}"),
        *(folded(row["project"]), folded(row["branch"]), rows.record),
        *(msgspec.json.encode(rows.to).decode(), revision, rows.changing),
    ]


@asynccontextmanager
async def pushing_alone(data: Path, patience: float) -> AsyncGenerator[None]:
    """Let no other process push for a data directory: a row that it read before would replace a newer one.

    Raises:
        HistoryServerError: another process has been pushing for too long.
    """
    with ExitStack() as held:
        if not await asyncio.to_thread(held.enter_context, file_lock(data / _PUSH_LOCK, patience)):
            raise HistoryServerError("Another process is pushing.", passing=True)
        yield


async def identify(connection: Connection, state: LocalState, settings: HistorySettings) -> str:
    """Return the identity of the database, and note it for its address."""
    server: str = await connection.fetchval("SELECT id FROM cogency.identity")
    state.note_server(settings.url, server)
    state.note_identity(server)
    return server


async def _register(connection: Connection, origin: Origin) -> None:
    """Register our store, after earlier pushes of the user; later ones wait for the transaction.

    Raises:
        HistoryServerError: another user has registered it.
    """
    import asyncpg

    try:
        await connection.execute("SELECT cogency.register($1, $2)", origin.id, storable(origin.name))
    except asyncpg.UniqueViolationError as exc:
        raise HistoryServerError(
            f"Another user of the database has registered your store, {origin.id}, as theirs.",
            "The owner of the database corrects it: UPDATE cogency.origins SET owner = …",
        ) from exc


async def settle_withdrawals(
    connection: Connection, store: LocalStore, state: LocalState, server: str
) -> int:
    """Withdraw there what the user has withdrawn, and allow what may be pushed again; return the number of
    withdrawn conversations."""
    waiting, returning = state.withdrawn(server, "waits"), state.withdrawn(server, "returns")
    if waiting or returning:
        origin = await asyncio.to_thread(store.origin)
        # Of an origin that is not there yet there is nothing to withdraw, but the note stays.
        await _register(connection, origin)
        for id in waiting:
            await connection.execute("SELECT cogency.withdraw($1, $2)", origin.id, id)
            state.note_withdrawn(server, id)
        for id in returning:
            await connection.execute("SELECT cogency.restore($1, $2)", origin.id, id)
            state.note_returned(server, id)
    return len(waiting)


async def push_all(
    address: Address,
    data: Path,
    settings: HistorySettings,
    secrets: Mapping[str, str],
    ids: Iterable[str] | None = None,
) -> Report:
    """Push once what is new, without the values of `secrets`.

    Raises:
        HistoryServerError: the server cannot be used.
    """
    store, state = LocalStore(data, secrets), LocalState(data)
    try:
        async with connected(address) as connection:
            return await Pusher(connection, store, state, settings).push(ids)
    finally:
        await asyncio.to_thread(partial(_close, store, state))


def _close(store: LocalStore, state: LocalState) -> None:
    store.close()
    state.close()
