"""A large history of a team for benchmarks: conversations as in `sample_store`, with edits and usage.

Rows are those that a push makes (`tests/team/test_sample_team.py` compares them). A month is copied into a
table of its own, indexed and attached, as an administrator would load it.
"""

import asyncio
import hashlib
import json
import random
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from cogency_tui.protocol.events import Event, Measure
from cogency_tui.store import edits, usage
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import ABSENT, FileChange, Version
from cogency_tui.store.edit_records import Origin as Caller
from cogency_tui.store.events import encode, title_of
from cogency_tui.store.export_import import USAGE
from cogency_tui.store.increments import Position
from cogency_tui.store.origins import Origin
from cogency_tui.store.search.folding import fold
from cogency_tui.store.store import StoredConversation, insert
from cogency_tui.team.connection import connect
from cogency_tui.team.local_state import Audience, Share
from cogency_tui.team.push import COLUMNS, Shared, row_values
from cogency_tui.team.rows import EditRow, Rows, encoded, folded, rows_of
from tests.benchmarks.sample_store import SEED, Writer, vocabulary

PROJECTS = 12
_MODELS = (
    *(("openai", "gpt-5"), ("anthropic", "claude-sonnet-4-5"), ("anthropic", "claude-opus-4-1")),
    *(("google", "gemini-2.5-pro"), ("mistral", "devstral-medium")),
)
_AUDIENCES: tuple[Audience, ...] = ("own", "project", "team")
_SHARES = (3, 5, 2)
_STRIDE = 10_000_000
"""Most rows of an owner in a month: the numbers of the next month begin behind them."""


class Month(NamedTuple):
    """A month that is to be filled: its name, as in its partition's, and its bounds in Unix seconds; `back`
    months before the current one."""

    back: int
    name: str
    begin: float
    end: float


def months(count: int) -> list[Month]:
    """Return the last months, the newest first."""
    now = datetime.now(UTC)
    found: list[Month] = []
    for back in range(count):
        year, month = divmod(now.year * 12 + now.month - 1 - back, 12)
        begin = datetime(year, month + 1, 1, tzinfo=UTC)
        end = datetime(year + (month == 11), (month + 1) % 12 + 1, 1, tzinfo=UTC)
        found.append(Month(back, f"{begin:%Y_%m}", begin.timestamp(), end.timestamp()))
    return found


def member(number: int) -> str:
    """Return the role of a member."""
    return f"dev{number:03d}"


def projects_of(number: int) -> list[str]:
    """Return the projects of a member: two or three."""
    return sorted({f"project{each % PROJECTS}" for each in (number, 5 * number + 1, 7 * number + 3)})


def origin_of(number: int) -> Origin:
    """Return the origin of a member."""
    return Origin(f"{number:020x}", f"{member(number)}@laptop")


class Written(NamedTuple):
    """A file that a call wrote."""

    at: float
    call: str
    tool: str
    path: str
    content: bytes

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def change(self) -> FileChange:
        return FileChange(self.path, ABSENT, Version("file", self.digest, len(self.content), 0o644, True))


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation with all that a store has of it; its numbers there begin behind `since`."""

    owner: int
    share: Share
    conversation: StoredConversation
    since: Position
    events: list[Event]
    measures: list[tuple[float, Measure]]
    written: list[Written]

    @property
    def shared(self) -> Shared:
        return Shared(self.conversation.id, self.share, "")

    @property
    def to(self) -> Position:
        since = self.since
        return Position(
            since.event + len(self.events),
            since.usage + len(self.measures),
            since.edit + len(self.written),
        )


@dataclass(slots=True)
class Sessions:
    """Makes sessions of `writers` members; the numbers of each begin behind `first`."""

    chance: random.Random
    writers: int
    first: int = 0
    _reached: dict[int, Position] = field(default_factory=dict[int, Position])

    def make(self, number: int, begun: float, owner: int | None = None) -> Session:
        """Make the session of this number, which its first prompt names as an issue."""
        chance = self.chance
        owner = chance.randrange(self.writers) if owner is None else owner
        events = [event for event, _ in Writer(chance, *_words()).conversation(begun)]
        cast("dict[str, Any]", events[0])["content"] += f"\nissue-{number:07d}"
        name = chance.choice(projects_of(owner))
        [audience] = chance.choices(_AUDIENCES, _SHARES)
        share = Share(f"/home/{member(owner)}/{name}", name, audience, 0.0)
        provider, model = chance.choice(_MODELS)
        measures = [_measure(each, provider, model, chance) for each in events if _ends_cycle(each)]
        conversation = _conversation(f"{number:016x}", share.project, provider, model, events, measures)
        first = Position(self.first, self.first, self.first)
        since = self._reached.get(owner, first)
        written = list(_written(conversation.id, events))
        made = Session(owner, share, conversation, since, events, measures, written)
        self._reached[owner] = made.to
        return made


def _ends_cycle(event: Event) -> bool:
    return event["type"] in ("call", "respond")


def _measure(event: Event, provider: str, model: str, chance: random.Random) -> tuple[float, Measure]:
    tokens = chance.randint(2_000, 120_000)
    measure: Measure = {"input": tokens, "output": len(encode(event)) // 4, "cached": tokens * 9 // 10}
    measure |= {
        "duration": chance.uniform(1, 30),
        "cost": tokens * 5e-7,
        "provider": provider,
        "model": model,
    }
    return event["timestamp"], measure


def _conversation(
    id: str,
    project: str,
    provider: str,
    model: str,
    events: list[Event],
    measures: list[tuple[float, Measure]],
) -> StoredConversation:
    first = cast("dict[str, Any]", events[0])
    turns = sum(event["type"] == "user" for event in events)
    tokens = sum(each.get("input", 0) + each.get("output", 0) for _, each in measures)
    cost = 0.0
    for _, each in measures:
        cost += each.get("cost", 0.0)
    return StoredConversation(
        *(id, project, title_of(first["content"]), "xml", provider, model),
        *(events[0]["timestamp"], events[-1]["timestamp"], turns, tokens, cost, None),
        branch="main",
    )


def _written(id: str, events: list[Event]) -> Iterator[Written]:
    for event in events:
        if event["type"] == "call":
            call = json.loads(event["content"])
            if call["name"] in ("edit", "write"):
                args = call["args"]
                # A first line that no other file has: contents are stored once.
                content = f"# {id} {event['id']}\n{args['content']}\n".encode()
                yield Written(event["timestamp"] + 0.1, event["id"], call["name"], args["file"], content)


def put(session: Session, connection: sqlite3.Connection, blobs: Blobs) -> None:
    """Add a session to a store, as if it had taken place there."""
    stored = session.conversation
    insert(replace(stored, tokens=0, cost=0.0), connection)
    connection.executemany(
        "INSERT INTO events (conversation_id, type, timestamp, unit, body) VALUES (?, ?, ?, ?, ?)",
        [
            (stored.id, each["type"], each["timestamp"], each.get("id"), encode(each))
            for each in session.events
        ],
    )
    for at, measure in session.measures:
        usage.record(connection, stored.id, measure, at)
    caller = Caller(stored.id, stored.id, stored.turns, stored.project)
    for each in session.written:
        blobs.put_bytes(each.content)
        edits.insert(connection, caller, each.call, each.tool, [each.change], each.at)


def rows_for(session: Session) -> Rows:
    """Build the rows that a push of the session sends."""
    row = asdict(session.conversation)
    del row["source"], row["original"], row["imported"]
    head = {"conversation": row, "owner": "", "whole": True}
    rows = rows_of(_EMPTY, Blobs(Path("/nonexistent")), [head, *_lines(session)], session.to, {})
    assert rows is not None
    digests = set[str]()
    for number, each in enumerate(session.written, session.since.edit + 1):
        rows.edits.append(_edit(session, each, number))
        if each.digest not in digests:
            digests.add(each.digest)
            rows.contents.append((each.digest, each.content))
    return rows


_EMPTY = sqlite3.connect(":memory:", check_same_thread=False)
"""No store: of a row's lines only those of edits are read again."""


def _lines(session: Session) -> Iterator[dict[str, Any]]:
    for number, event in enumerate(session.events, session.since.event + 1):
        yield {"event": event, "number": number}
    for number, (at, measure) in enumerate(session.measures, session.since.usage + 1):
        figures = {name: measure.get(name) for name in USAGE} | {"timestamp": at, "body": encode(measure)}
        yield {"usage": figures, "number": number}


def _edit(session: Session, each: Written, number: int) -> EditRow:
    stored, change = session.conversation, each.change
    values = (
        *(stored.id, stored.id, stored.turns, stored.project),
        *(each.call, each.tool, change.path, "", "", change.kind, each.at, "[]"),
        *("absent", "", 0, 0, 0, "file", change.after.digest, change.after.size, 0o644, 1),
    )
    record = {"id": number} | dict(zip(edits.COLUMNS, values, strict=True))
    text = "\n".join([each.path, *each.content.decode().splitlines()])
    paths = fold(each.path)
    return (number, each.at, stored.id, fold(each.tool), paths, folded(text), text, encoded(record))


@cache
def _words() -> tuple[list[str], list[float]]:
    return vocabulary()


# The rows of a month, as an administrator would load them.

_KEY = ("origin", "conversation")
_LOADED = {
    "events": (*_KEY, "number", "at", "type", "tool", "failed", "paths", "folded", "body", "readers"),
    "conversations": ("owner", "began", "ended", *COLUMNS),
    "edits": (*_KEY, "number", "at", "root", "tool", "paths", "folded", "text", "record", "readers"),
    "usage": (*_KEY, "number", "at", "provider", "model", "input", "output", "cached", "cost", "record"),
    "contents": ("owner", "digest", "data"),
    "content_uses": (*_KEY, "digest", "owner"),
}


def fill_month(url: str, month: Month, events: int, writers: int) -> int:
    """Load about so many events of a month; return how many."""
    return asyncio.run(_fill_month(url, month, events, writers))


async def _fill_month(url: str, month: Month, events: int, writers: int) -> int:
    connection: Any = await connect(url)
    try:
        return await _Loading(connection, month, events, writers).load()
    finally:
        await connection.close()


def _readers(session: Session) -> str:
    """Who may read it, as the schema names them."""
    readers = {"own": f"user {member(session.owner)}", "project": f"project {session.share.name}"}
    return readers.get(session.share.audience, "team")


class _Loading:
    def __init__(self, connection: Any, month: Month, wanted: int, writers: int) -> None:
        self._connection = connection
        self._month = month
        self._wanted = wanted
        self._writers = writers
        self._others: dict[str, list[tuple[Any, ...]]] = {name: [] for name in _LOADED if name != "events"}
        self._count = 0

    async def load(self) -> int:
        month, run = self._month.name, self._connection.execute
        async with self._connection.transaction():
            # Without indexes, and without WAL in a server with wal_level=minimal.
            for name in ("events", "edits"):
                await run(
                    f"CREATE TABLE cogency.{name}_{month} (LIKE cogency.{name} INCLUDING STORAGE INCLUDING CONSTRAINTS)"
                )
            await self._copy(f"events_{month}", _LOADED["events"], self._events())
            await self._copy(f"edits_{month}", _LOADED["edits"], self._others.pop("edits"))
            for name, rows in self._others.items():
                await self._copy(name, _LOADED[name], rows)
            for name in ("events", "edits"):
                await self._attach(name)
        for name in ("events", "edits"):
            await run(f"VACUUM ANALYZE cogency.{name}_{month}")
        return self._count

    def _events(self) -> Iterator[tuple[Any, ...]]:
        """Make the sessions, and yield the rows of their events; collect the others."""
        month = self._month
        chance = random.Random(f"{SEED} {month.name}")
        sessions = Sessions(chance, self._writers, (1200 - month.back) * _STRIDE)
        # A session takes less than six hours.
        span = min(month.end, time.time()) - month.begin - 21_600
        starts = sorted(month.begin + chance.random() * span for _ in range(self._wanted // 40))
        for number, begun in enumerate(starts, month.back * 1_000_000):
            if self._count >= self._wanted:
                return
            session = sessions.make(number, begun)
            rows = rows_for(session)
            origin, readers = origin_of(session.owner).id, _readers(session)
            yield from ((origin, rows.id, *row, readers) for row in rows.events)
            self._collect(session, rows)
            self._count += len(rows.events)

    def _collect(self, session: Session, rows: Rows) -> None:
        origin, owner, others = origin_of(session.owner), member(session.owner), self._others
        times = [row[1] for row in (*rows.events, *rows.edits)]
        values = row_values(origin, session.shared, rows, 1)
        others["conversations"].append((owner, min(times), max(times), *values))
        others["edits"] += [(origin.id, rows.id, *row, _readers(session)) for row in rows.edits]
        others["usage"] += [(origin.id, rows.id, *row) for row in rows.usage]
        others["contents"] += [(owner, *row) for row in rows.contents]
        others["content_uses"] += [(origin.id, rows.id, digest, owner) for digest, _ in rows.contents]

    async def _copy(self, table: str, columns: tuple[str, ...], rows: Any) -> None:
        await self._connection.copy_records_to_table(
            table, schema_name="cogency", columns=columns, records=rows
        )

    async def _attach(self, name: str) -> None:
        table, run = f"cogency.{name}_{self._month.name}", self._connection.execute
        bounds = f"FROM ({self._month.begin}) TO ({self._month.end})"
        await run(f"ALTER TABLE {table} ADD PRIMARY KEY (origin, conversation, number, at)")
        if name == "edits":
            await run(f"CREATE INDEX ON {table} (origin, root)")
        await run(f"CREATE INDEX ON {table} USING gin (cogency.row_keys(readers, folded))")
        where = " WHERE paths <> ''" * (name == "events")
        await run(f"CREATE INDEX ON {table} USING gin (cogency.row_keys(readers, paths)){where}")
        await run(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        await run(f"ALTER TABLE cogency.{name} ATTACH PARTITION {table} FOR VALUES {bounds}")
