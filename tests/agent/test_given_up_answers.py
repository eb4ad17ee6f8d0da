"""An answer that the user stops while another conversation waits for one over the same connection."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.protocol.events import Event, Measure
from cogency_tui.store.usage import measures
from tests.peers.responses import ResponsesPeer
from tests.peers.ways import KEY, WAYS, connect_lanes
from tests.providers.asked import PATIENCE

LONG = "word " * 3000


async def begin(agent: Agent, name: str) -> AsyncGenerator[Event, None]:
    """Ask in a conversation, and read the answer's first words."""
    events = agent.stream("Go on.", conversation_id=name)
    async for event in events:
        if event["type"] == "respond":
            return events
    raise AssertionError("no answer")


async def measured(agent: Agent, name: str) -> list[Measure]:
    store = await agent.store()
    return [each for _at, each in await store.database.read(lambda base: measures(base, name))]


async def test_the_rest_of_a_stopped_answer_is_counted(tmp_path: Path) -> None:
    model = WAYS["Responses WebSocket"].model
    async with ResponsesPeer([LONG], latency=0.002, model=model, key=KEY) as peer:
        provider = connect_lanes(peer)
        agent = Agent(provider, mode="resume", dialect="xml", project=tmp_path, data=tmp_path / "data")
        async with agent:
            stopped, other = await begin(agent, "a"), await begin(agent, "b")
            agent.interrupt("a")
            assert [event async for event in stopped][-1]["type"] == "interrupt"
            assert [event async for event in other][-1]["type"] == "end"
            async with asyncio.timeout(PATIENCE):
                while len(found := await measured(agent, "a")) < 2:
                    pass
    step, rest = found
    assert peer.connections == 1
    assert (step.get("estimated"), rest.get("estimated"), rest.get("purpose")) == (True, True, "rest")
    assert rest.get("input") == 0
    assert rest.get("output", 0) > 0
    assert step.get("output", 0) + rest.get("output", 0) == pytest.approx(len(LONG) // 4, rel=0.05)
    assert rest.get("cost", 0) > 0
