"""The slices that may meet the conditions of a query, by the index's postings, then by its texts."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence

from cogency_tui.store.search.folding import key
from cogency_tui.store.search.index import text_of_slice, unseal
from cogency_tui.store.search.matching import Condition
from cogency_tui.store.search.members import Known, Members
from cogency_tui.store.search.postings import SHIFT, WIDTH, picked

_FEW = 500
"""Most slices that may meet a condition for which their conversations are selected first."""

_MANY = 32
"""Slices of one conversation that may meet a condition from which on they are read one by one: one of the
first will do."""

_BATCH = 250


class Candidates:
    """The slices that may meet some conditions, of which there is at least one."""

    def __init__(
        self, connection: sqlite3.Connection, members: Members, conditions: Sequence[Condition]
    ) -> None:
        self._connection = connection
        self._members = members
        self._known = [members.known(connection, condition) for condition in conditions]
        self._count, self._rarest = min(
            ((known.count(), known) for known in self._known), key=lambda one: one[0]
        )
        self._spread: dict[int, dict[int, list[int]]] = {}

    def conversations(self) -> set[str] | None:
        """Return the ids of all conversations that may match; None where these may be many."""
        if self._count > _FEW:
            return None
        ids, blocks = self._members.ids, self._members.blocks
        maybe = self._rarest.maybe
        return {ids[number] for block in maybe for number in picked(blocks[block], maybe[block])}

    def confirmed(self, ids: Iterable[str], check: Callable[[], None]) -> set[str]:
        """Return those of some conversations that may match, after checking their texts for the most
        selective condition.

        `check` is called from time to time, and raises where the search was cancelled.
        """
        known, members = self._rarest, self._members
        found: set[str] = set()
        unseen: list[int] = []
        for id in ids:
            slices = self._slices(members.numbers.get(id, -1))
            if any(known.sure[slice >> SHIFT] >> (slice & (WIDTH - 1)) & 1 for slice in slices):
                found.add(id)
            elif len(slices) > _MANY:
                found.add(id)
            else:
                unseen += slices
        text = key(known.condition.text)
        for start in range(0, len(unseen), _BATCH):
            check()
            batch = unseen[start : start + _BATCH]
            sql = f"SELECT number, text FROM recall.texts WHERE number IN ({', '.join('?' * len(batch))})"
            for slice, here in self._connection.execute(sql, batch):
                has = text in unseal(here)
                known.learn(slice, has=has)
                if has:
                    found.add(members.ids[members.blocks[slice >> SHIFT][slice & (WIDTH - 1)]])
        return found

    def met(self, slice: int) -> list[int]:
        """Return the numbers of the conditions that a slice may meet, and whose text it has."""
        block, position = slice >> SHIFT, slice & (WIDTH - 1)
        met: list[int] = []
        here = b""
        for number, known in enumerate(self._known):
            if not known.maybe.get(block, 0) >> position & 1:
                continue
            if not known.sure[block] >> position & 1:
                if not here:
                    here = text_of_slice(self._connection, slice)
                known.learn(slice, has=key(known.condition.text) in here)
            if known.sure[block] >> position & 1:
                met.append(number)
        return met

    def _slices(self, member: int) -> list[int]:
        """Return the slices of a conversation that may meet the rarest condition."""
        found: list[int] = []
        for block in self._members.where.get(member, ()):
            if block not in self._spread:
                self._spread[block] = _spread(block, self._members, self._rarest)
            found += self._spread[block].get(member, ())
        return found


def _spread(block: int, members: Members, known: Known) -> dict[int, list[int]]:
    """Return the slices of a block that may meet a condition, by conversation."""
    found: dict[int, list[int]] = {}
    owners, bits = members.blocks[block], known.maybe[block]
    first = block << SHIFT
    slices = range(first, first + len(owners))
    for slice, owner in zip(picked(slices, bits), picked(owners, bits), strict=True):
        found.setdefault(owner, []).append(slice)
    return found
