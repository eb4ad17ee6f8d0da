"""Stores a turn's events before they are shown, and the open unit as a draft about twice a second.

Invariant: a `kill -9` at any moment loses at most half a second of text. An event that the store refuses is
shown all the same: it has happened. From then on only results of stored calls are stored, so that no call
runs twice and the conversation has no gap in its middle.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from cogency_tui.agent.event_queue import EventQueue
from cogency_tui.errors import StoreError
from cogency_tui.protocol.accumulator import Accumulator
from cogency_tui.protocol.events import (
    BACKGROUND_NEWS,
    PERSISTED,
    ErrorEvent,
    Event,
    RespondEvent,
    ResultEvent,
    ThinkEvent,
)
from cogency_tui.protocol.messages import AnswerItem
from cogency_tui.providers.base import Provider
from cogency_tui.store.answer_items import StoredAnswerItems
from cogency_tui.store.store import Store

_CHECKPOINT = 0.4
_FAILURES = 3
_CONTENT_LOST = "[The call completed, but its output could not be stored: {}]"


class Recorder:
    """Passes a turn's events to the consumer. With `chunks`, deltas and previews pass; otherwise only
    units, and results in call order.
    """

    def __init__(self, store: Store, conversation_id: str, queue: EventQueue, *, chunks: bool) -> None:
        self._store = store
        self._conversation_id = conversation_id
        self._queue = queue
        self._chunks = chunks
        self._items = StoredAnswerItems(store.database)
        self._accumulator = Accumulator()
        self._draft: list[ThinkEvent | RespondEvent] = []
        self._timer: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[None] | None = None
        self._calls: deque[str] = deque()
        self._results: dict[str, ResultEvent] = {}
        self._latest = 0.0
        self.failures: deque[ResultEvent] = deque(maxlen=_FAILURES)
        """The last results, as long as they are failures."""
        self.unstored: StoreError | None = None
        """The error with which the store first refused an event, if it did."""
        self.is_closing = False
        """True if the turn is ending: errors of the store are no longer raised."""
        self._unstored_calls: set[str] = set()

    async def emit(self, event: Event) -> None:
        """Store what this event completes, and deliver it.

        Raises:
            StoreError: it could not be stored; it is delivered all the same.
        """
        if event["type"] == "result":
            self._note_failure(event)
        for unit in self._accumulator.add(event):
            await self._write(unit)
        if event["type"] == "think" or event["type"] == "respond":
            self._draft.append(event.copy())
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(_CHECKPOINT, self._checkpoint)
        if self._chunks:
            self._deliver(event)
        self._require_stored()

    @property
    def has_open_unit(self) -> bool:
        """True if more may come for the last unit: another event would end it."""
        return self._accumulator.is_open

    async def add_items(self, provider: Provider, items: Sequence[AnswerItem]) -> None:
        """Store what the provider delivered beside an event that follows. An error is raised with it."""
        if self.unstored is None:
            try:
                await self._items.add(self._conversation_id, provider.name, provider.model, items)
            except StoreError as error:
                self.unstored = error

    async def fail(self, error: ErrorEvent, kind: str) -> None:
        """Store the error that ends the turn as a failure of this kind, and deliver it."""
        if self.unstored is None:
            stored: ErrorEvent = {**error, "payload": {**error["payload"], "failure": kind}}
            with suppress(StoreError):
                # The error that is delivered matters more.
                await self._store.append(self._conversation_id, stored)
        await self.emit(error)

    async def sync(self) -> None:
        """Sync the calls that are about to run to the disk, all of a block at once.

        Raises:
            StoreError: the disk refuses.
        """
        await self._store.database.sync()

    def preview(self, event: Event) -> None:
        """Deliver an event that is never stored: a partial one, or the result of a call that stayed
        partial.
        """
        if self._chunks:
            self._deliver(event)

    async def close_unit(self, *, interrupted: bool = False, unclosed: bool = False) -> None:
        """Complete the open unit: nothing more comes for it. Errors as `emit`."""
        for unit in self._accumulator.close():
            if unit["type"] == "think" or unit["type"] == "respond":
                if interrupted:
                    unit["interrupted"] = True
                if unclosed:
                    unit["unclosed"] = True
            await self._write(unit)
        self._require_stored()

    def _require_stored(self) -> None:
        if self.unstored is not None and not self.is_closing:
            raise self.unstored

    async def _write(self, unit: Event) -> None:
        if unit["type"] == "think" or unit["type"] == "respond":
            await self._drop_draft()
        try:
            if unit["type"] == "result":
                await self._store_result(unit)
            elif unit["type"] in PERSISTED and self.unstored is None:
                await self._store.append(self._conversation_id, unit)
        except StoreError as error:
            self.unstored = self.unstored or error
        if unit["type"] == "call" and self.unstored is not None:
            self._unstored_calls.add(unit["id"])
        if not self._chunks:
            self._deliver_in_order(unit)

    async def _store_result(self, result: ResultEvent) -> None:
        if result["id"] in self._unstored_calls:
            return
        try:
            await self._store.append(self._conversation_id, result)
        except StoreError as error:
            # That the call ran matters more than its output.
            short = result.copy()
            short["payload"] = {**result["payload"], "content": _CONTENT_LOST.format(error)}
            with suppress(StoreError):
                await self._store.append(self._conversation_id, short)
            raise

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
        """Deliver an event; the consumer's timestamps never decrease."""
        if event["timestamp"] < self._latest:
            event = event.copy()
            event["timestamp"] = self._latest
        self._latest = event["timestamp"]
        self._queue.put(event)

    def _note_failure(self, event: ResultEvent) -> None:
        if event["tool"] == BACKGROUND_NEWS:
            return
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
            with suppress(StoreError):
                # The whole unit follows, and its store error is reported.
                await self._store.append_draft(self._conversation_id, first["id"], first["type"], text)

    async def _drop_draft(self) -> None:
        # The whole unit is stored next, which also removes its stored draft.
        self._draft.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._saving is not None:
            saving, self._saving = self._saving, None
            await saving
