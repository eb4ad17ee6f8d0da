"""The notice of a prompt cache that fails: over a real socket where it does, and quiet where it could not hit."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec.structs import replace as with_options

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.prompt_cache import LEAST, SOON, CacheRequest, CacheWatch
from cogency_tui.config.schema import Settings
from cogency_tui.protocol.events import Event, Measure
from cogency_tui.providers.anthropic import AnthropicWire
from cogency_tui.providers.base import Options
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_provider import HttpProvider
from cogency_tui.store.requests import Frame
from cogency_tui.store.usage import measures
from tests.cases import cases
from tests.peers.anthropic import AnthropicPeer
from tests.providers.asked import KEY

FRAME = Frame((("system prompt", "You are."),), "", "xml", 30_000, 0, "p", "m")
FIRST = CacheRequest(FRAME, 0, Options(effort="low", conversation="c"), False, 1000.0)
NEXT = replace(FIRST, moment=1010.0)
HELD: Measure = {"input": 20_000, "cached": 0, "cache_written": 10_000}
MISSED: Measure = {"input": 20_100, "cached": 0, "cache_written": 10_100}
HIT: Measure = {"input": 20_100, "cached": 10_000, "cache_written": 100}


def watched(*requests: tuple[CacheRequest, Measure]) -> tuple[list[str], list[Measure]]:
    """The notices of requests in turn, and their figures afterwards."""
    watch, steps = CacheWatch(), [step.copy() for _asked, step in requests]
    asked = [request for request, _step in requests]
    return [watch.observe(*each) for each in zip(asked, steps, strict=True)], steps


def test_a_miss_is_noticed_once_a_conversation_and_recorded_each_time() -> None:
    later = replace(NEXT, moment=1020.0)
    notices, steps = watched((FIRST, HELD), (NEXT, MISSED), (later, MISSED))
    assert notices == [
        "",
        "The provider's cache missed about 10,000 tokens that the last request had in it: the provider gives no "
        "reason. /cost why lists each miss.",
        "",
    ]
    assert [step.get("cache_miss") for step in steps] == [
        None,
        {"reason": "unexplained", "tokens": 10_000},
        {"reason": "unexplained", "tokens": 10_100},
    ]


@cases(
    ("reason", "words"),
    [
        ("system_changed", "in it: the system prompt changed. /cost why"),
        ("of_next_year", "in it: of_next_year. /cost why"),
        ("unavailable", "in it: the provider gives no reason. /cost why"),
    ],
)
def test_the_notice_has_the_providers_reason_where_it_gives_one(reason: str, words: str) -> None:
    notices, [_first, step] = watched((FIRST, HELD), (NEXT, {**MISSED, "cache_miss": {"reason": reason}}))
    assert words in notices[1]
    assert step.get("cache_miss", {}).get("reason") == ("unexplained" if reason == "unavailable" else reason)


@cases(
    "requests",
    [
        [(FIRST, MISSED)],
        [(FIRST, HELD), (NEXT, HIT)],
        # More than half was read.
        [(FIRST, HELD), (NEXT, {**HIT, "cached": 5_000})],
        # Another model, a summary, another dialect, another effort, other tools.
        [(FIRST, HELD), (replace(NEXT, frame=replace(FRAME, model="n")), MISSED)],
        [(FIRST, HELD), (replace(NEXT, frame=replace(FRAME, summary="So far"), since=9), MISSED)],
        [(FIRST, HELD), (replace(NEXT, frame=replace(FRAME, dialect="native")), MISSED)],
        [(FIRST, HELD), (replace(NEXT, options=with_options(FIRST.options, effort="high")), MISSED)],
        [(FIRST, HELD), (replace(NEXT, frame=replace(FRAME, system=())), MISSED)],
        # A window of messages moved.
        [(FIRST, HELD), (replace(NEXT, since=3), MISSED)],
        # The remark about the last step is not in the next request.
        [(replace(FIRST, closing=True), HELD), (NEXT, MISSED)],
        # The entries may have expired, or the clock was set.
        [(FIRST, HELD), (replace(NEXT, moment=1000.1 + SOON), MISSED)],
        [(FIRST, HELD), (replace(NEXT, moment=900.0), MISSED)],
        # Little was in the cache, or nothing ever is.
        [(FIRST, {**HELD, "cache_written": LEAST - 1}), (NEXT, MISSED)],
        [(FIRST, {"input": 20_000, "cached": 0}), (NEXT, {"input": 20_100, "cached": 0})],
        [(FIRST, HELD), (NEXT, {"input": 20_100})],
        # Our own estimate says nothing about a cache.
        [(FIRST, HELD), (NEXT, {"input": 20_100, "estimated": True}), (NEXT, MISSED)],
    ],
)
def test_nothing_is_noticed_where_the_cache_hits_or_could_not(
    requests: Sequence[tuple[CacheRequest, Measure]],
) -> None:
    notices, steps = watched(*requests)
    assert not any(notices)
    assert not any("cache_miss" in step for step in steps)


def agent_of(peer: AnthropicPeer, tmp_path: Path, **settings: Any) -> Agent:
    (tmp_path / "project").mkdir(exist_ok=True)
    endpoint = Endpoint("anthropic", peer.base_url, peer.model, "ANTHROPIC_API_KEY", KEY)
    provider = HttpProvider(endpoint, AnthropicWire(endpoint))
    given = Settings(titles=False, **settings)
    return Agent(provider, project=tmp_path / "project", data=tmp_path / "data", settings=given)


async def turn(agent: Agent, query: str = "go") -> list[Event]:
    return [event async for event in agent.stream(query, conversation_id="c", chunks=False)]


def notices_in(events: Sequence[Event]) -> list[str]:
    return [
        event["payload"]["error"]
        for event in events
        if event["type"] == "error" and event["payload"].get("notice")
    ]


def steps_in(events: Sequence[Event]) -> list[Measure]:
    return [event["step"] for event in events if event["type"] == "metric"]


async def test_a_cache_that_lost_the_conversation_is_noticed_once(tmp_path: Path) -> None:
    async with AnthropicPeer() as peer, agent_of(peer, tmp_path) as agent:
        quiet = [*await turn(agent, "u" * 40_000), *await turn(agent)]
        peer.forget()
        lost = await turn(agent)
        peer.forget()
        again = await turn(agent)
        database = (await agent.store()).database
        stored = await database.read(lambda connection: measures(connection, "c"))
    assert notices_in(quiet) == notices_in(again) == []
    held = peer.bills[1].read + peer.bills[1].written
    assert notices_in(lost) == [
        f"The provider's cache missed about {held:,} tokens that the last request had in it: the provider gives "
        "no reason. /cost why lists each miss."
    ]
    missed = ["cache_miss" in step for _moment, step in stored]
    assert missed == [False, False, True, True]
    assert steps_in(lost) == [stored[2][1]]


async def test_a_change_of_effort_or_dialect_is_not_noticed(tmp_path: Path) -> None:
    async with AnthropicPeer() as peer, agent_of(peer, tmp_path) as agent:
        events = await turn(agent, "u" * 40_000)
        agent.effort = "low"
        peer.forget()
        events += await turn(agent)
        agent.dialect = "action"
        peer.forget()
        events += await turn(agent)
    assert len(peer.bills) == 3
    assert notices_in(events) == []
