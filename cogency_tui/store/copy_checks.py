"""The check of the copies: which can be read, and which of their events their own hash chain disproves.

A copy has no better protection than the store: another program can change either. So its events are used only
where its chain and the store's allow it, and where a row without a chain differs, all copies are compared.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cogency_tui.store import event_chain
from cogency_tui.store.copies import copies_in
from cogency_tui.store.database import open_to_read, size_of
from cogency_tui.store.migrations import NewerSchemaError, pending

_PATIENCE = 5.0
_FARTHEST = 1 << 62
_EVENT = "SELECT conversation_id, type, timestamp, unit, body FROM events WHERE seq = ?"

FIXED = {"edits": "edit", "usage": "usage record", "conversations": "conversation"}
"""Tables without a chain whose rows do not change, as they are called."""

_MUTABLE = {"before_kept", "after_kept"}
_OF_CONVERSATIONS = {"project", "created", "call"}
"""Columns of edits that change, and those of conversations that do not."""

_OWNERS = {"edits": "conversation", "usage": "conversation_id", "conversations": "id"}
_NOT_OWN = "SELECT id FROM conversations WHERE source <> ''"

RowId = int | str | bytes


@dataclass(frozen=True, slots=True)
class CheckedCopy:
    """A copy at `path`; `damage` tells why it cannot be used, and `disproved` are the numbers of the events
    that are not as its chain has them."""

    path: Path
    damage: str = ""
    disproved: frozenset[int] = frozenset()

    def open(self) -> sqlite3.Connection:
        """Open it for reading.

        Raises:
            sqlite3.Error: it cannot be read.
        """
        return open_to_read(self.path, _PATIENCE, untouched=True)


def check_copies(directory: Path) -> list[CheckedCopy]:
    """Check the copies of the store in `directory`, the newest first."""
    return [_checked(path) for path in copies_in(directory)]


def usable(copies: Iterable[CheckedCopy]) -> list[CheckedCopy]:
    """Return the copies that can be read, those with disproved events last."""
    return sorted((copy for copy in copies if not copy.damage), key=lambda copy: bool(copy.disproved))


def _checked(path: Path) -> CheckedCopy:
    if not size_of(path):
        return CheckedCopy(path, "it is empty")
    try:
        with closing(open_to_read(path, _PATIENCE, untouched=True)) as connection:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                return CheckedCopy(path, found)
            connection.execute("SELECT 1 FROM conversations, events LIMIT 1")
            return CheckedCopy(path, disproved=_disproved(connection))
    except NewerSchemaError:
        return CheckedCopy(path, "a newer cogency-tui made it")
    except sqlite3.Error as exc:
        return CheckedCopy(path, str(exc))


def _disproved(connection: sqlite3.Connection) -> frozenset[int]:
    if pending(connection):
        return frozenset()
    report = event_chain.verify(connection)
    return frozenset({*report.altered, *report.added})


def changed_events(copy: CheckedCopy, connection: sqlite3.Connection) -> list[int]:
    """Return the disproved events of a copy that the store has otherwise, or not at all: the same ones were
    changed before the copy was made."""
    found: list[int] = []
    with closing(copy.open()) as source:
        for number in sorted(copy.disproved):
            rows = [each.execute(_EVENT, (number,)).fetchone() for each in (source, connection)]
            if rows[0] != rows[1]:
                found.append(number)
    return found


def is_continued(source: sqlite3.Connection, connection: sqlite3.Connection) -> bool:
    """Return whether the store has the numbers of a copy: it was not filled again under others."""
    last = None if pending(source) else event_chain.last_entry(source, _FARTHEST)
    return last is not None and digest_at(connection, last.seq) == last.digest


def digest_at(connection: sqlite3.Connection, number: int) -> bytes:
    """Return the digest of the last entry up to this number."""
    entry = event_chain.last_entry(connection, number)
    return event_chain.START if entry is None else entry.digest


@dataclass(slots=True)
class Differences:
    """Rows of a table that copies have with other values: `changed` in the store, by the copy with the
    original; changed `in_copies`; and `undecided` ones, by the copy, where as many have one value as the
    other."""

    table: str
    changed: dict[Path, list[RowId]] = field(default_factory=dict[Path, list[RowId]])
    in_copies: dict[Path, list[RowId]] = field(default_factory=dict[Path, list[RowId]])
    undecided: dict[Path, list[RowId]] = field(default_factory=dict[Path, list[RowId]])


def compare_rows(connection: sqlite3.Connection, copies: Iterable[CheckedCopy]) -> Iterator[Differences]:
    """Compare the rows that do not change with all copies that the store has continued; the majority of the
    store and these tells which of them was changed."""
    sources: dict[Path, sqlite3.Connection] = {}
    try:
        for copy in copies:
            with suppress(sqlite3.Error):
                with closing(copy.open()) as source:
                    is_witness = not copy.disproved and is_continued(source, connection)
                if is_witness:
                    sources[copy.path] = copy.open()
        for table in FIXED if sources else ():
            yield _differences(connection, sources, table)
    finally:
        for source in sources.values():
            source.close()


def _differences(
    connection: sqlite3.Connection, sources: dict[Path, sqlite3.Connection], table: str
) -> Differences:
    found = Differences(table)
    differing = {path: {*_changed_rows(source, connection, table)} for path, source in sources.items()}
    for id in sorted(set[RowId]().union(*differing.values()), key=lambda id: (isinstance(id, bytes), id)):
        values = {path: _row(source, connection, table, id) for path, source in sources.items()}
        votes = Counter(values[path] for path in sources if id in differing[path])
        original, most = votes.most_common(1)[0]
        own = 1 + sum(values[path] is not None and id not in differing[path] for path in sources)
        of_original = next(path for path in sources if values[path] == original)
        if most > own:
            found.changed.setdefault(of_original, []).append(id)
        elif most == own:
            found.undecided.setdefault(of_original, []).append(id)
        else:
            for path in (path for path in sources if id in differing[path]):
                found.in_copies.setdefault(path, []).append(id)
    return found


def _row(source: sqlite3.Connection, connection: sqlite3.Connection, table: str, id: RowId) -> Any:
    columns = ", ".join(fixed_columns(source, connection, table))
    return source.execute(f"SELECT {columns} FROM {table} WHERE id = ?", (id,)).fetchone()


def _changed_rows(source: sqlite3.Connection, connection: sqlite3.Connection, table: str) -> list[RowId]:
    """Return the ids of our own rows that a copy has with other values, in columns that do not change."""
    columns = ", ".join(fixed_columns(source, connection, table))
    sql = f"SELECT id, {columns} FROM {table} WHERE {_OWNERS[table]} NOT IN ({_NOT_OWN}) ORDER BY id"
    # Not the rows themselves: there may be many.
    originals = {row[0]: hash(row) for row in source.execute(sql)}
    return [row[0] for row in connection.execute(sql) if originals.get(row[0], hash(row)) != hash(row)]


def fixed_columns(source: sqlite3.Connection, connection: sqlite3.Connection, table: str) -> Sequence[str]:
    """Return the columns of both that do not change, without the id."""
    there = {row[1] for row in source.execute(f"PRAGMA table_info({table})")}
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[1] in there]
    fixed = _OF_CONVERSATIONS if table == "conversations" else {*names} - _MUTABLE
    return [name for name in names if name in fixed and name != "id"]
