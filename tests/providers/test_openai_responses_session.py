"""Responses over a WebSocket, over real sockets: rounds, cuts, losses, and what each of them sends."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from cogency_tui.agent.model_channels import ResumeChannel
from cogency_tui.errors import (
    AuthenticationError,
    BadRequestError,
    ContextTooLongError,
    ModelNotFoundError,
    OverloadedError,
    ProviderError,
    ProviderProtocolError,
    ProviderTimeoutError,
    RateLimitError,
    SessionLostError,
    SessionRefusedError,
)
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import Chunk, Notice, ProviderSession, ReasoningDelta, TextDelta, Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_provider import HttpProvider
from cogency_tui.providers.http_transport import Timeouts
from cogency_tui.providers.models import ModelFacts
from cogency_tui.providers.openai_responses import ResponsesWire
from cogency_tui.providers.openai_responses_session import responses_sessions
from tests.peers.responses import ResponsesPeer
from tests.peers.server import Fault
from tests.providers.asked import SHORT

KEY = "sk-test-key"
REASONS = ModelFacts(reasoning=True)
SYSTEM: Message = {"role": "system", "content": "You are an agent. "}
FIRST: Message = {"role": "user", "content": "Begin now."}
AT_TEXT = 5
"""Events before the second piece of the text."""


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


def provider_for(
    peer: ResponsesPeer,
    *,
    model: str = "test-model",
    facts: ModelFacts | None = None,
    timeouts: Timeouts | None = None,
) -> HttpProvider:
    endpoint = Endpoint("openai", peer.base_url, model, "OPENAI_API_KEY", KEY)
    sessions = responses_sessions(endpoint, facts, timeouts)
    return HttpProvider(endpoint, ResponsesWire(endpoint), sessions=sessions)


@asynccontextmanager
async def session_with(
    peer: ResponsesPeer, seed: Sequence[Message] = (SYSTEM,), **options: Any
) -> AsyncGenerator[ProviderSession]:
    """A session of a provider of its own."""
    provider = provider_for(peer, **options)
    session = await provider.connect(seed)
    yield session
    await session.close()
    await provider.close()


async def answer(session: ProviderSession, *messages: Message) -> list[Chunk]:
    """One round, to its end."""
    await session.send(messages)
    async with aclosing(session.receive()) as chunks:
        return [chunk async for chunk in chunks]


async def failure(session: ProviderSession, *messages: Message) -> tuple[ProviderError, str]:
    """The error that ends a round, and the text before it."""
    text = ""
    try:
        await session.send(messages)
        async with aclosing(session.receive()) as chunks:
            async for chunk in chunks:
                text += chunk.text if isinstance(chunk, TextDelta) else ""
    except ProviderError as error:
        return error, text
    pytest.fail(f"The round ended well: {text!r}")


def text_of(chunks: Sequence[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))


def usage_of(chunks: Sequence[Chunk]) -> Usage:
    [usage] = [chunk for chunk in chunks if isinstance(chunk, Usage)]
    return usage


def item(message: Message) -> dict[str, Any]:
    kind = "output_text" if message["role"] == "assistant" else "input_text"
    content = [{"type": kind, "text": message["content"]}]
    return {"type": "message", "role": message["role"], "content": content}


async def test_the_context_is_sent_once_and_then_each_message_alone() -> None:
    history = [SYSTEM, user("Hi."), assistant("Yes?")]
    async with (
        ResponsesPeer(["One.", "Two.", "Three."], key=KEY) as peer,
        session_with(peer, history) as session,
    ):
        assert not peer.sockets[0].frames
        texts = [text_of(await answer(session, FIRST))]
        texts.append(text_of(await answer(session, assistant("One."), user("Second."))))
        texts.append(text_of(await answer(session, assistant("Two."), user("Third."), user("Really."))))
        assert session.reusable
        frames = peer.sockets[0].frames
    common = {"type": "response.create", "model": "test-model", "store": False}
    assert texts == ["One.", "Two.", "Three."]
    assert peer.connections == 1
    assert frames == [
        {**common, "input": [item(each) for each in [*history, FIRST]]},
        {**common, "input": [item(user("Second."))], "previous_response_id": f"resp_{1:048x}"},
        {
            **common,
            "input": [item(user("Third.")), item(user("Really."))],
            "previous_response_id": f"resp_{2:048x}",
        },
    ]
    assert peer.exchanges[2].context == [
        *history,
        *(FIRST, assistant("One."), user("Second."), assistant("Two."), user("Third."), user("Really.")),
    ]


@pytest.mark.parametrize("keeps_reasoning", [False, True])
async def test_what_is_reported_as_sent_is_what_arrived(keeps_reasoning: bool) -> None:
    reasoning = Fault(reasoning="Hm. ")
    async with (
        ResponsesPeer(["Four" * 5], always=reasoning, keeps_reasoning=keeps_reasoning) as peer,
        session_with(peer, [{"role": "system", "content": "word" * 1200}]) as session,
    ):
        usages = [usage_of(await answer(session, user(f"next 00{turn}"))) for turn in range(8)]
        assert [usage.input for usage in usages] == [exchange.sent for exchange in peer.exchanges]
        assert [usage.billed_input for usage in usages] == [exchange.input for exchange in peer.exchanges]
    assert peer.sent == 1200 + 8 * 2
    assert [usage.output for usage in usages] == [5 + 1] * 8
    assert usages[0].cached == 0
    assert usages[7].cached == 1152
    assert not usages[7].estimated


async def test_usage_that_is_not_reported_is_estimated() -> None:
    async with (
        ResponsesPeer(["12345678"], always=Fault(no_usage=True)) as peer,
        session_with(peer, [SYSTEM]) as session,
    ):
        usage = usage_of(await answer(session, FIRST))
    assert usage == Usage(peer.exchanges[0].input, 2, estimated=True)


async def test_reasoning_is_summarised_where_it_is_asked_for() -> None:
    fault = Fault(reasoning="First.\n\nThen.", comments=True)
    async with ResponsesPeer(["Hi."], always=fault) as peer, session_with(peer, facts=REASONS) as session:
        chunks = await answer(session, FIRST)
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, ReasoningDelta)) == "First.\n\nThen."
    assert text_of(chunks) == "Hi."


async def test_a_summary_that_is_refused_is_not_asked_for_again() -> None:
    async with ResponsesPeer(refuses=["reasoning"]) as peer:
        provider = provider_for(peer, facts=REASONS)
        for _session in range(2):
            session = await provider.connect([SYSTEM])
            assert text_of(await answer(session, FIRST)) == "Hello."
            assert text_of(await answer(session, assistant("Hello."), user("Again."))) == "Hello."
            await session.close()
        frames = [["reasoning" in frame for frame in socket.frames] for socket in peer.sockets]
    assert frames == [[True, False, False], [False, False]]
    assert peer.exchanges[0].context == [SYSTEM, FIRST]


async def test_lone_surrogates_become_replacement_characters() -> None:
    deltas = Fault(deltas=["a\ud83d", "\ude00", "\udc00b\ud800"])
    async with ResponsesPeer(always=deltas) as peer, session_with(peer) as session:
        assert text_of(await answer(session, FIRST)) == "a😀\ufffdb\ufffd"


async def test_an_early_close_ends_the_connection() -> None:
    async with ResponsesPeer(["word " * 10_000], latency=0.001) as peer, session_with(peer) as session:
        await session.send([FIRST])
        async with aclosing(session.receive()) as chunks:
            async for _chunk in chunks:
                break
        await asyncio.wait_for(peer.sockets[0].closed.wait(), 30)
        assert not session.reusable


async def test_cancelling_ends_the_connection() -> None:
    async with (
        ResponsesPeer(always=Fault(hang="within", after=AT_TEXT)) as peer,
        session_with(peer) as session,
    ):
        begun = asyncio.Event()

        async def read() -> None:
            async with aclosing(session.receive()) as chunks:
                async for _chunk in chunks:
                    begun.set()

        await session.send([FIRST])
        task = asyncio.create_task(read())
        await asyncio.wait_for(begun.wait(), 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(peer.sockets[0].closed.wait(), 30)
        assert not session.reusable


async def test_a_reader_that_has_the_usage_may_go() -> None:
    async with ResponsesPeer(["One.", "Two."]) as peer, session_with(peer) as session:
        await session.send([FIRST])
        async with aclosing(session.receive()) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, Usage):
                    break
        assert session.reusable
        assert text_of(await answer(session, assistant("One."), user("Next."))) == "Two."


CUT: list[tuple[Fault, type[ProviderError], str]] = [
    (Fault(drop="within", after=AT_TEXT), SessionLostError, "Hell"),
    (Fault(hang="within", after=AT_TEXT), ProviderTimeoutError, "Hell"),
    (Fault(frame="nonsense", after=AT_TEXT), ProviderProtocolError, "Hell"),
    (Fault(frame='{"choices": []}', after=AT_TEXT), ProviderProtocolError, "Hell"),
    (Fault(finish="failed"), OverloadedError, "Hello there."),
    (Fault(finish="content_filter"), BadRequestError, "Hello there."),
    (Fault(drop="before"), SessionLostError, ""),
    (Fault(hang="headers"), ProviderTimeoutError, ""),
    (Fault(status=500), OverloadedError, ""),
]


@pytest.mark.parametrize(("fault", "kind", "text"), CUT)
async def test_what_cuts_an_answer_off_ends_the_session(
    fault: Fault, kind: type[ProviderError], text: str
) -> None:
    async with (
        ResponsesPeer(["Hello there."], always=fault) as peer,
        session_with(peer, timeouts=SHORT if fault.hang else None) as session,
    ):
        error, before = await failure(session, FIRST)
        assert type(error) is kind
        assert error.hint
        assert before == text
        assert not session.reusable


async def test_a_model_that_is_reasoning_has_the_time_of_a_first_byte() -> None:
    silent = Fault(hang="within", after=2)
    async with ResponsesPeer(always=silent) as peer, session_with(peer, timeouts=SHORT) as session:
        error, _text = await failure(session, FIRST)
        assert f"{SHORT.first_byte:g} s" in str(error)


async def test_an_answer_that_was_cut_at_a_limit_is_not_gone_on_from() -> None:
    async with (
        ResponsesPeer(["Hello there."], always=Fault(finish="length")) as peer,
        session_with(peer) as session,
    ):
        assert text_of(await answer(session, FIRST)) == "Hello there."
        assert not session.reusable


async def test_an_empty_answer_is_reported() -> None:
    async with ResponsesPeer(always=Fault(deltas=[])) as peer, session_with(peer) as session:
        error, _text = await failure(session, FIRST)
        assert isinstance(error, ProviderProtocolError)
        assert "empty response" in str(error)


async def test_refusals_are_those_of_http() -> None:
    body = '{"error": {"message": "Slow down.", "type": "tokens", "code": "rate_limit_exceeded"}}'
    limit = Fault(status=429, body=body, headers={"Retry-After": "7"})
    async with ResponsesPeer(always=limit) as peer, session_with(peer) as session:
        error, _text = await failure(session, FIRST)
        assert isinstance(error, RateLimitError)
        assert error.retry_after == 7
    async with ResponsesPeer(context_size=5) as peer:
        async with session_with(peer, model="gpt-none") as session:
            assert isinstance((await failure(session, FIRST))[0], ModelNotFoundError)
        async with session_with(peer) as session:
            assert isinstance((await failure(session, FIRST))[0], ContextTooLongError)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"evicts": {1}}, "has lost its context"), ({"most_responses": 1}, "has reached its time limit")],
)
async def test_what_the_endpoint_no_longer_has_is_a_session_lost(options: dict[str, Any], words: str) -> None:
    async with ResponsesPeer(**options) as peer, session_with(peer) as session:
        await answer(session, FIRST)
        error, _text = await failure(session, assistant("Hello."), user("Next."))
        assert isinstance(error, SessionLostError)
        assert words in str(error)
        assert not session.reusable


async def ended(session: ProviderSession) -> None:
    async with asyncio.timeout(30):
        while session.reusable:  # noqa: ASYNC110 - a session tells nobody that it has ended
            await asyncio.sleep(0.005)


async def test_a_session_that_expires_while_it_waits_is_known_to_be_gone() -> None:
    async with ResponsesPeer(expires_after=0.05) as peer, session_with(peer) as session:
        await ended(session)
        with pytest.raises(SessionLostError):
            await session.send([FIRST])


async def test_a_connection_that_breaks_while_it_waits_is_known_to_be_gone() -> None:
    async with ResponsesPeer() as peer, session_with(peer) as session:
        await answer(session, FIRST)
        peer.drop_connections()
        await ended(session)


async def test_an_endpoint_without_sockets_refuses_sessions() -> None:
    async with ResponsesPeer(upgrades=[426, 503], key="another") as peer:
        provider = provider_for(peer)
        assert provider.resumes
        with pytest.raises(SessionRefusedError, match=r"no Responses WebSocket \(HTTP 426"):
            await provider.connect([SYSTEM])
        with pytest.raises(OverloadedError):
            await provider.connect([SYSTEM])
        with pytest.raises(AuthenticationError) as caught:
            await provider.connect([SYSTEM])
    assert KEY not in caught.value.advice


class Conversation:
    """What the engine does with a session: it keeps the history and sends it through a channel."""

    def __init__(self, peer: ResponsesPeer) -> None:
        self.channel = ResumeChannel(provider_for(peer))
        self.messages: list[Message] = [SYSTEM]
        self.notices: list[str] = []

    async def say(self, text: str) -> str:
        self.messages.append(user(text))
        async with aclosing(self.channel.generate(self.messages)) as chunks:
            got = [chunk async for chunk in chunks]
        self.notices += [chunk.text for chunk in got if isinstance(chunk, Notice)]
        self.messages.append(assistant(text_of(got)))
        return text_of(got)


@pytest.mark.parametrize(
    ("options", "notice"),
    [
        ({"evicts": {2}}, "has lost its context. A new session"),
        ({"most_responses": 2}, "has reached its time limit. A new session"),
        ({"faults": [None, None, Fault(drop="before")]}, "closed the session (1006)"),
    ],
)
async def test_a_session_that_is_lost_is_seeded_again_and_nothing_is_missing(
    options: dict[str, Any], notice: str
) -> None:
    async with ResponsesPeer(["One.", "Two.", "Three.", "Four."], **options) as peer:
        conversation = Conversation(peer)
        said = [await conversation.say(f"Number {turn}.") for turn in range(4)]
        await conversation.channel.close()
    assert said == ["One.", "Two.", "Three.", "Four."]
    assert len(conversation.notices) == 1
    assert notice in conversation.notices[0]
    assert peer.exchanges[2].context == conversation.messages[:6]
    assert peer.exchanges[3].context == conversation.messages[:8]
    assert len(peer.sockets) == 2
    assert [len(frame["input"]) for frame in peer.sockets[1].frames] == [6, 1]
