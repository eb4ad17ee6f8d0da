"""The profile: facts about the user, a row each, with the conversation that they were learned from.

Invariant: no two facts are the same, each is one short line, and together they have no more than `MOST`
characters; a learned fact never replaces or displaces the user's own words. A cleared profile is deleted.
"""

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeVar, get_args

from cogency_tui.errors import UsageError
from cogency_tui.store import requests
from cogency_tui.store.column_text import from_column, to_column
from cogency_tui.store.database import Database

T = TypeVar("T")
Kind = Literal["who", "style", "focus", "interests", "misc"]

KINDS: tuple[Kind, ...] = get_args(Kind)
PART = "profile"
"""Part of the system prompt with the profile. A forgotten fact is removed from stored requests, too."""

LONGEST = 200
"""Most characters of one fact."""

MOST = 1600
"""Most characters of all facts together."""

_ROWS = (
    "SELECT e.id, e.kind, e.text, e.conversation, e.turn, e.model, e.created, e.edited, c.title"
    " FROM profile_facts e LEFT JOIN conversations c ON c.id = e.conversation"
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact about the user. `conversation` and `turn` are where it was learned, "" and 0 for a fact that
    the user wrote; `title` is that conversation's, "" where it is gone. `edited` marks words of the user's
    own. `created` is in Unix seconds."""

    id: int
    kind: Kind
    text: str
    conversation: str = ""
    turn: int = 0
    model: str = ""
    created: float = 0.0
    edited: bool = False
    title: str = ""


class Facts:
    """The user's one profile. All methods raise `StoreError`."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    async def facts(self) -> list[Fact]:
        """Return all facts, by kind and then by age."""
        return await self._database.read(read_facts)

    async def write(self, kind: Kind, text: str, id: int | None = None) -> int:
        """Write the user's words into the profile, in place of the fact `id` if given; return the fact's
        id.

        Raises:
            UsageError: they are too long, or there already; or that fact is gone.
        """
        return await self._change(partial(_write, kind, text, id, self._clock()))

    async def forget(self, id: int) -> None:
        """Remove a fact, if it exists."""

        def work(connection: sqlite3.Connection) -> None:
            delete(connection, id)
            requests.blank(connection, PART)

        await self._change(work)

    async def put_back(self, fact: Fact) -> None:
        """Restore a forgotten fact.

        Raises:
            UsageError: there is no room for it any more, or it is there.
        """

        def work(connection: sqlite3.Connection) -> None:
            _check(connection, fact.text, None)
            insert(connection, fact, id=fact.id)

        await self._change(work)

    async def touch(self) -> None:
        """Count as a change by the user: nothing is learned from messages so far."""
        await self._change(lambda connection: connection.execute("DELETE FROM profile_heard"))

    async def clear(self) -> int:
        """Delete all facts, and the messages to learn from; return how many facts there were."""

        def work(connection: sqlite3.Connection) -> int:
            count = connection.execute("DELETE FROM profile_facts").rowcount
            connection.execute("DELETE FROM profile_heard")
            requests.blank(connection, PART)
            connection.execute("UPDATE profile_state SET attempted = 0, outcome = '', failed = 0")
            return count

        return await self._change(work)

    async def _change(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` as a change by the user; return its result."""

        def changed(connection: sqlite3.Connection) -> T:
            done = work(connection)
            connection.execute("UPDATE profile_state SET revision = revision + 1")
            return done

        return await self._database.write(changed)


_FULL = (
    f"The profile is limited to {MOST:,} characters, which this exceeds.",
    "Remove or shorten something first.",
)


def same(text: str) -> str:
    """Normalise a fact for comparison."""
    return " ".join(text.casefold().split()).rstrip(".")


def delete(connection: sqlite3.Connection, id: int) -> None:
    connection.execute("DELETE FROM profile_facts WHERE id = ?", (id,))


def read_facts(connection: sqlite3.Connection) -> list[Fact]:
    """Return all facts, by kind and then by age."""
    found = [
        Fact(
            id,
            kind,
            from_column(text),
            from_column(conversation),
            turn,
            from_column(model),
            created,
            bool(edited),
            from_column(title or ""),
        )
        for id, kind, text, conversation, turn, model, created, edited, title in connection.execute(_ROWS)
        if kind in KINDS
    ]
    return sorted(found, key=lambda fact: (KINDS.index(fact.kind), fact.id))


def _write(kind: Kind, text: str, id: int | None, now: float, connection: sqlite3.Connection) -> int:
    _check(connection, text, id)
    if id is None:
        return insert(connection, Fact(0, kind, text, created=now, edited=True))
    sql = "UPDATE profile_facts SET kind = ?, text = ?, edited = 1 WHERE id = ?"
    if not connection.execute(sql, (kind, to_column(text), id)).rowcount:
        raise UsageError("This fact is no longer in the profile.", "Add it again.")
    requests.blank(connection, PART)
    return id


def _check(connection: sqlite3.Connection, text: str, id: int | None) -> None:
    """Refuse a text that does not fit into the profile beside the facts other than `id`."""
    others = [fact for fact in read_facts(connection) if fact.id != id]
    if not text:
        raise UsageError("The text is empty.", "Write a fact, or remove it.")
    if len(text) > LONGEST:
        raise UsageError(f"A fact has at most {LONGEST} characters; this has {len(text)}.", "Shorten it.")
    if same(text) in {same(fact.text) for fact in others}:
        raise UsageError("This fact is already in the profile.")
    if sum(len(fact.text) for fact in others) + len(text) > MOST:
        raise UsageError(*_FULL)


def insert(
    connection: sqlite3.Connection,
    fact: Fact,
    *,
    id: int | None = None,
    model: str = "",
    created: float = 0.0,
) -> int:
    """Add a fact; return its id."""
    inserted = connection.execute(
        "INSERT INTO profile_facts (id, kind, text, conversation, turn, model, created, edited)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            id,
            fact.kind,
            to_column(fact.text),
            to_column(fact.conversation),
            fact.turn,
            to_column(model or fact.model),
            created or fact.created,
            fact.edited,
        ),
    )
    assert inserted.lastrowid is not None
    return inserted.lastrowid
