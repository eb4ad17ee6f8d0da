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
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import file_digest
from itertools import chain
from pathlib import Path
from typing import Any

from cogency_tui import private_files
from cogency_tui.errors import StoreError, UsageError
from cogency_tui.file_lock import file_lock
from cogency_tui.store import event_chain, export_import, lost_rows, origins, schema_backup
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.copies import DIRECTORY as COPIES
from cogency_tui.store.copies import copies_in
from cogency_tui.store.copy_checks import (
    FIXED,
    CheckedCopy,
    RowId,
    changed_events,
    check_copies,
    compare_rows,
    digest_at,
    fixed_columns,
    is_continued,
    usable,
)
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
from cogency_tui.store.recovery import MADE, OWNERS, Recovered, recover, unreadable
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
    "requests": "requests",
    "profile_facts": "facts of the profile",
}
"""Tables with what a user would miss, as it is called."""

_NUMBERED = {"edits", "usage", "requests"}
"""Those of them whose rows have successive numbers, and are never removed; the chain counts events."""

_FARTHEST = 1 << 62
_MOST_BEHIND = 100_000
"""Events that a damaged chain can lack at its end; a larger number is damage itself."""

_APPENDED = ("edits", "usage")
"""Tables besides that of the events to which rows are only added."""

_TURNS = f"SELECT count(*) FROM events WHERE conversation_id = ? AND {BEGINS_TURN}"
_UNUSED = "A repair does not use it. Delete it: the next copy replaces it"

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
        copies = check_copies(directory)
        what = "it is missing or empty, but there is a copy of its history: {}"
        return [
            *(Damage(path, what.format(copy.path), True) for copy in usable(copies)[:1]),
            *(damage for copy in copies for damage in _copy(copy, None)),
        ]
    copies = check_copies(directory)
    found = [Damage(companions(path)[0], what, True) for what in _wal(companions(path)[0])]
    try:
        with closing(open_to_read(path, _PATIENCE, untouched=True)) as connection:
            found += (Damage(path, what, True) for what in _structure(connection))
            is_sound = not found
            found += (Damage(path, what, True) for what in _rows(connection))
            if is_sound:
                found += (Damage(path, what, True) for what in _orphans(connection))
                found += _history(connection, path, copies, is_sound=not found)
            with suppress(sqlite3.Error):
                found += _contents(connection, Blobs(directory / BLOBS))
            for copy in copies:
                found += _copy(copy, connection if is_sound else None)
    except (OSError, sqlite3.Error) as exc:
        found.append(Damage(path, str(exc), True))
        found += (damage for copy in copies for damage in _copy(copy, None))
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
    aside = _to_merge(path)
    left = [
        f"{damage.what}." if damage.path == path else f"{damage.path}: {damage.what}."
        for damage in damages
        if not damage.of_store and (damage.path == path or damage.path.parent.name == COPIES)
    ]
    if not (damaged or lacking or aside):
        return left
    if others := Presence(directory).elsewhere():
        pids = ", ".join(sorted({str(mark.pid) for mark in others}))
        raise StoreError(f"{path} is open in process {pids}.", "Close it there first.")
    try:
        with file_lock(directory / LOCK, _PATIENCE) as alone:
            if not alone:
                raise StoreError(f"{path} is being opened by another process.", "Try again.")
            copies = check_copies(directory)
            is_broken = (damaged or not size_of(path)) and _is_broken(path)
            is_sound = not (is_broken or _is_history_damaged(path))
            recovered, done = _repaired(path, copies) if is_broken else (Recovered(), [])
            # Before the copies, which are older.
            for each in reversed(aside):
                done += _brought_back(path, each)
                private_files.write_file(_mark_of(each), b"")
            if damaged or aside:
                done += _restored(path, copies, recovered.last.get("events", 0), is_sound=is_sound)
            done = [*_losses(path, recovered), *done, *_refilled(path)]
            if is_broken:
                _remove_index(directory)
            done = sorted(dict.fromkeys(done), key=lambda line: not line.startswith(_LOST))
            return [*done, *left]
    except (OSError, sqlite3.Error) as exc:
        raise store_error(exc, path) from exc


def _to_merge(path: Path) -> list[Path]:
    """Return the databases that were set aside and not merged yet; all of them where there is no other."""
    aside = sorted(each for each in path.parent.glob(f"{FILE}.damaged-*") if each.suffix[-1].isdigit())
    return aside if not size_of(path) else [each for each in aside if not _mark_of(each).exists()]


def _mark_of(aside: Path) -> Path:
    """Return the file which marks that a database that was set aside is merged."""
    return aside.with_name(f"{aside.name}.merged")


def _remove_index(directory: Path) -> None:
    """Remove the search index of a database that was replaced: it is built again."""
    index = directory / INDEX
    for file in (index, *companions(index)):
        file.unlink(missing_ok=True)


def _is_history_damaged(path: Path) -> bool:
    """Return whether the chain shows that events are not as they were stored."""
    with closing(open_to_read(path, _PATIENCE, untouched=True)) as connection:
        if pending(connection):
            return False
        report = event_chain.verify(connection)
        return not report.is_whole or bool(report.added)


def _is_broken(path: Path) -> bool:
    """Return whether the database itself is damaged, and not only its history."""
    if not size_of(path) or [*_wal(companions(path)[0])]:
        return True
    try:
        with closing(open_to_read(path, _PATIENCE, untouched=True)) as connection:
            return any(_structure(connection)) or any(_rows(connection)) or any(_orphans(connection))
    except (OSError, sqlite3.Error):
        return True


def _restored(path: Path, copies: Sequence[CheckedCopy], through: int, *, is_sound: bool) -> list[str]:
    """Restore what the chain shows as missing or altered from the copies, and what only these have; accept
    the loss of the rest. `through` is the number of the last event, if it is known."""
    done: list[str] = []
    with closing(_connected(path)) as connection:
        done += _rechained(connection, copies)
        done += _mended(connection)
        report = event_chain.verify(connection)
        last = event_chain.next_number(connection) - 1
        report.missing += range(last + 1, through + 1) if through - last < _MOST_BEHIND else ()
        left = [*report.missing, *report.altered, *report.added]
        for copy in usable(copies):
            with suppress(sqlite3.Error), closing(copy.open()) as source:
                with _transaction(connection):
                    done += (f"{what} restored from {copy.path}." for what in _reclaimed(connection, source))
                with _transaction(connection):
                    restored = _restored_from(connection, source, left)
                left = [number for number in left if number not in restored]
                if restored:
                    done.append(f"{_events(sorted(restored))} restored from {copy.path}.")
        for copy in usable(copies):
            with (
                suppress(sqlite3.Error),
                closing(copy.open()) as source,
                _transaction(connection),
            ):
                what = _completed(connection, source, copy)
                done += (f"{each} restored from {copy.path}." for each in what)
        with _transaction(connection):
            done += _reset(connection, copies, is_sound=is_sound)
            _remove_made(connection)
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
    return [
        *done,
        *(line for copy in usable(copies) for line in _brought_back(path, copy.path, copy.disproved)),
    ]


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Generator[None]:
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        yield


def _remove_made(connection: sqlite3.Connection) -> None:
    """Remove the conversations that a recovery has made for events whose own conversation is known again."""
    left = " UNION ".join(f"SELECT {column} FROM {table}" for table, column, _ in OWNERS)
    connection.execute(
        f"DELETE FROM conversations WHERE provider = '' AND title = '{MADE}' AND id NOT IN ({left})"
        " AND id NOT IN (SELECT parent FROM conversations WHERE parent IS NOT NULL)"
    )


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


def _rechained(connection: sqlite3.Connection, copies: Sequence[CheckedCopy]) -> Iterator[str]:
    """Build the chain again if it is missing: as the newest copy has it, and over the events since."""
    report = event_chain.verify(connection)
    if not report.events or report.unchained < report.events:
        return
    after = 0
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        for copy in usable(copies)[:1]:
            with suppress(sqlite3.Error), closing(copy.open()) as source:
                after = event_chain.take(connection, source)
        event_chain.extend(connection, after)
    yield "The hash chain was missing, and has been built again."


def _mended(connection: sqlite3.Connection) -> Iterator[str]:
    """Replace the entries of the chain that the others and the events prove to be damaged."""
    entries = event_chain.verify(connection).entries
    if entries:
        with _transaction(connection):
            event_chain.mend(connection, entries)
        yield f"The hash chain was damaged at {_numbers(entries)}, and has been mended."


def _completed(
    connection: sqlite3.Connection, source: sqlite3.Connection, copy: CheckedCopy
) -> Iterator[str]:
    """Restore the rows of a copy that the store lacks, in conversations that are there."""
    continued = is_continued(source, connection)
    restored = 0
    for (id,) in connection.execute("SELECT id FROM conversations").fetchall():
        restored += event_chain.complete(connection, source, id, copy.disproved)
    if restored:
        yield f"{_plural(restored, 'event')} {'was' if restored == 1 else 'were'}"
    for table in _APPENDED if continued or is_continued(source, connection) else ():
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


def _reset(connection: sqlite3.Connection, copies: Sequence[CheckedCopy], *, is_sound: bool) -> Iterator[str]:
    """Restore the rows that another program changed: where most copies prove it, or the store is unsound."""
    for found in [*compare_rows(connection, usable(copies))]:
        undecided = {} if is_sound else found.undecided
        for path in sorted({*found.changed, *undecided}, reverse=True):
            ids = [*found.changed.get(path, []), *undecided.get(path, [])]
            with closing(open_to_read(path, _PATIENCE, untouched=True)) as source:
                columns = fixed_columns(source, connection, found.table)
                assignments = ", ".join(f"{name} = ?" for name in columns)
                for id in ids:
                    sql = f"SELECT {', '.join(columns)} FROM {found.table} WHERE id = ?"
                    row = source.execute(sql, (id,)).fetchone()
                    connection.execute(f"UPDATE {found.table} SET {assignments} WHERE id = ?", (*row, id))
            what = f"{_plural(len(ids), FIXED[found.table])} ({_listed(ids)}) {_were(ids)}"
            yield f"{what} changed by another program, and {_were(ids)} restored from {path}."


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


def _numbers(entries: Iterable[event_chain.Entry]) -> str:
    """Name the places of entries in the chain: `events 5–6, 9`."""
    numbers = [entry.seq for entry in entries]
    return f"event{'' if len(numbers) == 1 else 's'} {_spans(numbers)}"


def _spans(numbers: Iterable[int]) -> str:
    named = [
        f"{first}" if first == last else f"{first}–{last}"
        for first, last in event_chain.spans(sorted(numbers))
    ]
    more = f" and {len(named) - _MOST_SPANS:,} more places" if len(named) > _MOST_SPANS else ""
    return f"{', '.join(named[:_MOST_SPANS])}{more}"


def _events(numbers: Sequence[int]) -> str:
    """Name events by their numbers: `3 events (5–6, 9) were`."""
    listed = f"({_spans(numbers)})"
    return f"1 event {listed} was" if len(numbers) == 1 else f"{len(numbers):,} events {listed} were"


def _repaired(path: Path, copies: Sequence[CheckedCopy]) -> tuple[Recovered, list[str]]:
    """Replace a damaged database by its readable rows, and those of the copies that it has lost."""
    if not (size_of(path) or size_of(companions(path)[0])):
        private_files.write_file(path, b"")
        with closing(_connected(path)) as connection:
            migrate(connection)
        return Recovered(), []
    foreign = _foreign(path)
    fresh = path.with_name(f"{FILE}.recovered")
    fresh.unlink(missing_ok=True)
    recovered = _recovered(path, fresh, copies)
    damaged = set_aside(path)
    private_files.write_file(_mark_of(damaged), b"")
    fresh.rename(path)
    done = [f"{recovered.rows:,} rows of {path} were recovered; it is now {damaged}."]
    done += [f"Made by another program, and removed: {', '.join(foreign)}."] if foreign else []
    for copy, filled in recovered.filled.items():
        rows = ", ".join(f"{count:,} in {table}" for table, count in filled.items())
        done.append(f"Rows that the database had lost were restored from {copy}: {rows}.")
    return recovered, done


def _losses(path: Path, recovered: Recovered) -> Iterator[str]:
    """Describe what a user loses of a damaged database, after the restore from the copies."""
    if not (recovered.incomplete or recovered.made):
        return
    with closing(open_to_read(path, _PATIENCE, untouched=True)) as connection:
        parts = [part for table in _OF_USERS if (part := _lost_part(connection, table, recovered))]
        dropped = _still_dropped(connection, recovered)
        made = [
            id
            for id in recovered.made
            if connection.execute(
                "SELECT 1 FROM conversations WHERE id = ? AND provider = ''", (to_column(id),)
            ).fetchone()
        ]
    if recovered.gone:
        yield f"{_LOST} {_plural(len(recovered.gone), 'conversation')} ({_listed(recovered.gone)})."
    if parts:
        yield f"{_LOST} parts of the database that cannot be read: {', '.join(parts)}."
    for table in (table for table in recovered.absent if table in _OF_USERS):
        filled = [rows[table] for rows in recovered.filled.values() if table in rows]
        what = f"all {_OF_USERS[table]}{_since(recovered, table)}"
        yield f"{_LOST} {what}{f', which has {sum(filled):,}' if filled else ''}: the table was removed."
    if dropped:
        yield f"{_LOST} damaged rows: {_counted(dropped)}."
    if made:
        what = f"{_plural(len(made), 'conversation')} ({_listed(made)})"
        yield f"{_LOST} title, model and totals of {what}, now listed as `{MADE}`."


def _lost_part(connection: sqlite3.Connection, table: str, recovered: Recovered) -> str:
    """Describe the rows of a table with unreadable places that did not come back; empty for none."""
    if table not in recovered.broken:
        return ""
    noun = _OF_USERS[table]
    if table == "conversations" and recovered.gone:
        return ""
    if table == "events":
        (last,) = connection.execute(f"SELECT coalesce(max(seq), 0) FROM {event_chain.TABLE}").fetchone()
        return f"maybe events behind number {last:,}"
    if table not in _NUMBERED:
        return f"maybe {noun}{_since(recovered, table)}"
    count, last = connection.execute(f"SELECT count(*), coalesce(max(id), 0) FROM {table}").fetchone()
    missing = max(last, recovered.last.get(table, 0)) - count
    known = [f"{missing:,} {noun}"] if missing > 0 else []
    if table not in recovered.last:
        known.append(f"maybe {noun} behind number {last:,}")
    return ", ".join(known)


def _since(recovered: Recovered, table: str) -> str:
    """Say which rows of a table may be lost: those that came after the newest copy."""
    dates = [_date_of(copy) for copy, filled in recovered.filled.items() if table in filled]
    return f" since the copy of {max(dates)}" if dates else ""


def _still_dropped(connection: sqlite3.Connection, recovered: Recovered) -> dict[str, int]:
    """Return the numbers of damaged rows that no copy had."""
    filled = Counter[str]()
    for rows in recovered.filled.values():
        filled.update(rows)
    left = {table: count - filled[table] for table, count in recovered.dropped.items()}
    if recovered.has_chain:
        # It names those that no copy has, but for those whose entries are lost as well.
        left["events"] = sum(not _is_known(connection, number) for number in recovered.dropped_events)
    return {table: count for table, count in left.items() if count > 0}


def _is_known(connection: sqlite3.Connection, number: int) -> bool:
    """Return whether there is an event of this number, or an entry of one."""
    entry = event_chain.last_entry(connection, number)
    event = connection.execute("SELECT 1 FROM events WHERE seq = ?", (number,)).fetchone()
    return event is not None or (entry is not None and entry.seq == number)


def _brought_back(path: Path, aside: Path, disproved: Collection[int] = ()) -> Iterator[str]:
    """Merge the conversations of a database that was set aside, or of a copy, into the current one, unless it
    has them; without the `disproved` events."""
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
        with closing(_connected(fresh)) as connection:
            rows = ((number,) for number in disproved)
            connection.executemany("DELETE FROM events WHERE seq = ?", rows)
        if _is_empty(path) and not _is_empty(fresh):
            yield from _put_in_place(fresh, path, aside, disproved)
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


def _put_in_place(fresh: Path, path: Path, origin: Path, disproved: Collection[int]) -> Iterator[str]:
    """Replace an empty database by what was recovered from `origin`, without the `disproved` events."""
    for file in (path, *companions(path), schema_backup.path_of(path)):
        file.unlink(missing_ok=True)
    with closing(_connected(fresh)) as connection:
        report = event_chain.verify(connection)
        if disproved := sorted({*report.missing, *report.altered} & {*disproved}):
            event_chain.accept_losses(connection, disproved, time.time())
            yield f"{_LOST} {_events(disproved)} changed by another program in {origin}."
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
        lacking = [row for row in source.execute(ours) if row not in there]
        if lacking:
            yield from _refilled(fresh)
        for (id,) in lacking:
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


def _recovered(path: Path, fresh: Path, copies: Sequence[CheckedCopy] = ()) -> Recovered:
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
            return recover(source, fresh, partial(lost_rows.fill, copies=usable(copies)))
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


def _history(
    connection: sqlite3.Connection, path: Path, copies: Sequence[CheckedCopy], *, is_sound: bool
) -> Iterator[Damage]:
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
    if report.entries:
        yield Damage(path, f"the hash chain is damaged at {_numbers(report.entries)}", True)
    is_sound = is_sound and report.is_whole and not report.added
    yield from _unlike_copies(connection, path, copies, is_sound=is_sound)
    for copy in usable(copies):
        with suppress(sqlite3.Error), closing(copy.open()) as source:
            lacking = [*_lacking(source, connection, copy, with_events=report.is_whole)]
            if lost := _only_in(source, connection):
                lacking.insert(0, _plural(len(lost), "conversation"))
            if lacking:
                yield Damage(path, f"{' and '.join(lacking)} of {copy.path.name} missing", True)
                return
            if report.is_whole and (differing := _rewritten(source, connection)):
                yield _contradiction(connection, path, copy, copies, differing)
                return


def _unlike_copies(
    connection: sqlite3.Connection, path: Path, copies: Sequence[CheckedCopy], *, is_sound: bool
) -> Iterator[Damage]:
    """Describe the rows that copies have with other values, although they do not change."""
    for found in compare_rows(connection, usable(copies)):
        noun = FIXED[found.table]
        changed = [id for ids in found.changed.values() for id in ids]
        if not is_sound:
            changed += [id for ids in found.undecided.values() for id in ids]
        if changed:
            what = f"{_plural(len(changed), noun)} ({_listed(changed)}) changed by another program"
            yield Damage(path, what, True)
        for copy, ids in found.undecided.items() if is_sound else ():
            yield Damage(path, _undecided(copy, noun, ids))
        for copy, ids in found.in_copies.items():
            what = f"{_plural(len(ids), noun)} ({_listed(ids)}) {_were(ids)} changed by another program"
            yield Damage(copy, f"{what}: the store and another copy agree. {_UNUSED}")


def _undecided(copy: Path, noun: str, ids: Sequence[RowId]) -> str:
    differs = "differs" if len(ids) == 1 else "differ"
    what = f"{_plural(len(ids), noun)} ({_listed(ids)}) {differs} from the copy of {_date_of(copy)}"
    them = "it as it is" if len(ids) == 1 else "them as they are"
    return f"{what}; nothing proves which of the two was changed, so a repair leaves {them}"


def _date_of(copy: Path) -> str:
    return copy.stem.removeprefix("cogency-")


def _contradiction(
    connection: sqlite3.Connection,
    path: Path,
    copy: CheckedCopy,
    copies: Sequence[CheckedCopy],
    number: int,
) -> Damage:
    """Describe a copy whose chain is another one from the event of this number on; a further copy tells which
    of the two was changed."""
    for other in usable(copies):
        with suppress(sqlite3.Error), closing(other.open()) as source:
            last = event_chain.last_entry(source, _FARTHEST)
            if last is not None and last.seq >= number and is_continued(source, connection):
                what = f"event {number} and later ones were changed by another program"
                return Damage(copy.path, f"{what}: the store and another copy agree. {_UNUSED}")
    what = f"event {number} and later ones were changed by another program"
    return Damage(path, f"{what}; {copy.path} has the originals")


def _lacking(
    source: sqlite3.Connection, connection: sqlite3.Connection, copy: CheckedCopy, *, with_events: bool
) -> Iterator[str]:
    """Describe the rows of a copy that the store lacks, in conversations that are there."""
    if with_events and (lost := _count_lacking_events(source, connection, copy)):
        yield _plural(lost, "event")
    for table in _APPENDED if is_continued(source, connection) else ():
        if missing := _missing_rows(source, connection, table):
            yield f"{len(missing):,} {'row' if len(missing) == 1 else 'rows'} in {table}"


def _count_lacking_events(
    source: sqlite3.Connection, connection: sqlite3.Connection, copy: CheckedCopy
) -> int:
    counts = "SELECT conversation_id, count(*) FROM events GROUP BY conversation_id"
    ours = dict(connection.execute(counts).fetchall())
    known = {id for (id,) in connection.execute("SELECT id FROM conversations")}
    shorter = [id for id, count in source.execute(counts) if id in known and count > ours.get(id, 0)]
    return sum(len(event_chain.lacking(connection, source, id, copy.disproved)) for id in shorter)


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
    if last is None or digest_at(connection, last.seq) == last.digest:
        return 0
    low, high = 0, last.seq
    while high - low > 1:
        middle = (low + high) // 2
        same = digest_at(source, middle) == digest_at(connection, middle)
        low, high = (middle, high) if same else (low, middle)
    # Events that were restored from a copy have other numbers.
    event = "SELECT conversation_id, type, timestamp, unit FROM events WHERE seq = ?"
    ours, theirs = (each.execute(event, (high,)).fetchone() for each in (connection, source))
    return high if ours == theirs is not None else 0


def _copy(copy: CheckedCopy, connection: sqlite3.Connection | None) -> Iterator[Damage]:
    """Describe the damage of a copy, beside the store where that can be read."""
    if copy.damage:
        yield Damage(copy.path, f"it is damaged: {copy.damage}. Delete it: the next copy replaces it")
        return
    numbers = sorted(copy.disproved)
    if numbers and connection is not None:
        with suppress(sqlite3.Error):
            numbers = changed_events(copy, connection)
    if numbers:
        what = f"{_events(numbers)} changed by another program, as the hash chain shows"
        yield Damage(copy.path, f"{what}. {_UNUSED}")


def _schema(connection: sqlite3.Connection) -> Iterator[str]:
    """Describe missing and foreign parts of the schema that the recorded migrations make."""
    if pending(connection):
        return
    there, made = dict(_described(connection)), _made_schema()
    if missing := [name for name, what in made.items() if name not in there or there[name] != what]:
        yield f"{', '.join(missing[:_MOST])} missing"
    if foreign := [name for name in there if name not in made]:
        yield f"{', '.join(foreign[:_MOST])} made by another program"


def _made_schema() -> dict[str, object]:
    with closing(connect(":memory:")) as whole:
        migrate(whole)
        return dict(_described(whole))


def _foreign(path: Path) -> list[str]:
    """Return the parts of a database's schema that the program does not make."""
    with (
        suppress(sqlite3.Error, NewerSchemaError),
        closing(open_to_read(path, _PATIENCE, untouched=True)) as connection,
    ):
        if not pending(connection):
            named = [name for name, _ in _described(connection) if not name.startswith("column ")]
            made = _made_schema()
            return [name for name in named if name not in made]
    return []


def _described(connection: sqlite3.Connection) -> Iterator[tuple[str, object]]:
    """Yield the kind and name of each table, index, trigger, view and column, with what defines an index or
    a column."""
    for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_schema").fetchall():
        # Statistics of SQLite's own may be there or not.
        if kind == "table" and name.startswith("sqlite_"):
            continue
        yield f"{kind} {name}", sql if kind == "index" else None
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
