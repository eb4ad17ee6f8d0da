"""The records that a usage report is made from: conversations, requests, turns, calls, edits and their hunks.

Read-only, in one pass over each table; a row that cannot be read affects no other row. What a fork has
copied from its parent is its parent's, and what happened elsewhere (an imported conversation) is not the
user's here. A report reads every row of a period, so ids stay bytes as they are stored, and bodies are
decoded only for the fields that count.
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from cogency_tui.protocol.events import ENGINE_RESULTS
from cogency_tui.store.column_text import from_column
from cogency_tui.store.events import BEGINS_TURN

_CONVERSATIONS = (
    "SELECT id, project, provider, model, created, updated, parent, call, imported, source FROM conversations"
)
_USAGE = "SELECT conversation_id, timestamp, body FROM usage WHERE timestamp >= ? AND timestamp < ?"
_EVENTS = (
    "SELECT conversation_id, seq, timestamp, iif(type = 'user', NULL, body) FROM events"
    f" WHERE (type IN ('result', 'error') OR {BEGINS_TURN}) AND timestamp >= ? AND timestamp < ?"
)
_REQUESTS = "SELECT conversation_id, through, timestamp, frame FROM requests WHERE 1"
_FRAMES = "SELECT digest, body FROM request_frames WHERE 1"
_EDITS = (
    "SELECT id, conversation, caller, call, tool, path, timestamp FROM edits"
    " WHERE kind != 'snapshot' AND undoes = '[]' AND timestamp >= ? AND timestamp < ?"
    " AND id NOT IN (SELECT edit FROM merged_edits)"
)
_MARKS = "SELECT edit, hunk, state FROM edit_marks WHERE edit >= ?"
_OUTLINES = "SELECT body FROM review_outlines"
_AMONG = " AND {} IN (SELECT value FROM json_each(?))"


class ConversationRecord(NamedTuple):
    """A conversation: `root` is the user's, to which a sub-agent's belongs. What is older than `begun`, in
    Unix seconds, was copied from the one that it was forked from. `model` is `PROVIDER/MODEL`."""

    root: bytes
    project: str
    model: str
    begun: float
    updated: float
    is_subagent: bool


class RequestRecord(msgspec.Struct):
    """The figures of a request, as `Measure` has them."""

    provider: str = ""
    model: str = ""
    input: int = 0
    output: int = 0
    cached: int = 0
    cost: float | None = None
    estimated: bool = False
    duration: float = 0.0
    ttft: float = 0.0
    writing: float = 0.0
    malformed: int = 0
    leaked: int = 0
    purpose: str = ""


class _Failure(msgspec.Struct):
    declined: bool = False


class FaultRecord(msgspec.Struct, tag_field="type", tag="error"):
    """An error that ended a turn; the user may have declined a request."""

    payload: _Failure


class _Payload(msgspec.Struct):
    error: bool = False
    state: str = "failed"
    """Events of older versions have no state."""
    not_run: bool = False


class CallRecord(msgspec.Struct, tag_field="type", tag="result"):
    """The result of a call."""

    payload: _Payload
    id: str = ""
    tool: str = "unknown"
    duration: float = 0.0

    @property
    def is_of_tool(self) -> bool:
        """True if it answers a call, and is no report of the engine's."""
        return self.tool not in ENGINE_RESULTS

    @property
    def is_stopped(self) -> bool:
        """True if the user declined or stopped it, or it was not run."""
        return self.payload.not_run or self.payload.state in _STOPPED

    @property
    def is_failed(self) -> bool:
        return self.payload.error and not self.is_stopped


_STOPPED = ("declined", "interrupted", "skipped")


class EditRecord(NamedTuple):
    """A change of a file that a tool made in the conversation `caller`."""

    id: int
    conversation: bytes
    caller: bytes
    call: str
    tool: str
    path: str
    timestamp: float


class Sent(NamedTuple):
    """A request as it was sent, with the events up to the number `through`."""

    through: int
    timestamp: float
    model: str


def label_of(provider: str, model: str) -> str:
    """Return `PROVIDER/MODEL`, by which a report names a model."""
    return f"{provider}/{model}" if provider else model or "unknown"


@contextmanager
def text_as_bytes(connection: sqlite3.Connection) -> Generator[None]:
    """Have the connection return text as bytes: to decode each column in Python would take a second."""
    before = connection.text_factory
    connection.text_factory = bytes
    try:
        yield
    finally:
        connection.text_factory = before


def conversations(connection: sqlite3.Connection) -> dict[bytes, ConversationRecord]:
    """Return the conversations that count, those in the trash included, by id."""
    rows = {row[0]: row for row in connection.execute(_CONVERSATIONS)}
    parents = {id: row[6] for id, row in rows.items() if row[6] in rows}
    above = {id: parent for id, parent in parents.items() if rows[id][7] is not None}
    found: dict[bytes, ConversationRecord] = {}
    for id, (_, _, provider, model, created, updated, parent, call, *_) in rows.items():
        root = _root_of(id, above)
        # A fork of an imported conversation is the user's, unless it was made elsewhere.
        if rows[root][9] or (rows[root][8] and rows[root][6] is None):
            continue
        # A turn that was run again is a fork in a directory of its own.
        project = rows[_root_of(id, parents)][1]
        begun = created if parent is not None and call is None else 0.0
        label = label_of(from_column(provider), from_column(model))
        found[id] = ConversationRecord(
            root, from_column(project), label, begun or 0.0, updated or 0.0, root != id
        )
    return found


def _root_of(id: bytes, above: dict[bytes, bytes]) -> bytes:
    seen: set[bytes] = set()
    while id in above and id not in seen:
        seen.add(id)
        id = above[id]
    return id


_request_decoder = msgspec.json.Decoder(RequestRecord)
_event_decoder = msgspec.json.Decoder(CallRecord | FaultRecord)


def _decode_request(body: bytes) -> RequestRecord:
    return _request_decoder.decode(body.decode("utf-8", "replace"))


def _decode_event(body: bytes) -> CallRecord | FaultRecord:
    return _event_decoder.decode(body.decode("utf-8", "replace"))


def requests(
    connection: sqlite3.Connection, since: float, before: float
) -> Iterator[tuple[bytes, float, RequestRecord]]:
    """Yield the requests that were answered between two moments in Unix seconds, each with its conversation
    and its moment."""
    for conversation, moment, body in connection.execute(_USAGE, (since, before)):
        try:
            yield conversation, moment, _decode_request(body)
        except (msgspec.DecodeError, AttributeError, TypeError):
            continue


def happened(
    connection: sqlite3.Connection, since: float, before: float, among: Collection[bytes] | None
) -> Iterator[tuple[bytes, int, float, CallRecord | FaultRecord | None]]:
    """Yield the results of calls, the errors that ended turns, and the user's messages (None) between two
    moments in Unix seconds, of the conversations `among`, or of all: with the conversation, the number of the
    event and its moment."""
    sql, values = _limited(_EVENTS, "conversation_id", among, since, before)
    for conversation, number, moment, body in connection.execute(sql, values):
        try:
            yield conversation, number, moment, None if body is None else _decode_event(body)
        except (msgspec.DecodeError, AttributeError, TypeError):
            continue


def sent(connection: sqlite3.Connection, among: Collection[bytes]) -> dict[bytes, list[Sent]]:
    """Return the requests of these conversations as they were sent, the oldest first."""
    sql, values = _limited(_REQUESTS, "conversation_id", among)
    rows = connection.execute(f"{sql} ORDER BY id", values).fetchall()
    sql, values = _limited(_FRAMES, "digest", {frame for *_, frame in rows})
    models = {digest: _model_of(body) for digest, body in connection.execute(sql, values)}
    found: defaultdict[bytes, list[Sent]] = defaultdict(list)
    for conversation, through, moment, frame in rows:
        if model := models.get(frame):
            found[conversation].append(Sent(through, moment, model))
    return found


def _model_of(frame: bytes) -> str:
    """The model that a frame is for; empty in those of older versions."""
    try:
        request = _decode_request(frame)
    except (msgspec.DecodeError, AttributeError, TypeError):
        return ""
    return label_of(request.provider, request.model) if request.model else ""


def edits(connection: sqlite3.Connection, since: float, before: float) -> list[EditRecord]:
    """Return the changes by tools between two moments in Unix seconds, the oldest first. Reverts, and what
    came with commits of a remote, are left out."""
    rows = connection.execute(f"{_EDITS} ORDER BY id", (since, before))
    return [
        EditRecord(id, conversation, caller, from_column(call), from_column(tool), from_column(path), moment)
        for id, conversation, caller, call, tool, path, moment in rows
    ]


def hunks(connection: sqlite3.Connection, made: Collection[EditRecord]) -> dict[int, list[bytes]]:
    """Return the decision about each hunk of these edits, as it is stored: `new`, `kept` … An edit counts as
    one hunk where its lines were never compared, or it has none."""
    if not made:
        return {}
    wanted = {edit.id for edit in made}
    marks: defaultdict[int, dict[bytes, bytes]] = defaultdict(dict)
    for edit, hunk, state in connection.execute(_MARKS, (min(wanted),)):
        marks[edit][hunk] = state
    outlined: defaultdict[int, set[bytes]] = defaultdict(set)
    for (body,) in connection.execute(_OUTLINES):
        for edit, hunk in _parts_of(body):
            outlined[edit].add(hunk.encode())
    return {edit: [*_decisions(marks.get(edit, {}), outlined.get(edit, ()))] for edit in wanted}


def _decisions(marks: dict[bytes, bytes], outlined: Collection[bytes]) -> Iterator[bytes]:
    """Yield the decisions about an edit's hunks. One that is reverted takes its hunks along."""
    whole = marks.get(b"", b"new")
    for hunk in outlined or [hunk for hunk in marks if hunk] or [b""]:
        own = marks.get(hunk, b"new")
        yield whole if whole == b"reverted" or own == b"new" else own


class _Outlines(msgspec.Struct):
    parts: list[tuple[int, str]] = []


_decode_outlines = msgspec.json.Decoder(_Outlines).decode


def _parts_of(body: bytes) -> list[tuple[int, str]]:
    try:
        return _decode_outlines(body).parts
    except (msgspec.DecodeError, AttributeError, TypeError):
        return []


def _limited(
    sql: str, column: str, among: Collection[bytes] | None, *values: object
) -> tuple[str, tuple[object, ...]]:
    """Limit a query to the rows whose `column` is `among` these; to none, if there are none."""
    if among is None:
        return sql, values
    return sql + _AMONG.format(column), (*values, json.dumps([each.decode() for each in among]))
