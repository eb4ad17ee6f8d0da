"""Recovery of a damaged database: its readable rows, in a new one.

The tables are walked without their indexes, which are rebuilt. At an unreadable page the walk continues
behind it. Rows that damage has left without a value, or with an invalid one, are left out and counted. Rows
that a table has lost may come from elsewhere (`lost_rows`). A conversation whose own row is lost gets a new
one, so that its events are not lost.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cogency_tui.store import event_chain, events
from cogency_tui.store.column_text import from_column
from cogency_tui.store.migrations import CONVERSIONS, migrate, pending
from cogency_tui.store.sqlite_connection import connect

_FARTHEST = 1 << 62
"""Row number above all that a program gives: such rows are damaged."""

_KINDS = {"TEXT": (str, bytes), "INTEGER": (int,), "REAL": (int, float)}
OWNERS = (
    ("events", "conversation_id", "timestamp"),
    ("edits", "conversation", "timestamp"),
    ("usage", "conversation_id", "timestamp"),
    ("summaries", "conversation_id", "created"),
    ("pins", "conversation_id", "created"),
)
"""Tables whose rows refer to a conversation, with the columns of its id and the time."""

MADE = "Recovered"
"""The title of a conversation that a recovery makes for the rows of a lost one."""

_JSON = {
    "answer_items": ("body",),
    "edits": ("undoes",),
    "intents": ("files",),
    "relic_log": ("entry",),
    "relic_values": ("value",),
    "request_frames": ("body",),
    "review_actions": ("parts", "marks", "edits"),
    "usage": ("body",),
}
"""Columns with JSON. Events are decoded as events."""

_DUPLICATE = (
    sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY,
    sqlite3.SQLITE_CONSTRAINT_ROWID,
    sqlite3.SQLITE_CONSTRAINT_UNIQUE,
)


@dataclass(slots=True)
class Recovered:
    """The result of a recovery: the number of read rows, the tables with unreadable places and those that are
    `absent`, and the number of rows of each that were `dropped` as damaged, with the numbers of
    `dropped_events`; the number of rows that came from each copy, by the table; the numbers of the last rows
    that there were, as far as they are known; the conversations that were `made` for others' rows, and those
    of which too little is left; and whether the events had a chain."""

    rows: int = 0
    broken: list[str] = field(default_factory=list[str])
    absent: list[str] = field(default_factory=list[str])
    dropped: dict[str, int] = field(default_factory=dict[str, int])
    dropped_events: list[int] = field(default_factory=list[int])
    filled: dict[Path, dict[str, int]] = field(default_factory=dict[Path, dict[str, int]])
    last: dict[str, int] = field(default_factory=dict[str, int])
    made: list[str] = field(default_factory=list[str])
    gone: list[str] = field(default_factory=list[str])
    has_chain: bool = True

    @property
    def is_whole(self) -> bool:
        """True if no row is lost."""
        return not self.incomplete

    @property
    def incomplete(self) -> set[str]:
        """The tables that may have lost rows."""
        return {*self.broken, *self.absent, *self.dropped}


def recover(
    source: sqlite3.Connection,
    path: Path,
    fill: Callable[[sqlite3.Connection, Recovered], object] = lambda _target, _found: None,
) -> Recovered:
    """Write the readable part of `source` into a new database at `path`; `fill` adds rows that tables have
    lost.

    Raises:
        OSError, sqlite3.Error: not even the list of tables can be read, or `path` cannot be written.
    """
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    with closing(connect(path)) as target:
        migrate(target)
        there = {name for (name,) in source.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        found = Recovered()
        steps = target.execute("SELECT name, applied FROM migrations ORDER BY rowid").fetchall()
        names = [name for (name,) in target.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        target.execute("BEGIN IMMEDIATE")
        with target:
            for name in names:
                target.execute(f"DELETE FROM {name}")
            # SQLite's own table of the last ids goes last: inserts change it.
            for name in sorted(there.intersection(names), key=lambda name: name == "sqlite_sequence"):
                _copy(source, target, name, found)
            applied = {name for (name,) in target.execute("SELECT name FROM migrations")}
            if not applied or applied.issuperset(name for name, _ in steps):
                found.absent = [name for name in names if name not in there]
            found.last.update(_last_numbers(source))
            if found.incomplete:
                fill(target, found)
            for step in CONVERSIONS:
                if step.__name__ not in applied:
                    step(target)
            found.has_chain = event_chain.TABLE in there
            if not found.has_chain:
                (last,) = target.execute(f"SELECT coalesce(max(seq), 0) FROM {event_chain.TABLE}").fetchone()
                event_chain.extend(target, last)
            target.executemany("INSERT OR IGNORE INTO migrations VALUES (?, ?)", steps)
            found.last["events"] = _last_event(target)
            found.gone = _without_conversation(target)
            found.made = _complete(target)
        target.execute("PRAGMA journal_mode = WAL")
    return found


def _last_numbers(source: sqlite3.Connection) -> dict[str, int]:
    """Return the last numbers that tables have given, as far as they can be read."""
    try:
        rows = source.execute("SELECT name, seq FROM sqlite_sequence").fetchall()
    except sqlite3.DatabaseError:
        return {}
    return {name: last for name, last in rows if isinstance(name, str) and isinstance(last, int)}


def _last_event(target: sqlite3.Connection) -> int:
    """Return the number of the last event that rows of other tables refer to."""
    places = (("requests", "through"), ("summaries", "through"), ("pins", "event"))
    numbers = (target.execute(f"SELECT max({column}) FROM {table}").fetchone()[0] for table, column in places)
    return max(number or 0 for number in numbers)


def rebuilt(connection: sqlite3.Connection, path: Path) -> bool:
    """Rebuild a database in place with all its rows and new indexes; False, with no change, where one is
    lost.

    `path` is for a temporary file.
    """
    try:
        if pending(connection) or not recover(connection, path).is_whole:
            return False
        with closing(connect(path)) as fresh:
            fresh.backup(connection)
    except (OSError, sqlite3.Error):
        return False
    finally:
        path.unlink(missing_ok=True)
    return True


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, name: str, found: Recovered) -> None:
    expected = [row[1] for row in target.execute(f"PRAGMA table_info({name})")]
    columns = [row[1] for row in source.execute(f"PRAGMA table_info({name})") if row[1] in expected]
    with_number = _has_rowid(target, name)
    names = ", ".join(["rowid", *columns] if with_number else columns)
    marks = ", ".join("?" * (len(columns) + with_number))
    walk = _numbered(source, name, names) if with_number else _keyed(source, name, names)
    readable = row_reader(target, name, columns)
    for row in walk:
        if row is None:
            if name not in found.broken:
                found.broken.append(name)
            continue
        if not readable(row[with_number:]):
            found.dropped[name] = found.dropped.get(name, 0) + 1
            if name == "events":
                found.dropped_events.append(row[0])
            continue
        try:
            target.execute(f"INSERT INTO {name} ({names}) VALUES ({marks})", row)
            found.rows += 1
        except sqlite3.IntegrityError as exc:
            # A table without row numbers is walked from both ends, and may yield rows twice.
            if exc.sqlite_errorcode not in _DUPLICATE:
                found.dropped[name] = found.dropped.get(name, 0) + 1


def unreadable(connection: sqlite3.Connection) -> dict[str, int]:
    """Count the rows of each table with a missing or unreadable value, where there are any.

    Raises:
        sqlite3.Error: a page cannot be read.
    """
    found: dict[str, int] = {}
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    for name in [name for (name,) in tables if not name.startswith("sqlite_")]:
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
        readable = row_reader(connection, name, columns)
        rows = connection.execute(f"SELECT {', '.join(columns)} FROM {name} NOT INDEXED")
        if count := sum(not readable(row) for row in rows):
            found[name] = count
    return found


def row_reader(
    connection: sqlite3.Connection, name: str, columns: Sequence[str]
) -> Callable[[Sequence[Any]], bool]:
    """Return a predicate for rows of these columns that the program can read."""
    known = {row[1]: row for row in connection.execute(f"PRAGMA table_info({name})")}
    kinds = [(_KINDS.get(known[column][2], (object,)), bool(known[column][3])) for column in columns]
    coded = [columns.index(column) for column in _JSON.get(name, ()) if column in columns]
    event = [columns.index("type"), columns.index("body")] if name == "events" else []

    def readable(row: Sequence[Any]) -> bool:
        for value, (kind, is_needed) in zip(row, kinds, strict=True):
            if is_needed if value is None else not isinstance(value, kind):
                return False
        try:
            for index in coded:
                json.loads(from_column(row[index]))
            if event:
                events.decode(*(row[index] for index in event))
        except (ValueError, RecursionError):
            return False
        return True

    return readable


def _has_rowid(connection: sqlite3.Connection, name: str) -> bool:
    try:
        connection.execute(f"SELECT rowid FROM {name} LIMIT 0")
    except sqlite3.OperationalError:
        return False
    return True


def _numbered(source: sqlite3.Connection, name: str, names: str) -> Iterator[tuple[Any, ...] | None]:
    """Yield the rows of a table with row numbers, None for each unreadable place."""
    # Not `rowid >` the last: SQLite would search for that row, which may be on the unreadable page.
    within = f"rowid >= ? AND rowid < {_FARTHEST}"
    sql = f"SELECT {names} FROM {name} NOT INDEXED WHERE {within} ORDER BY rowid"
    first = -_FARTHEST
    while True:
        try:
            for row in source.execute(sql, (first,)):
                first = row[0] + 1
                yield row
            beyond = f"SELECT 1 FROM {name} NOT INDEXED WHERE rowid >= {_FARTHEST} LIMIT 1"
            if source.execute(beyond).fetchone():
                yield None
            return
        except sqlite3.DatabaseError:
            pass
        try:
            # A cursor loses the row before the place that it cannot read.
            row = source.execute(f"{sql} LIMIT 1", (first,)).fetchone()
        except sqlite3.DatabaseError:
            yield None
            following = _behind(source, name, max(first - 1, 0)) if first < _FARTHEST else None
            if following is None:
                return
            row = source.execute(f"{sql} LIMIT 1", (following,)).fetchone()
        if row is None:
            return
        first = row[0] + 1
        yield row


def _behind(source: sqlite3.Connection, name: str, last: int) -> int | None:
    """Return the first readable row number behind `last`; None where there is none."""

    def readable(number: int) -> bool:
        sql = f"SELECT * FROM {name} NOT INDEXED WHERE rowid >= ? ORDER BY rowid LIMIT 1"
        try:
            source.execute(sql, (number,)).fetchone()
        except sqlite3.DatabaseError:
            return False
        return True

    step = 1
    while not readable(last + step):
        step *= 2
        if last + step > _FARTHEST:
            return None
    low, high = last + step // 2, last + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if readable(middle) else (middle, high)
    return high


def _keyed(source: sqlite3.Connection, name: str, names: str) -> Iterator[tuple[Any, ...] | None]:
    """Yield the rows of a table without row numbers from both ends, None where they do not meet."""
    keys = [
        column
        for _, column in sorted(
            (row[5], row[1]) for row in source.execute(f"PRAGMA table_info({name})") if row[5]
        )
    ]
    for order in ("ASC", "DESC"):
        by = ", ".join(f"{key} {order}" for key in keys)
        try:
            yield from source.execute(f"SELECT {names} FROM {name} NOT INDEXED ORDER BY {by}")
            return
        except sqlite3.DatabaseError:
            yield None


def _without_conversation(target: sqlite3.Connection) -> list[str]:
    """Return the conversations of which only requests are left."""
    owners = " UNION ".join(f"SELECT {column} FROM {table}" for table, column, _ in OWNERS)
    rows = target.execute(
        "SELECT DISTINCT conversation_id FROM requests WHERE conversation_id NOT IN"
        f" (SELECT id FROM conversations UNION {owners}) ORDER BY conversation_id"
    )
    return [from_column(id) for (id,) in rows]


def _complete(target: sqlite3.Connection) -> list[str]:
    """Create rows that are referred to and lost, or else drop the rows that refer to them; return the ids of
    the conversations among them."""
    ids = "SELECT id FROM conversations"
    there = {id for (id,) in target.execute(ids)}
    if not target.execute("SELECT 1 FROM profile_state").fetchone():
        target.execute("INSERT INTO profile_state DEFAULT VALUES")
    for table, column, moment in OWNERS:
        target.execute(
            "INSERT OR IGNORE INTO conversations"
            " (id, project, title, dialect, provider, model, created, updated)"
            f" SELECT {column}, '', '{MADE}', '', '', '', min({moment}), max({moment}) FROM {table}"
            f" GROUP BY {column}"
        )
    target.execute(
        "UPDATE conversations SET project = coalesce((SELECT project FROM edits"
        " WHERE conversation = conversations.id ORDER BY edits.id DESC LIMIT 1), ''), turns ="
        f" (SELECT count(*) FROM events WHERE conversation_id = conversations.id AND {events.BEGINS_TURN})"
        " WHERE provider = ''"
    )
    target.execute(
        "UPDATE conversations SET parent = NULL WHERE parent NOT IN (SELECT id FROM conversations)"
    )
    for table in ("edit_marks", "interrupted_edits", "merged_edits", "shared_edits"):
        target.execute(f"DELETE FROM {table} WHERE edit NOT IN (SELECT id FROM edits)")
    for table, number, _, _ in target.execute("PRAGMA foreign_key_check").fetchall():
        target.execute(f"DELETE FROM {table} WHERE rowid = ?", (number,))
    return [from_column(id) for (id,) in target.execute(ids) if id not in there]
