"""Realtime sessions over real sockets, against a peer that behaves and one that does not."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve

from cogency_tui.errors import (
    AuthenticationError,
    BadRequestError,
    ContextTooLongError,
    EmptyAnswerError,
    ModelNotFoundError,
    NetworkError,
    OverloadedError,
    PermissionDeniedError,
    ProviderError,
    ProviderProtocolError,
    ProviderTimeoutError,
    RateLimitError,
    SessionLostError,
    SessionRefusedError,
)
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import Chunk, ProviderSession, TextDelta, Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_transport import Timeouts
from cogency_tui.providers.openai_realtime import LIFETIME, RealtimeSession, realtime_sessions
from cogency_tui.providers.websocket_transport import Socket, socket_url
from tests.peers.realtime import RealtimePeer
from tests.peers.server import Fault, Peer
from tests.providers.asked import SHORT
from tests.tools.survivors import until

KEY = "sk-test-key"
PROMPT: Message = {"role": "system", "content": "You are an agent. " * 40}
HISTORY: list[Message] = [
    PROMPT,
    {"role": "user", "content": "Say hello, ünïcode."},
    {"role": "assistant", "content": "Hello."},
]


def endpoint_of(peer: Peer, key: str = KEY, model: str = "test-model") -> Endpoint:
    return Endpoint("openai", peer.base_url, model, "OPENAI_API_KEY", key)


@asynccontextmanager
async def session_with(
    peer: Peer, messages: Sequence[Message] = (PROMPT,), timeouts: Timeouts | None = None
) -> AsyncGenerator[ProviderSession, None]:
    session = await realtime_sessions(endpoint_of(peer), timeouts)(messages)
    try:
        yield session
    finally:
        await session.close()


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


async def ask(session: ProviderSession, *messages: Message) -> list[Chunk]:
    await session.send(messages)
    return [chunk async for chunk in session.receive()]


async def ask_briefly(session: ProviderSession, *messages: Message) -> str:
    """Stop reading after the first piece of text."""
    await session.send(messages)
    async with aclosing(session.receive()) as chunks:
        async for chunk in chunks:
            assert isinstance(chunk, TextDelta)
            return chunk.text
    raise AssertionError("There was no text.")


def text_of(chunks: Sequence[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))


def usage_of(chunks: Sequence[Chunk]) -> Usage:
    [usage] = [chunk for chunk in chunks if isinstance(chunk, Usage)]
    assert chunks[-1] is usage
    return usage


def item(message: Message, kind: str) -> dict[str, Any]:
    content = [{"type": kind, "text": message["content"]}]
    return {
        "type": "conversation.item.create",
        "item": {"type": "message", "role": message["role"], "content": content},
    }


async def test_several_rounds_on_one_connection_send_only_what_is_new() -> None:
    async with (
        RealtimePeer(["One.", "Two.", "Three."], key=KEY) as peer,
        session_with(peer, HISTORY) as session,
    ):
        first = await ask(session, user("first"))
        second = await ask(session, assistant("One."), user("second"))
        third = await ask(session, assistant("Two."), user("third"))
        assert session.reusable
    assert [text_of(each) for each in (first, second, third)] == ["One.", "Two.", "Three."]
    assert peer.connections == 1
    [request] = peer.requests
    assert request.path == "/v1/realtime?model=test-model"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert "openai-beta" not in request.headers
    settings = {
        "type": "realtime",
        "output_modalities": ["text"],
        "instructions": PROMPT["content"],
        "audio": {"input": {"turn_detection": None}},
        "truncation": "disabled",
    }
    assert peer.sockets[0].frames == [
        {"type": "session.update", "session": settings},
        item(HISTORY[1], "input_text"),
        item(HISTORY[2], "output_text"),
        item(user("first"), "input_text"),
        {"type": "response.create"},
        item(user("second"), "input_text"),
        {"type": "response.create"},
        item(user("third"), "input_text"),
        {"type": "response.create"},
    ]
    assert peer.exchanges[2].context == [
        *HISTORY,
        user("first"),
        assistant("One."),
        user("second"),
        assistant("Two."),
        user("third"),
    ]


async def test_what_is_sent_and_what_is_billed_are_told_apart() -> None:
    async with (
        RealtimePeer(["a" * 80, "b" * 80]) as peer,
        session_with(peer) as session,
    ):
        first = await ask(session, user("x" * 400))
        second = await ask(session, assistant("a" * 80), user("y" * 40))
    billed = [exchange.input for exchange in peer.exchanges]
    assert usage_of(first) == Usage(billed[0], 20, 0, billed_input=billed[0])
    assert usage_of(second) == Usage(10, 20, 256, billed_input=billed[1])
    assert [exchange.sent for exchange in peer.exchanges] == [billed[0], 10]
    assert billed[1] == billed[0] + 20 + 10


async def test_a_prompt_is_not_needed_and_none_of_the_endpoint_takes_its_place() -> None:
    async with (
        RealtimePeer() as peer,
        session_with(peer, ()) as session,
    ):
        assert session.reusable
        await ask(session, user("hello"))
    assert peer.exchanges[0].context == [user("hello")]


async def test_a_message_of_the_system_within_the_history_stays_where_it_is() -> None:
    note: Message = {"role": "system", "content": "Conclude now."}
    async with (
        RealtimePeer() as peer,
        session_with(peer, [*HISTORY, note]) as session,
    ):
        await ask(session, user("go on"))
    assert peer.exchanges[0].context == [*HISTORY, note, user("go on")]


async def test_halves_of_characters_are_joined_and_lone_ones_replaced() -> None:
    async with (
        RealtimePeer(faults=[Fault(deltas=["a\ud83d", "\ude00b", "\ud83d"])]) as peer,
        session_with(peer, [PROMPT, user("\ud83d")]) as session,
    ):
        chunks = await ask(session, user("x"))
    assert text_of(chunks) == "a\U0001f600b\ufffd"
    assert peer.exchanges[0].context[1]["content"] == "\ufffd"


async def test_an_answer_without_usage_is_estimated() -> None:
    async with (
        RealtimePeer(["a" * 40], always=Fault(no_usage=True)) as peer,
        session_with(peer) as session,
    ):
        usage = usage_of(await ask(session, user("x" * 40)))
    assert usage.estimated
    assert (usage.input, usage.output) == (190, 10)


@pytest.mark.exhaustive
async def test_events_that_are_unknown_are_ignored_and_many_acknowledgements_block_nothing() -> None:
    async def talk(connection: ServerConnection) -> None:
        """Reads nothing more until what it sends has gone, as a simple server does."""
        for kind in ("conversation.created", "session.created"):
            await connection.send(json.dumps({"type": kind}))
        async for message in connection:
            frame = json.loads(message)
            match frame["type"]:
                case "session.update":
                    await connection.send('{"type": "session.updated"}')
                case "conversation.item.create":
                    for kind in ("conversation.item.added", "conversation.item.done"):
                        await connection.send(json.dumps({"type": kind, "item": frame["item"]}))
                case _:
                    await connection.send('{"type": "response.output_tea.delta", "delta": "milk"}')
                    await connection.send('{"type": "response.output_text.delta", "delta": "Fine"}')
                    await connection.send('{"type": "response.done", "response": {"status": "completed"}}')

    history = [PROMPT, *(user("x" * 100_000) for _ in range(120))]
    listening = socket.socket()
    for buffer in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        listening.setsockopt(socket.SOL_SOCKET, buffer, 64 * 1024)
    listening.bind(("127.0.0.1", 0))
    port: int = listening.getsockname()[1]
    async with serve(talk, sock=listening, compression=None, max_queue=1) as server:
        endpoint = Endpoint("mine", f"http://127.0.0.1:{port}/v1", "m")
        try:
            async with asyncio.timeout(20):
                session = await realtime_sessions(endpoint)(history)
                assert text_of(await ask(session, user("go"))) == "Fine"
                await session.close()
        finally:
            for connection in server.connections:
                connection.transport.abort()


# What the endpoint refuses, and how answers fail.


async def failure_of(peer: Peer, *, timeouts: Timeouts | None = None) -> tuple[ProviderError, str]:
    """The error of a first round, and the text that came before it."""
    pieces: list[str] = []

    async def talk() -> None:
        async with session_with(peer, HISTORY, timeouts) as session:
            await session.send([user("go")])
            async with aclosing(session.receive()) as chunks:
                try:
                    async for chunk in chunks:
                        pieces.extend([chunk.text] if isinstance(chunk, TextDelta) else [])
                finally:
                    assert not session.reusable

    async with peer:
        with pytest.raises(ProviderError) as caught:
            await talk()
        for each in peer.sockets:
            await asyncio.wait_for(each.closed.wait(), 30)
    assert caught.value.hint
    assert KEY not in caught.value.advice
    return caught.value, "".join(pieces)


async def test_a_wrong_key_is_told_without_showing_it() -> None:
    error, _text = await failure_of(RealtimePeer(key="another"))
    assert type(error) is AuthenticationError
    assert "[key]" in str(error)
    assert "OPENAI_API_KEY" in error.hint


async def test_a_missing_key_is_told_before_anything_is_sent() -> None:
    async with RealtimePeer() as peer:
        with pytest.raises(AuthenticationError, match="OPENAI_API_KEY is not set"):
            await realtime_sessions(endpoint_of(peer, key=""))(HISTORY)
    assert not peer.requests


async def test_a_model_that_has_no_sessions_is_refused() -> None:
    error, _text = await failure_of(RealtimePeer(model="gpt-realtime"))
    assert type(error) is SessionRefusedError
    assert "test-model" in str(error)
    assert "not supported in realtime mode" in str(error)


@pytest.mark.parametrize(("status", "kind"), [(426, SessionRefusedError), (429, RateLimitError)])
async def test_an_upgrade_that_is_refused(status: int, kind: type[ProviderError]) -> None:
    error, _text = await failure_of(RealtimePeer(upgrades=[status]))
    assert type(error) is kind


async def test_a_context_that_is_too_long_is_told_and_nothing_of_it_dropped() -> None:
    peer = RealtimePeer(limit=20)
    error, _text = await failure_of(peer)
    assert type(error) is ContextTooLongError
    assert not peer.exchanges


FAILURES: list[tuple[dict[str, str], type[ProviderError]]] = [
    ({"type": "invalid_request_error", "code": "model_not_found"}, ModelNotFoundError),
    ({"type": "rate_limit_exceeded", "code": "rate_limit_exceeded"}, RateLimitError),
    ({"type": "insufficient_quota", "code": "insufficient_quota"}, PermissionDeniedError),
    ({"type": "server_error", "code": "server_error"}, OverloadedError),
    ({"type": "invalid_request_error", "code": "invalid_value"}, BadRequestError),
]


@pytest.mark.parametrize(("reported", "kind"), FAILURES)
async def test_a_response_that_fails(reported: dict[str, str], kind: type[ProviderError]) -> None:
    body = json.dumps(reported | {"message": "In their own words."})
    error, _text = await failure_of(RealtimePeer(faults=[Fault(body=body)]))
    assert type(error) is kind
    assert "In their own words." in str(error)


BUSY = '{"type": "error", "error": {"type": "server_error", "code": "server_error", "message": "Sorry"}}'
BROKEN: list[tuple[Fault, type[ProviderError], str]] = [
    (Fault(drop="before"), SessionLostError, ""),
    (Fault(hang="headers"), ProviderTimeoutError, ""),
    (Fault(drop="within", after=6), SessionLostError, "Hello th"),
    (Fault(hang="within", after=6), ProviderTimeoutError, "Hello th"),
    (Fault(frame="{not json", after=6), ProviderProtocolError, "Hello th"),
    (Fault(frame="[]", after=6), ProviderProtocolError, "Hello th"),
    (Fault(frame='{"no": "type"}', after=6), ProviderProtocolError, "Hello th"),
    (Fault(frame='{"type": "response.output_text.delta"}', after=6), ProviderProtocolError, "Hello th"),
    (Fault(frame='{"type": "response.done", "response": 1}', after=6), ProviderProtocolError, "Hello th"),
    (Fault(frame=BUSY, after=6), OverloadedError, "Hello th"),
    (Fault(finish="content_filter"), BadRequestError, "Hello there."),
    (Fault(finish="turn_detected"), SessionLostError, "Hello there."),
    (Fault(deltas=[]), EmptyAnswerError, ""),
    (Fault(deltas=[], finish="max_output_tokens"), EmptyAnswerError, ""),
]


@pytest.mark.parametrize(("fault", "kind", "text"), BROKEN)
async def test_what_came_before_an_answer_broke_is_kept(
    fault: Fault, kind: type[ProviderError], text: str
) -> None:
    timeouts = SHORT if fault.hang else None
    error, kept = await failure_of(RealtimePeer(["Hello there."], faults=[fault]), timeouts=timeouts)
    assert type(error) is kind
    assert kept == text
    if fault.hang:
        assert f"sent nothing for {(SHORT.idle if text else SHORT.first_byte):g} s" in str(error)


async def test_an_answer_at_the_limit_of_tokens_is_an_answer() -> None:
    async with (
        RealtimePeer(["Hello th"], faults=[Fault(finish="max_output_tokens")]) as peer,
        session_with(peer) as session,
    ):
        assert text_of(await ask(session, user("go"))) == "Hello th"
        assert session.reusable


async def test_a_message_that_is_refused_is_told_before_anything_is_asked() -> None:
    odd: Any = {"role": "narrator", "content": "Once"}
    async with RealtimePeer() as peer:
        with pytest.raises(BadRequestError, match="narrator"):
            await realtime_sessions(endpoint_of(peer))([PROMPT, odd])
        await asyncio.wait_for(peer.sockets[0].closed.wait(), 30)
    assert not peer.exchanges


# Sessions that end.


async def test_a_session_that_expires_is_lost() -> None:
    async with (
        RealtimePeer(["One.", "Two."], most_responses=1) as peer,
        session_with(peer) as session,
    ):
        await ask(session, user("first"))
        with pytest.raises(SessionLostError, match="maximum duration") as caught:
            await ask(session, assistant("One."), user("second"))
        assert not session.reusable
    assert caught.value.retryable


async def test_a_session_that_expires_in_mid_answer_is_lost() -> None:
    async with RealtimePeer(["word " * 10_000], expires_after=0.5, latency=0.01) as peer:
        with pytest.raises(SessionLostError, match="maximum duration"):
            async with session_with(peer) as session:
                await ask(session, user("first"))


async def test_a_connection_that_drops_between_rounds_is_noticed() -> None:
    async with (
        RealtimePeer() as peer,
        session_with(peer) as session,
    ):
        await ask(session, user("first"))
        assert session.reusable
        peer.drop_connections()
        with pytest.raises(SessionLostError):
            await ask(session, assistant("Hello."), user("second"))
        assert not session.reusable


async def test_a_session_is_not_used_until_the_endpoint_ends_it() -> None:
    now = 1000.0
    async with RealtimePeer() as peer:
        endpoint = endpoint_of(peer)
        url = socket_url(endpoint.base_url, "/realtime", query="model=test-model")
        link = await Socket.open(endpoint, "Realtime", url, {"Authorization": f"Bearer {KEY}"})
        session = RealtimeSession(endpoint, link, clock=lambda: now)
        await session.seed([PROMPT])
        now += LIFETIME - 1
        assert session.reusable
        now += 1
        assert not session.reusable
        await session.close()


async def test_nobody_listens() -> None:
    async with RealtimePeer() as peer:
        endpoint = endpoint_of(peer)
    with pytest.raises(NetworkError, match="Nothing is listening"):
        await realtime_sessions(endpoint)(HISTORY)


# Answers that are not read to their end.


async def test_closing_early_cancels_and_what_was_kept_takes_the_place_of_the_rest() -> None:
    async with RealtimePeer(["word " * 10_000, "Done."], latency=0.001) as peer:
        async with session_with(peer) as session:
            begun = await ask_briefly(session, user("first"))
            assert session.reusable
            second = await ask(session, assistant(begun), user("secondly"))
            assert text_of(second) == "Done."
        kinds = [frame["type"] for frame in peer.sockets[0].frames]
    assert peer.connections == 1
    assert kinds[3:] == [
        "response.cancel",
        "conversation.item.delete",
        "conversation.item.create",
        "conversation.item.create",
        "response.create",
    ]
    assert peer.exchanges[1].context == [PROMPT, user("first"), assistant(begun), user("secondly")]
    assert len(peer.exchanges[0].text) < 10_000
    # Sent again: what was kept; not what was cut off.
    assert usage_of(second).input == peer.exchanges[1].sent == 3


async def test_an_answer_of_which_nothing_was_kept_is_taken_out() -> None:
    async with (
        RealtimePeer(["word " * 10_000, "Done."], latency=0.001) as peer,
        session_with(peer) as session,
    ):
        await ask_briefly(session, user("first"))
        await ask(session, user("second"))
    assert peer.exchanges[1].context == [PROMPT, user("first"), user("second")]


@pytest.mark.parametrize("latency", [0.0, 0.05])
async def test_interrupting_at_any_moment_leaves_a_session_that_can_go_on(latency: float) -> None:
    async with (
        RealtimePeer(["word " * 20, "Done."], latency=latency) as peer,
        session_with(peer) as session,
    ):
        await session.send([user("first")])

        async def read() -> None:
            async with aclosing(session.receive()) as chunks:
                async for _chunk in chunks:
                    pass

        reading = asyncio.create_task(read())
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert session.reusable
        assert text_of(await ask(session, user("second"))) == "Done."
    assert peer.connections == 1
    assert peer.exchanges[-1].context == [PROMPT, user("first"), user("second")]


async def test_a_cancel_that_comes_too_late_harms_nothing() -> None:
    async with RealtimePeer(["Hello there.", "Done."]) as peer, session_with(peer) as session:
        await session.send([user("first")])
        async with aclosing(session.receive()) as chunks:
            assert await anext(chunks) == TextDelta("Hell")
            await until(lambda: peer.exchanges[0].text == "Hello there.")
            await asyncio.sleep(0.1)
        assert session.reusable
        # The complaint about the cancel comes with the next answer.
        assert text_of(await ask(session, assistant("Hell"), user("second"))) == "Done."
        assert text_of(await ask(session, assistant("Done."), user("third"))) == "Done."
    assert peer.exchanges[1].context == [PROMPT, user("first"), assistant("Hell"), user("second")]


async def test_a_response_that_cannot_be_cancelled_closes_the_session() -> None:
    async with (
        RealtimePeer(["word " * 100], always=Fault(hang="within", after=8)) as peer,
        session_with(peer) as session,
    ):
        await ask_briefly(session, user("first"))
        assert not session.reusable
        await asyncio.wait_for(peer.sockets[0].closed.wait(), 30)


async def test_a_session_that_expires_while_a_response_is_cancelled_is_closed() -> None:
    async with (
        RealtimePeer(["word " * 100], always=Fault(hang="within", after=8), expires_after=1.0) as peer,
        session_with(peer) as session,
    ):
        await ask_briefly(session, user("first"))
        assert not session.reusable


BLOCK = '<execute>\n[{"name": "list", "args": {}}]\n</execute>'


async def test_what_follows_a_batch_does_not_stay_in_the_context() -> None:
    results = user("<results>[]</results>" * 8)
    async with RealtimePeer([BLOCK + " So it is.", "Done."]) as peer, session_with(peer) as session:
        await ask(session, user("go"))
        second = await ask(session, assistant(BLOCK), results)
    assert peer.exchanges[1].context == [PROMPT, user("go"), assistant(BLOCK), results]
    assert usage_of(second).input == peer.exchanges[1].input - peer.exchanges[0].input


@pytest.mark.parametrize(
    ("written", "kept", "replaced"),
    [
        (BLOCK, BLOCK, False),
        (f"  {BLOCK}\n", '<execute>[{"name":"list","args":{}}]</execute>', False),
        ("<respond>It is done.</respond><end>", "It is done.", False),
        ("It is done. It really is.", "It is", True),
        ("It is done.", "", True),
    ],
)
async def test_an_answer_is_sent_back_only_where_the_store_keeps_another(
    written: str, kept: str, replaced: bool
) -> None:
    async with RealtimePeer([written, "Done."]) as peer:
        async with session_with(peer) as session:
            await ask(session, user("first"))
            await ask(session, *([assistant(kept)] if kept else []), user("second"))
        kinds = [frame["type"] for frame in peer.sockets[0].frames]
    assert ("conversation.item.delete" in kinds) == replaced
    remembered = [
        message["content"] for message in peer.exchanges[1].context if message["role"] == "assistant"
    ]
    assert remembered == ([kept] if replaced and kept else [] if replaced else [written])
