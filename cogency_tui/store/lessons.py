"""What the profile is learned from: messages that were heard, taken once there are some; and what came of it.

Invariant: a message is learned from once; nothing that was learned replaces the person's own words, or comes
back after the person has changed the profile in the meantime.
"""

import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

from cogency_tui.store import events
from cogency_tui.store.database import Database
from cogency_tui.store.profile import MOST, Fact, delete, insert, read_facts, same
from cogency_tui.store.text import from_column, to_column

HEARD = 20
"""Messages that are kept to be learned from, the latest."""

_TURNS = "SELECT count(*) FROM events WHERE conversation_id = ? AND type = 'user'"
_LATEST = "SELECT seq, body FROM events WHERE conversation_id = ? AND type = 'user' ORDER BY seq DESC LIMIT ?"
_HEAR = "INSERT INTO profile_heard (event, turn, typed) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_HEARD = (
    "SELECT h.event, c.id, h.turn, h.typed FROM profile_heard h JOIN events e ON e.seq = h.event"
    " JOIN conversations c ON c.id = e.conversation_id WHERE c.trashed IS NULL ORDER BY h.event"
)


@dataclass(frozen=True, slots=True)
class Heard:
    """What the person typed of a message, which nothing was learned from yet; `event` is its number."""

    event: int
    conversation: str
    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class State:
    """`revision` grows with each change that the person made. `attempted` is when something was to be learned
    last (0 for never), `outcome` what that came to, "" while it goes on or where it broke off; `waiting`
    messages will be learned from."""

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
    heard: Sequence[Heard]
    facts: Sequence[Fact]


class Lessons:
    """What there is to learn from. All methods raise `StoreError`."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    async def state(self) -> State:
        """How the learning stands."""
        return await self._database.read(_state)

    async def claim_offer(self) -> bool:
        """True once: for who is to ask the person whether there may be a profile."""
        sql = "UPDATE profile_state SET offered = 1 WHERE offered = 0"
        return await self._database.write(lambda connection: connection.execute(sql).rowcount == 1)

    async def hear(self, conversation: str, messages: Sequence[tuple[str, str]]) -> None:
        """Keep messages of a conversation to be learned from: each whole, and what of it was typed."""
        await self._database.write(partial(_hear, conversation, messages))

    async def take(self, every: int) -> Lot | None:
        """What to learn from, once as many messages as `every` were not taken before. They wait until
        something was learned from them; of several who ask, one has them."""
        return await self._database.write(partial(_take, every, self._clock()))

    async def learn(
        self, lot: Lot, facts: Sequence[Fact], replaced: Collection[int], model: str
    ) -> tuple[int, int] | None:
        """Add `facts`, of which ids and times do not count, in the place of those `replaced`; how many were
        added and dropped. None where the person has changed the profile since the lot was taken: then the
        messages wait."""
        return await self._database.write(partial(_learn, lot, facts, replaced, model, self._clock()))

    async def note(self, outcome: str, *, failed: bool) -> None:
        """Say what the last attempt to learn came to."""
        sql = "UPDATE profile_state SET attempted = ?, outcome = ?, failed = ?"
        row = (self._clock(), to_column(outcome), failed)
        await self._database.write(lambda connection: connection.execute(sql, row))


def _state(connection: sqlite3.Connection) -> State:
    sql = "SELECT revision, offered, attempted, outcome, failed FROM profile_state"
    revision, offered, attempted, outcome, failed = connection.execute(sql).fetchone()
    (waiting,) = connection.execute("SELECT count(*) FROM profile_heard").fetchone()
    return State(revision, bool(offered), attempted, from_column(outcome), bool(failed), waiting)


def _hear(conversation: str, messages: Sequence[tuple[str, str]], connection: sqlite3.Connection) -> None:
    key = to_column(conversation)
    (turn,) = connection.execute(_TURNS, (key,)).fetchone()
    left = list(messages)
    for event, body in connection.execute(_LATEST, (key, 2 * HEARD)).fetchall():
        if left and events.text_of(body) == left[-1][0]:
            connection.execute(_HEAR, (event, turn, to_column(left.pop()[1])))
        turn -= 1
    connection.execute(
        "DELETE FROM profile_heard WHERE event NOT IN"
        " (SELECT event FROM profile_heard ORDER BY event DESC LIMIT ?)",
        (HEARD,),
    )


def _take(every: int, now: float, connection: sqlite3.Connection) -> Lot | None:
    (fresh,) = connection.execute("SELECT count(*) FROM profile_heard WHERE NOT taken").fetchone()
    if fresh < every:
        return None
    connection.execute("UPDATE profile_heard SET taken = 1")
    connection.execute("UPDATE profile_state SET attempted = ?, outcome = '', failed = 0", (now,))
    heard = [
        Heard(event, from_column(conversation), turn, from_column(typed))
        for event, conversation, turn, typed in connection.execute(_HEARD)
    ]
    return Lot(_state(connection).revision, heard, read_facts(connection))


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
    taken = [(heard.event,) for heard in lot.heard]
    connection.executemany("DELETE FROM profile_heard WHERE event = ?", taken)
    # What is in the trash was taken as well.
    connection.execute("DELETE FROM profile_heard WHERE taken AND event <= ?", (max(taken, default=(0,))[0],))
    return added, dropped


def _make_room(connection: sqlite3.Connection) -> int:
    """Let the oldest go of what was learned, until the rest fits; how many."""
    facts = sorted(read_facts(connection), key=lambda fact: fact.id)
    size = sum(len(fact.text) for fact in facts)
    gone = 0
    for fact in facts:
        if size > MOST and not fact.edited:
            delete(connection, fact.id)
            size -= len(fact.text)
            gone += 1
    return gone
