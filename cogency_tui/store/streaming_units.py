"""Drafts: the text of units that still stream, so that a killed process loses next to nothing.

A piece has only text that is new. A unit's pieces exist exactly as long as it is not complete: the
transaction that appends the unit, whole or marked as interrupted, removes them.
"""

import os
import sqlite3
import time
from typing import Literal

from cogency_tui.process_identity import own_start, start_of
from cogency_tui.protocol.events import Event, RespondEvent, ThinkEvent
from cogency_tui.store import events
from cogency_tui.store.column_text import from_column, to_column

Unit = Literal["think", "respond"]


def append(connection: sqlite3.Connection, conversation_id: str, unit_id: str, kind: Unit, text: str) -> None:
    """Append a piece of the unit: the text since the last one."""
    pid = os.getpid()
    connection.execute(
        "INSERT INTO drafts (conversation_id, unit, type, timestamp, pid, started, text)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            to_column(conversation_id),
            to_column(unit_id),
            kind,
            time.time(),
            pid,
            own_start(pid),
            to_column(text),
        ),
    )


def complete(connection: sqlite3.Connection, conversation_id: str, unit_id: str) -> None:
    """Delete this process's drafts of a unit that is now stored whole."""
    pid = os.getpid()
    connection.execute(
        "DELETE FROM drafts WHERE conversation_id = ? AND unit = ? AND pid = ? AND started = ?",
        (to_column(conversation_id), to_column(unit_id), pid, own_start(pid)),
    )


def seal(connection: sqlite3.Connection, conversation_id: str) -> list[Event]:
    """Convert the drafts of processes that have ended to units marked as interrupted.

    They are appended in the order in which they began, and returned.
    """
    units: dict[tuple[int, str, str | bytes, Unit], list[tuple[float, str]]] = {}
    rows = connection.execute(
        "SELECT pid, started, unit, type, timestamp, text FROM drafts WHERE conversation_id = ? ORDER BY seq",
        (to_column(conversation_id),),
    )
    for pid, started, unit, kind, timestamp, text in rows:
        units.setdefault((pid, started, unit, kind), []).append((timestamp, from_column(text)))
    picked = {
        owner for owner in {(pid, started) for pid, started, _, _ in units} if start_of(owner[0]) != owner[1]
    }
    sealed: list[Event] = []
    for (pid, started, unit, kind), pieces in units.items():
        if (pid, started) not in picked:
            continue
        content = "".join(text for _, text in pieces)
        if content.strip():
            sealed.append(_interrupted(kind, pieces[0][0], from_column(unit), content))
            events.append(connection, conversation_id, sealed[-1])
    connection.executemany(
        "DELETE FROM drafts WHERE conversation_id = ? AND pid = ? AND started = ?",
        [(to_column(conversation_id), *owner) for owner in picked],
    )
    return sealed


def _interrupted(kind: Unit, timestamp: float, unit_id: str, content: str) -> Event:
    event: ThinkEvent | RespondEvent = (
        ThinkEvent(type="think", timestamp=timestamp, id=unit_id, content=content)
        if kind == "think"
        else RespondEvent(type="respond", timestamp=timestamp, id=unit_id, content=content)
    )
    event["interrupted"] = event["orphaned"] = True
    return event
