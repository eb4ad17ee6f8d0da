"""Search in a conversation: over the texts of its units, in slices of time, whatever its length.

Matches are counted by unit; the position of one on the screen is computed only on a visit.
"""

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import NamedTuple

from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.paste_chips import image_chips
from cogency_tui.tui.transcript.call_unit import CallUnit
from cogency_tui.tui.transcript.messages_and_notices import chips_beside
from cogency_tui.tui.transcript.unit_text import as_it_reads, describe_call, outcome_of, text_of
from cogency_tui.tui.transcript.units import Prose, Transcript, TurnEnd, Unit, UserMessage

_SLICE = 0.004
"""Seconds of searching before other tasks get their turn."""


def occurrences(text: str, query: str) -> list[tuple[int, int]]:
    """The starts and ends of `query` (case-folded, not empty) in `text`, regardless of case."""
    folded = text.casefold()
    found: list[tuple[int, int]] = []
    start = folded.find(query)
    while start >= 0:
        found.append((start, start + len(query)))
        start = folded.find(query, start + len(query))
    if not found or len(folded) == len(text):
        return found
    # Some characters fold to several: map back to positions before folding.
    places = [index for index, character in enumerate(text) for _folded in character.casefold()]
    return [(places[start], places[end - 1] + 1) for start, end in found]


class Finder:
    """Searches one transcript for successive queries."""

    def __init__(self, transcript: Transcript) -> None:
        self.query = ""
        self.total = 0
        self._transcript = transcript
        self._complete = False
        self._counts: dict[int, int] = {}
        self._units: list[int] = []

    async def search(self, query: str) -> None:
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
        """Update the counts of units that are new or changed."""
        if self.query:
            for index in touched:
                self._count(index)

    def count(self, unit: int) -> int:
        """The number of matches in `unit`."""
        return self._counts.get(unit, 0)

    def ordinal(self, unit: int, nth: int) -> int:
        """The number among all matches of the `nth` in `unit`, from 1."""
        return 1 + nth + sum(self._counts[each] for each in self._units[: bisect_left(self._units, unit)])

    def next(self, unit: int, nth: int, step: int) -> tuple[int, int] | None:
        """The find after (or before, with `step` -1) the `nth` in `unit`, wrapping at the ends."""
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

    def nearest(self, unit: int, nth: int = 0) -> tuple[int, int] | None:
        """The first find from the `nth` in `unit` on; where there is none, the last one before."""
        if not self._units:
            return None
        if nth < self.count(unit):
            return unit, nth
        place = bisect_right(self._units, unit) if self.count(unit) else bisect_left(self._units, unit)
        if place < len(self._units):
            return self._units[place], 0
        return self._units[-1], self._counts[self._units[-1]] - 1

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
    if isinstance(unit, TurnEnd):
        return 0
    if isinstance(unit, CallUnit):
        return _count_in_call(unit, query)
    text = text_of(unit)
    if isinstance(unit, UserMessage):
        text = "\n".join([text, *chips_beside(unit)])
    if isinstance(unit, Prose) and not unit.thinking:
        return count_in_markdown(text, query)
    return text.casefold().count(query)


def count_in_markdown(text: str, query: str) -> int:
    """Count `query` in `text` as it reads."""
    folded = text.casefold()
    if query.isalnum():
        return folded.count(query)
    # Marks and line breaks may interrupt text that reads as one.
    words = "".join(character if character.isalnum() else " " for character in query).split()
    return as_it_reads(text).casefold().count(query) if all(word in folded for word in words) else 0


def _count_in_call(call: CallUnit, query: str) -> int:
    if call.plan is not None or call.answers:
        return describe_call(call).casefold().count(query)
    arguments = [str(value) for value in call.args.values()]
    parts = [call.name, *arguments, call.outcome, outcome_of(call), *image_chips(call.images)]
    return sum(part.casefold().count(query) for part in dict.fromkeys(parts))


class Span(NamedTuple):
    """The characters from `start` to `stop` of a line; `line` is an index into the searched lines."""

    line: int
    start: int
    stop: int


def finds_on(lines: Sequence[Line], query: str) -> list[list[Span]]:
    """Each find of the case-folded `query` on `lines` as they read, without decoration; it may span lines."""
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    for line in lines:
        text = line.text[line.lead :].rstrip()
        joint = line.joint if parts else ""
        starts.append(length + len(joint))
        length += len(joint) + len(text)
        parts += [joint, text]
    found = (_spans(start, stop, lines, starts) for start, stop in occurrences("".join(parts), query))
    return [spans for spans in found if spans]


def _spans(start: int, stop: int, lines: Sequence[Line], starts: Sequence[int]) -> list[Span]:
    spans: list[Span] = []
    index = max(0, bisect_right(starts, start) - 1)
    while index < len(lines) and starts[index] < stop:
        line, begin = lines[index], starts[index]
        end = begin + len(line.text.rstrip()) - line.lead
        first, last = max(start, begin), min(stop, end)
        if last > first:
            spans.append(Span(index, line.lead + first - begin, line.lead + last - begin))
        index += 1
    return spans
