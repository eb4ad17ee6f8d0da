"""The tool `plan`: whole plans, in the words of any agent; what the model is told of a wrong one."""

from typing import Any

import pytest

from cogency_tui.errors import ToolError
from cogency_tui.protocol.plan import current_step, describe_plan, is_finished, plan_as_text
from tests.cases import cases
from tests.tools.conftest import Bench

READ_WRITE = [{"text": "Read", "state": "done"}, {"text": "Write", "state": "active"}]


@cases(
    ("called", "args", "steps"),
    [
        ("plan", {"steps": READ_WRITE}, READ_WRITE),
        (
            "plan",
            {"steps": ["Read", "Write"]},
            [{"text": each, "state": "pending"} for each in ("Read", "Write")],
        ),
        ("plan", {"steps": []}, []),
        (
            "plan",
            {"steps": '[{"text": "Read", "state": "done"}, {"step": "Write", "status": "active"}]'},
            READ_WRITE,
        ),
        (
            "TodoWrite",
            {
                "todos": [
                    {"content": "Read", "status": "completed", "activeForm": "Reading"},
                    {
                        "content": "Write",
                        "status": "in_progress",
                        "activeForm": "Writing",
                        "priority": "high",
                    },
                    {"content": "Ship", "status": "cancelled", "id": "3"},
                ]
            },
            [*READ_WRITE, {"text": "Ship", "state": "cancelled"}],
        ),
        (
            "todo_write",
            {"merge": False, "todos": [{"id": "1", "content": "Read", "status": "in-progress"}]},
            [{"text": "Read", "state": "active"}],
        ),
        (
            "update_plan",
            {
                "explanation": "now the second",
                "plan": [
                    {"step": "Read", "status": "completed"},
                    {"step": "Write", "status": "in_progress"},
                ],
            },
            READ_WRITE,
        ),
        (
            "update_todo_list",
            {"todos": [{"title": "Read", "completed": True}, {"title": "Write", "completed": False}]},
            [{"text": "Read", "state": "done"}, {"text": "Write", "state": "pending"}],
        ),
    ],
)
async def test_a_plan_in_the_words_of_any_agent_is_the_same(
    bench: Bench, called: str, args: dict[str, Any], steps: list[Any]
) -> None:
    intent, outcome = await bench.plan(called, **args), await bench.run(called, **args)
    assert intent.effect == "read"
    assert outcome.plan == steps
    assert (outcome.failed, outcome.content) == (False, None)


@cases(
    ("args", "told"),
    [
        ({}, '"steps" is missing'),
        ({"steps": "tidy up"}, '"steps" must be a list, not "tidy up"'),
        ({"steps": [{"text": "Read", "state": "nearly"}]}, "steps[0].state: unknown value 'nearly'"),
        ({"steps": [{"text": ""}]}, "steps[0].text: expected a string that is not empty"),
        ({"steps": [1]}, "steps[0]: expected an object, got an integer"),
        ({"steps": [{"text": "Read"}, {"state": "done"}]}, 'plan: steps[1]: "text" is missing'),
        (
            {"merge": True, "steps": ["Read"]},
            'plan: unknown argument "merge" (repeat the whole plan, without merge)',
        ),
        ({"steps": ["Read"], "todos": ["Write"]}, '"steps" and "todos" both mean "steps"'),
    ],
)
async def test_a_wrong_plan_is_told_with_the_form(bench: Bench, args: dict[str, Any], told: str) -> None:
    with pytest.raises(ToolError) as caught:
        await bench.run("plan", **args)
    assert told in str(caught.value)
    assert caught.value.hint.startswith("Arguments: steps: list of {text: str, ")


async def test_a_secret_in_a_plan_is_hidden(bench: Bench) -> None:
    key = "sk-ant-api03-" + "aB3dE5fG7h" * 9 + "-AAAAAA"
    outcome = await bench.run("plan", steps=[f"Use {key}"])
    assert key not in str(outcome)
    assert outcome.plan is not None
    assert "[a secret is not shown]" in outcome.plan[0]["text"]


async def test_the_outcome_names_the_progress_and_the_current_step(bench: Bench) -> None:
    assert (await bench.run("plan", steps=READ_WRITE)).outcome == "1/2: Write"
    assert (await bench.run("plan", steps=["a", "b"])).outcome == "0/2: a"
    assert (await bench.run("plan", steps=[{"text": "a", "state": "done"}])).outcome == "1/1"
    assert (await bench.run("plan", steps=[])).outcome == "no steps"


async def test_cancelled_steps_stay_in_the_plan_and_are_counted_apart(bench: Bench) -> None:
    outcome = await bench.run("plan", steps=[*READ_WRITE, {"text": "Ship", "state": "cancelled"}, "Rest"])
    assert outcome.outcome == "1/3, 1 cancelled: Write"
    assert outcome.plan is not None
    assert [step["text"] for step in outcome.plan] == ["Read", "Write", "Ship", "Rest"]
    done = await bench.run(
        "plan", steps=[{"text": "a", "state": "done"}, {"text": "b", "state": "cancelled"}]
    )
    assert done.outcome == "1/1, 1 cancelled"
    assert is_finished(done.plan or ())


def test_a_plan_without_steps_is_finished() -> None:
    assert is_finished([])
    assert current_step([]) == plan_as_text([]) == ""
    assert describe_plan([]) == "no steps"
