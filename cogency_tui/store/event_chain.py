"""The hash chain over events: an entry for each, whose digest covers the event's row and the entry before.

Whatever changes, removes or replaces a row outside of the program breaks the chain at that row, and only
there: an entry stores the digest of the one before. The chain tells which events are lost, and whether the
row of a copy is the original. It is no secret: who can write the file can also build another
chain, which the copies of before then contradict.

Invariant: an entry is written in the transaction of its event, and its number is never given to another
event, even if the row is lost.
"""

import sqlite3
import struct
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import groupby
from typing import Any, NamedTuple

DIGEST_SIZE = 16

TABLE = "event_chain"

START = bytes(DIGEST_SIZE)
"""The digest before the first entry."""

# As bytes: invalid text must neither fail nor be replaced.
_BYTES = (
    "CAST(type AS BLOB), timestamp, CAST(conversation_id AS BLOB), CAST(unit AS BLOB), CAST(body AS BLOB)"
)
_EVENTS = f"SELECT seq, {_BYTES} FROM events"
_ENTRIES = (
    f"SELECT seq, coalesce(CAST(before AS BLOB), x''), coalesce(CAST(digest AS BLOB), x''), lost FROM {TABLE}"
)
_TEXTS = "type, timestamp, unit, body"
_AT_ONCE = 60.0
"""Seconds between migrations of one start."""

_NO_TIME = b"\xff" * 8


def create(connection: sqlite3.Connection) -> None:
    """Create the chain: `before` is the digest of the entry before, `lost` the time at which a repair found
    that the event cannot be restored."""
    connection.execute(
        f"CREATE TABLE {TABLE}"
        " (seq INTEGER PRIMARY KEY, before BLOB NOT NULL, digest BLOB NOT NULL, lost REAL)"
    )
    # Events that damage has made unreadable stay without an entry: the store opens all the same.
    with suppress(sqlite3.DatabaseError):
        extend(connection, 0)


def next_number(connection: sqlite3.Connection) -> int:
    """Return the number for the next event: no event has or had it."""
    lasts = (connection.execute(f"SELECT max(seq) FROM {table}").fetchone() for table in ("events", TABLE))
    return max(last or 0 for (last,) in lasts) + 1


def extend(connection: sqlite3.Connection, after: int) -> None:
    """Append an entry for each event above the number `after`, which have none, in the caller's
    transaction."""
    last = connection.execute(f"{_ENTRIES} ORDER BY seq DESC LIMIT 1").fetchone()
    digest = Entry._make(last).digest if last else START
    rows = connection.execute(f"{_EVENTS} WHERE seq > ? ORDER BY seq", (after,))
    with closing(rows):
        for seq, *columns in rows:
            before, digest = digest, _linked(digest, seq, columns)
            connection.execute(
                f"INSERT INTO {TABLE} (seq, before, digest) VALUES (?, ?, ?)", (seq, before, digest)
            )


class Entry(NamedTuple):
    """An entry of the chain."""

    seq: int
    before: bytes
    digest: bytes
    lost: float | None


@dataclass(slots=True)
class ChainReport:
    """What a verification found: the numbers of `events` and of those `verified`, and the numbers of the
    events that are `missing` or `altered`. `lost` events are known to be from an earlier repair. `unchained`
    ones have no entry; `added` are those of them that no earlier version can have written. `entries` are
    damaged themselves, here as their events and the entries beside them prove that they were.
    """

    events: int = 0
    verified: int = 0
    unchained: int = 0
    lost: int = 0
    missing: list[int] = field(default_factory=list[int])
    altered: list[int] = field(default_factory=list[int])
    added: list[int] = field(default_factory=list[int])
    entries: list[Entry] = field(default_factory=list[Entry])

    @property
    def is_whole(self) -> bool:
        """True if no event is missing or altered, and no entry damaged."""
        return not (self.missing or self.altered or self.entries)


def verify(connection: sqlite3.Connection) -> ChainReport:
    """Check each event against its entry, and each entry against the one before.

    Raises:
        sqlite3.Error: a page cannot be read.
    """
    report = ChainReport()
    entries = connection.execute(f"{_ENTRIES} ORDER BY seq")
    rows = connection.execute(f"{_EVENTS} ORDER BY seq")
    with closing(entries), closing(rows):
        last, through = Entry(0, START, START, None), START
        """The last entry, and the digest of the events without one behind it."""
        proposed: dict[bytes, Entry] = {}
        """What the last entry should be, by its digest, where its event does not agree with it."""
        unchained: list[int] = []
        without: list[int] = []
        for seq, entry, row in _merged(map(Entry._make, entries), rows):
            report.events += row is not None
            if entry is None:
                through = _linked(through, seq, row or ())
                unchained.append(seq)
                continue
            if not unchained and entry.before in proposed:
                last = proposed[entry.before]
                through = last.digest
                report.entries.append(last)
                report.verified += 1
                if last.lost is None:
                    report.altered.remove(last.seq)
                else:
                    report.lost -= 1
            own = b"" if row is None else _linked(entry.before, seq, row)
            other = own if entry.before == last.digest or row is None else _linked(last.digest, seq, row)
            if own != entry.digest == other and not unchained:
                entry, own = entry._replace(before=last.digest), other
                report.entries.append(entry)
            is_doubted = report.altered[-1:] == [last.seq]
            if entry.before == through and entry.before != last.digest:
                # Their entries are lost, and prove to be theirs by the one behind.
                report.verified += len(unchained)
            else:
                without += unchained
                is_beside = last.lost is not None and entry.before == last.before
                if entry.before != last.digest and not is_beside:
                    gap = sorted({*range(last.seq + 1, seq)}.difference(unchained))
                    report.missing += gap
                    report.altered += [] if gap or unchained or is_doubted else [seq]
            proposed = {}
            if row is None:
                _count(report, report.missing, entry)
            elif own == entry.digest:
                report.verified += 1
            else:
                if report.altered[-1:] != [seq]:
                    _count(report, report.altered, entry)
                proposed = {
                    other: Entry(seq, last.digest, other, entry.lost),
                    own: entry._replace(digest=own),
                }
            last, through, unchained = entry, entry.digest, []
        without += unchained
    report.unchained = len(without)
    earlier = _last_of_earlier(connection) if without else 0
    report.added = [number for number in without if number > earlier]
    return report


def _last_of_earlier(connection: sqlite3.Connection) -> int:
    """Return the last number that an event from before the chain can have; 0 in a store that was created with
    it."""
    steps = "SELECT applied FROM migrations WHERE name IN ('create_events', 'create_event_chain')"
    times = [applied for (applied,) in connection.execute(steps)]
    if len(times) < 2 or max(times) - min(times) < _AT_ONCE:
        return 0
    since = "SELECT min(seq) FROM events WHERE timestamp > ?"
    (first,) = connection.execute(since, (max(times),)).fetchone()
    return first - 1 if first is not None else next_number(connection)


def _count(report: ChainReport, wrong: list[int], entry: Entry) -> None:
    if entry.lost is None:
        wrong.append(entry.seq)
    else:
        report.lost += 1


def last_entry(connection: sqlite3.Connection, number: int) -> Entry | None:
    """Return the last entry up to this number."""
    sql = f"{_ENTRIES} WHERE seq <= ? ORDER BY seq DESC LIMIT 1"
    row = connection.execute(sql, (number,)).fetchone()
    return None if row is None else Entry._make(row)


def restore(connection: sqlite3.Connection, numbers: Iterable[int], copy: sqlite3.Connection) -> list[int]:
    """Restore events of these numbers from a `copy` of the database where its rows are the originals, in the
    caller's transaction; return their numbers.

    Raises:
        sqlite3.Error: the copy cannot be read.
    """
    columns = "seq, conversation_id, type, timestamp, unit, body"
    restored: list[int] = []
    for number in numbers:
        there, own = last_entry(copy, number), last_entry(connection, number)
        row = copy.execute(f"{_EVENTS} WHERE seq = ?", (number,)).fetchone()
        if row is None or there is None or there.seq != number:
            continue
        if own is None or own.seq != number or _linked(own.before, number, row[1:]) != own.digest:
            # Its entry is lost or damaged as well, unless it is that of another event here.
            if not _is_proven(copy, there, number) or _is_proven(connection, own, number):
                continue
            if not _put(connection, there):
                continue
        values = copy.execute(f"SELECT {columns} FROM events WHERE seq = ?", (number,)).fetchone()
        connection.execute(f"INSERT OR REPLACE INTO events ({columns}) VALUES (?, ?, ?, ?, ?, ?)", values)
        restored.append(number)
    return restored


def _is_proven(connection: sqlite3.Connection, entry: Entry | None, number: int) -> bool:
    """Return whether there is an event of this number, and an entry of it that agrees with it."""
    row = connection.execute(f"{_EVENTS} WHERE seq = ?", (number,)).fetchone()
    if row is None or entry is None or entry.seq != number:
        return False
    return _linked(entry.before, number, row[1:]) == entry.digest


def _put(connection: sqlite3.Connection, entry: Entry) -> bool:
    """Put the entry of an event in its place, unless those beside contradict it; return whether they do not.

    Events that were stored since a damaged entry continue that one: if its event is the same, they are linked
    anew.
    """
    own, behind = last_entry(connection, entry.seq), _next_entry(connection, entry.seq)
    before = last_entry(connection, entry.seq - 1)
    if entry.before != (START if before is None else before.digest):
        return False
    is_continued = behind is None or behind.seq != entry.seq + 1 or behind.before == entry.digest
    is_own_continued = own is not None and own.seq == entry.seq and behind and behind.before == own.digest
    if not (is_continued or (is_own_continued and _is_proven(connection, entry, entry.seq))):
        return False
    sql = f"INSERT OR REPLACE INTO {TABLE} (seq, before, digest) VALUES (?, ?, ?)"
    connection.execute(sql, entry[:3])
    if not is_continued:
        _link_again(connection, entry)
    return True


def _link_again(connection: sqlite3.Connection, last: Entry) -> None:
    """Link the entries behind one to it, as far as they continue each other and agree with their events."""
    entry = _next_entry(connection, last.seq)
    before = None if entry is None else entry.before
    while entry is not None and entry.before == before and _is_proven(connection, entry, entry.seq):
        (row,) = connection.execute(f"{_EVENTS} WHERE seq = ?", (entry.seq,))
        before, digest = entry.digest, _linked(last.digest, entry.seq, row[1:])
        last = entry._replace(before=last.digest, digest=digest)
        mend(connection, [last])
        entry = _next_entry(connection, last.seq)


def mend(connection: sqlite3.Connection, entries: Iterable[Entry]) -> None:
    """Replace damaged entries by these, in the caller's transaction."""
    for entry in entries:
        sql = f"UPDATE {TABLE} SET before = ?, digest = ? WHERE seq = ?"
        connection.execute(sql, (entry.before, entry.digest, entry.seq))


def take(connection: sqlite3.Connection, copy: sqlite3.Connection) -> int:
    """Take the chain of a `copy` into a database without one; return the number of its last entry."""
    last = 0
    for row in copy.execute(f"{_ENTRIES} ORDER BY seq"):
        connection.execute(f"INSERT INTO {TABLE} VALUES (?, ?, ?, ?)", row)
        last = row[0]
    return last


def lacking(
    connection: sqlite3.Connection,
    copy: sqlite3.Connection,
    conversation: str | bytes,
    disproved: Collection[int] = (),
) -> list[tuple[Any, ...]]:
    """Return the events of a conversation that only a `copy` has, with their numbers; without the `disproved`
    ones, and those in the place of which the chain has another one that is lost."""
    sql = f"SELECT seq, {_TEXTS} FROM events WHERE conversation_id = ? ORDER BY seq"
    there = Counter(row[1:] for row in connection.execute(sql, (conversation,)))
    counted = "SELECT count(*) FROM events WHERE conversation_id = ?"
    count = copy.execute(counted, (conversation,)).fetchone()[0] - there.total()
    if count <= 0:
        return []
    missing: list[tuple[Any, ...]] = []
    for row in copy.execute(sql, (conversation,)):
        there[row[1:]] -= 1
        if there[row[1:]] < 0:
            missing.append(row)
    # Others of them are here with other contents.
    missing = missing[-count:]
    return [
        row for row in missing if row[0] not in disproved and not _is_contradicted(connection, copy, row[0])
    ]


def _is_contradicted(connection: sqlite3.Connection, copy: sqlite3.Connection, number: int) -> bool:
    """Return whether the chain has another event under the number of a copy's, and has lost that."""
    own = last_entry(connection, number)
    if own is None or own.seq != number:
        return False
    return not (_is_proven(connection, own, number) or _is_proven(copy, own, number))


def complete(
    connection: sqlite3.Connection,
    copy: sqlite3.Connection,
    conversation: str | bytes,
    disproved: Collection[int] = (),
) -> int:
    """Restore the events of a conversation that are `lacking`, under their numbers where these are free, in
    the caller's transaction; return how many."""
    missing = lacking(connection, copy, conversation, disproved)
    restored = {*restore(connection, [row[0] for row in missing], copy)} if missing else set[int]()
    for row in missing:
        if row[0] not in restored:
            number = next_number(connection)
            connection.execute(
                f"INSERT INTO events (seq, conversation_id, {_TEXTS}) VALUES (?, ?, ?, ?, ?, ?)",
                (number, conversation, *row[1:]),
            )
            extend(connection, number - 1)
    return len(missing)


def accept_losses(connection: sqlite3.Connection, numbers: Iterable[int], now: float) -> None:
    """Mark the events of these numbers as lost, so that later verifications only count them."""
    for number in sorted(numbers):
        updated = connection.execute(f"UPDATE {TABLE} SET lost = ? WHERE seq = ?", (now, number))
        if updated.rowcount == 0:
            before, behind = last_entry(connection, number), _next_entry(connection, number)
            digest = START if before is None else before.digest
            after = digest if behind is None or behind.seq != number + 1 else behind.before
            connection.execute(f"INSERT INTO {TABLE} VALUES (?, ?, ?, ?)", (number, digest, after, now))


def accept_added(connection: sqlite3.Connection, numbers: Iterable[int], now: float) -> None:
    """Give events without an entry one, in the caller's transaction: behind the last one, or else beside the
    chain, with the time of now as that of a loss."""
    (last,) = connection.execute(f"SELECT coalesce(max(seq), 0) FROM {TABLE}").fetchone()
    for number in (number for number in numbers if number < last):
        before, behind = last_entry(connection, number), _next_entry(connection, number)
        known = (START,) if before is None else (before.digest, before.before)
        if behind is None or behind.before not in known:
            # Its own entry was removed, and is the one that is missing here.
            accept_losses(connection, [number], now)
            continue
        row = connection.execute(f"{_EVENTS} WHERE seq = ?", (number,)).fetchone()
        entry = (number, behind.before, _linked(behind.before, number, row[1:]), now)
        connection.execute(f"INSERT INTO {TABLE} VALUES (?, ?, ?, ?)", entry)
    extend(connection, last)


def _next_entry(connection: sqlite3.Connection, number: int) -> Entry | None:
    sql = f"{_ENTRIES} WHERE seq > ? ORDER BY seq LIMIT 1"
    row = connection.execute(sql, (number,)).fetchone()
    return None if row is None else Entry._make(row)


def spans(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of each run of successive numbers."""
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        found = [number for _, number in run]
        yield found[0], found[-1]


def _merged(
    entries: Iterator[Entry], rows: Iterator[Any]
) -> Iterator[tuple[int, Entry | None, list[Any] | None]]:
    """Yield the number of each entry or event with both, None for the one that there is not."""
    entry, row = next(entries, None), next(rows, None)
    while entry is not None or row is not None:
        number = min(each[0] for each in (entry, row) if each is not None)
        found: Entry | None = None
        columns: list[Any] | None = None
        if entry is not None and entry.seq == number:
            found, entry = entry, next(entries, None)
        if row is not None and row[0] == number:
            columns, row = list(row[1:]), next(rows, None)
        yield number, found, columns


def _linked(before: bytes, seq: int, columns: Iterable[Any]) -> bytes:
    """Return the digest of an entry: of the one before it, and the number and columns of its event."""
    kind, timestamp, *texts = columns
    hashed = blake2b(before, digest_size=DIGEST_SIZE)
    hashed.update(struct.pack("<q", seq))
    hashed.update(struct.pack("<d", timestamp) if isinstance(timestamp, (int, float)) else _NO_TIME)
    for text in (kind, *texts):
        # The lengths, so that no text can continue in the next one.
        hashed.update(struct.pack("<q", -1 if text is None else len(text)))
        hashed.update(text or b"")
    return hashed.digest()
