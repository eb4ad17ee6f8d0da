"""Sessions over Responses that share a connection, over real sockets."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager

import pytest

from cogency_tui.errors import ProviderTimeoutError, RateLimitError, SessionLostError
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import Options, ProviderSession, Steerable, TextDelta, Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_provider import Opener
from cogency_tui.providers.openai_responses_lanes import MOST
from cogency_tui.providers.openai_responses_session import responses_sessions
from tests.peers.responses import ResponsesPeer
from tests.peers.responses_params import check_params
from tests.peers.server import Context, Fault
from tests.providers.asked import SHORT, until

SYSTEM: Message = {"role": "system", "content": "You are an agent."}
LONG = "word " * 2000
HELLO = "Hello again. " * 20


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def opener_to(peer: ResponsesPeer) -> Opener:
    endpoint = Endpoint("openai", peer.base_url, "test-model", "OPENAI_API_KEY", "sk-key")
    return responses_sessions(endpoint, None, SHORT, lanes=True, steers=True)


@asynccontextmanager
async def sessions_with(peer: ResponsesPeer, count: int = 2) -> AsyncGenerator[list[ProviderSession]]:
    """Open sessions of one provider."""
    async with peer, AsyncExitStack() as stack:
        opener = opener_to(peer)
        sessions = [await opener([SYSTEM]) for _session in range(count)]
        for session in sessions:
            stack.push_async_callback(session.close)
        yield sessions


async def ask(session: ProviderSession, *messages: Message) -> str:
    await session.send(messages)
    async with aclosing(session.receive()) as chunks:
        return "".join([chunk.text async for chunk in chunks if isinstance(chunk, TextDelta)])


async def begin(session: ProviderSession, text: str, *before: Message) -> AsyncGenerator[object]:
    """Ask, after the session's answer `before`, and read the answer's first words."""
    await session.send([*before, user(text)])
    chunks = session.receive()
    assert isinstance(await anext(chunks), TextDelta)
    return chunks


def echo(context: Context) -> str:
    return f"{context[-1]['content']} " * 50


async def test_answers_of_two_sessions_do_not_mix_on_their_connection() -> None:
    peer = ResponsesPeer(echo, latency=0.0005)
    async with sessions_with(peer) as sessions:
        answers = await asyncio.gather(*(ask(each, user(f"Q{at}")) for at, each in enumerate(sessions)))
        assert answers == ["Q0 " * 50, "Q1 " * 50]
        stored: list[Message] = [{"role": "assistant", "content": answer} for answer in answers]
        again = [ask(each, stored[at], user(f"R{at}")) for at, each in enumerate(sessions)]
        assert await asyncio.gather(*again) == ["R0 " * 50, "R1 " * 50]
    assert peer.connections == 1
    [socket] = peer.sockets
    for frame in socket.frames:
        check_params(frame)
    assert [frame.get("stream_id") for frame in socket.frames] == [None, "lane-1"] * 2
    assert [len(frame["input"]) for frame in socket.frames] == [2, 2, 1, 1]
    assert [[each["role"] for each in exchange.context] for exchange in peer.exchanges[2:]] == [
        ["system", "user", "assistant", "user"]
    ] * 2


async def test_a_message_steers_the_answer_of_its_lane_alone() -> None:
    peer = ResponsesPeer(echo, latency=0.001, steers="at end")
    async with sessions_with(peer) as [other, steered]:
        assert isinstance(steered, Steerable)
        assert not await steered.steer(user("Too early."))
        chunks = await begin(steered, "Q")
        others = asyncio.create_task(ask(other, user("O")))
        assert await steered.steer(user("R"))
        assert not await steered.steer(user("S"))
        rest = "".join([chunk.text async for chunk in chunks if isinstance(chunk, TextDelta)])
        assert await others == "O " * 50
        stored: Message = {"role": "assistant", "content": "Q " * 50}
        assert rest == ("Q " * 50)[4:]
        assert await ask(steered, stored, user("R")) == "R " * 50
        # The connection is alive, and remembers both.
        assert await ask(steered, {"role": "assistant", "content": "R " * 50}, user("T")) == "T " * 50
    assert peer.connections == 1
    [frame] = [frame for frame in peer.sockets[0].frames if frame["type"] == "response.steer"]
    assert "stream_id" not in frame


async def test_an_answer_to_a_message_that_is_given_up_is_cancelled() -> None:
    peer = ResponsesPeer(echo, latency=0.001, steers="at end")
    async with sessions_with(peer) as [idle, steered]:
        assert isinstance(steered, Steerable)
        chunks = await begin(steered, "Q")
        assert await steered.steer(user("R"))
        async for _chunk in chunks:
            pass
        with pytest.raises(SessionLostError, match="out of order"):
            await steered.send([{"role": "assistant", "content": "Q " * 50}, user("Another.")])
        await steered.close()
        assert not idle.reusable


async def test_an_answer_that_is_given_up_is_cancelled_if_no_other_is_awaited() -> None:
    async with sessions_with(ResponsesPeer([LONG], latency=0.001)) as [idle, busy]:
        chunks = await begin(busy, "Go on.")
        assert idle.reusable
        await chunks.aclose()
        assert (idle.reusable, busy.reusable) == (False, False)


async def test_an_answer_that_is_given_up_leaves_others_alone() -> None:
    peer = ResponsesPeer([LONG, "A short one. " * 20, "Next."], latency=0.001)
    async with sessions_with(peer) as [first, second]:
        chunks = await begin(first, "Go on.")
        others = await begin(second, "Briefly.")
        await chunks.aclose()
        assert not first.reusable
        rest = "".join([chunk.text async for chunk in others if isinstance(chunk, TextDelta)])
        assert rest == ("A short one. " * 20)[4:]
        assert second.reusable
    assert peer.connections == 1


async def test_the_rest_of_an_answer_that_is_given_up_is_reported() -> None:
    peer = ResponsesPeer([HELLO, LONG, LONG], latency=0.0005)
    rests: list[Usage] = []
    reported = asyncio.Event()

    def report(usage: Usage) -> None:
        rests.append(usage)
        reported.set()

    async with peer:
        opener = opener_to(peer)
        first = await opener([SYSTEM], Options(report_rest=report))
        second = await opener([SYSTEM], Options(report_rest=report))
        assert await ask(first, user("Hi.")) == HELLO
        chunks = await begin(first, "Go on.", {"role": "assistant", "content": HELLO})
        others = await begin(second, "You too.")
        await chunks.aclose()
        await first.close()
        await asyncio.wait_for(reported.wait(), 30)
        await others.aclose()
        await second.close()
    [rest] = rests
    whole = peer.exchanges[1]
    assert (rest.input, rest.estimated) == (0, True)
    assert rest.output == pytest.approx(len(LONG) // 4, abs=5)
    assert rest.billed_input == pytest.approx(whole.input - whole.sent, abs=5)


async def test_a_connection_that_breaks_ends_all_of_its_sessions() -> None:
    peer = ResponsesPeer([LONG], latency=0.001)
    async with sessions_with(peer, 3) as [first, second, idle]:
        answers = [await begin(first, "Go on."), await begin(second, "Go on.")]
        peer.drop_connections()
        for chunks in answers:
            with pytest.raises(SessionLostError):
                _rest = [chunk async for chunk in chunks]
        await until(lambda: not idle.reusable)


async def test_an_error_of_one_session_is_its_own() -> None:
    body = '{"error": {"message": "Slow down.", "type": "tokens", "code": "rate_limit_exceeded"}}'
    peer = ResponsesPeer([LONG], faults=[None, Fault(status=429, body=body)], latency=0.0002)
    async with sessions_with(peer) as [first, second]:
        chunks = await begin(first, "Go on.")
        with pytest.raises(RateLimitError):
            await ask(second, user("Me too."))
        rest = "".join([chunk.text async for chunk in chunks if isinstance(chunk, TextDelta)])
        assert rest == LONG[4:]
        assert first.reusable


async def test_a_lane_that_falls_silent_runs_into_its_own_time_out() -> None:
    peer = ResponsesPeer(["Hello there."], faults=[Fault(hang="within", after=5)])
    async with sessions_with(peer) as [first, second]:
        chunks = await begin(first, "Go on.")
        assert await ask(second, user("Well?")) == "Hello there."
        with pytest.raises(ProviderTimeoutError):
            _rest = [chunk async for chunk in chunks]


async def test_a_connection_has_only_so_many_lanes() -> None:
    peer = ResponsesPeer()
    async with sessions_with(peer, MOST + 1) as sessions:
        for session in sessions:
            assert await ask(session, user("Hi.")) == "Hello."
        assert peer.connections == 2
        assert [len(socket.frames) for socket in peer.sockets] == [MOST, 1]


async def test_the_connection_ends_with_its_last_session_and_the_next_opens_another() -> None:
    async with ResponsesPeer() as peer:
        opener = opener_to(peer)
        first, second = [await opener([SYSTEM]) for _session in range(2)]
        await first.close()
        assert await ask(second, user("Hi.")) == "Hello."
        await second.close()
        await asyncio.wait_for(peer.sockets[0].closed.wait(), 30)
        third = await opener([SYSTEM])
        assert await ask(third, user("Hi.")) == "Hello."
        await third.close()
    assert peer.connections == 2
