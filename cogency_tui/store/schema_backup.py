"""A copy of the schema in a file beside the database: a repair locates the tables by it when the database's
own schema cannot be read.

The file is a line with the digest of the rest, and JSON. It is valid only for the version of the schema
that it names, so that root pages from before a rebuild are never used. A damaged or missing file is not
used.
"""

import json
import sqlite3
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import TypedDict, cast

from cogency_tui import private_files
from cogency_tui.store.sqlite_connection import connect

_COUNTS = slice(28, 40)
"""Bytes of a database's header with its number of pages, zero for "as long as the file is", and its free
ones."""


class _Schema(TypedDict):
    version: int
    page_size: int
    rows: list[tuple[str, str, str, int, str | None]]


def path_of(database: Path) -> Path:
    """Return the file with the copy."""
    return database.with_name(f"{database.name}.schema")


def store(connection: sqlite3.Connection, database: Path) -> None:
    """Write the copy if it differs, as far as the disk permits.

    Raises:
        sqlite3.Error: the schema cannot be read.
    """
    # The version first: a change in between makes the copy invalid.
    (version,) = connection.execute("PRAGMA schema_version").fetchone()
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    rows = connection.execute("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema ORDER BY rowid")
    body = json.dumps(_Schema(version=version, page_size=page_size, rows=rows.fetchall())).encode()
    data = _digest(body) + b"\n" + body
    path = path_of(database)
    with suppress(OSError):
        if not path.exists() or path.read_bytes() != data:
            temporary = path.with_name(f"{path.name}.new")
            private_files.write_file(temporary, data)
            temporary.replace(path)


def restore(database: Path, source: Path) -> bool:
    """Replace the schema of the damaged `database` by the copy in the file `source`; return whether the
    copy is valid.

    Raises:
        OSError, sqlite3.Error: `database` cannot be written.
    """
    schema = _read(source)
    if schema is None or _version(database) not in (None, schema["version"]):
        return False
    with database.open("r+b") as file:
        file.write(_empty_first_page(schema["page_size"]))
    with closing(connect(database)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            connection.executemany("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", schema["rows"])
    return True


def _read(path: Path) -> _Schema | None:
    try:
        digest, _, body = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return cast("_Schema", json.loads(body)) if digest == _digest(body) else None


def _digest(body: bytes) -> bytes:
    return sha256(body).hexdigest().encode()


def _version(database: Path) -> int | None:
    """Return the version of the schema, None where the first page is damaged; this checkpoints the WAL."""
    try:
        with closing(connect(database)) as connection:
            (version,) = connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.DatabaseError:
        return None
    return version


def _empty_first_page(size: int) -> bytes:
    """Return the first page of a database of any length, with an empty schema."""
    with closing(connect(":memory:")) as fresh:
        fresh.execute(f"PRAGMA page_size = {size}")
        # Writes the page, which an untouched database does not have.
        fresh.execute("PRAGMA user_version = 0")
        page = bytearray(fresh.serialize())
    page[_COUNTS] = bytes(_COUNTS.stop - _COUNTS.start)
    return bytes(page)
