"""Conversations that took place in other agents, by their source and the id that they have there.

Invariant: importing again stores only what is new: each event of a session is stored once, under its own key,
and each figure of usage once for a source. An imported conversation is not continued, but forked: what its
source adds later always follows.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, cast

from cogency_tui.protocol.events import Event, Measure, begins_turn
from cogency_tui.redaction import ConversationSecrets
from cogency_tui.redaction.conversation_secrets import is_form_of
from cogency_tui.store import edits, event_chain, events, origins, usage
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.edit_records import FileChange, Origin
from cogency_tui.store.events import title_of
from cogency_tui.store.search.folding import fold
from cogency_tui.store.store import COLUMNS, StoredConversation, conversation_of, insert, new_conversation_id

AGENTS: Mapping[str, str] = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "opencode": "opencode",
    "gemini": "Gemini CLI",
    "vibe": "Vibe",
    "pi": "pi",
}
"""The agents whose histories can be imported, with their names for users."""

_FIND = f"SELECT {COLUMNS} FROM conversations WHERE source = ? AND original = ?"
_EVENTS = "SELECT type, unit, body FROM events WHERE conversation_id = ? ORDER BY seq"


@dataclass(frozen=True, slots=True)
class ForeignConversation:
    """A session of the agent `source`, with everything that is valid of it.

    `events` have the keys that they have in each reading; `usage` are keys, times in Unix seconds and
    figures; `edits` are the keys of calls, the names of tools, times, and changes, of which contents without
    `secrets` are stored. These are the values of secret files in all events. `file` is the name of its file
    where that is another id, or empty. `parent` is the id of the session whose `call` started
    this one as a sub-agent's.
    """

    source: str
    original: str
    file: str
    project: str
    title: str
    model: str
    provider: str
    branch: str
    parent: str
    call: str
    events: Sequence[tuple[str, Event]]
    usage: Sequence[tuple[str, float, Measure]]
    edits: Sequence[tuple[str, str, float, FileChange]]
    secrets: ConversationSecrets


@dataclass(frozen=True, slots=True)
class Stored:
    """The result of one import: the conversation, whether it is new, and the number of new events."""

    id: str
    is_new: bool
    events: int


def name_of_source(connection: sqlite3.Connection, source: str) -> str:
    """Return the name of a source for users: an agent's, or that of another machine or person."""
    if source.startswith(origins.PREFIX):
        return origins.names(connection).get(source, "another machine")
    return AGENTS.get(source, source)


def sources_named(connection: sqlite3.Connection, folded: str) -> list[str]:
    """Return the sources whose name has this text; ours is the empty one."""
    named = {"": "cogency-tui", **AGENTS, **origins.names(connection)}
    return [source for source, name in named.items() if folded in fold(f"{source} {name}")]


def stamps(connection: sqlite3.Connection, source: str) -> Mapping[tuple[str, str], str]:
    """Return the stamps of a source's files as they were imported, by path and id."""
    rows = connection.execute("SELECT path, id, stamp FROM foreign_files WHERE source = ?", (source,))
    return {(from_column(path), from_column(id)): stamp for path, id, stamp in rows}


def note_stamp(connection: sqlite3.Connection, source: str, path: str, id: str, stamp: str) -> None:
    """Note that a file was imported in this state."""
    sql = "INSERT OR REPLACE INTO foreign_files (source, path, id, stamp) VALUES (?, ?, ?, ?)"
    connection.execute(sql, (source, to_column(path), to_column(id), stamp))


def find(connection: sqlite3.Connection, source: str, original: str) -> StoredConversation | None:
    """Return the conversation of a session, if it was imported."""
    row = connection.execute(_FIND, (source, to_column(original))).fetchone()
    return None if row is None else conversation_of(row)


class Compared(NamedTuple):
    """A session beside its conversation here, if there is one, and the events that are not stored yet.
    `original` is its id; one that only `poses` as the session is not its conversation."""

    original: str
    conversation: StoredConversation | None
    poses: StoredConversation | None
    fresh: Sequence[tuple[str, Event]]


def compare(connection: sqlite3.Connection, given: ForeignConversation) -> Compared:
    """Compare a session with what is stored of it."""
    original = _original(connection, given)
    found = find(connection, given.source, original)
    known = {} if found is None else _known(connection, found.id)
    if _is_other(known, given):
        return Compared(original, None, found, given.events)
    return Compared(original, found, None, [pair for pair in given.events if pair[0] not in known])


def _original(connection: sqlite3.Connection, given: ForeignConversation) -> str:
    """Return the id of a session: the name of its file if an earlier version has stored it under that, or if
    it is a copy with other texts."""
    if not given.file:
        return given.original
    of_file, named = (find(connection, given.source, id) for id in (given.file, given.original))
    if of_file and not {key for key, _ in given.events}.isdisjoint(_known(connection, of_file.id)):
        return given.file
    return given.file if named and _is_other(_known(connection, named.id), given) else given.original


def _is_other(known: Mapping[str, object], given: ForeignConversation) -> bool:
    """Return whether stored events only pose as those of a session: a file that was imported has them under
    the same ids with other texts."""
    for key, event in given.events:
        stored, content = known.get(key), event.get("content")
        # One that was imported while it was written has the beginning.
        if isinstance(stored, str) and isinstance(content, str) and not is_form_of(stored, content):
            return True
    return False


def store(connection: sqlite3.Connection, given: ForeignConversation) -> Stored:
    """Store what is new of a session, in the caller's transaction, without its secrets."""
    original, found, poses, fresh = compare(connection, given)
    if poses is not None:
        sql = "UPDATE conversations SET source = '', original = '' WHERE id = ?"
        connection.execute(sql, (to_column(poses.id),))
    if found is None and not fresh:
        return Stored("", False, 0)
    conversation = found or _create(connection, given, original)
    key = to_column(conversation.id)
    before = event_chain.next_number(connection) - 1
    for name, event in fresh:
        stored = cast("Event", given.secrets.event(event))
        if stored["type"] == "user":
            stored["original"] = name
        events.insert(connection, key, stored)
    event_chain.extend(connection, before)
    _update(connection, given, key, fresh)
    _add_usage(connection, given, conversation.id)
    _add_edits(connection, given, conversation)
    return Stored(conversation.id, found is None, len(fresh))


def _create(connection: sqlite3.Connection, given: ForeignConversation, original: str) -> StoredConversation:
    # Without its call it would pass for a fork.
    is_subagents = bool(given.parent and given.call)
    parent = find(connection, given.source, given.parent) if is_subagents else None
    created = given.events[0][1]["timestamp"]
    while True:
        conversation = StoredConversation(
            *(new_conversation_id(), given.project, given.title, "", given.provider, given.model),
            *(created, created, 0, 0, 0.0),
            *((parent.id, given.call) if parent else (None, None)),
            branch=given.branch,
            imported=True,
            source=given.source,
            original=original,
        )
        if insert(conversation, connection):
            return conversation


def _update(
    connection: sqlite3.Connection,
    given: ForeignConversation,
    key: str | bytes,
    fresh: Sequence[tuple[str, Event]],
) -> None:
    first = next((event for _, event in given.events if event["type"] == "user"), None)
    title = given.secrets.text(given.title or (title_of(first["content"]) if first else ""))
    connection.execute(
        "UPDATE conversations SET turns = turns + ?, updated = max(updated, ?),"
        " title = iif(renamed, title, ?), model = iif(? = '', model, ?) WHERE id = ?",
        (
            sum(begins_turn(event) for _, event in fresh),
            max((event["timestamp"] for _, event in fresh), default=0.0),
            *(to_column(title), given.model, given.model, key),
        ),
    )


def _add_usage(connection: sqlite3.Connection, given: ForeignConversation, id: str) -> None:
    # An import of an export has brought figures without their keys.
    sql = "SELECT timestamp, body FROM usage WHERE conversation_id = ?"
    known = {*connection.execute(sql, (to_column(id),))}
    for key, at, measure in given.usage:
        sql = "INSERT OR IGNORE INTO foreign_usage (source, key) VALUES (?, ?)"
        new = connection.execute(sql, (given.source, to_column(key))).rowcount
        if new and (at, events.encode(measure)) not in known:
            usage.record(connection, id, measure, at)


def _add_edits(
    connection: sqlite3.Connection, given: ForeignConversation, conversation: StoredConversation
) -> None:
    if not given.edits:
        return
    root = _root(connection, conversation)
    sql = "SELECT call, path FROM edits WHERE caller = ?"
    rows = connection.execute(sql, (to_column(conversation.id),))
    known = {(from_column(call), from_column(path)) for call, path in rows}
    turns = _turns(given.events)
    for call, tool, at, change in given.edits:
        if (call, change.path) not in known:
            origin = Origin(root.id, conversation.id, turns.get(call, 1), given.project)
            edits.insert(connection, origin, call, tool, [change], at)


def _root(connection: sqlite3.Connection, conversation: StoredConversation) -> StoredConversation:
    """Return the user's conversation to which a sub-agent's belongs."""
    seen: set[str] = set()
    while conversation.call is not None and conversation.parent is not None and conversation.id not in seen:
        seen.add(conversation.id)
        sql = f"SELECT {COLUMNS} FROM conversations WHERE id = ?"
        row = connection.execute(sql, (to_column(conversation.parent),)).fetchone()
        if row is None:
            break
        conversation = conversation_of(row)
    return conversation


def _turns(given: Iterable[tuple[str, Event]]) -> dict[str, int]:
    """Return the number of the turn of each call."""
    turn = 0
    found: dict[str, int] = {}
    for key, event in given:
        turn += begins_turn(event)
        if event["type"] == "call":
            found[key] = max(turn, 1)
    return found


def _known(connection: sqlite3.Connection, id: str) -> dict[str, object]:
    """Return the texts of the stored events of a session by their keys, None for one without a text."""
    found: dict[str, object] = {}
    for kind, unit, body in connection.execute(_EVENTS, (to_column(id),)):
        event: Mapping[str, object] = {}
        with suppress(ValueError, RecursionError):
            event = events.decode(kind, body)
        key = event.get("original", "") if kind == "user" else from_column(unit)
        found[f"{key}=" if kind == "result" else f"{key}"] = event.get("content")
    return found
