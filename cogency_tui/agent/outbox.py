"""Events on their way from a turn to its consumer, in order; the turn never waits for the consumer.

A consumer that lags behind gets what piled up in fewer, larger pieces: deltas of one unit and
previews of one call are joined, and the output of a running tool is kept to its last part.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from cogency_tui.protocol.events import Event

_PREVIEW_LIMIT = 200_000


class Outbox:
    """A queue for one consumer that ends when it is closed and empty."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._arrived = asyncio.Event()
        self._closed = False

    def put(self, event: Event) -> None:
        if not (self._events and _join(self._events[-1], event)):
            self._events.append(event)
        self._arrived.set()

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Nothing more will come."""
        self._closed = True
        self._arrived.set()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while True:
            while self._events:
                yield self._events.popleft()
            if self._closed:
                return
            self._arrived.clear()
            await self._arrived.wait()


def _join(last: Event, event: Event) -> bool:
    """Add `event` to `last` where the two are pieces of one thing; whether they were."""
    if last["type"] == "think" and event["type"] == "think" and last["id"] == event["id"]:
        last["content"] += event["content"]
        return True
    if last["type"] == "respond" and event["type"] == "respond" and last["id"] == event["id"]:
        last["content"] += event["content"]
        return True
    if last["type"] == "result" and event["type"] == "result" and last["id"] == event["id"]:
        if not (last.get("partial") and event.get("partial")):
            return False
        output = last["payload"]["content"] + event["payload"]["content"]
        last["payload"]["content"] = output[-_PREVIEW_LIMIT:]
        return True
    return False
