"""Events on their way to the screen, at most twenty-five times a second.

Nothing is lost or reordered on the way: text deltas of one unit are joined, all else is passed on as it
is. The next batch is delivered only after the one before has been drawn, so a slow terminal is never
flooded.
"""

import asyncio
from collections.abc import Callable

from cogency_tui.protocol.events import Event

FRAME = 1 / 25
"""Seconds between two batches of events, at least."""


class Coalescer:
    """Collects events and delivers them in batches, the first at once."""

    def __init__(self, deliver: Callable[[list[Event]], None], interval: float = FRAME) -> None:
        self._deliver = deliver
        self._interval = interval
        self._events: list[Event] = []
        self._own: Event | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._undrawn = False
        self._due = 0.0

    def put(self, event: Event) -> None:
        """Pass `event` on with the next batch."""
        last = self._events[-1] if self._events else None
        if (
            last is not None
            and (event["type"] == "respond" or event["type"] == "think")
            and last["type"] == event["type"]
            and last["id"] == event["id"]
        ):
            if last is not self._own:
                last = self._own = self._events[-1] = last.copy()
            last["content"] += event["content"]
            if event.get("interrupted"):
                last["interrupted"] = True
            return
        self._events.append(event)
        self._schedule()

    def drawn(self) -> None:
        """The last batch is on the screen."""
        self._undrawn = False
        self._schedule()

    def flush(self) -> None:
        """Deliver what there is."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._events:
            events, self._events, self._own = self._events, [], None
            self._undrawn = True
            self._due = asyncio.get_running_loop().time() + self._interval
            self._deliver(events)

    def _schedule(self) -> None:
        if self._events and self._timer is None and not self._undrawn:
            loop = asyncio.get_running_loop()
            if loop.time() >= self._due:
                self.flush()
            else:
                self._timer = loop.call_at(self._due, self.flush)
