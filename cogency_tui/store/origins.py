"""The stores whose conversations are here: our own, and those of other machines and people.

A conversation has one owner, the store in which it began: only that appends to it. Here the conversations of
others have `@` and the id of their origin as their source, and can be read and forked.
"""

import getpass
import secrets
import socket
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from cogency_tui.store.column_text import from_column, to_column

PREFIX = "@"
"""The first character of a source that is an origin."""

COPIED = "This history is a copy of another machine's. From now on it has an owner of its own."
_ID_BYTES = 10
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
    renew(connection)


def renew(connection: sqlite3.Connection) -> Origin:
    """Give our store a new origin: it is a copy of another one. The conversations so far stay ours."""
    connection.execute("UPDATE origins SET own = 0")
    origin = Origin(secrets.token_hex(_ID_BYTES), _own_name())
    connection.execute("INSERT INTO origins VALUES (?, ?, 1)", (origin.id, to_column(origin.name)))
    return origin


def own(connection: sqlite3.Connection) -> Origin:
    """Return our own origin."""
    row = connection.execute("SELECT id, name FROM origins WHERE own").fetchone()
    return Origin(row[0], from_column(row[1])) if row else renew(connection)


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


def _own_name() -> str:
    user = host = ""
    with suppress(OSError, KeyError):
        user = getpass.getuser()
    with suppress(OSError):
        host = socket.gethostname()
    return f"{user or 'someone'}@{host or 'somewhere'}"[:LONGEST_NAME]
