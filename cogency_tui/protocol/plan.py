"""Plans of the model: steps with states. Each update is a whole plan, so that the last one is the plan."""

from collections.abc import Iterable, Sequence

from cogency_tui.protocol.events import Event, PlannedStep, PlanState

PLAN_GLYPHS: dict[PlanState, str] = {"done": "✓", "active": "▸", "pending": "○", "cancelled": "–"}


def latest_plan(events: Iterable[Event]) -> list[PlannedStep]:
    """Return the plan after these events; empty without one."""
    found: list[PlannedStep] = []
    for event in events:
        if event["type"] == "result" and "plan" in event["payload"]:
            found = event["payload"]["plan"]
    return found


def progress_of(plan: Sequence[PlannedStep]) -> str:
    """The number of steps that are done, and of all that are not cancelled: `3/7`."""
    states = [step["state"] for step in plan]
    return f"{states.count('done')}/{len(states) - states.count('cancelled')}"


def describe_progress(plan: Sequence[PlannedStep]) -> str:
    """The progress of a plan, and the number of steps that are cancelled: `3/7, 2 cancelled`."""
    cancelled = sum(step["state"] == "cancelled" for step in plan)
    return f"{progress_of(plan)}, {cancelled} cancelled" if cancelled else progress_of(plan)


def is_finished(plan: Sequence[PlannedStep]) -> bool:
    """Return whether nothing of a plan is left to do."""
    return all(step["state"] in ("done", "cancelled") for step in plan)


def current_step(plan: Sequence[PlannedStep]) -> str:
    """The text of the step that is active, else of the first that is pending; empty if none is left."""
    for state in ("active", "pending"):
        if (text := next((step["text"] for step in plan if step["state"] == state), None)) is not None:
            return text
    return ""


def describe_plan(plan: Sequence[PlannedStep]) -> str:
    """The progress of a plan, and its current step: `3/7: Write the tests`."""
    if not plan:
        return "no steps"
    return ": ".join(filter(None, (describe_progress(plan), " ".join(current_step(plan).split()))))


def plan_as_text(plan: Sequence[PlannedStep]) -> str:
    """A plan as lines of text, a glyph before each step."""
    return "\n".join(f"{PLAN_GLYPHS[step['state']]} {step['text']}" for step in plan)
