"""The connection: one worker thread, one file, every transaction whole.

Work is a plain function of the SQLite connection that runs from end to end on the worker: nothing
blocks the loop, tasks cannot interleave inside a transaction, and cancelling one never leaves it open.
Whatever SQLite or the file system refuses becomes a `StoreError`, here and nowhere else.
"""

import asyncio
import errno
import fcntl
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

import aiosqlite

from cogency_tui import own_files
from cogency_tui.errors import StoreError
from cogency_tui.store.migrations import NewerSchemaError, migrate, pending

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

FILE = "cogency.db"
LOCK = "cogency.lock"

_LEAST_FREE = 256 << 10
"""Bytes on a disk, below which a failure to write is taken for want of room."""

_OTHER_DIRECTORY = "Set COGENCY_DATA to a directory that you can write to."
_FREE_SPACE = "Free some space there, or set COGENCY_DATA to a directory on another disk."
_NOT_WRITABLE = ("{path} cannot be written", _OTHER_DIRECTORY)
_FULL = ("The disk that holds {path} is full", _FREE_SPACE)
_LOCKED = ("{path} is locked by another process", "Try again; end a cogency-tui that hangs.")
_DAMAGED = (
    "{path} is damaged",
    "Move it away and a new one is started; `sqlite3 FILE .recover` may save what can be read.",
)

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
    errno.EROFS: _NOT_WRITABLE,
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EEXIST: ("{path} is in the way: it is no directory", _OTHER_DIRECTORY),
    errno.ENOTDIR: ("{path} cannot be: a directory above it is none", _OTHER_DIRECTORY),
}


class Database:
    """The person's one database, open for this process.

    `notices` collects what a person should hear about data that could not be used.
    """

    def __init__(self, directory: Path, patience: float) -> None:
        self.path = directory / FILE
        self.notices: list[str] = []
        self._patience = patience
        self._worker = threading.current_thread()
        self._connection: _Connection | None = None

    @classmethod
    async def open(cls, directory: Path, *, patience: float = 5.0) -> "Database":
        """Open `directory`/cogency.db, made where missing; wait `patience` seconds for other processes.

        Raises:
            StoreError: it cannot be used; no thread or handle is left.
        """
        database = cls(directory, patience)
        starting = asyncio.ensure_future(database._start())
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            # The worker cannot be stopped half way, so what it opens is awaited and closed.
            with suppress(StoreError):
                await starting
                await database.close()
            raise
        return database

    async def close(self) -> None:
        """Finish what was asked for, close the file and end the worker. More than once is fine."""
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
        """What `work` makes of the connection; it must not write."""
        if self._connection is None:
            raise StoreError(f"{self.path} was closed.")
        try:
            return await self._connection.run(work)
        except sqlite3.Error as exc:
            raise store_error(exc, self.path) from exc

    async def write(self, work: Work[T], *, durable: bool = False) -> T:
        """What `work` returns, its changes committed; none of them if it raises.

        A `durable` commit also outlives a power cut, and so does every commit before it: it waits for the
        disk. Cancelling the caller does not undo what was asked for.
        """
        return await self.read(partial(_transact_durably if durable else _transact, work))

    async def _start(self) -> None:
        connection = _Connection(self._connect)
        try:
            await connection
        except StoreError:
            self._worker.join()
            raise
        self._connection = connection

    def _connect(self) -> sqlite3.Connection:
        """Runs on the worker."""
        self._worker = threading.current_thread()
        directory = self.path.parent
        try:
            # One that was there keeps its mode: it may be somebody's home. The files are closed anyway.
            own_files.make_directory(directory)
            with _alone(directory / LOCK, self._patience):
                return self._open()
        except (OSError, sqlite3.Error) as exc:
            raise store_error(exc, self.path) from exc

    def _open(self) -> sqlite3.Connection:
        try:
            return _open_file(self.path, self._patience)
        except sqlite3.DatabaseError as exc:
            if _BY_SQLITE_CODE.get(_primary_code(exc)) is not _DAMAGED:
                raise
            kept = _set_aside(self.path)
            self.notices.append(
                f"{self.path} was damaged ({exc}): it is kept as {kept}, and a new one was started."
            )
            return _open_file(self.path, self._patience)


class _Connection(aiosqlite.Connection):
    """aiosqlite's worker, given whole functions instead of single statements.

    A hop to the worker costs more than a statement: one hop a transaction is what makes appending fast.
    """

    def __init__(self, connector: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(connector, iter_chunk_size=64)
        # A program that dies without closing must end: SQLite needs no farewell to stay whole.
        self._thread.daemon = True

    async def run(self, work: Work[T]) -> T:
        execute = cast("Callable[[Work[T], sqlite3.Connection], Awaitable[T]]", self._execute)
        return await execute(work, self._conn)


def _transact(work: Work[T], connection: sqlite3.Connection) -> T:
    # IMMEDIATE: a transaction that reads first could not wait for another process's when it writes.
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        return work(connection)


def _transact_durably(work: Work[T], connection: sqlite3.Connection) -> T:
    # The setting counts for the commits that follow; those of one connection come one after the other.
    connection.execute("PRAGMA synchronous = FULL")
    try:
        return _transact(work, connection)
    finally:
        connection.execute("PRAGMA synchronous = NORMAL")


def _open_file(path: Path, patience: float) -> sqlite3.Connection:
    # Made beforehand for its mode, which SQLite gives to -wal and -shm too.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    # SQLite would open it for reading, and fail only at the first message.
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    connection = sqlite3.connect(path, timeout=patience, isolation_level=None)
    try:
        # Bytes planted in a column must not keep the rows beside it from being read.
        connection.text_factory = _decode
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = NORMAL")
        pending(connection)  # a newer schema is refused before anything is altered
        connection.execute("PRAGMA journal_mode = WAL")
        migrate(connection)
        for file in (path, *_companions(path)):
            if file.exists() and file.stat().st_mode & 0o077:
                file.chmod(0o600)
    except NewerSchemaError as exc:
        connection.close()
        raise StoreError(
            f"{path} was made by a newer cogency-tui: {exc}.",
            "Update cogency-tui, or set COGENCY_DATA to another directory.",
        ) from exc
    except (OSError, sqlite3.Error):
        connection.close()
        raise
    return connection


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


@contextmanager
def _alone(lock: Path, patience: float) -> Generator[None]:
    """Hold `lock`: of several processes that start at once, one at a time creates, repairs, migrates."""
    handle = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + patience
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as exc:
                if time.monotonic() > deadline:
                    raise StoreError(_LOCKED[0].format(path=lock) + ".", _LOCKED[1]) from exc
                # To wait in flock itself could not be given up. Run in a thread.
                time.sleep(0.005)
        yield
    finally:
        os.close(handle)


def _set_aside(path: Path) -> Path:
    """Rename the damaged file, and what belongs to it, to a name that is free."""
    number = 1
    while (kept := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    path.rename(kept)
    for companion, moved in zip(_companions(path), _companions(kept), strict=True):
        if companion.exists():
            companion.rename(moved)
    return kept


def _companions(path: Path) -> tuple[Path, Path]:
    return path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


def _primary_code(exc: sqlite3.Error) -> int:
    # Errors that Python's module raises by itself carry no code; extended codes sit in the high bits.
    return getattr(exc, "sqlite_errorcode", 0) & 0xFF


def _is_full(directory: Path) -> bool:
    try:
        return shutil.disk_usage(directory).free < _LEAST_FREE
    except OSError:
        return False


def store_error(exc: OSError | sqlite3.Error, path: Path) -> StoreError:
    """What SQLite or the file system refused, for a person; `path` is the database."""
    if isinstance(exc, OSError):
        what, hint = _BY_ERRNO.get(exc.errno or 0, ("{path} cannot be used", _OTHER_DIRECTORY))
        return StoreError(f"{what.format(path=exc.filename or path)}: {exc.strerror}.", hint)
    what, hint = _BY_SQLITE_CODE.get(_primary_code(exc), ("{path} refused", ""))
    if _primary_code(exc) == sqlite3.SQLITE_IOERR and _is_full(path.parent):
        # The files beside the database are written in ways that report a full disk as any failure.
        what, hint = _FULL
    return StoreError(f"{what.format(path=path)}: {exc}.", hint)
