"""The queue of events from a turn to its consumer, in order; the turn never waits for the consumer.

A consumer that lags behind receives fewer, larger pieces: deltas of one unit and previews of one call are
joined, and the output of a running tool is cut to its last `_PREVIEW_LIMIT` characters.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any

from cogency_tui.protocol.events import Event

_PREVIEW_LIMIT = 200_000


class EventQueue:
    """A queue for one consumer, which iterates it until it is closed and empty, or takes what there is
    whenever `notify` was called.
    """

    def __init__(self, notify: Callable[[], None] = lambda: None) -> None:
        self._entries: deque[_Entry] = deque()
        self._news = asyncio.Event()
        self._notify = notify
        self.begun = False
        """True if an event was ever put into it."""
        self._closed = False

    def put(self, event: Event) -> None:
        self.begun = True
        if not (self._entries and self._entries[-1].join(event)):
            self._entries.append(_Entry(event))
        self._news.set()
        self._notify()

    def take(self) -> list[Event]:
        """Remove and return all events."""
        entries, self._entries = self._entries, deque()
        return [entry.event() for entry in entries]

    @property
    def empty(self) -> bool:
        return not self._entries

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Declare that no more events come."""
        self._closed = True
        self._news.set()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while True:
            while self._entries:
                yield self._entries.popleft().event()
            if self._closed:
                return
            self._news.clear()
            await self._news.wait()


class _Entry:
    """An event and its continuations; they are joined when the consumer takes the entry, so that the work
    is linear.
    """

    __slots__ = ("_event", "_more", "_size")

    def __init__(self, event: Event) -> None:
        self._event = event
        self._more: list[Event] = []
        self._size = 0

    def join(self, event: Event) -> bool:
        """Add `event` if it continues this one; whether it does."""
        first = self._event
        if first["type"] == "think" or first["type"] == "respond":
            if event["type"] != first["type"] or event["id"] != first["id"]:
                return False
        elif first["type"] == "result" or first["type"] == "call":
            if event["type"] != first["type"] or event["id"] != first["id"]:
                return False
            if not (first.get("partial") and event.get("partial")):
                return False
        else:
            return False
        self._more.append(event)
        if event["type"] == "result":
            self._size += len(event["payload"]["content"])
            if self._size > 2 * _PREVIEW_LIMIT:
                self._event, self._more, self._size = self.event(), [], _PREVIEW_LIMIT
        return True

    def event(self) -> Event:
        """The event joined with its continuations."""
        if not self._more:
            return self._event
        parts: list[Event] = [self._event, *self._more]
        whole = self._event.copy()
        if whole["type"] == "result":
            payloads = [part["payload"] for part in parts if part["type"] == "result"]
            output = "".join(payload["content"] for payload in payloads)
            whole["payload"] = {**whole["payload"], "content": output[-_PREVIEW_LIMIT:]}
            if steps := [step for payload in payloads for step in payload.get("steps", ())]:
                whole["payload"]["steps"] = steps
        elif whole["type"] == "call":
            whole["content"] = _joined([part["content"] for part in parts if part["type"] == "call"])
        elif whole["type"] == "think" or whole["type"] == "respond":
            units = [part for part in parts if part["type"] == "think" or part["type"] == "respond"]
            whole["content"] = "".join(unit["content"] for unit in units)
            if units[-1].get("interrupted"):
                whole["interrupted"] = True
        return whole


def _joined(previews: list[str]) -> str:
    """The previews of one call as one: pieces of text arguments are joined."""
    whole: dict[str, Any] = {}
    texts: dict[str, list[str]] = {}
    for preview in previews:
        record = json.loads(preview)
        whole = {**record, "args": {**whole.get("args", {}), **record["args"]}}
        for key, value in record["args"].items():
            if isinstance(value, str):
                texts.setdefault(key, []).append(value)
    whole["args"].update({key: "".join(pieces) for key, pieces in texts.items()})
    return json.dumps(whole, ensure_ascii=False)
