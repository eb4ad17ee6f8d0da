"""What the agent is doing right now, read off the transcript."""

from cogency_tui.text import one_line
from cogency_tui.tui.calls import Call
from cogency_tui.tui.drawing.figures import plural
from cogency_tui.tui.transcript import Prose, Transcript


def live_units(transcript: Transcript) -> list[int]:
    """The units of this turn that show a running time."""
    return [
        index
        for index in range(transcript.turn_start, len(transcript.units))
        if _is_live(transcript.units[index])
    ]


def describe_activity(transcript: Transcript, model: str) -> str:
    """One line: `Running pytest`, `Waiting for openai/…`."""
    units = transcript.units[transcript.turn_start :]
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
    return f"Waiting for {one_line(model)}"


def _is_live(unit: object) -> bool:
    if isinstance(unit, Call):
        return unit.state == "running"
    return isinstance(unit, Prose) and unit.thinking and unit.open
