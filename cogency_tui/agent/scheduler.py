"""Calls to results: every call gets exactly one, whatever happens; nothing raises, nothing ever hangs.

One scheduler for batches and actions. A call starts when what it depends on has succeeded, and when no
earlier call is still to touch the same file, one of them writing (protocols.md, section 3).
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from cogency_tui.agent.jobs import Job, State, blocked_by, in_cycles
from cogency_tui.agent.permissions import Gate
from cogency_tui.agent.variables import as_text, names_in, substitute
from cogency_tui.errors import ToolError
from cogency_tui.protocol.events import CallEvent, ResultEvent
from cogency_tui.protocol.transcript import call_record
from cogency_tui.tools.base import BoundCall, Outcome, ToolContext, Touch
from cogency_tui.tools.registry import Registry

Preview = Callable[[ResultEvent], None]

_BACK_OFF = 0.2
_LONGEST_BACK_OFF = 5.0

_log = logging.getLogger(__name__)


class Scheduler:
    """Runs the calls of one cycle.

    `preview` is given a partial result when a call starts and whenever it has new output; `wake` is
    called when `take` has something to give, or when `holding` may have changed.
    """

    def __init__(
        self,
        registry: Registry,
        gate: Gate,
        context: ToolContext,
        preview: Preview,
        wake: Callable[[], None],
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._registry = registry
        self._gate = gate
        self._context = context
        self._preview = preview
        self._wake = wake
        self._clock = clock
        self._sleep = sleep
        self._jobs: list[Job] = []
        self._results: list[ResultEvent] = []
        self._complete = False
        self._cancelled = False
        self.failure = ""
        """Why the rest of the turn is to be cancelled, once an action with `on_error: fail` has failed."""

    def submit(self, call: CallEvent) -> None:
        """Hand in a call; it starts as soon as it can."""
        record = call_record(call)
        name = record.get("name")
        job = Job(call, name if isinstance(name, str) else "unknown", record, self._clock())
        job.names = names_in(job.args, self.declared)
        try:
            bound = self._bind(job, job.args)
            job.tool = bound.name
            job.touch = bound.touch.widened() if job.names else bound.touch
        except ToolError as exc:
            # With names still to be replaced, its arguments do not say yet what it touches.
            job.touch = Touch(everything=True, writes=True) if job.names else Touch()
            job.problem = "" if job.names else exc.advice
        self._jobs.append(job)
        self._advance()

    def refuse(self, call_id: str, action: str) -> None:
        """An action that could not be read: what depends on it is skipped."""
        call: CallEvent = {"type": "call", "timestamp": self._clock(), "id": call_id, "content": "{}"}
        self._jobs.append(Job(call, "action", {"id": action}, self._clock(), state=State.FAILED))
        self._advance()

    def finish(self) -> None:
        """No more calls come: what waits for one that is not there fails."""
        if not self._complete:
            self._complete = True
            self._advance()

    def take(self) -> list[ResultEvent]:
        """The results that have come since the last call."""
        results, self._results = self._results, []
        return results

    @property
    def busy(self) -> bool:
        """Whether a result is still to come."""
        waiting = any(job.state is State.WAITING for job in self._jobs)
        return bool(self._results) or waiting or not self.idle

    @property
    def idle(self) -> bool:
        """Whether nothing runs whose result is reported."""
        return not any(job.state is State.RUNNING and not job.detached for job in self._jobs)

    @property
    def holding(self) -> bool:
        """Whether a `sync` action holds back what comes after it. Never while nothing runs."""
        return not self.idle and any(job.state.open and job.sync for job in self._jobs)

    @property
    def declared(self) -> set[str]:
        """The names that actions give their results."""
        return {job.output_key for job in self._jobs if job.output_key}

    def value_of(self, name: str) -> str | None:
        """The result of that name as text, or what became of it; None while it is still to come."""
        job = next(job for job in self._jobs if job.output_key == name)
        if job.state is State.DONE:
            return as_text(job.value)
        return None if job.state.open else f"({name}: {job.state.value})"

    def cancel(self) -> None:
        """Have everything stop; no result comes any more."""
        self._cancelled = True
        for job in self._jobs:
            if job.task is not None:
                job.task.cancel()
        self._wake()

    async def settle(self) -> None:
        """Wait until what was cancelled has really stopped, processes included."""
        tasks = [job.task for job in self._jobs if job.task and not (job.detached and not self._cancelled)]
        if tasks:
            await asyncio.wait(tasks)

    def _bind(self, job: Job, args: Any) -> BoundCall:
        return self._registry.bind(job.tool, args, self._context)

    def _advance(self) -> None:
        """Start, skip or fail every job of which that can be said now."""
        if self._cancelled:
            return
        moved = True
        while moved:
            moved = False
            for job in self._jobs:
                if job.state is State.WAITING and self._settle_waiting(job):
                    moved = True
            if not moved and self._complete and not any(job.state is State.RUNNING for job in self._jobs):
                moved = self._break_deadlock()
        self._wake()

    def _settle_waiting(self, job: Job) -> bool:
        needed, problem = blocked_by(job, self._jobs, complete=self._complete)
        if problem:
            self._end(job, Outcome(problem), State.SKIPPED)
        elif needed or job.waits_for_earlier(self._jobs):
            return False
        elif job.problem:
            self._end(job, Outcome(job.problem), State.FAILED)
        else:
            job.state = State.RUNNING
            job.task = asyncio.create_task(self._run(job))
        return True

    def _break_deadlock(self) -> bool:
        """Nothing runs, and nothing more comes: what waits is in a cycle, or only for its file's turn."""
        waiting = [job for job in self._jobs if job.state is State.WAITING]
        if not waiting:
            return False
        cyclic = in_cycles(waiting)
        for job in cyclic:
            others = ", ".join(other.action for other in cyclic)
            self._end(job, Outcome(f"Not run: its dependencies form a cycle ({others})"), State.FAILED)
        if not cyclic:
            waiting[0].in_turn = False
        return True

    async def _run(self, job: Job) -> None:
        if job.detached:
            started = Outcome("Started; its result is not reported")
            self._results.append(self._result(job, started, error=False))
            self._wake()
        outcome = await self._attempt_all(job)
        if job.detached:
            job.state = State.FAILED if outcome.failed else State.DONE
            if outcome.failed:
                _log.warning("%s (fire and forget) failed: %s", job.tool, outcome.outcome)
        else:
            self._end(job, outcome, State.FAILED if outcome.failed else State.DONE)
        self._advance()

    async def _attempt_all(self, job: Job) -> Outcome:
        outcome = await self._attempt(job)
        for number in range(job.retries):
            if not outcome.failed:
                break
            await self._sleep(min(_BACK_OFF * 2**number, _LONGEST_BACK_OFF))
            outcome = await self._attempt(job)
        return outcome

    async def _attempt(self, job: Job) -> Outcome:
        job.started = self._clock()
        try:
            values = {other.output_key: other.value for other in self._jobs if other.state is State.DONE}
            bound = self._bind(job, substitute(job.args, values) if job.names else job.args)
            job.tool = bound.name
            intent = await bound.plan()
            await self._gate.check(job.call["id"], job.tool, intent)
            job.started = self._clock()
            self._report(job, "")
            async with asyncio.timeout(job.timeout):
                return await bound.run(partial(self._report, job))
        except TimeoutError:
            return Outcome(f"{job.tool} did not end in time ({job.timeout or 0:g} s)", failed=True)
        except ToolError as exc:
            return Outcome(exc.advice, failed=True)
        except Exception as exc:
            # A defect of a tool must not take the turn, or the other calls, down with it.
            _log.exception("%s broke", job.tool)
            return Outcome(f"{job.tool} broke: {type(exc).__name__}: {exc}", failed=True)

    def _report(self, job: Job, text: str) -> None:
        if not self._cancelled and not job.detached:
            event = self._result(job, Outcome("running", text), error=False)
            event["partial"] = True
            self._preview(event)

    def _end(self, job: Job, outcome: Outcome, state: State) -> None:
        job.state = state
        job.value = outcome.outcome if outcome.content is None else outcome.content
        if self._cancelled:
            return
        self._results.append(self._result(job, outcome, error=state is not State.DONE))
        if state is State.FAILED and job.on_error == "fail":
            self.failure = f"The action {json.dumps(job.action)} failed, and was to end the turn then"

    def _result(self, job: Job, outcome: Outcome, *, error: bool) -> ResultEvent:
        now = self._clock()
        return {
            "type": "result",
            "timestamp": now,
            "id": job.call["id"],
            "tool": job.tool,
            "duration": max(0.0, now - job.started),
            "payload": {"outcome": outcome.outcome, "content": outcome.content, "error": error},
        }
