"""Runs the agent in workers of a screen: turns and summaries, one at a time; events arrive as messages.

Events reach the screen at most twenty-five times a second; meanwhile they wait in the queue of their turn,
which joins the deltas of a unit and the previews of a call. The first frame shows no event, so the modules
for events are imported on first use.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from textual.message import Message
from textual.widget import Widget

from cogency_tui.errors import CogencyError, OpenElsewhereError, UnsentError, UsageError
from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.message_queue import MessageQueue, is_own_command

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.agent.event_queue import EventQueue
    from cogency_tui.agent.permissions.gate import Inquiry, Question
    from cogency_tui.agent.until import Until
    from cogency_tui.protocol.events import CompactionFigures, Event, Measure
    from cogency_tui.store.store import StoredConversation
    from cogency_tui.tui.event_pacer import EventPacer
    from cogency_tui.tui.transcript.units import Transcript


class Opening:
    """The opening of the conversation with this `id`, and what is held until it ends."""

    def __init__(self, id: str) -> None:
        self.id = id
        self._held: list[tuple[Written, Callable[[], object]]] = []

    def hold(self, message: Written, send: Callable[[], object]) -> None:
        """Hold `message`, for which `send` is called if the conversation opens."""
        self._held.append((message, send))

    @property
    def messages(self) -> list[Written]:
        """What is held."""
        return [message for message, _send in self._held]

    def release(self) -> None:
        """Send what is held, in its order."""
        held, self._held = self._held, []
        for _message, send in held:
            send()


class Bridge:
    """Runs one piece of work at a time for `screen`, and queues messages sent meanwhile.

    Invariant: no work begins while a conversation is being opened. It would belong to another one than the
    screen shows afterwards.
    """

    class Arrived(Message):
        """Events of the running turn."""

        def __init__(self, events: "list[Event]") -> None:
            self.events = events
            super().__init__()

    class TurnChanged(Message):
        """A turn or a summary began or ended, or a message was queued."""

    class Continued(Message):
        """The last turn goes on: the message for which it ended at a step was removed, or is being edited."""

    class Outdated(Message):
        """Another program has added `turns` to the conversation: its transcript and figures as stored."""

        def __init__(self, turns: int, transcript: "Transcript", total: "Measure") -> None:
            self.turns = turns
            self.transcript = transcript
            self.total = total
            super().__init__()

    class Forked(Message):
        """The conversation is another's, and goes on in the fork with this id, where what was `sent` is still
        to be sent."""

        def __init__(self, fork: str, sent: Written | None) -> None:
            self.fork = fork
            self.sent = sent
            super().__init__()

    class Compacted(Message):
        """A summary replaced the conversation's context: its figures have changed."""

    class Failed(Message):
        """A request failed."""

        def __init__(self, error: CogencyError) -> None:
            self.error = error
            super().__init__()

    class Returned(Message):
        """The last turn failed: the messages that could not be sent return to the user, and those that wait,
        which `take_unsent` gives."""

        def __init__(self, messages: list[Written]) -> None:
            self.messages = messages
            super().__init__()

    class QueueChanged(Message):
        """The queued messages or their order changed."""

    class Asked(Message):
        """A decision is required of the user, or the model asks them; `answer` waits for an `Answer` or an
        `InquiryAnswer`."""

        def __init__(self, question: "Question | Inquiry", answer: "asyncio.Future[Any]") -> None:
            self.question = question
            self.answer = answer
            super().__init__()

    class Withdrawn(Message):
        """The pending question is withdrawn: its answer is no longer needed."""

    class Titled(Message):
        """The conversation with this id was given a title in the background."""

        def __init__(self, conversation_id: str, title: str) -> None:
            self.conversation_id = conversation_id
            self.title = title
            super().__init__()

    class Progressed(Message):
        """New events of a sub-agent's conversation are stored."""

        def __init__(self, conversation_id: str) -> None:
            self.conversation_id = conversation_id
            super().__init__()

    def __init__(self, agent: "Agent", screen: Widget, turns_shown: Callable[[], int]) -> None:
        """`turns_shown` returns the number of turns that the screen shows."""
        self.agent = agent
        self.conversation_id: str | None = None
        self.opening: Opening | None = None
        """The conversation that is being opened, if one is."""
        self.queue = MessageQueue(self._queue_changed)
        self.started: float | None = None
        """When the running work started, in Unix seconds; None while idle."""
        self.retryable = False
        """True if the last turn has begun: if it failed or was interrupted, it can be continued."""
        self._steered = False
        """True if the running turn ends at a step for the first message of the queue."""
        self._failed = False
        self._foreign: str | None = None
        """The conversation on the screen, if it is another agent's, machine's or project's."""
        """True if an error was the last event of the turn, its end aside."""
        self._stopped = False
        """True while messages wait that a failed turn returns to the user: none is sent."""
        self._screen = screen
        self._turns_shown = turns_shown
        self._compaction: asyncio.Task[CompactionFigures] | None = None
        self.until: Until | None = None
        """The work until a command of the user's succeeds."""
        self.sending: Written | None = None
        """The message of the running turn until the turn has begun with it."""
        self._written: Written | None = None
        """The last message that no user has written."""
        self._notice = ""
        self._read: list[Written] = []
        """The queued messages whose mentioned images are read."""
        self._closing = False
        """True once the screen's workers are cancelled: messages that wait are saved, not sent."""
        agent.ask = agent.inquire = self._ask
        agent.titled = self._titled
        agent.progressed = self._progressed

    @cached_property
    def _pacer(self) -> "EventPacer":
        from cogency_tui.tui.event_pacer import EventPacer

        return EventPacer(self._deliver)

    @property
    def working(self) -> bool:
        return self.started is not None

    @property
    def compacting(self) -> bool:
        """True if the running work is a summary."""
        return self._compaction is not None

    def send(self, message: Written) -> None:
        """Run a turn with `message`, or a command of the user's; queue it while work is running, and hold it
        while a conversation is being opened."""
        if self.opening is not None:
            self.opening.hold(message, partial(self.send, message))
            return
        if self.working:
            self.queue.add(message)
        else:
            self._start(message)
        self._screen.post_message(self.TurnChanged())

    def retry(self) -> None:
        """Continue the last turn without another message; requires that no work is running."""
        self._start(None)
        self._screen.post_message(self.TurnChanged())

    def work_until(self, until: "Until", message: Written | None) -> None:
        """Work until a command succeeds: with `message` first, if there is one. A turn that runs is the first
        one; a message then waits as others do."""
        self.until = until
        if self.working:
            until.attach(in_turn=self.queue.in_turn)
            if message is not None:
                self.queue.add(message)
        elif message is not None:
            self._start(message)
        else:
            self._start_check()
        self._screen.post_message(self.TurnChanged())

    def compact(self, conversation_id: str) -> None:
        """Summarize this conversation; requires that no work is running."""
        self.started = time()
        self._compaction = asyncio.create_task(self.agent.compact(conversation_id))
        self._screen.run_worker(partial(self._follow_compaction, self._compaction), group="compact")
        self._screen.post_message(self.TurnChanged())

    def interrupt(self) -> list[Written]:
        """Stop the running work; return the queued messages, which are not sent."""
        unsent = self.queue.clear()
        self._steered = False
        if self.until is not None:
            self.until.stop()
        if self._compaction is not None:
            self._compaction.cancel()
        elif self.conversation_id is not None:
            # Without an id, the agent would interrupt all conversations.
            self.agent.interrupt(self.conversation_id)
        return unsent

    def take_unsent(self) -> list[Written]:
        """Remove and return the messages that wait behind a failed turn."""
        unsent = self.queue.clear()
        self._stopped = False
        return unsent

    def drawn(self) -> None:
        """Note that the last events are on the screen."""
        self._pacer.drawn()

    def begin(self) -> None:
        """Switch to a new conversation."""
        self.conversation_id = None
        self.retryable = False

    def is_of(self, conversation_id: str) -> bool:
        """Return whether this conversation is open here, or will be when it is opened."""
        return conversation_id == (self.conversation_id if self.opening is None else self.opening.id)

    async def reopen(self, conversation_id: str) -> "tuple[Transcript, Measure]":
        """Switch to a past conversation, with the user's choices in it; return its transcript and figures.

        Raises:
            CogencyError: the conversation cannot be read.
        """
        from cogency_tui.agent.cycle_figures import with_figures
        from cogency_tui.agent.subagent_progress import pages_with_progress
        from cogency_tui.store.fork_lineage import inherited_measures
        from cogency_tui.store.pins import Pins
        from cogency_tui.store.summaries import Summaries
        from cogency_tui.store.usage import is_estimated, measures
        from cogency_tui.tui.transcript.units import read_transcript

        store = await self.agent.store()
        await store.recover(conversation_id)
        inherited = await store.database.read(partial(inherited_measures, id=conversation_id))
        own = await store.database.read(partial(measures, conversation_id=conversation_id))
        pages = with_figures(pages_with_progress(store, conversation_id), [*inherited, *own])
        if covered := await Summaries(store.database).covered(conversation_id):
            from cogency_tui.agent.compaction import with_compactions

            pages = with_compactions(pages, covered)
        transcript = await read_transcript(pages)
        transcript.pin(await Pins(store.database).places(conversation_id))
        known = await store.conversation(conversation_id)
        if known is not None:
            transcript.entitle(known.title)
            parent = await store.conversation(known.parent) if known.parent and not known.call else None
            transcript.inherits_title = parent is not None and parent.title == known.title
        total = await store.usage(conversation_id)
        if await store.database.read(partial(is_estimated, conversation_id=conversation_id)):
            total["estimated"] = True
        if conversation_id != self.conversation_id:
            # Until then nothing may store the choices of the conversation before with this one.
            self._notice = await self.agent.resume_choices(conversation_id)
        self.conversation_id = conversation_id
        self._foreign = conversation_id if known is not None and self._is_foreign(known) else None
        is_new_fork = known is not None and known.forked_after is not None
        if command := transcript.until:
            from cogency_tui.protocol.events import notice_event
            from cogency_tui.safe_text import one_line

            command = one_line(command)
            unfinished = f"`{command}` has not succeeded. To continue: /until {command}"
            transcript.feed([notice_event(unfinished, time())])
        marks = await self.agent.recall.open_elsewhere()
        is_elsewhere = any(mark.conversation == conversation_id for mark in marks)
        self.retryable = transcript.report_unfinished(is_new_fork=is_new_fork, is_elsewhere=is_elsewhere)
        return transcript, total

    def _is_foreign(self, conversation: "StoredConversation") -> bool:
        from cogency_tui.temporary_files import is_in_one

        # Without its files, a rerun's goes on nowhere.
        is_rerun = is_in_one(Path(conversation.project), "rerun")
        return bool(conversation.source) or (not is_rerun and self.agent.is_of_other_project(conversation))

    def take_notice(self) -> str:
        """Return, once, what the user should know of the conversation that was switched to."""
        notice, self._notice = self._notice, ""
        return notice

    async def describe_origin(self) -> str:
        """Return what the user should know of a conversation that began elsewhere, or was forked from such a
        one; empty for any other.

        Raises:
            StoreError: the store cannot be read.
        """
        from cogency_tui.safe_text import one_line
        from cogency_tui.store.foreign_sessions import name_of_source

        store, id = await self.agent.store(), self.conversation_id
        conversation = None if id is None else await store.conversation(id)
        if conversation is None or not conversation.imported:
            return ""
        above = None if conversation.parent is None else await store.conversation(conversation.parent)
        source = conversation.source or (above.source if above else "")
        name = one_line(await store.database.read(lambda connection: name_of_source(connection, source)))
        if not source:
            return "This conversation was imported. Its edits need your approval."
        if conversation.source:
            return f"From {name}: a message continues it in a fork of yours. Its edits need your approval."
        return f"A fork of a conversation from {name}. Edits that come from there need your approval."

    async def open(self) -> None:
        """Open the store, so that the first turn does not wait for it.

        Raises:
            CogencyError: the store cannot be opened.
        """
        await self.agent.open()

    async def close(self) -> None:
        """Stop everything and wait until it has stopped."""
        await self.agent.close()

    async def leave(self) -> None:
        """End the conversation, and wait until the end of its work is stored; the others go on."""
        await self.agent.leave(self.conversation_id)

    def _deliver(self, events: "list[Event]") -> None:
        for event in events:
            if event["type"] == "user":
                self.sending = None
            if event["type"] == "metric" and self.until is not None:
                self.until.spent += event["step"].get("cost", 0.0)
            if event["type"] != "end":
                self._failed = event["type"] == "error" and not event["payload"].get("notice")
        self._screen.post_message(self.Arrived(events))

    def _start(self, message: Written | None, *, queued: bool = False) -> None:
        self.started = time()
        self._steered = self._failed = False
        self.queue.in_turn = message is None or not is_own_command(message.full)
        self.sending = message if self.queue.in_turn else None
        self._screen.run_worker(partial(self._turn, message, queued=queued), group="turn")

    def _start_check(self, *, queued: bool = False) -> None:
        """Run the command of `until`."""
        self.started = time()
        self._steered = self._failed = self.queue.in_turn = False
        self._screen.run_worker(partial(self._turn, None, queued=queued, checks=True), group="turn")

    def _titled(self, conversation_id: str, title: str) -> None:
        # The app may be closing.
        with suppress(RuntimeError):
            # The figures of the turn come first: their total is without the request for the title.
            self._pacer.flush()
            self._screen.post_message(self.Titled(conversation_id, title))

    def _progressed(self, conversation_id: str) -> None:
        with suppress(RuntimeError):
            self._screen.post_message(self.Progressed(conversation_id))

    def _queue_changed(self) -> None:
        self._screen.post_message(self.QueueChanged())
        self._read_mentions()
        if self.queue.in_turn and self.queue.steers and self.conversation_id is not None:
            self._steer(self.conversation_id, self.queue.messages[0])
        if not (self.working or self._stopped) and (message := self.queue.take()):
            # The message was being edited when its turn came.
            self.send(message)

    def _steer(self, conversation_id: str, message: Written) -> None:
        """Offer a message to the running answer. One with images goes at the next step: the answer takes text
        only."""
        from cogency_tui.agent.image_mentions import mentioned_images

        if not (message.images or mentioned_images(message.text)):
            self.agent.steer(conversation_id, message.full)

    def _read_mentions(self) -> None:
        """Read the image files that queued messages mention, which may change before the messages go."""
        waiting = [message for place, message in enumerate(self.queue.messages) if place != self.queue.held]
        self._read = [message for message in self._read if message in waiting]
        for message in waiting:
            mentions = "@" in message.text and not is_own_command(message.full)
            if mentions and message not in self._read:
                self._read.append(message)
                self._screen.run_worker(partial(self._attach_mentioned, message), group="mentions")

    async def _attach_mentioned(self, message: Written) -> None:
        images = await self.agent.read_mentioned(message.text)
        if new := {mention: image for mention, image in images.items() if mention not in message.images}:
            attached = replace(message, images={**message.images, **new})
            self._read.append(attached)
            self.queue.exchange(message, attached)

    async def _turn(self, message: Written | None, *, queued: bool, checks: bool = False) -> None:
        before = self.conversation_id
        if self.conversation_id is None:
            from cogency_tui.store.store import new_conversation_id

            self.conversation_id = new_conversation_id()
        from cogency_tui.protocol.events import error_event, notice_event

        queue = self._pacer.renew()
        try:
            if before is not None and self._foreign == before:
                fork = await self.agent.fork_here(before)
                self._screen.post_message(self.Forked(fork.id, message))
                return
            # The turn before a queued message may not be on the screen yet.
            if not queued and await self._catch_up(before) and message is None and not checks:
                return
            self.retryable = not checks and (message is None or not is_own_command(message.full))
            if checks and self.until is not None:
                await self.agent.run_check(self.until, queue, conversation_id=self.conversation_id)
            else:
                await self._run(message, self.conversation_id, queue)
        except CogencyError as exc:
            unsent = not queue.begun
            is_notice = isinstance(exc, UnsentError)
            queue.put(notice_event(str(exc), time()) if is_notice else error_event(_advised(exc), time()))
            if self.until is not None:
                self.until.fail(exc)
            if unsent and message is not None and message != self._written:
                self.retryable = False
                # A conversation of which nothing is stored was never begun.
                self.conversation_id = before
                self._return([self._as_typed(message)])
        except asyncio.CancelledError:
            self._closing = True
            raise
        finally:
            self._finish()

    def _as_typed(self, message: Written) -> Written:
        """The message with the line of `/until` that it was typed below, if no turn has begun."""
        until = self.until
        line = "" if until is None or until.turn else until.line
        return replace(message, text=f"/until {line}\n{message.text}") if line else message

    async def _catch_up(self, id: str | None) -> bool:
        """Show the turns that another program has added to the conversation; return whether it has."""
        stored = None if id is None else await (await self.agent.store()).conversation(id)
        if stored is None or stored.turns <= self._turns_shown():
            return False
        transcript, total = await self.reopen(stored.id)
        # A turn whose message cannot be read is not shown.
        if added := max(0, transcript.turns - self._turns_shown()):
            self._screen.post_message(self.Outdated(added, transcript, total))
        return bool(added)

    async def _run(self, message: Written | None, id: str, queue: "EventQueue") -> None:
        until: dict[str, Any] = {} if self.until is None else {"until": self.until}
        if message is None:
            await self.agent.retry_turn(queue, conversation_id=id, message_waits=self._message_waits, **until)
            return
        from cogency_tui.agent.image_mentions import image_mentions
        from cogency_tui.protocol.transcript import command_in

        text = message.full
        if is_own_command(text) and message.attached:
            # The shell would run the label of the image in place of its path.
            raise UsageError("Not run: images go with messages, not with commands.", "Remove the image.")
        if is_own_command(text):
            await self.agent.run_command(command_in(text), queue, conversation_id=id)
        else:
            typed = message.text if message.own else ""
            await self.agent.run_turn(
                text,
                queue,
                conversation_id=id,
                typed=typed,
                images=message.attached,
                attached=[
                    path
                    for mention, path in image_mentions(message.text).items()
                    if mention in message.images
                ],
                message_waits=self._message_waits,
                **until,
            )

    def _message_waits(self) -> bool:
        self._steered = self.queue.steers
        return self._steered

    async def _follow_compaction(self, work: "asyncio.Task[CompactionFigures]") -> None:
        from cogency_tui.agent.compaction import compaction_event
        from cogency_tui.protocol.events import notice_event

        try:
            await asyncio.wait([work])
            if work.cancelled():
                self._pacer.queue.put(notice_event("Interrupted: nothing was summarized.", time()))
            elif isinstance(failure := work.exception(), CogencyError):
                self._screen.post_message(self.Failed(_advised(failure)))
            else:
                self._pacer.queue.put(compaction_event(work.result(), time()))
                self._screen.post_message(self.Compacted())
        except asyncio.CancelledError:
            self._closing = True
            raise
        finally:
            work.cancel()
            self._compaction = None
            self._finish()

    def _finish(self) -> None:
        """Mark the work as finished, and continue with the queue."""
        self._report_until()
        self.started, self.sending, self.queue.in_turn = None, None, False
        waited = bool(self.queue)
        if self._failed and waited and not self._stopped:
            self._return([])
        if not (self._closing or self._stopped):
            self._send_next()
        if waited:
            self._screen.post_message(self.QueueChanged())
        self._screen.post_message(self.TurnChanged())
        if self.started is None and not self._closing:
            self._screen.run_worker(self._copy_store, group="copy-store")

    async def _copy_store(self) -> None:
        from cogency_tui.agent.weekly_copy import copy_after_turn

        await copy_after_turn(self.agent)

    def _report_until(self) -> None:
        """Show the last events, and what held if all work until a command succeeds has ended."""
        self._pacer.flush()
        if self.until is not None and self._failed and not self.until.is_over:
            # A turn that began before.
            self.until.stop("the turn failed")
        if self.until is None or not self.until.is_over:
            return
        report, failed = self.until.take_report(), self._failed
        self.until = None
        if report is not None:
            self._pacer.queue.put(report)
            self._pacer.flush()
            self._failed = failed

    def _return(self, messages: list[Written]) -> None:
        self._stopped = True
        self._screen.post_message(self.Returned(messages))

    def _send_next(self) -> None:
        """Send the first message that waits. A turn that ended for one that has changed since goes on."""
        if self._steered and not self.queue.steers:
            self._screen.post_message(self.Continued())
            self._start(None, queued=True)
        elif message := self.queue.take():
            self._start(message, queued=True)
        elif self.until is not None and self.until.due == "check":
            self._start_check(queued=True)
        elif self.until is not None:
            self._written = Written(self.until.message, own=False)
            self._start(self._written, queued=True)

    @property
    def background_count(self) -> int:
        """The number of background commands of the open conversation that run."""
        background, id = self.agent.background, self.conversation_id
        return 0 if background is None or id is None else len(background.of(id).running())

    @property
    def allows_edits(self) -> bool:
        """True if the user has allowed all changes of files, in the conversation or in its running turn."""
        return self.agent.allows_edits(self.conversation_id, in_turn=self.working)

    def ask_about_edits(self) -> None:
        """Ask about changes of files again in the open conversation."""
        if gate := self.agent.gate(self.conversation_id):
            gate.ask_about_edits()

    async def approve_by_mode(self) -> int:
        """Approve the waiting questions of the open conversation that the permission mode does not ask;
        return their number.
        """
        return await self.agent.approve_by_mode(self.conversation_id)

    async def files_changed(self) -> None:
        """Ask again about the changes of files that would be others by now."""
        await self.agent.files_changed(self.conversation_id)

    async def _ask(self, question: "Question | Inquiry") -> Any:
        self._pacer.flush()
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._screen.post_message(self.Asked(question, answer))
        try:
            return await answer
        finally:
            if answer.cancelled():
                with suppress(RuntimeError):
                    self._screen.post_message(self.Withdrawn())


def _advised(error: CogencyError) -> CogencyError:
    """The error with a next step in this program in place of one in a shell."""
    if isinstance(error, OpenElsewhereError):
        return OpenElsewhereError(str(error), "Close it there, or continue in a copy with /fork.")
    return error
