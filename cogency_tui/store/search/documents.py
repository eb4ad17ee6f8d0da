"""Searchable documents: each event and each edit as one text, with the values of filters.

A document's source is the number of its event, or minus the number of its edit. Its text depends only on
the row (and on stored contents), so that it is the same whenever it is built.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast

import msgspec

from cogency_tui.errors import StoreError
from cogency_tui.protocol.events import UserEvent
from cogency_tui.protocol.transcript import as_tool_call, shown_text
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.search.folding import fold

Kind = Literal["prompt", "answer", "thought", "call", "output", "edit", "title"]

LONGEST_CONTENT = 1 << 20
"""Bytes of a file's content above which an edit is found only by its path."""

_KINDS: dict[str, Kind] = {
    "user": "prompt",
    "respond": "answer",
    "think": "thought",
    "call": "call",
    "result": "output",
}
_PATHS = frozenset({"file", "path", "files", "paths", "file_path", "filepath", "filename"})
_EVENTS = "SELECT seq, conversation_id, type, timestamp, body FROM events"
_EDITS = (
    "SELECT id, caller, path, old_path, tool, timestamp, before_kind, before_digest, before_size,"
    " before_kept, after_kind, after_digest, after_size, after_kept FROM edits"
)


@dataclass(frozen=True)
class Document:
    """A searchable text. `conversation` is its own: a sub-agent's has another than its parent. `tool` and
    `failed` are those of a call or an output, `paths` the files that a call or an edit names, `named` the
    texts of either with their keys; `timestamp` is in Unix seconds."""

    source: int
    conversation: str
    kind: Kind
    text: str
    timestamp: float
    tool: str = ""
    failed: bool = False
    paths: tuple[str, ...] = ()
    named: tuple[tuple[str, str], ...] = ()

    @cached_property
    def folded(self) -> str:
        return fold(self.text)


def read_documents(
    connection: sqlite3.Connection, sources: Sequence[int], blobs: Blobs
) -> Iterator[Document]:
    """Yield the documents of these sources, in no order; a row that is gone or cannot be read is left out."""
    events = [source for source in sources if source > 0]
    edits = [-source for source in sources if source < 0]
    for number in events:
        for row in connection.execute(f"{_EVENTS} WHERE seq = ?", (number,)):
            if (document := of_event(row)) is not None:
                yield document
    for number in edits:
        for row in connection.execute(f"{_EDITS} WHERE id = ?", (number,)):
            if (document := of_edit(row, blobs)) is not None:
                yield document


def read_events(connection: sqlite3.Connection, after: int, most: int) -> list[tuple[Any, ...]]:
    """Return at most `most` rows for `of_event`, those behind the event numbered `after`."""
    return connection.execute(f"{_EVENTS} WHERE seq > ? ORDER BY seq LIMIT ?", (after, most)).fetchall()


def read_edits(connection: sqlite3.Connection, after: int, most: int) -> list[tuple[Any, ...]]:
    """Return at most `most` rows for `of_edit`, those behind the edit numbered `after`."""
    return connection.execute(f"{_EDITS} WHERE id > ? ORDER BY id LIMIT ?", (after, most)).fetchall()


def all_of(connection: sqlite3.Connection, conversation: str, blobs: Blobs) -> Iterator[Document]:
    """Yield all documents of one conversation, its sub-agents' left out except for their edits."""
    key = to_column(conversation)
    for row in connection.execute(f"{_EVENTS} WHERE conversation_id = ? ORDER BY seq DESC", (key,)):
        if (document := of_event(row)) is not None:
            yield document
    for row in connection.execute(f"{_EDITS} WHERE conversation = ? ORDER BY id DESC", (key,)):
        if (document := of_edit(row, blobs)) is not None:
            yield document


def of_event(row: tuple[Any, ...]) -> Document | None:
    """Build the document of an event's row; None where the row cannot be read."""
    seq, conversation, kind, timestamp, body = row
    if conversation is None or timestamp is None:
        return None
    try:
        event = _decoded(body)
        known = _KINDS[kind]
        if known == "call":
            return _call(seq, from_column(conversation), timestamp, event)
        if known == "output":
            payload = cast("dict[str, Any]", event["payload"])
            text = "\n".join([str(payload["outcome"]), *_texts(payload["content"])])
            # Events of older versions have no state.
            is_failure = payload.get("state", "failed") == "failed" and not payload.get("not_run")
            failed = bool(payload["error"]) and is_failure
            tool = str(event["tool"])
            named = tuple(_named(payload["content"]))
            return Document(seq, from_column(conversation), known, text, timestamp, tool, failed, named=named)
        text = shown_text(cast("UserEvent", event)) if known == "prompt" else str(event["content"])
        return Document(seq, from_column(conversation), known, text, timestamp)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def of_edit(row: tuple[Any, ...], blobs: Blobs) -> Document | None:
    """Build the document of an edit's row: its paths, and the lines that it added and removed; None where
    the row is damaged."""
    if None in row:
        return None
    id, caller, path, old_path, tool, timestamp = row[:6]
    paths = tuple(from_column(each) for each in (path, old_path) if each)
    before, after = _lines(row[6:10], blobs), _lines(row[10:14], blobs)
    changed = [*_lacking(after, before), *_lacking(before, after)]
    text = "\n".join([*paths, *changed])
    return Document(-id, from_column(caller), "edit", text, timestamp, from_column(tool), paths=paths)


def _call(seq: int, conversation: str, timestamp: float, event: dict[str, Any]) -> Document:
    text = str(event["content"])
    try:
        record: Any = _decoded(text)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        return Document(seq, conversation, "call", text, timestamp)
    call = as_tool_call(cast("dict[str, Any]", record))
    args: Any = call.get("args")
    tool = str(call.get("name", ""))
    given = cast("dict[str, Any]", args) if isinstance(args, dict) else {}
    paths = tuple(text for name, value in given.items() if name in _PATHS for text in _texts(value))
    text = "\n".join([tool, *_texts(args)])
    return Document(seq, conversation, "call", text, timestamp, tool, paths=paths, named=tuple(_named(args)))


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON value, in order, without the names of its keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in cast("dict[str, Any]", value).values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _texts(each)
    elif value is not None:
        yield json.dumps(value)


def _named(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts of a JSON value that have a key, with it."""
    if isinstance(value, str) and key:
        yield key, value
    elif isinstance(value, dict):
        for name, each in cast("dict[str, Any]", value).items():
            yield from _named(each, name)
    elif isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _named(each, key)


def _decoded(body: str | bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (ValueError, UnicodeEncodeError):
        # Slower, but accepts lone surrogates and NaN.
        return json.loads(from_column(body))


def _lines(version: tuple[str, str, int, int], blobs: Blobs) -> list[str]:
    kind, digest, size, stored = version
    if kind == "absent" or not stored or size > LONGEST_CONTENT:
        return []
    try:
        data = blobs.read(digest, size)
    except StoreError:
        return []
    return [] if b"\x00" in data else data.decode("utf-8", "replace").splitlines()


def _lacking(these: list[str], those: list[str]) -> Iterator[str]:
    """Yield the lines of `these` that `those` lack, or have less often; in order."""
    left = Counter(those)
    for line in these:
        if left[line] > 0:
            left[line] -= 1
        else:
            yield line
