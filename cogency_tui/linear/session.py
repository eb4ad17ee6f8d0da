"""The plain-line loop: a line in, a turn or a command, lines out. Ctrl+C interrupts what runs; twice, it
leaves.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Literal

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.profile.profile import OFFER
from cogency_tui.agent.weekly_copy import WeeklyCopy
from cogency_tui.cli.run import DONE, FAILED, status_after
from cogency_tui.cli.standard_streams import print_text
from cogency_tui.cli.trust import print_unused
from cogency_tui.errors import CogencyError, UsageError
from cogency_tui.linear import background
from cogency_tui.linear.announcer import Announcer, spoken_error
from cogency_tui.linear.background import BackgroundNotices
from cogency_tui.linear.commands import run_command
from cogency_tui.linear.input import InputLines
from cogency_tui.linear.questions import Questions
from cogency_tui.protocol.events import Event, Measure
from cogency_tui.protocol.transcript import command_in, shown_text
from cogency_tui.providers.models import describe_ending
from cogency_tui.safe_text import one_line, reveal
from cogency_tui.signal_delivery import on_signal

if TYPE_CHECKING:
    from cogency_tui.agent.until import Until

_TWICE = 2.0
"""Seconds within which a second Ctrl+C leaves."""


async def run_session(agent: Agent, prompt: str, conversation_id: str | None) -> int:
    """Converse with the user, or with a pipe; return the exit status: for a pipe that of the last turn."""
    async with agent:
        return await LinearSession(agent).run(prompt, conversation_id)


class LinearSession:
    """One conversation after the other, in plain lines."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.conversation_id: str | None = None
        self.total: Measure = {}
        self.last_output = ""
        self._interactive = sys.stdin.isatty() and sys.stdout.isatty()
        self._lines = InputLines(
            sys.stdin.fileno(), interactive=self._interactive, waits=self._report_waiting
        )
        self._status = DONE
        self._work: Literal["", "turn", "command"] = ""
        self._left = False
        self._pressed = 0.0
        self._task: asyncio.Task[int] | None = None
        self.until: Until | None = None
        """The work until a command of the user's succeeds."""
        questions = Questions(self._lines, self._run_while_asked)
        self._background = BackgroundNotices()
        self._copy = WeeklyCopy(agent)
        agent.ask, agent.inquire = questions.ask, questions.inquire

    async def run(self, prompt: str, conversation_id: str | None) -> int:
        """Greet, then process lines until there are no more."""
        self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        on_signal(loop, signal.SIGINT, self._interrupt)
        for number in (signal.SIGTERM, signal.SIGHUP):
            on_signal(loop, number, self._stop)
        self._lines.open()
        try:
            self._greet()
            await (await self.agent.store()).report(lambda notice: print_text(f"Note: {notice}"))
            await asyncio.to_thread(print_unused, self.agent.project_settings)
            if conversation_id is not None:
                await self.open(conversation_id)
            if prompt:
                await self.turn(prompt)
            while not self._left and (text := await self._message()) is not None:
                await self._take(text.strip())
            if not self._interactive:
                await self._copy.finish()
        except asyncio.CancelledError:
            # Only this class cancels the task: the user leaves.
            if not self._left:
                raise
        finally:
            self._lines.close()
        return DONE if self._interactive else self._status

    def begin(self, conversation_id: str | None) -> None:
        """Switch to another conversation, None for a new one."""
        if self.until is not None:
            self.until.stop("another conversation is open")
        self.conversation_id = conversation_id
        self.total = {}
        self.last_output = ""

    async def open(self, conversation_id: str) -> None:
        """Resume a past conversation, and print its last exchange."""
        store = await self.agent.store()
        conversation = await store.resolve(conversation_id)
        events = await store.events(conversation.id)
        self.begin(conversation.id)
        if notice := await self.agent.resume_choices(conversation.id):
            print_text(f"Note: {one_line(notice)}")
        self.total = await store.usage(conversation.id)
        print_text(f"Conversation: {one_line(conversation.title) or 'Untitled'}, {conversation.turns} turns.")
        for text in _last_exchange(events):
            print_text(text)

    async def store_choices(self) -> None:
        """Store the model, effort and dialect with the conversation, if it has begun."""
        if self.conversation_id is not None:
            await self.agent.store_choices(self.conversation_id)

    def leave(self) -> None:
        """Process no further line."""
        self._left = True

    def _greet(self) -> None:
        agent = self.agent
        print_text(f"cogency in plain lines. Project {one_line(str(agent.project))}.")
        model = f"{one_line(agent.provider.name)}/{one_line(agent.provider.model)}"
        print_text(f"Model {model}, session mode {agent.mode}, permissions {agent.permissions}.")
        if notice := describe_ending(
            agent.provider.model, agent.provider.facts, "choose another with /model."
        ):
            print_text(f"Note: {one_line(notice)}")
        print_text("Type a message. /help lists the commands, Ctrl+C interrupts, /quit quits.")

    async def _message(self) -> str | None:
        if not self._interactive or self._lines.queued:
            return await self._lines.message()
        _print_lines(self._background_lines())
        print("> ", end="", flush=True)
        if not self._running_background():
            return await self._lines.message()
        line = asyncio.ensure_future(self._lines.message())
        try:
            while not line.done():
                runs = bool(self._running_background())
                await asyncio.wait([line], timeout=background.INTERVAL if runs else None)
                if not line.done() and (lines := self._background_lines()):
                    # What is typed of a line stays in the terminal's input: Ctrl+R shows it again.
                    print(flush=True)
                    _print_lines(lines)
                    print("> ", end="", flush=True)
            return line.result()
        finally:
            line.cancel()

    def _running_background(self) -> list[str]:
        """The background commands of the conversation that run."""
        commands, id = self.agent.background, self.conversation_id
        return [] if commands is None or id is None else commands.of(id).running()

    def _background_lines(self) -> list[str]:
        """What background commands have done since the last call."""
        commands, id = self.agent.background, self.conversation_id
        if commands is None or id is None:
            return []
        return [f"Background: {line}" for line in self._background.take(commands.of(id).listed())]

    async def _run_while_asked(self, text: str) -> None:
        """Run a command that works while a question is open."""
        if text == "/quit":
            self._stop()
            # The question is withdrawn with its turn.
            await asyncio.get_running_loop().create_future()
        elif text in ("/help", "/todos"):
            await run_command(self, text)

    async def _take(self, text: str) -> None:
        if not text:
            return
        if not (text.startswith("/") or command_in(text)):
            await self.turn(text)
            return
        try:
            await (run_command(self, text) if text.startswith("/") else self._run_own(command_in(text)))
        except CogencyError as exc:
            print_text(f"Error: {exc} Next step: {exc.hint}" if exc.hint else f"Error: {exc}")

    async def _run_own(self, command: str) -> None:
        """Run a command of the user's in the project.

        Raises:
            UsageError: the user did not type it, or cannot see all of it.
            CogencyError: it could not be run.
        """
        self._require_typed("A ! command runs")
        if reveal(command) != command:
            raise UsageError("This command contains invisible characters.", "Type it without them.")
        await self._run_command(partial(self.agent.run_command, command))

    def _require_typed(self, what: str) -> None:
        if not self._interactive:
            raise UsageError(f"{what} only where you type it.", "Run it in your shell instead.")

    async def _run_command(self, run: "Callable[..., Awaitable[None]]") -> None:
        """Run a command of the user's, and print what it wrote."""
        from cogency_tui.agent.event_queue import EventQueue

        announcer, queue = Announcer(), EventQueue()
        async with self._working("command") as conversation_id:
            await run(queue, conversation_id=conversation_id)
        for event in queue.take():
            if event["type"] in ("user", "error"):
                _print_lines(announcer.feed(event))
        self.last_output = announcer.last_output

    async def work_until(self, argument: str) -> None:
        """Work until the command in `argument` succeeds; what the user types meanwhile is done between turns.

        Raises:
            UsageError: the user did not type it, or it is no command.
            CogencyError: it could not be run.
        """
        from cogency_tui.agent.until import read_until

        self._require_typed("/until runs a command")
        if self.until is not None:
            raise UsageError(f"Already working until `{self.until.name}` succeeds.", "/until off ends it.")
        until, message = read_until(argument)
        self.until = until
        try:
            await self._work_until(until, message)
        finally:
            self.until = None
        if report := until.take_report():
            print_text(spoken_error(report["payload"]))

    async def _work_until(self, until: "Until", message: str) -> None:
        while not (until.is_over or self._left):
            if until.due == "check":
                print_text(f"Command {until.name} started")
                await self._run_command(partial(self.agent.run_check, until))
            else:
                print_text(f"Working until {until.name} succeeds: {until.next_place}.")
                await self.turn(message or until.message, is_typed=bool(message))
                message = ""
            while self._lines.queued and not self._left:
                await self._take(((await self._message()) or "").strip())

    @asynccontextmanager
    async def _working(self, work: Literal["turn", "command"]) -> AsyncGenerator[str]:
        """Do `work` in the conversation of the given id, which may be a new one."""
        from cogency_tui.store.store import new_conversation_id

        self.conversation_id = self.conversation_id or new_conversation_id()
        self._work = work
        try:
            yield self.conversation_id
        finally:
            self._work = ""

    async def turn(self, text: str, *, is_typed: bool = True) -> None:
        announcer = Announcer()
        status: int | None = None
        try:
            async with (
                self._working("turn") as conversation_id,
                aclosing(
                    self.agent.stream(
                        text,
                        conversation_id=conversation_id,
                        typed=text if self._interactive and is_typed else "",
                        message_waits=partial(self._steers, announcer),
                        until=self.until,
                    )
                ) as events,
            ):
                async for event in events:
                    _print_lines(announcer.feed(event))
                    status = status_after(event, status)
            if self._interactive and await self.agent.profile.offers(conversation_id):
                print_text(f"Note: {OFFER}")
        except CogencyError as exc:
            print_text(f"Error: {exc.advice}")
            if self.until is not None:
                self.until.fail(exc)
        finally:
            self._status = FAILED if status is None else status
        if self._status == FAILED:
            self._drop_waiting()
        self.total = announcer.total or self.total
        self.last_output = announcer.last_output
        self._copy.begin()

    def _steers(self, announcer: Announcer) -> bool:
        """Return whether a message waits, for which the turn ends."""
        announcer.steered = self._lines.message_waits
        return announcer.steered

    def _report_waiting(self, line: str) -> None:
        """Report when a line goes that was typed while something runs; `/quit` does at once."""
        text = line.strip()
        if not (self._work and text):
            return
        if text == "/quit":
            self._stop()
            return
        at_step = self._work == "turn" and not self._lines.command_waits
        print_text(f"{'At the next step' if at_step else f'After this {self._work}'}: {one_line(text)}")

    def _drop_waiting(self) -> None:
        """Drop what a user has typed for later: it was meant to follow what has not come about."""
        if self._interactive:
            _print_lines(f"Not sent: {one_line(line)}" for line in self._lines.drop())

    def _interrupt(self) -> None:
        """Interrupt what runs; otherwise ask for another Ctrl+C to leave."""
        now = monotonic()
        again, self._pressed = now - self._pressed < _TWICE, now
        if self._work and not again:
            self._drop_waiting()
            if self.until is not None:
                self.until.stop()
            self.agent.interrupt(self.conversation_id)
        elif again:
            self._stop()
        else:
            print_text(f"{os.linesep}Press Ctrl+C again to quit.")

    def _stop(self) -> None:
        self._left = True
        if self._interactive:
            # The shell's next output must not follow our prompt on the same line.
            print(flush=True)
        if self._task is not None:
            self._task.cancel()


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        print_text(line)


def _last_exchange(events: list[Event]) -> list[str]:
    """The last message of the user, and the answers to it, or the error that ended the turn."""
    message = [event for event in events if event["type"] in ("user", "respond", "error")]
    asked = next(
        (at for at in range(len(message) - 1, -1, -1) if message[at]["type"] == "user"), len(message)
    )
    lines: list[str] = []
    for event in message[asked:]:
        if event["type"] == "user":
            lines.append(f"You: {shown_text(event)}")
        elif event["type"] == "respond":
            lines.append(f"Answer: {event['content']}")
        elif event["type"] == "error":
            lines.append(spoken_error(event["payload"]))
    return lines
