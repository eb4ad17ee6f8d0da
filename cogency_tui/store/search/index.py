"""The index file beside the store: derived, bound to one store, made anew whenever it does not fit.

Documents are gathered in slices: a few of one conversation, in the order in which they were stored. The
index knows for each gram which slices have it, and keeps a slice's folded text. A step of indexing is one
transaction, after which `state` says up to where everything is in it; whoever is killed has lost one step.
It is a file of its own, so that no append ever waits for it, and one process at a time writes it. SQLite
needs no extension for it.
"""

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from cogency_tui.store.search.folding import key
from cogency_tui.store.text import from_column, to_column

INDEX = "recall.db"
LOCK = "recall.lock"
BLOBS = "blobs"

VERSION = "3"
FACT = b"\xff"
"""Begins what is no gram: no UTF-8 has this byte. `t` and a tool's folded name, `e` for a failed output, or
`p` and which of so many groups a probe is in."""

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


@dataclass(frozen=True, slots=True)
class Extent:
    """Up to which event and which edit everything is in the index; `made` tells it from one made anew."""

    events: int = 0
    edits: int = 0
    made: str = ""


def group_of(probe: str) -> bytes:
    """What stands for a probe, and for a few others, in the index."""
    return FACT + b"p" + (crc32(key(probe)) & _GROUPS).to_bytes(2, "big")


def root_of(connection: sqlite3.Connection, conversation: str) -> str:
    """The conversation of the person's in which a sub-agent's stands, however deep; any other is its own."""
    row = connection.execute(_ROOT, (to_column(conversation),)).fetchone()
    return from_column(row[0]) if row else conversation


def identity_of(connection: sqlite3.Connection, schema: str = "main") -> str:
    """What tells this store from every other that ever was at its place."""
    row = connection.execute(f"SELECT applied FROM {schema}.migrations ORDER BY rowid LIMIT 1").fetchone()
    return repr(row[0]) if row else ""


def extent_of(connection: sqlite3.Connection, schema: str, identity: str) -> Extent:
    """How far the index attached as `schema` reaches; nowhere where it is none, or that of another store."""
    try:
        state = dict(connection.execute(f"SELECT name, value FROM {schema}.state").fetchall())
    except sqlite3.OperationalError:
        return Extent()
    if (state.get("version"), state.get("identity")) != (VERSION, identity):
        return Extent()
    return Extent(int(state["events"]), int(state["edits"]), state["made"])


def attached(connection: sqlite3.Connection, directory: Path) -> bool:
    """Attach the index to a connection to the store, as `recall`, if there is one."""
    path = directory / INDEX
    if not path.exists():
        return False
    connection.execute("ATTACH ? AS recall", (str(path),))
    return True
