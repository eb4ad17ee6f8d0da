"""The lines of an export as values, decoded and checked before any of it is stored.

Invariant: what is decoded here can be stored, listed, searched, exported and shown like our own. Texts,
numbers, counts and depth have bounds; figures are finite; a time of the future counts as now; the paths of
edits are relative, inside the project, and nothing of git's. Fields that are not known are left out.
"""

import base64
import binascii
import json
import math
import os
import sqlite3
import unicodedata
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal, NoReturn, TypeAlias, cast

import msgspec
from msgspec import Meta

from cogency_tui.errors import UsageError
from cogency_tui.protocol.events import Event, Measure
from cogency_tui.protocol.transcript import call_record
from cogency_tui.store import events
from cogency_tui.store.versions import State

FORMAT = "cogency-tui conversation"
VERSION = 1
ADVICE = "Export it again with `cogency-tui conversations export ID --format jsonl`."

MOST_LINES = 1_000_000
LONGEST_LINE = 96 << 20
"""Characters of a line: those of the largest content that is kept, in base64."""

_LONGEST_PATH = 4096
_LONGEST_NAME = 255
_DEEPEST = 100
_PERMISSIONS = 0o777

Line = Annotated[str, Meta(max_length=4_096)]
Key = Annotated[str, Meta(max_length=256)]
Text = Annotated[str, Meta(max_length=32 << 20)]
Number = Annotated[int, Meta(ge=1, le=(1 << 63) - 1)]
Reference = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
"""A number, or 0 for what is not there any more."""

Count = Annotated[int, Meta(ge=0, le=10**12)]
Size = Annotated[int, Meta(ge=0, le=1 << 50)]
Amount = Annotated[float, Meta(ge=0, le=1e12)]
Digest = Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")]
WholeDigest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Kind = Literal["absent", "file", "link"]


class ConversationRecord(msgspec.Struct, frozen=True):
    """A conversation; `call` is that of the `parent` that started it."""

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


class EventRecord(msgspec.Struct, frozen=True):
    """An event of the conversation before it, with the number that it had."""

    event: Event
    number: Number


class UsageRecord(msgspec.Struct, frozen=True):
    """What a cycle took; `body` is the whole measure as JSON."""

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
    """A summary of the events up to the one numbered `through`."""

    through: Reference
    text: Text
    model: Key
    created: Amount
    edited: Annotated[int, Meta(ge=0, le=1)]


class ContentRecord(msgspec.Struct, frozen=True):
    """Bytes that an edit refers to by their digest."""

    content: WholeDigest
    size: Size
    data: str

    def decoded(self) -> bytes:
        """The bytes.

        Raises:
            ValueError: they are none, or not as many.
        """
        try:
            data = base64.b64decode(self.data, validate=True)
        except binascii.Error as exc:
            raise ValueError("its data is no base64") from exc
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
        """The pairs of `undoes`."""
        return msgspec.convert(_parsed(self.undoes), list[tuple[Reference, Key]])


class MarkRecord(msgspec.Struct, frozen=True, array_like=True):
    """What was decided about an edit, or a hunk of it."""

    edit: Number
    hunk: Key
    state: State
    note: Text
    timestamp: Amount


Record: TypeAlias = (
    ConversationRecord | EventRecord | UsageRecord | SummaryRecord | ContentRecord | EditRecord | MarkRecord
)

_WRAPPED: dict[str, type[Record]] = {
    "conversation": ConversationRecord,
    "usage": UsageRecord,
    "summary": SummaryRecord,
    "edit": EditRecord,
    "mark": MarkRecord,
}
"""What stands under a key of its own; of the others the line is the record."""


def decoded(lines: Iterable[str], now: float) -> Iterator[tuple[int, Record]]:
    """The records of an export with the numbers of their lines, each checked by itself.

    Raises:
        UsageError: a line is not as an export has it; the message says which, and why.
    """
    begun = False
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        with blamed_on(number):
            if number > MOST_LINES or len(line) > LONGEST_LINE:
                raise ValueError(f"at most {MOST_LINES:,} lines of {LONGEST_LINE:,} characters are taken")
            record = _parsed(line)
            if not isinstance(record, dict):
                raise ValueError("it is no JSON object")
            given = cast("dict[str, Any]", record)
            if not begun:
                _require_begun(given)
                begun = True
                continue
            found = _record(given, now)
        yield number, found


@contextmanager
def blamed_on(number: int) -> Generator[None]:
    """Report what is wrong with the line of this number.

    Raises:
        UsageError: something is.
    """
    try:
        yield
    except (ValueError, KeyError, TypeError, RecursionError, sqlite3.IntegrityError) as exc:
        why = f"{exc.args[0]!r} is missing" if isinstance(exc, KeyError) else str(exc)
        raise UsageError(f"Line {number} is not as an export has it: {why}.", ADVICE) from exc


def is_portable(path: str) -> bool:
    """Whether an edit of this path can be carried to another machine: it is relative and normal, stays inside
    the project and out of git's own files, and can be read by whoever is asked about it."""
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
    # As the most lenient file system would have it.
    name = unicodedata.normalize("NFKC", part).partition(":")[0].casefold().rstrip(". ")
    return name in (".git", "git~1")


def _require_begun(record: dict[str, Any]) -> None:
    if record.get("format") != FORMAT:
        raise ValueError("it does not begin as one")
    if record.get("version") != VERSION:
        raise ValueError(f"it is of version {record.get('version')!r}, this program knows {VERSION}")


def _record(given: dict[str, Any], now: float) -> Record:
    kind = next(iter(given), "")
    if kind == "event":
        return EventRecord(_event(given["event"], now), msgspec.convert(given["number"], Number))
    if kind == "content":
        return msgspec.convert(given, ContentRecord)
    if kind not in _WRAPPED:
        raise ValueError(f"{kind!r} is nothing that an export has")
    record = msgspec.convert(given[kind], _WRAPPED[kind])
    if isinstance(record, ConversationRecord):
        _require_project(record.project)
        updated = min(record.updated, now)
        return msgspec.structs.replace(record, updated=updated, created=min(record.created, updated))
    if isinstance(record, UsageRecord):
        _require_amounts(msgspec.convert(_parsed(record.body), Measure))
    if isinstance(record, EditRecord):
        record = _edit(record)
    if isinstance(record, (UsageRecord, EditRecord, MarkRecord)):
        return msgspec.structs.replace(record, timestamp=min(record.timestamp, now))
    if isinstance(record, SummaryRecord):
        return msgspec.structs.replace(record, created=min(record.created, now))
    return record


def _event(value: Any, now: float) -> Event:
    event = events.checked(value)
    _require_shallow(event)
    msgspec.convert(event["timestamp"], Amount)
    event["timestamp"] = min(event["timestamp"], now)
    if "id" in event:
        msgspec.convert(event["id"], Key)
    if event["type"] == "call":
        _require_shallow(call_record(event))
    elif event["type"] == "result":
        msgspec.convert(event["duration"], Amount)
    elif event["type"] == "user" and "review" in event:
        # The actions of a review are not in an export: none of them was reported to the model here.
        event["review"] = {"text": event["review"]["text"], "action": 0, "edit": 0}
    return event


def _edit(record: EditRecord) -> EditRecord:
    for name in ("path", "old_path", "made"):
        path: str = getattr(record, name)
        if (path or name == "path") and not is_portable(path):
            raise ValueError(f"the {name} of the edit, {path[:200]!r}, is no plain path inside the project")
    if record.made and not record.path.startswith(f"{record.made}/"):
        raise ValueError("the directory that was made is not above the path of the edit")
    _ = record.undone
    for kind, digest, size in (
        (record.before_kind, record.before_digest, record.before_size),
        (record.after_kind, record.after_digest, record.after_size),
    ):
        if kind == "absent" and (digest or size):
            raise ValueError("a side of the edit is absent, and has a content")
    return msgspec.structs.replace(
        record,
        before_mode=record.before_mode & _PERMISSIONS if record.before_kind == "file" else 0,
        after_mode=record.after_mode & _PERMISSIONS if record.after_kind == "file" else 0,
    )


def _require_project(project: str) -> None:
    odd = any(unicodedata.category(character) == "Cc" for character in project)
    if odd or not project.startswith("/") or os.path.normpath(project) != project:
        raise ValueError(f"the project, {project[:200]!r}, is no full path of a directory")


def _require_amounts(measure: Measure) -> None:
    for name, value in measure.items():
        if not isinstance(value, (str, bool)):
            try:
                msgspec.convert(value, Amount)
            except msgspec.ValidationError as exc:
                raise ValueError(f"{name}: {exc}") from exc


def _require_shallow(value: object) -> None:
    level: list[object] = [value]
    for _ in range(_DEEPEST):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return
    raise ValueError(f"it is nested in more than {_DEEPEST} levels")


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()


def _parsed(text: str) -> Any:
    """JSON, of which every number is finite and can be stored."""
    return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_whole)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is no number that can be stored")
    return number


def _whole(text: str) -> int:
    # A longer one takes time that grows with the square of its digits.
    if len(text) > 20 or not -(1 << 63) <= (number := int(text)) < 1 << 63:
        raise ValueError(f"{text[:40]} is no number that can be stored")
    return number
