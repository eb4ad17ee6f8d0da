"""The connection to the database: one worker thread, one file, atomic transactions.

Work is a plain function of the SQLite connection that runs from end to end on the worker: nothing blocks
the loop, tasks cannot interleave inside a transaction, and cancelling one never leaves it open. Errors of
SQLite and the file system become a `StoreError`, here and nowhere else.
"""

import asyncio
import errno
import os
import shutil
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Collection
from contextlib import closing, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import TypeVar, cast
from urllib.parse import quote

import aiosqlite

from cogency_tui import private_files
from cogency_tui.errors import StoreError
from cogency_tui.file_lock import file_lock
from cogency_tui.store import schema_backup, unseen_notices
from cogency_tui.store.file_access_errors import OTHER_DIRECTORY, find_obstacle, find_refusal
from cogency_tui.store.migrations import NewerSchemaError, migrate, pending
from cogency_tui.store.recovery import rebuilt
from cogency_tui.store.sqlite_connection import connect

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

FILE = "cogency.db"
LOCK = "cogency.lock"

_LEAST_FREE = 256 << 10
"""Free bytes on a disk below which an I/O error counts as a full disk."""

_OTHER_DIRECTORY = f"{OTHER_DIRECTORY[0].upper()}{OTHER_DIRECTORY[1:]}."
_FREE_SPACE = "Free some space there, or set COGENCY_DATA to a directory on another disk."
_NOT_WRITABLE = ("{path} cannot be written", _OTHER_DIRECTORY)
_FULL = ("The disk that holds {path} is full", _FREE_SPACE)
_LOCKED = ("{path} is locked by another process", "Quit any hung cogency-tui process, then try again.")
_DAMAGED = (
    "{path} is damaged",
    "Recover the readable part with `cogency-tui doctor --repair`; the damaged file is preserved.",
)
_GONE = (
    "{path} was removed or replaced while the program is running",
    "Restore it to continue, or restart cogency-tui: new data would be lost.",
)
_MISSING = ("{path} does not exist", "It is created when cogency-tui is first used.")
_OLDER = ("{path} was created by an older version of cogency-tui", "Start cogency-tui once to update it.")
_READ_ONLY = "{path} is read-only ({why}): new data is not stored. {hint}"

_READING = ("mode=rw", "mode=ro", "mode=ro&immutable=1")
"""Modes in which a database is opened for reading, the least restricted first."""

DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_REFUSAL_CODES = (sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
_REFUSAL_ERRNOS = (errno.EACCES, errno.EPERM, errno.EROFS)

_BY_SQLITE_CODE = {
    sqlite3.SQLITE_PERM: _NOT_WRITABLE,
    sqlite3.SQLITE_READONLY: _NOT_WRITABLE,
    sqlite3.SQLITE_CANTOPEN: ("{path} cannot be opened", _OTHER_DIRECTORY),
    sqlite3.SQLITE_IOERR: ("{path} cannot be read or written", "Check the disk. " + _OTHER_DIRECTORY),
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
}
_BY_ERRNO = {
    errno.EACCES: _NOT_WRITABLE,
    errno.EPERM: _NOT_WRITABLE,
    errno.EROFS: ("{path} is on a read-only file system", f"Remount it, or {OTHER_DIRECTORY}."),
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EEXIST: ("{path} is not a directory", _OTHER_DIRECTORY),
    errno.ENOTDIR: ("{path} cannot be created: its parent is not a directory", _OTHER_DIRECTORY),
}


class Database:
    """The user's database, open for this process; `read_only` where it cannot be written.

    `notices` report data that could not be used.

    Invariant: nothing is written to a file that is no longer at its path.
    """

    def __init__(self, directory: Path, patience: float) -> None:
        self.path = directory / FILE
        self.notices: list[str] = []
        self.read_only = False
        self._files: dict[Path, tuple[int, int]] = {}
        self._mended: bool | None = None
        self._patience = patience
        self._worker = threading.current_thread()
        self._connection: _Connection | None = None

    @classmethod
    async def open(cls, directory: Path, *, patience: float = 5.0) -> "Database":
        """Open `directory`/cogency.db, creating it if missing; wait `patience` seconds for other processes.

        Raises:
            StoreError: it cannot be used; no thread or handle is left.
        """
        database = cls(directory, patience)
        await database._start_whole(database._connect)
        return database

    @classmethod
    async def open_to_read(cls, directory: Path, *, patience: float = 5.0) -> "Database":
        """Open `directory`/cogency.db to read it alone: nothing is created, migrated, repaired or moved.
        SQLite may leave an empty WAL beside it.

        Raises:
            StoreError: there is none, it cannot be read, or another version of the program made it.
        """
        database = cls(directory, patience)
        database.read_only = True
        await database._start_whole(database._connect_to_read)
        return database

    async def close(self) -> None:
        """Finish pending work, close the file and end the worker. Repeated calls are allowed."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            await connection.close()
        except sqlite3.Error as exc:
            raise store_error(exc, self.path) from exc
        finally:
            self._worker.join()

    async def read(self, work: Work[T]) -> T:
        """Return the result of `work` on the connection; it must not write."""
        if self._connection is None:
            raise StoreError(f"{self.path} was closed.")
        try:
            return await self._connection.run(partial(self._run, work))
        except sqlite3.Error as exc:
            raise store_error(exc, self.path) from exc

    async def sync(self) -> None:
        """Sync all commits to the disk at once, so that they survive a power cut."""

        def work(_connection: sqlite3.Connection) -> None:
            with suppress(FileNotFoundError), companions(self.path)[0].open("rb") as wal:
                os.fsync(wal.fileno())

        try:
            await self.read(work)
        except OSError as exc:
            raise store_error(exc, self.path) from exc

    async def acknowledge(self, seen: Collection[str]) -> None:
        """Remove the notices that the user has seen."""
        await asyncio.to_thread(unseen_notices.acknowledge, self.path.parent, seen)

    async def write(self, work: Work[T], *, durable: bool = False) -> T:
        """Return the result of `work`, and commit its changes; roll them back if it raises.

        A `durable` commit, and every commit before it, also survives a power cut: it waits for the disk.
        Cancelling the caller does not cancel the transaction.
        """
        return await self.read(partial(self._transact_durably if durable else self._transact, work))

    async def _start_whole(self, connect: Callable[[], sqlite3.Connection]) -> None:
        starting = asyncio.ensure_future(self._start(connect))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            # The worker cannot be stopped half way, so the connection is awaited and closed.
            with suppress(StoreError):
                await starting
                await self.close()
            raise

    async def _start(self, connect: Callable[[], sqlite3.Connection]) -> None:
        connection = _Connection(connect)
        try:
            await connection
        except StoreError:
            self._worker.join()
            raise
        self._connection = connection

    def _connect(self) -> sqlite3.Connection:
        """Open the connection. Runs on the worker."""
        self._worker = threading.current_thread()
        directory = self.path.parent
        try:
            # An existing directory keeps its mode: it may be a user's home. The files are private anyway.
            private_files.make_directory(directory)
            if obstacle := obstacle_in(directory):
                raise obstacle
            with file_lock(directory / LOCK, self._patience) as alone:
                if not alone:
                    raise StoreError(_LOCKED[0].format(path=directory / LOCK) + ".", _LOCKED[1])
                connection = self._open()
            self.notices += [each for each in unseen_notices.pending(directory) if each not in self.notices]
        except (OSError, sqlite3.Error) as exc:
            connection = self._opened_to_read(exc)
            if connection is None:
                raise store_error(exc, self.path) from exc
        return connection

    def _connect_to_read(self) -> sqlite3.Connection:
        """Open the connection for `open_to_read`. Runs on the worker."""
        self._worker = threading.current_thread()
        if private_files.place_of(self.path) is None:
            raise StoreError(_MISSING[0].format(path=self.path) + ".", _MISSING[1])
        if not (size_of(self.path) or size_of(companions(self.path)[0])):
            raise StoreError(f"{_DAMAGED[0].format(path=self.path)}: it is empty.", _DAMAGED[1])
        try:
            connection = open_to_read(self.path, self._patience, untouched=True)
        except (OSError, sqlite3.Error) as exc:
            raise store_error(exc, self.path) from exc
        try:
            if pending(connection):
                raise StoreError(_OLDER[0].format(path=self.path) + ".", _OLDER[1])
        except NewerSchemaError as exc:
            connection.close()
            raise _newer(self.path, exc) from exc
        except StoreError:
            connection.close()
            raise
        except sqlite3.Error as exc:
            connection.close()
            raise store_error(exc, self.path) from exc
        return connection

    def _open(self) -> sqlite3.Connection:
        if _is_orphaned(wal := companions(self.path)[0], self.path):
            self._set_aside(f"{self.path} is missing or empty, but {wal} has the latest data")
        try:
            connection = _open_file(self.path, self._patience)
        except sqlite3.DatabaseError as exc:
            if primary_code(exc) not in DAMAGE_CODES:
                raise
            connection = self._reopened(exc)
        self._files = {
            path: place for path in (self.path, wal) if (place := private_files.place_of(path)) is not None
        }
        return connection

    def _reopened(self, damage: sqlite3.Error) -> sqlite3.Connection:
        """Connect to a damaged file after rebuilding its indexes, or else to a new file."""
        with suppress(sqlite3.Error):
            with closing(connect(self.path, timeout=self._patience)) as raw:
                mended = self._mend(raw)
            if mended:
                return _open_file(self.path, self._patience)
        self._set_aside(f"{self.path} was damaged ({damage})")
        return _open_file(self.path, self._patience)

    def _opened_to_read(self, exc: OSError | sqlite3.Error) -> sqlite3.Connection | None:
        """Connect read-only, where the system allows only that."""
        if not is_refusal(exc) or private_files.place_of(self.path) is None:
            return None
        try:
            connection = open_to_read(self.path, self._patience)
            if pending(connection):
                connection.close()
                return None
        except (sqlite3.Error, NewerSchemaError):
            return None
        self.read_only = True
        why, hint = _refusal(exc, self.path)
        self.notices.append(_READ_ONLY.format(path=self.path, why=why, hint=hint))
        return connection

    def _set_aside(self, what: str) -> None:
        name = set_aside(self.path)
        self.notify(
            f"{what}: it is preserved as {name}, and a new one was created. Recover the readable part with "
            "`cogency-tui doctor --repair`."
        )

    def notify(self, notice: str) -> None:
        """Report to the user, now or in the next program that can."""
        self.notices.append(notice)
        unseen_notices.add(self.path.parent, notice)

    def _run(self, work: Work[T], connection: sqlite3.Connection) -> T:
        """Run `work`; rebuild damaged indexes once. Runs on the worker."""
        try:
            return work(connection)
        except sqlite3.Error as exc:
            if primary_code(exc) not in DAMAGE_CODES or self.read_only or not self._mend(connection):
                raise
        return work(connection)

    def _transact(self, work: Work[T], connection: sqlite3.Connection) -> T:
        if self.read_only:
            raise StoreError(f"{self.path} is read-only.", _OTHER_DIRECTORY)
        for path, place in self._files.items():
            if private_files.place_of(path) != place:
                raise StoreError(_GONE[0].format(path=path) + ".", _GONE[1])
        # IMMEDIATE: a transaction that begins by reading could not wait for another process when it writes.
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            return work(connection)

    def _transact_durably(self, work: Work[T], connection: sqlite3.Connection) -> T:
        # The setting applies to the following commits; those of one connection are sequential.
        connection.execute("PRAGMA synchronous = FULL")
        try:
            return self._transact(work, connection)
        finally:
            connection.execute("PRAGMA synchronous = NORMAL")

    def _mend(self, connection: sqlite3.Connection) -> bool:
        """Rebuild the indexes, once; return whether the store is then whole."""
        if self._mended is None:
            copy = free_name(self.path)
            self._mended = reindexed(connection, copy)
            if self._mended:
                self.notify(
                    f"An index in {self.path} was damaged and has been rebuilt; no data is lost. The "
                    f"earlier file is {copy}."
                )
        return self._mended


class _Connection(aiosqlite.Connection):
    """aiosqlite's worker, running whole functions instead of single statements.

    A hop to the worker costs more than a statement: one hop for each transaction makes appending fast.
    """

    def __init__(self, connector: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(connector, iter_chunk_size=64)
        # A program that exits without closing must end: SQLite stays consistent without it.
        self._thread.daemon = True

    async def run(self, work: Work[T]) -> T:
        execute = cast("Callable[[Work[T], sqlite3.Connection], Awaitable[T]]", self._execute)
        return await execute(work, self._conn)


def reindexed(connection: sqlite3.Connection, copy: Path) -> bool:
    """Rebuild all indexes, with a copy of the database from before; False, with no change, where rows are
    lost, too."""
    try:
        backup(connection, copy)
        if _reindexed(connection) or rebuilt(connection, copy.with_name(f"{copy.name}-new")):
            return True
    except (OSError, sqlite3.Error):
        pass
    copy.unlink(missing_ok=True)
    return False


def _reindexed(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            connection.execute("REINDEX")
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise sqlite3.DatabaseError(found)
    except sqlite3.Error:
        return False
    return True


def backup(connection: sqlite3.Connection, target: Path) -> None:
    """Write the pages of a database as they are, damaged ones too, into a new file.

    Raises:
        OSError, sqlite3.Error: it cannot be written.
    """
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    with closing(connect(target)) as copy:
        connection.backup(copy)


def open_to_read(path: Path, patience: float, *, untouched: bool = False) -> sqlite3.Connection:
    """Open a connection for reading, even where the files cannot be written; `untouched` leaves the WAL
    unchanged, too.

    Raises:
        sqlite3.Error: the file cannot be read.
    """
    for mode in _READING[untouched:]:
        connection = connect(
            f"file:{quote(str(path))}?{mode}", timeout=patience, check_same_thread=False, uri=True
        )
        try:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
        except sqlite3.OperationalError as exc:
            connection.close()
            # A WAL beside an unwritable file cannot be read in the usual mode.
            if primary_code(exc) not in _REFUSAL_CODES or "immutable" in mode:
                raise
        except sqlite3.Error:
            connection.close()
            raise
        else:
            return connection
    raise AssertionError("the last mode returns or raises")


def is_refusal(exc: OSError | sqlite3.Error) -> bool:
    """Return whether the system denies write access."""
    if isinstance(exc, OSError):
        return exc.errno in _REFUSAL_ERRNOS
    return primary_code(exc) in _REFUSAL_CODES


def _open_file(path: Path, patience: float) -> sqlite3.Connection:
    # Created beforehand for its mode, which SQLite also gives to -wal and -shm.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    # SQLite would open it for reading, and fail only at the first write.
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    connection = connect(path, timeout=patience)
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = NORMAL")
        pending(connection)  # a newer schema is refused before anything is changed
        connection.execute("PRAGMA journal_mode = WAL")
        migrate(connection)
        schema_backup.store(connection, path)
        for file in (path, *companions(path)):
            if file.exists() and file.stat().st_mode & 0o077:
                file.chmod(0o600)
    except NewerSchemaError as exc:
        connection.close()
        raise _newer(path, exc) from exc
    except (OSError, sqlite3.Error):
        connection.close()
        raise
    return connection


def _newer(path: Path, exc: NewerSchemaError) -> StoreError:
    return StoreError(
        f"{path} was created by a newer version of cogency-tui: {exc}.",
        "Update cogency-tui, or set COGENCY_DATA to another directory.",
    )


def obstacle_in(directory: Path) -> StoreError | None:
    """Return an error that describes an obstacle in the place of a file of the store in `directory`, if
    any."""
    return find_obstacle(_all_of(directory / FILE)[1:])


def _refusal(exc: OSError | sqlite3.Error, path: Path) -> tuple[str, str]:
    """Return why the system denies writing the database at `path`, and a remedy."""
    why = str(exc.strerror) if isinstance(exc, OSError) else str(exc)
    return find_refusal(_all_of(path)) or (why, _OTHER_DIRECTORY)


def set_aside(path: Path) -> Path:
    """Rename the database, with the files that belong to it, to a free name."""
    aside = free_name(path)
    for file, renamed in zip(_files_of(path), _files_of(aside), strict=True):
        with suppress(FileNotFoundError):
            file.rename(renamed)
    return aside


def free_name(path: Path) -> Path:
    """Return a name beside `path` for which no file exists, nor any that would belong to it."""
    names = (path.with_name(f"{path.name}.damaged-{number}") for number in count(1))
    return next(name for name in names if not any(file.exists() for file in _files_of(name)))


def _files_of(path: Path) -> tuple[Path, ...]:
    """Return a database and the files that belong to it."""
    return path, *companions(path), schema_backup.path_of(path)


def _all_of(path: Path) -> tuple[Path, ...]:
    """Return the paths that must be writable for a database: its directory, its files and its lock."""
    return path.parent, *_files_of(path), path.with_name(LOCK)


def companions(path: Path) -> tuple[Path, Path]:
    """Return SQLite's files beside a database, the WAL first; the last commits may be only there."""
    return path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


def _is_orphaned(wal: Path, path: Path) -> bool:
    """Return whether a WAL has no database: SQLite would delete it."""
    return size_of(wal) > 0 and not size_of(path)


def size_of(path: Path) -> int:
    """Return a file's size in bytes, 0 where there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def primary_code(exc: sqlite3.Error) -> int:
    """Return SQLite's code of an error, 0 where there is none."""
    # Errors of Python's module itself have no code; extended codes are in the high bits.
    return getattr(exc, "sqlite_errorcode", 0) & 0xFF


def _is_full(directory: Path) -> bool:
    try:
        return shutil.disk_usage(directory).free < _LEAST_FREE
    except OSError:
        return False


def store_error(exc: OSError | sqlite3.Error, path: Path) -> StoreError:
    """Convert an error of SQLite or the file system for the user; `path` is the database."""
    if is_refusal(exc) and (refusal := find_refusal(_all_of(path))):
        return StoreError(f"{refusal[0]}.", refusal[1])
    if isinstance(exc, OSError):
        what, hint = _BY_ERRNO.get(exc.errno or 0, ("{path} cannot be used", _OTHER_DIRECTORY))
        return StoreError(f"{what.format(path=exc.filename or path)}: {exc.strerror}.", hint)
    what, hint = _BY_SQLITE_CODE.get(primary_code(exc), ("{path} refused", ""))
    if primary_code(exc) == sqlite3.SQLITE_IOERR and _is_full(path.parent):
        # SQLite reports a full disk as a plain I/O error for some of the files beside the database.
        what, hint = _FULL
    return StoreError(f"{what.format(path=path)}: {exc}.", hint)
