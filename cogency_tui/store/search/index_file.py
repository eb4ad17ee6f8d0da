"""The index file beside the store: derived, bound to one store, rebuilt where it does not fit or is broken.

Documents are gathered in slices: a few of one conversation, in the order in which they were stored. For
each gram the index has the slices that contain it, and for each slice its folded text. A step of indexing
is one transaction, and `state` records the last event and edit that it covers; a killed process loses one
step. The index is a file of its own, so that no append ever waits for it, and one process at a time writes
it. SQLite needs no extension for it. Values that SQLite stores as bytes carry a checksum, so that damage
inside a row is noticed.
"""

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zlib import crc32

from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.database import companions, free_name, is_refusal, primary_code, size_of
from cogency_tui.store.search.folding import key

INDEX = "recall.db"
LOCK = "recall.lock"
BLOBS = "blobs"

VERSION = "4"
FACT = b"\xff"
"""First byte of a posting's key that is no gram: no UTF-8 has it. It precedes `t` and a tool's folded name,
`e` for a failed output, or `p` and the number of a group of probes."""

_GROUPS = 0xFFFF

SCHEMA = """
    CREATE TABLE state (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE members (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
    CREATE TABLE slices (
        number INTEGER PRIMARY KEY, member INTEGER NOT NULL, sources BLOB NOT NULL
    );
    CREATE INDEX slices_by_member ON slices (member);
    CREATE TABLE texts (number INTEGER PRIMARY KEY, text BLOB NOT NULL);
    CREATE TABLE blocks (block INTEGER PRIMARY KEY, members BLOB NOT NULL);
    CREATE TABLE postings (
        block INTEGER NOT NULL, gram BLOB NOT NULL, bits BLOB NOT NULL, PRIMARY KEY (block, gram)
    ) WITHOUT ROWID;
"""
TABLES = ("state", "members", "slices", "texts", "blocks", "postings")
_ROOT = """
    WITH RECURSIVE above (id, parent, call) AS (
        SELECT id, parent, call FROM conversations WHERE id = ?
        UNION ALL
        SELECT c.id, c.parent, c.call FROM conversations c JOIN above ON c.id = above.parent
        WHERE above.call IS NOT NULL
    )
    SELECT id FROM above WHERE call IS NULL
"""


DAMAGE = (sqlite3.Error, AttributeError, LookupError, TypeError, ValueError)
"""Errors that a damaged index can raise in its reader."""

_NO_DAMAGE = (
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
)
_SEAL = 4


@dataclass(frozen=True, slots=True)
class Extent:
    """The last event and edit up to which the index is complete; `made` distinguishes rebuilt indexes."""

    events: int = 0
    edits: int = 0
    made: str = ""


def group_of(probe: str) -> bytes:
    """Return the key of a probe's group, which it shares with a few others."""
    return FACT + b"p" + (crc32(key(probe)) & _GROUPS).to_bytes(2, "big")


def root_of(connection: sqlite3.Connection, conversation: str) -> str:
    """Return the user's conversation to which a sub-agent's belongs, at any depth; any other is its own."""
    row = connection.execute(_ROOT, (to_column(conversation),)).fetchone()
    return from_column(row[0]) if row else conversation


def identity_of(connection: sqlite3.Connection, schema: str = "main") -> str:
    """Return an id that distinguishes this store from every earlier one at its path."""
    row = connection.execute(f"SELECT applied FROM {schema}.migrations ORDER BY rowid LIMIT 1").fetchone()
    return repr(row[0]) if row else ""


def extent_of(connection: sqlite3.Connection, schema: str, identity: str) -> Extent:
    """Return the extent of the index attached as `schema`; empty where it is no index, or that of another
    store."""
    try:
        state = dict(connection.execute(f"SELECT name, value FROM {schema}.state").fetchall())
    except sqlite3.OperationalError:
        return Extent()
    if (state.get("version"), state.get("identity")) != (VERSION, identity):
        return Extent()
    return Extent(int(state["events"]), int(state["edits"]), state["made"])


def is_damage(exc: Exception) -> bool:
    """Return whether an error of `DAMAGE` means a damaged file, rather than a busy one or a full disk."""
    return not isinstance(exc, sqlite3.Error) or primary_code(exc) not in _NO_DAMAGE


def seal(data: bytes) -> bytes:
    """Add a checksum to `data` for a column of the index."""
    return crc32(data).to_bytes(_SEAL, "big") + data


def unseal(value: Any) -> bytes:
    """Verify a sealed column, and return its data.

    Raises:
        ValueError: it is damaged.
    """
    if not isinstance(value, bytes) or crc32(value[_SEAL:]).to_bytes(_SEAL, "big") != value[:_SEAL]:
        raise ValueError("a row of the search index is damaged")
    return value[_SEAL:]


def text_of_slice(connection: sqlite3.Connection, slice: int) -> bytes:
    """Return the folded text of a slice of the attached index."""
    return unseal(
        connection.execute("SELECT text FROM recall.texts WHERE number = ?", (slice,)).fetchone()[0]
    )


def discard(directory: Path) -> None:
    """Remove the index: the store has all of its content. A directory in its place is moved aside.

    Raises:
        OSError: it cannot be removed.
    """
    for name in (INDEX, f"{INDEX}-wal", f"{INDEX}-shm"):
        path = directory / name
        if path.is_dir() and not path.is_symlink():
            path.rename(free_name(path))
        else:
            path.unlink(missing_ok=True)


def attached(connection: sqlite3.Connection, directory: Path) -> bool:
    """Attach the index to a connection to the store, as `recall`; return whether there is one that can be
    used: where nothing can be written, none of which a part is in its WAL."""
    path = directory / INDEX
    if not path.exists():
        return False
    try:
        connection.execute("ATTACH ? AS recall", (str(path),))
    except sqlite3.OperationalError as exc:
        if not is_refusal(exc):
            raise
        if size_of(companions(path)[0]):
            return False
        connection.execute("ATTACH ? AS recall", (f"file:{quote(str(path))}?mode=ro&immutable=1",))
    return True
