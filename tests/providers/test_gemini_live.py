"""Sessions over Gemini's Live API, over real sockets, and the fall-back to Interactions."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

import pytest

from cogency_tui.errors import (
    AuthenticationError,
    BadRequestError,
    EmptyAnswerError,
    NetworkError,
    OverloadedError,
    PermissionDeniedError,
    ProviderError,
    ProviderProtocolError,
    ProviderTimeoutError,
    SessionLostError,
    SessionRefusedError,
)
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import CallDelta, ReasoningDelta, ReasoningItem, Usage
from cogency_tui.providers.gemini_live import live_sessions
from cogency_tui.providers.http_transport import Timeouts
from tests.peers.gemini import GeminiPeer, error_body
from tests.peers.gemini_live import LiveManners
from tests.peers.server import Fault
from tests.providers.asked import SHORT
from tests.providers.gemini_native import answer_of, results_of
from tests.providers.gemini_talk import KEY, QUICK, SYSTEM, Talk, contexts, endpoint_of, said, user

PATH = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"


async def open_live(
    peer: GeminiPeer, seed: Sequence[Message] = (SYSTEM,), timeouts: Timeouts = QUICK
) -> Talk:
    return Talk(await live_sessions(endpoint_of(peer), timeouts)(seed))


async def test_the_context_is_given_once_and_each_round_brings_what_is_new() -> None:
    async with GeminiPeer(["One.", "Two.", "Three."], key=KEY) as peer:
        talk = await open_live(peer, [SYSTEM, user("Before."), said("Yes.")])
        assert await talk.ask(user("First?")) == "One."
        assert await talk.ask(said("One."), user("Second?")) == "Two."
        assert await talk.ask(said("Two."), user("More."), user("Third?")) == "Three."
        assert talk.session.reusable
        await talk.close()
    [socket] = peer.sockets
    assert socket.request.path == PATH
    assert socket.request.headers["x-goog-api-key"] == KEY
    assert socket.frames == [
        {
            "setup": {
                "model": "models/test-model",
                "generationConfig": {"responseModalities": ["TEXT"]},
                "systemInstruction": {"parts": [{"text": SYSTEM["content"]}]},
                "contextWindowCompression": {"slidingWindow": {}},
                "sessionResumption": {},
            }
        },
        turn(("user", "Before."), ("model", "Yes."), complete=False),
        turn(("user", "First?")),
        turn(("user", "Second?")),
        {
            "clientContent": {
                "turns": [{"role": "user", "parts": [{"text": "More."}, {"text": "Third?"}]}],
                "turnComplete": True,
            }
        },
    ]
    assert contexts(peer)[2] == ["Before.", "Yes.", "First?", "One.", "Second?", "Two.", "More.Third?"]


async def test_a_history_of_native_calls_is_given_as_text() -> None:
    called = answer_of(
        [
            ReasoningItem({"thoughtSignature": "c2ln", "of": "call"}),
            CallDelta(0, "ab12", "list", "{}", complete=True),
        ]
    )
    async with GeminiPeer(["One."]) as peer:
        talk = await open_live(peer, [SYSTEM, user("Before."), called, results_of(called), said("Yes.")])
        assert await talk.ask(user("First?")) == "One."
        await talk.close()
    assert peer.sockets[0].frames[1] == turn(
        ("user", "Before."),
        ("model", "[call of list: {}]"),
        ("user", "[result of list]\nresult of list"),
        ("model", "Yes."),
        complete=False,
    )


def turn(*turns: tuple[str, str], complete: bool = True) -> dict[str, Any]:
    contents = [{"role": role, "parts": [{"text": text}]} for role, text in turns]
    return {"clientContent": {"turns": contents, "turnComplete": complete}}


@pytest.mark.parametrize("early", [False, True])
async def test_usage_says_what_is_sent_and_what_is_billed(early: bool) -> None:
    async with GeminiPeer(["x" * 400] * 3, live=LiveManners(counts_early=early)) as peer:
        talk = await open_live(peer, [SYSTEM, user("y" * 400), said("Yes.")])
        usages: list[Usage] = []
        await talk.ask(user("y" * 200))
        usages.append(talk.usage)
        for _ in range(2):
            await talk.ask(said(talk.text), user("z" * 200))
            usages.append(talk.usage)
        await talk.close()
    assert [usage.billed_input for usage in usages] == [exchange.input for exchange in peer.exchanges]
    for usage, exchange in zip(usages, peer.exchanges, strict=True):
        assert abs(usage.input - exchange.sent) <= 1
    assert [(usage.output, usage.estimated) for usage in usages] == [(100, False)] * 3


async def test_missing_usage_is_estimated() -> None:
    async with GeminiPeer(["12345678"], always=Fault(no_usage=True)) as peer:
        talk = await open_live(peer)
        await talk.ask(user("Hi."))
        await talk.close()
    assert talk.usage == Usage(peer.exchanges[0].sent, 2, estimated=True)


async def test_thoughts_come_beside_the_text_and_count_as_output() -> None:
    async with GeminiPeer(["Hellö 😀."], always=Fault(reasoning="Let me think")) as peer:
        talk = await open_live(peer)
        assert await talk.ask(user("Hi.")) == "Hellö 😀."
        await talk.close()
    assert talk.chunks[0] == ReasoningDelta("Let me think")
    assert talk.usage.output == 5


async def test_halves_of_characters_are_joined() -> None:
    async with GeminiPeer(always=Fault(deltas=["a\ud83d", "\ude00b\ud800"])) as peer:
        talk = await open_live(peer)
        assert await talk.ask(user("Hi.")) == "a😀b\ufffd"
        await talk.close()


async def test_an_answer_that_is_cut_short_ends_the_connection() -> None:
    async with GeminiPeer(["word " * 10_000], latency=0.001) as peer:
        talk = await open_live(peer)
        await talk.session.send([user("Hi.")])
        async with aclosing(talk.session.receive()) as chunks:
            async for _chunk in chunks:
                break
        assert not talk.session.reusable
        await asyncio.wait_for(peer.sockets[0].closed.wait(), 30)


async def test_an_answer_that_is_cancelled_ends_the_connection() -> None:
    async with GeminiPeer(always=Fault(hang="within", after=1)) as peer:
        talk = await open_live(peer)
        task = asyncio.create_task(talk.ask(user("Hi.")))
        await asyncio.wait_for(talk.begun.wait(), 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not talk.session.reusable
        await asyncio.wait_for(peer.sockets[0].closed.wait(), 30)


# Going away.


@pytest.mark.parametrize("closes", [False, True])
async def test_a_session_that_is_told_to_go_moves_to_another_connection(closes: bool) -> None:
    manners = LiveManners(leaves_after=2, closes=closes)
    # With a latency the handle comes a while after the answer.
    async with GeminiPeer(["One.", "Two.", "Three.", "Four."], live=manners, latency=0.02) as peer:
        talk = await open_live(peer)
        await talk.ask(user("1?"))
        await talk.ask(said("One."), user("2?"))
        assert talk.session.reusable
        assert await talk.ask(said("Two."), user("3?")) == "Three."
        # The system prompt had to be sent again.
        assert abs(talk.usage.input - peer.exchanges[2].sent) <= 1
        assert talk.notices == ["gemini ended the connection; the session continues over a new one."]
        assert await talk.ask(said("Three."), user("4?")) == "Four."
        assert not talk.notices
        await talk.close()
    assert len(peer.sockets) == 2
    assert contexts(peer)[3] == ["1?", "One.", "2?", "Two.", "3?", "Three.", "4?"]
    resumed = peer.sockets[1].frames
    assert resumed[0]["setup"]["sessionResumption"] == {"handle": "handle-1"}
    assert resumed[1:] == [turn(("user", "3?")), turn(("user", "4?"))]


async def test_a_connection_that_ends_between_rounds_is_made_again_with_the_handle() -> None:
    async with GeminiPeer(["One.", "Two."]) as peer:
        talk = await open_live(peer)
        await talk.ask(user("1?"))
        # It comes after the answer.
        await asyncio.wait_for(peer.handed.wait(), 30)
        await peer.sockets[0].close(1012, "Restarting.")
        await asyncio.wait_for(peer.sockets[0].closed.wait(), 30)
        assert talk.session.reusable
        assert await talk.ask(said("One."), user("2?")) == "Two."
        await talk.close()
    assert contexts(peer)[1] == ["1?", "One.", "2?"]


@pytest.mark.parametrize("handles", ["none", "dead", "stale"])
async def test_a_session_without_a_handle_that_holds_is_lost(handles: str) -> None:
    async with GeminiPeer(live=LiveManners(leaves_after=1, handles=handles)) as peer:
        talk = await open_live(peer)
        await talk.ask(user("1?"))
        with pytest.raises(SessionLostError) as caught:
            await talk.ask(said("Hello."), user("2?"))
        assert caught.value.retryable
        await talk.close()
    assert len(peer.exchanges) == 1


async def test_a_connection_that_breaks_in_mid_answer_is_a_session_lost() -> None:
    async with GeminiPeer(["One.", "Hello there."], faults=[None, Fault(drop="within", after=2)]) as peer:
        talk = await open_live(peer)
        await talk.ask(user("1?"))
        with pytest.raises(SessionLostError):
            await talk.ask(said("One."), user("2?"))
        assert talk.text == "Hello th"
        assert not talk.session.reusable


# What goes wrong.


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"live": LiveManners(refuses_text=1007)}, "invalid argument"),
    ({"live": LiveManners(refuses_text=1011)}, "Internal error"),
    ({"live": LiveManners(refuses_text=1007, late=True)}, "invalid argument"),
    ({"live": LiveManners(refuses_text=1011, late=True)}, "Internal error"),
    ({"model": "another"}, "models/test-model is not found"),
    ({"upgrades": [404]}, "HTTP 404"),
    ({"upgrades": [426]}, "HTTP 426"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED)
async def test_a_model_that_has_no_text_there_refuses_the_session(
    options: dict[str, Any], words: str
) -> None:
    async with GeminiPeer(**options) as peer:
        with pytest.raises(SessionRefusedError, match=words) as caught:
            await (await open_live(peer)).ask(user("Hi."))
        assert not caught.value.retryable
    assert not peer.exchanges


FAILED: list[tuple[dict[str, Any], type[ProviderError], str]] = [
    ({"key": "another"}, AuthenticationError, "API key not valid"),
    ({"upgrades": [403]}, PermissionDeniedError, "403"),
    ({"upgrades": [503]}, OverloadedError, "503"),
    (
        {
            "always": Fault(
                status=1011, body="You exceeded your current quota, please check your plan and billing"
            )
        },
        PermissionDeniedError,
        "quota",
    ),
    ({"always": Fault(status=1012, body="Going down.")}, SessionLostError, "Going down"),
    ({"always": Fault(drop="before")}, SessionLostError, "closed"),
    ({"always": Fault(hang="body")}, ProviderTimeoutError, "for 0.6 s"),
    ({"always": Fault(hang="within", after=2)}, ProviderTimeoutError, "for 0.4 s"),
    ({"always": Fault(frame="nonsense")}, ProviderProtocolError, "nonsense"),
    ({"always": Fault(frame=error_body(503, "UNAVAILABLE", "Overloaded."))}, OverloadedError, "Overloaded"),
    ({"always": Fault(frame='{"code": 503, "message": "Overloaded."}')}, OverloadedError, "Overloaded"),
    ({"always": Fault(finish="PROHIBITED_INPUT_CONTENT")}, BadRequestError, "content filter"),
    ({"always": Fault(deltas=[])}, EmptyAnswerError, "empty response"),
    ({"always": Fault(deltas=[], finish="MALFORMED_FUNCTION_CALL")}, EmptyAnswerError, "empty response"),
    (
        {"always": Fault(frame='{"serverContent": {"interrupted": true, "turnComplete": true}}')},
        NetworkError,
        "cut off the response",
    ),
]


@pytest.mark.parametrize(("options", "kind", "words"), FAILED)
async def test_what_goes_wrong_is_reported_as_what_it_is(
    options: dict[str, Any], kind: type[ProviderError], words: str
) -> None:
    async with GeminiPeer(["Hello there."], **options) as peer:
        timeouts = SHORT if kind is ProviderTimeoutError else QUICK
        with pytest.raises(kind, match=words) as caught:
            await (await open_live(peer, timeouts=timeouts)).ask(user("Hi."))
        assert type(caught.value) is kind
        assert caught.value.hint
        assert KEY not in caught.value.advice
    assert all(KEY not in request.path for request in peer.requests)


async def test_an_internal_error_after_the_first_answer_is_a_session_lost() -> None:
    faults = [None, Fault(status=1011, body="Deadline expired before operation could complete.")]
    async with GeminiPeer(["One."], faults=faults) as peer:
        talk = await open_live(peer)
        await talk.ask(user("1?"))
        with pytest.raises(SessionLostError, match="Deadline expired"):
            await talk.ask(said("One."), user("2?"))


async def test_frames_that_are_not_known_are_ignored() -> None:
    async with GeminiPeer(["Hello."]) as peer:
        talk = await open_live(peer)
        await peer.sockets[0].send({"voiceActivity": {"type": "x"}}, binary=True)
        await peer.sockets[0].send({"toolCall": {"functionCalls": []}})
        assert await talk.ask(user("Hi.")) == "Hello."
        await talk.close()
