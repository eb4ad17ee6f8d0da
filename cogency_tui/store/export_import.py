"""The export and import of a conversation as lines of JSON: an exported and imported conversation is equal.

The first line identifies the format. Then come conversations, the user's before its sub-agents', each
followed by its events, usage, summaries and pins; then the edits with the decisions about them, and the
contents that they need. Ids stay where they are free here, and are replaced where they are not.

Invariant: a decoded record can be stored, listed, searched, exported and shown like our own, and every line
is checked before its record is stored. Texts, numbers, counts and depth have bounds; figures are finite; a
future time counts as now; the paths of edits are relative, inside the project, and outside git's own files.
Unknown fields are dropped.
"""

import base64
import json
import math
import os
import re
import sqlite3
import time
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from io import BytesIO
from operator import itemgetter
from typing import Annotated, Any, Literal, NoReturn, TypeAlias, cast

import msgspec
from msgspec import Meta

from cogency_tui.errors import StoreError, UsageError
from cogency_tui.protocol.events import Event, Measure
from cogency_tui.protocol.transcript import call_record
from cogency_tui.redaction import Redactor, has_secret
from cogency_tui.store import event_chain, events, foreign_sessions, origins, summaries
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.edit_records import FileChange, State, Version
from cogency_tui.store.edits import COLUMNS as EDIT_COLUMNS
from cogency_tui.store.migrations import convert_user_commands
from cogency_tui.store.pins import PINNED
from cogency_tui.store.store import (
    COLUMNS,
    StoredConversation,
    conversation_of,
    insert,
    is_conversation_id,
    new_conversation_id,
)

FORMAT = "cogency-tui conversation"
VERSION = 2
OLD_VERSION = 1
"""In it, a command of the user's is prose, and counts as a turn."""

ADVICE = "Export it again with `cogency-tui conversations export ID --format jsonl`."

MOST_LINES = 1_000_000
LONGEST_LINE = 96 << 20
"""Characters of a line: those of the largest stored content, in base64."""

TOO_MUCH = f"at most {MOST_LINES:,} lines of {LONGEST_LINE:,} characters are allowed"

LONGEST_EDGE = 8_000
LARGEST_IMAGE = 8_000_000
"""Most pixels of a side and most bytes of an image: more than any vendor takes."""

_LONGEST_PATH = 4096
_LONGEST_NAME = 255
DEEPEST = 100
_PERMISSIONS = 0o777

Line = Annotated[str, Meta(max_length=4_096)]
Key = Annotated[str, Meta(max_length=256)]
Text = Annotated[str, Meta(max_length=32 << 20)]
Number = Annotated[int, Meta(ge=1, le=(1 << 63) - 1)]
Reference = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
"""A number, or 0 for a row that no longer exists."""

Count = Annotated[int, Meta(ge=0, le=10**12)]
Size = Annotated[int, Meta(ge=0, le=1 << 50)]
Amount = Annotated[float, Meta(ge=0, le=1e12)]
Digest = Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")]
_OTHER_THAN_PATTERN = re.compile(r"Expected `str` matching regex .* - at (`.*`)")
"""The error for what is no digest; no other text has to match a pattern."""

Pixels = Annotated[int, Meta(ge=1, le=LONGEST_EDGE)]
WholeDigest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Kind = Literal["absent", "file", "link"]


class HeadRecord(msgspec.Struct, frozen=True):
    """The first line: the version of the export."""

    version: int


class ConversationRecord(msgspec.Struct, frozen=True):
    """A conversation; `call` is that of the `parent` that started it, and `origin` that of a store which has
    exported its own. An import of a single conversation uses neither `trashed` nor `forked_at`."""

    id: Key
    project: Line
    title: Line
    dialect: Key
    provider: Key
    model: Key
    created: Amount
    updated: Amount
    turns: Count
    tokens: Count
    cost: Amount
    parent: Key | None = None
    call: Key | None = None
    branch: Line = ""
    renamed: bool = False
    effort: Line = ""
    model_chosen: bool = False
    source: Key = ""
    original: Key = ""
    trashed: Amount | None = None
    forked_at: Reference | None = None
    origin: Annotated[str, Meta(pattern="^([0-9a-f]{20})?$")] = ""


class EventRecord(msgspec.Struct, frozen=True):
    """An event of the conversation before it, with its original number."""

    event: Event
    number: Number


class UsageRecord(msgspec.Struct, frozen=True):
    """The usage of a cycle; `body` is the whole measure as JSON."""

    timestamp: Amount
    body: Text
    input: Count | None
    output: Count | None
    duration: Amount | None
    cached: Count | None
    billed_input: Count | None
    replay_input: Count | None
    cost: Amount | None


class SummaryRecord(msgspec.Struct, frozen=True):
    through: Reference
    text: Text
    model: Key
    created: Amount
    edited: Annotated[int, Meta(ge=0, le=1)]
    tokens_before: Count = 0
    tokens_after: Count = 0
    unread: Reference = 0
    result_limit: Count = 0


class PinRecord(msgspec.Struct, frozen=True):
    """A pinned event of the conversation before it."""

    event: Number
    created: Amount


class ImageRecord(msgspec.Struct, frozen=True):
    """An image of an event."""

    name: Line
    digest: WholeDigest
    media_type: Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
    width: Pixels
    height: Pixels
    size: Annotated[int, Meta(ge=1, le=LARGEST_IMAGE)]


class ContentRecord(msgspec.Struct, frozen=True):
    """Bytes that an edit or an image refers to by their digest."""

    content: WholeDigest
    size: Size
    data: str

    def decoded(self) -> bytes:
        """Return the bytes.

        Raises:
            ValueError: the text is not base64, or has another size.
        """
        try:
            data = base64.b64decode(self.data, validate=True)
        except ValueError as exc:
            raise ValueError("its data is not base64") from exc
        if len(data) != self.size:
            raise ValueError(f"its data has {len(data):,} bytes and not {self.size:,}")
        return data


class EditRecord(msgspec.Struct, frozen=True):
    """A change of a file; `undoes` is a JSON list of pairs: the number of an edit, and a hunk of it."""

    id: Number
    conversation: Key
    caller: Key
    turn: Count
    project: Line
    call: Key
    tool: Key
    path: Line
    old_path: Line
    made: Line
    timestamp: Amount
    undoes: Text
    before_kind: Kind
    before_digest: Digest
    before_size: Size
    before_mode: Annotated[int, Meta(ge=0, le=0o7777)]
    after_kind: Kind
    after_digest: Digest
    after_size: Size
    after_mode: Annotated[int, Meta(ge=0, le=0o7777)]

    @property
    def undone(self) -> list[tuple[int, str]]:
        """Return the pairs of `undoes`."""
        return msgspec.convert(_parsed(self.undoes), list[tuple[Reference, Key]])


class MarkRecord(msgspec.Struct, frozen=True, array_like=True):
    """A decision about an edit, or a hunk of it."""

    edit: Number
    hunk: Key
    state: State
    note: Text
    timestamp: Amount


Record: TypeAlias = (
    HeadRecord
    | ConversationRecord
    | EventRecord
    | UsageRecord
    | SummaryRecord
    | PinRecord
    | ContentRecord
    | EditRecord
    | MarkRecord
)

_WRAPPED: dict[str, type[Record]] = {
    "conversation": ConversationRecord,
    "usage": UsageRecord,
    "summary": SummaryRecord,
    "pin": PinRecord,
    "edit": EditRecord,
    "mark": MarkRecord,
}
"""Records under a key of their own; for the others the line is the record."""

KINDS = frozenset((*_WRAPPED, "event", "content"))
"""The first keys of lines."""


def decoded(lines: Iterable[str], now: float) -> Iterator[tuple[int, Record]]:
    """Yield the records of an export with the numbers of their lines, each validated by itself.

    Raises:
        UsageError: a line is invalid; the message names it, and the reason.
    """
    begun = False
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        with blamed_on(number):
            if number > MOST_LINES:
                raise ValueError(TOO_MUCH)
            found = decoded_line(line, now) if begun else decoded_head(line)
            begun = True
        yield number, found


def decoded_head(line: str) -> HeadRecord:
    """Decode the first line of an export.

    Raises:
        ValueError: it is none.
    """
    return _head(parsed_line(line))


def decoded_line(line: str, now: float) -> Record:
    """Decode any other line of an export.

    Raises:
        ValueError, KeyError, TypeError, RecursionError: it is invalid, as `blamed_on` expects.
    """
    return decoded_record(parsed_line(line), now)


def parsed_line(line: str) -> dict[str, Any]:
    """Parse a line of an export.

    Raises:
        ValueError, RecursionError: it is too long, or no object of JSON.
    """
    if len(line) > LONGEST_LINE:
        raise ValueError(TOO_MUCH)
    record = _parsed(line)
    if not isinstance(record, dict):
        raise ValueError("it is not a JSON object")
    return cast("dict[str, Any]", record)


@contextmanager
def blamed_on(number: int) -> Generator[None]:
    """Convert errors to a report on the line of this number.

    Raises:
        UsageError: the line is invalid.
    """
    try:
        yield
    except (ValueError, KeyError, TypeError, RecursionError, sqlite3.IntegrityError) as exc:
        raise UsageError(f"Line {number} has the wrong form: {reason(exc)}.", ADVICE) from exc


def reason(error: Exception) -> str:
    """Say in the user's words why a line of an export is invalid, given the error of its decoding."""
    match error:
        case KeyError(args=(name, *_)):
            return f"{name!r} is missing"
        case json.JSONDecodeError():
            return "it is not JSON"
        case UnicodeEncodeError():
            return "it holds half a character (a lone surrogate)"
        case UnicodeDecodeError():
            return "it is not UTF-8"
        case RecursionError():
            return "it is nested too deeply"
        case sqlite3.IntegrityError():
            return "it contradicts a line before it"
        case _:
            return _OTHER_THAN_PATTERN.sub(r"\1 is not a digest", str(error))


def is_portable(path: str) -> bool:
    """Return whether an edit of this path is portable to another machine: it is relative and normal, stays
    inside the project and out of git's own files, and is readable for a user who is asked about it."""
    parts = path.split("/")
    try:
        longest = max(len(os.fsencode(part)) for part in parts)
    except UnicodeEncodeError:
        return False
    return (
        len(path) <= _LONGEST_PATH
        and longest <= _LONGEST_NAME
        and not {"", ".", ".."} & {*parts}
        and not any(unicodedata.category(character) in ("Cc", "Cf") for character in path)
        and not any(_is_git(part) for part in parts)
    )


def _is_git(part: str) -> bool:
    # As the most lenient file system compares names.
    name = unicodedata.normalize("NFKC", part).partition(":")[0].casefold().rstrip(". ")
    return name in (".git", "git~1")


def _head(record: dict[str, Any]) -> HeadRecord:
    if record.get("format") != FORMAT:
        raise ValueError("it does not begin with the header of an export")
    version = record.get("version")
    if version not in (OLD_VERSION, VERSION):
        raise ValueError(f"it has version {version!r}; this program supports {VERSION}")
    return HeadRecord(version)


def decoded_record(given: dict[str, Any], now: float) -> Record:
    """Decode a parsed line; as `decoded_line`."""
    kind = next(iter(given), "")
    if kind == "event":
        return EventRecord(checked_event(given["event"], now), msgspec.convert(given["number"], Number))
    if kind == "content":
        return msgspec.convert(given, ContentRecord)
    if kind not in _WRAPPED:
        raise ValueError(f"{kind!r} is not part of an export")
    record = msgspec.convert(given[kind], _WRAPPED[kind])
    if isinstance(record, ConversationRecord):
        require_project(record.project)
        updated = min(record.updated, now)
        trashed = None if record.trashed is None else min(record.trashed, now)
        created = min(record.created, updated)
        return msgspec.structs.replace(record, updated=updated, created=created, trashed=trashed)
    if isinstance(record, UsageRecord):
        require_amounts(msgspec.convert(_parsed(record.body), Measure))
    if isinstance(record, EditRecord):
        record = _edit(record)
    if isinstance(record, (UsageRecord, EditRecord, MarkRecord)):
        return msgspec.structs.replace(record, timestamp=min(record.timestamp, now))
    if isinstance(record, SummaryRecord | PinRecord):
        return msgspec.structs.replace(record, created=min(record.created, now))
    return record


def checked_event(value: Any, now: float) -> Event:
    """Validate an event that comes from outside, and limit its time to `now`.

    Raises:
        ValueError, RecursionError: it could not be stored, shown or exported.
    """
    event = events.checked(value)
    _require_shallow(event)
    for image in events.images_of(event):
        msgspec.convert(image, ImageRecord)
    msgspec.convert(event["timestamp"], Amount)
    event["timestamp"] = min(event["timestamp"], now)
    if "id" in event:
        msgspec.convert(event["id"], Key)
    if event["type"] == "call":
        _require_shallow(call_record(event))
    elif event["type"] == "result":
        msgspec.convert(event["duration"], Amount)
    elif event["type"] == "user":
        if "ran" in event:
            msgspec.convert(event["ran"]["duration"], Amount)
        if "review" in event:
            # An export has no actions of a review: none of them was reported to the model here.
            event["review"] = {**event["review"], "action": 0, "edit": 0}
    return event


def _edit(record: EditRecord) -> EditRecord:
    for name in ("path", "old_path", "made"):
        path: str = getattr(record, name)
        if (path or name == "path") and not is_portable(path):
            raise ValueError(
                f"the {name} of the edit, {path[:200]!r}, is not a plain path inside the project"
            )
    if record.made and not record.path.startswith(f"{record.made}/"):
        raise ValueError("the directory that was made is not above the path of the edit")
    _ = record.undone
    for kind, digest, size in (
        (record.before_kind, record.before_digest, record.before_size),
        (record.after_kind, record.after_digest, record.after_size),
    ):
        if kind == "absent" and (digest or size):
            raise ValueError("a side of the edit is absent, but has content")
    return msgspec.structs.replace(
        record,
        before_mode=record.before_mode & _PERMISSIONS if record.before_kind == "file" else 0,
        after_mode=record.after_mode & _PERMISSIONS if record.after_kind == "file" else 0,
    )


def require_project(project: str) -> None:
    """Require the full path of a directory.

    Raises:
        ValueError: it is another text.
    """
    odd = any(unicodedata.category(character) == "Cc" for character in project)
    if odd or not project.startswith("/") or os.path.normpath(project) != project:
        raise ValueError(f"the project, {project[:200]!r}, is not the full path of a directory")


def require_amounts(measure: Measure) -> None:
    """Require figures that can be stored and summed.

    Raises:
        ValueError: one is not.
    """
    for name, value in measure.items():
        if not isinstance(value, (str, bool)):
            try:
                msgspec.convert(value, Amount)
            except msgspec.ValidationError as exc:
                raise ValueError(f"{name}: {exc}") from exc


def _require_shallow(value: object) -> None:
    level: list[object] = [value]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return
    raise ValueError(f"it is nested more than {DEEPEST} levels deep")


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()


def _parsed(text: str) -> Any:
    """Parse JSON; every number must be finite and storable."""
    return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_whole)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is not a number that can be stored")
    return number


def _whole(text: str) -> int:
    # The time for a longer one grows with the square of its digits.
    if len(text) > 20 or not -(1 << 63) <= (number := int(text)) < 1 << 63:
        raise ValueError(f"{text[:40]} is not a number that can be stored")
    return number


USAGE = (
    *("timestamp", "input", "output", "duration", "cached", "billed_input", "replay_input", "cost", "body"),
)
SUMMARY = tuple(summaries.COLUMNS.split(", "))
_PINS = (
    f"SELECT event, max(created) FROM pins WHERE event IN ({PINNED}) AND conversation_id = ?"
    " GROUP BY event ORDER BY event"
)
_BELOW = "SELECT id FROM conversations WHERE parent = ? AND call IS NOT NULL ORDER BY created DESC, id DESC"
"""The sub-agents of a conversation, the latest first."""

_LONGEST_TARGET = 4095


def exported(connection: sqlite3.Connection, id: str, blobs: Blobs) -> Iterator[dict[str, Any]]:
    """Yield the lines of a conversation, each a JSON object. Contents that are no longer stored are left
    out, and so are those that hold what looks like a secret; elsewhere a marker replaces it.

    Raises:
        StoreError: there is no such conversation.
    """
    redactor = Redactor({})
    if connection.execute("SELECT 1 FROM conversations WHERE id = ?", (to_column(id),)).fetchone() is None:
        raise events.missing(id)
    yield {"format": FORMAT, "version": VERSION}
    yield from Outgoing(connection, blobs, redactor.value).lines(id)


def imported(connection: sqlite3.Connection, lines: Iterable[str], blobs: Blobs) -> str:
    """Store `lines` in the caller's transaction; return the id of the user's conversation.

    Raises:
        UsageError: they are no export; the message names the line.
    """
    incoming = Incoming(connection, blobs)
    for number, record in decoded(lines, time.time()):
        with blamed_on(number):
            incoming.take(record)
    if not incoming.root:
        raise UsageError("There is no conversation in it.", ADVICE)
    incoming.close()
    return incoming.root


def tree(connection: sqlite3.Connection, id: str, *, alone: bool = False) -> Iterator[StoredConversation]:
    """Yield a conversation and, unless it is `alone`, those of its sub-agents, each before its own."""
    one = f"SELECT {COLUMNS} FROM conversations WHERE id = ?"
    pending, seen = [id], {id}
    while pending:
        key = to_column(pending.pop())
        row = connection.execute(one, (key,)).fetchone()
        if row is not None:
            yield conversation_of(row)
        below = [] if alone else connection.execute(_BELOW, (key,)).fetchall()
        found = [each for each in map(from_column, (child for (child,) in below)) if each not in seen]
        seen.update(found)
        pending += found


class Outgoing:
    """Reads the lines of conversations.

    `form` returns a line as it is exported, None to leave it out; contents do not pass through it. `omit`
    receives a description of each row and content that cannot be read; without it, damaged rows and lost
    contents are left out silently, and damaged pages raise `sqlite3.DatabaseError`.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        blobs: Blobs,
        form: Callable[[dict[str, Any]], dict[str, Any] | None],
        omit: Callable[[str], object] | None = None,
    ) -> None:
        self.outside = 0
        """Edits of files outside their projects: an export has none of them."""
        self.secret = 0
        """Contents that hold what looks like a secret."""
        self._connection = connection
        self._own = ""
        with suppress(sqlite3.DatabaseError):
            self._own = origins.own(connection).id
        self._blobs = blobs
        self._form = form
        self._omit = omit

    def lines(self, id: str, *, alone: bool = False) -> Iterator[dict[str, Any]]:
        """Yield the lines of a conversation with its sub-agents, or `alone`."""
        images: dict[str, int] = {}
        for each in tree(self._connection, id, alone=alone):
            yield from self._conversation(each, images)
        for digest, size in images.items():
            yield from self._content(digest, size, f"image {digest}", even_secret=True)
        yield from self._edits(id)

    def _fail(self, what: str, problem: Exception) -> None:
        if self._omit is not None:
            self._omit(f"{what}: {problem}")
        elif isinstance(problem, sqlite3.Error):
            raise problem

    def _rows(self, sql: str, values: Sequence[object], what: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query up to a damaged page."""
        try:
            yield from self._connection.execute(sql, values)
        except sqlite3.DatabaseError as exc:
            self._fail(what, exc)

    def _formed(self, line: dict[str, Any]) -> Iterator[dict[str, Any]]:
        formed = self._form(line)
        if formed is not None:
            yield formed

    def _conversation(
        self, conversation: StoredConversation, images: dict[str, int]
    ) -> Iterator[dict[str, Any]]:
        """Yield the lines of one conversation, and add the digests and sizes of its `images`."""
        key = to_column(conversation.id)
        origin = "" if conversation.source else self._origin(conversation.id)
        yield from self._formed({"conversation": {**asdict(conversation), "origin": origin}})
        pins = dict(self._rows(_PINS, (key, key), "the rest of the pins"))
        carried: set[int] = set()
        numbers = "SELECT seq FROM events WHERE conversation_id = ? ORDER BY seq"
        for (seq,) in self._rows(numbers, (key,), "the rest of the events"):
            # A damaged row is left out, as wherever events are read.
            try:
                (body,) = self._connection.execute("SELECT body FROM events WHERE seq = ?", (seq,)).fetchone()
                event = json.loads(from_column(body))
            except (ValueError, RecursionError, TypeError, sqlite3.DatabaseError) as exc:
                self._fail(f"event {seq}", exc)
                continue
            for line in self._formed({"event": event, "number": seq}):
                if seq in pins:
                    carried.add(seq)
                with suppress(ValueError):
                    images.update((image["digest"], image["size"]) for image in events.images_of(event))
                yield line
        sql = f"SELECT {', '.join(USAGE)} FROM usage WHERE conversation_id = ? ORDER BY id"
        for row in self._rows(sql, (key,), "the rest of the usage"):
            yield from self._formed({"usage": dict(zip(USAGE, map(plain, row), strict=True))})
        sql = f"SELECT {', '.join(SUMMARY)} FROM summaries WHERE conversation_id = ? ORDER BY id"
        for row in self._rows(sql, (key,), "the rest of the summaries"):
            yield from self._formed({"summary": dict(zip(SUMMARY, map(plain, row), strict=True))})
        for event, created in pins.items():
            if event in carried:
                yield from self._formed({"pin": {"event": event, "created": created}})

    def _origin(self, id: str) -> str:
        """Return the origin of a conversation of ours: the one that it had before an import, or our own."""
        with suppress(sqlite3.DatabaseError):
            origin, original = origins.original_of(self._connection, id)
            if original == id:
                return origin
        return self._own

    def _content(
        self, digest: str, size: int, what: str, *, file: str = "", even_secret: bool = False
    ) -> Iterator[dict[str, Any]]:
        try:
            data = self._blobs.read(digest, size)
        except StoreError as exc:
            self._fail(what, exc)
            return
        if not even_secret and has_secret(data.decode("utf-8", "replace"), file):
            self.secret += 1
            return
        yield {"content": digest, "size": size, "data": base64.b64encode(data).decode()}

    def _edits(self, id: str) -> Iterator[dict[str, Any]]:
        names = ("id", *EDIT_COLUMNS)
        sql = f"SELECT {', '.join(names)} FROM edits WHERE conversation = ? ORDER BY id"
        sent: set[str] = set()
        carried: set[int] = set()
        # A decision made in another project is about the files there.
        (project,) = self._connection.execute(
            "SELECT project FROM conversations WHERE id = ?", (to_column(id),)
        ).fetchone()
        project = from_column(project)
        for row in self._rows(sql, (to_column(id),), "the rest of the edits"):
            edit: dict[str, Any] = dict(zip(names, map(plain, row), strict=True))
            if None in row:
                self._fail(f"edit {edit['id']}", ValueError("a value is missing"))
                continue
            paths = [edit[name] for name in ("path", "old_path", "made") if edit[name]]
            if edit["project"] != project or not all(map(is_portable, paths)):
                self.outside += 1
                continue
            lines = list(self._formed({"edit": edit}))
            for side in ("before", "after"):
                digest, size = edit[f"{side}_digest"], edit[f"{side}_size"]
                if lines and edit[f"{side}_kept"] and digest not in sent:
                    sent.add(digest)
                    what = f"content {digest} of edit {edit['id']}"
                    yield from self._content(digest, size, what, file=edit["path"])
            if lines:
                carried.add(edit["id"])
            yield from lines
        sql = (
            "SELECT edit, hunk, state, note, m.timestamp FROM edit_marks m JOIN edits e ON e.id = m.edit"
            " WHERE e.conversation = ? ORDER BY m.timestamp, edit, hunk"
        )
        for row in self._rows(sql, (to_column(id),), "the rest of the decisions about edits"):
            if row[0] in carried:
                yield from self._formed({"mark": list(map(plain, row))})


def store_content(record: ContentRecord, blobs: Blobs) -> bool:
    """Store a content, and return whether there was room for it.

    Raises:
        ValueError: it has other bytes.
    """
    stored = blobs.put(BytesIO(record.decoded()))
    if stored.digest != record.content:
        raise ValueError("its content does not match its digest")
    return stored.stored


class Incoming:
    """Writes records to the store."""

    def __init__(self, connection: sqlite3.Connection, blobs: Blobs) -> None:
        self.root = ""
        self._before = event_chain.next_number(connection) - 1
        self._connection = connection
        self._blobs = blobs
        self._is_old = False
        self._project = ""
        self._current = ""
        self._ids: dict[str, str] = {}
        self._depths: dict[str, int] = {}
        self._numbers: dict[int, int] = {}
        """New numbers of events, by the original ones."""
        self._latest: list[tuple[int, int]] = []
        """Original and new numbers of events, both ascending; without those that a later event with a
        smaller number follows."""
        self._edits: dict[int, int] = {}
        self._sizes: dict[str, int] = {}
        """Sizes of stored contents, by their digests."""

    def take(self, record: Record) -> None:
        """Store one record.

        Raises:
            ValueError: it does not fit those before it.
        """
        if not self._current and not isinstance(record, HeadRecord | ConversationRecord):
            raise ValueError("it comes before the conversation")
        match record:
            case HeadRecord():
                self._is_old = record.version == OLD_VERSION
            case ConversationRecord():
                self._conversation(record)
            case EventRecord():
                self._event(record)
            case UsageRecord():
                self._usage(record)
            case SummaryRecord():
                self._summary(record)
            case PinRecord():
                self._pin(record)
            case ContentRecord():
                self._content(record)
            case EditRecord():
                self._edit(record)
            case MarkRecord():
                self._mark(record)

    def close(self) -> None:
        """Convert the stored records of an old version, and chain the events."""
        if self._is_old:
            for id in self._ids.values():
                convert_user_commands(self._connection, to_column(id))
        event_chain.extend(self._connection, self._before)

    def _conversation(self, given: ConversationRecord) -> None:
        parent = self._ids.get(given.parent or "")
        if self.root and (parent is None or given.call is None):
            raise ValueError("it holds several conversations")
        if given.id in self._ids:
            raise ValueError(f"it has the conversation {given.id!r} twice")
        self._nest(given, parent)
        self._project = self._project or given.project
        id = given.id if is_conversation_id(given.id) else new_conversation_id()
        if self._is_own(given) or self._from_source(given):
            # It was ours, or was imported from there already and goes on as that.
            given = msgspec.structs.replace(given, source="", original="")
        # The parent of a fork is not in the file.
        call = given.call if parent else None
        while not insert(self._made(given, id, parent, call), self._connection):
            id = new_conversation_id()
        self._note_original(given, id)
        self._ids[given.id] = self._current = id
        self.root = self.root or id

    def _is_own(self, given: ConversationRecord) -> bool:
        """Return whether another store has received a conversation from this one."""
        return given.source == f"{origins.PREFIX}{origins.own(self._connection).id}"

    def _from_source(self, given: ConversationRecord) -> StoredConversation | None:
        """Return the conversation that was imported from the same source."""
        if not given.source:
            return None
        return foreign_sessions.find(self._connection, given.source, given.original)

    def _note_original(self, given: ConversationRecord, id: str) -> None:
        """Note which conversation of another store this one is of."""
        if given.origin and given.origin != origins.own(self._connection).id:
            origins.note_original(self._connection, id, given.origin, given.id)

    def _nest(self, given: ConversationRecord, parent: str | None) -> None:
        """Note the depth of a conversation below that of the user.

        Raises:
            ValueError: no agent nests its sub-agents so deeply.
        """
        depth = 0 if parent is None else self._depths[given.parent or ""] + 1
        if depth > DEEPEST:
            raise ValueError(f"its sub-agents are nested more than {DEEPEST} levels deep")
        self._depths[given.id] = depth

    @staticmethod
    def _made(given: ConversationRecord, id: str, parent: str | None, call: str | None) -> StoredConversation:
        return StoredConversation(
            *(id, given.project, given.title, given.dialect, given.provider, given.model),
            *(given.created, given.updated, given.turns, given.tokens, given.cost, parent, call),
            branch=given.branch,
            renamed=given.renamed,
            imported=True,
            effort=given.effort,
            model_chosen=given.model_chosen,
            source=given.source,
            original=given.original,
        )

    def _event(self, record: EventRecord) -> None:
        event = record.event
        number = events.insert(self._connection, to_column(self._current), event)
        self._number(record.number, number)

    def _number(self, original: int, number: int) -> None:
        """Note the number that an event has here.

        Raises:
            ValueError: it was there before.
        """
        if original in self._numbers:
            raise ValueError(f"it has the event {original} twice")
        self._numbers[original] = number
        while self._latest and self._latest[-1][0] > original:
            self._latest.pop()
        self._latest.append((original, number))

    def _reached(self, through: int) -> int:
        """Return the new number of the last event whose original number is at most `through`; 0 for none."""
        index = bisect_right(self._latest, through, key=itemgetter(0))
        return self._latest[index - 1][1] if index else 0

    def _usage(self, record: UsageRecord) -> None:
        self._insert("usage", {name: getattr(record, name) for name in USAGE})

    def _summary(self, record: SummaryRecord) -> None:
        given = {name: getattr(record, name) for name in SUMMARY}
        reached = {name: self._reached(given[name]) for name in ("through", "unread")}
        self._insert("summaries", {**given, **reached})

    def _pin(self, record: PinRecord) -> None:
        event = self._numbers[record.event]
        self._insert("pins", {"event": event, "pinned": 1, "created": record.created})

    def _content(self, record: ContentRecord) -> None:
        if store_content(record, self._blobs):
            self._sizes[record.content] = record.size

    def _edit(self, record: EditRecord) -> None:
        if record.id in self._edits:
            raise ValueError(f"it has the edit {record.id} twice")
        if record.project != self._project:
            raise ValueError(f"the edit is of {record.project!r}, and the conversation of another project")
        undoes = [[self._edit_of(number), hunk] for number, hunk in record.undone]
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

    def _edit_of(self, original: int) -> int:
        """Return the number that an edit has here; 0 where it is unknown."""
        return self._edits.get(original, 0)

    def _version(self, kind: Kind, digest: str, size: int, mode: int) -> Version:
        """Build a side of an edit.

        Raises:
            ValueError: its content is another, or that of a link that leads nowhere.
        """
        stored = digest in self._sizes
        if stored and self._sizes[digest] != size:
            raise ValueError(f"the size of a side is {size:,}, and its content has {self._sizes[digest]:,}")
        if stored and kind == "link":
            target = self._blobs.read(digest, size) if size <= _LONGEST_TARGET else b""
            if not target or b"\0" in target:
                raise ValueError("the content of a side is not the target of a symbolic link")
        return Version(kind, digest, size, mode, stored)

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


def plain(value: object) -> object:
    """Return the value of a column, as text if it is one."""
    return from_column(value) if isinstance(value, bytes) else value


def _bound(value: object) -> object:
    return to_column(value) if isinstance(value, str) else value
