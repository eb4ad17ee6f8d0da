"""The journal of events, whose rows are appended and read, never changed.

An appended event reads back equal, whatever characters it holds; a row that cannot be read affects no other
row.
"""

import json
import sqlite3
from contextlib import closing, suppress
from typing import Any, NamedTuple, cast

import msgspec

from cogency_tui.errors import StoreError
from cogency_tui.protocol.events import (
    PERSISTED,
    CallEvent,
    Diagnostic,
    ErrorEvent,
    Event,
    Image,
    PlannedStep,
    RespondEvent,
    ResultEvent,
    ThinkEvent,
    UserEvent,
    begins_turn,
    is_persisted,
)
from cogency_tui.protocol.transcript import is_private_command, shown_text
from cogency_tui.store import event_chain
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.prompt_text import without_image_chips

TITLE_LENGTH = 60

BEGINS_TURN = """type = 'user' AND NOT instr(body, '"ran":{')"""
"""`begins_turn` as a condition on rows of events: `encode` writes quotes within a text with a backslash."""

_PARENT_TITLE = "SELECT title FROM conversations AS origin WHERE origin.id = conversations.parent"

PAGE_EVENTS, PAGE_SIZE = 100, 1 << 20
"""Events, and characters or bytes of them, after which a page ends."""

_SHAPES: dict[str, type[Event]] = {
    "user": UserEvent,
    "think": ThinkEvent,
    "call": CallEvent,
    "result": ResultEvent,
    "respond": RespondEvent,
    "error": ErrorEvent,
}


def check_persisted(event: Event) -> None:
    """Refuse an event that the store does not persist.

    Raises:
        ValueError: a transient event, or a partial one.
    """
    if not is_persisted(event) or event.get("partial"):
        types = f"{sorted(PERSISTED)}, and errors that end a turn,"
        raise ValueError(f"Only complete events of {types} are stored, not {event['type']!r}.")


def append(connection: sqlite3.Connection, conversation_id: str, event: Event) -> int:
    """Append an event, and update its conversation's row; return the event's sequence number. The first
    message that is no private command titles a conversation; of a fork, the first of its own, unless its
    title is the user's or another than its parent's.

    Raises:
        StoreError: there is no such conversation.
    """
    if event["timestamp"] < 0:
        # A clock before 1970: no export has such a time.
        event = cast("Event", {**event, "timestamp": 0.0})
    key = to_column(conversation_id)
    title: str | bytes = ""
    if event["type"] == "user" and not is_private_command(event):
        title = to_column(title_of(event["content"]))
    own = title if begins_turn(event) else ""
    # max: neither a clock that was set back nor a recovered draft moves a conversation down the list.
    updated = connection.execute(
        "UPDATE conversations SET updated = max(updated, ?), turns = turns + ?,"
        f" title = iif(title = '' OR (? <> '' AND call IS NULL AND NOT renamed"
        f" AND title = ({_PARENT_TITLE})), ?, title)"
        " WHERE id = ?",
        (event["timestamp"], begins_turn(event), own, title, key),
    )
    if updated.rowcount != 1:
        raise missing(conversation_id)
    number = insert(connection, key, event)
    event_chain.extend(connection, number - 1)
    return number


def insert(connection: sqlite3.Connection, key: str | bytes, event: Event) -> int:
    """Insert the row of an event of the conversation with this `key`; return its number. The caller extends
    the chain."""
    unit = to_column(event["id"]) if "id" in event else None
    number = event_chain.next_number(connection)
    connection.execute(
        "INSERT INTO events (seq, conversation_id, type, timestamp, unit, body) VALUES (?, ?, ?, ?, ?, ?)",
        (number, key, event["type"], event["timestamp"], unit, encode(event)),
    )
    return number


class EventPage(NamedTuple):
    """Numbered events of a conversation in order, and a notice for each row that cannot be read. `through`
    is the number of the page's last row, None where no other page follows."""

    events: list[tuple[int, Event]]
    notices: list[str]
    through: int | None


def read_page(connection: sqlite3.Connection, conversation_id: str, after: int) -> EventPage:
    """Return the events after the number `after`, as many as fit on a page."""
    events: list[tuple[int, Event]] = []
    notices: list[str] = []
    size = count = 0
    rows = connection.execute(
        "SELECT seq, type, body FROM events WHERE conversation_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        (to_column(conversation_id), after, PAGE_EVENTS),
    )
    with closing(rows):
        for count, (seq, kind, body) in enumerate(rows, 1):
            try:
                events.append((seq, decode(kind, body)))
            except (ValueError, RecursionError) as exc:
                notices.append(
                    f"Event {seq} of conversation {conversation_id} cannot be read and is omitted: {exc}."
                )
            size += len(body or "")
            if count == PAGE_EVENTS or size >= PAGE_SIZE:
                return EventPage(events, notices, seq)
    return EventPage(events, notices, None)


def environments(
    connection: sqlite3.Connection, conversation_id: str, through: int | None = None
) -> list[str]:
    """Return the environment blocks of a conversation's messages, up to the event numbered `through`."""
    found: list[str] = []
    rows = connection.execute(
        "SELECT body FROM events WHERE conversation_id = ? AND type = 'user' AND seq <= coalesce(?, seq)"
        " AND instr(body, '\"environment\":') ORDER BY seq",
        (to_column(conversation_id), through),
    )
    for (body,) in rows:
        with suppress(ValueError, RecursionError):
            event = decode("user", body)
            if event["type"] == "user" and "environment" in event:
                found.append(event["environment"])
    return found


def diagnostics(connection: sqlite3.Connection, conversation_id: str) -> dict[str, list[Diagnostic]]:
    """Return the problems that the edits of a conversation brought, by the ids of the calls."""
    found: dict[str, list[Diagnostic]] = {}
    rows = connection.execute(
        "SELECT body FROM events WHERE conversation_id = ? AND type = 'result'"
        " AND instr(body, '\"diagnostics\":{') ORDER BY seq",
        (to_column(conversation_id),),
    )
    for (body,) in rows:
        with suppress(ValueError, RecursionError):
            event = decode("result", body)
            if event["type"] == "result" and "diagnostics" in event["payload"]:
                for one in event["payload"]["diagnostics"]["added"]:
                    found.setdefault(one.get("call", event["id"]), []).append(one)
    return found


def messages(connection: sqlite3.Connection, conversation_id: str, through: int) -> list[tuple[int, str]]:
    """Return what the user has written in a conversation, up to the event numbered `through`, with the
    numbers of the events."""
    rows = connection.execute(
        f"SELECT seq, body FROM events WHERE conversation_id = ? AND {BEGINS_TURN} AND seq <= ? ORDER BY seq",
        (to_column(conversation_id), through),
    )
    return [(seq, shown_text(event)) for seq, body in rows if (event := _asked(body)) is not None]


def last_messages(connection: sqlite3.Connection, conversation_id: str, most: int) -> list[str]:
    """Return up to `most` messages that the user has written, the last one at the end."""
    rows = connection.execute(
        f"SELECT seq, body FROM events WHERE conversation_id = ? AND {BEGINS_TURN} ORDER BY seq DESC LIMIT ?",
        (to_column(conversation_id), most),
    ).fetchall()
    return [event["content"] for _seq, body in reversed(rows) if (event := _asked(body)) is not None]


def plan(connection: sqlite3.Connection, conversation_id: str, through: int) -> list[PlannedStep]:
    """Return the model's plan in a conversation after the event numbered `through`; empty without one."""
    rows = connection.execute(
        "SELECT body FROM events WHERE conversation_id = ? AND type = 'result' AND seq <= ?"
        " AND instr(body, '\"plan\":[') ORDER BY seq DESC",
        (to_column(conversation_id), through),
    )
    with closing(rows):
        for (body,) in rows:
            with suppress(ValueError, RecursionError):
                event = decode("result", body)
                if event["type"] == "result" and "plan" in event["payload"]:
                    return event["payload"]["plan"]
    return []


def background(connection: sqlite3.Connection, conversation_id: str) -> dict[str, bool]:
    """Return the background commands that the model of a conversation knows of: the ids, and whether each
    runs."""
    found: dict[str, bool] = {}
    rows = connection.execute(
        "SELECT body FROM events WHERE conversation_id = ? AND type = 'result'"
        " AND instr(body, '\"background\":{') ORDER BY seq",
        (to_column(conversation_id),),
    )
    for (body,) in rows:
        with suppress(ValueError, RecursionError):
            event = decode("result", body)
            if event["type"] == "result" and "background" in event["payload"]:
                found.update(event["payload"]["background"])
    return found


def unfinished_until(connection: sqlite3.Connection, conversation_id: str) -> str:
    """Return the command that the last turns of a conversation were to make succeed; empty if it did, or the
    user has written something else since."""
    done: set[str] = set()
    rows = connection.execute(
        "SELECT body FROM events WHERE conversation_id = ? AND type = 'user' ORDER BY seq DESC",
        (to_column(conversation_id),),
    )
    with closing(rows):
        for (body,) in rows:
            if (event := _asked(body)) is None:
                continue
            if "until" in event:
                command = event["until"]["command"]
                return "" if command in done else command
            if "ran" not in event and not event.get("steered"):
                return ""
            if "ran" in event and event["ran"]["state"] == "done":
                done.add(event["ran"]["command"])
    return ""


def ends_cut_off(connection: sqlite3.Connection, conversation_id: str) -> bool:
    """Return whether the last event of a conversation is an answer during which the program ended."""
    row = connection.execute(
        "SELECT type, body FROM events WHERE conversation_id = ? ORDER BY seq DESC LIMIT 1",
        (to_column(conversation_id),),
    ).fetchone()
    if row is None or row[0] != "respond":
        return False
    with suppress(ValueError, RecursionError):
        event = decode("respond", row[1])
        return event["type"] == "respond" and event.get("orphaned", False)
    return False


def first_message(connection: sqlite3.Connection, conversation_id: str) -> str:
    """Return what the user has written first in a conversation; empty if that is unknown."""
    row = connection.execute(
        f"SELECT body FROM events WHERE conversation_id = ? AND {BEGINS_TURN} ORDER BY seq LIMIT 1",
        (to_column(conversation_id),),
    ).fetchone()
    return (row and text_of(row[0])) or ""


def around(
    connection: sqlite3.Connection, conversation_id: str, at: int | None, before: int, behind: int
) -> tuple[tuple[tuple[int, Event], ...], bool, bool]:
    """Return the event numbered `at` (by default the last) with up to `before` and `behind` events around
    it, without those that cannot be read; and whether there are more before and behind."""
    sql = "SELECT seq, type, body FROM events WHERE conversation_id = ? AND seq {} ? ORDER BY seq {} LIMIT ?"
    key, number = to_column(conversation_id), 1 << 62 if at is None else at
    earlier = connection.execute(sql.format("<=", "DESC"), (key, number, before + 2)).fetchall()
    later = connection.execute(sql.format(">", "ASC"), (key, number, behind + 1)).fetchall()
    found: list[tuple[int, Event]] = []
    for seq, kind, body in [*reversed(earlier[: before + 1]), *later[:behind]]:
        with suppress(ValueError, RecursionError):
            found.append((seq, decode(kind, body)))
    return tuple(found), len(earlier) > before + 1, len(later) > behind


def encode(value: object) -> str | bytes:
    """Encode `value` as JSON for a column."""
    return to_column(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def title_of(content: str) -> str:
    """Return the first line with text, without the chips of images, cut at a word where it is long."""
    # Enough characters for any title: a pasted file is not split into all its lines.
    start = without_image_chips(content.lstrip()[: 8 * TITLE_LENGTH]).lstrip()
    line = " ".join(start.splitlines()[0].split()) if start else ""
    if len(line) <= TITLE_LENGTH:
        return line
    words = line[:TITLE_LENGTH].rpartition(" ")[0]
    return (words or line[: TITLE_LENGTH - 1]) + "…"


def text_of(body: str | bytes) -> str | None:
    """Return the message of the user in the row of an event that begins a turn; None where it cannot be
    read."""
    event = _asked(body)
    return None if event is None else event["content"]


def _asked(body: str | bytes) -> UserEvent | None:
    with suppress(ValueError, RecursionError):
        event = decode("user", body)
        return event if event["type"] == "user" else None
    return None


def missing(conversation_id: str) -> StoreError:
    """Build the error for an unknown conversation id."""
    return StoreError(f"Conversation {conversation_id!r} not found.")


class _WithImages(msgspec.Struct):
    images: list[Image] = []


class _Imaged(_WithImages):
    """The images of an event, or of its payload."""

    payload: _WithImages = msgspec.field(default_factory=_WithImages)


def stored_images(connection: sqlite3.Connection, conversation: str | bytes | None = None) -> list[Image]:
    """Return the images of the events of a conversation, or of all; those of a damaged row are left out."""
    found: list[Image] = []
    sql, values = "SELECT body FROM events WHERE instr(body, '\"images\":[{')", list[str | bytes]()
    if conversation is not None:
        sql, values = f"{sql} AND conversation_id = ? ORDER BY seq", [conversation]
    for (body,) in connection.execute(sql, values):
        with suppress(ValueError, RecursionError):
            found += images_of(json.loads(from_column(body)))
    return found


def images_of(event: object) -> list[Image]:
    """Return the images of a decoded event.

    Raises:
        ValueError: it is damaged.
    """
    found = msgspec.convert(event, _Imaged)
    return [*found.images, *found.payload.images]


def checked(value: object) -> Event:
    """Validate an event that came from outside.

    Raises:
        ValueError: it is not one that is stored.
    """
    kind = cast("dict[str, Any]", value).get("type") if isinstance(value, dict) else None
    if kind not in _SHAPES:
        raise ValueError(f"{kind!r} is not a stored event type")
    if kind == "result":
        with_state(value)
    msgspec.convert(value, _SHAPES[kind])
    event = cast("Event", value)
    check_persisted(event)
    return event


def with_state(event: Any) -> None:
    """Add the state of a call to its result, where an earlier version stored it without: from the words of
    its outcome."""
    payload: Any = cast("dict[str, Any]", event).get("payload") if isinstance(event, dict) else None
    if not isinstance(payload, dict) or "state" in payload or "outcome" not in payload:
        return
    stored = cast("dict[str, Any]", payload)
    words = str(stored["outcome"]).casefold()
    ends = (state for state in ("interrupted", "skipped") if words.startswith(state))
    stored["state"] = next(ends, "failed") if stored.get("error") else "done"


def decode(kind: str, body: str | bytes | None) -> Event:
    """Decode the event of a row.

    Raises:
        ValueError, RecursionError: it cannot be read.
    """
    if kind not in _SHAPES:
        raise ValueError(f"{kind!r} is not a stored event type")
    try:
        event: Any = msgspec.json.decode(body or b"")
    except ValueError:
        # Three times slower, but accepts lone surrogates and NaN.
        event = json.loads(from_column(body))
    if kind == "result":
        with_state(event)
    # Validated, then used unconverted: fields that a newer program added to an event stay in it.
    msgspec.convert(event, _SHAPES[kind])
    return event
