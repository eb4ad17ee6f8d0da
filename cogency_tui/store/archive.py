"""The archive: all conversations as one stream of lines, and its way back.

Behind the first line follow exports as those of `export_import`, each with its own first line: one for each
conversation of the user's, with its sub-agents', the forks after what they were forked from. The last line
counts them.

Invariants: a line that is written passes the checks of its import, and none is stored without them. Each
export is stored in one transaction, or not at all; what a file has is stored once, however often it is
imported. Memory grows neither with the number of the conversations nor with that of their events.
"""

import base64
import json
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, BinaryIO, Literal, cast

import msgspec

from cogency_tui.errors import UsageError
from cogency_tui.protocol.events import Event
from cogency_tui.redaction import Redactor
from cogency_tui.store import export_import, origins
from cogency_tui.store.blobs import Blobs, failures
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.edits import COLUMNS as EDIT_COLUMNS
from cogency_tui.store.export_import import (
    ADVICE,
    KINDS,
    LONGEST_LINE,
    MOST_LINES,
    SUMMARY,
    TOO_MUCH,
    USAGE,
    ContentRecord,
    ConversationRecord,
    EditRecord,
    EventRecord,
    HeadRecord,
    Incoming,
    MarkRecord,
    Outgoing,
    PinRecord,
    Record,
    SummaryRecord,
    UsageRecord,
    blamed_on,
    checked_event,
    decoded_head,
    decoded_line,
    store_content,
    tree,
)
from cogency_tui.store.open_locks import Presence
from cogency_tui.store.pins import PINNED
from cogency_tui.store.store import (
    StoredConversation,
    insert,
    is_conversation_id,
    new_conversation_id,
)

FORMAT = "cogency-tui archive"
VERSION = 1

LARGEST = 1 << 30
"""Bytes of one conversation in an archive, without the contents of files."""

MOST_SUBAGENTS = 100_000

_DEEPEST_FORK = 200
"""Forks of forks of one conversation, beyond which a fork from an archive is imported without its parent."""

_IN_MEMORY = 4 << 20
_PIECE = 1 << 20
_USE = "import"
"""The use of a conversation that is continued from an archive."""

_FAULTS = (ValueError, KeyError, TypeError, RecursionError)
_KIND = re.compile(rb'\s*\{\s*"(\w{1,20})"\s*:')
_PLACED = """
    WITH RECURSIVE placed (id, depth) AS (
        SELECT id, 0 FROM conversations WHERE parent IS NULL
        UNION ALL
        SELECT c.id, depth FROM conversations c JOIN placed ON c.parent = placed.id WHERE c.call IS NOT NULL
        UNION ALL
        SELECT c.id, depth + 1 FROM conversations c JOIN placed ON c.parent = placed.id WHERE c.call IS NULL
    )
"""
_FIRST_PARENTS = (
    f"{_PLACED} SELECT c.id FROM placed JOIN conversations c ON c.id = placed.id"
    " WHERE c.call IS NULL OR c.parent IS NULL ORDER BY depth, created, c.id"
)
_LOST = f"{_PLACED} SELECT id FROM conversations WHERE id NOT IN (SELECT id FROM placed) ORDER BY created, id"


# Writing.


def identified(connection: sqlite3.Connection) -> Iterator[tuple[str, bool]]:
    """Yield the ids of all conversations but those of sub-agents, parents before their forks; then, with
    True, those whose parents are lost."""
    for (id,) in connection.execute(_FIRST_PARENTS):
        yield from_column(id), False
    for (id,) in connection.execute(_LOST):
        yield from_column(id), True


def all_conversations(connection: sqlite3.Connection) -> Iterator[StoredConversation]:
    """Yield all conversations, those of sub-agents behind their parents."""
    for id, is_lost in identified(connection):
        yield from tree(connection, id, alone=is_lost)


class ArchiveWriter:
    """Writes all conversations of a store; `report` receives a sentence on each row that is left out."""

    def __init__(self, connection: sqlite3.Connection, blobs: Blobs, report: Callable[[str], object]) -> None:
        self.conversations = 0
        self.omitted = 0
        """Rows, contents and parts that could not be read."""
        self._connection = connection
        self._outgoing = Outgoing(connection, blobs, self._formed, self._omit)
        self._report = report
        self._redactor = Redactor({})
        self._id = self._project = ""

    @property
    def outside(self) -> int:
        """Edits of files outside their projects, which no export has."""
        return self._outgoing.outside

    @property
    def secret(self) -> int:
        """Contents of files that hold what looks like a secret, which no export has."""
        return self._outgoing.secret

    def lines(self) -> Iterator[str]:
        """Yield the lines, in a read transaction of the caller's."""
        yield _text({"format": FORMAT, "version": VERSION})
        for id, is_lost in identified(self._connection):
            self._id, self._project = id, ""
            if is_lost:
                self._omit("the conversation that it belongs to cannot be found")
            yield from self._export(is_lost)
        yield _text({"end": self.conversations})

    def _export(self, alone: bool) -> Iterator[str]:
        count = 0
        try:
            for count, line in enumerate(self._outgoing.lines(self._id, alone=alone), 1):
                if count == 1:
                    self.conversations += 1
                    yield _text({"format": export_import.FORMAT, "version": export_import.VERSION})
                yield _text(line)
        except sqlite3.DatabaseError as exc:
            self._omit(f"it cannot be read to its end: {exc}")
        if count >= MOST_LINES:
            self._omit(f"it has more than {MOST_LINES:,} lines, too many to be imported again")

    def _omit(self, what: str) -> None:
        self.omitted += 1
        self._report(f"Conversation {self._id}: {what}")

    def _formed(self, line: dict[str, Any]) -> dict[str, Any] | None:
        """Return a line in the form that its import gives it."""
        kind = next(iter(line))
        redacted = line
        try:
            redacted = self._redactor.value(line)
            record = decoded_line(_text(redacted), float("inf"))
            if isinstance(record, ConversationRecord):
                self._project = self._project or record.project
            elif isinstance(record, EditRecord) and record.project != self._project:
                raise ValueError(f"it is of another project, {record.project}")
        except _FAULTS as exc:
            number = line.get("number") or (line[kind].get("id", "") if isinstance(line[kind], dict) else "")
            self._omit(f"{kind} {number} is not valid: {export_import.reason(exc)}".replace("  ", " "))
            # Without its first line nothing of a conversation could be found in the file.
            return redacted if kind == "conversation" else None
        if isinstance(record, EventRecord):
            return {"event": record.event, "number": record.number}
        return {kind: msgspec.to_builtins(record)}


def _text(line: dict[str, Any]) -> str:
    # A terminal would act on DEL.
    return json.dumps(line, separators=(",", ":")).replace("\x7f", "\\u007f")


# Reading.


def is_archive(line: bytes) -> bool:
    """Return whether this is the first line of an archive."""
    try:
        head = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(head, dict) and cast("dict[str, Any]", head).get("format") == FORMAT


def numbered_lines(source: BinaryIO, read: bytes = b"") -> Iterator[tuple[int, bytes | None]]:
    """Yield the lines of a file that are not blank, with their numbers; None for one that is too long. `read`
    is its beginning, up to a place in a line."""
    number = 0
    *lines, rest = read.split(b"\n")
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, line
    while piece := rest + source.readline(LONGEST_LINE + 1):
        rest = b""
        number += 1
        if len(piece) <= LONGEST_LINE:
            if not piece.isspace():
                yield number, piece
            continue
        while piece and not piece.endswith(b"\n"):
            piece = source.readline(_PIECE)
        yield number, None


class Block:
    """The lines of one export in an archive, from `first` on; those that are neither contents nor invalid are
    in a temporary file in `directory` where they are many. `problem` is the first error in them."""

    def __init__(self, first: int, archive: int, directory: Path) -> None:
        self.first = first
        self.archive = archive
        """Counts the archives of a file."""
        self.problem: UsageError | None = None
        self.sizes: dict[str, int] = {}
        """Sizes of stored contents, by their digests."""
        self.conversations: list[int] = []
        """Positions of the conversations in the file."""
        self._lines = 0
        self._directory = directory
        self._spool: IO[bytes] = SpooledTemporaryFile(_IN_MEMORY, dir=str(directory))  # noqa: SIM115 (closed by `close`)

    def close(self) -> None:
        """Remove the temporary file."""
        self._spool.close()

    def add(self, number: int, line: bytes | None, blobs: Blobs) -> None:
        """Add a line, and store the content of a file.

        Raises:
            StoreError: the content cannot be stored.
        """
        if self.problem is not None:
            return
        try:
            with blamed_on(number):
                self._add(number, line, blobs)
        except UsageError as exc:
            self.problem = exc

    def _add(self, number: int, line: bytes | None, blobs: Blobs) -> None:
        self._lines += 1
        if line is None or self._lines > MOST_LINES or self._spool.tell() > LARGEST:
            raise ValueError(TOO_MUCH)
        kind = kind_of(line)
        if kind not in KINDS:
            decoded_line(line.decode(), 0.0)
            raise ValueError("its first key is written with escapes")
        if kind == "conversation":
            if len(self.conversations) >= MOST_SUBAGENTS:
                raise ValueError(f"at most {MOST_SUBAGENTS:,} sub-agents are allowed")
            self.conversations.append(self._spool.tell())
        elif not self.conversations:
            raise ValueError("it comes before the conversation")
        if kind == "content":
            record = decoded_line(line.decode(), 0.0)
            if isinstance(record, ContentRecord) and store_content(record, blobs):
                self.sizes[record.content] = record.size
            return
        with failures(self._directory):
            self._spool.write(b"%d %s\n" % (number, line.strip()))

    def lines(self, place: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield the numbered lines from a position on; only one iteration at a time."""
        self._spool.seek(place)
        for line in self._spool:
            number, _, text = line.partition(b" ")
            yield int(number), text

    def records(self, now: float) -> Iterator[tuple[int, Record]]:
        """Yield all records with the numbers of their lines.

        Raises:
            UsageError: a line is invalid.
        """
        for number, line in self.lines():
            with blamed_on(number):
                record = decoded_line(line.decode(), now)
            yield number, record

    def events(self, place: int, now: float) -> Iterator[Event]:
        """Yield the events of the conversation at a position; errors as `records`."""
        lines = self.lines(place)
        next(lines)
        for number, line in lines:
            kind = kind_of(line)
            if kind == "conversation":
                return
            if kind == "event":
                with blamed_on(number):
                    record = decoded_line(line.decode(), now)
                if isinstance(record, EventRecord):
                    yield record.event


def kind_of(line: bytes) -> str:
    """Return the first key of a line; empty where it has none."""
    found = _KIND.match(line)
    return found[1].decode("ascii", "replace") if found else ""


class ArchiveReader:
    """Reads the exports of an archive."""

    def __init__(self, lines: Iterable[tuple[int, bytes | None]], blobs: Blobs, directory: Path) -> None:
        self.found = 0
        """First lines of exports."""
        self.announced: int | None = None
        """Exports that the last line of the archive counts; None where it is missing."""
        self._lines = lines
        self._blobs = blobs
        self._directory = directory
        self._archives = 0

    def blocks(self) -> Iterator[Block]:
        """Yield the exports one by one; each is closed when the next one is asked for. Lines between them are
        a block with a `problem`.

        Raises:
            UsageError: a newer program wrote the archive.
        """
        block: Block | None = None
        try:
            for number, line in self._lines:
                kind = "" if line is None else kind_of(line)
                if line is not None and kind in ("format", "end"):
                    if block is not None:
                        yield block
                        block.close()
                        block = None
                    if kind == "format":
                        block = self._begun(number, line)
                    else:
                        self._end(line)
                    continue
                if block is None:
                    block = self._block(number)
                    block.problem = UsageError(f"Line {number} does not belong to a conversation.", ADVICE)
                block.add(number, line, self._blobs)
            if block is not None:
                # A part would count as the conversation of the whole file that is imported later.
                block.problem = block.problem or UsageError(
                    f"The conversation in line {block.first} may be incomplete: the file is cut off.",
                    "Import the whole file.",
                )
                yield block
        finally:
            if block is not None:
                block.close()

    def _begun(self, number: int, line: bytes) -> Block | None:
        """Return the export that a first line begins; None where it is that of an archive."""
        if is_archive(line):
            version = cast("dict[str, Any]", json.loads(line)).get("version")
            if version != VERSION:
                given = f"{version!r}"[:40]
                raise UsageError(
                    f"Line {number} begins an archive of version {given}; this program supports {VERSION}.",
                    "Update cogency-tui.",
                )
            self._archives += 1
            return None
        block = self._block(number)
        self.found += 1
        try:
            with blamed_on(number):
                if decoded_head(line.decode()) != HeadRecord(export_import.VERSION):
                    raise ValueError(
                        f"an archive has no exports but those of version {export_import.VERSION}"
                    )
        except UsageError as exc:
            block.problem = exc
        return block

    def _block(self, number: int) -> Block:
        return Block(number, self._archives, self._directory)

    def _end(self, line: bytes) -> None:
        try:
            count = json.loads(line)["end"]
        except _FAULTS:
            return
        if isinstance(count, int):
            self.announced = (self.announced or 0) + count


# Storing.


@dataclass(frozen=True, slots=True)
class Outcome:
    """What has become of an export: it was `imported` as the conversation `id`, the one that is here was
    `continued`, or it is `here` already. `renamed`: its id belongs to another one here."""

    state: Literal["imported", "continued", "here"]
    id: str
    renamed: bool = False


class Restorer:
    """Stores the exports of an archive, one by one."""

    def __init__(self, blobs: Blobs, presence: Presence) -> None:
        self._blobs = blobs
        self._presence = presence
        self._known = _Known()
        self._claimed: list[str] = []

    def close(self) -> None:
        """Remove what the exports so far are known by."""
        self.release()
        self._known.close()

    def restore(self, block: Block, connection: sqlite3.Connection) -> Outcome:
        """Store an export in a transaction of the caller's, who calls `release` afterwards.

        Raises:
            UsageError: a line is invalid, or a conversation to continue is open in another process.
        """
        if block.problem is not None:
            raise block.problem
        if not block.conversations:
            raise UsageError(f"Line {block.first}: there is no conversation behind it.", ADVICE)
        self._known.begin(block.archive)
        now = time.time()
        return _Restoration(connection, self._blobs, block, self._known, now, self._claim).restore()

    def release(self) -> None:
        """Remove the marks of the conversations that were continued."""
        while self._claimed:
            self._presence.leave(self._claimed.pop(), _USE)

    def _claim(self, id: str) -> None:
        if self._presence.enter(id, time.time(), _USE):
            self._claimed.append(id)
            return
        for mark in self._presence.elsewhere():
            if mark.conversation == id:
                raise UsageError(
                    f"The conversation {id} goes on in the file, and is open in process {mark.pid}.",
                    "Close it there (`/new`, or quit the program), and import the file again.",
                )


class _Known:
    """What became of the ids of an archive: of conversations with another one here, and of edits. They are in
    a temporary file."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._archive = 0
        for table in ("conversations", "edits"):
            self._connection.execute(f"CREATE TABLE {table} (original PRIMARY KEY, id) WITHOUT ROWID")

    def close(self) -> None:
        self._connection.close()

    def begin(self, archive: int) -> None:
        """Forget the ids of another archive in the same file."""
        if archive != self._archive:
            self._archive = archive
            for table in ("conversations", "edits"):
                self._connection.execute(f"DELETE FROM {table}")

    def conversation(self, original: str) -> str:
        sql = "SELECT id FROM conversations WHERE original = ?"
        row = self._connection.execute(sql, (to_column(original),)).fetchone()
        return from_column(row[0]) if row else original

    def edit(self, original: int) -> int:
        row = self._connection.execute("SELECT id FROM edits WHERE original = ?", (original,)).fetchone()
        return row[0] if row else 0

    def note(self, conversations: dict[str, str], edits: dict[int, int]) -> None:
        renamed = [(to_column(each), to_column(id)) for each, id in conversations.items() if each != id]
        self._connection.execute("BEGIN")
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO conversations VALUES (?, ?)", renamed)
            self._connection.executemany("INSERT OR REPLACE INTO edits VALUES (?, ?)", edits.items())


@dataclass(slots=True)
class _Place:
    """Where a conversation of an export is stored: under `id`, as a `new` one, as one that is `here` with all
    its events, or as one that is `continued`. The rest is what the latter has."""

    record: ConversationRecord
    id: str
    state: Literal["new", "here", "continued"]
    usage: Counter[tuple[object, ...]] = field(default_factory=Counter[tuple[object, ...]])
    summaries: Counter[tuple[object, ...]] = field(default_factory=Counter[tuple[object, ...]])
    pinned: set[int] = field(default_factory=set[int])
    events: Generator[tuple[int, Event]] | None = None
    """Its events that are in the export, too, with their numbers."""


class _Restoration(Incoming):
    """Stores one export: finds the place of each conversation, then stores what is not there."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        blobs: Blobs,
        block: Block,
        known: _Known,
        now: float,
        claim: Callable[[str], None],
    ) -> None:
        super().__init__(connection, blobs)
        self._sizes = block.sizes
        self._block = block
        self._known = known
        self._now = now
        self._claim = claim
        self._redactor = Redactor({})
        self._places: dict[str, _Place] = {}
        self._place: _Place | None = None
        self._is_here = False
        """True if all of its conversations are here with all their events."""
        self._edits_here: dict[tuple[object, ...], list[int]] | None = None

    def restore(self) -> Outcome:
        """Store the export, unless it is here.

        Raises:
            UsageError: a line is invalid, or a conversation to continue is open in another process.
        """
        self._find_places()
        root, *_ = places = [*self._places.values()]
        self._is_here = all(place.state == "here" for place in places)
        if self._is_here:
            self._enter(root)
        else:
            for place in places:
                if place.state == "continued" or (place is root and place.state == "here"):
                    self._claim(place.id)
            self._blobs.sync()
        try:
            for number, record in self._block.records(self._now):
                # Edits of a conversation that is here are noted: forks may undo them.
                if not self._is_here or isinstance(record, EditRecord):
                    with blamed_on(number):
                        self.take(record)
            if not self._is_here:
                self.close()
            self._attach(root)
        finally:
            for place in places:
                if place.events is not None:
                    place.events.close()
        self._known.note({original: place.id for original, place in self._places.items()}, self._edits)
        if root.state == "new":
            return Outcome("imported", root.id, root.id != root.record.id)
        return Outcome("here" if self._is_here else "continued", root.id)

    # Places.

    def _find_places(self) -> None:
        for index, position in enumerate(self._block.conversations):
            number, line = next(self._block.lines(position))
            with blamed_on(number):
                record = decoded_line(line.decode(), self._now)
                if not isinstance(record, ConversationRecord):
                    raise ValueError("it is not a conversation")
                above = self._places.get(record.parent or "")
                if index and (above is None or record.call is None):
                    raise ValueError("it belongs to another conversation than the lines before it")
                if record.id in self._places:
                    raise ValueError(f"it has the conversation {record.id!r} twice")
                parent = above.id if above is not None and index else None
                self._nest(record, parent)
                self._places[record.id] = self._placed(record, parent, position)

    def _placed(self, record: ConversationRecord, parent: str | None, position: int) -> _Place:
        """Find the place of a conversation: its own id, or one that follows from what it holds, so that it is
        found again by the next import."""
        for id in self._candidates(record, parent, position):
            state = self._state(id, record, parent, position)
            if state == "new" and is_conversation_id(id):
                return _Place(record, id, "new")
            if state == "here" or state == "continued":
                return _Place(record, id, state)
        return _Place(record, new_conversation_id(), "new")

    def _candidates(self, record: ConversationRecord, parent: str | None, position: int) -> Iterator[str]:
        if self._is_own(record):
            yield record.original
        elif found := self._from_source(record):
            yield found.id
        yield record.id
        first = next(self._block.events(position, self._now), None)
        yield _derived(record, parent, sha256(_fingerprint(first)).hexdigest())
        # Not the id of the whole alone: a conversation that goes on is found by its first event.
        digest = sha256()
        for event in self._block.events(position, self._now):
            digest.update(_fingerprint(event))
        for attempt in range(3):
            yield _derived(record, parent, f"{digest.hexdigest()} {attempt}")

    def _state(
        self, id: str, record: ConversationRecord, parent: str | None, position: int
    ) -> Literal["new", "here", "continued", "another"]:
        sql = "SELECT parent, call, project, source FROM conversations WHERE id = ?"
        row = self._connection.execute(sql, (to_column(id),)).fetchone()
        if row is None:
            return "new"
        above = None if parent is None else to_column(parent)
        if (row[1] is None) != (record.call is None) or (above is not None and row[0] != above):
            return "another"
        with closing(self._events_of(id)) as ours:
            for theirs in self._block.events(position, self._now):
                own = next(ours, None)
                if own is None:
                    # What another store owns is continued by that alone.
                    is_ours = not row[3].startswith(origins.PREFIX)
                    return "continued" if is_ours and from_column(row[2]) == record.project else "another"
                if not self._is_same(own[1], theirs):
                    return "another"
        return "here"

    def _events_of(self, id: str) -> Generator[tuple[int, Event]]:
        """Yield the events of a conversation that an export has. Closed before the transaction ends: a
        statement that is still open would hold its snapshot."""
        sql = "SELECT seq, body FROM events WHERE conversation_id = ? ORDER BY seq"
        with closing(self._connection.execute(sql, (to_column(id),))) as rows:
            for seq, body in rows:
                try:
                    event = checked_event(json.loads(from_column(body)), float("inf"))
                except _FAULTS:
                    continue
                yield seq, event

    def _is_same(self, ours: Event, theirs: Event) -> bool:
        """Compare events by what they hold: an import may have changed their times, and an export has a
        marker in the place of a secret."""
        own, other = ({**each, "timestamp": 0} for each in (ours, theirs))
        if own == other:
            return True
        own = self._redactor.value(own)
        return own == other or own == self._redactor.value(other)

    # Records.

    def _enter(self, place: _Place) -> None:
        self._place = place
        self._ids[place.record.id] = self._current = place.id
        self.root = self.root or place.id
        self._project = self._project or place.record.project

    def _conversation(self, given: ConversationRecord) -> None:
        place = self._places[given.id]
        above = self._places.get(given.parent or "") if self.root else None
        self._enter(place)
        if place.state == "new":
            if self._is_own(given) or self._from_source(given):
                given = msgspec.structs.replace(given, source="", original="")
            made = self._made(given, place.id, above.id if above else None, given.call)
            if not insert(replace(made, trashed=given.trashed), self._connection):
                raise ValueError(f"the id {place.id!r} is taken")
            self._note_original(given, place.id)
            return
        place.events = self._events_of(place.id)
        if place.state == "continued":
            self._continue(place)

    def _continue(self, place: _Place) -> None:
        key, given = to_column(place.id), place.record
        for names, table, own in (
            (USAGE, "usage", place.usage),
            (SUMMARY, "summaries", place.summaries),
        ):
            sql = f"SELECT {', '.join(names)} FROM {table} WHERE conversation_id = ?"
            for row in self._connection.execute(sql, (key,)):
                line = dict(zip(names, map(_plain, row), strict=True))
                own[_key(self._redactor.value({table: line})[table])] += 1
        place.pinned = {event for (event,) in self._connection.execute(PINNED, (key,))}
        self._connection.execute(
            "UPDATE conversations SET updated = max(updated, ?), turns = max(turns, ?),"
            " tokens = max(tokens, ?), cost = max(cost, ?), dialect = ?, provider = ?, model = ?, effort = ?,"
            " model_chosen = ?, title = iif(renamed > ?, title, ?), renamed = max(renamed, ?), imported = 1"
            " WHERE id = ?",
            (
                *(given.updated, given.turns, given.tokens, given.cost),
                *map(to_column, (given.dialect, given.provider, given.model, given.effort)),
                *(given.model_chosen, given.renamed, to_column(given.title), given.renamed, key),
            ),
        )

    def _event(self, record: EventRecord) -> None:
        assert self._place is not None
        if self._place.events is not None:
            own = next(self._place.events, None)
            if own is not None:
                self._number(record.number, own[0])
                return
            self._place.events = None
        super()._event(record)

    def _usage(self, record: UsageRecord) -> None:
        if self._is_missing("usage", {name: getattr(record, name) for name in USAGE}):
            super()._usage(record)

    def _summary(self, record: SummaryRecord) -> None:
        if self._is_missing("summaries", {name: getattr(record, name) for name in SUMMARY}):
            super()._summary(record)

    def _is_missing(self, table: Literal["usage", "summaries"], values: dict[str, object]) -> bool:
        assert self._place is not None
        own = self._place.usage if table == "usage" else self._place.summaries
        key = _key(values)
        own[key] -= 1
        return self._place.state != "here" and own[key] < 0

    def _pin(self, record: PinRecord) -> None:
        assert self._place is not None
        event = self._numbers[record.event]
        if self._place.state != "here" and event not in self._place.pinned:
            super()._pin(record)

    def _edit(self, record: EditRecord) -> None:
        root = next(iter(self._places.values()))
        if root.state != "new" and (same := self._edits_of(root.id).get(_edit_key(record))):
            if record.id in self._edits:
                raise ValueError(f"it has the edit {record.id} twice")
            self._edits[record.id] = same.pop()
        elif not self._is_here:
            super()._edit(record)

    def _edits_of(self, id: str) -> dict[tuple[object, ...], list[int]]:
        """Return the edits of a conversation that is here, the latest first, by what an export has of
        them."""
        if self._edits_here is None:
            self._edits_here = {}
            names = ("id", *EDIT_COLUMNS)
            sql = f"SELECT {', '.join(names)} FROM edits WHERE conversation = ? ORDER BY id DESC"
            for row in self._connection.execute(sql, (to_column(id),)):
                line = self._redactor.value({"edit": dict(zip(names, map(_plain, row), strict=True))})
                key = tuple(line["edit"][name] for name in _EDIT_KEY)
                self._edits_here.setdefault(key, []).append(row[0])
        return self._edits_here

    def _edit_of(self, original: int) -> int:
        return super()._edit_of(original) or self._known.edit(original)

    def _mark(self, record: MarkRecord) -> None:
        self._connection.execute(
            "INSERT INTO edit_marks (edit, hunk, state, note, timestamp) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (edit, hunk) DO UPDATE SET state = excluded.state, note = excluded.note,"
            " timestamp = excluded.timestamp WHERE excluded.timestamp > edit_marks.timestamp",
            (
                *(self._edits[record.edit], to_column(record.hunk), record.state),
                *(to_column(record.note), record.timestamp),
            ),
        )

    # Forks.

    def _attach(self, root: _Place) -> None:
        """Attach a fork to its parent, if that is here, and has the events that it begins with."""
        given = root.record
        if given.parent is None or given.call is not None:
            return
        parent, key = self._known.conversation(given.parent), to_column(root.id)
        sql = "SELECT parent FROM conversations WHERE id = ?"
        if self._connection.execute(sql, (key,)).fetchone()[0] is not None or self._is_below(parent, root.id):
            return
        if (last := self._last_shared(parent, root.id)) is not None:
            forked_at = None if given.forked_at is None else last
            sql = "UPDATE conversations SET parent = ?, forked_at = ? WHERE id = ?"
            self._connection.execute(sql, (to_column(parent), forked_at, key))

    def _is_below(self, id: str, ancestor: str) -> bool:
        """Return whether a conversation is another, or belongs to it at any depth, or is too deep itself."""
        sql = f"""
            WITH RECURSIVE above (id) AS (
                SELECT ?
                UNION
                SELECT parent FROM conversations c JOIN above ON c.id = above.id WHERE parent IS NOT NULL
                LIMIT {_DEEPEST_FORK}
            )
            SELECT count(*) = {_DEEPEST_FORK} OR max(id = ?) FROM above
        """
        (found,) = self._connection.execute(sql, (to_column(id), to_column(ancestor))).fetchone()
        return bool(found)

    def _last_shared(self, parent: str, fork: str) -> int | None:
        """Return the number of the last event of `parent` that a fork begins with; None where it has none."""
        last: int | None = None
        with closing(self._events_of(parent)) as left, closing(self._events_of(fork)) as right:
            for (number, ours), (_, theirs) in zip(left, right, strict=False):
                # A time of the future counts as that of the import.
                times = ours["timestamp"], theirs["timestamp"]
                if (times[0] != times[1] and times[1] < self._now) or not self._is_same(ours, theirs):
                    break
                last = number
        return last


_EDIT_KEY = (
    *("turn", "call", "tool", "path", "old_path", "made"),
    *("before_kind", "before_digest", "before_size", "after_kind", "after_digest", "after_size"),
)


def _edit_key(record: EditRecord) -> tuple[object, ...]:
    return tuple(getattr(record, name) for name in _EDIT_KEY)


def _key(row: dict[str, object]) -> tuple[object, ...]:
    """Return what a row of usage or a summary is recognised by: times, and numbers of events, are others in
    another store."""
    ignored = ("timestamp", "created", "through", "unread")
    return tuple(value for name, value in row.items() if name not in ignored)


def _fingerprint(event: Event | None) -> bytes:
    return json.dumps({**event, "timestamp": 0} if event else {}, sort_keys=True).encode() + b"\n"


def _derived(record: ConversationRecord, parent: str | None, content: str) -> str:
    """Return an id for a conversation whose own one is taken or has another form: always the same one."""
    digest = sha256(json.dumps([record.id, parent, content]).encode()).digest()
    moment = record.id
    if not is_conversation_id(moment):
        moment = base64.b32hexencode((int(record.created * 1000) << 35).to_bytes(15, "big")[-10:]).decode()
    return moment.lower()[:9] + base64.b32hexencode(digest[:5]).decode().lower()[:7]


def _plain(value: object) -> object:
    return from_column(value) if isinstance(value, bytes) else value
