"""`workflow`: a configured sequence whose steps are calls like the model's own.

Each step passes through the same scheduler, tools and permissions; the sequence itself needs no permission
beyond those of its steps.
"""

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from cogency_tui.agent.call_by_name import PARAMETERS, NamedArgs, choose, listed, require_current
from cogency_tui.agent.call_interceptors import join_notes
from cogency_tui.agent.conversation import Conversation
from cogency_tui.agent.output_variables import substitute
from cogency_tui.agent.scheduler import Scheduler
from cogency_tui.agent.subagent_progress import ended, step_begun, step_ended
from cogency_tui.config.workflows import StepSettings, WorkflowSettings
from cogency_tui.errors import ToolError
from cogency_tui.protocol.dialects import new_id
from cogency_tui.protocol.events import CallEvent, DiagnosticsChange, ResultEvent, Step
from cogency_tui.protocol.taint_sources import Sources, recorded
from cogency_tui.tools.base import Aliases, Intent, Outcome, ToolContext, ToolKind, Touch


class Workflow:
    """Runs workflows with the tools of the conversation `parent`."""

    name = "workflow"
    kind: ToolKind = "other"
    args = NamedArgs
    aliases = Aliases(PARAMETERS)

    def __init__(self, parent: Conversation) -> None:
        self._parent = parent
        self._workflows = parent.delegates.workflows
        there = {
            f"{name} {{{', '.join(workflow.parameters)}}}"
            if workflow.parameters
            else name: workflow.description
            for name, workflow in self._workflows.items()
        }
        self.description = (
            "Run a sequence of steps that the user has configured; the result has the outcome of each step. "
            f"Names, with {{parameters}}: {listed(there)}."
        )

    def touch(self, _args: NamedArgs, _context: ToolContext, /) -> Touch:
        return Touch(everything=True, writes=True)

    async def plan(self, args: NamedArgs, context: ToolContext) -> Intent:
        self._find(args)
        return Intent("read", f"Run the workflow {args.name}")

    async def run(self, args: NamedArgs, context: ToolContext) -> Outcome:
        workflow = self._find(args)
        require_current("workflow", args.name, workflow, (await self._parent.configured()).workflows)
        run = _Run(args.name, workflow, args.parameters)
        scheduler = Scheduler(
            self._parent.registry,
            self._parent.gate,
            context,
            run.preview(context.report_step),
            run.news.set,
            interceptors=self._parent.interceptors,
        )
        for name, value in args.parameters.items():
            scheduler.declare(name, value)
        done = False
        try:
            await run.follow(scheduler, context.report_step)
            done = not scheduler.failure
        finally:
            if not done:
                scheduler.cancel()
                await ended(asyncio.create_task(scheduler.settle()))
        return run.outcome()

    def _find(self, args: NamedArgs) -> WorkflowSettings:
        workflow = choose(self.name, args.name, self._workflows)
        missing = [name for name in workflow.parameters if name not in args.parameters]
        if missing:
            expected = ", ".join(f'"{name}": …' for name in workflow.parameters)
            raise ToolError(
                f'workflow {args.name}: the parameter "{missing[0]}" is missing.',
                f'Form: {{"name": "{args.name}", "parameters": {{{expected}}}}}',
            )
        for step in workflow.steps:
            if step.output_key in args.parameters:
                raise ToolError(
                    f'workflow {args.name}: "{step.output_key}" is the output of the step "{step.id}"; '
                    "it cannot be passed."
                )
        return workflow


@dataclass(slots=True)
class _Run:
    """One run: the steps that remain to be submitted, and the results so far."""

    name: str
    workflow: WorkflowSettings
    given: Mapping[str, Any]
    news: asyncio.Event = field(default_factory=asyncio.Event)
    steps: dict[str, StepSettings] = field(default_factory=dict[str, StepSettings])
    results: dict[str, ResultEvent] = field(default_factory=dict[str, ResultEvent])

    def preview(self, report: Callable[[Step], None]) -> Callable[[ResultEvent], None]:
        """A callback that shows each step when it starts, once."""
        shown: set[str] = set()

        def show(event: ResultEvent) -> None:
            if event["id"] not in shown:
                shown.add(event["id"])
                record = substitute(_record(self.steps[event["id"]]), self.given)
                report(step_begun(event["id"], record))

        return show

    async def follow(self, scheduler: Scheduler, report: Callable[[Step], None]) -> None:
        """Submit the steps in order and take their results, until all have one or a failure was fatal."""
        waiting = deque(self.workflow.in_order)
        while True:
            self.news.clear()
            for result in scheduler.take():
                self.results[self.steps[result["id"]].id] = result
                report(step_ended(result))
            if scheduler.failure:
                return
            if waiting and not scheduler.holding:
                step = waiting.popleft()
                call = _call(step)
                self.steps[call["id"]] = step
                scheduler.submit(call)
                continue
            if not waiting:
                scheduler.finish()
                if not scheduler.busy:
                    return
            await self.news.wait()

    def outcome(self) -> Outcome:
        """The result of every step, by its id."""
        begun = {step.id for step in self.steps.values()}
        content = {
            step.id: _content(self.results.get(step.id), begun=step.id in begun)
            for step in self.workflow.steps
        }
        failed = [id for id, result in self.results.items() if result["payload"]["error"]]
        fatal = [step.id for step in self.workflow.steps if step.id in failed and step.on_error == "fail"]
        succeeded = len(self.results) - len(failed)
        summary = f"{self.name}: {succeeded} of {len(self.workflow.steps)} steps done"
        if failed:
            summary += f"; failed: {', '.join(fatal or failed)}"
        sources = Sources()
        for result in self.results.values():
            sources |= recorded(result["payload"]) or Sources()
        payloads = [result["payload"] for result in self.results.values()]
        return Outcome(
            summary,
            content,
            failed=bool(fatal) or not succeeded,
            sources=sources,
            note=join_notes(*(payload.get("note", "") for payload in payloads)),
            diagnostics=_joined([each["diagnostics"] for each in payloads if "diagnostics" in each]),
        )


def _joined(changes: Sequence[DiagnosticsChange]) -> DiagnosticsChange | None:
    if not changes:
        return None
    from cogency_tui.agent.diagnostics import join_changes

    return join_changes(changes)


def _call(step: StepSettings) -> CallEvent:
    content = json.dumps(_record(step), ensure_ascii=False)
    return {"type": "call", "timestamp": time.time(), "id": new_id(), "content": content}


def _record(step: StepSettings) -> dict[str, Any]:
    record: dict[str, Any] = msgspec.to_builtins(step)
    args = record.pop("parameters", {})
    return {**record, "args": args, "type": step.type, "mode": step.mode}


def _content(result: ResultEvent | None, *, begun: bool) -> Any:
    if result is None:
        return {"error": "Cancelled: another step failed" if begun else "Not run: a step before it failed"}
    payload = result["payload"]
    if not payload["error"]:
        return payload["outcome"] if payload["content"] is None else payload["content"]
    error = {"error": payload["outcome"]}
    return error if payload["content"] is None else {**error, "content": payload["content"]}
