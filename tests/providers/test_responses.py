"""Responses over HTTP, over real sockets, against a peer that behaves and one that does not."""

import asyncio
import json
from contextlib import aclosing

import pytest

from cogency_tui.errors import (
    AuthenticationError,
    BadRequestError,
    ContextTooLongError,
    ModelNotFoundError,
    NetworkError,
    OverloadedError,
    PermissionDeniedError,
    ProviderError,
    ProviderProtocolError,
    ProviderTimeoutError,
    RateLimitError,
)
from cogency_tui.protocol.events import Message
from cogency_tui.providers.base import Retrying, TextDelta, Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.requests import HttpProvider
from cogency_tui.providers.responses_wire import ResponsesWire
from cogency_tui.providers.transport import Timeouts
from tests.peers.responses import ResponsesPeer
from tests.peers.server import Fault
from tests.providers.asked import Asked

KEY = "sk-test-key"
MESSAGES: list[Message] = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": "Say hello, ünïcode."},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "Again."},
]
BLOCK = '<think>x</think>\n<execute>\n[{"name": "list", "args": {}}]\n</execute>'
QUICK = Timeouts(connect=2, first_byte=0.15, idle=0.1)
AT_TEXT = 5
"""Events before the second piece of the text."""


def provider_for(
    peer: ResponsesPeer,
    asked: Asked,
    timeouts: Timeouts | None = None,
    *,
    model: str = "test-model",
    summaries: bool = False,
) -> HttpProvider:
    async def wait(seconds: float) -> None:
        asked.waits.append(seconds)

    endpoint = Endpoint("openai", peer.base_url, model, "OPENAI_API_KEY", KEY)
    wire = ResponsesWire(endpoint, summaries=summaries)
    return HttpProvider(endpoint, wire, timeouts=timeouts, wait=wait, jitter=lambda: 0.0)


async def ask(
    peer: ResponsesPeer,
    messages: list[Message] = MESSAGES,
    *,
    timeouts: Timeouts | None = None,
    times: int = 1,
    model: str = "test-model",
    summaries: bool = False,
) -> Asked:
    asked = Asked()
    provider = provider_for(peer, asked, timeouts, model=model, summaries=summaries)
    try:
        for _time in range(times):
            asked.chunks.clear()
            async with aclosing(provider.stream(messages, stop=("</execute>",))) as chunks:
                async for chunk in chunks:
                    asked.chunks.append(chunk)
    except ProviderError as error:
        asked.error = error
    finally:
        await provider.close()
    return asked


async def test_an_answer_streams_with_the_usage_that_is_reported() -> None:
    async with ResponsesPeer(["Hello there."]) as peer:
        asked = await ask(peer)
    assert asked.error is None
    assert [chunk.text for chunk in asked.chunks if isinstance(chunk, TextDelta)] == ["Hell", "o th", "ere."]
    assert asked.usage == Usage(peer.exchanges[0].input, 3, 0, cache_written=0)


async def test_the_request_is_what_the_vendor_expects() -> None:
    async with ResponsesPeer(key=KEY) as peer:
        asked = await ask(peer)
    assert asked.error is None
    [request] = peer.requests
    assert request.path == "/v1/responses"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["accept"] == "text/event-stream"
    assert request.body == {
        "model": "test-model",
        "stream": True,
        "store": False,
        "instructions": "You are an agent.",
        "input": [
            {
                "type": "message",
                "role": each["role"],
                "content": [
                    {
                        "type": "output_text" if each["role"] == "assistant" else "input_text",
                        "text": each["content"],
                    }
                ],
            }
            for each in MESSAGES[1:]
        ],
    }
    assert peer.exchanges[0].context == MESSAGES


async def test_a_connection_is_used_again() -> None:
    async with ResponsesPeer() as peer:
        asked = await ask(peer, times=3)
    assert asked.text == "Hello."
    assert (len(peer.requests), peer.connections) == (3, 1)


async def test_a_block_is_delivered_with_its_end() -> None:
    async with ResponsesPeer([BLOCK]) as peer:
        asked = await ask(peer)
    assert asked.text == BLOCK


async def test_what_was_sent_before_is_served_from_the_cache() -> None:
    long: list[Message] = [{"role": "user", "content": "word " * 2000}]
    async with ResponsesPeer() as peer:
        asked = await ask(peer, long, times=2)
    assert asked.usage.input == 2500
    assert asked.usage.cached == 2432


async def test_reasoning_is_summarised_beside_the_text_where_it_is_asked_for() -> None:
    fault = Fault(reasoning="First this.\n\nThen that.")
    async with ResponsesPeer(["Hi."], always=fault) as peer:
        asked = await ask(peer, summaries=True)
        silent = await ask(peer)
    assert asked.reasoning == "First this.\n\nThen that."
    assert asked.usage.output == 1 + 6
    assert (silent.reasoning, silent.text, silent.usage.output) == ("", "Hi.", 1 + 6)


async def test_a_summary_that_is_refused_is_not_asked_for_again() -> None:
    async with ResponsesPeer(refuses=["reasoning"]) as peer:
        asked = await ask(peer, summaries=True, times=2)
    assert asked.text == "Hello."
    assert ["reasoning" in request.body for request in peer.requests] == [True, False, False]
    assert not asked.waits


TOLERATED = [Fault(comments=True), Fault(one_byte=True), Fault(no_usage=True)]


@pytest.mark.parametrize("fault", TOLERATED)
async def test_what_may_differ_is_tolerated(fault: Fault) -> None:
    async with ResponsesPeer(["Hellö 😀."], always=fault) as peer:
        asked = await ask(peer)
    assert asked.error is None
    assert asked.text == "Hellö 😀."
    assert asked.usage.estimated is fault.no_usage


async def test_lone_surrogates_become_replacement_characters() -> None:
    async with ResponsesPeer(always=Fault(deltas=["a\ud83d", "\ude00", "\udc00b\ud800"])) as peer:
        asked = await ask(peer)
    assert asked.text == "a😀\ufffdb\ufffd"


def body_of(message: str, code: str | None) -> str:
    return json.dumps({"error": {"message": message, "type": "x", "param": None, "code": code}})


FLAT = json.dumps({"type": "error", "code": "server_error", "message": "Busy.", "sequence_number": 3})
NESTED = json.dumps({"type": "error", "error": {"type": "too_many_requests", "message": "Slow down."}})
RECOVERED: list[tuple[Fault, float]] = [
    (Fault(status=429, headers={"Retry-After": "3"}, body=body_of("Slow.", "rate_limit_exceeded")), 3.0),
    (Fault(status=500, body=body_of("Oh.", "server_error")), 0.5),
    (Fault(status=503, body=body_of("The engine is overloaded.", None)), 0.5),
    (Fault(drop="before"), 0.5),
    (Fault(drop="within", after=2), 0.5),
    (Fault(frame=FLAT, after=2), 0.5),
    (Fault(frame=NESTED, after=2), 0.5),
    (Fault(finish="failed", deltas=[]), 0.5),
]


@pytest.mark.parametrize(("fault", "wait"), RECOVERED)
async def test_a_failure_before_the_first_token_is_retried(fault: Fault, wait: float) -> None:
    async with ResponsesPeer(["Hello."], faults=[fault]) as peer:
        asked = await ask(peer)
    assert asked.error is None
    assert asked.text == "Hello."
    assert asked.waits == [wait]
    assert [chunk.wait for chunk in asked.chunks if isinstance(chunk, Retrying)] == [wait]


@pytest.mark.parametrize("hang", ["headers", "body"])
async def test_silence_before_the_first_byte_times_out_and_is_retried(hang: str) -> None:
    async with ResponsesPeer(["Hello."], faults=[Fault(hang=hang)]) as peer:
        asked = await ask(peer, timeouts=QUICK)
        await asyncio.wait_for(peer.requests[0].closed_early.wait(), 30)
    assert asked.text == "Hello."


QUOTA = body_of("You exceeded your current quota.", "insufficient_quota")
LONG = body_of("Your input exceeds the context window of this model.", "context_length_exceeded")
LONG_EVENT = json.dumps({"type": "error", **json.loads(LONG)})
REPORTED: list[tuple[Fault, type[ProviderError], str]] = [
    (Fault(status=429, body=QUOTA), PermissionDeniedError, "quota"),
    (Fault(status=429, headers={"retry-after": "3600"}, body=""), RateLimitError, "429"),
    (Fault(status=400, body=LONG), ContextTooLongError, "context window"),
    (Fault(frame=LONG_EVENT, after=2), ContextTooLongError, "context window"),
    (Fault(body="<html>Login</html>", content_type="text/html"), ProviderProtocolError, "HTML page"),
    (Fault(body='{"object": "response"}'), ProviderProtocolError, "did not stream"),
    (Fault(body="", content_type="text/event-stream"), NetworkError, "mid-answer"),
    (Fault(frame='{"choices": []}', after=1), ProviderProtocolError, "no Responses frame"),
    (Fault(frame="{not json", after=1), ProviderProtocolError, "{not json"),
    (Fault(deltas=[]), ProviderProtocolError, "empty answer"),
    (Fault(deltas=[], finish="length", reasoning="hm"), ProviderProtocolError, "used up the tokens"),
]


@pytest.mark.parametrize(("fault", "kind", "words"), REPORTED)
async def test_what_retrying_cannot_help_is_reported(
    fault: Fault, kind: type[ProviderError], words: str
) -> None:
    async with ResponsesPeer(always=fault) as peer:
        asked = await ask(peer)
    assert asked.error is not None
    assert type(asked.error) is kind
    assert words in str(asked.error)
    assert asked.error.hint


async def test_a_wrong_key_an_unknown_model_and_a_long_context_say_what_to_do() -> None:
    async with ResponsesPeer(key="another") as peer:
        wrong = await ask(peer)
    async with ResponsesPeer(context_size=5) as peer:
        unknown = await ask(peer, model="gpt-none")
        long = await ask(peer)
    assert isinstance(wrong.error, AuthenticationError)
    assert "Check $OPENAI_API_KEY" in wrong.error.hint
    assert KEY not in wrong.error.advice
    assert isinstance(unknown.error, ModelNotFoundError)
    assert "gpt-none" in str(unknown.error)
    assert isinstance(long.error, ContextTooLongError)


BROKEN: list[tuple[Fault, type[ProviderError]]] = [
    (Fault(drop="within", after=AT_TEXT), NetworkError),
    (Fault(frame=FLAT, after=AT_TEXT), OverloadedError),
    (Fault(frame="nonsense", after=AT_TEXT), ProviderProtocolError),
    (Fault(hang="within", after=AT_TEXT), ProviderTimeoutError),
    (Fault(no_finish=True), NetworkError),
    (Fault(finish="failed"), OverloadedError),
    (Fault(finish="content_filter"), BadRequestError),
]


@pytest.mark.parametrize(("fault", "kind"), BROKEN)
async def test_after_the_first_token_what_came_is_kept_and_nothing_is_asked_again(
    fault: Fault, kind: type[ProviderError]
) -> None:
    async with ResponsesPeer(["Hello there."], always=fault) as peer:
        asked = await ask(peer, timeouts=QUICK)
    assert type(asked.error) is kind
    assert asked.text.startswith("Hell")
    assert len(peer.requests) == 1
    assert not asked.waits


async def test_an_answer_that_was_cut_at_a_limit_is_kept() -> None:
    async with ResponsesPeer(["Hello there."], always=Fault(finish="length")) as peer:
        asked = await ask(peer)
    assert asked.error is None
    assert asked.text == "Hello there."


async def test_closing_early_closes_the_response() -> None:
    async with ResponsesPeer(["word " * 10_000], latency=0.001) as peer:
        provider = provider_for(peer, Asked())
        async with aclosing(provider.stream(MESSAGES)) as chunks:
            async for _chunk in chunks:
                break
        await asyncio.wait_for(peer.requests[0].closed_early.wait(), 30)
        await provider.close()


async def test_models_are_listed() -> None:
    async with ResponsesPeer(model="gpt-test", key=KEY) as peer:
        provider = provider_for(peer, Asked())
        assert await provider.models() == ["gpt-test"]
        await provider.close()
