"""Candidates: the slices that may meet the conditions of a query, by the index's postings, then by its texts.

Their conversations, and results of earlier searches about them, are cached from search to search.
"""

import sqlite3
from array import array
from collections.abc import Callable, Iterable, Sequence

from cogency_tui.store.column_text import from_column
from cogency_tui.store.search.folding import key
from cogency_tui.store.search.index_file import text_of_slice, unseal
from cogency_tui.store.search.matching import Condition
from cogency_tui.store.search.postings import SHIFT, WIDTH, bits_of, grams_of, picked

_FEW = 500
"""Most slices that may meet a condition for which their conversations are selected first."""

_MANY = 32
"""Slices of one conversation that may meet a condition from which on they are read one by one: one of the
first will do."""

_BATCH = 250

_REMEMBERED = 16
"""Conditions whose results are cached: a user who edits a query comes back to few."""

_CHECKED = 4
"""Slices of a block that may meet the query so far up to which checking each one is fastest."""


class Known:
    """The slices, a bit each by block, that may meet a condition, and those known to have its text."""

    def __init__(self, condition: Condition, maybe: dict[int, int]) -> None:
        self.condition = condition
        self.maybe = maybe
        self.sure = dict(maybe) if not condition.text else dict.fromkeys(maybe, 0)

    def count(self) -> int:
        """Count the slices that may meet it."""
        return sum(map(int.bit_count, self.maybe.values()))

    def learn(self, slice: int, *, has: bool) -> None:
        """Record whether the slice has the text."""
        block, bit = slice >> SHIFT, 1 << (slice & (WIDTH - 1))
        if has:
            self.sure[block] |= bit
        else:
            self.maybe[block] &= ~bit


class Members:
    """A cache that lasts from search to search and follows the index: numbers of conversations by block of
    slices, blocks by number, and ids."""

    def __init__(self) -> None:
        self.blocks: dict[int, array[int]] = {}
        self.where: dict[int, tuple[int, ...]] = {}
        self.ids: dict[int, str] = {}
        self.numbers: dict[str, int] = {}
        self._slices = 0
        self._known: list[Known] = []

    def refresh(self, connection: sqlite3.Connection) -> None:
        """Read the new part of the index."""
        slices = connection.execute("SELECT coalesce(max(number) + 1, 0) FROM recall.slices").fetchone()[0]
        if slices < self._slices:
            self.__init__()
        if slices == self._slices:
            return
        self._known.clear()
        sql = "SELECT block, members FROM recall.blocks WHERE block >= ?"
        for block, members in connection.execute(sql, (self._slices >> SHIFT,)):
            self.blocks[block] = array("I", unseal(members))
            for number in set(self.blocks[block]):
                where = self.where.get(number, ())
                if block not in where:
                    # The garbage collector does not traverse a tuple of numbers.
                    self.where[number] = (*where, block)
        last = max(self.ids, default=0)
        for number, id in connection.execute(
            "SELECT number, id FROM recall.members WHERE number > ?", (last,)
        ):
            self.ids[number] = from_column(id)
            self.numbers[self.ids[number]] = number
        self._slices = slices

    def forget(self) -> None:
        """Clear the cache: the index was rebuilt."""
        self.__init__()

    def known(self, connection: sqlite3.Connection, condition: Condition) -> Known:
        """Return the slices that may meet a condition, narrowed by earlier searches for it or for parts of
        its text."""
        parts = [each for each in self._known if _narrows(condition, each.condition)]
        known = max(parts, key=lambda each: _asked(each.condition), default=None)
        if known is None or _asked(known.condition) != _asked(condition):
            known = Known(condition, self._maybe(connection, condition, known))
        else:
            self._known.remove(known)
        self._known = [*self._known[1 - _REMEMBERED :], known]
        return known

    def _maybe(
        self, connection: sqlite3.Connection, condition: Condition, part: Known | None
    ) -> dict[int, int]:
        if part is None:
            grams = grams_of(condition)
            return {block: bits_of(connection, block, condition, grams) for block in self.blocks}
        met = set(grams_of(part.condition))
        grams = [gram for gram in grams_of(condition) if gram not in met]
        maybe = dict(part.maybe)
        for block, bits in maybe.items():
            if bits.bit_count() > _CHECKED:
                maybe[block] = bits & bits_of(connection, block, condition, grams)
        return maybe


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


def _narrows(condition: Condition, earlier: Condition) -> bool:
    """Return whether every slice that meets this condition meets the earlier one."""
    return earlier.text in condition.text and earlier.fact in ("", condition.fact)


def _asked(condition: Condition) -> tuple[int, str, str]:
    """Return the index's part of a condition, ordered by how selective it is."""
    return len(condition.text), condition.text, condition.fact
