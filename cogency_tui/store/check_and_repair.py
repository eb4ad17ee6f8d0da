"""The check and the repair of the data directory: the database with its WAL, the contents of files, the
search index.

A check changes no file. A repair works on copies, and preserves damaged files under another name. Both
block.
"""

import json
import shutil
import sqlite3
import struct
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from cogency_tui.errors import StoreError
from cogency_tui.file_lock import file_lock
from cogency_tui.store import export_import, schema_backup
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.column_text import from_column
from cogency_tui.store.database import (
    FILE,
    LOCK,
    companions,
    free_name,
    obstacle_in,
    open_to_read,
    reindexed,
    set_aside,
    size_of,
    store_error,
)
from cogency_tui.store.events import stored_images
from cogency_tui.store.migrations import NewerSchemaError, migrate, pending
from cogency_tui.store.open_locks import Presence
from cogency_tui.store.recovery import Recovered, recover, unreadable
from cogency_tui.store.search.index_file import BLOBS, INDEX

_MOST = 3
"""Most findings of one kind that are listed."""

_WAL_MAGIC = (0x377F0682, 0x377F0683)
_WAL_HEADER = 32
_FRAME_HEADER = 24
_MOST_ROUNDS = 1 << 20
_PATIENCE = 5.0
_LONGEST_GROWTH = 100
_CONTENTS = """
    SELECT before_digest, before_size FROM edits WHERE before_kept AND before_digest != ''
    UNION SELECT after_digest, after_size FROM edits WHERE after_kept AND after_digest != ''
"""


@dataclass(frozen=True, slots=True)
class Damage:
    """Damage of the file at `path`; `of_store` where it is the database, which can be repaired."""

    path: Path
    what: str
    of_store: bool = False


def check(directory: Path) -> list[Damage]:
    """Read the whole data directory, and list its damage. A missing or empty database is no damage: the
    next program creates one.

    Raises:
        StoreError: the path of the database is no file, or may not be read.
    """
    if obstacle := obstacle_in(directory):
        raise obstacle
    try:
        return _check(directory)
    except OSError as exc:
        raise store_error(exc, directory / FILE) from exc


def _check(directory: Path) -> list[Damage]:
    path = directory / FILE
    if not size_of(path):
        wal = companions(path)[0]
        return [Damage(wal, f"it has no {FILE} beside it", True)] if size_of(wal) else []
    found = [Damage(companions(path)[0], what, True) for what in _wal(companions(path)[0])]
    try:
        with closing(open_to_read(path, _PATIENCE, untouched=True)) as connection:
            found += [Damage(path, what, True) for what in _database(connection)]
            if not found:
                found += _contents(connection, Blobs(directory / BLOBS))
    except (OSError, sqlite3.Error) as exc:
        found.append(Damage(path, str(exc), True))
    return [*found, *_index(directory / INDEX)]


def repair(directory: Path) -> list[str]:
    """Repair the damage of the store that `check` finds, and merge the conversations of databases that were
    set aside; return a line for each action.

    Raises:
        StoreError: another program has the store open, nothing can be read, or the path is no file.
    """
    path = directory / FILE
    damaged = any(damage.of_store for damage in check(directory))
    aside = sorted(each for each in directory.glob(f"{FILE}.damaged-*") if each.suffix[-1].isdigit())
    if not damaged and not aside:
        return []
    if others := Presence(directory).elsewhere():
        pids = ", ".join(sorted({str(mark.pid) for mark in others}))
        raise StoreError(f"{path} is open in process {pids}.", "Close it there first.")
    try:
        with file_lock(directory / LOCK, _PATIENCE) as alone:
            if not alone:
                raise StoreError(f"{path} is being opened by another process.", "Try again.")
            done = _repaired(path) if damaged else []
            return [*done, *(line for each in aside for line in _brought_back(path, each))]
    except (OSError, sqlite3.Error) as exc:
        raise store_error(exc, path) from exc


def _repaired(path: Path) -> list[str]:
    copy = free_name(path)
    if path.exists() and not _wal(companions(path)[0]):
        try:
            with closing(sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)) as connection:
                if reindexed(connection, copy) and not [*_database(connection)]:
                    return [
                        f"The indexes of {path} were rebuilt; no row is lost. The earlier file is {copy}."
                    ]
        except sqlite3.Error:
            pass
        copy = free_name(path)
    fresh = path.with_name(f"{FILE}.recovered")
    fresh.unlink(missing_ok=True)
    recovered = _recovered(path, fresh)
    damaged = set_aside(path)
    fresh.rename(path)
    gaps = f" Lost rows in: {', '.join(recovered.broken)}." if recovered.broken else ""
    if recovered.dropped:
        gaps += f" Damaged rows were omitted: {_counted(recovered.dropped)}."
    return [f"{recovered.rows:,} rows of {path} were recovered.{gaps} The damaged file is {damaged}."]


def _brought_back(path: Path, aside: Path) -> Iterator[str]:
    """Merge the conversations of a database that was set aside into the current one, unless it has them."""
    fresh = path.with_name(f"{FILE}.recovered")
    fresh.unlink(missing_ok=True)
    try:
        _recovered(aside, fresh)
    except sqlite3.Error as exc:
        yield f"Cannot recover any data from {aside}: {exc}."
        return
    blobs = Blobs(path.parent / BLOBS)
    ours = "SELECT id FROM conversations WHERE call IS NULL ORDER BY created"
    count = 0
    try:
        with closing(_connected(fresh)) as source, closing(_connected(path)) as target:
            there = set(target.execute(ours))
            for (id,) in [row for row in source.execute(ours) if row not in there]:
                lines = [json.dumps(line) for line in export_import.exported(source, from_column(id), blobs)]
                target.execute("BEGIN IMMEDIATE")
                with target:
                    export_import.imported(target, lines, blobs)
                count += 1
    finally:
        for file in (fresh, *companions(fresh)):
            file.unlink(missing_ok=True)
    if count:
        yield f"{count:,} conversation{'' if count == 1 else 's'} of {aside} were recovered."


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _recovered(path: Path, fresh: Path) -> Recovered:
    copy = fresh.with_name(f"{fresh.name}-copy")
    try:
        for file, name in zip((path, *companions(path)[:1]), (copy, *companions(copy)[:1]), strict=True):
            if file.exists():
                shutil.copyfile(file, name)
        if path.exists():
            _fill_up(copy)
        else:
            copy.write_bytes(bytes(_length(companions(copy)[0])))
        with closing(_opened(copy, schema_backup.path_of(path))) as source:
            return recover(source, fresh)
    except sqlite3.Error:
        fresh.unlink(missing_ok=True)
        raise
    finally:
        for file in (copy, *companions(copy)):
            file.unlink(missing_ok=True)


def _opened(copy: Path, schema: Path) -> sqlite3.Connection:
    """Open the copy of a damaged database; a schema that cannot be read comes from `schema`."""
    try:
        return open_to_read(copy, _PATIENCE)
    except sqlite3.DatabaseError:
        if not schema_backup.restore(copy, schema):
            raise
    return open_to_read(copy, _PATIENCE)


def _fill_up(path: Path) -> None:
    """Restore the length of a truncated database: SQLite opens no shorter one."""
    with path.open("r+b") as file:
        header = file.read(100)
        if len(header) == 100 and header.startswith(b"SQLite format 3\0"):
            size = int.from_bytes(header[16:18], "big")
            pages = int.from_bytes(header[28:32], "big")
            length = (65536 if size == 1 else size) * pages
            # A damaged count must not fill the disk.
            if file.seek(0, 2) < length <= _LONGEST_GROWTH * max(1, file.tell()):
                file.truncate(length)


def _length(wal: Path) -> int:
    """Return the size in bytes of the database that a WAL belongs to: SQLite deletes a WAL beside an empty
    one."""
    with wal.open("rb") as file:
        header = file.read(_WAL_HEADER)
        size = int.from_bytes(header[8:12], "big")
        pages = 1
        while size and len(frame := file.read(_FRAME_HEADER + size)) == _FRAME_HEADER + size:
            pages = max(pages, int.from_bytes(frame[4:8], "big"))
    return min(pages * size, _LONGEST_GROWTH * wal.stat().st_size)


def _wal(wal: Path) -> Iterator[str]:
    """Describe the damage of a WAL. Frames behind the valid ones, of an earlier round or of an uncommitted
    transaction, are no damage; SQLite ignores them."""
    try:
        data = wal.read_bytes()
    except OSError:
        return
    if not data:
        return
    if len(data) < _WAL_HEADER:
        yield "its header is cut off"
        return
    magic, _version, size = struct.unpack(">III", data[:12])
    order = ">" if magic & 1 else "<"
    sums = _checksum(data[:24], (0, 0), order)
    if magic not in _WAL_MAGIC or sums != struct.unpack(">II", data[24:32]) or size < 512:
        yield "its header is damaged"
        return
    salt = data[16:24]
    frame = _FRAME_HEADER + size
    for start in range(_WAL_HEADER, len(data) - frame + 1, frame):
        header = data[start : start + _FRAME_HEADER]
        sums = _checksum(header[:8] + data[start + _FRAME_HEADER : start + frame], sums, order)
        if header[8:16] != salt or sums != struct.unpack(">II", header[16:]):
            headers = [data[each : each + 16] for each in range(start, len(data) - frame + 1, frame)]
            lost = [each for each in headers if _is_of_round(each, salt)]
            if any(each[4:8] != bytes(4) for each in lost):
                yield f"{len(lost)} of its pages cannot be read, and they have the latest data"
            return


def _is_of_round(header: bytes, salt: bytes) -> bool:
    """Return whether a frame does not belong to an earlier round of the WAL: each round adds one to the first
    half of the salt."""
    rounds = (int.from_bytes(salt[:4], "big") - int.from_bytes(header[8:12], "big")) & 0xFFFFFFFF
    return not 0 < rounds < _MOST_ROUNDS


def _checksum(data: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for number in range(0, len(words), 2):
        first = first + words[number] + second & 0xFFFFFFFF
        second = second + words[number + 1] + first & 0xFFFFFFFF
    return first, second


def _database(connection: sqlite3.Connection) -> Iterator[str]:
    try:
        found = [row[0] for row in connection.execute(f"PRAGMA integrity_check({_MOST})")]
        yield from (what.replace("\n", "; ") for what in found if what != "ok")
        if found != ["ok"]:
            return
        yield from _schema(connection)
        orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
        if orphans:
            tables = ", ".join(sorted({row[0] for row in orphans}))
            yield f"{len(orphans):,} rows belong to rows that are lost ({tables})"
        if damaged := unreadable(connection):
            yield f"rows that cannot be read: {_counted(damaged)}"
    except NewerSchemaError as exc:
        yield f"a newer cogency-tui made it: {exc}"
    except sqlite3.Error as exc:
        yield str(exc)


def _schema(connection: sqlite3.Connection) -> Iterator[str]:
    """Describe missing tables and indexes of the recorded migrations."""
    if pending(connection):
        return
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as whole:
        migrate(whole)
        sql = "SELECT type || ' ' || name FROM sqlite_schema"
        there = {name for (name,) in connection.execute(sql)}
        missing = [name for (name,) in whole.execute(sql) if name not in there]
    if missing:
        yield f"{', '.join(missing[:_MOST])} missing"


def _counted(rows: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} in {name}" for name, count in rows.items())


def _contents(connection: sqlite3.Connection, blobs: Blobs) -> Iterator[Damage]:
    lost: list[str] = []
    images = {(image["digest"], image["size"]) for image in stored_images(connection)}
    for digest, size in chain(connection.execute(_CONTENTS), images):
        try:
            for _ in blobs.stream(digest, size):
                pass
        except StoreError as exc:
            lost.append(str(exc))
    if lost:
        what = f"{len(lost):,} contents of files and images cannot be recovered: {' '.join(lost[:_MOST])}"
        yield Damage(blobs.directory, what)


def _index(path: Path) -> Iterator[Damage]:
    if not path.exists():
        return
    try:
        with closing(open_to_read(path, _PATIENCE, untouched=True)) as connection:
            found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except sqlite3.Error as exc:
        found = str(exc)
    if found != "ok":
        yield Damage(path, found)
