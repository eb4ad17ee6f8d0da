"""`!command`: a command that the user runs in the project, and whose output the model sees.

It runs as the agent's commands do (supervised, in the sandbox if there is one, without keys), but without a
question, and its changes are the user's: they are not in the journal of the agent's changes. After its end
it is stored as a user message with `ran`, which the model receives with the next message of a turn. Until
then it is shown as a call of the tool `!`; a consumer receives previews of it, which are never stored.
"""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from cogency_tui.errors import CogencyError, StoreError
from cogency_tui.protocol.events import CallState, Event, RanCommand, UserEvent, error_event
from cogency_tui.protocol.taint_sources import Sources
from cogency_tui.protocol.transcript import INTERRUPTED

if TYPE_CHECKING:
    from cogency_tui.agent.conversation import Conversation
    from cogency_tui.store.store import Store
    from cogency_tui.tools.base import Outcome

NAME = "!"
"""The tool's name in previews."""

LONGEST = 24 * 3600
"""Seconds until the command is stopped; the user can stop it before."""

_SEEN = 200_000
"""Characters of the output that are held in case of an interrupt."""


class UserCommand:
    """Runs once, in `conversation`; `interrupt` ends it soon."""

    def __init__(
        self,
        conversation: "Conversation",
        store: "Store",
        command: str,
        emit: Callable[[Event], None],
        clock: Callable[[], float] = time.time,
        *,
        limit: int = LONGEST,
        shorten: Callable[[str], str] = str,
        overdue: Callable[[], str] = str,
    ) -> None:
        """After `limit` seconds it is stopped. `shorten` returns what the model receives of the output of one
        that has failed. `overdue` says of one that was stopped at which limit of the caller's; empty if the
        user has stopped it."""
        self._conversation = conversation
        self._store = store
        self._command = command
        self._emit = emit
        self._clock = clock
        self._limit = limit
        self._shorten = shorten
        self._overdue = overdue
        self.whole_output = ""
        """All of the output, as far as it is held, once the command has ended."""
        self._id = f"own-{time.monotonic_ns():x}"
        self._output = ""
        self._sources = Sources()
        self._interrupted = False
        self._work: asyncio.Task[Outcome] | None = None
        conversation.begin_work(self)

    def interrupt(self) -> None:
        """Stop the command. It may be called at any time and more than once."""
        self._interrupted = True
        if self._work is not None:
            self._work.cancel()

    def steer(self, query: str) -> None:
        """Do nothing: a command takes no message."""

    async def run(self) -> RanCommand:
        """Run the command to its end, store its result and return it."""
        self._preview()
        began = time.monotonic()
        work = self._work = asyncio.create_task(self._carry_out())
        if self._interrupted:
            work.cancel()
        await asyncio.wait([work])
        ran = self._ran(work, time.monotonic() - began)
        event: UserEvent = {
            "type": "user",
            "timestamp": self._clock(),
            "content": f"! {self._command}",
            "ran": ran,
        }
        self._sources.record(event)
        failure: StoreError | None = None
        try:
            if environment := await self._conversation.environment(self._store):
                event["environment"] = environment
            await self._store.append(self._conversation.id, event)
        except StoreError as error:
            failure = error
        self._emit(event)
        if failure is not None:
            self._emit(error_event(failure, self._clock()))
        self._emit({"type": "end", "timestamp": self._clock()})
        return ran

    def _ran(self, work: "asyncio.Task[Outcome]", duration: float) -> RanCommand:
        if work.cancelled():
            if overdue := self._overdue():
                return self._report("failed", overdue, self._output, duration)
            return self._report("interrupted", INTERRUPTED, self._output, duration)
        if isinstance(error := work.exception(), CogencyError):
            return self._report("failed", "could not be run", error.advice, duration)
        ended = work.result()
        output = str(ended.content).partition("\n")[2]
        return self._report("failed" if ended.failed else "done", ended.outcome, output, duration)

    def _report(self, state: CallState, outcome: str, output: str, duration: float) -> RanCommand:
        from cogency_tui.agent.request_messages import cut

        self.whole_output = output
        if state == "failed":
            output = self._shorten(output)
        return {
            "command": self._command,
            "state": state,
            "outcome": outcome,
            "output": cut(output, self._conversation.settings.output_limit).rstrip("\n"),
            "duration": duration,
        }

    async def _carry_out(self) -> "Outcome":
        from cogency_tui.tools.base import BoundCall, ToolContext
        from cogency_tui.tools.shell.shell_tool import Shell, ShellArgs

        engine = self._conversation.engine
        await self._note_sources()
        shell = Shell(sandbox=engine.sandbox)
        context = ToolContext(engine.workspace, report=self._show, secrets=engine.secrets)
        args = ShellArgs(self._command, timeout=self._limit)
        return await BoundCall(shell, args, context, shell.touch(args, context)).run()

    async def _note_sources(self) -> None:
        """Record the outside sources of the command: they count, no matter who ran it."""
        from cogency_tui.tools.shell.outside_effects import reach
        from cogency_tui.tools.shell.port_owners import ListeningPorts
        from cogency_tui.tools.worker_threads import in_thread

        engine = self._conversation.engine
        ports = ListeningPorts(self._conversation.background.pids)
        found = await in_thread(reach, self._command, engine.workspace.root, engine.workspace, ports)
        if await engine.sandbox.probe(engine.workspace):
            found = replace(found, could_bring="")
        self._sources = found.sources
        self._conversation.gate.note(self._sources)

    def _preview(self) -> None:
        content = json.dumps({"name": NAME, "args": {"command": self._command}})
        self._emit(
            {
                "type": "call",
                "timestamp": self._clock(),
                "id": self._id,
                "content": content,
                "partial": True,
            }
        )
        self._show("")

    def _show(self, text: str) -> None:
        self._output = (self._output + text)[-_SEEN:]
        self._emit(
            {
                "type": "result",
                "timestamp": self._clock(),
                "id": self._id,
                "tool": NAME,
                "duration": 0.0,
                "payload": {"outcome": "running", "content": text, "error": False, "state": "running"},
                "partial": True,
            }
        )
