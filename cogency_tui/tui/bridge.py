"""The agent as workers of a screen: its events come as messages, at most twenty-five times a second.

Nothing is lost or reordered on the way: text deltas of one unit are joined, all else is passed on as it
is. The next batch is sent only after the one before has been drawn, so a slow terminal is never flooded.
This is the only module that talks to the agent.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import time
from typing import TYPE_CHECKING

from textual.message import Message
from textual.widget import Widget

from cogency_tui.errors import CogencyError
from cogency_tui.protocol.events import ErrorEvent, Event, Measure

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.agent.permissions import Answer, Question
    from cogency_tui.store.conversations import Conversation

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


class Bridge:
    """Runs turns for `screen`, one at a time, and queues what is sent meanwhile."""

    class Arrived(Message):
        """Events of the running turn."""

        def __init__(self, events: list[Event]) -> None:
            self.events = events
            super().__init__()

    class TurnChanged(Message):
        """A turn began or ended, or a message was queued."""

    class Returned(Message):
        """A message could not be taken: it is the person's again."""

        def __init__(self, text: str) -> None:
            self.text = text
            super().__init__()

    class Asked(Message):
        """The person has to decide; `answer` waits for it."""

        def __init__(self, question: "Question", answer: "asyncio.Future[Answer]") -> None:
            self.question = question
            self.answer = answer
            super().__init__()

    class Withdrawn(Message):
        """Nobody waits for an answer any more."""

    def __init__(self, agent: "Agent", screen: Widget) -> None:
        self.agent = agent
        self.conversation_id: str | None = None
        self.queued: list[str] = []
        self.started: float | None = None
        """When the running turn began, in Unix seconds; None while none runs."""
        self._screen = screen
        self._coalescer = Coalescer(self._deliver)
        agent.ask = self._ask

    @property
    def working(self) -> bool:
        return self.started is not None

    def send(self, text: str) -> None:
        """Run a turn with `text`, after the one that runs now if any."""
        if self.working:
            self.queued.append(text)
        else:
            self._start(text)
        self._screen.post_message(self.TurnChanged())

    def interrupt(self) -> str:
        """Stop the running turn; what was queued, which is not sent any more."""
        unsent, self.queued = "\n\n".join(self.queued), []
        self.agent.interrupt(self.conversation_id)
        return unsent

    def drawn(self) -> None:
        """The last events are on the screen."""
        self._coalescer.drawn()

    def begin(self) -> None:
        """Go on in a new conversation."""
        self.conversation_id = None

    async def reopen(self, conversation_id: str) -> tuple[list[Event], Measure]:
        """Go on in a past conversation; its events and figures.

        Raises:
            CogencyError: it cannot be read.
        """
        from cogency_tui.agent.progress import with_progress

        store = await self.agent.store()
        await store.recover(conversation_id)
        events = await with_progress(store, conversation_id)
        usage = await store.usage(conversation_id)
        self.conversation_id = conversation_id
        return events, usage

    async def conversations(self, limit: int) -> "list[Conversation]":
        """The last conversations of this project, the newest first.

        Raises:
            CogencyError: the store cannot be read.
        """
        store = await self.agent.store()
        return await store.conversations(str(self.agent.project), limit=limit)

    async def place(self) -> tuple[int, int]:
        """Which conversation of how many of this project this is, counted from the oldest.

        Raises:
            CogencyError: the store cannot be read.
        """
        store = await self.agent.store()
        count = await store.count(str(self.agent.project))
        if self.conversation_id is None:
            return count + 1, count + 1
        newer = await store.conversations(str(self.agent.project), limit=1000)
        ids = [conversation.id for conversation in newer]
        if self.conversation_id not in ids:
            return 0, count
        return count - ids.index(self.conversation_id), count

    async def open(self) -> None:
        """Open the store, so that the first turn does not wait for it.

        Raises:
            CogencyError: it cannot be opened.
        """
        await self.agent.open()

    async def close(self) -> None:
        """Stop everything and wait until it has stopped."""
        await self.agent.close()

    def _deliver(self, events: list[Event]) -> None:
        self._screen.post_message(self.Arrived(events))

    def _start(self, text: str) -> None:
        self.started = time()
        self._screen.run_worker(partial(self._turn, text), group="turn")

    async def _turn(self, text: str) -> None:
        if self.conversation_id is None:
            from cogency_tui.store.conversations import new_conversation_id

            self.conversation_id = new_conversation_id()
        begun = False
        try:
            async for event in self.agent.stream(text, conversation_id=self.conversation_id, chunks=True):
                begun = True
                self._coalescer.put(event)
        except CogencyError as exc:
            self._coalescer.put(error_event(exc))
            if not begun:
                self._screen.post_message(self.Returned(text))
        finally:
            self._coalescer.flush()
            self.started = None
            if self.queued:
                self._start(self.queued.pop(0))
            self._screen.post_message(self.TurnChanged())

    async def _ask(self, question: "Question") -> "Answer":
        self._coalescer.flush()
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._screen.post_message(self.Asked(question, answer))
        try:
            return await answer
        finally:
            if answer.cancelled():
                with suppress(RuntimeError):
                    self._screen.post_message(self.Withdrawn())


def error_event(error: CogencyError) -> ErrorEvent:
    """An error of ours as the event that shows it."""
    return {"type": "error", "timestamp": time(), "payload": {"error": str(error), "hint": error.hint}}
