"""Increments of conversations: what of one is new since a position, as lines of an export, and their storage
in other stores.

The owner of a conversation gives each of its parts a number: of events, cycles and edits. Its increments
follow each other without a gap; pins, marks and summaries, which change, are in each as a whole where any
has changed.

Invariant: whatever arrives, in whatever order and how often, each number of an owner is stored once, with the
content that arrived first, behind all smaller ones; nothing else in the store is changed. Like an export, an
increment has no secrets, and no edits outside the project. Of a file's content that is left out it has not
even a digest or a size, by which a short one could be guessed.
"""

import base64
import json
import re
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import asdict, replace
from hashlib import sha256
from itertools import chain
from math import inf
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from cogency_tui.errors import StoreError
from cogency_tui.protocol.events import Event
from cogency_tui.redaction import Redactor
from cogency_tui.store import event_chain, events, foreign_sessions, origins
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.edit_records import Version
from cogency_tui.store.edits import COLUMNS as EDIT_COLUMNS
from cogency_tui.store.export_import import (
    DEEPEST,
    SUMMARY,
    USAGE,
    ConversationRecord,
    EditRecord,
    EventRecord,
    Incoming,
    Key,
    Kind,
    MarkRecord,
    PinRecord,
    Record,
    SummaryRecord,
    UsageRecord,
    blamed_on,
    checked_event,
    decoded_record,
    is_portable,
    parsed_line,
    plain,
)
from cogency_tui.store.origins import PREFIX, Origin
from cogency_tui.store.pins import PINNED
from cogency_tui.store.store import (
    COLUMNS,
    StoredConversation,
    conversation_of,
    insert,
    is_conversation_id,
    new_conversation_id,
)

PART_ROWS, PART_SIZE = 500, 16 << 20
"""Rows of a table, and characters or bytes of them, after which an increment ends."""

_SIDES = ("before", "after")
_EDIT_KEY = ("turn", "call", "tool", "path", "old_path", "before_digest", "after_digest")
_DIGEST = 16
_ORIGIN = re.compile("[0-9a-f]{20}")
_IMAGES = 4 << 20
"""Bytes for which the images of an event count."""

Reached = Annotated[int, Meta(ge=0, le=1 << 62)]
Digest = Annotated[str, Meta(max_length=_DIGEST)]


class Position(msgspec.Struct, frozen=True):
    """How much of a conversation was sent: the last event, cycle and edit, and the digests of what changes:
    the conversation's row, and its pins, marks and summaries."""

    event: Reached = 0
    usage: Reached = 0
    edit: Reached = 0
    row: Digest = ""
    pins: Digest = ""
    marks: Digest = ""
    summaries: Digest = ""


START = Position()
Digests = Mapping[int, bytes | None]
"""Digests of the events of a conversation by their numbers, None where two differ."""
_NONE: Mapping[str, str] = {}


class IncrementHead(msgspec.Struct, frozen=True):
    """Fields of the first line beside the conversation: what it follows, and what follows it; the origin of
    its parent, empty for its own; whether pins, marks and summaries are complete in it.

    Without `since` it begins at the start; without `to` it ends with its last lines. `revision` grows with
    time, so that what changes is never replaced by what it was before; without it, it always is. `import_of`
    is the origin and the id of the conversation of another store that was imported as this one.
    """

    since: Position = START
    to: Position | None = None
    owner: Key = ""
    whole: bool = False
    revision: Reached | None = None
    import_of: tuple[Key, Key] = ("", "")


class Taken(NamedTuple):
    """The result of one increment: the conversation, and the numbers of events and other rows that were new.

    `conflicts` counts numbers that were stored before with another content; `waits` names what has to
    arrive before, and then nothing was stored.
    """

    id: str
    is_new: bool = False
    events: int = 0
    others: int = 0
    conflicts: int = 0
    waits: str = ""


def own_conversations(connection: sqlite3.Connection) -> list[str]:
    """Return the ids of the conversations to send, each behind the one that it began from."""
    sql = "SELECT id, parent FROM conversations WHERE source = '' ORDER BY created, id"
    parents = {from_column(id): from_column(parent) for id, parent in connection.execute(sql)}
    ordered: dict[str, None] = {}
    for id in parents:
        line: list[str] = []
        while id in parents and id not in ordered and id not in line:
            line.append(id)
            id = parents[id]
        ordered.update(dict.fromkeys(reversed(line)))
    return list(ordered)


def outgoing(
    connection: sqlite3.Connection,
    blobs: Blobs,
    id: str,
    since: Position = START,
    *,
    revision: int | None = None,
    secrets: Mapping[str, str] = _NONE,
    clean: dict[str, bool] | None = None,
) -> tuple[Iterator[dict[str, Any]], Position]:
    """Return the lines of what is new in a conversation of ours, and the position behind them: `since` if
    nothing is. A long conversation takes several increments: repeat until nothing is new. `revision` is a
    number that is never smaller than that of an earlier one. The values of `secrets` are left out as what
    looks like a secret is; `clean` notes the contents, by their digests, that have been searched for these.

    Raises:
        StoreError: there is no such conversation.
        ValueError: its row has values that no other store accepts.
    """
    with _snapshot(connection):
        conversation = find_here(connection, id)
        if conversation is None:
            raise events.missing(id)
        if conversation.source:
            return iter(()), since
        reading = _Outgoing(
            connection, blobs, conversation, since, Redactor(secrets), {} if clean is None else clean
        )
    return (iter(()), since) if reading.to == since else (reading.lines(revision), reading.to)


def take(
    connection: sqlite3.Connection,
    blobs: Blobs,
    origin: Origin,
    lines: Iterable[str],
    *,
    now: float | None = None,
) -> Taken:
    """Store what is new of one conversation of another `origin`, in the caller's transaction.

    Raises:
        UsageError: a line is invalid; the message names it. Roll back.
        ValueError: the origin is our own, or none.
    """
    if not _ORIGIN.fullmatch(origin.id) or origin.id == origins.own(connection).id:
        raise ValueError(f"{origin.id[:40]!r} is not the origin of another store")
    now = time.time() if now is None else now
    taking: _Taking | None = None
    for number, line in enumerate(lines, 1):
        with blamed_on(number):
            given = parsed_line(line)
            record = decoded_record(given, now)
            if taking is not None:
                taking.add(record, given)
                continue
            if not isinstance(record, ConversationRecord):
                raise ValueError("an increment begins with its conversation")
            taking = _Taking(connection, blobs, origin, record, msgspec.convert(given, IncrementHead))
        if taking.waits:
            return Taken("", waits=taking.waits)
        with blamed_on(number):
            taking.begin()
    if taking is None:
        return Taken("")
    taking.end()
    return taking.taken


def link(connection: sqlite3.Connection) -> None:
    """Connect received forks with their parents, where those have arrived since."""
    sql = (
        "SELECT r.id, parent_source, r.parent, r.forked_at FROM received r"
        " JOIN conversations c ON c.id = r.id WHERE r.parent <> '' AND c.parent IS NULL AND c.call IS NULL"
    )
    for id, source, original, number in connection.execute(sql).fetchall():
        parent = _find(connection, source, from_column(original))
        if parent is None or _depth(connection, parent.id) >= DEEPEST:
            continue
        if not _is_below(connection, from_column(id), parent.id):
            connection.execute(
                "UPDATE conversations SET parent = ?, forked_at = ? WHERE id = ?",
                (to_column(parent.id), event_at(connection, parent, number), id),
            )


def event_at(connection: sqlite3.Connection, conversation: StoredConversation, number: int) -> int | None:
    """Return the number here of an event of a conversation, also of our own; None where it is unknown."""
    if not number:
        return None
    key = to_column(conversation.id)
    if conversation.source:
        sql = "SELECT event FROM received_events WHERE conversation = ? AND number <= ? ORDER BY number DESC"
    else:
        sql = "SELECT seq FROM events WHERE conversation_id = ? AND seq <= ? ORDER BY seq DESC"
    row = connection.execute(f"{sql} LIMIT 1", (key, number)).fetchone()
    return row[0] if row else None


def encoded(line: dict[str, Any]) -> str:
    """Return a line as text."""
    return json.dumps(line, separators=(",", ":"))


def reached(connection: sqlite3.Connection, origin: Origin, id: str) -> Position:
    """Return the numbers up to which the conversation that its owner calls `id` was received."""
    return _received(connection, foreign_sessions.find(connection, f"{PREFIX}{origin.id}", id))


def content_digest(event: Event) -> bytes:
    """Return a digest of an event but for its time."""
    return sha256(json.dumps({**event, "timestamp": 0}, sort_keys=True).encode()).digest()[:_DIGEST]


def adopt(connection: sqlite3.Connection, origin: Origin, is_continued: Callable[[str], bool]) -> list[str]:
    """Give the conversations that a copy of our store, the owner of `origin`, continues to that owner;
    return those of the user.

    `is_continued` returns whether that owner has all of a conversation of ours. One that was continued here
    stays ours.
    """
    source = f"{PREFIX}{origin.id}"
    adopted: list[str] = []
    sql = f"SELECT {COLUMNS} FROM conversations WHERE source = '' AND call IS NULL"
    for conversation in map(conversation_of, connection.execute(sql).fetchall()):
        family = family_of(connection, conversation)
        if all(is_continued(each.id) for each in family):
            adopted.append(conversation.id)
            for each in family:
                _adopt(connection, source, each)
    return adopted


def family_of(connection: sqlite3.Connection, conversation: StoredConversation) -> list[StoredConversation]:
    """Return a conversation and those of its sub-agents with the same owner."""
    sql = f"SELECT {COLUMNS} FROM conversations WHERE parent = ? AND call IS NOT NULL AND source = ?"
    found = {conversation.id: conversation}
    pending = [conversation.id]
    while pending:
        for row in connection.execute(sql, (to_column(pending.pop()), conversation.source)).fetchall():
            child = conversation_of(row)
            if child.id not in found:
                found[child.id] = child
                pending.append(child.id)
    return [*found.values()]


def is_continued(connection: sqlite3.Connection, id: str, sent: Digests | None) -> bool:
    """Return whether all that a conversation has here was sent, and nothing else before its end; `sent` are
    the digests of the events that were."""
    return sent is not None and is_beginning(digests_of(connection, id), sent)


def digests_of(connection: sqlite3.Connection, id: str) -> dict[int, bytes | None]:
    """Return the digests of a conversation's events as they are sent, by the numbers of its owner."""
    key = to_column(id)
    sql = "SELECT event, number FROM received_events WHERE conversation = ?"
    numbers = dict(connection.execute(sql, (key,)).fetchall())
    redactor = Redactor({})
    found: dict[int, bytes | None] = {}
    sql = "SELECT seq, type, body FROM events WHERE conversation_id = ? ORDER BY seq"
    for seq, kind, body in connection.execute(sql, (key,)):
        with suppress(ValueError, RecursionError, TypeError, KeyError):
            found[numbers.get(seq, seq)] = content_digest(
                checked_event(redactor.value(events.decode(kind, body)), inf)
            )
    return found


def is_beginning(first: Digests, whole: Digests) -> bool:
    """Return whether the events of `whole` begin with those of `first`."""
    last = max(first, default=0)
    return None not in whole.values() and first == {n: each for n, each in whole.items() if n <= last}


def give(connection: sqlite3.Connection, origin: Origin, conversation: StoredConversation) -> None:
    """Give a conversation that is ours, or another origin's, to an origin with the same events."""
    source = f"{PREFIX}{origin.id}"
    if not conversation.source:
        _adopt(connection, source, conversation)
        return
    key = to_column(conversation.id)
    connection.execute("UPDATE conversations SET source = ? WHERE id = ?", (source, key))
    connection.execute("UPDATE received SET revision = 0 WHERE id = ?", (key,))
    for table in ("received_edits", "received_undoes"):
        connection.execute(
            f"UPDATE OR IGNORE {table} SET source = ? WHERE source = ?"
            " AND edit IN (SELECT id FROM edits WHERE conversation = ?)",
            (source, conversation.source, key),
        )


def of_origin(connection: sqlite3.Connection, origin: Origin, original: str) -> StoredConversation | None:
    """Return the conversation that its owner, which may be this store, calls `original`."""
    return _of_owner(connection, f"{PREFIX}{origin.id}", original)


def restart(connection: sqlite3.Connection, origin: Origin, original: str, id: str) -> None:
    """Give a conversation that was imported to the owner of its original, whose increments are compared from
    their start with what it has."""
    key = to_column(id)
    connection.execute(
        "UPDATE conversations SET source = ?, original = ?, imported = 1 WHERE id = ?",
        (f"{PREFIX}{origin.id}", to_column(original), key),
    )
    connection.execute("DELETE FROM received WHERE id = ?", (key,))
    connection.execute("DELETE FROM received_events WHERE conversation = ?", (key,))
    edits = "edit IN (SELECT id FROM edits WHERE conversation = ?)"
    connection.execute(f"DELETE FROM received_edits WHERE {edits}", (key,))
    connection.execute("DELETE FROM imported_originals WHERE conversation = ?", (key,))


def relative(connection: sqlite3.Connection, origin: str, original: str) -> StoredConversation | None:
    """Return the conversation that is `original` for a store whose copy `origin` is, or that is a copy of
    it."""
    kin = [*origins.successors(connection, origin), *origins.former(connection, origin)]
    for each in kin:
        found = _of_owner(connection, f"{PREFIX}{each}", original)
        if found is not None:
            return found
    return None


def _adopt(connection: sqlite3.Connection, source: str, conversation: StoredConversation) -> None:
    key = to_column(conversation.id)
    reached: list[int] = []
    for table, number, column in (
        ("events", "seq", "conversation_id"),
        ("usage", "id", "conversation_id"),
        ("edits", "id", "conversation"),
    ):
        sql = f"SELECT coalesce(max({number}), 0) FROM {table} WHERE {column} = ?"
        reached.append(connection.execute(sql, (key,)).fetchone()[0])
    connection.execute(
        "UPDATE conversations SET source = ?, original = id, imported = 1 WHERE id = ?", (source, key)
    )
    connection.execute(
        "INSERT OR REPLACE INTO received VALUES (?, ?, ?, ?, 0, ?, ?, ?, '', 0, 0)",
        (key, *reached, to_column(conversation.title), conversation.trashed, source),
    )
    connection.execute(
        "INSERT OR IGNORE INTO received_events SELECT conversation_id, seq, seq FROM events"
        " WHERE conversation_id = ?",
        (key,),
    )
    connection.execute(
        "INSERT OR IGNORE INTO received_edits SELECT ?, id, id FROM edits WHERE conversation = ?",
        (source, key),
    )


_KEPT = " UNION ".join(
    f"SELECT {side}_digest FROM edits WHERE conversation = ?1 AND id <= ?2 AND {side}_kept" for side in _SIDES
)
_PINS = (
    f"SELECT event, max(created) FROM pins WHERE event IN ({PINNED}) AND conversation_id = ?"
    " GROUP BY event ORDER BY event"
)
_MARKS = (
    "SELECT edit, hunk, state, note, m.timestamp FROM edit_marks m JOIN edits e ON e.id = m.edit"
    " WHERE e.conversation = ? ORDER BY edit, hunk"
)


_CONTENTS = "SELECT {} FROM edits WHERE id = ?".format(
    ", ".join(f"{side}_{name}" for side in _SIDES for name in ("kind", "digest", "size", "kept"))
)


@contextmanager
def _snapshot(connection: sqlite3.Connection) -> Generator[None]:
    """Let all that is read be of one time."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


class _Outgoing:
    """Reads one increment of a conversation."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        blobs: Blobs,
        conversation: StoredConversation,
        since: Position,
        redactor: Redactor,
        clean: dict[str, bool],
    ) -> None:
        self._connection = connection
        self._blobs = blobs
        self._key = key = to_column(conversation.id)
        self._since = since
        self._redactor = redactor
        self._clean = clean
        self._import_of = origins.original_of(connection, conversation.id)
        self._row, self._owner = self._conversation(conversation)
        decoded_record({"conversation": self._row}, inf)
        size = f"length(body) + {_IMAGES} * (instr(body, '\"images\":[{{') > 0)"
        event, all_events = self._reached(
            f"SELECT seq, {size} FROM events WHERE conversation_id = ? AND seq > ? ORDER BY seq", since.event
        )
        usage, _ = self._reached(
            "SELECT id, length(body) FROM usage WHERE conversation_id = ? AND id > ? ORDER BY id", since.usage
        )
        size = "before_size * before_kept + after_size * after_kept"
        edit, all_edits = self._reached(
            f"SELECT id, {size} FROM edits WHERE conversation = ? AND id > ? ORDER BY id", since.edit
        )
        self._pins = connection.execute(_PINS, (key, key)).fetchall()
        self._marks: list[list[Any]] = [list(map(plain, row)) for row in connection.execute(_MARKS, (key,))]
        sql = f"SELECT {', '.join(SUMMARY)} FROM summaries WHERE conversation_id = ? ORDER BY id"
        self._summaries = [
            dict(zip(SUMMARY, map(plain, row), strict=True)) for row in connection.execute(sql, (key,))
        ]
        # They refer to events and edits, so they come with the last of these.
        self._whole = all_events and all_edits
        changing = (self._pins, self._marks, self._summaries)
        digests = [_digest(redactor.value([*each])) for each in changing]
        if not self._whole:
            digests = [since.pins, since.marks, since.summaries]
        self.to = Position(event, usage, edit, _digest([redactor.value(self._row), self._owner]), *digests)

    def lines(self, revision: int | None) -> Iterator[dict[str, Any]]:
        """Yield the lines."""
        yield {
            "conversation": self._redactor.value(self._row),
            "since": msgspec.to_builtins(self._since),
            "to": msgspec.to_builtins(self.to),
            "owner": self._owner,
            "whole": self._whole,
            "revision": revision,
            "import_of": self._import_of,
        }
        for line in chain(self._events(), self._usage(), self._changing()):
            formed = line if "content" in line else self._redactor.value(line)
            # What no other store accepts is left out, as in every export, and does not hold up the rest.
            with suppress(ValueError, KeyError, TypeError, RecursionError):
                decoded_record(deepcopy(formed), inf)
                yield formed

    def _conversation(self, conversation: StoredConversation) -> tuple[dict[str, Any], str]:
        """Return the row as others see it, and the origin of its parent."""
        row = asdict(conversation)
        del row["source"], row["original"], row["imported"]
        parent = conversation.parent and find_here(self._connection, conversation.parent)
        if not parent or (parent.source and not parent.source.startswith(PREFIX)):
            # Sessions of other agents are not sent.
            row["parent"] = row["forked_at"] = None
            return row, ""
        if parent.source:
            row["parent"] = parent.original
            if conversation.forked_at is not None:
                row["forked_at"] = _number_of(self._connection, parent.id, conversation.forked_at)
        return row, parent.source.removeprefix(PREFIX)

    def _reached(self, sql: str, since: int) -> tuple[int, bool]:
        """Return the number of the last row of the increment, and whether it is the last one of all."""
        size = count = 0
        rows = self._connection.execute(f"{sql} LIMIT ?", (self._key, since, PART_ROWS + 1)).fetchall()
        last = since
        for number, length in rows:
            size += length or 0
            if count == PART_ROWS or (count and size > PART_SIZE):
                return last, False
            last, count = number, count + 1
        return last, True

    def _events(self) -> Iterator[dict[str, Any]]:
        sql = "SELECT seq, body FROM events WHERE conversation_id = ? AND seq > ? AND seq <= ? ORDER BY seq"
        rows = self._connection.execute(sql, (self._key, self._since.event, self.to.event)).fetchall()
        sent: set[str] = set()
        for seq, body in rows:
            # A damaged row is left out, as wherever events are read.
            with suppress(ValueError, RecursionError):
                event = json.loads(from_column(body))
                for image in events.images_of(event):
                    yield from self._content(image["digest"], image["size"], sent)
                yield {"event": event, "number": seq}

    def _usage(self) -> Iterator[dict[str, Any]]:
        where = "WHERE conversation_id = ? AND id > ? AND id <= ? ORDER BY id"
        sql = f"SELECT id, {', '.join(USAGE)} FROM usage {where}"
        for number, *row in self._connection.execute(sql, (self._key, self._since.usage, self.to.usage)):
            yield {"usage": dict(zip(USAGE, map(plain, row), strict=True)), "number": number}

    def _changing(self) -> Iterator[dict[str, Any]]:
        yield from self._edits()
        if not self._whole:
            return
        for summary in self._summaries:
            yield {"summary": summary}
        for event, created in self._pins:
            yield {"pin": {"event": event, "created": created}}
        for mark in self._marks:
            if self._can_name(mark[0], mark[1]):
                yield {"mark": mark}

    def _edits(self) -> Iterator[dict[str, Any]]:
        names = ("id", *EDIT_COLUMNS)
        sql = (
            f"SELECT {', '.join(names)} FROM edits WHERE conversation = ? AND id > ? AND id <= ? ORDER BY id"
        )
        rows = self._connection.execute(sql, (self._key, self._since.edit, self.to.edit)).fetchall()
        if not rows:
            return
        known = self._connection.execute(_KEPT, (self._key, self._since.edit))
        sent = {digest for (digest,) in known}
        for row in rows:
            edit: dict[str, Any] = dict(zip(names, map(plain, row), strict=True))
            paths = [edit[name] for name in ("path", "old_path", "made") if edit[name]]
            if None in row or edit["project"] != self._row["project"] or not all(map(is_portable, paths)):
                continue
            for side in _SIDES:
                digest, size = edit[f"{side}_digest"], edit[f"{side}_size"]
                if self._is_sent(digest, size, bool(edit[f"{side}_kept"])):
                    yield from self._content(digest, size, sent)
                else:
                    edit[f"{side}_digest"], edit[f"{side}_size"] = "", 0
            with suppress(ValueError, TypeError):
                undoes: list[tuple[int, str]] = json.loads(edit["undoes"])
                named = [pair for pair in undoes if self._can_name(*pair)]
                edit["undoes"] = json.dumps(named, separators=(",", ":"))
            yield {"edit": edit}

    def _is_sent(self, digest: str, size: int, is_stored: bool) -> bool:
        """Return whether a file's content is sent: it is stored, and has no secret."""
        if not is_stored:
            return False
        if digest not in self._clean:
            self._clean[digest] = False
            with suppress(StoreError):
                text = self._blobs.read(digest, size).decode("utf-8", "replace")
                self._clean[digest] = self._redactor.text(text) == text
        return self._clean[digest]

    def _can_name(self, edit: int, hunk: str) -> bool:
        """Return whether a hunk of an edit may be named: its name is a digest of its lines."""
        row = self._connection.execute(_CONTENTS, (edit,)).fetchone() if hunk else None
        if row is None:
            return not hunk
        sides = zip(row[::4], row[1::4], row[2::4], row[3::4], strict=True)
        return all(
            kind == "absent" or self._is_sent(digest, size, bool(kept)) for kind, digest, size, kept in sides
        )

    def _content(self, digest: str, size: int, sent: set[str]) -> Iterator[dict[str, Any]]:
        if digest in sent:
            return
        sent.add(digest)
        with suppress(StoreError):
            data = self._blobs.read(digest, size)
            yield {"content": digest, "size": size, "data": base64.b64encode(data).decode()}


class _Taking(Incoming):
    """Stores one increment."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        blobs: Blobs,
        origin: Origin,
        record: ConversationRecord,
        head: IncrementHead,
    ) -> None:
        super().__init__(connection, blobs)
        if record.source or record.original:
            raise ValueError("the conversation is not its sender's own")
        if head.owner and not _ORIGIN.fullmatch(head.owner):
            raise ValueError("its parent has no origin")
        self._given = record
        self._head = head
        self._origin = origin
        self._source = f"{PREFIX}{origin.id}"
        self._parent_source = f"{PREFIX}{head.owner}" if head.owner else self._source
        self._found = foreign_sessions.find(connection, self._source, record.id)
        self._reached_here = _received(connection, self._found)
        # A sub-agent's is with its owner's.
        find = _find if record.call is None else _of_owner
        parent = find(connection, self._parent_source, record.parent or "")
        is_deep = parent is not None and _depth(connection, parent.id) >= DEEPEST
        if is_deep and record.call is not None:
            raise ValueError(f"its sub-agents are nested more than {DEEPEST} levels deep")
        self._parent = None if is_deep else parent
        self._last = self._last_usage = self._last_edit = 0
        self._events_taken = self._others_taken = self._conflicts = 0
        self._matching: list[tuple[int, str, str]] = []
        self._matching_edits: dict[tuple[object, ...], list[int]] = {}
        self._matching_usage = 0
        self._outdated = False
        self.waits = self._awaited()

    @property
    def taken(self) -> Taken:
        """The result so far."""
        is_new = self._found is None
        return Taken(self._current, is_new, self._events_taken, self._others_taken, self._conflicts)

    def begin(self) -> None:
        """Create or update the conversation."""
        origins.note(self._connection, self._origin)
        given, found = self._given, self._found
        self._current = self._create() if found is None else found.id
        self.root = self._current
        self._ids[given.id] = self._current
        self._project = given.project if found is None else found.project
        self._note(is_new=found is None)
        if found is None and self._head.import_of[0]:
            origins.note_original(self._connection, self._current, *self._head.import_of)
        if self._is_outdated():
            return
        if found is not None:
            self._update(found)
        if self._head.whole:
            for table in ("pins", "summaries"):
                sql = f"DELETE FROM {table} WHERE conversation_id = ?"
                self._connection.execute(sql, (to_column(self._current),))

    def add(self, record: Record, given: Mapping[str, Any]) -> None:
        """Store a record behind the first one.

        Raises:
            ValueError: it does not belong here.
        """
        if isinstance(record, ConversationRecord):
            raise ValueError("an increment has one conversation")
        if isinstance(record, UsageRecord):
            number = msgspec.convert(given["number"], Reached)
            self._require_order(number, self._last_usage, self._head.to and self._head.to.usage)
            self._last_usage = number
            if number <= self._reached_here.usage:
                return
            self._others_taken += 1
            if self._matching_usage:
                self._matching_usage -= 1
                return
        if self._outdated and isinstance(record, PinRecord | SummaryRecord | MarkRecord):
            return
        self.take(record)

    def end(self) -> None:
        """Note what was reached."""
        to, reached = self._head.to or START, self._reached_here
        event_chain.extend(self._connection, self._before)
        self._connection.execute(
            "UPDATE received SET event = ?, usage = ?, edit = ?, is_matching = ? WHERE id = ?",
            (
                max(reached.event, to.event, self._last),
                max(reached.usage, to.usage, self._last_usage),
                max(reached.edit, to.edit, self._last_edit),
                bool(self._matching or any(self._matching_edits.values())),
                to_column(self._current),
            ),
        )

    def _awaited(self) -> str:
        since = self._head.since
        pairs = zip(_numbers(since), _numbers(self._reached_here), strict=True)
        if any(needed > there for needed, there in pairs):
            return "an earlier part of the conversation"
        if self._given.call is not None and self._given.parent and self._parent is None:
            return "the conversation that started this sub-agent"
        return ""

    def _create(self) -> str:
        given, parent = self._given, self._parent
        call = None if parent is None else given.call
        id = given.id if is_conversation_id(given.id) else new_conversation_id()
        forked_at = None
        if parent is not None and given.forked_at is not None:
            forked_at = event_at(self._connection, parent, given.forked_at)
        made = msgspec.structs.replace(given, source=self._source, original=given.id)
        while True:
            row = replace(
                self._made(made, id, None if parent is None else parent.id, call),
                trashed=given.trashed,
                forked_at=forked_at,
            )
            if insert(row, self._connection):
                break
            id = new_conversation_id()
        sql = "UPDATE edits SET caller = ? WHERE caller = ?"
        self._connection.execute(sql, (to_column(id), to_column(self._awaited_caller(given.id))))
        return id

    def _note(self, *, is_new: bool) -> None:
        """Note the conversation as received, and prepare to match events that it had before."""
        given, key = self._given, to_column(self._current)
        added = self._connection.execute(
            "INSERT OR IGNORE INTO received VALUES (?, 0, 0, 0, 0, ?, ?, ?, ?, ?, ?)",
            (
                *(key, to_column(given.title), given.trashed, self._parent_source),
                *(to_column(given.parent or ""), given.forked_at or 0, not is_new),
            ),
        ).rowcount
        sql = "SELECT is_matching FROM received WHERE id = ?"
        if is_new or not self._connection.execute(sql, (key,)).fetchone()[0]:
            return
        self._matching = self._connection.execute(
            "SELECT seq, type, body FROM events WHERE conversation_id = ?1 AND seq NOT IN"
            " (SELECT event FROM received_events WHERE conversation = ?1) ORDER BY seq",
            (key,),
        ).fetchall()
        rows = self._connection.execute(
            f"SELECT id, {', '.join(_EDIT_KEY)} FROM edits WHERE conversation = ? AND id NOT IN"
            " (SELECT edit FROM received_edits WHERE source = ?) ORDER BY id DESC",
            (key, self._source),
        )
        for id, *row in rows:
            self._matching_edits.setdefault(tuple(map(plain, row)), []).append(id)
        if added:
            sql = "SELECT count(*) FROM usage WHERE conversation_id = ?"
            self._matching_usage = self._connection.execute(sql, (key,)).fetchone()[0]

    def _is_outdated(self) -> bool:
        """Return whether what changes was received as it was later."""
        sql = "SELECT revision FROM received WHERE id = ?"
        (last,) = self._connection.execute(sql, (to_column(self._current),)).fetchone()
        revision = self._head.revision
        self._outdated = revision is not None and revision < last
        if revision is not None and revision > last:
            sql = "UPDATE received SET revision = ? WHERE id = ?"
            self._connection.execute(sql, (revision, to_column(self._current)))
        return self._outdated

    def _update(self, found: StoredConversation) -> None:
        """Update the row, except for the title and the trash where the user has changed those here."""
        given, key = self._given, to_column(found.id)
        title, trashed = self._connection.execute(
            "SELECT title, trashed FROM received WHERE id = ?", (key,)
        ).fetchone()
        values: dict[str, object] = {
            name: getattr(given, name)
            for name in ("dialect", "provider", "model", "turns", "tokens", "cost", "branch", "effort")
        }
        values |= {"updated": max(given.updated, found.updated), "model_chosen": given.model_chosen}
        if found.title in ("", from_column(title)):
            values |= {"title": given.title, "renamed": given.renamed}
        if (found.trashed is None) == (trashed is None):
            values["trashed"] = trashed = given.trashed
        bound = [to_column(value) if isinstance(value, str) else value for value in values.values()]
        assignments = ", ".join(f"{name} = ?" for name in values)
        self._connection.execute(f"UPDATE conversations SET {assignments} WHERE id = ?", (*bound, key))
        sql = "UPDATE received SET title = ?, trashed = ? WHERE id = ?"
        self._connection.execute(sql, (to_column(given.title), trashed, key))

    def _event(self, record: EventRecord) -> None:
        number = record.number
        self._require_order(number, self._last, self._head.to and self._head.to.event)
        self._last = number
        if number <= self._reached_here.event:
            self._compare(number, record.event)
            return
        here = self._matched(record.event)
        if here is None:
            super()._event(record)
            here = self._numbers[number]
            self._events_taken += 1
        sql = "INSERT INTO received_events (conversation, number, event) VALUES (?, ?, ?)"
        self._connection.execute(sql, (to_column(self._current), number, here))

    def _matched(self, event: Event) -> int | None:
        """Return the number of the same event, if the conversation had it before."""
        if self._matching and _is_same(self._matching[0], event):
            return self._matching.pop(0)[0]
        return None

    def _matched_edit(self, record: EditRecord) -> int:
        """Return the number of the same edit, if the conversation had it before, or 0."""
        key = tuple(getattr(record, name) for name in _EDIT_KEY)
        same = self._matching_edits.get(key)
        if not same and "" in key[-2:]:
            # A content that is left out has no digest.
            found = self._matching_edits.items()
            same = next((ids for each, ids in found if ids and _agrees(each, key)), None)
        return same.pop() if same else 0

    def _compare(self, number: int, event: Event) -> None:
        sql = (
            "SELECT e.seq, e.type, e.body FROM received_events r JOIN events e ON e.seq = r.event"
            " WHERE r.conversation = ? AND r.number = ?"
        )
        row = self._connection.execute(sql, (to_column(self._current), number)).fetchone()
        # A row that damage has removed here does not count.
        if row is not None and not _is_same(row, event):
            self._conflicts += 1

    def _require_order(self, number: int, last: int, most: int | None) -> None:
        """Require ascending numbers within what the increment states.

        Raises:
            ValueError: they are not.
        """
        if number <= last or (most is not None and number > most):
            raise ValueError(f"the number {number} is out of order")

    def _reached(self, through: int) -> int:
        sql = "SELECT event FROM received_events WHERE conversation = ? AND number <= ? ORDER BY number DESC"
        row = self._connection.execute(f"{sql} LIMIT 1", (to_column(self._current), through)).fetchone()
        return row[0] if row else 0

    def _pin(self, record: PinRecord) -> None:
        sql = "SELECT event FROM received_events WHERE conversation = ? AND number = ?"
        row = self._connection.execute(sql, (to_column(self._current), record.event)).fetchone()
        if row is not None:
            self._insert("pins", {"event": row[0], "pinned": 1, "created": record.created})

    def _edit(self, record: EditRecord) -> None:
        if record.conversation != self._given.id:
            raise ValueError(f"the edit {record.id} is of another conversation")
        self._require_order(record.id, self._last_edit, self._head.to and self._head.to.edit)
        self._last_edit = record.id
        if record.id <= self._reached_here.edit:
            return
        here = self._edit_of(record.id)
        if here:
            self._conflicts += 1
            return
        here = self._matched_edit(record)
        if not here:
            self._ids[record.caller] = self._caller(record.caller)
            super()._edit(record)
            here = self._edits[record.id]
            self._others_taken += 1
            self._note_undone(record, here)
        sql = "INSERT INTO received_edits (source, number, edit) VALUES (?, ?, ?)"
        self._connection.execute(sql, (self._source, record.id, here))

    def _caller(self, original: str) -> str:
        """Return the id here of the conversation that made an edit."""
        found = foreign_sessions.find(self._connection, self._source, original)
        return self._awaited_caller(original) if found is None else found.id

    def _awaited_caller(self, original: str) -> str:
        """Return what stands for a sub-agent's conversation until it arrives."""
        return f"{self._source}/{original}"

    def _note_undone(self, record: EditRecord, here: int) -> None:
        """Note the reverted edits that have not arrived, and complete those that waited for this one."""
        awaited = {number for number, _ in record.undone if number and not self._edit_of(number)}
        sql = "INSERT OR IGNORE INTO received_undoes (source, number, edit, undoes) VALUES (?, ?, ?, ?)"
        for number in awaited - {record.id}:
            self._connection.execute(sql, (self._source, number, here, to_column(record.undoes)))
        sql = "DELETE FROM received_undoes WHERE source = ? AND number = ? RETURNING edit, undoes"
        for edit, undoes in self._connection.execute(sql, (self._source, record.id)).fetchall():
            pairs = [[self._edit_of(n) or here * (n == record.id), hunk] for n, hunk in json.loads(undoes)]
            sql = "UPDATE edits SET undoes = ? WHERE id = ?"
            self._connection.execute(sql, (events.encode(pairs), edit))

    def _edit_of(self, original: int) -> int:
        sql = "SELECT edit FROM received_edits WHERE source = ? AND number = ?"
        row = self._connection.execute(sql, (self._source, original)).fetchone()
        return row[0] if row else 0

    def _version(self, kind: Kind, digest: str, size: int, mode: int) -> Version:
        if digest and digest not in self._sizes:
            # It came with an earlier edit of this conversation.
            where = "WHERE conversation = ? AND {0}_kept AND {0}_digest = ? AND {0}_size = ?"
            for side in _SIDES:
                sql = f"SELECT 1 FROM edits {where.format(side)} LIMIT 1"
                if self._connection.execute(sql, (to_column(self._current), digest, size)).fetchone():
                    self._sizes[digest] = size
        return super()._version(kind, digest, size, mode)

    def _mark(self, record: MarkRecord) -> None:
        edit = self._edit_of(record.edit)
        if edit:
            self._edits[record.edit] = edit
            super()._mark(record)


def _numbers(position: Position) -> tuple[int, int, int]:
    return position.event, position.usage, position.edit


def _received(connection: sqlite3.Connection, found: StoredConversation | None) -> Position:
    if found is None:
        return START
    sql = "SELECT event, usage, edit FROM received WHERE id = ?"
    row = connection.execute(sql, (to_column(found.id),)).fetchone()
    return Position(*row) if row else START


def find_here(connection: sqlite3.Connection, id: str) -> StoredConversation | None:
    row = connection.execute(f"SELECT {COLUMNS} FROM conversations WHERE id = ?", (to_column(id),)).fetchone()
    return None if row is None else conversation_of(row)


def _find(connection: sqlite3.Connection, source: str, original: str) -> StoredConversation | None:
    """Return the conversation that its owner, which may be this store, calls `original`, also where a copy
    of the owner has it since."""
    found = _of_owner(connection, source, original)
    return found or relative(connection, source.removeprefix(PREFIX), original)


def _of_owner(connection: sqlite3.Connection, source: str, original: str) -> StoredConversation | None:
    if source != f"{PREFIX}{origins.own(connection).id}":
        return foreign_sessions.find(connection, source, original)
    found = find_here(connection, original)
    return None if found is None or found.source else found


def _is_below(connection: sqlite3.Connection, ancestor: str, id: str) -> bool:
    """Return whether `id` is `ancestor`, or began from it at any depth."""
    seen: set[str] = set()
    while id not in seen:
        if id == ancestor:
            return True
        seen.add(id)
        found = find_here(connection, id)
        id = (found.parent if found is not None else None) or id
    return False


def _depth(connection: sqlite3.Connection, id: str) -> int:
    """Return how many conversations one began from, at most `DEEPEST`."""
    sql = """
        WITH RECURSIVE above (id, depth) AS (
            SELECT ?, 0
            UNION ALL
            SELECT c.parent, depth + 1 FROM conversations c JOIN above USING (id)
            WHERE c.parent IS NOT NULL AND depth < ?
        )
        SELECT max(depth) FROM above
    """
    return connection.execute(sql, (to_column(id), DEEPEST)).fetchone()[0]


def _number_of(connection: sqlite3.Connection, id: str, event: int) -> int | None:
    """Return the number that the owner of a received conversation has given to an event."""
    sql = (
        "SELECT number FROM received_events WHERE conversation = ? AND event <= ? ORDER BY event DESC LIMIT 1"
    )
    row = connection.execute(sql, (to_column(id), event)).fetchone()
    return row[0] if row else None


def _is_same(row: tuple[int, str, str], event: Event) -> bool:
    """Return whether a stored event is the one that arrived, but for the time: one of the future was stored
    as that of its arrival."""
    _number, kind, body = row
    try:
        stored = events.decode(kind, body)
    except (ValueError, RecursionError):
        return True
    if {**stored, "timestamp": 0} == {**event, "timestamp": 0}:
        return True
    # One of a time at which it was our own.
    sent = checked_event(Redactor({}).value(stored), 0)
    return {**sent, "timestamp": 0} == {**event, "timestamp": 0}


def _agrees(ours: tuple[object, ...], theirs: tuple[object, ...]) -> bool:
    """Return whether edits may be the same, whose last values are digests, empty where they are not known."""
    pairs = zip(ours[-2:], theirs[-2:], strict=True)
    return ours[:-2] == theirs[:-2] and all(there in ("", here) for here, there in pairs)


def _digest(value: Sequence[object]) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:_DIGEST]
