"""Runs the calls of a cycle: every call gets exactly one result; nothing raises, nothing hangs.

One scheduler serves batches and actions. A call starts when its dependencies have succeeded, and no earlier
call that conflicts with it is unfinished. Two calls conflict if they touch the same file and one of them
writes.
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from cogency_tui.agent.call_graph import Job, NodeState, TurnActions, blocked_by, in_cycles, out_of_turn
from cogency_tui.agent.call_interceptors import (
    CallInterceptor,
    InterceptedCall,
    intercept_after,
    intercept_before,
    join_notes,
)
from cogency_tui.agent.output_variables import as_text, mentioned_in, names_in_call, substitute_call
from cogency_tui.agent.permissions.gate import Gate
from cogency_tui.agent.question_order import QuestionOrder
from cogency_tui.agent.subagent_progress import first_line, progress_payload
from cogency_tui.errors import DeclinedError, ModeError, RefusedError, StrangerError, ToolError
from cogency_tui.protocol.events import CallEvent, CallState, ResultEvent, ResultPayload, Step
from cogency_tui.protocol.taint_sources import Sources
from cogency_tui.protocol.transcript import as_tool_call, call_record
from cogency_tui.tools.ask import Ask
from cogency_tui.tools.base import BoundCall, Effect, Intent, Outcome, ToolContext, ToolKind, Touch, failure
from cogency_tui.tools.journal_protocol import Consent
from cogency_tui.tools.registry import Registry

Preview = Callable[[ResultEvent], None]

_BREAKAGES = (Exception, BaseExceptionGroup, asyncio.CancelledError, SystemExit)
"""The exceptions that a defect of a tool may raise: it must not end the turn or the other calls."""

MOST_CALLS = 250
"""Calls of one cycle that run."""

_TOO_MANY = (
    f"Not run: it comes after the first {MOST_CALLS} calls of the answer. Repeat it in the next answer."
)

_NO_PROJECT = (
    "The project directory no longer exists: no call can read or change its files. Tell the user, and end."
)

_EFFECTS: Mapping[ToolKind, Effect] = {"edit": "write", "execute": "command"}
"""The effects of calls that may have to wait for others, by the kind of their tool."""

_ENDED: Mapping[NodeState, CallState] = {
    NodeState.DONE: "done",
    NodeState.FAILED: "failed",
    NodeState.DECLINED: "declined",
    NodeState.SKIPPED: "skipped",
}

_BACK_OFF = 0.2
_LONGEST_BACK_OFF = 5.0

_DETACHED: set[asyncio.Task[None]] = set()
"""Detached tasks: they may outlive their cycle, and an event loop holds only weak references to tasks."""

_log = logging.getLogger(__name__)


class Scheduler:
    """Runs the calls of one cycle.

    `preview` receives a partial result when a call starts and whenever it has new output. `wake` is called
    when `take` has a result, or when `holding` may have changed. `actions` holds the actions of the turn's
    earlier cycles, and collects those of this one. `interceptors` run around each call.
    """

    def __init__(
        self,
        registry: Registry,
        gate: Gate,
        context: ToolContext,
        preview: Preview,
        wake: Callable[[], None],
        *,
        actions: TurnActions | None = None,
        interceptors: Sequence[CallInterceptor] = (),
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._registry = registry
        self._gate = gate
        self._context = context
        self._preview = preview
        self._wake = wake
        self._interceptors = interceptors
        self._clock = clock
        self._sleep = sleep
        self._actions = actions or TurnActions()
        self._jobs: list[Job] = []
        self._by_action: dict[str, Job] = {}
        self._named: dict[str, Job] = {}
        self._waiting: list[Job] = []
        self._submitted = 0
        for job in self._actions.settled():
            self._add(job)
        self._order = QuestionOrder(self._jobs, self._by_action, self._expects_question)
        self._results: list[ResultEvent] = []
        self._complete = False
        self._cancelled = False
        self.failure = ""
        """Why the turn must end, once an action with `on_error: fail` has failed."""

    def submit(self, call: CallEvent) -> None:
        """Add a call; it starts as soon as it can."""
        record = as_tool_call(call_record(call))
        name = record.get("name")
        tool = self._registry.own_name(name) if isinstance(name, str) else "unknown"
        job = Job(call, tool, record, self._clock())
        self._submitted += 1
        if self._submitted > MOST_CALLS:
            job.problem = Outcome(_TOO_MANY, failed=True)
        else:
            self._prepare(job)
        self._actions.add(job)
        self._add(job)
        self._advance()

    def _add(self, job: Job) -> None:
        self._jobs.append(job)
        if job.state is NodeState.WAITING:
            self._waiting.append(job)
        self._by_action[job.action] = job
        if job.output_key:
            self._named[job.output_key] = job

    def _prepare(self, job: Job) -> None:
        """Determine what a call depends on and touches, and whether it can run."""
        job.scope = {name: self._named[name] for name in mentioned_in(job.args) if name in self._named}
        job.names = names_in_call(job.args, job.scope, self._registry.environment_of(job.called))
        try:
            bound = self._bind(job, {})
            job.kind = bound.tool.kind
            job.touch = bound.touch.widened() if job.names else bound.touch
        except ToolError as exc:
            # With names still to be replaced, its arguments do not yet show what it touches.
            job.touch = Touch(everything=True, writes=True) if job.names else Touch()
            job.problem = None if job.names else failure(exc)
        except Exception as exc:
            # As in a run: a defect of one tool affects no other.
            job.touch = Touch()
            job.problem = Outcome(self._broke(job, exc), failed=True)

    def declare(self, name: str, value: Any) -> None:
        """Declare a value that calls submitted from now on may name as `$name`."""
        call: CallEvent = {"type": "call", "timestamp": self._clock(), "id": f"${name}", "content": "{}"}
        record = {"output_key": name}
        self._add(Job(call, "value", record, self._clock(), state=NodeState.DONE, value=value))

    def refuse(self, call_id: str, action: str) -> None:
        """Record an action that could not be parsed: what depends on it is skipped."""
        call: CallEvent = {"type": "call", "timestamp": self._clock(), "id": call_id, "content": "{}"}
        if action in self._by_action:
            # A second action with this id: dependants mean the first.
            return
        job = Job(call, "action", {"id": action}, self._clock(), state=NodeState.FAILED, malformed=True)
        self._actions.add(job)
        self._add(job)
        self._advance()

    def finish(self) -> None:
        """Declare that no more calls come: a call that depends on a missing one fails."""
        if not self._complete:
            self._complete = True
            self._advance()

    def take(self) -> list[ResultEvent]:
        """The results since the last call."""
        results, self._results = self._results, []
        return results

    @property
    def busy(self) -> bool:
        """True if a result is pending."""
        waiting = any(job.state is NodeState.WAITING for job in self._waiting)
        return bool(self._results) or waiting or not self.idle

    @property
    def idle(self) -> bool:
        """True if nothing runs whose result is reported."""
        return not any(job.state is NodeState.RUNNING and not job.detached for job in self._jobs)

    @property
    def holding(self) -> bool:
        """True if a `sync` action holds back what comes after it. Never while nothing runs."""
        return not self.idle and any(job.state.open and job.sync for job in self._jobs)

    @property
    def used_ids(self) -> Collection[str]:
        """The ids of this turn's actions so far."""
        return self._actions.ids

    @property
    def declared(self) -> set[str]:
        """The names that actions give their results."""
        return set(self._named)

    def value_of(self, name: str) -> str | None:
        """The result of that name as text, or its final state; None while it is pending."""
        job = self._named[name]
        if job.state is NodeState.DONE:
            return as_text(job.value)
        return None if job.state.open else f"({name}: {job.state.value})"

    def begun(self, call_id: str) -> bool:
        """Return whether the tool of a call was started."""
        return any(job.begun for job in self._jobs if job.call["id"] == call_id)

    def running_time(self, call_id: str) -> float:
        """The seconds for which the tool of a call has been running; none if it was not started."""
        jobs = (job for job in self._jobs if job.begun and job.call["id"] == call_id)
        return max((self._clock() - job.started for job in jobs), default=0.0)

    def ended(self, call_id: str) -> ResultEvent | None:
        """The result of a call whose tool has ended, while what runs after it (hooks) still does."""
        for job in self._jobs:
            if job.call["id"] == call_id and job.ended is not None and not job.detached:
                return self._result(job, job.ended, _ENDED[_state_of(job, job.ended)])
        return None

    def cancel(self) -> None:
        """Stop everything; no more results come."""
        self._cancelled = True
        for job in self._jobs:
            if job.task is not None:
                job.task.cancel()
        self._wake()

    async def settle(self) -> None:
        """Wait until cancelled calls have really stopped, processes included."""
        tasks = [job.task for job in self._jobs if job.task and not (job.detached and not self._cancelled)]
        if tasks:
            await asyncio.wait(tasks)

    def _bind(self, job: Job, values: Mapping[str, Any]) -> BoundCall:
        """Validate the call with these values in place of its names."""
        if job.tool == Ask.name:
            # Before its arguments: correcting them would be in vain.
            self._gate.require_answers()
        environment = self._registry.environment_of(job.called)
        args, variables = substitute_call(job.args, values, job.scope, environment)
        context = replace(
            self._context,
            call_id=self._call_id(job),
            variables=variables,
            takes_value=bool(job.output_key),
            refuse_by_mode=self._gate.refuse_by_mode,
            is_wary=self._gate.is_wary,
            cycle=self._context.cycle or self,
        )
        return self._registry.bind(job.called, args, context)

    def _call_id(self, job: Job) -> str:
        """The id of the conversation's call that a job runs for: its own, or that of the enclosing
        workflow.
        """
        return self._context.call_id or job.call["id"]

    def _expects_question(self, job: Job) -> bool:
        """Return whether the user will probably be asked by or about a job that was not planned yet."""
        if job.tool == Ask.name:
            return not job.problem
        effect: Effect | None = _EFFECTS.get(job.kind) if job.kind else None
        return effect is not None and not job.problem and self._gate.expects_question(effect)

    def _advance(self) -> None:
        """Start, skip or fail every job that is ready for it."""
        moved = True
        while moved and not (self._cancelled or self.failure):
            moved = False
            self._waiting = [job for job in self._waiting if job.state is NodeState.WAITING]
            for job in self._waiting:
                # A job that has just started unblocks no other.
                if not self.failure and self._settle_waiting(job) and not job.state.open:
                    moved = True
            if not moved and self._complete and self.idle:
                moved = self._break_deadlock()
        self._order.update()
        self._wake()

    def _settle_waiting(self, job: Job) -> bool:
        needed, problem = blocked_by(job, self._by_action, complete=self._complete)
        if problem:
            self._end(job, Outcome(problem), NodeState.SKIPPED)
        elif needed or job.waits_for_turn(self._jobs):
            return False
        elif job.problem:
            self._end(job, job.problem, NodeState.FAILED)
        else:
            job.state = NodeState.RUNNING
            job.task = asyncio.create_task(self._run(job))
            if job.detached:
                started = Outcome("Started; its result is not reported")
                # Its sources are not known yet: they count as in a result without a record.
                self._results.append(self._event(job, self._payload(job, started, "done")))
                _DETACHED.add(job.task)
                job.task.add_done_callback(_DETACHED.discard)
        return True

    def _break_deadlock(self) -> bool:
        """Fail the jobs that wait for each other: nothing else would release them."""
        cyclic = in_cycles(self._jobs)
        others = ", ".join(job.action for job in cyclic)
        for job in cyclic:
            self._end(job, Outcome(f"Not run: its dependencies form a cycle ({others})"), NodeState.FAILED)
        early = out_of_turn(self._jobs)
        if early is not None:
            early.in_turn = False
        return bool(cyclic) or early is not None

    async def _run(self, job: Job) -> None:
        outcome = await self._attempt_all(job)
        if job.detached:
            self._settle_state(job, outcome, _state_of(job, outcome))
            if outcome.failed:
                _log.warning("%s (fire and forget) failed: %s", job.tool, outcome.outcome)
        else:
            self._end(job, outcome, _state_of(job, outcome))
        self._advance()

    async def _attempt_all(self, job: Job) -> Outcome:
        outcome = await self._attempt(job)
        for number in range(job.retries):
            if not outcome.failed or job.refused or self._cancelled:
                break
            await self._sleep(min(_BACK_OFF * 2**number, _LONGEST_BACK_OFF))
            outcome = await self._attempt(job)
        return outcome

    async def _attempt(self, job: Job) -> Outcome:
        job.started = self._clock()
        timer = asyncio.timeout(job.timeout)
        intent = Intent("read", job.tool)
        call: InterceptedCall | None = None
        try:
            bound = self._bind(job, {name: job.scope[name].value for name in job.names})
            call, agreed = await self._permitted(job, bound)
            intent = call.intent
            self._report(job, "")
            job.begun = True
            if intent.effect in ("command", "tool"):
                # It may leave files behind, whatever ends it.
                self._note(job, intent, intent.sources)
            consent = Consent(partial(self._keeps_changes, job), intent.covers)
            context = replace(bound.context, consent=consent, agreed=agreed, answers=intent.answers)
            context = replace(context, reasons=intent.reasons)
            bound = replace(bound, context=context)
            async with timer:
                outcome = await bound.run(partial(self._report, job), partial(self._report_step, job))
            self._note(job, intent, intent.sources | outcome.sources)
        except ToolError as exc:
            if isinstance(exc, StrangerError):
                self._note(job, intent, intent.sources)
            outcome = failure(self._advising(exc))
        except _BREAKAGES as exc:
            if isinstance(exc, asyncio.CancelledError) and _is_cancelled():
                raise
            if isinstance(exc, TimeoutError) and timer.expired():
                late = f"{job.tool} did not end in time ({job.timeout or 0:g} s)"
                outcome = Outcome(late, failed=True)
            else:
                outcome = Outcome(self._broke(job, exc), failed=True)
        if call is None:
            return outcome
        job.ended = outcome
        try:
            return await intercept_after(self._interceptors, call, outcome)
        finally:
            if not _is_cancelled():
                job.ended = None

    def _advising(self, error: ToolError) -> ToolError:
        """An error with the advice that helps if the project is gone."""
        if not self._context.workspace.root.is_dir():
            error.hint = _NO_PROJECT
        return error

    def _note(self, job: Job, intent: Intent, sources: Sources) -> None:
        """Record the sources of a call, for the conversation and for its result."""
        job.sources |= sources
        self._gate.note(sources, intent.source)
        if sources.certain:
            job.note = job.note or self._gate.announce_limits()

    async def _permitted(self, job: Job, bound: BoundCall) -> tuple[InterceptedCall, str | None]:
        """The call with its intent, once it is permitted, and the change of files that the user has agreed
        to, if they were asked.
        """
        try:
            planned = await bound.plan()
            call = InterceptedCall(
                *(self._call_id(job), job.tool, bound.args, planned, bound.context),
                hooks=job.hooks,
                to_be_written=self._to_be_written,
            )
            await intercept_before(self._interceptors, call)
            place = self._order.place(job)

            async def plan() -> Intent:
                return call.asked(await bound.plan())

            agreed = await self._gate.check(self._call_id(job), job.tool, call.asked(planned), place, plan)
            intent = agreed or planned
            detail = intent.detail if agreed and intent.effect == "write" else None
            return replace(call, intent=intent), detail
        except RefusedError as exc:
            # The user is not asked again about what they have refused.
            job.refused = exc.reason
            job.declined = exc.words if isinstance(exc, DeclinedError) else None
            job.skipped = isinstance(exc, DeclinedError) and exc.skipped
            job.mode = exc.mode if isinstance(exc, ModeError) else ""
            raise
        finally:
            # Until now the time was the user's.
            job.started = self._clock()
            job.decided, job.asks = True, bool(job.asks)
            self._order.update()

    def _to_be_written(self) -> set[Path]:
        """The files that calls which wait, or whose tool runs, are yet to write."""
        touches = [job.touch for job in self._jobs if job.state.open and job.ended is None]
        return {path for touch in touches if touch.writes for path in touch.paths}

    async def _keeps_changes(self, job: Job, changed: Sequence[str], diff: str) -> bool | None:
        """Return whether the user keeps the changes of a call; the time that they take is not the call's."""
        begun = self._clock()
        try:
            return await self._gate.keeps_changes(self._call_id(job), job.tool, changed, diff)
        finally:
            job.started += self._clock() - begun

    @staticmethod
    def _broke(job: Job, exc: BaseException) -> str:
        _log.error("%s broke", job.tool, exc_info=exc)
        return f"{job.tool} crashed: {type(exc).__name__}: {exc}"

    def _report(self, job: Job, text: str) -> None:
        self._report_progress(
            job, {"outcome": "running", "content": text, "error": False, "state": "running"}
        )

    def _report_step(self, job: Job, step: Step) -> None:
        self._report_progress(job, progress_payload([step]))

    def _report_progress(self, job: Job, payload: ResultPayload) -> None:
        if not self._cancelled and not job.detached:
            self._preview({**self._event(job, payload), "partial": True})

    def _settle_state(self, job: Job, outcome: Outcome, state: NodeState) -> None:
        job.state = state
        if job.output_key:
            job.value = outcome.produced

    def _end(self, job: Job, outcome: Outcome, state: NodeState) -> None:
        self._settle_state(job, outcome, state)
        if self._cancelled:
            return
        self._results.append(self._result(job, outcome, _ENDED[state]))
        if state in (NodeState.FAILED, NodeState.DECLINED) and job.on_error == "fail":
            failed = f"{json.dumps(job.action)} failed ({job.tool}: {first_line(outcome.outcome)})"
            self.failure = f'The action {failed}, and its on_error is "fail"'

    def _result(self, job: Job, outcome: Outcome, state: CallState) -> ResultEvent:
        payload = self._payload(job, outcome, state)
        job.sources.record(payload)
        if note := join_notes(outcome.note, job.note):
            payload["note"] = note
        if job.hooks:
            payload["hooks"] = job.hooks
        return self._event(job, payload)

    @staticmethod
    def _payload(job: Job, outcome: Outcome, state: CallState) -> ResultPayload:
        payload: ResultPayload = {
            "outcome": outcome.outcome,
            "content": outcome.content,
            "error": state != "done",
            "state": state,
        }
        if outcome.brief:
            payload["brief"] = outcome.brief
        if job.refused:
            payload["refused"] = job.refused
        if job.mode:
            payload["mode"] = job.mode
        if state == "declined" and job.declined:
            payload["words"] = job.declined
        if state == "declined" and job.skipped:
            payload["skipped"] = True
        if outcome.put_back:
            payload["put_back"] = list(outcome.put_back)
        if outcome.images:
            payload["images"] = list(outcome.images)
        if outcome.diagnostics is not None:
            payload["diagnostics"] = outcome.diagnostics
        if outcome.lines is not None:
            payload["lines"] = outcome.lines
        if outcome.changed_by:
            payload["changed_by"] = list(outcome.changed_by)
        if outcome.plan is not None:
            payload["plan"] = list(outcome.plan)
        if outcome.answers:
            payload["answers"] = list(outcome.answers)
        if outcome.background is not None:
            payload["background"] = dict(outcome.background)
        return payload

    def _event(self, job: Job, payload: ResultPayload) -> ResultEvent:
        now = self._clock()
        return {
            "type": "result",
            "timestamp": now,
            "id": job.call["id"],
            "tool": job.tool,
            "duration": max(0.0, now - job.started),
            "payload": payload,
        }


def _state_of(job: Job, outcome: Outcome) -> NodeState:
    """The state in which a call ends with this outcome."""
    if job.declined is not None or job.mode:
        return NodeState.DECLINED
    return NodeState.FAILED if outcome.failed else NodeState.DONE


def _is_cancelled() -> bool:
    """Return whether the running task was cancelled from outside; otherwise the tool raised its cancellation
    itself.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
