"""The lifetime of what is written to the vendors' caches, as it follows from the pauses of a conversation."""

import json
from collections.abc import Sequence
from typing import Any, cast

from msgspec.structs import replace
from openai.types.responses.response_create_params import PromptCacheOptions
from pydantic import TypeAdapter

from cogency_tui.agent.model_channels import ReplayChannel, ResumeChannel
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.anthropic import AnthropicWire
from cogency_tui.providers.anthropic_threads import thread_sessions
from cogency_tui.providers.base import Options, Usage
from cogency_tui.providers.cache_lifetimes import ANTHROPIC, OPENAI, Lifetimes, lifetime_for
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_provider import HttpProvider
from cogency_tui.providers.models import ModelFacts, load_models
from cogency_tui.providers.openai_responses import ResponsesWire
from cogency_tui.providers.openai_responses_events import ResponsesReader
from tests.cases import cases
from tests.peers.anthropic import AnthropicPeer
from tests.peers.responses import ResponsesPeer
from tests.peers.server import Peer
from tests.providers.anthropic_native import TOOLS, check_types, says, text
from tests.providers.asked import KEY

SYSTEM: Message = {"role": "system", "content": "s" * 4 * 2000}
ASKED = says("user", text("u" * 400))
HISTORY = [SYSTEM, ASKED, says("assistant", text("Hello.")), says("user", text("v" * 400))]
RARE = Options(tools=TOOLS.tools, pauses=(20.0, 600.0))
OPEN = ModelFacts(threads=True)


@cases(
    ("pauses", "lifetimes", "name"),
    [
        ([], ANTHROPIC, ""),
        ([20.0, 299.0], ANTHROPIC, ""),
        ([20.0, 301.0], ANTHROPIC, "1h"),
        ([3600.0], ANTHROPIC, "1h"),
        # Not even an hour would have been enough.
        ([7200.0, 86_400.0], ANTHROPIC, ""),
        ([7200.0, 600.0], ANTHROPIC, "1h"),
        ([600.0, 1800.0], OPENAI, ""),
        ([7200.0], OPENAI, "12h"),
        ([86_400.0], OPENAI, ""),
    ],
)
def test_the_longer_lifetime_is_for_pauses_that_it_outlives(
    pauses: Sequence[float], lifetimes: Lifetimes, name: str
) -> None:
    assert lifetime_for(pauses, lifetimes) == name


def marks_of(body: Any) -> list[dict[str, str]]:
    """All marks of a request for the cache, in order."""
    if isinstance(body, list):
        return [mark for each in cast("list[Any]", body) for mark in marks_of(each)]
    if not isinstance(body, dict):
        return []
    members = cast("dict[str, Any]", body)
    own = [members["cache_control"]] if "cache_control" in members else []
    return own + [mark for value in members.values() for mark in marks_of(value)]


def provider_of(peer: Peer, *, threads: bool = False) -> HttpProvider:
    endpoint = Endpoint("anthropic", peer.base_url, "claude-sonnet-5", "ANTHROPIC_API_KEY", KEY)
    sessions = thread_sessions(endpoint, OPEN) if threads else None
    return HttpProvider(endpoint, AnthropicWire(endpoint), sessions=sessions, native=True)


async def used(
    channel: ReplayChannel | ResumeChannel, messages: Sequence[Message], options: Options
) -> Usage:
    [usage] = [chunk async for chunk in channel.generate(messages, options) if isinstance(chunk, Usage)]
    return usage


async def test_a_conversation_with_pauses_reads_after_the_next_one_what_it_wrote_before() -> None:
    async with AnthropicPeer(model="claude-sonnet-5") as peer:
        provider = provider_of(peer)
        channel = ReplayChannel(provider)
        usual = [await used(channel, HISTORY[:2], TOOLS)]
        peer.rest()
        usual.append(await used(channel, HISTORY, TOOLS))
        lasting = [await used(channel, HISTORY, RARE)]
        peer.rest()
        lasting.append(await used(channel, [*HISTORY, HISTORY[2], ASKED], RARE))
        await provider.close()
    assert [usage.cached for usage in usual] == [0, 0]
    assert [usage.long_written for usage in usual] == [0, 0]
    assert lasting[1].cached == lasting[0].input
    assert [usage.long_written for usage in lasting] == [usage.cache_written for usage in lasting]
    for request in peer.requests:
        check_types(request.body)


async def test_every_mark_has_the_lifetime_and_there_are_four_at_most() -> None:
    long_history = [*HISTORY, HISTORY[2], ASKED, HISTORY[2], ASKED]
    async with AnthropicPeer(model="claude-sonnet-5") as peer:
        provider = provider_of(peer, threads=True)
        await used(ReplayChannel(provider), long_history, RARE)
        thread = ResumeChannel(provider)
        await used(thread, long_history, RARE)
        turn = says("user", *(text(f"{number}") for number in range(12)))
        await used(thread, [*long_history, HISTORY[2], turn], RARE)
        await thread.close()
        await provider.close()
    marks = [marks_of(request.body) for request in peer.requests]
    assert [len(each) for each in marks] == [4, 2, 2]
    assert all(mark == {"type": "ephemeral", "ttl": "1h"} for each in marks for mark in each)


@cases("threads", [False, True])
async def test_a_server_that_refuses_the_lifetime_is_asked_without(threads: bool) -> None:
    async with AnthropicPeer(["One.", "Two."], model="claude-sonnet-5") as peer:
        peer.refuses_lifetimes = True
        provider = provider_of(peer, threads=threads)
        channel = ResumeChannel(provider) if threads else ReplayChannel(provider)
        await used(channel, HISTORY[:2], RARE)
        await used(channel, [*HISTORY[:2], says("assistant", text("One.")), HISTORY[3]], RARE)
        await channel.close()
        await provider.close()
    lifetimes = [{mark.get("ttl") for mark in marks_of(request.body)} for request in peer.requests]
    assert lifetimes == [{"1h"}, {None}, {None}]


async def test_other_pauses_need_no_other_session() -> None:
    async with AnthropicPeer(["One.", "Two."], model="claude-sonnet-5") as peer:
        provider = provider_of(peer, threads=True)
        channel = ResumeChannel(provider)
        await used(channel, HISTORY[:2], TOOLS)
        await used(channel, [*HISTORY[:2], says("assistant", text("One.")), HISTORY[3]], RARE)
        await channel.close()
        await provider.close()
    assert [request.body["thread"]["type"] for request in peer.requests] == ["create", "continue"]


def body_of(options: Options, *, diagnoses: bool = True, refused: Sequence[str] = ()) -> dict[str, Any]:
    wire = ResponsesWire(Endpoint("openai", "http://127.0.0.1/v1", "gpt-6-sol"), diagnoses=diagnoses)
    return json.loads(wire.encode(HISTORY, refused, options))


def test_openais_entries_live_for_twelve_hours_where_pauses_are_longer_than_half_an_hour() -> None:
    day = Options(pauses=(4000.0,), previous="resp_1")
    body = body_of(day)
    TypeAdapter(PromptCacheOptions).validate_python(body["prompt_cache_options"])
    assert body["prompt_cache_options"] == {"comparison_response_id": "resp_1", "ttl": "12h"}
    assert body_of(replace(day, pauses=(600.0,)))["prompt_cache_options"] == {
        "comparison_response_id": "resp_1"
    }
    # Models before gpt-5.6 have no such options.
    assert "prompt_cache_options" not in body_of(day, diagnoses=False)


async def test_openai_is_asked_without_a_lifetime_that_it_refuses() -> None:
    options = Options(pauses=(4000.0,), previous="")
    async with ResponsesPeer(["One."], refuses=["prompt_cache_options.ttl"]) as peer:
        endpoint = Endpoint("openai", peer.base_url, "test-model", "OPENAI_API_KEY", KEY)
        provider = HttpProvider(endpoint, ResponsesWire(endpoint, diagnoses=True))
        await used(ReplayChannel(provider), [ASKED], options)
        await provider.close()
    sent = [request.body.get("prompt_cache_options") for request in peer.requests]
    assert sent == [{"ttl": "12h"}, None]


def test_openais_tokens_of_the_longer_lifetime_are_read() -> None:
    details = {"cached_tokens": 1, "cache_write_tokens": 8}
    details |= {"cache_write_tokens_details": {"ttl_12h_tokens": 6, "ttl_30m_tokens": 2}}
    usage = {"input_tokens": 20, "output_tokens": 3, "total_tokens": 23, "input_tokens_details": details}
    end = {"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "usage": usage}}
    frame = ResponsesReader(Endpoint("openai", "http://127.0.0.1/v1", "m")).read_event(end)
    assert frame.usage == Usage(20, 3, 1, cache_written=8, long_written=6)


def test_what_is_written_for_longer_has_a_price_of_its_own() -> None:
    models = load_models()
    written: dict[str, Any] = {"input": 1_000_000, "cached": 0, "cache_written": 1_000_000, "output": 0}
    for provider, model, usual, longer in (
        ("anthropic", "claude-sonnet-5-5", 2.5, 4.0),
        ("openai", "gpt-6-sol", 5.0, 10.0),
    ):
        prices = models.find(provider, model).prices
        assert prices is not None
        assert prices.cost(**written) == usual
        assert prices.cost(**written, long_written=1_000_000) == longer
