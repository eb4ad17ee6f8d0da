"""What waits for what, as the action dialect declares it."""

from typing import Any

from cogency_tui.tui.calls.rows import cause_of_skip, waits_for
from cogency_tui.tui.transcript.call_unit import Action, CallUnit, State


def action(
    id: str, state: State, *depends_on: str, output_key: str = "", args: dict[str, Any] | None = None
) -> CallUnit:
    declared = Action(id=id, depends_on=depends_on, output_key=output_key)
    return CallUnit(id, name="shell", arguments=args or {}, state=state, action=declared)


def test_a_queued_call_waits_for_what_it_depends_on_and_is_not_done() -> None:
    before = [action("a", "done"), action("b", "running"), action("c", "queued")]
    assert waits_for(action("d", "queued", "a", "b", "c"), before) == ["b", "c"]


def test_it_waits_for_the_results_that_its_arguments_stand_for() -> None:
    before = [action("load", "running", output_key="data")]
    call = action("use", "queued", args={"command": "echo $data $HOME", "list": ["$data"]})
    assert waits_for(call, before) == ["load"]


def test_it_waits_for_what_is_not_written_yet() -> None:
    assert waits_for(action("d", "queued", "later"), []) == ["later"]


def test_what_has_begun_waits_for_nothing() -> None:
    assert waits_for(action("d", "running", "a"), [action("a", "running")]) == []


def test_a_skipped_call_names_the_cause() -> None:
    before = [action("a", "failed"), action("b", "skipped", "a")]
    assert cause_of_skip(action("c", "skipped", "b"), before) == "b was skipped"
    assert cause_of_skip(action("c", "skipped", "a"), before) == "a failed"
    assert cause_of_skip(action("c", "skipped"), before) == ""
