"""The profile: what is known of the person, a row a fact, with what it was learned from.

Invariant: no two facts say the same, each is one short line, and together they have no more than `MOST`
characters; the person's own words are never replaced or dropped for what was learned. What is cleared is
gone.
"""

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeVar, get_args

from cogency_tui.errors import UsageError
from cogency_tui.store import requests
from cogency_tui.store.database import Database
from cogency_tui.store.text import from_column, to_column

T = TypeVar("T")
Kind = Literal["who", "style", "focus", "interests", "misc"]

KINDS: tuple[Kind, ...] = get_args(Kind)
PART = "profile"
"""The part of the system prompt that tells it. What is forgotten is not kept with old requests either."""

LONGEST = 200
"""Characters of one fact."""

MOST = 1600
"""Characters of all facts together."""

_ROWS = (
    "SELECT e.id, e.kind, e.text, e.conversation, e.turn, e.model, e.created, e.edited, c.title"
    " FROM profile_facts e LEFT JOIN conversations c ON c.id = e.conversation"
)


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is known. `conversation` and `turn` are where it was learned, "" and 0 for what the
    person wrote into the profile; `title` is that conversation's, "" where it is gone. `edited` says that
    the words are the person's. `created` in Unix seconds."""

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
    """The one profile of the person. All methods raise `StoreError`."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    async def facts(self) -> list[Fact]:
        """All, by kind and then by age."""
        return await self._database.read(read_facts)

    async def write(self, kind: Kind, text: str, id: int | None = None) -> int:
        """Put the person's words into the profile, in the place of the fact `id` where it is given; its id.

        Raises:
            UsageError: they are too long, or there already; or that fact is gone.
        """
        return await self._change(partial(_write, kind, text, id, self._clock()))

    async def forget(self, id: int) -> None:
        """Remove a fact; none is fine."""

        def work(connection: sqlite3.Connection) -> None:
            delete(connection, id)
            requests.blank(connection, PART)

        await self._change(work)

    async def put_back(self, fact: Fact) -> None:
        """Have a fact again that was forgotten.

        Raises:
            UsageError: there is no room for it any more, or it is there.
        """

        def work(connection: sqlite3.Connection) -> None:
            _check(connection, fact.text, None)
            insert(connection, fact, id=fact.id)

        await self._change(work)

    async def touch(self) -> None:
        """Count as changed by the person: what was heard so far is not learned from."""
        await self._change(lambda connection: connection.execute("DELETE FROM profile_heard"))

    async def clear(self) -> int:
        """Forget everything, what waits to be learned from too; how many facts there were."""

        def work(connection: sqlite3.Connection) -> int:
            count = connection.execute("DELETE FROM profile_facts").rowcount
            connection.execute("DELETE FROM profile_heard")
            requests.blank(connection, PART)
            connection.execute("UPDATE profile_state SET attempted = 0, outcome = '', failed = 0")
            return count

        return await self._change(work)

    async def _change(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What `work` returns, as a change of the person's."""

        def changed(connection: sqlite3.Connection) -> T:
            done = work(connection)
            connection.execute("UPDATE profile_state SET revision = revision + 1")
            return done

        return await self._database.write(changed)


_FULL = (
    f"The profile has room for {MOST:,} characters, which this would exceed.",
    "Remove or shorten something first.",
)


def same(text: str) -> str:
    """What two facts have in common that say the same."""
    return " ".join(text.casefold().split()).rstrip(".")


def delete(connection: sqlite3.Connection, id: int) -> None:
    """Remove a fact."""
    connection.execute("DELETE FROM profile_facts WHERE id = ?", (id,))


def read_facts(connection: sqlite3.Connection) -> list[Fact]:
    """All, by kind and then by age."""
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
        raise UsageError("That is not in the profile any more.", "Add it anew.")
    requests.blank(connection, PART)
    return id


def _check(connection: sqlite3.Connection, text: str, id: int | None) -> None:
    """Refuse what cannot be in the profile beside the facts other than `id`."""
    others = [fact for fact in read_facts(connection) if fact.id != id]
    if not text:
        raise UsageError("There is nothing in it.", "Write a fact, or remove it.")
    if len(text) > LONGEST:
        raise UsageError(f"A fact has at most {LONGEST} characters; this has {len(text)}.", "Shorten it.")
    if same(text) in {same(fact.text) for fact in others}:
        raise UsageError("That is in the profile already.")
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
    """Add a fact; its id."""
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
