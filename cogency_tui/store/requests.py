"""Requests: the events that each cycle sent to its model, and their frame, so that a request can be shown
for as long as its conversation exists.

No message is stored twice: a request is a range of events, and its frame (system prompt, summary, limits)
is one row for all requests that have the same.
"""

import hashlib
import json
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.database import Database
from cogency_tui.store.events import BEGINS_TURN, missing

_COLUMNS = "conversation_id, timestamp, since, through, frame, note, mode, sent"
_SELECT = (
    "SELECT r.timestamp, since, through, note, mode, sent, frame, body FROM requests r"
    " JOIN request_frames f ON f.digest = r.frame WHERE conversation_id = ? ORDER BY r.id"
)

_PAUSES = (
    "SELECT e.timestamp - (SELECT r.timestamp FROM requests r WHERE r.conversation_id = e.conversation_id"
    " AND r.timestamp < e.timestamp ORDER BY r.id DESC LIMIT 1)"
    f" FROM events e WHERE conversation_id = ? AND {BEGINS_TURN} ORDER BY seq DESC LIMIT 4"
)


@dataclass(frozen=True, slots=True)
class Frame:
    """The parts of a request around its events.

    `system` are the named parts of the system prompt; `summary` replaces the events before, if any;
    `output_limit` is the number of characters of a result, `window` the number of messages of the history,
    0 for all. `provider` and `model` are those that the request is for; empty in requests of older versions.
    """

    system: tuple[tuple[str, str], ...]
    summary: str
    dialect: str
    output_limit: int
    window: int
    provider: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """A request: the events with numbers above `since` up to `through`, in `frame`.

    `note` was added to its last message. `mode` is how it was sent, and `sent` how many characters of it
    were; empty and None where it did not complete.
    """

    timestamp: float
    since: int
    through: int
    frame: Frame
    note: str = ""
    mode: str = ""
    sent: int | None = None


class Requests:
    """The requests of all conversations. All methods raise `StoreError`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, conversation_id: str, since: int, through: int, frame: Frame, note: str) -> int:
        """Record a request that is about to be sent; return its number."""
        body = json.dumps(asdict(frame), ensure_ascii=False)
        digest = hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()
        row = (to_column(conversation_id), time.time(), since, through, digest, to_column(note))

        def work(connection: sqlite3.Connection) -> int:
            connection.execute(
                "INSERT INTO request_frames (digest, body) VALUES (?, ?) ON CONFLICT DO NOTHING",
                (digest, to_column(body)),
            )
            try:
                added = connection.execute(
                    f"INSERT INTO requests ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, '', NULL)", row
                )
            except sqlite3.IntegrityError as exc:
                raise missing(conversation_id) from exc
            assert added.lastrowid is not None
            return added.lastrowid

        return await self._database.write(work)

    async def settle(self, id: int, mode: str, sent: int) -> None:
        """Record how a request was sent, and how many characters of it."""
        sql = "UPDATE requests SET mode = ?, sent = ? WHERE id = ?"
        await self._database.write(lambda connection: connection.execute(sql, (mode, sent, id)))

    async def pauses(self, conversation_id: str) -> tuple[float, ...]:
        """Return the last pauses in seconds, each from a turn's last request to the next turn's message, the
        newest first."""
        key = to_column(conversation_id)
        rows = await self._database.read(lambda connection: connection.execute(_PAUSES, (key,)).fetchall())
        return tuple(pause for (pause,) in rows if pause is not None)

    async def of_conversation(self, conversation_id: str) -> list[Request]:
        """Return its requests, the oldest first."""
        key = to_column(conversation_id)
        return await self._database.read(lambda connection: _read(connection, key))


def copy(connection: sqlite3.Connection, id: str, fork: str, at: int, new: Mapping[int, int]) -> None:
    """Copy the requests of the conversation `id` to `fork`, as far as it has their answers: those made
    before its event numbered `at`. `new` are the numbers of its events in the fork."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM requests WHERE conversation_id = ? AND through < ? ORDER BY id",
        (to_column(id), at),
    ).fetchall()
    connection.executemany(
        f"INSERT INTO requests ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (to_column(fork), timestamp, new.get(since, 0), new[through], *rest)
            for _id, timestamp, since, through, *rest in rows
            if through in new
        ],
    )


def blank(connection: sqlite3.Connection, name: str) -> None:
    """Empty the part `name` of the system prompt in every stored request."""
    for digest, body in connection.execute("SELECT digest, body FROM request_frames").fetchall():
        frame = _frame(from_column(body))
        if any(part == name and text for part, text in frame.system):
            system = tuple((part, "" if part == name else text) for part, text in frame.system)
            text = json.dumps(asdict(replace(frame, system=system)), ensure_ascii=False)
            connection.execute(
                "UPDATE request_frames SET body = ? WHERE digest = ?", (to_column(text), digest)
            )


def _read(connection: sqlite3.Connection, key: str | bytes) -> list[Request]:
    frames: dict[str, Frame] = {}
    found: list[Request] = []
    for timestamp, since, through, note, mode, sent, digest, body in connection.execute(_SELECT, (key,)):
        if digest not in frames:
            frames[digest] = _frame(from_column(body))
        found.append(Request(timestamp, since, through, frames[digest], from_column(note), mode, sent))
    return found


def _frame(body: str) -> Frame:
    fields: dict[str, Any] = json.loads(body)
    system = tuple((str(name), str(text)) for name, text in fields.pop("system"))
    return Frame(system, **fields)
