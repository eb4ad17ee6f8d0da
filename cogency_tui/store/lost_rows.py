"""Rows that a damaged store has lost, from its copies.

Only a table that can be read as a whole proves that a row was deleted: to any other, the rows that a copy has
are added. A copy is used if it was made of this store.
"""

import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress

from cogency_tui.store import event_chain
from cogency_tui.store.copy_checks import CheckedCopy
from cogency_tui.store.migrations import pending
from cogency_tui.store.recovery import Recovered, row_reader

_FILLED = (
    *("conversations", event_chain.TABLE, "edits", "edit_marks", "merged_edits", "shared_edits", "usage"),
    *("summaries", "pins", "answer_items", "request_frames", "requests", "review_actions", "profile_facts"),
    *("relic_values", "relic_log", "origins", "origin_secrets", "former_origins"),
    *("imported_originals", "foreign_usage"),
)
"""Tables that copies fill, those that others refer to first. Events follow by their chain; the state of what
runs or is exchanged is not that of a copy."""

_SAMPLE = 500
"""Events by which a copy is compared where its origin is not known."""


def fill(target: sqlite3.Connection, found: Recovered, copies: Iterable[CheckedCopy]) -> None:
    """Add the rows of the copies that incomplete tables lack, in the caller's transaction; nothing to a
    database that has no history left, which a copy replaces as a whole."""
    tables = ("conversations", "events", event_chain.TABLE)
    if any(target.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in tables):
        for copy in copies:
            _fill(target, copy, found)


def _fill(target: sqlite3.Connection, copy: CheckedCopy, found: Recovered) -> None:
    with suppress(sqlite3.DatabaseError), closing(copy.open()) as source:
        if pending(source) or not _is_of(source, target):
            return
        for name in [name for name in _FILLED if name in found.incomplete]:
            if name != event_chain.TABLE or _agrees(source, target):
                count = _fill_table(source, target, name)
                if count:
                    found.filled.setdefault(copy.path, {})[name] = count


def _fill_table(source: sqlite3.Connection, target: sqlite3.Connection, name: str) -> int:
    columns = [row[1] for row in target.execute(f"PRAGMA table_info({name})")]
    readable = row_reader(target, name, columns)
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    count = 0
    for row in source.execute(f"SELECT {names} FROM {name} NOT INDEXED"):
        if readable(row):
            count += target.execute(f"INSERT OR IGNORE INTO {name} ({names}) VALUES ({marks})", row).rowcount
    return count


def _is_of(source: sqlite3.Connection, target: sqlite3.Connection) -> bool:
    """Return whether a copy was made of the store that is recovered: it has its origin, or its events."""
    ids = "SELECT id FROM origins"
    if ours := {id for (id,) in target.execute(ids)}:
        return {id for (id,) in source.execute(f"{ids} WHERE own")} <= ours
    first = f"SELECT seq, conversation_id, type, timestamp FROM events ORDER BY seq LIMIT {_SAMPLE}"
    known = {row[0]: row for row in source.execute(first)}
    shared = [known[row[0]] == row for row in target.execute(first) if row[0] in known]
    return not shared or sum(shared) * 2 > len(shared)


def _agrees(source: sqlite3.Connection, target: sqlite3.Connection) -> bool:
    """Return whether the chain of a copy has the digests that are left of the target's."""
    entries = f"SELECT seq, digest FROM {event_chain.TABLE}"
    known = dict(target.execute(entries).fetchall())
    return all(known.get(seq, digest) == digest for seq, digest in source.execute(entries))
