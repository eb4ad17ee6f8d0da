"""Puts a turn's events into the store before they are shown; the open unit as a draft twice a second.

So that a `kill -9` at any moment loses at most half a second of text (safety.md, promise 9).
"""

import asyncio
from collections import deque

from cogency_tui.agent.accumulator import Accumulator
from cogency_tui.agent.outbox import Outbox
from cogency_tui.protocol.events import PERSISTED, Event, RespondEvent, ResultEvent, ThinkEvent
from cogency_tui.store.conversations import Store

_CHECKPOINT = 0.4
_FAILURES = 3


class Recorder:
    """The one way of an event to the consumer. With `chunks` deltas and previews pass, else only units,
    and results in call order."""

    def __init__(self, store: Store, conversation_id: str, outbox: Outbox, *, chunks: bool) -> None:
        self._store = store
        self._conversation_id = conversation_id
        self._outbox = outbox
        self._chunks = chunks
        self._accumulator = Accumulator()
        self._draft: list[ThinkEvent | RespondEvent] = []
        self._timer: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[None] | None = None
        self._calls: deque[str] = deque()
        self._results: dict[str, ResultEvent] = {}
        self._latest = 0.0
        self.failures: deque[ResultEvent] = deque(maxlen=_FAILURES)
        """The last results, as long as they are failures."""

    async def emit(self, event: Event) -> None:
        """Store what this event completes, then hand it on."""
        if event["type"] == "result":
            self._note_failure(event)
        for unit in self._accumulator.add(event):
            await self._keep(unit)
        if event["type"] == "think" or event["type"] == "respond":
            self._draft.append(event.copy())
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(_CHECKPOINT, self._checkpoint)
        if self._chunks:
            self._deliver(event)

    def preview(self, event: Event) -> None:
        """Hand on an event that is never stored: a partial one, or the result of a call that stayed so."""
        if self._chunks:
            self._deliver(event)

    async def close_unit(self, *, interrupted: bool = False, unclosed: bool = False) -> None:
        """Complete the open unit: nothing more comes for it."""
        for unit in self._accumulator.close():
            if unit["type"] == "think" or unit["type"] == "respond":
                if interrupted:
                    unit["interrupted"] = True
                if unclosed:
                    unit["unclosed"] = True
            await self._keep(unit)

    async def _keep(self, unit: Event) -> None:
        if unit["type"] == "think" or unit["type"] == "respond":
            await self._drop_draft()
        if unit["type"] in PERSISTED:
            await self._store.append(self._conversation_id, unit)
        if not self._chunks:
            self._deliver_in_order(unit)

    def _deliver_in_order(self, unit: Event) -> None:
        if unit["type"] == "call":
            self._calls.append(unit["id"])
        elif unit["type"] == "result" and unit["id"] in self._calls:
            self._results[unit["id"]] = unit
            while self._calls and self._calls[0] in self._results:
                self._deliver(self._results.pop(self._calls.popleft()))
            return
        self._deliver(unit)

    def _deliver(self, event: Event) -> None:
        """Hand an event to the consumer, whose timestamps never go back."""
        if event["timestamp"] < self._latest:
            event = event.copy()
            event["timestamp"] = self._latest
        self._latest = event["timestamp"]
        self._outbox.put(event)

    def _note_failure(self, event: ResultEvent) -> None:
        if not event["payload"]["error"]:
            self.failures.clear()
        else:
            self.failures.append(event)

    def _checkpoint(self) -> None:
        self._timer = None
        self._saving = asyncio.create_task(self._save_draft())

    async def _save_draft(self) -> None:
        deltas, self._draft = self._draft, []
        if deltas:
            text = "".join(delta["content"] for delta in deltas)
            first = deltas[0]
            await self._store.append_draft(self._conversation_id, first["id"], first["type"], text)

    async def _drop_draft(self) -> None:
        # The whole unit is stored next, which also removes what was saved of it.
        self._draft.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._saving is not None:
            saving, self._saving = self._saving, None
            await saving
