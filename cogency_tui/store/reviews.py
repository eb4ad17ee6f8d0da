"""The user's actions in the review of edits, a row for each, and derived outlines of changes.

Actions are added, never changed: one that reverts another names it, and is an action like any other. An
action and the marks that it sets are written together, or not at all.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar, cast

from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.database import Database
from cogency_tui.store.edit_records import State
from cogency_tui.store.events import BEGINS_TURN, encode
from cogency_tui.store.fork_lineage import FAMILY

ActionKind = Literal["keep", "revert", "edit", "comment", "resolve", "undo", "redo"]

_COLUMNS = "review_actions.id, conversation, kind, path, parts, marks, edits, text, undoes, timestamp"
_INSERT = (
    "INSERT INTO review_actions (conversation, kind, path, parts, marks, edits, text, undoes, timestamp)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_MARK = "INSERT OR REPLACE INTO edit_marks (edit, hunk, state, note, timestamp) VALUES (?, ?, ?, '', ?)"

Outline = TypeVar("Outline")


class Part(NamedTuple):
    """A hunk of the edit with this number; with an empty `hunk` the whole edit."""

    edit: int
    hunk: str = ""


@dataclass(frozen=True, slots=True)
class MarkChange:
    """The decision about a part before and after an action."""

    part: Part
    before: State
    after: State


@dataclass(frozen=True, slots=True)
class NewAction:
    """An action before it is recorded.

    `path` and `parts` are its subject, `edits` the edits that it made, `text` the user's words; `undoes` is
    the number of the action that it reverts, or 0.
    """

    kind: ActionKind
    path: str
    parts: tuple[Part, ...] = ()
    marks: tuple[MarkChange, ...] = ()
    text: str = ""
    undoes: int = 0
    edits: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Action(NewAction):
    """A recorded action. Its number grows with time; `timestamp` is in Unix seconds."""

    id: int = 0
    conversation: str = ""
    timestamp: float = 0.0


class Reviews:
    """The actions in the user's database. All methods raise `StoreError`."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    async def actions(self, conversation: str) -> list[Action]:
        """Return the actions of a conversation's review, the oldest first."""
        sql = f"SELECT {_COLUMNS} FROM review_actions WHERE conversation = ? ORDER BY id"
        return await self._database.read(
            lambda connection: [_action(row) for row in connection.execute(sql, (to_column(conversation),))]
        )

    async def of_family(self, conversation: str) -> list[Action]:
        """Return the actions of the reviews of a conversation, of its forks and of its origin, the oldest
        first."""
        sql = f"{FAMILY} SELECT {_COLUMNS} FROM review_actions WHERE conversation IN family ORDER BY id"
        return await self._database.read(
            lambda connection: [_action(row) for row in connection.execute(sql, (to_column(conversation),))]
        )

    async def any_after(self, conversation: str, id: int) -> bool:
        """Return whether a conversation's review has an action after that of this number."""
        sql = "SELECT 1 FROM review_actions WHERE conversation = ? AND id > ? LIMIT 1"
        values = (to_column(conversation), id)
        return await self._database.read(lambda connection: bool(connection.execute(sql, values).fetchone()))

    async def add(self, conversation: str, action: NewAction) -> int:
        """Record an action, and set its marks; return its number."""
        return await self._database.write(lambda connection: self.write(connection, conversation, action))

    def write(self, connection: sqlite3.Connection, conversation: str, action: NewAction) -> int:
        """Record an action within a transaction."""
        now = self._clock()
        for mark in action.marks:
            row = (mark.part.edit, to_column(mark.part.hunk), mark.after, now)
            connection.execute(_MARK, row)
        marks = [(*mark.part, mark.before, mark.after) for mark in action.marks]
        row = (
            *(to_column(conversation), action.kind, to_column(action.path)),
            *(encode(action.parts), encode(marks), encode(action.edits), to_column(action.text)),
            *(action.undoes, now),
        )
        id = connection.execute(_INSERT, row).lastrowid
        assert id is not None
        return id

    async def prompts(self, conversation: str) -> list[str]:
        """Return the user's messages in a conversation: the first is that of turn 1."""
        sql = f"SELECT body FROM events WHERE conversation_id = ? AND {BEGINS_TURN} ORDER BY seq"
        return await self._database.read(
            lambda connection: [
                _content(body) for (body,) in connection.execute(sql, (to_column(conversation),))
            ]
        )

    async def last_delivered(self, conversation: str) -> tuple[int, int]:
        """Return the numbers of the user's last action and last edit that the model was notified of; 0 for
        none."""
        sql = (
            "SELECT body FROM events WHERE conversation_id = ? AND type = 'user'"
            """ AND instr(body, '"review":{') ORDER BY seq DESC"""
        )

        def work(connection: sqlite3.Connection) -> tuple[int, int]:
            for (body,) in connection.execute(sql, (to_column(conversation),)):
                review = _loaded(body).get("review")
                if isinstance(review, dict):
                    record = cast("dict[str, Any]", review)
                    return int(record.get("action", 0)), int(record.get("edit", 0))
            return 0, 0

        return await self._database.read(work)

    async def outlines(self, keys: Sequence[str], read: Callable[[Any], Outline]) -> dict[str, Outline]:
        """Return the stored outlines under these keys, as `read` decodes their JSON values."""

        def work(connection: sqlite3.Connection) -> dict[str, Outline]:
            found: dict[str, Outline] = {}
            for start in range(0, len(keys), 500):
                some = keys[start : start + 500]
                sql = f"SELECT key, body FROM review_outlines WHERE key IN ({', '.join('?' * len(some))})"
                found |= {key: read(json.loads(body)) for key, body in connection.execute(sql, some)}
            return found

        return await self._database.read(work)

    async def store_outlines(self, outlines: Mapping[str, Any]) -> None:
        """Store outlines, in place of those with the same keys."""
        rows = [(key, json.dumps(value)) for key, value in outlines.items()]
        sql = "INSERT OR REPLACE INTO review_outlines (key, body) VALUES (?, ?)"
        await self._database.write(lambda connection: connection.executemany(sql, rows))


def in_effect(actions: Iterable[Action]) -> list[Action]:
    """Return the actions that are not reverted, the oldest first as given; those that revert others
    included."""
    left: list[Action] = []
    reverted: set[int] = set()
    # An action is reverted by a later one, so whether that is in effect is known by then.
    for action in sorted(actions, key=lambda action: action.id, reverse=True):
        if action.id not in reverted:
            left.append(action)
            reverted |= {action.undoes} - {0}
    return left[::-1]


def _action(row: tuple[Any, ...]) -> Action:
    id, conversation, kind, path, parts, marks, edits, text, undoes, timestamp = row
    return Action(
        kind=kind,
        path=from_column(path),
        parts=tuple(Part(*part) for part in _list(parts)),
        marks=tuple(
            MarkChange(Part(edit, hunk), before, after) for edit, hunk, before, after in _list(marks)
        ),
        text=from_column(text),
        undoes=undoes,
        edits=tuple(_list(edits)),
        id=id,
        conversation=from_column(conversation),
        timestamp=timestamp,
    )


def _list(column: str | bytes) -> list[Any]:
    return cast("list[Any]", json.loads(from_column(column)))


def _content(body: str | bytes) -> str:
    return str(_loaded(body).get("content", ""))


def _loaded(body: str | bytes) -> dict[str, Any]:
    """Decode a stored event; a damaged one is empty."""
    try:
        event: object = json.loads(from_column(body))
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", event) if isinstance(event, dict) else {}
