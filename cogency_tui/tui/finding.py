"""Finding in a conversation: over the texts of its units, a slice of time at once, however long it is.

A find is counted unit by unit; where on the screen one stands is looked up only when it is gone to.
"""

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from time import perf_counter

from cogency_tui.tui.calls import Call
from cogency_tui.tui.excerpts import as_it_reads, outcome_of, text_of
from cogency_tui.tui.transcript import Prose, Stopped, Transcript, Unit

_SLICE = 0.004
"""Seconds that are searched for before others have their turn."""


def occurrences(text: str, query: str) -> list[tuple[int, int]]:
    """Where `query` (case-folded, not empty) is in `text`, whatever its case: beginnings and ends."""
    folded = text.casefold()
    found: list[tuple[int, int]] = []
    start = folded.find(query)
    while start >= 0:
        found.append((start, start + len(query)))
        start = folded.find(query, start + len(query))
    if not found or len(folded) == len(text):
        return found
    # Some characters fold to several: back to the places before folding.
    places = [index for index, character in enumerate(text) for _folded in character.casefold()]
    return [(places[start], places[end - 1] + 1) for start, end in found]


class Finder:
    """Searches one transcript for one query after the other."""

    def __init__(self, transcript: Transcript) -> None:
        self.query = ""
        self.total = 0
        self._transcript = transcript
        self._complete = False
        self._counts: dict[int, int] = {}
        self._units: list[int] = []

    async def look_for(self, query: str) -> None:
        """Search for `query`. May be cancelled at any time."""
        folded = query.casefold()
        narrowed = self._complete and bool(self.query) and self.query in folded
        candidates = list(self._units) if narrowed else range(len(self._transcript.units))
        self.query, self.total = folded, 0
        self._complete = False
        self._counts.clear()
        self._units.clear()
        if folded:
            began = perf_counter()
            for index in candidates:
                self._count(index)
                if perf_counter() - began > _SLICE:
                    await asyncio.sleep(0)
                    began = perf_counter()
        self._complete = True

    def update(self, touched: Iterable[int]) -> None:
        """These units are new or have changed."""
        if self.query:
            for index in touched:
                self._count(index)

    def count(self, unit: int) -> int:
        """How many finds there are in `unit`."""
        return self._counts.get(unit, 0)

    def ordinal(self, unit: int, nth: int) -> int:
        """Which of all finds the `nth` in `unit` is, from 1."""
        return 1 + nth + sum(self._counts[each] for each in self._units[: bisect_left(self._units, unit)])

    def next(self, unit: int, nth: int, step: int) -> tuple[int, int] | None:
        """The find after (or before, with `step` -1) the `nth` in `unit`, around the ends."""
        if not self._units:
            return None
        if 0 <= nth + step < self.count(unit):
            return unit, nth + step
        if step > 0:
            place = bisect_right(self._units, unit)
            following = self._units[place % len(self._units)]
            return following, 0
        previous = self._units[bisect_left(self._units, unit) - 1]
        return previous, self._counts[previous] - 1

    def nearest(self, first: int, last: int) -> tuple[int, int] | None:
        """The first find in the units from `first` to `last`; else the last above, else the first below."""
        if not self._units:
            return None
        place = bisect_left(self._units, first)
        if place < len(self._units) and (self._units[place] <= last or not place):
            return self._units[place], 0
        above = self._units[place - 1]
        return above, self._counts[above] - 1

    def _count(self, index: int) -> None:
        unit = self._transcript.units[index]
        count = _count_in(unit, self.query)
        before = self._counts.pop(index, 0)
        self.total += count - before
        if count:
            self._counts[index] = count
        if count and not before:
            insort(self._units, index)
        elif before and not count:
            self._units.remove(index)


def _count_in(unit: Unit, query: str) -> int:
    if isinstance(unit, Stopped):
        return 0
    if isinstance(unit, Call):
        return _count_in_call(unit, query)
    text = text_of(unit)
    if isinstance(unit, Prose) and not unit.thinking:
        return count_in_markdown(text, query)
    return text.casefold().count(query)


def count_in_markdown(text: str, query: str) -> int:
    """How often `query` is in what is read of `text`."""
    folded = text.casefold()
    if query.isalnum():
        return folded.count(query)
    # Marks and broken lines may stand between what is read as one.
    words = "".join(character if character.isalnum() else " " for character in query).split()
    return as_it_reads(text).casefold().count(query) if all(word in folded for word in words) else 0


def _count_in_call(call: Call, query: str) -> int:
    arguments = [str(value) for value in call.args.values()]
    parts = [call.name, *arguments, call.outcome, outcome_of(call)]
    return sum(part.casefold().count(query) for part in dict.fromkeys(parts))
