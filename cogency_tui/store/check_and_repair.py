"""The check and the repair of the data directory: the database with its WAL, the contents of files, the
search index.

A check changes no file. A repair works on copies, and preserves damaged files under another name. Both
block.
"""

import json
import shutil
import sqlite3
import struct
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from hashlib import file_digest
from itertools import chain
from pathlib import Path
from typing import Any

from cogency_tui import private_files
from cogency_tui.errors import StoreError, UsageError
from cogency_tui.file_lock import file_lock
from cogency_tui.store import event_chain, export_import, origins, schema_backup
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.copies import copies_in
from cogency_tui.store.database import (
    FILE,
    LOCK,
    companions,
    obstacle_in,
    open_to_read,
    primary_code,
    set_aside,
    size_of,
    store_error,
)
from cogency_tui.store.events import BEGINS_TURN, stored_images
from cogency_tui.store.migrations import NewerSchemaError, migrate, pending
from cogency_tui.store.open_locks import Presence
from cogency_tui.store.recovery import Recovered, recover, unreadable
from cogency_tui.store.search.index_file import BLOBS, INDEX
from cogency_tui.store.sqlite_connection import connect
from cogency_tui.store.store import COLUMNS

_MOST = 3
"""Most findings of one kind that are listed."""

_MOST_SPANS = 20
_LOST = "Lost:"
"""Begins a line of a repair about what it could not restore; these come first."""

_OF_USERS = {
    "conversations": "conversations",
    "events": "events",
    "edits": "edits",
    "edit_marks": "decisions about edits",
    "usage": "usage",
    "summaries": "summaries",
    "pins": "pins",
    "profile_facts": "the profile",
}
"""Tables with what a user would miss, as it is called."""

_FARTHEST = 1 << 62
_APPENDED = ("edits", "usage")
"""Tables besides that of the events to which rows are only added."""

_FIXED = {"edits": "edit", "usage": "usage record", "conversations": "conversation"}
"""Tables with rows that do not change, as they are called."""

_MUTABLE = {"before_kept", "after_kept"}
_OF_CONVERSATIONS = {"project", "created", "call"}
"""Columns of edits that change, and those of conversations that do not."""

_NOT_OWN = "SELECT id FROM conversations WHERE source <> ''"
_TURNS = f"SELECT count(*) FROM events WHERE conversation_id = ? AND {BEGINS_TURN}"

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

_WITH_CONTENT = """
    SELECT id, project, path FROM edits
    WHERE before_kept AND before_digest = ?1 OR after_kept AND after_digest = ?1 ORDER BY id
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
        if size_of(wal):
            return [Damage(wal, f"it has no {FILE} beside it", True)]
        what = "it is missing or empty, but there is a copy of its history: {}"
        return [Damage(path, what.format(copy), True) for copy in copies_in(directory)[:1]]
    found = [Damage(companions(path)[0], what, True) for what in _wal(companions(path)[0])]
    try:
        with closing(open_to_read(path, _PATIENCE, untouched=True)) as connection:
            found += (Damage(path, what, True) for what in _structure(connection))
            is_sound = not found
            found += (Damage(path, what, True) for what in _rows(connection))
            if is_sound:
                found += (Damage(path, what, True) for what in _orphans(connection))
                found += _history(connection, path)
            if not found:
                found += _contents(connection, Blobs(directory / BLOBS))
    except (OSError, sqlite3.Error) as exc:
        found.append(Damage(path, str(exc), True))
    found += (Damage(copy, what) for copy in copies_in(directory) for what in _copy(copy))
    return [*found, *_index(directory / INDEX)]


@dataclass(frozen=True, slots=True)
class Extent:
    """What a check has read: numbers of conversations, events and contents of files; the numbers of events
    that a repair found lost, and that an earlier version wrote without an entry in the chain; and the copies,
    the newest first.
    """

    conversations: int
    events: int
    contents: int
    lost: int
    unchained: int
    copies: tuple[Path, ...]


def extent(directory: Path) -> Extent:
    """Count what the store in `directory` has.

    Raises:
        StoreError: it cannot be read.
    """
    path = directory / FILE
    try:
        with closing(open_to_read(path, _PATIENCE, untouched=True)) as connection:
            (conversations,) = connection.execute("SELECT count(*) FROM conversations").fetchone()
            report = event_chain.verify(connection)
            contents = len({row[0] for row in connection.execute(_CONTENTS)})
    except (OSError, sqlite3.Error) as exc:
        raise store_error(exc, path) from exc
    copies = tuple(copies_in(directory))
    unchained = report.unchained - len(report.added)
    return Extent(conversations, report.events, contents, report.lost, unchained, copies)


def repair(directory: Path) -> list[str]:
    """Repair the damage of the store that `check` finds, and merge the conversations of databases that were
    set aside; return a line for each loss, and then for each action.

    Raises:
        StoreError: another program has the store open, nothing can be read, or the path is no file.
    """
    path = directory / FILE
    damages = check(directory)
    damaged = any(damage.of_store for damage in damages)
    lacking = any(damage.path.name == BLOBS for damage in damages)
    aside = sorted(each for each in directory.glob(f"{FILE}.damaged-*") if each.suffix[-1].isdigit())
    if not (damaged or lacking or aside):
        return []
    if others := Presence(directory).elsewhere():
        pids = ", ".join(sorted({str(mark.pid) for mark in others}))
        raise StoreError(f"{path} is open in process {pids}.", "Close it there first.")
    try:
        with file_lock(directory / LOCK, _PATIENCE) as alone:
            if not alone:
                raise StoreError(f"{path} is being opened by another process.", "Try again.")
            is_broken = (damaged or not size_of(path)) and _is_broken(path)
            done = _repaired(path) if is_broken else []
            # Before the copies, which are older.
            done += (line for each in reversed(aside) for line in _brought_back(path, each))
            done += _restored(path) if damaged or aside else []
            done += _refilled(path)
            return sorted(done, key=lambda line: not line.startswith(_LOST))
    except (OSError, sqlite3.Error) as exc:
        raise store_error(exc, path) from exc


def _is_broken(path: Path) -> bool:
    """Return whether the database itself is damaged, and not only its history."""
    if not size_of(path) or [*_wal(companions(path)[0])]:
        return True
    try:
        with closing(open_to_read(path, _PATIENCE, untouched=True)) as connection:
            return any(_structure(connection)) or any(_rows(connection)) or any(_orphans(connection))
    except (OSError, sqlite3.Error):
        return True


def _restored(path: Path) -> list[str]:
    """Restore what the chain shows as missing or altered from the copies, and what only these have; accept
    the loss of the rest."""
    done: list[str] = []
    copies = copies_in(path.parent)
    with closing(_connected(path)) as connection:
        done += _rechained(connection, copies)
        report = event_chain.verify(connection)
        left = [*report.missing, *report.altered, *report.added]
        for copy in copies:
            with suppress(sqlite3.Error), closing(open_to_read(copy, _PATIENCE, untouched=True)) as source:
                connection.execute("BEGIN IMMEDIATE")
                with connection:
                    done += (f"{what} restored from {copy}." for what in _reclaimed(connection, source))
                connection.execute("BEGIN IMMEDIATE")
                with connection:
                    restored = _restored_from(connection, source, left)
                left = [number for number in left if number not in restored]
                if restored:
                    done.append(f"{_events(sorted(restored))} restored from {copy}.")
        for copy in copies:
            with suppress(sqlite3.Error), closing(open_to_read(copy, _PATIENCE, untouched=True)) as source:
                connection.execute("BEGIN IMMEDIATE")
                with connection:
                    done += (f"{what} restored from {copy}." for what in _completed(connection, source))
        for copy in copies:
            with suppress(sqlite3.Error), closing(open_to_read(copy, _PATIENCE, untouched=True)) as source:
                if not _is_continued(source, connection):
                    continue
                connection.execute("BEGIN IMMEDIATE")
                with connection:
                    done += (f"{what} restored from {copy}." for what in _reset(connection, source))
                break
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            event_chain.accept_losses(connection, {*left} - {*report.added}, time.time())
            if added := sorted({*left} & {*report.added}):
                event_chain.accept_added(connection, added, time.time())
                done.append(f"{_events(added)} added by another program, and {_were(added)} accepted.")
    missing = sorted({*left} & {*report.missing})
    altered = sorted({*left} & {*report.altered})
    if missing:
        them = "it" if len(missing) == 1 else "them"
        done.append(f"{_LOST} {_events(missing)} removed, and no copy has {them}.")
    if altered:
        originals = "original" if len(altered) == 1 else "originals"
        done.append(
            f"{_LOST} {_events(altered)} changed by another program, and no copy has the {originals}."
        )
    return [*done, *(line for copy in copies for line in _brought_back(path, copy))]


def _refilled(path: Path) -> Iterator[str]:
    """Restore lost contents from the files that still have them, and accept the loss of the others."""
    blobs = Blobs(path.parent / BLOBS)
    restored: list[str] = []
    lost: list[str] = []
    images = 0
    with closing(_connected(path)) as connection:
        for digest, size, exc in [*_lost_contents(connection, blobs)]:
            edits = connection.execute(_WITH_CONTENT, (digest,)).fetchall()
            places = [Path(from_column(row[1]), from_column(row[2])) for row in edits]
            if any(_put_back(place, digest, size, blobs) for place in places):
                restored.append(digest)
            elif isinstance(exc.__cause__, OSError) and not isinstance(exc.__cause__, FileNotFoundError):
                yield f"{exc} Nothing is done about it."
            elif edits:
                lost.append(f"{places[-1]} (edit {', '.join(str(row[0]) for row in edits[:_MOST])})")
                _accept_lost_content(connection, digest)
            else:
                images += 1
    blobs.sync()
    if lost:
        what = f"{_versions(len(lost))} of files, whose edits cannot be reverted"
        yield f"{_LOST} {what}: {_listed(lost)}."
    if images:
        yield f"{_LOST} {_plural(images, 'image')} of messages."
    if restored:
        yield f"{_versions(len(restored))} of files restored from the files themselves."


def _accept_lost_content(connection: sqlite3.Connection, digest: str) -> None:
    """Mark a content as not stored in the edits that have it."""
    for side in ("before", "after"):
        connection.execute(f"UPDATE edits SET {side}_kept = 0 WHERE {side}_digest = ?", (digest,))


def _put_back(file: Path, digest: str, size: int, blobs: Blobs) -> bool:
    """Store the content of a file again, if it has this digest."""
    try:
        if file.is_symlink() or not file.is_file() or file.stat().st_size != size:
            return False
        with file.open("rb") as source:
            if file_digest(source, "sha256").hexdigest() != digest:
                return False
            return blobs.put(source).digest == digest
    except (OSError, ValueError):
        return False


def _versions(count: int) -> str:
    return "1 stored version" if count == 1 else f"{count:,} stored versions"


def _rechained(connection: sqlite3.Connection, copies: Sequence[Path]) -> Iterator[str]:
    """Build the chain again if it is missing: as the newest copy has it, and over the events since."""
    report = event_chain.verify(connection)
    if not report.events or report.unchained < report.events:
        return
    after = 0
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        for copy in copies[:1]:
            with suppress(sqlite3.Error), closing(open_to_read(copy, _PATIENCE, untouched=True)) as source:
                after = event_chain.take(connection, source)
        event_chain.extend(connection, after)
    yield "The hash chain was missing, and has been built again."


def _completed(connection: sqlite3.Connection, source: sqlite3.Connection) -> Iterator[str]:
    """Restore the rows of a copy that the store lacks, in conversations that are there."""
    continued = _is_continued(source, connection)
    restored = 0
    for (id,) in connection.execute("SELECT id FROM conversations").fetchall():
        restored += event_chain.complete(connection, source, id)
    if restored:
        yield f"{_plural(restored, 'event')} {'was' if restored == 1 else 'were'}"
    for table in _APPENDED if continued or _is_continued(source, connection) else ():
        missing = _missing_rows(source, connection, table)
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        there = [row[1] for row in source.execute(f"PRAGMA table_info({table})") if row[1] in names]
        columns = ", ".join(there)
        for id in missing:
            row = source.execute(f"SELECT {columns} FROM {table} WHERE id = ?", (id,)).fetchone()
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})", row)
        if missing:
            yield f"{_plural(len(missing), 'row')} in {table} {'was' if len(missing) == 1 else 'were'}"


def _reclaimed(connection: sqlite3.Connection, source: sqlite3.Connection) -> Iterator[str]:
    """Restore the rows of conversations that a recovery has given new ones."""
    ids = [id for (id,) in connection.execute("SELECT id FROM conversations WHERE provider = ''")]
    restored: list[str] = []
    for id in ids:
        row = source.execute(f"SELECT {COLUMNS} FROM conversations WHERE id = ?", (id,)).fetchone()
        if row is not None:
            _set_conversation(connection, id, row)
            restored.append(from_column(id))
    if restored:
        yield f"{_plural(len(restored), 'conversation')} ({_listed(restored)}) {_were(restored)}"


def _set_conversation(connection: sqlite3.Connection, id: str | bytes, row: Sequence[Any]) -> None:
    """Give a conversation the row that a copy has, with what has come since."""
    names = COLUMNS.split(", ")
    (since,) = connection.execute("SELECT updated FROM conversations WHERE id = ?", (id,)).fetchone()
    (turns,) = connection.execute(_TURNS, (id,)).fetchone()
    values = dict(zip(names, row, strict=True))
    values["updated"] = max(values["updated"], since)
    values["turns"] = max(values["turns"], turns)
    if not connection.execute("SELECT 1 FROM conversations WHERE id = ?", (values["parent"],)).fetchone():
        values["parent"] = None
    assignments = ", ".join(f"{name} = ?" for name in names)
    connection.execute(f"UPDATE conversations SET {assignments} WHERE id = ?", (*values.values(), id))


def _reset(connection: sqlite3.Connection, source: sqlite3.Connection) -> Iterator[str]:
    """Restore the rows of a copy that another program changed."""
    for table, noun in _FIXED.items():
        columns = _fixed_columns(source, connection, table)
        changed = _changed_rows(source, connection, table)
        assignments = ", ".join(f"{name} = ?" for name in columns)
        for id in changed:
            row = source.execute(f"SELECT {', '.join(columns)} FROM {table} WHERE id = ?", (id,)).fetchone()
            connection.execute(f"UPDATE {table} SET {assignments} WHERE id = ?", (*row, id))
        if changed:
            were = f"{_were(changed)} changed by another program, and"
            yield f"{_plural(len(changed), noun)} ({_listed(changed)}) {were} {_were(changed)}"


def _changed_rows(
    source: sqlite3.Connection, connection: sqlite3.Connection, table: str
) -> list[int | str | bytes]:
    """Return the ids of our own rows that a copy has with other values, in columns that do not change."""
    owner = {"edits": "conversation", "usage": "conversation_id", "conversations": "id"}[table]
    columns = ", ".join(_fixed_columns(source, connection, table))
    sql = f"SELECT id, {columns} FROM {table} WHERE {owner} NOT IN ({_NOT_OWN}) ORDER BY id"
    # Not the rows themselves: there may be many.
    originals = {row[0]: hash(row) for row in source.execute(sql)}
    return [row[0] for row in connection.execute(sql) if originals.get(row[0], hash(row)) != hash(row)]


def _fixed_columns(source: sqlite3.Connection, connection: sqlite3.Connection, table: str) -> list[str]:
    """Return the columns of both that do not change, without the id."""
    there = {row[1] for row in source.execute(f"PRAGMA table_info({table})")}
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[1] in there]
    fixed = _OF_CONVERSATIONS if table == "conversations" else {*names} - _MUTABLE
    return [name for name in names if name in fixed and name != "id"]


def _were(found: Collection[object]) -> str:
    return "was" if len(found) == 1 else "were"


def _listed(ids: Sequence[int | str | bytes]) -> str:
    """List ids, the first ones of many."""
    named = [from_column(id) if isinstance(id, (str, bytes)) else f"{id}" for id in ids]
    more = f" and {len(named) - _MOST_SPANS:,} more" if len(named) > _MOST_SPANS else ""
    return f"{', '.join(named[:_MOST_SPANS])}{more}"


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _restored_from(
    connection: sqlite3.Connection, source: sqlite3.Connection, numbers: list[int]
) -> set[int]:
    """Restore events, with the rows of their conversations where these are lost."""
    owners = "SELECT conversation_id FROM events WHERE seq = ?"
    for (id,) in {row for number in numbers for row in source.execute(owners, (number,))}:
        row = source.execute(f"SELECT {COLUMNS} FROM conversations WHERE id = ?", (id,)).fetchone()
        # A recovery has given a lost conversation a row without a provider.
        there = connection.execute("SELECT provider FROM conversations WHERE id = ?", (id,)).fetchone()
        if row is not None and there is None:
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO conversations ({COLUMNS}) VALUES ({marks})", row)
        elif row is not None and not there[0]:
            _set_conversation(connection, id, row)
    return {*event_chain.restore(connection, numbers, source)}


def _events(numbers: Sequence[int]) -> str:
    """Name events by their numbers: `3 events (5–6, 9) were`."""
    named = [
        f"{first}" if first == last else f"{first}–{last}"
        for first, last in event_chain.spans(sorted(numbers))
    ]
    more = f" and {len(named) - _MOST_SPANS:,} more places" if len(named) > _MOST_SPANS else ""
    listed = f"({', '.join(named[:_MOST_SPANS])}{more})"
    return f"1 event {listed} was" if len(numbers) == 1 else f"{len(numbers):,} events {listed} were"


def _repaired(path: Path) -> list[str]:
    if not (size_of(path) or size_of(companions(path)[0])):
        private_files.write_file(path, b"")
        with closing(_connected(path)) as connection:
            migrate(connection)
        return []
    fresh = path.with_name(f"{FILE}.recovered")
    fresh.unlink(missing_ok=True)
    recovered = _recovered(path, fresh)
    damaged = set_aside(path)
    fresh.rename(path)
    return [*_losses(recovered), f"{recovered.rows:,} rows of {path} were recovered; it is now {damaged}."]


def _losses(recovered: Recovered) -> Iterator[str]:
    """Describe what a user loses of a damaged database."""
    if parts := [noun for table, noun in _OF_USERS.items() if table in recovered.broken]:
        yield f"{_LOST} parts of the database that cannot be read, maybe with {', '.join(parts)}."
    if recovered.dropped:
        yield f"{_LOST} damaged rows: {_counted(recovered.dropped)}."


def _brought_back(path: Path, aside: Path) -> Iterator[str]:
    """Merge the conversations of a database that was set aside into the current one, unless it has them."""
    fresh = path.with_name(f"{FILE}.recovered")
    fresh.unlink(missing_ok=True)
    try:
        _recovered(aside, fresh)
    except sqlite3.Error as exc:
        if primary_code(exc) in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            raise
        yield f"No data can be recovered from {aside}: {exc}."
        return
    try:
        if _is_empty(path) and not _is_empty(fresh):
            yield from _put_in_place(fresh, path, aside)
        else:
            yield from _merged(fresh, path, aside)
    finally:
        for file in (fresh, *companions(fresh)):
            file.unlink(missing_ok=True)


def _is_empty(path: Path) -> bool:
    """Return whether a database has never had an event."""
    tables = ("conversations", "events", event_chain.TABLE)
    with closing(open_to_read(path, _PATIENCE, untouched=True)) as connection:
        return not any(connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in tables)


def _put_in_place(fresh: Path, path: Path, origin: Path) -> Iterator[str]:
    """Replace an empty database by what was recovered from `origin`."""
    for file in (path, *companions(path), schema_backup.path_of(path)):
        file.unlink(missing_ok=True)
    with closing(open_to_read(fresh, _PATIENCE)) as connection:
        (conversations,) = connection.execute("SELECT count(*) FROM conversations").fetchone()
        (events,) = connection.execute("SELECT count(*) FROM events").fetchone()
    fresh.rename(path)
    if origin in copies_in(path.parent):
        made = time.strftime("%Y-%m-%d %H:%M", time.localtime(origin.stat().st_mtime))
        yield f"{_LOST} what came after {made}, the time of the newest copy."
    counted = f"{_plural(conversations, 'conversation')} with {_plural(events, 'event')}"
    yield f"{counted} {'was' if conversations == 1 else 'were'} restored from {origin}."


def _merged(fresh: Path, path: Path, aside: Path) -> Iterator[str]:
    """Merge the conversations of a database into the current one, unless it has them."""
    blobs = Blobs(path.parent / BLOBS)
    ours = "SELECT id FROM conversations WHERE call IS NULL ORDER BY created"
    count = 0
    refused: list[str] = []
    with closing(_connected(fresh)) as source, closing(_connected(path)) as target:
        there = set(target.execute(ours))
        for (id,) in [row for row in source.execute(ours) if row not in there]:
            lines = [json.dumps(line) for line in export_import.exported(source, from_column(id), blobs)]
            try:
                target.execute("BEGIN IMMEDIATE")
                with target:
                    export_import.imported(target, lines, blobs)
                    _make_own(target, source, from_column(id))
            except UsageError:
                refused.append(from_column(id))
            else:
                count += 1
    if refused:
        yield f"{_LOST} {_plural(len(refused), 'conversation')} of {aside}, not readable: {_listed(refused)}."
    if count:
        yield f"{_plural(count, 'conversation')} of {aside} {'was' if count == 1 else 'were'} recovered."


def _make_own(target: sqlite3.Connection, source: sqlite3.Connection, id: str) -> None:
    """Give an imported conversation, with its sub-agents', the origin that it had."""
    for conversation in export_import.tree(source, id):
        if not conversation.source.startswith(origins.PREFIX):
            target.execute(
                "UPDATE OR IGNORE conversations SET imported = ?, source = ?, original = ?, trashed = ?"
                " WHERE id = ?",
                (
                    conversation.imported,
                    to_column(conversation.source),
                    to_column(conversation.original),
                    conversation.trashed,
                    to_column(conversation.id),
                ),
            )


def _connected(path: Path) -> sqlite3.Connection:
    connection = connect(path, timeout=_PATIENCE)
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
    """Open the copy of a damaged database; a schema that cannot be read or lacks something comes from
    `schema`."""
    try:
        with closing(open_to_read(copy, _PATIENCE)) as connection:
            is_sound = not [*_schema(connection)]
    except NewerSchemaError:
        is_sound = True
    except sqlite3.DatabaseError:
        is_sound = False
    if not is_sound:
        schema_backup.restore(copy, schema)
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


def _structure(connection: sqlite3.Connection) -> Iterator[str]:
    """Describe damage of the database itself."""
    try:
        found = [row[0] for row in connection.execute(f"PRAGMA integrity_check({_MOST})")]
        yield from (what.replace("\n", "; ") for what in found if what != "ok")
        if found != ["ok"]:
            return
        yield from _schema(connection)
    except NewerSchemaError as exc:
        yield f"a newer cogency-tui made it: {exc}"
    except sqlite3.Error as exc:
        yield str(exc)


def _orphans(connection: sqlite3.Connection) -> Iterator[str]:
    """Describe rows of a sound database that refer to lost ones, and the conversations that are lost."""
    orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
    lost: set[str] = set()
    for table, number, parent, key in orphans:
        if parent == "conversations" and number is not None:
            keys = connection.execute(f"PRAGMA foreign_key_list({table})")
            column = {each[0]: each[3] for each in keys}[key]
            row = connection.execute(f"SELECT {column} FROM {table} WHERE rowid = ?", (number,)).fetchone()
            lost.add(from_column(row[0]))
    if orphans:
        tables = ", ".join(sorted({row[0] for row in orphans}))
        what = f"{_plural(len(lost), 'conversation')} ({_listed(sorted(lost))}) lost; " if lost else ""
        rows = "1 row belongs" if len(orphans) == 1 else f"{len(orphans):,} rows belong"
        yield f"{what}{rows} to rows that are lost ({tables})"


def _rows(connection: sqlite3.Connection) -> Iterator[str]:
    """Describe rows that a sound database has, and that cannot be read all the same."""
    if damaged := unreadable(connection):
        yield f"rows that cannot be read: {_counted(damaged)}"


def _history(connection: sqlite3.Connection, path: Path) -> Iterator[Damage]:
    """Describe events that are not as the chain has them, and what only a copy has."""
    if pending(connection):
        return
    report = event_chain.verify(connection)
    if report.events and report.unchained == report.events:
        yield Damage(path, "its hash chain is missing", True)
        return
    if report.missing:
        yield Damage(path, f"{_events(report.missing)} removed by another program, or lost", True)
    if report.altered:
        yield Damage(path, f"{_events(report.altered)} changed by another program", True)
    if report.added:
        yield Damage(path, f"{_events(report.added)} added by another program", True)
    is_compared = False
    for copy in copies_in(path.parent):
        with suppress(sqlite3.Error), closing(open_to_read(copy, _PATIENCE, untouched=True)) as source:
            lacking = [*_lacking(source, connection)] if report.is_whole else []
            if lost := _only_in(source, connection):
                lacking.insert(0, _plural(len(lost), "conversation"))
            if lacking:
                yield Damage(path, f"{' and '.join(lacking)} of {copy.name} missing", True)
            if not is_compared and _is_continued(source, connection):
                is_compared = True
                yield from (Damage(path, what, True) for what in _changed(source, connection))
            if lacking:
                return
            if report.is_whole and (differing := _rewritten(source, connection)):
                what = f"event {differing} and later ones were changed by another program"
                yield Damage(path, f"{what}; {copy} has the originals")
                return


def _changed(source: sqlite3.Connection, connection: sqlite3.Connection) -> Iterator[str]:
    """Describe the rows that a copy has with other values, although they do not change."""
    for table, noun in _FIXED.items():
        if changed := _changed_rows(source, connection, table):
            yield f"{_plural(len(changed), noun)} ({_listed(changed)}) changed by another program"


def _lacking(source: sqlite3.Connection, connection: sqlite3.Connection) -> Iterator[str]:
    """Describe the rows of a copy that the store lacks, in conversations that are there."""
    counts = "SELECT conversation_id, count(*) FROM events GROUP BY conversation_id"
    ours = dict(connection.execute(counts).fetchall())
    known = {id for (id,) in connection.execute("SELECT id FROM conversations")}
    shorter = {
        id: count - ours.get(id, 0)
        for id, count in source.execute(counts)
        if id in known and count > ours.get(id, 0)
    }
    if shorter:
        yield _plural(sum(shorter.values()), "event")
    for table in _APPENDED if _is_continued(source, connection) else ():
        if missing := _missing_rows(source, connection, table):
            yield f"{len(missing):,} {'row' if len(missing) == 1 else 'rows'} in {table}"


def _is_continued(source: sqlite3.Connection, connection: sqlite3.Connection) -> bool:
    """Return whether the store has the numbers of a copy: it was not filled again under others."""
    last = None if pending(source) else event_chain.last_entry(source, _FARTHEST)
    return last is not None and _digest_at(connection, last.seq) == last.digest


def _missing_rows(source: sqlite3.Connection, connection: sqlite3.Connection, table: str) -> list[int]:
    ids = f"SELECT id FROM {table}"
    there = {id for (id,) in connection.execute(ids)}
    return [id for (id,) in source.execute(f"{ids} ORDER BY id") if id not in there]


def _only_in(source: sqlite3.Connection, connection: sqlite3.Connection) -> list[str]:
    """Return the conversations of a copy that the store lacks."""
    ids = "SELECT id FROM conversations WHERE call IS NULL"
    there = {id for (id,) in connection.execute(ids)}
    return [from_column(id) for (id,) in source.execute(ids) if id not in there]


def _rewritten(source: sqlite3.Connection, connection: sqlite3.Connection) -> int:
    """Return the number of the first event that a copy has with another content, although the chain is whole;
    0 where there is none."""
    last = None if pending(source) else event_chain.last_entry(source, _FARTHEST)
    if last is None or _digest_at(connection, last.seq) == last.digest:
        return 0
    low, high = 0, last.seq
    while high - low > 1:
        middle = (low + high) // 2
        same = _digest_at(source, middle) == _digest_at(connection, middle)
        low, high = (middle, high) if same else (low, middle)
    # Events that were restored from a copy have other numbers.
    event = "SELECT conversation_id, type, timestamp, unit FROM events WHERE seq = ?"
    ours, theirs = (each.execute(event, (high,)).fetchone() for each in (connection, source))
    return high if ours == theirs is not None else 0


def _digest_at(connection: sqlite3.Connection, number: int) -> bytes:
    entry = event_chain.last_entry(connection, number)
    return event_chain.START if entry is None else entry.digest


def _copy(path: Path) -> Iterator[str]:
    try:
        with closing(open_to_read(path, _PATIENCE, untouched=True)) as connection:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as exc:
        found = str(exc)
    if found != "ok":
        yield f"it is damaged: {found}. Delete it: the next copy replaces it"


def _schema(connection: sqlite3.Connection) -> Iterator[str]:
    """Describe missing tables, columns and indexes of the recorded migrations."""
    if pending(connection):
        return
    with closing(connect(":memory:")) as whole:
        migrate(whole)
        there = dict(_described(connection))
        missing = [name for name, what in _described(whole) if name not in there or there[name] != what]
    if missing:
        yield f"{', '.join(missing[:_MOST])} missing"


def _described(connection: sqlite3.Connection) -> Iterator[tuple[str, object]]:
    """Yield the kind and name of each table, index and column, with what defines a column."""
    for kind, name in connection.execute("SELECT type, name FROM sqlite_schema").fetchall():
        yield f"{kind} {name}", None
        if kind == "table":
            for row in connection.execute(f'PRAGMA table_info("{name}")'):
                yield f"column {name}.{row[1]}", row[2:]


def _counted(rows: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} in {name}" for name, count in rows.items())


def _contents(connection: sqlite3.Connection, blobs: Blobs) -> Iterator[Damage]:
    lost = [str(exc) for _, _, exc in _lost_contents(connection, blobs)]
    if lost:
        what = f"{_plural(len(lost), 'content')} of files and images cannot be read: {' '.join(lost[:_MOST])}"
        yield Damage(blobs.directory, what)


def _lost_contents(connection: sqlite3.Connection, blobs: Blobs) -> Iterator[tuple[str, int, StoreError]]:
    """Yield the digest and size of each content that cannot be read, and why."""
    images = {(image["digest"], image["size"]) for image in stored_images(connection)}
    for digest, size in chain(connection.execute(_CONTENTS).fetchall(), images):
        try:
            for _ in blobs.stream(digest, size):
                pass
        except StoreError as exc:
            yield digest, size, exc


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
