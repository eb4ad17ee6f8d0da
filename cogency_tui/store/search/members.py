"""The conversations of the index's slices, and results of earlier searches about slices."""

import sqlite3
from array import array

from cogency_tui.store.column_text import from_column
from cogency_tui.store.search.index import unseal
from cogency_tui.store.search.lookup import bits_of, grams_of
from cogency_tui.store.search.matching import Condition
from cogency_tui.store.search.postings import SHIFT, WIDTH

_REMEMBERED = 16
"""Conditions whose results are cached: a user who edits a query comes back to few."""

_FEW = 4
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
            if bits.bit_count() > _FEW:
                maybe[block] = bits & bits_of(connection, block, condition, grams)
        return maybe


def _narrows(condition: Condition, earlier: Condition) -> bool:
    """Return whether every slice that meets this condition meets the earlier one."""
    return earlier.text in condition.text and earlier.fact in ("", condition.fact)


def _asked(condition: Condition) -> tuple[int, str, str]:
    """Return the index's part of a condition, ordered by how selective it is."""
    return len(condition.text), condition.text, condition.fact
