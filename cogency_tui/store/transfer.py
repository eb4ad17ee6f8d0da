"""A conversation as lines of JSON, and back: what was exported and imported again is equal.

The first line says what the file is. Then come conversations, the person's before its sub-agents', each
followed by its events, usage and summaries; then the edits with what was decided about them, and the contents
that they need. Ids stay where they are free here, and are given anew where they are not.
"""

import base64
import json
import sqlite3
import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from io import BytesIO
from itertools import chain
from operator import itemgetter
from typing import Any

from cogency_tui.errors import StoreError, UsageError
from cogency_tui.redaction import Redactor, has_secret
from cogency_tui.store import events
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.conversations import (
    COLUMNS,
    Conversation,
    conversation_of,
    insert,
    is_conversation_id,
    new_conversation_id,
)
from cogency_tui.store.edits import COLUMNS as EDIT_COLUMNS
from cogency_tui.store.export_records import (
    ADVICE,
    FORMAT,
    VERSION,
    ContentRecord,
    ConversationRecord,
    EditRecord,
    EventRecord,
    Kind,
    MarkRecord,
    Record,
    SummaryRecord,
    UsageRecord,
    blamed_on,
    decoded,
    is_portable,
)
from cogency_tui.store.text import from_column, to_column
from cogency_tui.store.versions import FileChange, Version

_USAGE = (
    *("timestamp", "input", "output", "duration", "cached", "billed_input", "replay_input", "cost", "body"),
)
_SUMMARY = ("through", "text", "model", "created", "edited")
_BELOW = f"SELECT {COLUMNS} FROM conversations WHERE parent = ? AND call IS NOT NULL ORDER BY created, id"
_LONGEST_TARGET = 4095


def exported(connection: sqlite3.Connection, id: str, blobs: Blobs) -> Iterator[dict[str, Any]]:
    """The lines of a conversation, each a JSON object. Contents that are not kept any more are left out, and
    those that hold what looks like a key; elsewhere a marker stands for it.

    Raises:
        StoreError: there is no such conversation.
    """
    row = connection.execute(f"SELECT {COLUMNS} FROM conversations WHERE id = ?", (to_column(id),)).fetchone()
    if row is None:
        raise events.missing(id)
    yield {"format": FORMAT, "version": VERSION}
    redactor = Redactor({})
    for line in chain(_conversation(connection, conversation_of(row)), _edits(connection, id, blobs)):
        yield line if "content" in line else redactor.value(line)


def imported(connection: sqlite3.Connection, lines: Iterable[str], blobs: Blobs) -> str:
    """Store what `lines` hold, in one transaction that is the caller's; the id of the person's conversation.

    Raises:
        UsageError: they are no export; the message says which line.
    """
    incoming = _Incoming(connection, blobs)
    for number, record in decoded(lines, time.time()):
        with blamed_on(number):
            incoming.take(record)
    if not incoming.root:
        raise UsageError("There is no conversation in it.", ADVICE)
    return incoming.root


def _conversation(connection: sqlite3.Connection, conversation: Conversation) -> Iterator[dict[str, Any]]:
    key = to_column(conversation.id)
    yield {"conversation": asdict(conversation)}
    position: dict[int, int] = {}
    rows = connection.execute("SELECT seq, body FROM events WHERE conversation_id = ? ORDER BY seq", (key,))
    for index, (seq, body) in enumerate(rows):
        position[seq] = index
        # A damaged row is left out, as wherever events are read.
        with suppress(ValueError):
            yield {"event": json.loads(from_column(body)), "number": seq}
    sql = f"SELECT {', '.join(_USAGE)} FROM usage WHERE conversation_id = ? ORDER BY id"
    for row in connection.execute(sql, (key,)):
        yield {"usage": dict(zip(_USAGE, map(_plain, row), strict=True))}
    sql = f"SELECT {', '.join(_SUMMARY)} FROM summaries WHERE conversation_id = ? ORDER BY id"
    for row in connection.execute(sql, (key,)):
        yield {"summary": dict(zip(_SUMMARY, map(_plain, row), strict=True))}
    for row in connection.execute(_BELOW, (key,)).fetchall():
        yield from _conversation(connection, conversation_of(row))


def _edits(connection: sqlite3.Connection, id: str, blobs: Blobs) -> Iterator[dict[str, Any]]:
    names = ("id", *EDIT_COLUMNS)
    sql = f"SELECT {', '.join(names)} FROM edits WHERE conversation = ? ORDER BY id"
    sent: set[str] = set()
    carried: set[int] = set()
    for row in connection.execute(sql, (to_column(id),)).fetchall():
        edit: dict[str, Any] = dict(zip(names, map(_plain, row), strict=True))
        paths = [edit[name] for name in ("path", "old_path", "made") if edit[name]]
        if None in row or not all(map(is_portable, paths)):
            continue
        carried.add(edit["id"])
        for side in ("before", "after"):
            digest, size = edit[f"{side}_digest"], edit[f"{side}_size"]
            if edit[f"{side}_kept"] and digest not in sent:
                sent.add(digest)
                try:
                    data = blobs.read(digest, size)
                except StoreError:
                    continue
                if not has_secret(data.decode("utf-8", "replace")):
                    yield {"content": digest, "size": size, "data": base64.b64encode(data).decode()}
        yield {"edit": edit}
    sql = (
        "SELECT edit, hunk, state, note, m.timestamp FROM edit_marks m JOIN edits e ON e.id = m.edit"
        " WHERE e.conversation = ? ORDER BY m.timestamp, edit, hunk"
    )
    for row in connection.execute(sql, (to_column(id),)):
        if row[0] in carried:
            yield {"mark": list(map(_plain, row))}


class _Incoming:
    """Records on their way into the store."""

    def __init__(self, connection: sqlite3.Connection, blobs: Blobs) -> None:
        self.root = ""
        self._connection = connection
        self._blobs = blobs
        self._project = ""
        self._current = ""
        self._ids: dict[str, str] = {}
        self._numbers: set[int] = set()
        self._latest: list[tuple[int, int]] = []
        """Numbers of events as they were and as they are, both ascending; without those that a later event
        with a smaller number stands in front of."""
        self._edits: dict[int, int] = {}
        self._sizes: dict[str, int] = {}
        """Of the contents that are kept, by their digests."""

    def take(self, record: Record) -> None:
        """Store one record.

        Raises:
            ValueError: it does not go with those before it.
        """
        if not self._current and not isinstance(record, ConversationRecord):
            raise ValueError("it stands before the conversation")
        match record:
            case ConversationRecord():
                self._conversation(record)
            case EventRecord():
                self._event(record)
            case UsageRecord():
                self._insert("usage", {name: getattr(record, name) for name in _USAGE})
            case SummaryRecord():
                given = {name: getattr(record, name) for name in _SUMMARY}
                self._insert("summaries", {**given, "through": self._reached(record.through)})
            case ContentRecord():
                self._content(record)
            case EditRecord():
                self._edit(record)
            case MarkRecord():
                self._mark(record)

    def _conversation(self, given: ConversationRecord) -> None:
        parent = self._ids.get(given.parent or "")
        if self.root and (parent is None or given.call is None):
            raise ValueError("it holds several conversations")
        if given.id in self._ids:
            raise ValueError(f"it has the conversation {given.id!r} twice")
        self._project = self._project or given.project
        id = given.id if is_conversation_id(given.id) else new_conversation_id()
        # What it was forked from is not in the file.
        call = given.call if parent else None
        while not insert(self._made(given, id, parent, call), self._connection):
            id = new_conversation_id()
        self._ids[given.id] = self._current = id
        self.root = self.root or id

    @staticmethod
    def _made(given: ConversationRecord, id: str, parent: str | None, call: str | None) -> Conversation:
        return Conversation(
            *(id, given.project, given.title, given.dialect, given.provider, given.model),
            *(given.created, given.updated, given.turns, given.tokens, given.cost, parent, call),
            branch=given.branch,
            renamed=given.renamed,
            imported=True,
        )

    def _event(self, record: EventRecord) -> None:
        if record.number in self._numbers:
            raise ValueError(f"it has the event {record.number} twice")
        event = record.event
        unit = to_column(event["id"]) if "id" in event else None
        cursor = self._connection.execute(
            "INSERT INTO events (conversation_id, type, timestamp, unit, body) VALUES (?, ?, ?, ?, ?)",
            (to_column(self._current), event["type"], event["timestamp"], unit, events.encode(event)),
        )
        assert cursor.lastrowid is not None
        self._numbers.add(record.number)
        while self._latest and self._latest[-1][0] > record.number:
            self._latest.pop()
        self._latest.append((record.number, cursor.lastrowid))

    def _reached(self, through: int) -> int:
        """The number that the last event has of those that were numbered up to `through`; 0 for none."""
        index = bisect_right(self._latest, through, key=itemgetter(0))
        return self._latest[index - 1][1] if index else 0

    def _content(self, record: ContentRecord) -> None:
        stored = self._blobs.put(BytesIO(record.decoded()))
        if stored.digest != record.content:
            raise ValueError("its content is not the one that it names")
        if stored.kept:
            self._sizes[stored.digest] = stored.size

    def _edit(self, record: EditRecord) -> None:
        if record.id in self._edits:
            raise ValueError(f"it has the edit {record.id} twice")
        if record.project != self._project:
            raise ValueError(f"the edit is of {record.project!r}, and the conversation of another project")
        undoes = [[self._edits.get(number, 0), hunk] for number, hunk in record.undone]
        conversation = self._ids.get(record.conversation, self.root)
        before, after = (
            self._version(*(getattr(record, f"{side}_{name}") for name in ("kind", "digest", "size", "mode")))
            for side in ("before", "after")
        )
        values: dict[str, object] = {
            "conversation": conversation,
            "caller": self._ids.get(record.caller, conversation),
            "kind": FileChange(record.path, before, after, record.old_path).kind,
            "undoes": json.dumps(undoes, separators=(",", ":")),
            "before_kept": before.kept,
            "after_kept": after.kept,
        }
        given = (values[name] if name in values else getattr(record, name) for name in EDIT_COLUMNS)
        sql = f"INSERT INTO edits ({', '.join(EDIT_COLUMNS)}) VALUES ({', '.join('?' * len(EDIT_COLUMNS))})"
        cursor = self._connection.execute(sql, [_bound(value) for value in given])
        assert cursor.lastrowid is not None
        self._edits[record.id] = cursor.lastrowid

    def _version(self, kind: Kind, digest: str, size: int, mode: int) -> Version:
        """A side of an edit.

        Raises:
            ValueError: its content is another, or a link's that leads nowhere.
        """
        kept = digest in self._sizes
        if kept and self._sizes[digest] != size:
            raise ValueError(f"the size of a side is {size:,}, and its content has {self._sizes[digest]:,}")
        if kept and kind == "link":
            target = self._blobs.read(digest, size) if size <= _LONGEST_TARGET else b""
            if not target or b"\0" in target:
                raise ValueError("the content of a side is no target of a symbolic link")
        return Version(kind, digest, size, mode, kept)

    def _mark(self, record: MarkRecord) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO edit_marks (edit, hunk, state, note, timestamp) VALUES (?, ?, ?, ?, ?)",
            (
                *(self._edits[record.edit], to_column(record.hunk), record.state),
                *(to_column(record.note), record.timestamp),
            ),
        )

    def _insert(self, table: str, values: Mapping[str, object]) -> None:
        row = [to_column(self._current), *map(_bound, values.values())]
        marks = ", ".join("?" * len(row))
        sql = f"INSERT INTO {table} (conversation_id, {', '.join(values)}) VALUES ({marks})"
        self._connection.execute(sql, row)


def _plain(value: object) -> object:
    return from_column(value) if isinstance(value, bytes) else value


def _bound(value: object) -> object:
    return to_column(value) if isinstance(value, str) else value
