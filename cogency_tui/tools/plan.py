"""The tool `plan`: the model's plan, shown to the user as a checklist.

Invariant: each call holds the whole plan. The tool changes nothing: the plan is what its last successful call
says, in the events.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta

from cogency_tui.protocol.events import PlannedStep, PlanState
from cogency_tui.protocol.plan import describe_plan
from cogency_tui.tools.base import (
    PLAIN,
    Aliases,
    Intent,
    Outcome,
    Spellings,
    ToolContext,
    ToolKind,
)

_TEXTS = ("text", "content", "step", "title", "task", "description", "name")
_STATES = ("state", "status")
_DONE = frozenset({"done", "completed", "complete", "finished"})
_ACTIVE = frozenset({"active", "inprogress", "current", "doing", "started", "running"})
_PENDING = frozenset({"pending", "todo", "open", "notstarted", "blocked"})
_DROPPED = frozenset({"cancelled", "canceled", "skipped", "deleted", "removed"})
_LISTS = ("steps", "todos", "plan", "tasks", "items", "todo_list")


class StepArgs(msgspec.Struct, frozen=True):
    text: Annotated[str, Meta(min_length=1)]
    state: PlanState = "pending"


class PlanArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    steps: list[StepArgs]


def _read_steps(value: Any, _given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read a list of steps in the form of any agent: texts alone, other names and words for the states."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except ValueError:
            return {"steps": value}
    if not isinstance(value, list):
        return {"steps": value}
    return {"steps": [_read_step(each) for each in cast("list[Any]", value)]}


def _read_step(given: Any) -> Any:
    """A step with our names; unchanged what makes no sense."""
    if isinstance(given, str):
        return {"text": given}
    if not isinstance(given, dict):
        return given
    fields = cast("dict[str, Any]", given)
    text = next((fields[name] for name in _TEXTS if isinstance(fields.get(name), str)), None)
    if text is None:
        return fields
    state = next((fields[name] for name in _STATES if name in fields), None)
    word = re.sub(r"[\s_-]", "", state).casefold() if isinstance(state, str) else ""
    if word in _DROPPED:
        return {"text": text, "state": "cancelled"}
    if word in _DONE or True in (fields.get("done"), fields.get("completed")):
        return {"text": text, "state": "done"}
    if word in _ACTIVE:
        return {"text": text, "state": "active"}
    return {"text": text, "state": "pending" if word in _PENDING or state is None else state}


def planned_steps(args: Mapping[str, Any]) -> list[PlannedStep]:
    """The steps in the arguments of a call that has not run; none if these are wrong."""
    given = next((args[name] for name in _LISTS if name in args), None)
    try:
        read = msgspec.convert(_read_steps(given, args), PlanArgs)
    except msgspec.ValidationError:
        return []
    return [{"text": " ".join(step.text.split()), "state": step.state} for step in read.steps]


class Plan:
    """Shows the model's plan."""

    name = "plan"
    kind: ToolKind = "think"
    description = "Show the user your plan of several steps; repeat it whole when a state changes."
    args = PlanArgs
    aliases = Aliases(
        Spellings(
            ignored=frozenset({"activeForm"}),
            read=dict.fromkeys(_LISTS, _read_steps),
            instead={
                **dict.fromkeys(_LISTS, "give the steps as a list"),
                "merge": "repeat the whole plan, without merge",
            },
        ),
        dict.fromkeys(
            ("todo_write", "update_plan", "write_todos", "update_todo_list", "todo", "set_plan"),
            PLAIN,
        ),
    )

    async def plan(self, args: PlanArgs, context: ToolContext) -> Intent:
        return Intent("read", "Update the plan")

    async def run(self, args: PlanArgs, context: ToolContext) -> Outcome:
        steps: list[PlannedStep] = [
            {"text": " ".join(step.text.split()), "state": step.state} for step in args.steps
        ]
        return Outcome(describe_plan(steps), plan=steps)
