"""The stores whose conversations are here: our own, and those of other machines and people.

A conversation has one owner, the store in which it began: only that appends to it. Here the conversations of
others have `@` and the id of their origin as their source, and can be read and forked.
"""

import getpass
import hmac
import secrets
import socket
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple

from cogency_tui.store.column_text import from_column, to_column

PREFIX = "@"
"""The first character of a source that is an origin."""

COPIED = "This history is a copy of another machine's. From now on it has an owner of its own."
_ID_BYTES = 10
_SECRET_BYTES = 32
LONGEST_NAME = 100


class Origin(NamedTuple):
    """A store: its id, 20 hexadecimal digits, and its name for users, such as `ada@laptop`."""

    id: str
    name: str


def create(connection: sqlite3.Connection) -> None:
    """Create the table of origins, with our own."""
    connection.execute(
        "CREATE TABLE origins (id TEXT PRIMARY KEY, name TEXT NOT NULL, own INTEGER NOT NULL) WITHOUT ROWID"
    )
    connection.execute("CREATE UNIQUE INDEX own_origin ON origins (own) WHERE own")
    _insert(connection)


def create_secrets(connection: sqlite3.Connection) -> None:
    """Create the secrets of the origins that are or were ours, the former origins of each store, and the
    originals of conversations that were imported from exports of other stores."""
    connection.execute(
        "CREATE TABLE origin_secrets (origin TEXT PRIMARY KEY, secret BLOB NOT NULL) WITHOUT ROWID"
    )
    connection.execute(
        "CREATE TABLE former_origins (origin TEXT NOT NULL, former TEXT NOT NULL,"
        " PRIMARY KEY (origin, former)) WITHOUT ROWID"
    )
    connection.execute(
        "CREATE TABLE imported_originals (conversation TEXT PRIMARY KEY, origin TEXT NOT NULL,"
        " original TEXT NOT NULL) WITHOUT ROWID"
    )
    connection.execute("CREATE INDEX imports_by_original ON imported_originals (origin, original)")
    # Copies of the store that exist already have the same times, which no other store knows.
    times = connection.execute("SELECT name, applied FROM migrations ORDER BY rowid").fetchall()
    for (id,) in connection.execute("SELECT id FROM origins WHERE own").fetchall():
        _store_secret(connection, id, sha256(repr((id, times)).encode()).digest())


def renew(connection: sqlite3.Connection) -> Origin:
    """Give our store a new origin: it is a copy of another one. The conversations so far stay ours."""
    sql = (
        "SELECT id FROM origins WHERE own UNION"
        " SELECT former FROM former_origins JOIN origins ON id = origin WHERE own"
    )
    former = [id for (id,) in connection.execute(sql).fetchall()]
    connection.execute("UPDATE origins SET own = 0")
    origin = _insert(connection)
    _store_secret(connection, origin.id, secrets.token_bytes(_SECRET_BYTES))
    for each in former:
        note_former(connection, origin.id, each)
    return origin


def own(connection: sqlite3.Connection) -> Origin:
    """Return our own origin."""
    row = connection.execute("SELECT id, name FROM origins WHERE own").fetchone()
    return Origin(row[0], from_column(row[1])) if row else renew(connection)


def proof(connection: sqlite3.Connection, id: str, text: str) -> str:
    """Return the proof that the store of an origin has written a text: only that and its copies can. Empty
    if the origin was never ours."""
    row = connection.execute("SELECT secret FROM origin_secrets WHERE origin = ?", (id,)).fetchone()
    return hmac.new(row[0], text.encode(), sha256).hexdigest() if row else ""


def note_former(connection: sqlite3.Connection, id: str, former: str) -> None:
    """Note that the store of an origin had another one before."""
    connection.execute("INSERT OR IGNORE INTO former_origins VALUES (?, ?)", (id, former))


def note_original(connection: sqlite3.Connection, conversation: str, origin: str, original: str) -> None:
    """Note the conversation of another store that an export was of."""
    connection.execute(
        "INSERT OR REPLACE INTO imported_originals VALUES (?, ?, ?)",
        (to_column(conversation), origin, to_column(original)),
    )


def original_of(connection: sqlite3.Connection, conversation: str) -> tuple[str, str]:
    """Return the origin and the id of the conversation that an export was of; empty for one that was not
    imported from another store."""
    sql = "SELECT origin, original FROM imported_originals WHERE conversation = ?"
    row = connection.execute(sql, (to_column(conversation),)).fetchone()
    return (row[0], from_column(row[1])) if row else ("", "")


def imports_of(connection: sqlite3.Connection, origin: str, original: str) -> list[str]:
    """Return the conversations here that exports of another store's were imported as."""
    sql = "SELECT conversation FROM imported_originals WHERE origin = ? AND original = ?"
    return [from_column(id) for (id,) in connection.execute(sql, (origin, to_column(original)))]


def former(connection: sqlite3.Connection, id: str) -> list[str]:
    """Return the origins that a store had before."""
    sql = "SELECT former FROM former_origins WHERE origin = ? ORDER BY former"
    return [found for (found,) in connection.execute(sql, (id,))]


def successors(connection: sqlite3.Connection, id: str) -> list[str]:
    """Return the later origins of copies of a store."""
    sql = "SELECT origin FROM former_origins WHERE former = ? ORDER BY origin"
    return [found for (found,) in connection.execute(sql, (id,))]


def note(connection: sqlite3.Connection, origin: Origin) -> None:
    """Store another origin, or its new name."""
    name = "".join(character for character in origin.name if character.isprintable())[:LONGEST_NAME]
    connection.execute(
        "INSERT INTO origins VALUES (?, ?, 0)"
        " ON CONFLICT (id) DO UPDATE SET name = excluded.name WHERE NOT own",
        (origin.id, to_column(name)),
    )


def names(connection: sqlite3.Connection) -> Mapping[str, str]:
    """Return the names of the other origins, by their sources."""
    rows = connection.execute("SELECT id, name FROM origins WHERE NOT own")
    return {f"{PREFIX}{id}": from_column(name) for id, name in rows}


def of_source(connection: sqlite3.Connection, source: str) -> str:
    """Return the origin of a conversation's source: ours of an empty one."""
    return source.removeprefix(PREFIX) or own(connection).id


def _insert(connection: sqlite3.Connection) -> Origin:
    origin = Origin(secrets.token_hex(_ID_BYTES), _own_name())
    connection.execute("INSERT INTO origins VALUES (?, ?, 1)", (origin.id, to_column(origin.name)))
    return origin


def _store_secret(connection: sqlite3.Connection, id: str, secret: bytes) -> None:
    connection.execute("INSERT INTO origin_secrets VALUES (?, ?)", (id, secret))


def _own_name() -> str:
    user = host = ""
    with suppress(OSError, KeyError):
        user = getpass.getuser()
    with suppress(OSError):
        host = socket.gethostname()
    return f"{user or 'someone'}@{host or 'somewhere'}"[:LONGEST_NAME]
