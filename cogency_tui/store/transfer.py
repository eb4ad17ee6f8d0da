"""A conversation as lines of JSON, and back: what was exported and imported again is equal.

The first line says what the file is. Then come conversations, the person's before its sub-agents', each
followed by its events, usage and summaries; then the edits with what was decided about them, and the contents
that they need. Ids stay where they are free here, and are given anew where they are not.
"""

import base64
import binascii
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from io import BytesIO
from itertools import chain
from typing import Any, cast

import msgspec

from cogency_tui.errors import StoreError, UsageError
from cogency_tui.redaction import Redactor, has_secret
from cogency_tui.store import events
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.conversations import (
    COLUMNS,
    Conversation,
    conversation_of,
    insert,
    new_conversation_id,
)
from cogency_tui.store.text import from_column, to_column

FORMAT = "cogency-tui conversation"
VERSION = 1

_USAGE = (
    *("timestamp", "input", "output", "duration", "cached", "billed_input", "replay_input", "cost", "body"),
)
_SUMMARY = ("through", "text", "model", "created", "edited")
_BELOW = f"SELECT {COLUMNS} FROM conversations WHERE parent = ? AND call IS NOT NULL ORDER BY created, id"
_ADVICE = "Export it again with `cogency-tui conversations export ID --format jsonl`."


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
    number = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record: Any = json.loads(line)
            if not isinstance(record, dict):
                raise ValueError("it is no JSON object")
            incoming.take(cast("dict[str, Any]", record))
        except (ValueError, KeyError, TypeError, RecursionError, sqlite3.IntegrityError) as exc:
            raise UsageError(f"Line {number} is not as an export has it: {_why(exc)}.", _ADVICE) from exc
    if not incoming.root:
        raise UsageError("There is no conversation in it.", _ADVICE)
    return incoming.root


def _why(exc: Exception) -> str:
    return f"{exc.args[0]!r} is missing" if isinstance(exc, KeyError) else str(exc)


def _conversation(connection: sqlite3.Connection, conversation: Conversation) -> Iterator[dict[str, Any]]:
    key = to_column(conversation.id)
    yield {"conversation": asdict(conversation)}
    position: dict[int, int] = {}
    rows = connection.execute("SELECT seq, body FROM events WHERE conversation_id = ? ORDER BY seq", (key,))
    for index, (seq, body) in enumerate(rows):
        position[seq] = index
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
    cursor = connection.execute("SELECT * FROM edits WHERE conversation = ? ORDER BY id", (to_column(id),))
    names = [column[0] for column in cursor.description]
    sent: set[str] = set()
    for row in cursor.fetchall():
        edit: dict[str, Any] = dict(zip(names, map(_plain, row), strict=True))
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
        yield {"mark": list(map(_plain, row))}


class _Incoming:
    """Lines on their way into the store."""

    def __init__(self, connection: sqlite3.Connection, blobs: Blobs) -> None:
        self.root = ""
        self._connection = connection
        self._blobs = blobs
        self._begun = False
        self._current = ""
        self._ids: dict[str, str] = {}
        self._numbers: dict[int, int] = {}
        self._edits: dict[int, int] = {}
        self._kept: set[str] = set()
        self._take: dict[str, Callable[[Any, dict[str, Any]], None]] = {
            "conversation": self._conversation,
            "event": self._event,
            "usage": self._usage,
            "summary": self._summary,
            "content": self._content,
            "edit": self._edit,
            "mark": self._mark,
        }

    def take(self, record: dict[str, Any]) -> None:
        """Store what one line says. Lines of a kind that is not known are of a newer program: an error."""
        if not self._begun:
            if record.get("format") != FORMAT:
                raise ValueError("it does not begin as one")
            if record.get("version") != VERSION:
                raise ValueError(f"it is of version {record.get('version')!r}, this program knows {VERSION}")
            self._begun = True
            return
        kind = next(iter(record), "")
        if kind not in self._take:
            raise ValueError(f"{kind!r} is nothing that an export has")
        if kind != "conversation" and not self._current:
            raise ValueError("it stands before the conversation")
        self._take[kind](record[kind], record)

    def _conversation(self, value: Any, _record: dict[str, Any]) -> None:
        given = msgspec.convert(value, Conversation)
        parent = self._ids.get(given.parent or "")
        if self.root and (parent is None or given.call is None):
            raise ValueError("it holds several conversations")
        found = replace(given, parent=parent, trashed=None, call=given.call if parent else None)
        if parent is None:
            # What it was forked from is not in the file; the number would point into nothing.
            found = replace(found, forked_at=None)
        if not insert(found, self._connection):
            found = replace(found, id=new_conversation_id())
            insert(found, self._connection)
        self._ids[given.id] = self._current = found.id
        self.root = self.root or found.id

    def _event(self, value: Any, record: dict[str, Any]) -> None:
        event = events.checked(value)
        unit = to_column(event["id"]) if "id" in event else None
        cursor = self._connection.execute(
            "INSERT INTO events (conversation_id, type, timestamp, unit, body) VALUES (?, ?, ?, ?, ?)",
            (to_column(self._current), event["type"], event["timestamp"], unit, events.encode(event)),
        )
        assert cursor.lastrowid is not None
        self._numbers[int(record["number"])] = cursor.lastrowid

    def _usage(self, value: Any, _record: dict[str, Any]) -> None:
        self._insert("usage", _USAGE, value)

    def _summary(self, value: Any, _record: dict[str, Any]) -> None:
        through = max((new for old, new in self._numbers.items() if old <= value["through"]), default=0)
        self._insert("summaries", _SUMMARY, {**value, "through": through})

    def _insert(self, table: str, names: tuple[str, ...], value: dict[str, Any]) -> None:
        row = [to_column(self._current), *(_bound(value[name]) for name in names)]
        marks = ", ".join("?" * len(row))
        sql = f"INSERT INTO {table} (conversation_id, {', '.join(names)}) VALUES ({marks})"
        self._connection.execute(sql, row)

    def _content(self, value: Any, record: dict[str, Any]) -> None:
        try:
            data = base64.b64decode(record["data"], validate=True)
        except binascii.Error as exc:
            raise ValueError("its data is no base64") from exc
        stored = self._blobs.put(BytesIO(data))
        if stored.digest != value:
            raise ValueError("its content is not the one that it names")
        if stored.kept:
            self._kept.add(stored.digest)

    def _edit(self, value: Any, _record: dict[str, Any]) -> None:
        edit = dict(value)
        old = int(edit.pop("id"))
        undoes = [[self._edits.get(number, 0), hunk] for number, hunk in json.loads(edit["undoes"])]
        edit["undoes"] = json.dumps(undoes, separators=(",", ":"))
        edit["conversation"] = self._ids.get(edit["conversation"], self.root)
        edit["caller"] = self._ids.get(edit["caller"], edit["conversation"])
        for side in ("before", "after"):
            edit[f"{side}_kept"] = int(edit[f"{side}_digest"] in self._kept)
        known = [row[1] for row in self._connection.execute("PRAGMA table_info(edits)") if row[1] != "id"]
        names = ", ".join(known)
        sql = f"INSERT INTO edits ({names}) VALUES ({', '.join('?' * len(known))})"
        cursor = self._connection.execute(sql, [_bound(edit[name]) for name in known])
        assert cursor.lastrowid is not None
        self._edits[old] = cursor.lastrowid

    def _mark(self, value: Any, _record: dict[str, Any]) -> None:
        edit, *rest = value
        self._connection.execute(
            "INSERT OR REPLACE INTO edit_marks (edit, hunk, state, note, timestamp) VALUES (?, ?, ?, ?, ?)",
            (self._edits[int(edit)], *map(_bound, rest)),
        )


def _plain(value: object) -> object:
    return from_column(value) if isinstance(value, bytes) else value


def _bound(value: object) -> object:
    if isinstance(value, str):
        return to_column(value)
    if isinstance(value, list | dict):
        raise ValueError("a list stands where a value has to be")
    return value
