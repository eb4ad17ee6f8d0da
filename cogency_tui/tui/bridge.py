"""The agent as workers of a screen: turns and summaries, one at a time; their events come as messages.

This module has the agent work; `inquiry` asks it what it knows.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from time import time
from typing import TYPE_CHECKING

from textual.message import Message
from textual.widget import Widget

from cogency_tui.errors import CogencyError
from cogency_tui.protocol.events import Event, Measure, error_event, notice_event
from cogency_tui.store.prompts import Written
from cogency_tui.store.usage import is_estimated
from cogency_tui.tui.coalescer import Coalescer
from cogency_tui.tui.drawing.figures import plural, tokens
from cogency_tui.tui.message_queue import MessageQueue, is_own_command
from cogency_tui.tui.transcript import Transcript, read_transcript

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.agent.history import Compacted
    from cogency_tui.agent.permissions import Answer, Question


class Bridge:
    """Works for `screen`, on one thing at a time, and queues what is sent meanwhile."""

    class Arrived(Message):
        """Events of the running turn."""

        def __init__(self, events: list[Event]) -> None:
            self.events = events
            super().__init__()

    class TurnChanged(Message):
        """A turn or a summary began or ended, or a message was queued."""

    class Compacted(Message):
        """A summary stands for the conversation now: its figures are others."""

    class Failed(Message):
        """What was asked for could not be done."""

        def __init__(self, error: CogencyError) -> None:
            self.error = error
            super().__init__()

    class Returned(Message):
        """A message could not be taken: it is the person's again."""

        def __init__(self, message: Written) -> None:
            self.message = message
            super().__init__()

    class QueueChanged(Message):
        """Other messages wait, or in another order."""

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
        self.queue = MessageQueue(self._queue_changed)
        self.started: float | None = None
        """When what is worked on began, in Unix seconds; None while there is nothing."""
        self._screen = screen
        self._coalescer = Coalescer(self._deliver)
        self._compaction: asyncio.Task[Compacted] | None = None
        agent.ask = self._ask

    @property
    def working(self) -> bool:
        return self.started is not None

    @property
    def compacting(self) -> bool:
        """Whether what is worked on is a summary."""
        return self._compaction is not None

    def send(self, message: Written) -> None:
        """Run a turn with `message`, or a command of the person's, after what is worked on now if anything
        is."""
        if self.working:
            self.queue.add(message)
        else:
            self._start(message)
        self._screen.post_message(self.TurnChanged())

    def compact(self, conversation_id: str) -> None:
        """Have this conversation summarised; nothing else may be worked on."""
        self.started = time()
        self._compaction = asyncio.create_task(self.agent.compact(conversation_id))
        self._screen.run_worker(partial(self._follow_compaction, self._compaction), group="compact")
        self._screen.post_message(self.TurnChanged())

    def interrupt(self) -> list[Written]:
        """Stop what is worked on; what was queued, which is not sent any more."""
        unsent = self.queue.clear()
        if self._compaction is not None:
            self._compaction.cancel()
        else:
            self.agent.interrupt(self.conversation_id)
        return unsent

    def drawn(self) -> None:
        """The last events are on the screen."""
        self._coalescer.drawn()

    def begin(self) -> None:
        """Go on in a new conversation."""
        self.conversation_id = None

    async def reopen(self, conversation_id: str) -> tuple[Transcript, Measure]:
        """Go on in a past conversation; its transcript and figures.

        Raises:
            CogencyError: it cannot be read.
        """
        from cogency_tui.agent.progress import pages_with_progress

        store = await self.agent.store()
        await store.recover(conversation_id)
        transcript = await read_transcript(pages_with_progress(store, conversation_id))
        total = await store.usage(conversation_id)
        if await store.database.read(partial(is_estimated, conversation_id=conversation_id)):
            total["estimated"] = True
        self.conversation_id = conversation_id
        return transcript, total

    async def is_imported(self) -> bool:
        """Whether the conversation, or what it was forked from, came from a file.

        Raises:
            StoreError: it cannot be read.
        """
        id = self.conversation_id
        conversation = None if id is None else await (await self.agent.store()).conversation(id)
        return conversation is not None and conversation.imported

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

    def _start(self, message: Written) -> None:
        self.started = time()
        self._screen.run_worker(partial(self._turn, message), group="turn")

    def _queue_changed(self) -> None:
        self._screen.post_message(self.QueueChanged())
        if not self.working and (message := self.queue.take()):
            # It was being edited when its turn came.
            self.send(message)

    async def _turn(self, message: Written) -> None:
        if self.conversation_id is None:
            from cogency_tui.store.conversations import new_conversation_id

            self.conversation_id = new_conversation_id()
        begun = False
        try:
            async for event in self._events(message, self.conversation_id):
                begun = True
                self._coalescer.put(event)
        except CogencyError as exc:
            self._coalescer.put(error_event(exc, time()))
            if not begun:
                self._screen.post_message(self.Returned(message))
        finally:
            self._finish()

    def _events(self, message: Written, conversation_id: str) -> AsyncIterator[Event]:
        text = message.full
        if is_own_command(text):
            return self.agent.run_command(text[1:].strip(), conversation_id=conversation_id)
        typed = message.text if message.own else ""
        return self.agent.stream(text, conversation_id=conversation_id, chunks=True, typed=typed)

    async def _follow_compaction(self, work: "asyncio.Task[Compacted]") -> None:
        try:
            await asyncio.wait([work])
            if work.cancelled():
                self._coalescer.put(notice_event("Interrupted: nothing was summarised.", time()))
            elif isinstance(failure := work.exception(), CogencyError):
                self._screen.post_message(self.Failed(failure))
            else:
                self._coalescer.put(notice_event(_describe(work.result()), time()))
                self._screen.post_message(self.Compacted())
        finally:
            work.cancel()
            self._compaction = None
            self._finish()

    def _finish(self) -> None:
        """Nothing is worked on any more: go on with what is queued."""
        self._coalescer.flush()
        self.started = None
        if message := self.queue.take():
            self._start(message)
            self._screen.post_message(self.QueueChanged())
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


def _describe(done: "Compacted") -> str:
    verb = "is" if done.events == 1 else "are"
    return (
        f"{plural(done.events, 'event')} {verb} now a summary: about {tokens(done.before)} tokens became "
        f"{tokens(done.after)}. /context shows it."
    )
