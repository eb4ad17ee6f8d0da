"""A connection to a SQLite file that may be damaged: every failure is an error of SQLite.

SQLite quotes names of the schema in its messages. Where damage has made one invalid as UTF-8, Python raises
a `UnicodeDecodeError` instead of the error that it cannot read.
"""

import sqlite3
from collections.abc import Iterable
from os import PathLike
from typing import Any


class SQLiteConnection(sqlite3.Connection):
    """A connection of which every statement raises only errors of SQLite."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Run a statement.

        Raises:
            sqlite3.Error: it fails, also where the schema has names that are no text.
        """
        try:
            return super().execute(sql, parameters)
        except UnicodeDecodeError as exc:
            raise _damage(exc) from exc

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> sqlite3.Cursor:
        """Run a statement for each of the parameters.

        Raises:
            sqlite3.Error: as `execute`.
        """
        try:
            return super().executemany(sql, parameters)
        except UnicodeDecodeError as exc:
            raise _damage(exc) from exc

    def backup(self, target: sqlite3.Connection, **options: Any) -> None:
        """Copy the pages to `target`.

        Raises:
            sqlite3.Error: as `execute`.
        """
        try:
            super().backup(target, **options)
        except UnicodeDecodeError as exc:
            raise _damage(exc) from exc


def connect(
    path: str | PathLike[str],
    *,
    timeout: float = 5.0,
    uri: bool = False,
    check_same_thread: bool = True,
) -> SQLiteConnection:
    """Open a database, with no transaction but those that are begun. Invalid bytes in a column are replaced:
    they must not make its whole row unreadable.

    Raises:
        sqlite3.Error: it cannot be opened.
    """
    connection = sqlite3.connect(
        path,
        timeout=timeout,
        isolation_level=None,
        check_same_thread=check_same_thread,
        factory=SQLiteConnection,
        uri=uri,
    )
    connection.text_factory = _decode
    return connection


def _damage(exc: UnicodeDecodeError) -> sqlite3.DatabaseError:
    damage = sqlite3.DatabaseError(_decode(exc.object))
    damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    damage.sqlite_errorname = "SQLITE_CORRUPT"
    return damage


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
