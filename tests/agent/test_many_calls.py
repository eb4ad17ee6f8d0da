"""An answer with more calls than any model means."""

import pytest

from cogency_tui.agent.cycle import MOST_WRITTEN_CALLS
from tests.agent.conftest import MakeAgent
from tests.agent.test_turns import block, results, turn
from tests.peers.scripted import ScriptedProvider

pytestmark = pytest.mark.exhaustive


def calls(count: int) -> str:
    return block(*[("read", {"file": f"{number}.py"}) for number in range(count)])


@pytest.mark.parametrize("size", [1000, 1 << 24], ids=["in pieces", "at once"])
async def test_an_answer_of_too_many_calls_is_cut_off_and_the_model_is_told(
    make_agent: MakeAgent, size: int
) -> None:
    provider = ScriptedProvider(calls(2_000), "Done.", size=size)
    events = await turn(make_agent(llm=provider))
    problems = [event["payload"]["error"] for event in events if event["type"] == "error"]
    assert [f"more than {MOST_WRITTEN_CALLS:,} calls" in problem for problem in problems] == [True]
    told = [each["payload"] for each in results(events)]
    # What stood in the last piece is there as well.
    assert MOST_WRITTEN_CALLS < len(told) < MOST_WRITTEN_CALLS + 200
    assert all(str(each).count("Not run: the answer had more than 1,000 calls") == 1 for each in told)


async def test_an_answer_that_comes_at_once_can_be_stopped_while_it_is_read(make_agent: MakeAgent) -> None:
    agent = make_agent(llm=ScriptedProvider("<respond>" + "a " * 500_000, size=1 << 24))
    pieces = 0
    async for event in agent.stream("go", chunks=True):
        pieces += event["type"] == "respond"
        if pieces == 3:
            agent.interrupt()
    assert pieces < 100
