"""What this machine knows about sharing: which projects are shared, what was pushed, and how it goes.

A file of its own beside the store, so that nothing here waits for the store or delays it. Positions are of
one database (its identity): another one begins anew. What is withdrawn from one is pushed to no other. What
is lost here is pushed again, and changes nothing there.
"""

import os
import sqlite3
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import msgspec

from cogency_tui import private_files
from cogency_tui.config.worktree_paths import is_worktree
from cogency_tui.errors import CogencyError, HistoryServerError, StoreError
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.increments import START, Position
from cogency_tui.store.project_scope import main_projects
from cogency_tui.store.sqlite_connection import connect

FILE = "team.db"
WORKER_LOCK = "team.lock"
"""Held by the worker of the data directory."""

Audience = Literal["own", "project", "team"]
AUDIENCES: Mapping[Audience, str] = {
    "own": "only you, on any machine",
    "project": "the members of the project",
    "team": "everyone in the database",
}
"""Who sees what is shared, in words."""

_TABLES = """
CREATE TABLE IF NOT EXISTS shares
    (project TEXT PRIMARY KEY, name TEXT NOT NULL, audience TEXT NOT NULL, since REAL NOT NULL);
CREATE TABLE IF NOT EXISTS declined (project TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ending (project TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pushed
    (server TEXT, id TEXT, position TEXT NOT NULL, revision INTEGER NOT NULL, name TEXT NOT NULL,
     audience TEXT NOT NULL, PRIMARY KEY (server, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS withdrawn
    (server TEXT, id TEXT, state TEXT NOT NULL, with_project INTEGER NOT NULL, PRIMARY KEY (server, id))
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pulled
    (server TEXT, origin TEXT, id TEXT, revision INTEGER NOT NULL, PRIMARY KEY (server, origin, id))
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS allowed_forks (id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS servers (url TEXT PRIMARY KEY, server TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS refusals
    (project TEXT PRIMARY KEY, failure TEXT NOT NULL, is_whole INTEGER NOT NULL, waiting INTEGER NOT NULL)
    WITHOUT ROWID;
DROP TABLE IF EXISTS worker;
CREATE TABLE IF NOT EXISTS work
    (one INTEGER PRIMARY KEY CHECK (one = 1), at REAL NOT NULL, waiting INTEGER NOT NULL,
     error TEXT NOT NULL, contact REAL NOT NULL, is_offline INTEGER NOT NULL);
"""

_HAS_WORK = (
    "SELECT EXISTS (SELECT 1 FROM shares) OR EXISTS (SELECT 1 FROM pulled)"
    " OR EXISTS (SELECT 1 FROM withdrawn WHERE state <> 'gone') OR EXISTS (SELECT 1 FROM ending)"
)


WithdrawalState = Literal["waits", "gone", "returns"]
"""A withdrawal waits for the server, is done, or is to be reverted."""


class Share(NamedTuple):
    """A project that the user shares: its directory, its name for others, and who sees it."""

    project: str
    name: str
    audience: Audience
    since: float


class Pushed(NamedTuple):
    """How much of a conversation is there, and how it is shared there."""

    position: Position = START
    revision: int = 0
    name: str = ""
    audience: str = ""


class Refusal(NamedTuple):
    """What the database does not accept of a project, and why: the `is_whole` project, because of the user's
    rights, or single conversations; and how many of these."""

    failure: str
    is_whole: bool
    waiting: int = 0


class WorkerState(NamedTuple):
    """How the worker does: conversations that wait, the last failure (empty if none since the last success),
    the time of the last contact, and whether the database is out of reach since."""

    at: float
    waiting: int
    error: str
    contact: float
    is_offline: bool = False


class LocalState:
    """The state in a data directory. Several processes may use it at once.

    Raises:
        StoreError: from all methods, if the file cannot be used.
    """

    def __init__(self, data: Path) -> None:
        self.data = data
        self.path = data / FILE
        with self._failures():
            if not self.path.exists():
                private_files.make_directory(data)
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
            self._connection = connect(self.path, timeout=10, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.executescript(_TABLES)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    # Shares

    def shares(self) -> list[Share]:
        """Return the shared projects."""
        rows = self._rows("SELECT project, name, audience, since FROM shares ORDER BY project")
        return [
            Share(from_column(project), name, cast("Audience", audience), since)
            for project, name, audience, since in rows
        ]

    def share(self, project: str, name: str, audience: Audience) -> None:
        """Note the user's yes to sharing a project, or to sharing it in another way."""
        sql = (
            "INSERT INTO shares VALUES (?, ?, ?, ?) ON CONFLICT (project) DO UPDATE SET"
            " name = excluded.name, audience = excluded.audience"
        )
        with self._transaction():
            self._write(sql, to_column(project), name, audience, time.time())
            self._write("DELETE FROM ending WHERE project = ?", to_column(project))

    def unshare(self, project: str, *, withdrawing: bool = False) -> bool:
        """Note that a project is no longer shared, and whether its conversations are to be withdrawn once no
        push that is under way sends more of them; return whether it was shared."""
        with self._transaction():
            if withdrawing:
                self._write("INSERT OR IGNORE INTO ending VALUES (?)", to_column(project))
            return self._write("DELETE FROM shares WHERE project = ?", to_column(project)) > 0

    def ending(self) -> list[str]:
        """Return the projects whose conversations are still to be withdrawn."""
        return [from_column(project) for (project,) in self._rows("SELECT project FROM ending")]

    def withdraw_ended(self, project: str, server: str, ids: Iterable[str]) -> bool:
        """Note that these conversations of an ending project are to be withdrawn, as `withdraw` does; return
        False, and note nothing, if it is shared again."""
        with self._transaction():
            is_ending = self._write("DELETE FROM ending WHERE project = ?", to_column(project)) > 0
            if is_ending:
                self._note_withdrawals(server, ids, with_project=True)
        return is_ending

    def decline(self, project: str) -> None:
        """Note that the user does not want to be asked about a project."""
        self._write("INSERT OR IGNORE INTO declined VALUES (?)", to_column(project))

    def is_declined(self, project: str) -> bool:
        """Return whether the user does not want to be asked about a project."""
        return bool(self._rows("SELECT 1 FROM declined WHERE project = ?", to_column(project)))

    @property
    def has_work(self) -> bool:
        """True if there is something for the worker to do: a project is shared, a conversation was pulled, or
        is to be withdrawn."""
        (found,) = self._rows(_HAS_WORK)[0]
        return bool(found)

    # Positions

    def server(self, url: str) -> str:
        """Return the identity of the database at an address, as far as known."""
        rows = self._rows("SELECT server FROM servers WHERE url = ?", url)
        return rows[0][0] if rows else ""

    def note_server(self, url: str, server: str) -> None:
        """Note the identity of the database at an address."""
        if self.server(url) != server:
            self._write("INSERT OR REPLACE INTO servers VALUES (?, ?)", url, server)

    def pushed(self, server: str) -> dict[str, Pushed]:
        """Return what was pushed, by conversation."""
        sql = "SELECT id, position, revision, name, audience FROM pushed WHERE server = ?"
        found: dict[str, Pushed] = {}
        for id, position, revision, name, audience in self._rows(sql, server):
            with suppress(msgspec.DecodeError):
                decoded = msgspec.json.decode(position, type=Position)
                found[id] = Pushed(decoded, revision, name, audience)
        return found

    def pushed_anywhere(self) -> set[str]:
        """Return the conversations that were pushed to any server."""
        return {id for (id,) in self._rows("SELECT id FROM pushed")}

    def note_pushed(self, server: str, id: str, pushed: Pushed) -> None:
        """Note what the server has committed."""
        position = msgspec.json.encode(pushed.position).decode()
        sql = "INSERT OR REPLACE INTO pushed VALUES (?, ?, ?, ?, ?, ?)"
        self._write(sql, server, id, position, pushed.revision, pushed.name, pushed.audience)

    def forget_pushed(self, server: str, id: str) -> None:
        """Begin a conversation anew: the server has less of it than it had."""
        self._write("DELETE FROM pushed WHERE server = ? AND id = ?", server, id)

    def withdrawn(self, server: str, state: WithdrawalState) -> set[str]:
        """Return the withdrawn conversations in a state at a server."""
        sql = "SELECT id FROM withdrawn WHERE server = ? AND state = ?"
        return {id for (id,) in self._rows(sql, server, state)}

    def count_withdrawing(self) -> int:
        """Count the conversations that are still to be withdrawn."""
        return self._rows("SELECT count(DISTINCT id) FROM withdrawn WHERE state = 'waits'")[0][0]

    def count_withdrawn(self) -> int:
        """Count the conversations that are withdrawn."""
        return self._rows("SELECT count(DISTINCT id) FROM withdrawn WHERE state = 'gone'")[0][0]

    def hidden(self, *, with_projects: bool = True) -> set[str]:
        """Return the conversations that are not pushed to any server: those that are withdrawn from one;
        with or without those that return with their project."""
        sql = "SELECT id FROM withdrawn WHERE state <> 'returns' AND with_project <= ?"
        return {id for (id,) in self._rows(sql, with_projects)}

    def withdraw(self, server: str, ids: Iterable[str], *, with_project: bool = False) -> None:
        """Note that conversations are to be withdrawn from a server, which is unknown if empty, and from
        those that they were pushed to; `with_project`: because their project is no longer shared, until it is
        again."""
        with self._transaction():
            self._note_withdrawals(server, ids, with_project=with_project)

    def _note_withdrawals(self, server: str, ids: Iterable[str], *, with_project: bool) -> None:
        sql = (
            "INSERT INTO withdrawn SELECT server, ?2, 'waits', ?3 FROM"
            " (SELECT ?1 AS server UNION SELECT server FROM pushed WHERE id = ?2) WHERE true"
            " ON CONFLICT (server, id) DO UPDATE SET state = 'waits', with_project = excluded.with_project"
            " WHERE state = 'returns'"
        )
        for id in ids:
            self._write(sql, server, id, with_project)
            self._write("DELETE FROM allowed_forks WHERE id = ?", id)

    def allow_fork(self, id: str) -> None:
        """Note that the user sends a fork whose text is another's, or withdrawn, until it is withdrawn."""
        self._write("INSERT OR IGNORE INTO allowed_forks VALUES (?)", id)

    def allowed_forks(self) -> set[str]:
        """Return the forks that are sent although their text is another's, or withdrawn."""
        return {id for (id,) in self._rows("SELECT id FROM allowed_forks")}

    def note_identity(self, server: str) -> None:
        """Note for a server what is to be withdrawn from one that was unknown."""
        if self.withdrawn("", "waits"):
            with self._transaction():
                self._write("UPDATE OR IGNORE withdrawn SET server = ? WHERE server = ''", server)
                self._write("DELETE FROM withdrawn WHERE server = ''")

    def note_withdrawn(self, server: str, id: str) -> None:
        """Note that a conversation is gone there."""
        with self._transaction():
            self._write("INSERT OR IGNORE INTO withdrawn VALUES (?, ?, 'gone', 0)", server, id)
            self._write("UPDATE withdrawn SET state = 'gone' WHERE server = ? AND id = ?", server, id)
            self.forget_pushed(server, id)

    def bring_back(self, ids: Iterable[str], *, with_project: bool = False) -> None:
        """Note that withdrawn conversations may be pushed again; `with_project` as for `withdraw`."""
        sql = "UPDATE withdrawn SET state = 'returns' WHERE id = ? AND with_project >= ?"
        with self._transaction():
            for id in ids:
                self._write(sql, id, with_project)

    def note_returned(self, server: str, id: str) -> None:
        """Note that a conversation may be pushed again."""
        self._write("DELETE FROM withdrawn WHERE server = ? AND id = ?", server, id)

    def pulled(self, server: str) -> dict[tuple[str, str], int]:
        """Return the revisions of others' conversations that were pulled, by origin and id."""
        sql = "SELECT origin, id, revision FROM pulled WHERE server = ?"
        return {(origin, id): revision for origin, id, revision in self._rows(sql, server)}

    def note_pulled(self, server: str, origin: str, id: str, revision: int) -> None:
        """Note that a conversation of another's was pulled."""
        self._write("INSERT OR REPLACE INTO pulled VALUES (?, ?, ?, ?)", server, origin, id, revision)

    def note_renewal(self, server: str, origin: str, ceded: Iterable[str], withdrawn: Iterable[str]) -> None:
        """Note that our origin is a new one, of which nothing was pushed: conversations that belong to the
        former, `origin`, and what was withdrawn of it."""
        with self._transaction():
            self._write("DELETE FROM pushed")
            for id in ceded:
                self._write("INSERT OR IGNORE INTO pulled VALUES (?, ?, ?, 0)", server, origin, id)
            for id in withdrawn:
                self._write("INSERT OR IGNORE INTO withdrawn VALUES (?, ?, 'gone', 0)", server, id)

    # The worker

    def worker(self) -> WorkerState | None:
        """Return how the worker does; None before it has ever run."""
        rows = self._rows("SELECT at, waiting, error, contact, is_offline FROM work")
        for at, waiting, error, contact, is_offline in rows:
            return WorkerState(at, waiting, error, contact, bool(is_offline))
        return None

    def note_worker(self, waiting: int, error: str, *, contact: bool, is_offline: bool = False) -> None:
        """Note how the worker does."""
        now = time.time()
        self._write(
            "INSERT INTO work VALUES (1, ?1, ?2, ?3, iif(?4, ?1, 0), ?5) ON CONFLICT (one) DO UPDATE SET"
            " at = ?1, waiting = ?2, error = ?3, contact = iif(?4, ?1, contact), is_offline = ?5",
            *(now, waiting, error, contact, is_offline),
        )

    def note_failure(self, waiting: int, error: CogencyError) -> None:
        """Note that the worker cannot use the database. One that refuses it is not out of reach."""
        is_offline = isinstance(error, HistoryServerError) and error.passing
        self.note_worker(waiting, error.advice, contact=False, is_offline=is_offline)

    def refusals(self) -> dict[str, Refusal]:
        """Return what the database did not accept in the last push, by project."""
        rows = self._rows("SELECT project, failure, is_whole, waiting FROM refusals")
        return {from_column(row[0]): Refusal(row[1], bool(row[2]), row[3]) for row in rows}

    def note_refusals(
        self, refusals: Mapping[str, Refusal], *, projects: Iterable[str] | None = None
    ) -> None:
        """Note what the database does not accept, of these projects or of all."""
        with self._transaction():
            if projects is None:
                self._write("DELETE FROM refusals")
            for project in projects or ():
                self._write("DELETE FROM refusals WHERE project = ?", to_column(project))
            for project, refusal in refusals.items():
                self._write("INSERT INTO refusals VALUES (?, ?, ?, ?)", to_column(project), *refusal)

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self._failures():
            return self._connection.execute(sql, values).fetchall()

    def _write(self, sql: str, *values: object) -> int:
        with self._failures():
            return self._connection.execute(sql, values).rowcount

    @contextmanager
    def _transaction(self) -> Generator[None]:
        with self._failures():
            self._connection.execute("BEGIN IMMEDIATE")
            with self._connection:
                yield

    @contextmanager
    def _failures(self) -> Generator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as exc:
            hint = "It only says what was shared: it can be removed, and projects shared anew."
            raise StoreError(f"{self.path} cannot be used: {exc}.", hint) from exc


@contextmanager
def opened_state(data: Path) -> Generator[LocalState]:
    """Open the state in a data directory for a moment.

    Raises:
        StoreError: the file cannot be used.
    """
    state = LocalState(data)
    try:
        yield state
    finally:
        state.close()


def is_private(project: str, patterns: Iterable[str]) -> bool:
    """Return whether a project is one that the patterns name, or is below one."""
    for pattern in patterns:
        given = str(Path(pattern).expanduser())
        head, _, rest = given.rpartition("/")
        for each in {given, f"{os.path.realpath(head)}/{rest}", os.path.realpath(given)}:
            if fnmatchcase(project, each) or fnmatchcase(project, f"{each.rstrip('/')}/*"):
                return True
    return False


def shared_projects(
    data: Path, shares: Iterable[Share], projects: Iterable[str], patterns: Iterable[str]
) -> dict[str, Share]:
    """Return the share of each of these directories that is shared and not private. A worktree is shared with
    its project, and private with it."""
    by_project = {share.project: share for share in shares}
    patterns = list(patterns)
    found: dict[str, Share] = {}
    mains = main_projects(data, [*projects, *by_project])
    for project in projects:
        main = mains[project]
        share = by_project.get(main)
        unknown = is_worktree(data, project) and main == project
        if share and not unknown and not any(is_private(each, patterns) for each in (project, main)):
            found[project] = share
    return found
