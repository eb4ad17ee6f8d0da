"""How long commands in the background go on."""

import json
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.config.schema import AgentSettings
from tests.agent.conftest import MakeAgent
from tests.agent.delegation import Bench, block
from tests.agent.test_turns import provider_of, results, turn

START = '<execute>[{"name": "shell", "args": {"command": "sleep 1000", "background": true}}]</execute>'


async def test_they_outlive_another_mode_and_end_with_the_agent(make_agent: MakeAgent) -> None:
    agent = make_agent(START, "Started.", "Still there.")
    async with agent:
        await turn(agent)
        agent.mode = "replay"
        await turn(agent)
        background = agent.background
        assert background is not None
        (process,) = background.listed()
        assert process.ended is None
    assert all(process.ended is not None for process in background.listed())


async def test_a_model_that_nobody_answers_learns_that_they_end(make_agent: MakeAgent) -> None:
    agent = make_agent(START, "Started.", "It was started.", mode="replay")
    agent.is_last_turn = True
    async with agent:
        events = await turn(agent)
        assert agent.background is not None
        assert agent.background.running() == ["p1 (`sleep 1000`)"]
    assert events[0]["type"] == "user"
    last = events[0].get("environment", "").split("\n")[-1]
    assert last == "Background commands: they end with your answer; wait for those that you need."
    result, _ = results(events)
    assert (
        result["payload"]
        .get("content", "")
        .startswith("started in the background as p1; it ends with your answer")
    )


async def test_elsewhere_nothing_is_said_of_their_end(make_agent: MakeAgent) -> None:
    agent = make_agent(START, "Started.", mode="replay")
    async with agent:
        events = await turn(agent)
    assert "with your answer" not in str(events)


async def test_those_of_a_sub_agent_end_with_its_answer_and_its_caller_learns_of_it(
    project: Path, tmp_path: Path
) -> None:
    call = block(("agent", {"name": "tester", "task": "serve"}))
    tester = AgentSettings(description="tests", permissions="auto")
    agent = Bench(project, tmp_path / "data").agent(
        call, START, "It runs.", "It serves.", "Done.", agents={"tester": tester}
    )
    async with agent:
        events = await turn(agent)
        assert agent.background is not None
        assert agent.background.running() == []
    (result,) = results(events)
    assert result["payload"].get("content") == "It serves."
    note = "[Its background commands ended with its answer: p1 (`sleep 1000`)]"
    assert result["payload"].get("note") == note
    asked, of_tester, *_ = map(str, provider_of(agent).sent)
    assert "they end with your answer" not in asked
    assert "Background commands: they end with your answer" in of_tester


def calls(*each: tuple[str, dict[str, Any]]) -> str:
    return f"<execute>{json.dumps([{'name': name, 'args': args} for name, args in each])}</execute>"


def watched(command: str, pattern: str = "passed") -> str:
    start = ("shell", {"command": command, "background": True})
    return calls(start, ("processes", {"id": "p1", "action": "watch", "pattern": pattern}))


@pytest.mark.parametrize("start", [START, watched("sleep 1000")])
async def test_the_model_is_told_once_what_its_answer_would_end(make_agent: MakeAgent, start: str) -> None:
    agent = make_agent(start, "The server is up.", "The server was up.", mode="replay")
    agent.is_last_turn = True
    async with agent:
        events = await turn(agent)
    told = results(events)[-1]["payload"]["outcome"]
    assert told.startswith("Your answer ends the turn, and with it what still runs: p1 (`")
    assert "processes with action wait" in told
    said = [event["content"] for event in events if event["type"] == "respond"]
    assert said == ["The server is up.", "The server was up."]
    assert len(provider_of(agent).sent) == 3
    assert events[-1]["type"] == "end"


async def test_a_call_after_that_has_it_told_again(make_agent: MakeAgent) -> None:
    listed = block(("processes", {}))
    agent = make_agent(START, "It is up.", listed, "It is up.", "It was up.", mode="replay")
    agent.is_last_turn = True
    async with agent:
        events = await turn(agent)
    told = [each for each in results(events) if "Your answer ends the turn" in each["payload"]["outcome"]]
    assert len(told) == 2
    assert events[-1]["type"] == "end"


async def test_where_the_user_can_go_on_nothing_would_end(make_agent: MakeAgent) -> None:
    agent = make_agent(watched("sleep 1000"), "They run.", mode="replay")
    async with agent:
        events = await turn(agent)
    assert len(provider_of(agent).sent) == 2
    assert "Your answer ends" not in str(events)


async def test_a_wait_that_is_only_announced_ends_no_turn(make_agent: MakeAgent) -> None:
    replies = (START, "It runs; I'll report when it finishes.", "It still runs.")
    agent = make_agent(*replies, mode="replay")
    async with agent:
        events = await turn(agent)
    assert "announces that you wait" in results(events)[-1]["payload"]["outcome"]
    assert events[-1]["type"] == "end"


@pytest.mark.parametrize(
    ("before", "is_open"),
    [
        (calls(("list", {})), True),
        (calls(("plan", {"steps": [{"text": "Convert", "state": "active"}]})), True),
        ("All is well.", False),
    ],
)
async def test_any_step_that_is_announced_while_work_is_open_ends_no_turn(
    make_agent: MakeAgent, before: str, is_open: bool
) -> None:
    agent = make_agent(before, "I'll convert the docs.", "Done.", mode="replay")
    async with agent:
        events = await turn(agent)
        if not is_open:
            events = await turn(agent)
    announced = [each for each in results(events) if "announces a step" in each["payload"]["outcome"]]
    assert len(announced) == is_open


async def test_an_active_step_of_the_plan_makes_work_open_in_later_turns(make_agent: MakeAgent) -> None:
    plan = calls(("plan", {"steps": [{"text": "Convert", "state": "active"}]}))
    agent = make_agent(plan, "Planned.", "I'll convert the docs.", "Done.", mode="replay")
    async with agent:
        _ = [event async for event in agent("go", conversation_id="c")]
        events = [event async for event in agent("and?", conversation_id="c")]
    assert "announces a step" in results(events)[0]["payload"]["outcome"]
