"""The schema's history: named steps, in order, each applied once and recorded with its time.

Steps are only ever added at the end; one that was released is never changed. A database that
records a step which is not here was made by a newer program, and is not touched.
"""

import sqlite3
import time
from typing import Protocol


class Migration(Protocol):
    """One step; its name is what the database records."""

    @property
    def __name__(self) -> str: ...

    def __call__(self, connection: sqlite3.Connection) -> None: ...


class NewerSchemaError(Exception):
    """The database has steps that this program does not know."""

    def __init__(self, found: int, known: int, unknown: list[str]) -> None:
        super().__init__(f"it is at version {found} ({', '.join(unknown)}), this program knows {known}")


def create_conversations(connection: sqlite3.Connection) -> None:
    """What the list of conversations shows, kept current by every append."""
    connection.execute(
        """
        CREATE TABLE conversations (
            id TEXT PRIMARY KEY,
            project TEXT NOT NULL,
            title TEXT NOT NULL DEFAULT '',
            dialect TEXT NOT NULL,
            provider TEXT NOT NULL,
            model TEXT NOT NULL,
            created REAL NOT NULL,
            updated REAL NOT NULL,
            turns INTEGER NOT NULL DEFAULT 0,
            tokens INTEGER NOT NULL DEFAULT 0,
            cost REAL NOT NULL DEFAULT 0,
            parent TEXT REFERENCES conversations (id)
        ) WITHOUT ROWID
        """
    )
    connection.execute("CREATE INDEX conversations_by_update ON conversations (updated, id)")
    connection.execute("CREATE INDEX conversations_by_project ON conversations (project, updated, id)")


def create_events(connection: sqlite3.Connection) -> None:
    """The conversations themselves; `unit` is the id of a think or respond unit, or of a call."""
    connection.execute(
        """
        CREATE TABLE events (
            seq INTEGER PRIMARY KEY,
            conversation_id TEXT NOT NULL REFERENCES conversations (id),
            type TEXT NOT NULL,
            timestamp REAL NOT NULL,
            unit TEXT,
            body TEXT NOT NULL
        )
        """
    )
    connection.execute("CREATE INDEX events_by_conversation ON events (conversation_id)")


def create_drafts(connection: sqlite3.Connection) -> None:
    """Pieces of units that are still streaming, under the process that writes them."""
    connection.execute(
        """
        CREATE TABLE drafts (
            seq INTEGER PRIMARY KEY,
            conversation_id TEXT NOT NULL REFERENCES conversations (id),
            unit TEXT NOT NULL,
            type TEXT NOT NULL CHECK (type IN ('think', 'respond')),
            timestamp REAL NOT NULL,
            pid INTEGER NOT NULL,
            started TEXT NOT NULL,
            text TEXT NOT NULL
        )
        """
    )
    connection.execute("CREATE INDEX drafts_by_unit ON drafts (conversation_id, unit)")


def create_usage(connection: sqlite3.Connection) -> None:
    """A row a cycle: what is summed has a column, `body` is the whole measure."""
    connection.execute(
        """
        CREATE TABLE usage (
            id INTEGER PRIMARY KEY,
            conversation_id TEXT NOT NULL REFERENCES conversations (id),
            timestamp REAL NOT NULL,
            input INTEGER,
            output INTEGER,
            duration REAL,
            cached INTEGER,
            billed_input INTEGER,
            replay_input INTEGER,
            cost REAL,
            body TEXT NOT NULL
        )
        """
    )
    connection.execute("CREATE INDEX usage_by_conversation ON usage (conversation_id)")


def add_call_to_conversations(connection: sqlite3.Connection) -> None:
    """Which call of the parent started a conversation: a sub-agent's has one, a fork has none."""
    connection.execute("ALTER TABLE conversations ADD COLUMN call TEXT")
    connection.execute(
        "CREATE INDEX conversations_by_parent ON conversations (parent, created) WHERE call IS NOT NULL"
    )


def create_relics(connection: sqlite3.Connection) -> None:
    """What agents keep for a project: values under keys, gone when they expire, and a log."""
    connection.execute(
        """
        CREATE TABLE relic_values (
            project TEXT NOT NULL,
            key TEXT NOT NULL,
            value TEXT NOT NULL,
            expires REAL,
            PRIMARY KEY (project, key)
        ) WITHOUT ROWID
        """
    )
    connection.execute(
        "CREATE INDEX relic_values_by_expiry ON relic_values (expires) WHERE expires IS NOT NULL"
    )
    connection.execute(
        """
        CREATE TABLE relic_log (
            seq INTEGER PRIMARY KEY,
            project TEXT NOT NULL,
            timestamp REAL NOT NULL,
            entry TEXT NOT NULL
        )
        """
    )
    connection.execute("CREATE INDEX relic_log_by_project ON relic_log (project)")


MIGRATIONS: tuple[Migration, ...] = (
    create_conversations,
    create_events,
    create_drafts,
    create_usage,
    add_call_to_conversations,
    create_relics,
)


def pending(connection: sqlite3.Connection) -> list[Migration]:
    """The steps that the database lacks, in order; altering nothing.

    Raises:
        NewerSchemaError: a newer program made it.
    """
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'").fetchone():
        return list(MIGRATIONS)
    applied: list[str] = [
        name for (name,) in connection.execute("SELECT name FROM migrations ORDER BY rowid")
    ]
    known = [step.__name__ for step in MIGRATIONS]
    if unknown := [name for name in applied if name not in known]:
        raise NewerSchemaError(len(applied), len(known), unknown)
    return [step for step in MIGRATIONS if step.__name__ not in applied]


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the database up to date, a transaction a step; several processes may do so at once.

    Raises:
        NewerSchemaError: as `pending`.
    """
    for step in pending(connection):
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            # Another process may have been faster while this one waited for the lock.
            if step not in pending(connection):
                continue
            connection.execute(
                "CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, applied REAL NOT NULL)"
            )
            step(connection)
            connection.execute("INSERT INTO migrations VALUES (?, ?)", (step.__name__, time.time()))
