"""Sessions over Responses that a server stores, over real sockets: what is sent, stored, lost and sent again."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from cogency_tui.agent.model_channels import AutoChannel, ResumeChannel
from cogency_tui.config.schema import ProviderSettings, Settings
from cogency_tui.errors import NetworkError, SessionLostError, SessionRefusedError
from cogency_tui.providers.base import Options, ReasoningDelta, Usage
from cogency_tui.providers.configured_providers import create_provider, known_providers
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_provider import HttpProvider
from cogency_tui.providers.openai_chat import ChatWire
from cogency_tui.providers.openai_responses_stored import stored_responses_sessions
from tests.peers.chat import ChatPeer
from tests.peers.responses import ResponsesPeer
from tests.peers.responses_params import check_params
from tests.peers.server import Fault, Peer
from tests.providers.native_talk import OPTIONS, SYSTEM, THREE, Talk, calls_in, results_of


@asynccontextmanager
async def provider_of(peer: Peer) -> AsyncGenerator[HttpProvider]:
    endpoint = Endpoint("lmstudio", peer.base_url, "test-model")
    provider = HttpProvider(
        endpoint, ChatWire(endpoint), sessions=stored_responses_sessions(endpoint), native=True
    )
    yield provider
    await provider.close()


@asynccontextmanager
async def talk_with(
    peer: Peer, channel: type[ResumeChannel] | type[AutoChannel] = ResumeChannel, options: Options = OPTIONS
) -> AsyncGenerator[Talk]:
    async with peer, provider_of(peer) as provider:
        talk = Talk(channel(provider), options)
        yield talk
        await talk.channel.close()


def sent(peer: Peer) -> list[dict[str, Any]]:
    return [request.body for request in peer.requests]


async def test_the_context_is_sent_once_and_each_round_brings_what_is_new() -> None:
    peer = ResponsesPeer(["One.", "Two.", "Three."], stores=True)
    async with talk_with(peer, options=Options(effort="low")) as talk:
        for text in ("First.", "Second.", "Third."):
            await talk.say(text)
        usage = talk.chunks[-1]
    bodies = sent(peer)
    for body in bodies:
        check_params(body)
        assert (body["store"], body["stream"]) == (True, True)
        assert not {"include", "prompt_cache_key", "instructions"} & body.keys()
    assert [[item["role"] for item in body["input"]] for body in bodies] == [
        ["system", "user"],
        ["user"],
        ["user"],
    ]
    assert [body.get("previous_response_id") for body in bodies] == [None, f"resp_{1:048x}", f"resp_{2:048x}"]
    assert peer.exchanges[2].context == talk.history
    assert isinstance(usage, Usage)
    assert usage.billed_input == peer.exchanges[2].input
    # The peer rounds what arrived and what it bills each by itself.
    assert abs(usage.input - peer.exchanges[2].sent) <= 1


async def test_calls_are_made_and_their_results_answered_and_reasoning_stays_there() -> None:
    peer = ResponsesPeer(["", "Done."], faults=[THREE], stores=True)
    async with talk_with(peer) as talk:
        first = await talk.say("Read.")
        reasoning = "".join(chunk.text for chunk in talk.chunks if isinstance(chunk, ReasoningDelta))
        second = await talk.send(results_of(first))
    assert [(call["name"], call["arguments"]) for call in calls_in(first)] == list(THREE.calls)
    assert [part["type"] for part in first.get("parts", [])] == ["call"] * 3
    assert second["content"] == "Done."
    begin, go_on = sent(peer)
    assert [item["type"] for item in go_on["input"]] == ["function_call_output"] * 3
    assert begin["tools"] == go_on["tools"]
    assert "reasoning" in [each["role"] for each in peer.exchanges[1].context]
    # A summary is requested only of models that are known to reason.
    assert not reasoning


async def test_an_answer_that_was_cut_short_is_sent_again_as_it_is_stored() -> None:
    peer = ResponsesPeer(["One.", "word " * 10_000, "Three.", "Four."], latency=0.001, stores=True)
    async with talk_with(peer) as talk:
        await talk.say("First.")
        talk.messages.append({"role": "user", "content": "Second."})
        async with aclosing(talk.channel.generate(talk.messages, OPTIONS)) as chunks:
            async for _chunk in chunks:
                break
        await asyncio.wait_for(peer.requests[1].closed_early.wait(), 30)
        talk.messages.append({"role": "assistant", "content": "word…"})
        await talk.say("Third.")
        assert talk.text == "Three."
        await talk.say("Fourth.")
        assert not talk.notices
    assert [len(body["input"]) for body in sent(peer)] == [2, 1, 3, 1]
    assert sent(peer)[2]["previous_response_id"] == f"resp_{1:048x}"
    assert peer.exchanges[3].context == talk.history


async def test_an_answer_that_reached_a_limit_is_not_continued_from() -> None:
    peer = ResponsesPeer(["One.", "Two."], faults=[Fault(finish="length")], stores=True)
    async with talk_with(peer) as talk:
        await talk.say("First.")
        await talk.say("Second.")
    assert ["previous_response_id" in body for body in sent(peer)] == [False, False]
    assert peer.exchanges[1].context == talk.history


@pytest.mark.parametrize("options", [{"evicts": {1}}, {"faults": [None, Fault(status=404, body="{}")]}])
async def test_a_conversation_that_the_server_has_no_longer_is_sent_again(options: dict[str, Any]) -> None:
    peer = ResponsesPeer(["One.", "Two.", "Three."], stores=True, **options)
    async with talk_with(peer) as talk:
        await talk.say("First.")
        await talk.say("Second.")
        assert talk.notices == [
            "lmstudio no longer has the conversation. A new session continues the conversation."
        ]
        await talk.say("Third.")
    assert peer.exchanges[-1].context == talk.history
    assert [len(body["input"]) for body in sent(peer)] == [2, 1, 4, 1]


async def test_a_server_without_responses_refuses_sessions_and_requests_go_on() -> None:
    async with talk_with(ChatPeer(["One."])) as talk:
        with pytest.raises(SessionRefusedError, match=r"lmstudio .* has no Responses: Endpoint not found"):
            await talk.say("First.")
    peer = ChatPeer(["One.", "Two."])
    async with talk_with(peer, AutoChannel, Options()) as talk:
        await talk.say("First.")
        assert talk.text == "One."
        assert "has no Responses" in talk.notices[0]
        assert talk.notices[0].endswith("Continuing in replay mode.")
        await talk.say("Second.")
        assert (talk.text, talk.notices) == ("Two.", [])
        assert talk.channel.mode == "replay"
        assert "has no Responses" in talk.channel.reason
    assert [request.path for request in peer.requests] == ["/v1/responses", *["/v1/chat/completions"] * 2]


async def test_a_connection_that_breaks_in_mid_answer_is_reported() -> None:
    peer = ResponsesPeer(["Hello there."], always=Fault(drop="within", after=5), stores=True)
    async with talk_with(peer) as talk:
        with pytest.raises(NetworkError):
            await talk.say("First.")
        assert talk.text == "Hell"


async def test_a_closed_session_accepts_nothing() -> None:
    async with ResponsesPeer(stores=True) as peer, provider_of(peer) as provider:
        session = await provider.connect([SYSTEM])
        assert session.reusable
        await session.close()
        assert not session.reusable
        with pytest.raises(SessionLostError):
            await session.send([{"role": "user", "content": "First."}])


async def test_lm_studio_has_them_and_other_servers_where_their_table_says_so() -> None:
    settings = Settings(
        provider="mine",
        providers={
            "lmstudio": ProviderSettings(model="m"),
            "mine": ProviderSettings("http://127.0.0.1:9/v1", "m", resume=True),
        },
    )
    resuming = {each.name for each in known_providers(settings, {}) if each.resumes}
    assert {"lmstudio", "mine"} < resuming
    assert not {"ollama", "vllm", "llamacpp", "openrouter"} & resuming
    assert create_provider(settings, {}).resumes
