"""Native calls and reasoning that is kept, over Responses by HTTP and by WebSocket, over real sockets."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from cogency_tui.agent.model_channels import ReplayChannel, ResumeChannel
from cogency_tui.config.schema import Settings
from cogency_tui.errors import NetworkError, ProviderError, SessionLostError
from cogency_tui.protocol.messages import Message, parts_of
from cogency_tui.providers.base import (
    CallDelta,
    Options,
    ReasoningDelta,
    Usage,
)
from cogency_tui.providers.configured_providers import create_provider
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_provider import HttpProvider
from cogency_tui.providers.models import ModelFacts
from cogency_tui.providers.openai_responses import ResponsesWire
from cogency_tui.providers.openai_responses_session import responses_sessions
from tests.peers.responses import ResponsesPeer
from tests.peers.responses_events import NativeAnswer
from tests.peers.responses_params import check_params
from tests.peers.server import Fault
from tests.providers.native_talk import OPTIONS, THREE, TOOLS, Talk, calls_in, results_of

FACTS = ModelFacts(reasoning=True, all_turns=True)
AT_ARGUMENTS = 21
"""Events before the arguments of the first call are complete."""

CHANNELS = [pytest.param(ReplayChannel, id="replay"), pytest.param(ResumeChannel, id="resume")]


@asynccontextmanager
async def provider_of(peer: ResponsesPeer, facts: ModelFacts = FACTS) -> AsyncGenerator[HttpProvider]:
    endpoint = Endpoint("openai", peer.base_url, "test-model", "OPENAI_API_KEY", "sk-key")
    sessions = responses_sessions(endpoint, facts)
    provider = HttpProvider(endpoint, ResponsesWire(endpoint, facts), sessions=sessions, native=True)
    yield provider
    await provider.close()


@asynccontextmanager
async def talk_with(
    peer: ResponsesPeer, channel: type[ReplayChannel] | type[ResumeChannel], options: Options = OPTIONS
) -> AsyncGenerator[Talk]:
    async with peer, provider_of(peer) as provider:
        talk = Talk(channel(provider), options)
        yield talk
        await talk.channel.close()
    for request in peer.requests:
        if request.body:
            check_params(request.body)
    for socket in peer.sockets:
        for frame in socket.frames:
            check_params(frame)


@pytest.mark.parametrize("channel", CHANNELS)
async def test_parallel_calls_are_made_and_their_results_answered(
    channel: type[ReplayChannel] | type[ResumeChannel],
) -> None:
    peer = ResponsesPeer(["Let me see.", "Both are there.", "Yes."], faults=[THREE])
    async with talk_with(peer, channel) as talk:
        first = await talk.say("Read a and ü.")
        deltas = [chunk for chunk in talk.chunks if isinstance(chunk, CallDelta)]
        reasoning = "".join(chunk.text for chunk in talk.chunks if isinstance(chunk, ReasoningDelta))
        second = await talk.send(results_of(first))
        third = await talk.say("Sure?")
    assert [part["type"] for part in parts_of(first)] == ["reasoning", "text", "call", "call", "call"]
    assert [(call["name"], call["arguments"]) for call in calls_in(first)] == list(THREE.calls)
    assert len({call["id"] for call in calls_in(first)}) == 3
    assert len(deltas) > len('{"path": "a"}')
    assert [delta.index for delta in deltas if delta.complete] == [0, 1, 2]
    assert reasoning == "First a.\n\nThen b."
    assert (second["content"], third["content"]) == ("Both are there.", "Yes.")
    seen = [(each["role"], each["content"]) for each in peer.exchanges[2].context]
    assert seen == [
        ("system", "You are an agent."),
        ("user", "Read a and ü."),
        ("reasoning", "First a.\n\nThen b."),
        ("assistant", "Let me see."),
        ("call", 'read {"path": "a"}'),
        ("call", "list {}" if channel is ReplayChannel else "list "),
        ("call", 'read {"path": "ü😀"}'),
        *(("result", f"{number}: done") for number in range(3)),
        ("assistant", "Both are there."),
        ("user", "Sure?"),
    ]


async def test_a_session_is_sent_results_alone_and_its_tools_each_time() -> None:
    peer = ResponsesPeer(["", "Done."], faults=[THREE])
    async with talk_with(peer, ResumeChannel) as talk:
        first = await talk.say("Read.")
        await talk.send(results_of(first))
        usage = talk.chunks[-1]
    begin, go_on = peer.sockets[0].frames
    assert [item["type"] for item in begin["input"]] == ["message", "message"]
    assert [item["type"] for item in go_on["input"]] == ["function_call_output"] * 3
    assert [item["call_id"] for item in go_on["input"]] == [call["id"] for call in calls_in(first)]
    assert begin["tools"] == go_on["tools"]
    assert isinstance(usage, Usage)
    assert usage.billed_input == peer.exchanges[1].input
    # The peer rounds the tokens of the text and of each call up.
    assert 0 <= peer.exchanges[1].sent - usage.input <= 1 + len(THREE.calls)


async def test_a_session_that_is_seeded_again_has_calls_results_and_reasoning() -> None:
    peer = ResponsesPeer(["", "One.", "Two."], faults=[THREE], evicts={2})
    async with talk_with(peer, ResumeChannel) as talk:
        first = await talk.say("Read.")
        await talk.send(results_of(first))
        await talk.say("Again.")
        assert "A new session" in talk.notices[0]
    [again] = peer.sockets[1].frames
    kinds = [item["type"] for item in again["input"]]
    calls, results = ["function_call"] * 3, ["function_call_output"] * 3
    assert kinds == ["message", "message", "reasoning", *calls, *results, "message", "message"]
    assert again["input"][2] == parts_of(first)[0].get("item")
    assert ("reasoning", THREE.reasoning) in [
        (each["role"], each["content"]) for each in peer.exchanges[2].context
    ]


@pytest.mark.parametrize("channel", CHANNELS)
async def test_reasoning_is_kept_without_tools(channel: type[ReplayChannel] | type[ResumeChannel]) -> None:
    peer = ResponsesPeer(["One.", "Two."], always=Fault(reasoning="Hm."))
    async with talk_with(peer, channel, Options()) as talk:
        await talk.say("First.")
        await talk.say("Second.")
    assert [each["role"] for each in peer.exchanges[1].context] == [
        *("system", "user", "reasoning", "assistant", "user")
    ]


@pytest.mark.parametrize("channel", CHANNELS)
async def test_an_answer_that_breaks_off_within_a_call_can_be_gone_on_from(
    channel: type[ReplayChannel] | type[ResumeChannel],
) -> None:
    cut = replace(THREE, drop="within", after=AT_ARGUMENTS)
    peer = ResponsesPeer(["", "On we go."], faults=[cut])
    async with talk_with(peer, channel) as talk:
        with pytest.raises(NetworkError if channel is ReplayChannel else SessionLostError):
            await talk.say("Read.")
        cut_off = talk.messages[-1]
        [call] = calls_in(cut_off)
        assert '{"path": "a"}'.startswith(call["arguments"])
        assert 0 < len(call["arguments"]) < len('{"path": "a"}')
        answer = await talk.send(results_of(cut_off))
    assert answer["content"] == "On we go."
    assert len(peer.exchanges) == 2
    [malformed] = [each["content"] for each in peer.exchanges[1].context if each["role"] == "call"]
    assert malformed.startswith('read {"malformed": ')


@pytest.mark.parametrize("channel", CHANNELS)
async def test_an_effort_that_is_refused_is_reported_once_and_left_out(
    channel: type[ReplayChannel] | type[ResumeChannel],
) -> None:
    peer = ResponsesPeer(["One.", "Two."], refuses=["reasoning.effort"])
    async with talk_with(peer, channel) as talk:
        await talk.say("First.")
        assert talk.notices == [
            "test-model does not accept the reasoning effort low. Its own default applies instead."
        ]
        await talk.say("Second.")
        assert not talk.notices
    bodies = [request.body for request in peer.requests if request.body]
    bodies += [frame for socket in peer.sockets for frame in socket.frames]
    assert ["effort" in body["reasoning"] for body in bodies] == [True, False, False]


@pytest.mark.parametrize("channel", CHANNELS)
async def test_a_tier_that_is_refused_is_reported_once_and_left_out(
    channel: type[ReplayChannel] | type[ResumeChannel],
) -> None:
    peer = ResponsesPeer(["One.", "Two."], refuses=["service_tier"])
    async with talk_with(peer, channel, replace_options(tier="flex")) as talk:
        await talk.say("First.")
        assert talk.notices == [
            "test-model does not accept the service tier flex. Its own default applies instead."
        ]
        await talk.say("Second.")
        assert not talk.notices
    bodies = [request.body for request in peer.requests if request.body]
    bodies += [frame for socket in peer.sockets for frame in socket.frames]
    assert ["service_tier" in body for body in bodies] == [True, False, False]


@pytest.mark.parametrize("channel", CHANNELS)
async def test_options_that_an_endpoint_refuses_are_left_out(
    channel: type[ReplayChannel] | type[ResumeChannel],
) -> None:
    refused = ["include", "prompt_cache_key", "service_tier", "reasoning.context"]
    peer = ResponsesPeer(["One."], refuses=refused, always=Fault(reasoning="Hm."))
    async with talk_with(peer, channel, replace_options(tier="flex")) as talk:
        answer = await talk.say("First.")
    assert answer["content"] == "One."
    # Without its content, an item of reasoning cannot be sent back.
    assert [part["type"] for part in parts_of(answer)] == ["text"]


def replace_options(tier: str) -> Options:
    return Options(tools=TOOLS, effort="low", conversation="c1", tier=tier)


@pytest.mark.parametrize("channel", CHANNELS)
async def test_the_model_and_the_tier_that_answered_are_reported(
    channel: type[ReplayChannel] | type[ResumeChannel],
) -> None:
    async with talk_with(ResponsesPeer(), channel, replace_options(tier="flex")) as talk:
        await talk.say("First.")
        usage = talk.chunks[-1]
    assert isinstance(usage, Usage)
    assert (usage.model, usage.tier) == ("test-model", "flex")


@pytest.mark.parametrize("channel", CHANNELS)
async def test_a_history_with_calls_is_accepted_without_tools(
    channel: type[ReplayChannel] | type[ResumeChannel],
) -> None:
    peer = ResponsesPeer(["", "Done."], faults=[THREE])
    async with peer, provider_of(peer) as provider:
        talk = Talk(channel(provider))
        first = await talk.say("Read.")
        plain = Talk(channel(provider), Options())
        plain.messages = list(talk.messages)
        answer = await plain.send(results_of(first))
        for each in (talk, plain):
            await each.channel.close()
    assert answer["content"] == "Done."


@pytest.mark.parametrize("channel", CHANNELS)
async def test_an_answer_of_calls_alone_is_not_empty(
    channel: type[ReplayChannel] | type[ResumeChannel],
) -> None:
    calls = NativeAnswer(calls=[("list", "")])
    async with talk_with(ResponsesPeer([""], faults=[calls]), channel) as talk:
        answer = await talk.say("List.")
        assert [(call["name"], call["arguments"]) for call in calls_in(answer)] == [("list", "")]


async def test_calls_arrive_whole_in_any_pieces_of_the_stream() -> None:
    async with talk_with(ResponsesPeer([""], faults=[replace(THREE, one_byte=True)]), ReplayChannel) as talk:
        answer = await talk.say("Read.")
        assert [(call["name"], call["arguments"]) for call in calls_in(answer)] == list(THREE.calls)


async def test_a_call_without_its_result_is_refused() -> None:
    """The peer demands what the vendor does, which the other tests rely on."""
    async with talk_with(ResponsesPeer([""], faults=[THREE]), ReplayChannel) as talk:
        await talk.say("Read.")
        with pytest.raises(ProviderError, match="No tool output found for function call"):
            await talk.say("Never mind.")


@pytest.mark.parametrize(("model", "native"), [("gpt-5-mini", True), ("gpt-realtime", False)])
def test_models_of_responses_are_called_natively_and_realtime_models_are_not(
    model: str, native: bool
) -> None:
    provider = create_provider(Settings(provider="openai", model=model), {"OPENAI_API_KEY": "sk-key"})
    assert provider.native is native


@pytest.mark.parametrize("channel", CHANNELS)
async def test_labels_of_messages_are_returned(channel: type[ReplayChannel] | type[ResumeChannel]) -> None:
    labelled = replace(THREE, phase="commentary")
    peer = ResponsesPeer(["Let me see.", "Done.", "Yes."], faults=[labelled], evicts={2})
    async with talk_with(peer, channel) as talk:
        first = await talk.say("Read.")
        await talk.send(results_of(first))
        await talk.say("Sure?")
    [*_before, last] = [request.body for request in peer.requests if request.body] or peer.sockets[1].frames
    phases = [item.get("phase") for item in last["input"] if item.get("role") == "assistant"]
    assert phases == ["commentary", None]


@pytest.mark.parametrize("channel", CHANNELS)
async def test_reasoning_that_an_endpoint_cannot_read_is_left_out(
    channel: type[ReplayChannel] | type[ResumeChannel],
) -> None:
    """As after a change of the key to that of another organisation."""
    forgets = ResponsesPeer(["One.", "Two.", "Three."], always=Fault(reasoning="Hm."))
    history: list[Message] = []
    async with talk_with(ResponsesPeer(["One."], always=Fault(reasoning="Hm.")), channel) as talk:
        await talk.say("First.")
        history = talk.messages
    async with talk_with(forgets, channel) as talk:
        talk.messages = history
        await talk.say("Second.")
        assert talk.text == "One."
        await talk.say("Third.")
        assert talk.text == "Two."
    assert [each["role"] for each in forgets.exchanges[0].context] == ["system", "user", "assistant", "user"]
