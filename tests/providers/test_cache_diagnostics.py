"""What the vendors state about their prompt caches: requested from them alone, and read over each wire."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from cogency_tui.agent.model_channels import AutoChannel, LastAnswers, ReplayChannel, ResumeChannel
from cogency_tui.protocol.events import CacheMiss
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.anthropic import AnthropicWire
from cogency_tui.providers.base import Options, Usage
from cogency_tui.providers.configured_providers import is_vendors_own
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_provider import HttpProvider
from cogency_tui.providers.models import load_models
from cogency_tui.providers.openai_responses import ResponsesWire
from cogency_tui.providers.openai_responses_session import responses_sessions
from cogency_tui.providers.presets import PRESETS
from tests.cases import cases
from tests.peers.anthropic import AnthropicPeer
from tests.peers.responses import ResponsesPeer
from tests.peers.server import Peer
from tests.providers.asked import ANTHROPIC, RESPONSES, Vendor

ASKING_ANTHROPIC = replace(ANTHROPIC, wire=partial(AnthropicWire, own=True))
ASKING_OPENAI = replace(RESPONSES, wire=partial(ResponsesWire, diagnoses=True))

SYSTEM: Message = {"role": "system", "content": "s" * 400}
FIRST: list[Message] = [SYSTEM, {"role": "user", "content": "u" * 40}]
SECOND: list[Message] = [
    *FIRST,
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "v" * 40},
]
OTHER_SYSTEM: list[Message] = [{"role": "system", "content": "t" * 400}, *SECOND[1:]]
OTHER_MESSAGE: list[Message] = [SYSTEM, {"role": "user", "content": "w" * 40}, *SECOND[2:]]


async def ask(provider: HttpProvider, messages: Sequence[Message], previous: str | None) -> Usage:
    chunks = [chunk async for chunk in provider.stream(messages, Options(previous=previous))]
    [usage] = [chunk for chunk in chunks if isinstance(chunk, Usage)]
    return usage


async def compared(vendor: Vendor, peer: Peer, *requests: Sequence[Message]) -> list[CacheMiss | None]:
    """The diagnoses of requests, each compared with the one before."""
    previous = ""
    misses: list[CacheMiss | None] = []
    async with peer:
        provider = vendor.provider(peer)
        for messages in requests:
            usage = await ask(provider, messages, previous)
            previous = usage.answer
            misses.append(usage.cache_miss)
        await provider.close()
    return misses


async def test_anthropic_states_what_changed_since_the_request_before() -> None:
    peer = AnthropicPeer()
    misses = await compared(ASKING_ANTHROPIC, peer, FIRST, SECOND, OTHER_SYSTEM, SECOND, OTHER_MESSAGE)
    system: CacheMiss = {"reason": "system_changed", "tokens": 122}
    message: CacheMiss = {"reason": "messages_changed", "tokens": 22}
    assert misses == [None, None, system, system, message]
    ids = [request.body["diagnostics"]["previous_message_id"] for request in peer.requests]
    assert ids == [None, *(f"msg_{number:024d}" for number in range(1, 5))]
    assert not any("anthropic-beta" in request.headers for request in peer.requests)


async def test_openai_states_what_changed_since_the_request_before() -> None:
    peer = ResponsesPeer()
    misses = await compared(ASKING_OPENAI, peer, FIRST, SECOND, OTHER_SYSTEM, SECOND, OTHER_MESSAGE)
    assert misses[:2] == [None, None]
    assert [miss and miss["reason"] for miss in misses[2:]] == ["input_changed"] * 3
    assert misses[4] is not None
    assert misses[4].get("tokens") == 22
    options = [request.body.get("prompt_cache_options") for request in peer.requests]
    assert options[0] is None
    assert options[1] == {"comparison_response_id": f"resp_{1:048x}"}


GONE = {ASKING_ANTHROPIC: "previous_message_not_found", ASKING_OPENAI: "comparison_response_not_found"}


@cases("vendor", list(GONE))
async def test_a_request_that_is_gone_is_named_as_such(vendor: Vendor) -> None:
    async with vendor.peer() as peer:
        provider = vendor.provider(peer)
        usage = await ask(provider, FIRST, "id_of_last_week")
        await provider.close()
    assert usage.cache_miss == {"reason": GONE[vendor]}


async def test_a_comparison_that_is_late_states_nothing() -> None:
    peer = AnthropicPeer()
    peer.compares_late = True
    assert await compared(ASKING_ANTHROPIC, peer, FIRST, OTHER_SYSTEM) == [None, None]


@cases("vendor", [ANTHROPIC, RESPONSES])
async def test_other_servers_are_not_asked(vendor: Vendor) -> None:
    async with vendor.peer() as peer:
        provider = vendor.provider(peer)
        usage = await ask(provider, FIRST, "an_id")
        await provider.close()
    assert not {"diagnostics", "prompt_cache_options"} & peer.requests[0].body.keys()
    assert (usage.cache_miss, usage.answer) == (None, "")


@cases("vendor", [ASKING_ANTHROPIC, ASKING_OPENAI])
async def test_requests_beside_the_conversation_are_not_compared(vendor: Vendor) -> None:
    async with vendor.peer() as peer:
        await vendor.ask(peer, FIRST)
    assert not {"diagnostics", "prompt_cache_options"} & peer.requests[0].body.keys()


@cases("vendor", [ASKING_ANTHROPIC, ASKING_OPENAI])
async def test_an_endpoint_that_refuses_the_field_is_asked_without_it(vendor: Vendor) -> None:
    async with vendor.peer(refuses=["diagnostics", "prompt_cache_options"]) as peer:
        provider = vendor.provider(peer)
        usages = [await ask(provider, FIRST, "an_id") for _time in range(2)]
        await provider.close()
    assert len(peer.requests) == 3
    assert [usage.cache_miss for usage in usages] == [None, None]


def over_sockets(peer: Peer) -> HttpProvider:
    endpoint = Endpoint("openai", peer.base_url, "test-model", "OPENAI_API_KEY", "sk-key")
    sessions = responses_sessions(endpoint, diagnoses=True)
    return HttpProvider(endpoint, ResponsesWire(endpoint, diagnoses=True), sessions=sessions)


async def said(channel: ReplayChannel | ResumeChannel | AutoChannel, messages: Sequence[Message]) -> Usage:
    [usage] = [chunk async for chunk in channel.generate(messages) if isinstance(chunk, Usage)]
    return usage


async def test_a_new_session_is_compared_with_the_one_that_it_replaces() -> None:
    answers = LastAnswers()
    async with ResponsesPeer() as peer:
        provider = over_sockets(peer)
        channel = ResumeChannel(provider, answers=answers)
        within = [await said(channel, FIRST), await said(channel, SECOND)]
        await channel.close()
        # Another set of tools or another mode needs another channel.
        anew = ResumeChannel(provider, answers=answers)
        miss = (await said(anew, OTHER_SYSTEM)).cache_miss
        await anew.close()
        replayed = await said(ReplayChannel(provider, answers=answers), OTHER_SYSTEM)
        await provider.close()
    assert [usage.cache_miss for usage in within] == [None, None]
    assert miss is not None
    assert miss["reason"] == "input_changed"
    assert replayed.answer
    assert peer.requests[-1].body["prompt_cache_options"] == {"comparison_response_id": f"resp_{3:048x}"}


async def test_a_new_channel_goes_on_from_the_last_answer() -> None:
    answers = LastAnswers()
    async with AnthropicPeer() as peer:
        provider = ASKING_ANTHROPIC.provider(peer)
        await said(ReplayChannel(provider, answers=answers), FIRST)
        usage = await said(AutoChannel(provider, answers=answers), OTHER_SYSTEM)
        await provider.close()
    assert usage.cache_miss == {"reason": "system_changed", "tokens": 110}


def test_only_the_vendors_own_address_is_asked() -> None:
    for vendor in ("openai", "anthropic"):
        own = Endpoint("mine", PRESETS[vendor].base_url, "m")
        assert is_vendors_own(own, vendor)
        for other in ("http://127.0.0.1:4010/v1", "https://api.example.com/v1"):
            assert not is_vendors_own(replace(own, base_url=other), vendor)


def test_openai_diagnoses_for_its_models_since_gpt_5_6() -> None:
    models = load_models()
    known = {name: models.find("openai", name).cache_diagnostics for name in models.of("openai")}
    assert known["gpt-5.6-terra"]
    assert known["gpt-6.2-sol"]
    assert not known["gpt-5.5"]
    assert not known["gpt-5-mini"]
