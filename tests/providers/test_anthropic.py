"""Anthropic Messages over real sockets, against a peer that behaves and one that does not."""

import asyncio
import json
from collections.abc import AsyncIterator
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
    SessionRefusedError,
)
from cogency_tui.protocol.events import Message
from cogency_tui.providers.anthropic_wire import AnthropicWire
from cogency_tui.providers.base import Chunk, ReasoningDelta, TextDelta, Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.requests import HttpProvider
from cogency_tui.providers.transport import Timeouts
from tests.peers.anthropic import AnthropicPeer, Bill, error_event, error_object
from tests.peers.server import Fault
from tests.providers.asked import Asked

KEY = "sk-ant-test-key"
MESSAGES: list[Message] = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": "Say hello, ünïcode."},
]
BLOCK = '<think>x</think>\n<execute>\n[{"name": "list", "args": {}}]\n</execute>'
QUICK = Timeouts(connect=2, first_byte=0.15, idle=0.1)


def provider_for(
    peer: AnthropicPeer,
    asked: Asked,
    *,
    model: str = "test-model",
    timeouts: Timeouts | None = None,
    max_output: int = 0,
    key: str = KEY,
) -> HttpProvider:
    async def wait(seconds: float) -> None:
        asked.waits.append(seconds)

    endpoint = Endpoint("anthropic", peer.base_url, model, "ANTHROPIC_API_KEY", key)
    wire = AnthropicWire(endpoint, max_output)
    return HttpProvider(endpoint, wire, timeouts=timeouts, wait=wait, jitter=lambda: 0.0)


async def ask(
    peer: AnthropicPeer,
    messages: list[Message] = MESSAGES,
    *,
    stop: tuple[str, ...] = (),
    timeouts: Timeouts | None = None,
    model: str = "test-model",
    max_output: int = 0,
    times: int = 1,
) -> Asked:
    asked = Asked()
    provider = provider_for(peer, asked, timeouts=timeouts, model=model, max_output=max_output)
    try:
        for _time in range(times):
            asked.chunks.clear()
            await collect(provider.stream(messages, stop=stop), asked)
    except ProviderError as error:
        asked.error = error
    finally:
        await provider.close()
    return asked


async def collect(chunks: AsyncIterator[Chunk], asked: Asked) -> None:
    async for chunk in chunks:
        asked.chunks.append(chunk)


async def test_an_answer_streams_with_the_usage_that_is_reported() -> None:
    async with AnthropicPeer(["Hello there."], key=KEY) as peer:
        asked = await ask(peer)
    assert asked.error is None
    assert [chunk.text for chunk in asked.chunks if isinstance(chunk, TextDelta)] == ["Hell", "o th", "ere."]
    assert asked.usage == Usage(peer.exchanges[0].input, 3, cached=0, cache_written=0)


async def test_the_request_is_what_the_vendor_expects() -> None:
    async with AnthropicPeer() as peer:
        await ask(peer, stop=("</execute>",))
    [request] = peer.requests
    assert (request.method, request.path) == ("POST", "/v1/messages")
    assert request.headers["x-api-key"] == KEY
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert request.headers["content-type"] == "application/json"
    assert "authorization" not in request.headers
    mark = {"type": "ephemeral"}
    assert request.body == {
        "model": "test-model",
        "max_tokens": 32_000,
        "stream": True,
        "stop_sequences": ["</execute>"],
        "system": [{"type": "text", "text": "You are an agent.", "cache_control": mark}],
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "Say hello, ünïcode.", "cache_control": mark}],
            }
        ],
    }


async def test_a_connection_is_used_again() -> None:
    async with AnthropicPeer() as peer:
        asked = await ask(peer, times=3)
    assert asked.text == "Hello."
    assert len(peer.requests) == 3
    assert peer.connections == 1


async def test_a_stripped_stop_marker_is_put_back_after_the_usage() -> None:
    async with AnthropicPeer([f"{BLOCK} and what follows"]) as peer:
        asked = await ask(peer, stop=("</execute>",))
    assert asked.text == BLOCK
    assert isinstance(asked.chunks[-2], Usage)
    assert asked.chunks[-1] == TextDelta("</execute>")


async def test_the_marker_that_is_put_back_is_the_one_that_the_vendor_names() -> None:
    # Nothing in the text says that it was cut, or where.
    async with AnthropicPeer(["One. STOP Two. HALT"]) as peer:
        asked = await ask(peer, stop=("HALT", "STOP", "\n"))
    assert asked.text == "One. STOP"
    assert peer.requests[0].body["stop_sequences"] == ["HALT", "STOP"]


async def test_a_natural_end_is_left_as_it_is() -> None:
    async with AnthropicPeer(["All done."]) as peer:
        asked = await ask(peer, stop=("</execute>",))
    assert asked.text == "All done."


async def test_a_marker_that_was_content_is_not_stopped_at_again() -> None:
    text = '<execute>\n[{"name": "write", "args": {"content": "</execute>"}}]\n</execute>'
    async with AnthropicPeer([text, text]) as peer:
        asked = await ask(peer, stop=("</execute>",), times=2)
    assert "stop_sequences" in peer.requests[0].body
    assert "stop_sequences" not in peer.requests[1].body
    assert asked.text == text


async def test_reasoning_comes_beside_the_text() -> None:
    async with AnthropicPeer(["Hi."], always=Fault(reasoning="Let me think")) as peer:
        asked = await ask(peer)
    assert asked.chunks[0] == ReasoningDelta("Let me think")
    assert asked.text == "Hi."


@pytest.mark.parametrize(
    "fault",
    [Fault(one_byte=True), Fault(comments=True), Fault(no_done=True), Fault(no_finish=True)],
)
async def test_what_arrives_in_other_ways_is_read_as_well(fault: Fault) -> None:
    async with AnthropicPeer(["Hellö 😀."], always=fault) as peer:
        asked = await ask(peer)
    assert asked.error is None
    assert asked.text == "Hellö 😀."
    assert asked.usage.estimated is fault.no_finish


async def test_halves_of_characters_are_joined() -> None:
    async with AnthropicPeer(always=Fault(deltas=["a\ud83d", "\ude00", "\udc00b\ud800"])) as peer:
        asked = await ask(peer)
    assert asked.text == "a😀\ufffdb\ufffd"


async def test_missing_usage_is_estimated() -> None:
    async with AnthropicPeer(["12345678"], always=Fault(no_usage=True)) as peer:
        asked = await ask(peer)
    assert asked.usage == Usage(peer.exchanges[0].input, 2, estimated=True)


def history(cycles: int) -> list[Message]:
    """A conversation that begins with 1,500 tokens, and has 300 + 300 more with each cycle."""
    messages: list[Message] = [
        {"role": "system", "content": "s" * 4 * 1200},
        {"role": "user", "content": "u" * 4 * 300},
    ]
    for cycle in range(cycles):
        messages.append({"role": "assistant", "content": f"{cycle:04d}" * 300})
        messages.append({"role": "user", "content": f"{cycle:04d}" * 300})
    return messages


async def test_each_cycle_reads_all_that_the_last_one_wrote() -> None:
    asked = Asked()
    usages: list[Usage] = []
    async with AnthropicPeer(["ok"]) as peer:
        provider = provider_for(peer, asked)
        for cycle in range(16):
            asked.chunks.clear()
            await collect(provider.stream(history(cycle)), asked)
            usages.append(asked.usage)
        await provider.close()
    assert peer.bills == [Bill(0, 1500, 0), *(Bill(0, 600, 900 + 600 * cycle) for cycle in range(1, 16))]
    assert [usage.input for usage in usages] == [1500 + 600 * cycle for cycle in range(16)]
    assert [usage.cached for usage in usages] == [bill.read for bill in peer.bills]
    assert [usage.cache_written for usage in usages] == [bill.written for bill in peer.bills]


async def test_what_the_person_adds_before_an_answer_leaves_the_rest_in_the_cache() -> None:
    messages = history(2)
    async with AnthropicPeer(["ok"]) as peer:
        await ask(peer, messages)
        # More messages than the vendor looks back over.
        messages.extend({"role": "user", "content": f"And {number}."} for number in range(30))
        await ask(peer, messages)
        await ask(peer, messages)
    first, second, third = peer.bills
    assert second.read == first.written - 600
    assert third.read == second.read + second.written


async def test_what_expired_is_written_again() -> None:
    async with AnthropicPeer(["ok"]) as peer:
        await ask(peer, history(3))
        peer.forget()
        asked = await ask(peer, history(3))
    assert asked.usage == Usage(3300, 1, cached=0, cache_written=3300)


async def test_histories_that_the_vendor_would_refuse_are_put_right() -> None:
    messages: list[Message] = [
        {"role": "system", "content": " "},
        {"role": "assistant", "content": "I begin."},
        {"role": "user", "content": "a"},
        {"role": "user", "content": "\n"},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": "cut "},
    ]
    async with AnthropicPeer() as peer:
        asked = await ask(peer, messages)
    assert asked.error is None
    assert peer.exchanges[0].context == [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "\n\nb"},
    ]


def failure(status: int, kind: str, words: str, **headers: str) -> Fault:
    """An error as the vendor answers it."""
    return Fault(status=status, headers=headers, body=json.dumps(error_object(kind, words)))


RECOVERED: list[tuple[Fault, float]] = [
    (failure(529, "overloaded_error", "Overloaded"), 0.5),
    (failure(429, "rate_limit_error", "This would exceed your rate limit", **{"retry-after": "3"}), 3.0),
    (failure(500, "api_error", "Internal server error"), 0.5),
    (failure(504, "timeout_error", "Timed out"), 0.5),
    (Fault(frame=error_event("overloaded_error", "Overloaded"), after=0), 0.5),
    (Fault(frame=error_event("overloaded_error", "Overloaded"), after=3), 0.5),
    (Fault(frame=error_event("timeout_error", "Timed out"), after=1), 0.5),
    (Fault(drop="before"), 0.5),
    (Fault(drop="within", after=2), 0.5),
]


@pytest.mark.parametrize(("fault", "wait"), RECOVERED)
async def test_a_failure_before_the_first_token_is_retried(fault: Fault, wait: float) -> None:
    async with AnthropicPeer(["Hello."], faults=[fault]) as peer:
        asked = await ask(peer)
    assert asked.error is None
    assert asked.text == "Hello."
    assert asked.waits == [wait]


@pytest.mark.parametrize("hang", ["headers", "body"])
async def test_silence_before_the_first_byte_times_out_and_is_retried(hang: str) -> None:
    async with AnthropicPeer(["Hello."], faults=[Fault(hang=hang)]) as peer:
        asked = await ask(peer, timeouts=QUICK)
        await asyncio.wait_for(peer.requests[0].closed_early.wait(), 30)
    assert asked.text == "Hello."
    assert len(asked.waits) == 1


CREDIT = (
    "Your credit balance is too low to access the Anthropic API. "
    "Please go to Plans & Billing to upgrade or purchase credits."
)
LIMIT = "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."
TOO_LONG = "prompt is too long: 213462 tokens > 200000 maximum"
TOO_MUCH = "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"
WRONG = "invalid_request_error"
REPORTED: list[tuple[Fault, type[ProviderError], str]] = [
    (failure(400, WRONG, TOO_LONG), ContextTooLongError, "213462"),
    (failure(400, WRONG, TOO_MUCH), ContextTooLongError, "190000"),
    (failure(413, "request_too_large", "Request exceeds the maximum size"), ContextTooLongError, "maximum"),
    (failure(400, WRONG, CREDIT), PermissionDeniedError, "quota at anthropic is used up"),
    (failure(400, WRONG, LIMIT), PermissionDeniedError, "regain access"),
    (failure(402, "billing_error", "Payment required"), PermissionDeniedError, "quota"),
    (
        failure(429, "rate_limit_error", "Your organization has reached its monthly spend limit"),
        PermissionDeniedError,
        "spend limit",
    ),
    (failure(403, "permission_error", "Your key may not use this"), PermissionDeniedError, "not allow"),
    (failure(404, "not_found_error", "model: claude-x"), ModelNotFoundError, "claude-x"),
    (failure(404, "not_found_error", "Not Found"), ProviderProtocolError, "Nothing answers at"),
    (failure(401, "authentication_error", f"invalid x-api-key {KEY}"), AuthenticationError, "[key]"),
    (failure(400, WRONG, "tools.0: Field required"), BadRequestError, "tools.0"),
    (failure(429, "rate_limit_error", "Slow", **{"retry-after": "3600"}), RateLimitError, "Slow"),
    (Fault(frame="{not json", after=1), ProviderProtocolError, "{not json"),
    (Fault(frame='{"choices": []}', after=1), ProviderProtocolError, "no Anthropic Messages frame"),
    (Fault(frame=error_event(WRONG, TOO_LONG), after=1), ContextTooLongError, "213462"),
    (Fault(frame=error_event("billing_error", "No money"), after=1), PermissionDeniedError, "No money"),
    (Fault(frame=error_event("request_too_large", "Too big"), after=1), ContextTooLongError, "Too big"),
    (Fault(finish="refusal", deltas=[]), BadRequestError, "filter of anthropic"),
    (Fault(finish="max_tokens", deltas=[]), ProviderProtocolError, "used up the tokens"),
    (Fault(deltas=[]), ProviderProtocolError, "empty answer"),
    (Fault(body="<html>Login</html>", content_type="text/html"), ProviderProtocolError, "HTML page"),
]


@pytest.mark.parametrize(("fault", "kind", "words"), REPORTED)
async def test_what_retrying_cannot_help_is_reported(
    fault: Fault, kind: type[ProviderError], words: str
) -> None:
    async with AnthropicPeer(always=fault) as peer:
        asked = await ask(peer)
    assert asked.error is not None
    assert type(asked.error) is kind
    assert words in str(asked.error)
    assert KEY not in asked.error.advice
    assert asked.error.hint
    assert not asked.waits


async def test_it_gives_up_after_five_attempts() -> None:
    async with AnthropicPeer(always=failure(529, "overloaded_error", "Overloaded")) as peer:
        asked = await ask(peer)
    assert isinstance(asked.error, OverloadedError)
    assert len(peer.requests) == 5


BROKEN: list[tuple[Fault, type[ProviderError]]] = [
    (Fault(drop="within", after=5), NetworkError),
    (Fault(hang="within", after=5), ProviderTimeoutError),
    (Fault(frame=error_event("overloaded_error", "Overloaded"), after=5), OverloadedError),
    (Fault(frame="nonsense", after=5), ProviderProtocolError),
    (Fault(no_finish=True, no_done=True), NetworkError),
    (Fault(finish="refusal"), BadRequestError),
]


@pytest.mark.parametrize(("fault", "kind"), BROKEN)
async def test_after_the_first_token_what_came_is_kept_and_nothing_is_asked_again(
    fault: Fault, kind: type[ProviderError]
) -> None:
    async with AnthropicPeer(["Hello there."], always=fault) as peer:
        asked = await ask(peer, timeouts=QUICK)
    assert type(asked.error) is kind
    assert asked.text.startswith("Hello th")
    assert len(peer.requests) == 1


async def test_an_answer_that_was_cut_at_the_limit_is_kept() -> None:
    async with AnthropicPeer(["Hello there."], always=Fault(finish="max_tokens")) as peer:
        asked = await ask(peer, stop=("</execute>",))
    assert asked.error is None
    assert asked.text == "Hello there."


async def test_a_wrong_key_is_refused_by_the_vendor_without_showing_it() -> None:
    async with AnthropicPeer(key="another") as peer:
        asked = await ask(peer)
    assert isinstance(asked.error, AuthenticationError)
    assert "Check $ANTHROPIC_API_KEY" in asked.error.hint
    assert KEY not in asked.error.advice


async def test_a_missing_key_is_reported_before_anything_is_sent() -> None:
    async with AnthropicPeer() as peer:
        provider = provider_for(peer, Asked(), key="")
        with pytest.raises(AuthenticationError, match="ANTHROPIC_API_KEY is not set"):
            await collect(provider.stream(MESSAGES), Asked())
        await provider.close()
    assert not peer.requests


async def test_a_model_that_is_not_there_is_named() -> None:
    async with AnthropicPeer() as peer:
        asked = await ask(peer, model="claude-nope")
    assert isinstance(asked.error, ModelNotFoundError)
    assert "claude-nope" in str(asked.error)
    assert "--model" in asked.error.hint


async def test_a_limit_that_the_model_does_not_have_is_refused_in_the_vendors_words() -> None:
    async with AnthropicPeer() as peer:
        asked = await ask(peer, max_output=200_000)
    assert type(asked.error) is BadRequestError
    assert "200000 > 128000" in str(asked.error)


async def test_closing_early_closes_the_response() -> None:
    async with AnthropicPeer(["word " * 10_000], latency=0.001) as peer:
        provider = provider_for(peer, Asked())
        async with aclosing(provider.stream(MESSAGES)) as chunks:
            async for _chunk in chunks:
                break
        await asyncio.wait_for(peer.requests[0].closed_early.wait(), 30)
        await provider.close()


async def test_there_are_no_sessions() -> None:
    async with AnthropicPeer() as peer:
        provider = provider_for(peer, Asked())
        assert not provider.resumes
        with pytest.raises(SessionRefusedError, match="speaks Anthropic Messages, which has no sessions"):
            await provider.connect(MESSAGES)
        await provider.close()


async def test_all_models_are_listed() -> None:
    async with AnthropicPeer(key=KEY) as peer:
        peer.others = [f"claude-{number:02d}" for number in range(30)]
        provider = provider_for(peer, Asked())
        assert await provider.models() == [*peer.others, "test-model"]
        await provider.close()
    assert len(peer.requests) == 1
