"""The units of a conversation as they were after any of its points, without making them again.

Invariant: a unit is made once. To go to another point costs as much as there is between the two.
"""

import asyncio
from collections.abc import Sequence
from time import perf_counter

from cogency_tui.agent.timeline.model import Point
from cogency_tui.tui.calls import Call
from cogency_tui.tui.transcript import Said, Transcript, Unit

_SLICE = 0.006
"""Seconds that are read for before others have their turn."""

_NONE: frozenset[int] = frozenset()


class Scrubbing:
    """`transcript` has the units of the point that was gone to last; at first none."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self._full = Transcript()
        self._counts: list[int] = []
        self._open: list[frozenset[int]] = []
        """The calls that have no result yet, after each point."""
        self._points: list[int] = []
        """The point that each unit began at."""
        self._events: Sequence[Point] = ()
        self._now = _NONE

    @property
    def title(self) -> str:
        return self._full.title

    async def read(self, points: Sequence[Point]) -> None:
        """Take in all points; no frame waits for it."""
        began = perf_counter()
        self._events = points
        waiting = _NONE
        for index, point in enumerate(points):
            touched = self._full.feed(point.events)
            units = self._full.units
            self._points += [index] * (len(units) - len(self._points))
            calls = {each for each in touched if isinstance(units[each], Call)}
            settled = {each for each in calls if self._full.call(each).settled}
            if calls:
                waiting = (waiting | calls) - settled
            self._counts.append(len(units))
            self._open.append(waiting)
            if perf_counter() - began > _SLICE:
                await asyncio.sleep(0)
                began = perf_counter()
        self._full.close()

    def go_to(self, index: int) -> tuple[int, set[int]]:
        """Have the transcript as it was after this point: how many units it has, and which are others."""
        count, units, full = self._counts[index], self.transcript.units, self._full.units
        kept = min(len(units), count)
        del units[count:]
        units += full[kept:count]
        touched = set(range(kept, count))
        now = self._open[index]
        for each in (self._now ^ now) | {each for each in now if each >= kept}:
            if each >= count:
                continue
            units[each] = self._waiting(each) if each in now else full[each]
            touched.add(each)
        self._now = now
        return count, touched

    def said(self, index: int) -> int:
        """How many messages of the person's there are by this point."""
        return sum(isinstance(unit, Said) for unit in self._full.units[: self._counts[index]])

    def _waiting(self, unit: int) -> Unit:
        """A call before its result."""
        call = Call(self._full.call(unit).id)
        for event in self._events[self._points[unit]].events:
            if event["type"] == "call":
                call.write(event)
        return call
