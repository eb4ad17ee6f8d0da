"""Gemini's `streamGenerateContent` over real sockets, against a peer that behaves and one that does not."""

import asyncio
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
from cogency_tui.providers.base import ReasoningDelta, Retrying, TextDelta, Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.gemini_wire import GeminiWire
from cogency_tui.providers.requests import HttpProvider
from cogency_tui.providers.transport import Timeouts
from tests.peers.gemini import GeminiPeer, error_body, exhausted
from tests.peers.server import Fault
from tests.providers.asked import Asked

KEY = "gemini-test-key"
MESSAGES: list[Message] = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": "Say hello, ünïcode."},
]
BLOCK = '<think>x</think>\n<execute>\n[{"name": "list", "args": {}}]\n</execute>'
STOPS = ("</execute>",)
QUICK = Timeouts(connect=2, first_byte=0.15, idle=0.1)


def provider_for(
    peer: GeminiPeer, asked: Asked, timeouts: Timeouts | None = None, model: str = "test-model"
) -> HttpProvider:
    async def wait(seconds: float) -> None:
        asked.waits.append(seconds)

    endpoint = Endpoint("gemini", peer.base_url, model, "GEMINI_API_KEY", KEY)
    wire = GeminiWire(endpoint, thoughts=True)
    return HttpProvider(endpoint, wire, timeouts=timeouts, wait=wait, jitter=lambda: 0.0)


async def ask(
    peer: GeminiPeer,
    messages: list[Message] = MESSAGES,
    *,
    stop: tuple[str, ...] = (),
    timeouts: Timeouts | None = None,
    model: str = "test-model",
    times: int = 1,
) -> Asked:
    asked = Asked()
    provider = provider_for(peer, asked, timeouts, model)
    try:
        for _time in range(times):
            asked.chunks.clear()
            async for chunk in provider.stream(messages, stop=stop):
                asked.chunks.append(chunk)
    except ProviderError as error:
        asked.error = error
    finally:
        await provider.close()
    return asked


async def test_an_answer_streams_with_the_usage_that_is_reported() -> None:
    async with GeminiPeer(["Hello there."]) as peer:
        asked = await ask(peer)
    assert asked.error is None
    assert [chunk.text for chunk in asked.chunks if isinstance(chunk, TextDelta)] == ["Hell", "o th", "ere."]
    assert asked.usage == Usage(peer.exchanges[0].input, 3, 0)


async def test_the_request_is_what_the_vendor_expects() -> None:
    async with GeminiPeer(key=KEY) as peer:
        await ask(peer, stop=("a", "b", "c", "d", "e", "f"))
    [request] = peer.requests
    assert request.path == "/v1beta/models/test-model:streamGenerateContent?alt=sse"
    assert request.headers["x-goog-api-key"] == KEY
    assert "authorization" not in request.headers
    assert request.body == {
        "generationConfig": {
            "stopSequences": ["a", "b", "c", "d", "e"],
            "thinkingConfig": {"includeThoughts": True},
        },
        "systemInstruction": {"parts": [{"text": "You are an agent."}]},
        "contents": [{"role": "user", "parts": [{"text": "Say hello, ünïcode."}]}],
    }


async def test_a_stripped_stop_marker_is_put_back_after_the_usage() -> None:
    async with GeminiPeer([f"{BLOCK} and what follows"]) as peer:
        asked = await ask(peer, stop=STOPS)
    assert asked.text == BLOCK
    assert isinstance(asked.chunks[-2], Usage)
    assert asked.chunks[-1] == TextDelta("</execute>")


async def test_a_natural_end_is_left_as_it_is() -> None:
    async with GeminiPeer(["All done."]) as peer:
        asked = await ask(peer, stop=STOPS)
    assert asked.text == "All done."


async def test_thoughts_come_beside_the_text_and_count_as_output() -> None:
    async with GeminiPeer(["Hi."], always=Fault(reasoning="Let me think")) as peer:
        asked = await ask(peer)
    assert asked.chunks[0] == ReasoningDelta("Let me think")
    assert asked.text == "Hi."
    assert asked.usage.output == 4


async def test_a_model_that_does_not_think_is_asked_without_and_that_is_remembered() -> None:
    async with GeminiPeer([BLOCK], refuses=["thinkingConfig"]) as peer:
        asked = await ask(peer, stop=STOPS, times=2)
    assert asked.text == BLOCK
    asked_for = ["thinkingConfig" in request.body["generationConfig"] for request in peer.requests]
    assert asked_for == [True, False, False]
    assert not asked.waits


async def test_what_was_sent_before_is_read_from_the_cache() -> None:
    history: list[Message] = [*MESSAGES, {"role": "user", "content": "x" * 8000}]
    async with GeminiPeer() as peer:
        first = await ask(peer, history)
        longer: list[Message] = [
            *history,
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "And?"},
        ]
        second = await ask(peer, longer)
    assert first.usage.cached == 0
    assert second.usage.cached is not None
    assert second.usage.cached >= 0.9 * first.usage.input


async def test_a_connection_is_used_again() -> None:
    async with GeminiPeer(["Hello."]) as peer:
        asked = await ask(peer, times=3)
    assert asked.text == "Hello."
    assert (len(peer.requests), peer.connections) == (3, 1)


@pytest.mark.parametrize("fault", [Fault(one_byte=True), Fault(comments=True), Fault(no_usage=True)])
async def test_bytes_may_come_in_any_pieces(fault: Fault) -> None:
    async with GeminiPeer(["Hellö 😀."], always=fault) as peer:
        asked = await ask(peer)
    assert asked.error is None
    assert asked.text == "Hellö 😀."
    assert asked.usage.estimated is fault.no_usage


RECOVERED: list[tuple[Fault, float]] = [
    (Fault(status=429, body=exhausted(13)), 13.0),
    (Fault(status=429, body=f"[{exhausted(0.2)}]"), 0.2),
    (Fault(frame=exhausted(7)), 7.0),
    (Fault(frame=f"[{exhausted(7)}]"), 7.0),
    (Fault(status=500, body=error_body(500, "INTERNAL", "An internal error has occurred.")), 0.5),
    (Fault(status=503, body=error_body(503, "UNAVAILABLE", "The model is overloaded.")), 0.5),
    (Fault(status=504, body=error_body(504, "DEADLINE_EXCEEDED", "Deadline expired.")), 0.5),
    (Fault(drop="before"), 0.5),
    (Fault(drop="within"), 0.5),
]


@pytest.mark.parametrize(("fault", "wait"), RECOVERED)
async def test_a_failure_before_the_first_token_is_retried(fault: Fault, wait: float) -> None:
    async with GeminiPeer(["Hello."], faults=[fault]) as peer:
        asked = await ask(peer)
    assert asked.error is None
    assert asked.text == "Hello."
    assert asked.waits == [wait]
    [notice] = [chunk for chunk in asked.chunks if isinstance(chunk, Retrying)]
    assert (notice.attempt, notice.wait) == (2, wait)


@pytest.mark.parametrize("hang", ["headers", "body"])
async def test_silence_before_the_first_byte_times_out_and_is_retried(hang: str) -> None:
    async with GeminiPeer(["Hello."], faults=[Fault(hang=hang)]) as peer:
        asked = await ask(peer, timeouts=QUICK)
        await asyncio.wait_for(peer.requests[0].closed_early.wait(), 30)
    assert asked.text == "Hello."


DAY = exhausted(40, "GenerateRequestsPerDayPerProjectPerModel-FreeTier")
LIMIT = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
REPORTED: list[tuple[Fault, type[ProviderError], str]] = [
    (Fault(status=429, body=DAY), PermissionDeniedError, "quota"),
    (Fault(status=429, body=exhausted(3600)), RateLimitError, "429"),
    (Fault(status=400, body=error_body(400, "INVALID_ARGUMENT", LIMIT)), ContextTooLongError, "1200000"),
    (Fault(status=403, body=error_body(403, "PERMISSION_DENIED", "Denied")), PermissionDeniedError, "Denied"),
    (Fault(status=400, body=error_body(400, "INVALID_ARGUMENT", f"Odd {KEY}")), BadRequestError, "[key]"),
    (Fault(frame="{not json"), ProviderProtocolError, "{not json"),
    (Fault(frame='{"promptFeedback": {"blockReason": "SAFETY"}}'), BadRequestError, "content filter"),
    (Fault(deltas=[], finish="MAX_TOKENS"), ProviderProtocolError, "used up the tokens"),
    (Fault(deltas=[], finish="MALFORMED_FUNCTION_CALL"), ProviderProtocolError, "MALFORMED_FUNCTION_CALL"),
    (Fault(deltas=[]), ProviderProtocolError, "empty answer"),
]


@pytest.mark.parametrize(("fault", "kind", "words"), REPORTED)
async def test_what_retrying_cannot_help_is_reported(
    fault: Fault, kind: type[ProviderError], words: str
) -> None:
    async with GeminiPeer(always=fault) as peer:
        asked = await ask(peer)
    assert asked.error is not None
    assert type(asked.error) is kind
    assert words in str(asked.error)
    assert asked.error.hint
    assert KEY not in asked.error.advice
    assert len(peer.requests) == 1


BROKEN: list[tuple[Fault, type[ProviderError]]] = [
    (Fault(drop="within", after=2), NetworkError),
    (Fault(frame=error_body(503, "UNAVAILABLE", "Overloaded."), after=2), OverloadedError),
    (Fault(frame="nonsense", after=2), ProviderProtocolError),
    (Fault(hang="within", after=2), ProviderTimeoutError),
    (Fault(no_finish=True), NetworkError),
    (Fault(finish="SAFETY"), BadRequestError),
    (Fault(finish="RECITATION"), BadRequestError),
]


@pytest.mark.parametrize(("fault", "kind"), BROKEN)
async def test_after_the_first_token_what_came_is_kept_and_nothing_is_asked_again(
    fault: Fault, kind: type[ProviderError]
) -> None:
    async with GeminiPeer(["Hello there."], always=fault) as peer:
        asked = await ask(peer, timeouts=QUICK)
    assert type(asked.error) is kind
    assert asked.text.startswith("Hello th")
    assert len(peer.requests) == 1
    assert not asked.waits


async def test_closing_early_closes_the_response() -> None:
    async with GeminiPeer(["word " * 10_000], latency=0.001) as peer:
        provider = provider_for(peer, Asked())
        async with aclosing(provider.stream(MESSAGES)) as chunks:
            async for _chunk in chunks:
                break
        await asyncio.wait_for(peer.requests[0].closed_early.wait(), 30)
        await provider.close()


async def test_a_wrong_key_is_refused_by_the_vendor_without_showing_it() -> None:
    async with GeminiPeer(key="another") as peer:
        asked = await ask(peer)
    assert isinstance(asked.error, AuthenticationError)
    assert "Check $GEMINI_API_KEY" in asked.error.hint
    assert KEY not in asked.error.advice
    assert all(KEY not in request.path for request in peer.requests)


async def test_an_unknown_model_is_reported_with_what_to_do() -> None:
    async with GeminiPeer() as peer:
        asked = await ask(peer, model="nope")
    assert isinstance(asked.error, ModelNotFoundError)
    assert "nope" in str(asked.error)
    assert "--model" in asked.error.hint


async def test_models_are_listed() -> None:
    async with GeminiPeer(key=KEY) as peer:
        provider = provider_for(peer, Asked())
        assert await provider.models() == ["test-model"]
        await provider.close()
    assert peer.requests[0].path == "/v1beta/models?pageSize=1000"
