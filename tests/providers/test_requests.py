"""Chat Completions over real sockets, against a peer that behaves and one that does not."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from cogency_tui.errors import (
    AuthenticationError,
    BadRequestError,
    NetworkError,
    OverloadedError,
    ProviderError,
    ProviderProtocolError,
    ProviderTimeoutError,
    RateLimitError,
)
from cogency_tui.protocol.events import Message
from cogency_tui.providers.base import Chunk, ReasoningDelta, Retrying, TextDelta, Usage
from cogency_tui.providers.chat_wire import ChatWire
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.requests import HttpProvider
from cogency_tui.providers.transport import Timeouts
from tests.peers.chat import ChatPeer
from tests.peers.server import Fault
from tests.providers.asked import Asked

KEY = "sk-test-key"
MESSAGES: list[Message] = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": "Say hello, ünïcode."},
]
BLOCK = '<think>x</think>\n<execute>\n[{"name": "list", "args": {}}]\n</execute>'
QUICK = Timeouts(connect=2, first_byte=0.15, idle=0.1)


def provider_for(peer: ChatPeer, asked: Asked, timeouts: Timeouts | None = None) -> HttpProvider:
    async def wait(seconds: float) -> None:
        asked.waits.append(seconds)

    endpoint = Endpoint("openai", peer.base_url, "test-model", "OPENAI_API_KEY", KEY)
    return HttpProvider(endpoint, ChatWire(endpoint), timeouts=timeouts, wait=wait, jitter=lambda: 0.0)


def chat_provider(endpoint: Endpoint) -> HttpProvider:
    return HttpProvider(endpoint, ChatWire(endpoint))


async def ask(
    peer: ChatPeer, *, stop: tuple[str, ...] = (), timeouts: Timeouts | None = None, times: int = 1
) -> Asked:
    asked = Asked()
    provider = provider_for(peer, asked, timeouts)
    try:
        for _time in range(times):
            asked.chunks.clear()
            await collect(provider.stream(MESSAGES, stop=stop), asked)
    except ProviderError as error:
        asked.error = error
    finally:
        await provider.close()
    return asked


async def collect(chunks: AsyncIterator[Chunk], asked: Asked) -> None:
    async for chunk in chunks:
        asked.chunks.append(chunk)
        asked.begun.set()


async def test_an_answer_streams_with_the_usage_that_is_reported() -> None:
    async with ChatPeer(["Hello there."]) as peer:
        asked = await ask(peer)
    assert asked.error is None
    assert asked.text == "Hello there."
    assert [chunk.text for chunk in asked.chunks if isinstance(chunk, TextDelta)] == ["Hell", "o th", "ere."]
    assert asked.usage == Usage(peer.exchanges[0].input, 3, 0)


async def test_the_request_is_what_the_vendor_expects() -> None:
    async with ChatPeer() as peer:
        await ask(peer, stop=("a", "b", "c", "d", "e"))
    [request] = peer.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert request.body == {
        "model": "test-model",
        "messages": MESSAGES,
        "stream": True,
        "stream_options": {"include_usage": True},
        "stop": ["a", "b", "c", "d"],
    }


async def test_a_connection_is_used_again() -> None:
    async with ChatPeer() as peer:
        asked = await ask(peer, times=3)
    assert asked.text == "Hello."
    assert len(peer.requests) == 3
    assert peer.connections == 1


async def test_a_stripped_stop_marker_is_put_back_after_the_usage() -> None:
    async with ChatPeer([f"{BLOCK} and what follows"]) as peer:
        asked = await ask(peer, stop=("</execute>",))
    assert asked.text == BLOCK
    assert isinstance(asked.chunks[-2], Usage)
    assert asked.chunks[-1] == TextDelta("</execute>")


async def test_a_natural_end_is_left_as_it_is() -> None:
    async with ChatPeer(["All done."]) as peer:
        asked = await ask(peer, stop=("</execute>",))
    assert asked.text == "All done."


async def test_a_marker_that_was_content_is_not_stopped_at_again() -> None:
    text = '<execute>\n[{"name": "write", "args": {"content": "</execute>"}}]\n</execute>'
    async with ChatPeer([text, text]) as peer:
        asked = await ask(peer, stop=("</execute>",), times=2)
    assert "stop" in peer.requests[0].body
    assert "stop" not in peer.requests[1].body
    assert asked.text == text


@pytest.mark.parametrize("param", ["stop", "stream_options"])
async def test_an_unsupported_parameter_is_dropped_and_remembered(param: str) -> None:
    async with ChatPeer([BLOCK], refuses=[param]) as peer:
        asked = await ask(peer, stop=("</execute>",), times=2)
    assert asked.text == BLOCK
    assert [param in request.body for request in peer.requests] == [True, False, False]
    assert asked.usage.estimated is (param == "stream_options")
    assert not asked.waits


async def test_both_parameters_may_be_refused() -> None:
    async with ChatPeer(refuses=["stop", "stream_options"]) as peer:
        asked = await ask(peer, stop=("</execute>",))
    assert asked.text == "Hello."
    assert len(peer.requests) == 3


TOLERATED = [
    Fault(comments=True),
    Fault(no_done=True),
    Fault(usage_on_finish=True),
    Fault(usage_on_finish=True, no_done=True),
    Fault(one_byte=True),
    Fault(no_finish=True),
]


@pytest.mark.parametrize("fault", TOLERATED)
async def test_what_compatible_servers_do_differently_is_tolerated(fault: Fault) -> None:
    async with ChatPeer(["Hellö 😀."], always=fault) as peer:
        asked = await ask(peer)
    assert asked.error is None
    assert asked.text == "Hellö 😀."
    assert not asked.usage.estimated


async def test_missing_usage_is_estimated() -> None:
    async with ChatPeer(["12345678"], always=Fault(no_usage=True)) as peer:
        asked = await ask(peer)
    assert asked.usage == Usage(peer.exchanges[0].input, 2, estimated=True)


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
async def test_reasoning_comes_beside_the_text(key: str) -> None:
    async with ChatPeer(["Hi."], always=Fault(reasoning="Let me think", reasoning_key=key)) as peer:
        asked = await ask(peer)
    assert asked.chunks[0] == ReasoningDelta("Let me think")
    assert asked.text == "Hi."


async def test_lone_surrogates_become_replacement_characters() -> None:
    async with ChatPeer(always=Fault(deltas=["a\ud83d", "\ude00", "\udc00b\ud800"])) as peer:
        asked = await ask(peer)
    assert asked.text == "a😀\ufffdb\ufffd"


RECOVERED: list[tuple[Fault, float]] = [
    (
        Fault(
            status=429,
            headers={"retry-after-ms": "20", "retry-after": "9"},
            body='{"error": {"message": "slow"}}',
        ),
        0.02,
    ),
    (Fault(status=429, headers={"Retry-After": "3"}, body=""), 3.0),
    (Fault(status=500, body="oops", content_type="text/plain"), 0.5),
    (Fault(status=503, body="<html></html>", content_type="text/html"), 0.5),
    (Fault(status=529, body='{"error": {"message": "Overloaded", "type": "overloaded_error"}}'), 0.5),
    (Fault(status=408, body=""), 0.5),
    (Fault(status=409, body=""), 0.5),
    (Fault(drop="before"), 0.5),
    (Fault(drop="within", after=1), 0.5),
    (Fault(frame='{"error": {"message": "busy", "type": "server_error"}}', after=1), 0.5),
    (Fault(body='{"error": {"message": "slow", "type": "rate_limit_error"}}'), 0.5),
]


@pytest.mark.parametrize(("fault", "wait"), RECOVERED)
async def test_a_failure_before_the_first_token_is_retried(fault: Fault, wait: float) -> None:
    async with ChatPeer(["Hello."], faults=[fault]) as peer:
        asked = await ask(peer)
    assert asked.error is None
    assert asked.text == "Hello."
    assert asked.waits == [wait]
    [notice] = [chunk for chunk in asked.chunks if isinstance(chunk, Retrying)]
    assert (notice.attempt, notice.wait) == (2, wait)
    assert notice.cause


@pytest.mark.parametrize("hang", ["headers", "body"])
async def test_silence_before_the_first_byte_times_out_and_is_retried(hang: str) -> None:
    async with ChatPeer(["Hello."], faults=[Fault(hang=hang)]) as peer:
        asked = await ask(peer, timeouts=QUICK)
        await asyncio.wait_for(peer.requests[0].closed_early.wait(), 30)
    assert asked.text == "Hello."
    assert "sent nothing for 0.15 s" in next(c.cause for c in asked.chunks if isinstance(c, Retrying))


async def test_it_gives_up_after_five_attempts() -> None:
    async with ChatPeer(always=Fault(status=503, body="")) as peer:
        asked = await ask(peer)
    assert isinstance(asked.error, OverloadedError)
    assert len(peer.requests) == 5
    assert asked.waits == [0.5, 1.0, 2.0, 4.0]


REPORTED: list[tuple[Fault, type[ProviderError], str]] = [
    (
        Fault(status=401, body=json.dumps({"error": {"message": f"Bad key {KEY}"}})),
        AuthenticationError,
        "[key]",
    ),
    (Fault(status=400, body='{"error": {"message": "No such thing"}}'), BadRequestError, "No such thing"),
    (Fault(status=429, headers={"retry-after": "3600"}, body=""), RateLimitError, "429"),
    (Fault(status=301, headers={"location": "https://x.test/"}, body=""), ProviderProtocolError, "x.test"),
    (Fault(body="<html>Login</html>", content_type="text/html"), ProviderProtocolError, "HTML page"),
    (Fault(body='{"choices": []}'), ProviderProtocolError, "did not stream"),
    (Fault(body="", content_type="text/event-stream"), NetworkError, "mid-answer"),
    (Fault(body="garbage\n\nmore", content_type="text/event-stream"), NetworkError, "mid-answer"),
    (Fault(frame="{not json", after=1), ProviderProtocolError, "{not json"),
    (Fault(deltas=[]), ProviderProtocolError, "empty answer"),
    (Fault(deltas=[], finish="length"), ProviderProtocolError, "used up the tokens"),
    (Fault(deltas=[], reasoning="hm"), ProviderProtocolError, "empty answer"),
]


@pytest.mark.parametrize(("fault", "kind", "words"), REPORTED)
async def test_what_retrying_cannot_help_is_reported(
    fault: Fault, kind: type[ProviderError], words: str
) -> None:
    async with ChatPeer(always=fault) as peer:
        asked = await ask(peer)
    assert asked.error is not None
    assert type(asked.error) is kind
    assert words in str(asked.error)
    assert KEY not in asked.error.advice
    assert asked.error.hint


BROKEN: list[tuple[Fault, type[ProviderError]]] = [
    (Fault(drop="within", after=3), NetworkError),
    (Fault(frame='{"error": {"message": "busy", "type": "overloaded_error"}}', after=3), OverloadedError),
    (Fault(frame="nonsense", after=3), ProviderProtocolError),
    (Fault(hang="within", after=3), ProviderTimeoutError),
    (Fault(no_finish=True, no_done=True, no_usage=True), NetworkError),
    (Fault(finish="content_filter"), BadRequestError),
]


@pytest.mark.parametrize(("fault", "kind"), BROKEN)
async def test_after_the_first_token_what_came_is_kept_and_nothing_is_asked_again(
    fault: Fault, kind: type[ProviderError]
) -> None:
    async with ChatPeer(["Hello there."], always=fault) as peer:
        asked = await ask(peer, timeouts=QUICK)
    assert type(asked.error) is kind
    assert asked.text.startswith("Hello th")
    assert len(peer.requests) == 1
    assert not asked.waits


async def test_closing_early_closes_the_response() -> None:
    async with ChatPeer(["word " * 10_000], latency=0.001) as peer:
        provider = provider_for(peer, Asked())
        async with aclosing(provider.stream(MESSAGES)) as chunks:
            async for _chunk in chunks:
                break
        await asyncio.wait_for(peer.requests[0].closed_early.wait(), 30)
        await provider.close()


async def test_cancelling_closes_the_response() -> None:
    async with ChatPeer(always=Fault(hang="within", after=2)) as peer:
        asked = Asked()
        provider = provider_for(peer, asked)
        task = asyncio.create_task(collect(provider.stream(MESSAGES), asked))
        await asyncio.wait_for(asked.begun.wait(), 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(peer.requests[0].closed_early.wait(), 30)
        await provider.close()


async def test_a_server_that_is_not_running_is_reported_at_once() -> None:
    async with ChatPeer() as peer:
        gone = peer.base_url
    asked = Asked()
    provider = chat_provider(Endpoint("ollama", gone, "m"))
    with pytest.raises(NetworkError, match="Nothing listens at 127") as caught:
        await collect(provider.stream(MESSAGES), asked)
    assert "Start the server of ollama" in caught.value.hint
    await provider.close()


async def test_a_missing_or_damaged_key_is_reported_before_anything_is_sent() -> None:
    async with ChatPeer() as peer:
        for key in ("", "sk-\nx", "sk-ü"):
            provider = chat_provider(Endpoint("openai", peer.base_url, "m", "OPENAI_API_KEY", key))
            with pytest.raises(AuthenticationError, match="OPENAI_API_KEY") as caught:
                await collect(provider.stream(MESSAGES), Asked())
            assert not key or key not in caught.value.advice
            await provider.close()
    assert not peer.requests


async def test_a_wrong_key_is_refused_by_the_vendor_without_showing_it() -> None:
    async with ChatPeer(key="another") as peer:
        asked = await ask(peer)
    assert isinstance(asked.error, AuthenticationError)
    assert "Check $OPENAI_API_KEY" in asked.error.hint
    assert KEY not in asked.error.advice


async def test_there_are_no_sessions() -> None:
    provider = chat_provider(Endpoint("openai", "http://127.0.0.1:1/v1", "m"))
    assert not provider.resumes
    with pytest.raises(ProviderError, match="no sessions"):
        await provider.connect(MESSAGES)


async def test_a_line_without_an_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cogency_tui.providers.transport.LONGEST_LINE", 100_000)
    async with ChatPeer(always=Fault(body="x" * 1_000_000, content_type="text/event-stream")) as peer:
        asked = await ask(peer)
    assert isinstance(asked.error, ProviderProtocolError)
    assert "without a line's end" in str(asked.error)


async def test_loopback_is_reached_directly_whatever_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    async with ChatPeer() as peer:
        asked = await ask(peer)
    assert asked.text == "Hello."


async def test_many_streams_share_one_provider() -> None:
    async with ChatPeer(lambda messages: messages[-1]["content"]) as peer:
        provider = chat_provider(Endpoint("local", peer.base_url, "m"))
        asked = [Asked() for _ in range(8)]
        await asyncio.gather(
            *(
                collect(provider.stream([{"role": "user", "content": f"number {index}"}]), each)
                for index, each in enumerate(asked)
            )
        )
        await provider.close()
    assert [each.text for each in asked] == [f"number {index}" for index in range(8)]
