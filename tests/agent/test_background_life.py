"""How long commands in the background go on."""

from tests.agent.conftest import MakeAgent
from tests.agent.test_turns import turn

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
