"""How long commands in the background go on."""

from pathlib import Path

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
