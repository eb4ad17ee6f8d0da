"""The units of a conversation as they were after any of its points, without rebuilding them.

Invariant: a unit is built once. The cost of a move is proportional to the distance between the two points.
"""

import asyncio
from collections.abc import Sequence
from time import perf_counter

from cogency_tui.agent.timeline.model import Point
from cogency_tui.protocol.events import Event
from cogency_tui.tui.conversation.fork import last_event
from cogency_tui.tui.transcript.call_unit import CallUnit
from cogency_tui.tui.transcript.units import Transcript, Unit, UserMessage

_SLICE = 0.006
"""Seconds of reading before other tasks get their turn."""

_NONE: frozenset[int] = frozenset()


class Scrubbing:
    """`transcript` has the units of the present point; initially none. Files in the directory `root` are
    named relative to it."""

    def __init__(self, root: str = "") -> None:
        self.transcript = Transcript()
        self._full = Transcript()
        self._full.locate(root)
        self._counts: list[int] = []
        self._open: list[frozenset[int]] = []
        """The calls that have no result yet, after each point."""
        self._points: list[int] = []
        """The point at which each unit began."""
        self._units: list[int] = []
        """The unit of each point: of a result, that of its call."""
        self._events: Sequence[Point] = ()
        self._now = _NONE

    @property
    def title(self) -> str:
        return self._full.title

    async def read(self, points: Sequence[Point]) -> None:
        """Read all points, without delaying a frame."""
        began = perf_counter()
        self._events = points
        waiting = _NONE
        for index, point in enumerate(points):
            touched = self._full.feed(point.events)
            units = self._full.units
            self._points += [index] * (len(units) - len(self._points))
            self._units.append(max(touched, default=self._units[-1] if self._units else 0))
            calls = {each for each in touched if isinstance(units[each], CallUnit)}
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
        """Move the transcript to this point; return its number of units, and those that changed."""
        count, units, full = self._counts[index], self.transcript.units, self._full.units
        retained = min(len(units), count)
        del units[count:]
        units += full[retained:count]
        touched = set(range(retained, count))
        now = self._open[index]
        for each in (self._now ^ now) | {each for each in now if each >= retained}:
            if each >= count:
                continue
            units[each] = self._waiting(each) if each in now else full[each]
            touched.add(each)
        self._now = now
        return count, touched

    def messages_before(self, index: int) -> int:
        """The number of the user's messages by this point."""
        return sum(isinstance(unit, UserMessage) for unit in self._full.units[: self._counts[index]])

    def fork_end(self, index: int) -> int:
        """The number of points that a fork at this one begins with: without a message of the user, and with
        the results of all calls that run beside one."""
        stored = [(number, point.event) for number, point in enumerate(self._events, 1)]
        return last_event(self._full, self._units[index], stored) or 0

    def call_of(self, event: Event) -> CallUnit | None:
        """The call that an event up to the present point belongs to, in its state there; None if it is no
        call's."""
        if event["type"] != "call" and event["type"] != "result":
            return None
        found = self._full.call_with(event["id"])
        unit = self.transcript.units[found[0]] if found else None
        return unit if isinstance(unit, CallUnit) else None

    def _waiting(self, unit: int) -> Unit:
        """A call in its state before its result."""
        full = self._full.call(unit)
        call = CallUnit(full.id, root=full.root)
        for event in self._events[self._points[unit]].events:
            if event["type"] == "call":
                call.write(event)
        return call
