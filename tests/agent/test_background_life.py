"""How long commands in the background go on."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
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
    agent = make_agent(START, "Started.", mode="replay")
    agent.is_last_turn = True
    async with agent:
        events = await turn(agent)
        assert agent.background is not None
        assert agent.background.running() == ["p1 (`sleep 1000`)"]
    assert events[0]["type"] == "user"
    last = events[0].get("environment", "").split("\n")[-1]
    assert last == "Background commands: they end with your answer; wait for those that you need."
    (result,) = results(events)
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
        call, START, "It serves.", "Done.", agents={"tester": tester}
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


LATER = "while [ ! -e go ]; do sleep 0.01; done; echo 3 passed; sleep 1000"


async def let_go(agent: Agent, project: Path) -> list[Any]:
    """The events of a turn in which the command writes once the turn waits for it."""
    events: list[Any] = []
    async for event in agent("go"):
        events.append(event)
        if "Waiting for the end" in str(event):
            (project / "go").touch()
    return events


async def test_the_last_answer_waits_for_what_the_model_watches_and_the_model_answers_again(
    make_agent: MakeAgent, project: Path
) -> None:
    start = watched(LATER)
    agent = make_agent(start, "The tests run; I'll report when they finish.", "All pass.", mode="replay")
    agent.is_last_turn = True
    async with agent:
        events = await let_go(agent, project)
    said = [event["content"] for event in events if event["type"] == "respond"]
    assert said[-1] == "All pass."
    assert "Waiting for the end or the next match of p1 (`while" in str(events)
    (news,) = [event for event in results(events) if event["tool"] == "background"]
    content = news["payload"]["content"] or ""
    assert "wrote what matches passed:" in content
    assert content.endswith("What still runs ends with your next answer without a call.")
    assert len(provider_of(agent).sent) == 3
    assert events[-1]["type"] == "end"


async def test_the_end_of_a_watched_command_is_waited_for_as_well(
    make_agent: MakeAgent, project: Path
) -> None:
    start = watched("while [ ! -e go ]; do sleep 0.01; done; echo 1 failed; exit 3")
    agent = make_agent(start, "They run.", "One fails.", mode="replay")
    agent.is_last_turn = True
    async with agent:
        events = await let_go(agent, project)
    assert "has ended: exit 3 after" in str(results(events)[-1])
    assert len(provider_of(agent).sent) == 3


async def test_an_interrupt_ends_the_wait_for_a_watched_command(make_agent: MakeAgent) -> None:
    agent = make_agent(watched("sleep 1000"), "They run.", mode="replay")
    agent.is_last_turn = True
    events: list[Any] = []
    async with agent, asyncio.timeout(30):
        async for event in agent("go"):
            events.append(event)
            if "Waiting for the end" in str(event):
                agent.interrupt()
    assert events[-1]["type"] == "interrupt"


async def test_where_the_user_can_go_on_no_answer_waits(make_agent: MakeAgent) -> None:
    agent = make_agent(watched("sleep 1000"), "They run.", mode="replay")
    async with agent:
        events = await turn(agent)
    assert len(provider_of(agent).sent) == 2
    assert "Waiting for" not in str(events)


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
