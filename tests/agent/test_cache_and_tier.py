"""What a conversation asks of the vendor's cache and class of service, over a real socket."""

from pathlib import Path
from time import time
from typing import Any

from msgspec.structs import replace

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from cogency_tui.protocol.events import Event
from cogency_tui.providers.anthropic import AnthropicWire
from cogency_tui.providers.anthropic_threads import LIFETIME
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_provider import HttpProvider
from cogency_tui.providers.models import load_models
from tests.peers.anthropic import AnthropicPeer
from tests.peers.ways import KEY as WAY_KEY
from tests.peers.ways import WAYS
from tests.providers.asked import KEY

MODEL = "claude-sonnet-5-5"


def agent_of(peer: AnthropicPeer, tmp_path: Path, **settings: Any) -> Agent:
    (tmp_path / "project").mkdir(exist_ok=True)
    facts = load_models().find("anthropic", MODEL)
    endpoint = Endpoint("anthropic", peer.base_url, MODEL, "ANTHROPIC_API_KEY", KEY)
    provider = HttpProvider(endpoint, AnthropicWire(endpoint, facts), facts=facts)
    given = Settings(titles=False, **settings)
    return Agent(provider, project=tmp_path / "project", data=tmp_path / "data", settings=given)


async def turn(agent: Agent, query: str = "go") -> list[Event]:
    return [event async for event in agent.stream(query, conversation_id="c", chunks=False)]


async def rest(agent: Agent, seconds: float) -> None:
    """Let time pass since the last request."""
    database = (await agent.store()).database
    for table in ("requests", "events"):
        sql = f"UPDATE {table} SET timestamp = timestamp - ?"
        await database.write(lambda connection, sql=sql: connection.execute(sql, (seconds,)))


async def test_the_end_of_a_thread_is_known_once_it_has_an_answer(tmp_path: Path) -> None:
    way = WAYS["Anthropic threads"]
    (tmp_path / "project").mkdir()
    async with AnthropicPeer(model=MODEL, key=WAY_KEY) as peer:
        provider = way.connect(peer)
        agent = Agent(
            provider,
            project=tmp_path / "project",
            data=tmp_path / "data",
            settings=replace(way.settings, titles=False),
        )
        async with agent:
            assert agent.session_expires("c") is None
            before = time()
            await turn(agent)
            expires = agent.session_expires("c")
            assert expires is not None
            assert before + LIFETIME <= expires <= time() + LIFETIME
            # Nothing expires where every request has all of the conversation.
            agent.mode = "replay"
            await turn(agent)
            assert agent.session_expires("c") is None


def lifetimes(peer: AnthropicPeer) -> list[str]:
    return [request.body["system"][-1]["cache_control"].get("ttl", "") for request in peer.requests]


async def test_pauses_between_turns_lengthen_the_life_of_the_cache(tmp_path: Path) -> None:
    async with AnthropicPeer(model=MODEL) as peer, agent_of(peer, tmp_path) as agent:
        await turn(agent)
        await turn(agent)
        await rest(agent, 900.0)
        last = await turn(agent)
    assert lifetimes(peer) == ["", "", "1h"]
    [step] = [event["step"] for event in last if event["type"] == "metric"]
    long = peer.bills[-1]
    assert long.long == long.written > 0
    # Twice the price of input.
    prices = load_models().find("anthropic", MODEL).prices
    assert prices is not None
    expected = long.full * 2 + long.read * 0.1 + long.written * 4 + step.get("output", 0) * 10
    assert abs(step.get("cost", 0.0) - expected / 1_000_000) < 1e-12


async def test_the_chosen_tier_is_requested_and_that_which_answered_is_priced(tmp_path: Path) -> None:
    async with (
        AnthropicPeer(model=MODEL) as peer,
        agent_of(peer, tmp_path, service_tier="standard_only") as agent,
    ):
        events = await turn(agent)
        peer.tier = "priority"
        events += await turn(agent)
    assert {request.body["service_tier"] for request in peer.requests} == {"standard_only"}
    steps = [event["step"] for event in events if event["type"] == "metric"]
    # What it costs there depends on a contract.
    found = [(step.get("tier"), step.get("estimated", False)) for step in steps]
    assert found == [("standard", False), ("priority", True)]
