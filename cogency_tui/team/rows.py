"""The rows of a team's database for the lines of an increment.

Never in them: opaque reasoning, which increments do not have; the user's private commands; the user's keys
and what looks like a secret, which increments mark, and which an edit's lines leave out.
"""

import base64
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from cogency_tui.errors import StoreError
from cogency_tui.protocol.transcript import is_private_command
from cogency_tui.redaction import Redactor
from cogency_tui.safe_text import one_line
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.column_text import to_column
from cogency_tui.store.events import decode
from cogency_tui.store.increments import Position
from cogency_tui.store.search.documents import Document, of_event, read_documents
from cogency_tui.store.search.folding import fold

EventRow = tuple[int, float, str, str, bool, str, str, str]
"""number, at, type, tool, failed, paths, folded, body"""

EditRow = tuple[int, float, str, str, str, str, str, str]
"""number, at, root, tool, paths, folded, text, record"""

UsageRow = tuple[int, float, str, str, int | None, int | None, int | None, float | None, str]
"""number, at, provider, model, input, output, cached, cost, record"""

Row = TypeVar("Row", EventRow, EditRow, UsageRow)


LONGEST = 32 << 20
"""Bytes of a text of a row, several times those of the longest answer: the database refuses longer ones, and
their rows are left out."""

_LONGEST_NAME = 256
_FIRST = "SELECT body FROM events WHERE conversation_id = ? AND type = 'user' ORDER BY seq LIMIT 1"


@dataclass(slots=True)
class Rows:
    """The rows of one increment of the conversation `id`, in batches for each table."""

    id: str
    row: dict[str, Any]
    record: str
    to: Position
    whole: bool
    changing: str = ""
    events: list[EventRow] = field(default_factory=list[EventRow])
    edits: list[EditRow] = field(default_factory=list[EditRow])
    usage: list[UsageRow] = field(default_factory=list[UsageRow])
    contents: list[tuple[str, bytes]] = field(default_factory=list[tuple[str, bytes]])


def rows_of(
    connection: sqlite3.Connection,
    blobs: Blobs,
    lines: Iterable[dict[str, Any]],
    to: Position,
    secrets: Mapping[str, str],
) -> Rows | None:
    """Build the rows of an increment without the values of `secrets`; None if it has no lines."""
    given = iter(lines)
    head = next(given, None)
    if head is None:
        return None
    row = _without_private_title(connection, head["conversation"])
    record = encoded({"conversation": row, "owner": head["owner"]})
    rows = Rows(row["id"], row, record, to, bool(head["whole"]))
    changing: list[str] = []
    reader = _DocumentReader(connection, blobs, row, Redactor(secrets))
    for line in given:
        if "event" in line:
            if not is_private_command(line["event"]):
                _add(rows.events, reader.event(line["number"], line["event"]))
        elif "usage" in line:
            _add(rows.usage, _usage(line["number"], line["usage"], row))
        elif "edit" in line:
            _add(rows.edits, reader.edit(line["edit"]))
        elif "content" in line:
            rows.contents.append((line["content"], base64.b64decode(line["data"])))
        else:
            changing.append(encoded(line))
    rows.changing = "\n".join(changing)
    return rows


def _without_private_title(connection: sqlite3.Connection, row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a conversation without a title that is its first command, if this is private: earlier
    versions gave it one."""
    if row["renamed"] or not row["title"].startswith("!"):
        return row
    first = connection.execute(_FIRST, (to_column(row["id"]),)).fetchone()
    is_private = first is not None and is_private_command(decode("user", first[0]))
    return {**row, "title": ""} if is_private else row


def _add(rows: list[Row], row: Row) -> None:
    texts = [each for each in row if isinstance(each, str)]
    if all(4 * len(text) <= LONGEST or len(text.encode()) <= LONGEST for text in texts):
        rows.append(row)


def encoded(value: object) -> str:
    """Encode JSON as text that PostgreSQL can store: NUL and lone surrogates are escapes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


_UNSTORABLE = {0: 0x10F7FF} | {0xD800 + number: 0x10F800 + number for number in range(0x800)}
"""NUL and lone surrogates, by the characters of private use that stand for them there."""


def storable(text: str) -> str:
    """Return a text that PostgreSQL can store; equal ones stay equal, and different ones different."""
    return text if text.isascii() and "\0" not in text else text.translate(_UNSTORABLE)


def folded(text: str) -> str:
    """Fold a text for the search there, whose terms are folded alike."""
    return storable(fold(text))


def _usage(number: int, usage: dict[str, Any], row: dict[str, Any]) -> UsageRow:
    measure: dict[str, Any] = json.loads(usage["body"])
    provider, model = measure.get("provider") or row["provider"], measure.get("model") or row["model"]
    figures = (usage["input"], usage["output"], usage["cached"], usage["cost"])
    return (
        number,
        usage["timestamp"],
        _named(provider),
        _named(model),
        *figures,
        encoded(usage),
    )


def _named(text: object) -> str:
    return storable(one_line(str(text)))[:_LONGEST_NAME]


class _CleanBlobs(Blobs):
    """Contents without those that hold what looks like a secret: an increment does not have these."""

    def __init__(self, directory: Path, redactor: Redactor) -> None:
        super().__init__(directory)
        self._redactor = redactor

    def read(self, digest: str, size: int | None = None) -> bytes:
        data = super().read(digest, size)
        text = data.decode("utf-8", "replace")
        if self._redactor.text(text) != text:
            raise StoreError("It holds a secret.")
        return data


class _DocumentReader:
    """Builds the rows that can be searched, as the local search would have them."""

    def __init__(
        self, connection: sqlite3.Connection, blobs: Blobs, row: dict[str, Any], redactor: Redactor
    ) -> None:
        self._connection = connection
        self._id: str = row["id"]
        self._blobs = _CleanBlobs(blobs.directory, redactor)
        self._redactor = redactor

    def event(self, number: int, event: dict[str, Any]) -> EventRow:
        body = encoded(event)
        at = float(event["timestamp"])
        found = of_event((number, self._id, event["type"], at, body))
        return (number, at, event["type"], *_searched(found), body)

    def edit(self, edit: dict[str, Any]) -> EditRow:
        number, at, root = edit["id"], float(edit["timestamp"]), edit["conversation"]
        found = next(self._document(number), None)
        text = "" if found is None else self._redactor.text(found.text)
        tool = "" if found is None else fold(found.tool)
        paths = "" if found is None else "\n".join(fold(path) for path in found.paths)
        return (
            number,
            at,
            root,
            storable(tool),
            storable(paths),
            folded(text),
            storable(text),
            encoded(edit),
        )

    def _document(self, number: int) -> Iterator[Document]:
        yield from read_documents(self._connection, [-number], self._blobs)


def _searched(found: Document | None) -> tuple[str, bool, str, str]:
    if found is None:
        return "", False, "", ""
    paths = "\n".join(fold(path) for path in found.paths)
    return storable(fold(found.tool)), found.failed, storable(paths), folded(found.text)
