"""The calls within a call, from the steps of its progress."""

from cogency_tui.agent.subagent_progress import progress_payload
from cogency_tui.protocol.events import Event, Step, StepState
from cogency_tui.tui.transcript.call_unit import CallStep, CallUnit, Subject
from tests.tui.scripted import EPOCH, call, result


def step(id: str, state: StepState, tool: str = "", subject: str = "", outcome: str = "") -> Step:
    return {"call": id, "state": state, "tool": tool, "subject": subject, "outcome": outcome}


def fed(*steps: Step, ended: bool = False) -> list[tuple[str, str, str]]:
    """The steps of a call after these, and its result if it has `ended`."""
    made = CallUnit("c")
    events: list[Event] = [call("c", "agent")]
    events += [
        {
            **{"type": "result", "timestamp": EPOCH, "id": "c", "tool": "agent", "duration": 0.0},
            **{"payload": progress_payload([each]), "partial": True},
        }  # pyright: ignore[reportAssignmentType]
        for each in steps
    ]
    for event in [*events, result("c", "agent")] if ended else events:
        if event["type"] == "call":
            made.write(event)
        elif event["type"] == "result":
            made.report(event)
    return [(each.state, each.text, each.outcome) for each in made.steps()]


def test_each_call_ends_with_its_own_result() -> None:
    assert fed(
        step("1", "running", "read", "a.py"),
        step("2", "running", "read", "b.py"),
        step("2", "done", "read", outcome="Read 3 lines"),
        step("1", "failed", "read", outcome="gone: a"),
        step("", "problem", subject="it broke"),
    ) == [
        ("failed", "read a.py", "gone: a"),
        ("done", "read b.py", "Read 3 lines"),
        ("failed", "it broke", ""),
    ]


def test_what_never_ended_was_interrupted() -> None:
    assert fed(step("1", "running", "shell", "make"), ended=True) == [("interrupted", "shell make", "")]


def test_a_call_that_did_not_run_has_its_reason() -> None:
    assert fed(step("1", "failed", "write", outcome="Not run")) == [("failed", "write: Not run", "")]


def test_without_steps_there_are_none() -> None:
    assert fed() == []


def test_consumers_of_text_receive_a_line_for_each_step() -> None:
    payload = progress_payload(
        [
            step("1", "running", "read", "a.py"),
            step("1", "done", "read", outcome="Read 3 lines"),
            step("2", "running", "list"),
            step("2", "failed", "list", outcome=""),
            step("", "problem", subject="it broke"),
        ]
    )
    assert payload["content"] == "· read a.py\n✓ read: Read 3 lines\n· list\n✗ list:\n! it broke\n"


def test_a_step_names_a_file_of_the_project_as_its_call_does() -> None:
    inside, outside, url = (
        CallStep("s", "done", f"read {subject}")
        for subject in ("/work/shop/src/app.py", "/etc/hosts", "https://a.b//c")
    )
    assert inside.parts("/work/shop") == ("read ", Subject("src/app.py", is_path=True))
    assert outside.parts("/work/shop") == ("read ", Subject("/etc/hosts", is_path=True))
    assert url.parts("/work/shop") == ("", Subject("read https://a.b//c", is_path=False))
