"""`[workflows.NAME]`: named sequences of actions, checked as a whole before anything runs.

Invariant: a set of workflows that passed `check_workflows` can be run: every named id exists, no step waits
for itself, and no workflow contains itself.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, Literal, cast, get_args

import msgspec
from msgspec import Meta

ActionType = Literal["tool", "agent", "relic", "workflow", "llm"]

_TYPES: tuple[ActionType, ...] = get_args(ActionType)
_NAME = r"(\$?)\$([A-Za-z_]\w*)"
_PLACE = r"^(.*) - at `\$\.?(.*)`$"


class StepSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One step: the keys of an action in the action dialect, as the model writes it."""

    id: Annotated[str, Meta(min_length=1)]
    name: Annotated[str, Meta(min_length=1)]
    type: ActionType = "tool"
    parameters: dict[str, Any] = {}
    mode: Literal["sync", "async", "fire_and_forget"] = "sync"
    depends_on: list[str] = []
    output_key: Annotated[str, Meta(pattern=r"^[A-Za-z_]\w*$")] | None = None
    timeout: Annotated[float, Meta(gt=0)] | None = None
    retry: Annotated[int, Meta(ge=0, le=100)] | None = None
    on_error: Literal["skip", "fail", "retry"] | None = None


class WorkflowSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[workflows.NAME]` table with its `[[workflows.NAME.steps]]`."""

    steps: list[StepSettings]
    description: str = ""

    @property
    def parameters(self) -> list[str]:
        """The names that a caller has to provide: those that make up a whole value, and are no step's
        output.
        """
        outputs = {step.output_key for step in self.steps}
        whole = [name for step in self.steps for name, alone in _names_in(step.parameters) if alone]
        return [name for name in dict.fromkeys(whole) if name not in outputs]

    @property
    def in_order(self) -> list[StepSettings]:
        """The steps in the order of submission: as written, but each after those that it waits for."""
        waits = _waits(self.steps)
        left = {step.id: step for step in self.steps}
        ordered: list[StepSettings] = []
        while left:
            step = next(step for step in left.values() if not waits[step.id] & left.keys())
            ordered.append(left.pop(step.id))
        return ordered


class WorkflowError(ValueError):
    """An invalid workflow; `step` is the index of the step to blame, None for the workflow itself."""

    def __init__(self, workflow: str, step: int | None, message: str, step_id: str = "") -> None:
        place = "" if step is None else f', step "{step_id}"' if step_id else f", step {step + 1}"
        super().__init__(f'workflow "{workflow}"{place}: {message}')
        self.workflow = workflow
        self.step = step


def read_workflow(name: str, table: object) -> WorkflowSettings:
    """The workflow that a table of the configuration describes.

    Raises:
        WorkflowError: naming the key that is unknown, missing or wrong.
    """
    if not isinstance(table, dict):
        raise WorkflowError(name, None, "it must be a table")
    rest = dict(cast("dict[str, Any]", table))
    steps = rest.pop("steps", None)
    if not isinstance(steps, list):
        raise WorkflowError(name, None, f"it needs steps, written as tables [[workflows.{name}.steps]]")
    read = [_read_step(name, index, step) for index, step in enumerate(cast("list[Any]", steps))]
    if problem := problem_of(rest, WorkflowSettings, elsewhere=("steps",)):
        raise WorkflowError(name, None, problem)
    return WorkflowSettings(read, **rest)


def problem_of(given: object, expected: type[msgspec.Struct], elsewhere: Collection[str] = ()) -> str:
    """The problem with a table, as words that name the key; empty if there is none.

    The keys in `elsewhere` were removed from it.
    """
    if not isinstance(given, dict):
        return "it must be a table"
    table = cast("dict[str, Any]", given)
    fields = {field.encode_name: field for field in msgspec.structs.fields(expected)}
    for key in table:
        if key not in fields:
            from difflib import get_close_matches

            near = get_close_matches(key, fields, n=1)
            suggestion = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(fields)}"
            return f'unknown key "{key}" ({suggestion})'
    for key, field in fields.items():
        if field.required and key not in table and key not in elsewhere:
            return f'"{key}" is missing'
        if key in table:
            try:
                msgspec.convert(table[key], field.type)
            except msgspec.ValidationError as exc:
                return f'"{key}": {_message(exc, field.type, table[key])}'
    return ""


def check_workflows(workflows: Mapping[str, WorkflowSettings], agents: Collection[str]) -> None:
    """Check all workflows together with the names of the existing sub-agents.

    Raises:
        WorkflowError: naming the first invalid step.
    """
    known: dict[str, Collection[str]] = {"agent": agents, "workflow": workflows}
    for name, workflow in workflows.items():
        if not workflow.steps:
            raise WorkflowError(name, None, "it has no steps")
        _check_names(name, workflow.steps, known)
        _check_order(name, workflow.steps)
    checked: set[str] = set()
    for name in workflows:
        _check_containment(workflows, (name,), checked)


def _read_step(workflow: str, index: int, table: object) -> StepSettings:
    if problem := problem_of(table, StepSettings):
        step_id: Any = cast("dict[str, Any]", table).get("id") if isinstance(table, dict) else None
        raise WorkflowError(workflow, index, problem, step_id if isinstance(step_id, str) else "")
    return msgspec.convert(table, StepSettings)


def _message(error: msgspec.ValidationError, kind: Any, value: Any) -> str:
    choices = get_args(kind)
    words = [choice for choice in choices if choice and isinstance(choice, str)]
    if not words:
        words = [word for choice in choices for word in get_args(choice) if isinstance(word, str)]
    if words and isinstance(value, str):
        return f'must be one of {", ".join(words)}, not "{value}"'
    found = re.match(_PLACE, str(error), re.DOTALL)
    message = f"{found[2]}: {found[1]}" if found else str(error)
    message = message.replace("Invalid RFC3339 encoded date", "expected a date such as 2027-01-31")
    # TOML has no null: leaving a key out sets none.
    message = message.replace(" | null", "")
    return message.replace("`", "").replace("Expected", "expected")


def _check_names(workflow: str, steps: list[StepSettings], known: Mapping[str, Collection[str]]) -> None:
    ids: set[str] = set()
    outputs: set[str] = set()
    every_id = [step.id for step in steps]
    for index, step in enumerate(steps):
        problem = ""
        missing = [other for other in step.depends_on if other not in every_id]
        if step.id in ids:
            problem = "another step has the same id"
        elif step.output_key in outputs:
            problem = f'another step has the output_key "{step.output_key}"'
        elif missing:
            problem = f'depends_on refers to the unknown step "{missing[0]}"; steps: {", ".join(every_id)}'
        elif step.type == "tool" and step.name in _TYPES[1:]:
            problem = f'write type = "{step.name}", with the name of the {step.name} as name'
        elif step.type in known and step.name not in known[step.type]:
            there = ", ".join(known[step.type]) or "none"
            problem = f'unknown {step.type} "{step.name}"; configured: {there}'
        if problem:
            raise WorkflowError(workflow, index, problem, step.id)
        ids.add(step.id)
        if step.output_key is not None:
            outputs.add(step.output_key)


def _check_order(workflow: str, steps: list[StepSettings]) -> None:
    waits = _waits(steps)
    while free := [id for id, needed in waits.items() if not needed & waits.keys()]:
        for id in free:
            del waits[id]
    if waits:
        index = next(index for index, step in enumerate(steps) if step.id in waits)
        cycle = ", ".join(waits)
        raise WorkflowError(workflow, index, f"its dependencies form a cycle ({cycle})", steps[index].id)


def _waits(steps: list[StepSettings]) -> dict[str, set[str]]:
    """The ids of the steps, each with those that it depends on or whose outputs it names."""
    makers = {step.output_key: step.id for step in steps if step.output_key}
    waits: dict[str, set[str]] = {}
    for step in steps:
        named = {makers[name] for name, _ in _names_in(step.parameters) if name in makers}
        waits[step.id] = {*step.depends_on, *named}
    return waits


def _check_containment(
    workflows: Mapping[str, WorkflowSettings], chain: tuple[str, ...], checked: set[str]
) -> None:
    """Check the workflows in the last one of `chain`, each of which contains the next."""
    if chain[-1] in checked:
        return
    for index, step in enumerate(workflows[chain[-1]].steps):
        if step.type != "workflow":
            continue
        if step.name in chain:
            way = " → ".join([*chain[chain.index(step.name) :], step.name])
            raise WorkflowError(chain[-1], index, f"a workflow cannot contain itself ({way})", step.id)
        _check_containment(workflows, (*chain, step.name), checked)
    checked.add(chain[-1])


def _names_in(value: Any) -> Iterator[tuple[str, bool]]:
    """The names `$name` in a value, and whether each is the whole value. `$$name` is text."""
    if isinstance(value, str):
        for found in re.finditer(_NAME, value):
            if not found[1]:
                yield found[2], found[0] == value
        return
    parts = cast("dict[str, Any]", value).values() if isinstance(value, dict) else value
    for part in cast("list[Any]", parts) if isinstance(value, dict | list) else []:
        yield from _names_in(part)
