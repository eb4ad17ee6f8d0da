"""What the agent is doing right now, read off the transcript."""

import math

import msgspec

from cogency_tui.text import one_line
from cogency_tui.tui.calls import Call
from cogency_tui.tui.drawing.figures import plural, whole_seconds
from cogency_tui.tui.transcript import Notice, Prose, Transcript, Unit


class Activity(msgspec.Struct, frozen=True):
    """One line: `Running pytest`, `Waiting for openai/…`. One that counts down says its own time."""

    text: str
    counts_down: bool = False


def live_units(transcript: Transcript) -> list[int]:
    """The units of this turn that show a running time."""
    return [
        index
        for index in range(transcript.turn_start, len(transcript.units))
        if _is_live(transcript.units[index])
    ]


def describe_activity(transcript: Transcript, model: str, now: float) -> Activity:
    """What goes on in this turn at `now`, in Unix seconds."""
    units = transcript.units[transcript.turn_start :]
    last = units[-1] if units else None
    if isinstance(last, Notice) and last.due > now:
        left = whole_seconds(math.ceil(last.due - now))
        return Activity(f"Asking again in {left} · attempt {last.attempt}", counts_down=True)
    return Activity(_describe_work(units, model))


def _describe_work(units: list[Unit], model: str) -> str:
    calls = [unit for unit in units if isinstance(unit, Call) and not unit.settled]
    if any(call.state == "waiting" for call in calls):
        return "Waiting for your answer"
    if running := [call for call in calls if call.state == "running"]:
        return (
            f"Running {one_line(running[0].name)}"
            if len(running) == 1
            else f"Running {plural(len(running), 'call')}"
        )
    if writing := [call for call in calls if call.state == "writing"]:
        return f"Writing a call of {one_line(writing[-1].name)}" if writing[-1].name else "Writing a call"
    last = units[-1] if units else None
    if isinstance(last, Prose) and last.open:
        return "Thinking" if last.thinking else "Writing"
    attempt = f" · attempt {last.attempt}" if isinstance(last, Notice) and last.due else ""
    return f"Waiting for {one_line(model)}{attempt}"


def _is_live(unit: object) -> bool:
    if isinstance(unit, Call):
        return unit.state == "running"
    return isinstance(unit, Prose) and unit.thinking and unit.open
