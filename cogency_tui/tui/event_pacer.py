"""Delivers the events of a turn in batches.

Invariant: the next batch is delivered only after the one before is on the screen, so a slow terminal is
never flooded.
"""

import asyncio
from collections.abc import Callable

from cogency_tui.agent.event_queue import EventQueue
from cogency_tui.protocol.events import Event

FRAME = 1 / 25
"""Minimum seconds between two batches of events."""


class EventPacer:
    """Delivers the events of its queue in batches, the first at once."""

    def __init__(self, deliver: Callable[[list[Event]], None], interval: float = FRAME) -> None:
        self.queue = EventQueue(self._schedule)
        self._deliver = deliver
        self._interval = interval
        self._timer: asyncio.TimerHandle | None = None
        self._undrawn = False
        self._due = 0.0

    def renew(self) -> EventQueue:
        """A new queue, for the events of another turn."""
        self.flush()
        self.queue = EventQueue(self._schedule)
        return self.queue

    def drawn(self) -> None:
        """Note that the last batch is on the screen."""
        self._undrawn = False
        self._schedule()

    def flush(self) -> None:
        """Deliver all pending events."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self.queue.empty:
            self._undrawn = True
            self._due = asyncio.get_running_loop().time() + self._interval
            self._deliver(self.queue.take())

    def _schedule(self) -> None:
        if not self.queue.empty and self._timer is None and not self._undrawn:
            loop = asyncio.get_running_loop()
            if loop.time() >= self._due:
                self.flush()
            else:
                self._timer = loop.call_at(self._due, self.flush)
