"""The material of the profile: messages to learn from, taken in lots, and the result of learning.

Invariant: a message is learned from once; a learned fact never replaces the user's own words, nor is one
added after the user has changed the profile in the meantime.
"""

import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

from cogency_tui.store import events
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.database import Database
from cogency_tui.store.events import BEGINS_TURN
from cogency_tui.store.profile import MOST, Fact, delete, insert, read_facts, same

MOST_MESSAGES = 20
"""Latest messages that are stored for learning."""

_TURNS = f"SELECT count(*) FROM events WHERE conversation_id = ? AND {BEGINS_TURN}"
_LATEST = (
    f"SELECT seq, body FROM events WHERE conversation_id = ? AND {BEGINS_TURN} ORDER BY seq DESC LIMIT ?"
)
_ADD_MESSAGE = "INSERT INTO profile_heard (event, turn, typed) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_MESSAGES = (
    "SELECT h.event, c.id, h.turn, h.typed FROM profile_heard h JOIN events e ON e.seq = h.event"
    " JOIN conversations c ON c.id = e.conversation_id WHERE c.trashed IS NULL ORDER BY h.event"
)


@dataclass(frozen=True, slots=True)
class LearnableMessage:
    """The user's typed part of a message that nothing was learned from yet; `event` is its number."""

    event: int
    conversation: str
    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class LearningState:
    """The state of learning. `revision` grows with each change by the user. `attempted` is the time of the
    last attempt (0 for never), `outcome` its result, "" while it runs or where it broke off; `waiting` is
    the number of messages to learn from."""

    revision: int
    offered: bool
    attempted: float
    outcome: str
    failed: bool
    waiting: int


@dataclass(frozen=True, slots=True)
class Lot:
    """Messages to learn from, taken when the profile had this revision and these facts."""

    revision: int
    messages: Sequence[LearnableMessage]
    facts: Sequence[Fact]


class Lessons:
    """Messages to learn from, and what became of them. All methods raise `StoreError`."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    async def state(self) -> LearningState:
        """Return the state of learning."""
        return await self._database.read(_state)

    async def claim_offer(self) -> bool:
        """True once: to the caller that is to offer the user a profile."""
        sql = "UPDATE profile_state SET offered = 1 WHERE offered = 0"
        return await self._database.write(lambda connection: connection.execute(sql).rowcount == 1)

    async def add_messages(self, conversation: str, messages: Sequence[tuple[str, str]]) -> None:
        """Store messages of a conversation for learning: each whole, and its typed part."""
        await self._database.write(partial(_add_messages, conversation, messages))

    async def take(self, every: int) -> Lot | None:
        """Return messages to learn from, once `every` messages or more are new. They stay until something
        was learned from them; only one of several callers gets them."""
        return await self._database.write(partial(_take, every, self._clock()))

    async def learn(
        self, lot: Lot, facts: Sequence[Fact], replaced: Collection[int], model: str
    ) -> tuple[int, int] | None:
        """Add `facts`, whose ids and times are ignored, and drop those `replaced`; return how many were
        added and dropped. None where the user has changed the profile since the lot was taken: then the
        messages stay."""
        return await self._database.write(partial(_learn, lot, facts, replaced, model, self._clock()))

    async def note(self, outcome: str, *, failed: bool) -> None:
        """Record the result of the last attempt to learn."""
        sql = "UPDATE profile_state SET attempted = ?, outcome = ?, failed = ?"
        row = (self._clock(), to_column(outcome), failed)
        await self._database.write(lambda connection: connection.execute(sql, row))


def _state(connection: sqlite3.Connection) -> LearningState:
    sql = "SELECT revision, offered, attempted, outcome, failed FROM profile_state"
    revision, offered, attempted, outcome, failed = connection.execute(sql).fetchone()
    (waiting,) = connection.execute("SELECT count(*) FROM profile_heard").fetchone()
    return LearningState(revision, bool(offered), attempted, from_column(outcome), bool(failed), waiting)


def _add_messages(
    conversation: str, messages: Sequence[tuple[str, str]], connection: sqlite3.Connection
) -> None:
    key = to_column(conversation)
    (turn,) = connection.execute(_TURNS, (key,)).fetchone()
    left = list(messages)
    for event, body in connection.execute(_LATEST, (key, 2 * MOST_MESSAGES)).fetchall():
        if left and events.text_of(body) == left[-1][0]:
            connection.execute(_ADD_MESSAGE, (event, turn, to_column(left.pop()[1])))
        turn -= 1
    connection.execute(
        "DELETE FROM profile_heard WHERE event NOT IN"
        " (SELECT event FROM profile_heard ORDER BY event DESC LIMIT ?)",
        (MOST_MESSAGES,),
    )


def _take(every: int, now: float, connection: sqlite3.Connection) -> Lot | None:
    (fresh,) = connection.execute("SELECT count(*) FROM profile_heard WHERE NOT taken").fetchone()
    if fresh < every:
        return None
    connection.execute("UPDATE profile_heard SET taken = 1")
    connection.execute("UPDATE profile_state SET attempted = ?, outcome = '', failed = 0", (now,))
    messages = [
        LearnableMessage(event, from_column(conversation), turn, from_column(typed))
        for event, conversation, turn, typed in connection.execute(_MESSAGES)
    ]
    return Lot(_state(connection).revision, messages, read_facts(connection))


def _learn(
    lot: Lot,
    facts: Sequence[Fact],
    replaced: Collection[int],
    model: str,
    now: float,
    connection: sqlite3.Connection,
) -> tuple[int, int] | None:
    if _state(connection).revision != lot.revision:
        return None
    known = read_facts(connection)
    gone = [fact for fact in known if fact.id in replaced and not fact.edited]
    for fact in gone:
        delete(connection, fact.id)
    there = {same(fact.text) for fact in known if fact not in gone}
    added = 0
    for fact in facts:
        if same(fact.text) not in there:
            there.add(same(fact.text))
            added += 1
            insert(connection, fact, model=model, created=now)
    dropped = len(gone) + _make_room(connection)
    taken = [(message.event,) for message in lot.messages]
    connection.executemany("DELETE FROM profile_heard WHERE event = ?", taken)
    # Messages of conversations in the trash were taken, too.
    connection.execute("DELETE FROM profile_heard WHERE taken AND event <= ?", (max(taken, default=(0,))[0],))
    return added, dropped


def _make_room(connection: sqlite3.Connection) -> int:
    """Drop the oldest learned facts, until the rest fits; return how many."""
    facts = sorted(read_facts(connection), key=lambda fact: fact.id)
    size = sum(len(fact.text) for fact in facts)
    gone = 0
    for fact in facts:
        if size > MOST and not fact.edited:
            delete(connection, fact.id)
            size -= len(fact.text)
            gone += 1
    return gone
