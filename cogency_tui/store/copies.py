"""Copies of the database, made each week: the last three are stored beside it.

Invariant: a copy is whole and consistent before it has its name, and only then replaces the oldest. All
functions block.
"""

import os
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from stat import S_ISREG

from cogency_tui import private_files
from cogency_tui.errors import StoreError
from cogency_tui.file_lock import file_lock
from cogency_tui.store.database import FILE, backup, open_to_read, size_of, store_error
from cogency_tui.store.sqlite_connection import connect

DIRECTORY = "copies"
INTERVAL = 7 * 24 * 3600.0
KEPT = 3

_NAME = re.compile(r"cogency-\d{4}-\d\d-\d\d\.db")
_LOCK = "copies.lock"
_SPARE = 1 << 28
"""Bytes that a copy leaves free on the disk."""


def copies_in(directory: Path) -> list[Path]:
    """Return the copies of the store in `directory`, the newest first; one may be damaged, or empty."""
    try:
        found = [
            path
            for path in (directory / DIRECTORY).iterdir()
            if _NAME.fullmatch(path.name) and S_ISREG(path.lstat().st_mode)
        ]
    except OSError:
        return []
    return sorted(found, reverse=True)


def is_due(directory: Path, now: float) -> bool:
    """Return whether the newest copy is a week old; a copy from the future counts as due."""
    newest = next((copy for copy in copies_in(directory) if size_of(copy)), None)
    if newest is None:
        return size_of(directory / FILE) > 0
    try:
        age = now - newest.stat().st_mtime
    except OSError:
        return True
    return not 0 <= age < INTERVAL


def make_copy(directory: Path, now: float) -> Path | None:
    """Copy the database if a copy is due, and delete the copies beyond the last three; return the new one.
    Without one while another process makes it, or where the disk has no room for it.

    Raises:
        StoreError: it cannot be written, or the database is damaged; then the earlier copies remain.
    """
    source, target = (
        directory / FILE,
        directory / DIRECTORY / time.strftime("cogency-%Y-%m-%d.db", time.localtime(now)),
    )
    try:
        private_files.make_directory(target.parent)
        with file_lock(target.parent / _LOCK) as alone:
            if not alone or not is_due(directory, now) or not _has_room(source):
                return None
            fresh = target.with_name(f"{target.name}.new")
            fresh.unlink(missing_ok=True)
            try:
                _copy(source, fresh)
                os.utime(fresh, (now, now))
                fresh.replace(target)
            finally:
                fresh.unlink(missing_ok=True)
            for old in copies_in(directory)[KEPT:]:
                old.unlink(missing_ok=True)
    except (OSError, sqlite3.Error) as exc:
        raise store_error(exc, source) from exc
    return target


def lines(directory: str) -> Iterator[str]:
    """The job of a separate process: make a copy if it is due; yield the problem if that fails."""
    try:
        make_copy(Path(directory), time.time())
    except StoreError as exc:
        yield f"The weekly copy of the history failed: {' '.join(f'{exc} {exc.hint}'.split())}"


def _copy(source: Path, fresh: Path) -> None:
    with closing(open_to_read(source, 5.0)) as connection:
        backup(connection, fresh)
    with closing(connect(fresh)) as copy:
        # Without a WAL it is one file, which can be read where nothing can be written.
        copy.execute("PRAGMA journal_mode = DELETE")
        (found,) = copy.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise StoreError(f"{source} is damaged: {found}.", "Run `cogency-tui doctor --repair`.")
    with fresh.open("rb") as file:
        os.fsync(file.fileno())


def _has_room(source: Path) -> bool:
    return shutil.disk_usage(source.parent).free > 2 * size_of(source) + _SPARE
