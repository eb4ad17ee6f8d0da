"""Sessions over Gemini's Interactions, over real sockets: what is sent, kept, lost and sent again."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from cogency_tui.errors import (
    AuthenticationError,
    BadRequestError,
    EmptyAnswerError,
    ModelNotFoundError,
    NetworkError,
    OverloadedError,
    ProviderError,
    ProviderProtocolError,
    ProviderTimeoutError,
    RateLimitError,
    SessionLostError,
    SessionRefusedError,
)
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import ReasoningDelta, Retrying, Usage
from cogency_tui.providers.gemini_interactions import interaction_sessions
from cogency_tui.providers.http_transport import Timeouts
from cogency_tui.providers.models import ModelFacts
from tests.peers.gemini import GeminiPeer, error_body, exhausted
from tests.peers.server import Fault
from tests.providers.asked import SHORT
from tests.providers.gemini_talk import KEY, QUICK, SYSTEM, Talk, contexts, endpoint_of, said, user

BLOCK = '<execute>\n[{"name": "list", "args": {}}]\n</execute>'


async def open_talk(
    peer: GeminiPeer,
    seed: Sequence[Message] = (SYSTEM,),
    *,
    model: str = "test-model",
    timeouts: Timeouts = QUICK,
) -> Talk:
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    endpoint = endpoint_of(peer, model)
    opener = interaction_sessions(
        endpoint, timeouts, facts=ModelFacts(reasoning=True), wait=wait, jitter=lambda: 0.0
    )
    return Talk(await opener(seed), waits)


def texts(body: dict[str, Any]) -> list[tuple[str, str]]:
    return [(step["type"], step["content"][0]["text"]) for step in body["input"]]


async def test_the_context_is_sent_once_and_each_round_brings_what_is_new() -> None:
    async with GeminiPeer(["One.", "Two.", "Three."], key=KEY) as peer:
        talk = await open_talk(peer, [SYSTEM, user("Before."), said("Yes.")])
        assert not peer.requests
        answers: list[str] = []
        await talk.ask(user("First?"))
        answers.append(talk.text)
        for question in ("Second?", "Third?"):
            await talk.ask(said(talk.text), user(question))
            answers.append(talk.text)
        await talk.close()
    assert answers == ["One.", "Two.", "Three."]
    bodies = [request.body for request in peer.requests]
    assert [texts(body) for body in bodies] == [
        [("user_input", "Before."), ("model_output", "Yes."), ("user_input", "First?")],
        [("user_input", "Second?")],
        [("user_input", "Third?")],
    ]
    assert ["previous_interaction_id" in body for body in bodies] == [False, True, True]
    # What holds for one interaction alone is in each of them.
    assert {body["system_instruction"] for body in bodies} == {SYSTEM["content"]}
    assert all(body["store"] and body["stream"] for body in bodies)
    assert contexts(peer)[2] == [
        "Before.",
        "Yes.",
        "First?",
        "One.",
        "Second?",
        "Two.",
        "Third?",
    ]
    assert peer.connections == 1
    assert all(request.path == "/v1beta/interactions" for request in peer.requests)


async def test_usage_says_what_is_sent_and_what_is_billed() -> None:
    async with GeminiPeer(["x" * 400] * 3) as peer:
        talk = await open_talk(peer)
        usages: list[Usage] = []
        await talk.ask(user("y" * 200))
        usages.append(talk.usage)
        for _ in range(2):
            await talk.ask(said(talk.text), user("z" * 200))
            usages.append(talk.usage)
        await talk.close()
    assert [usage.billed_input for usage in usages] == [exchange.input for exchange in peer.exchanges]
    # The peer rounds what arrived and what it bills each by itself.
    for usage, exchange in zip(usages, peer.exchanges, strict=True):
        assert abs(usage.input - exchange.sent) <= 1
    assert [usage.output for usage in usages] == [100, 100, 100]
    assert not any(usage.estimated for usage in usages)


async def test_reasoning_comes_beside_the_text_and_is_not_counted_as_sent() -> None:
    async with GeminiPeer(["Hi."] * 2, always=Fault(reasoning="Let me think " * 8)) as peer:
        talk = await open_talk(peer)
        await talk.ask(user("y" * 400))
        assert [type(chunk) for chunk in talk.chunks[:2]] == [ReasoningDelta, ReasoningDelta]
        assert "".join(c.text for c in talk.chunks if isinstance(c, ReasoningDelta)) == "Let me think " * 8
        await talk.ask(said(talk.text), user("z" * 400))
        assert talk.usage.output == 27
        await talk.close()
    assert abs(talk.usage.input - peer.exchanges[1].sent) <= 1


async def test_a_model_that_does_not_think_is_asked_without() -> None:
    async with GeminiPeer(["Hi.", "Ho."], refuses=["thinking_summaries"]) as peer:
        talk = await open_talk(peer)
        await talk.ask(user("Hi?"))
        await talk.ask(said("Hi."), user("Ho?"))
        await talk.close()
    asked_for = ["generation_config" in request.body for request in peer.requests]
    assert asked_for == [True, False, False]
    assert talk.text == "Ho."


async def test_an_answer_that_was_cut_short_is_sent_again_as_it_is_kept() -> None:
    async with GeminiPeer(["First.", "word " * 10_000, "Third.", "Fourth."], latency=0.001) as peer:
        talk = await open_talk(peer)
        await talk.ask(user("One?"))
        piece = await talk.cut(said("First."), user("Two?"))
        await asyncio.wait_for(peer.requests[1].closed_early.wait(), 30)
        assert talk.session.reusable
        await talk.ask(said(f"{piece}…"), user("Three?"))
        assert talk.text == "Third."
        await talk.ask(said("Third."), user("Four?"))
        await talk.close()
    bodies = [request.body for request in peer.requests]
    assert [texts(body) for body in bodies[2:]] == [
        [("user_input", "Two?"), ("model_output", f"{piece}…"), ("user_input", "Three?")],
        [("user_input", "Four?")],
    ]
    assert bodies[1]["previous_interaction_id"] == bodies[2]["previous_interaction_id"]
    assert contexts(peer)[3] == [
        "One?",
        "First.",
        "Two?",
        f"{piece}…",
        "Three?",
        "Third.",
        "Four?",
    ]


@pytest.mark.exhaustive
async def test_a_first_answer_that_was_cut_short_begins_again_with_the_history() -> None:
    async with GeminiPeer(["word " * 10_000, "Second."], latency=0.001) as peer:
        talk = await open_talk(peer, [SYSTEM, user("Before."), said("Yes.")])
        piece = await talk.cut(user("One?"))
        await talk.ask(said(piece), user("Two?"))
        await talk.close()
    second = peer.requests[1].body
    assert "previous_interaction_id" not in second
    assert [text for _kind, text in texts(second)] == ["Before.", "Yes.", "One?", piece, "Two?"]


LENGTHS = ["incomplete", "requires_continuation", "budget_exceeded"]


@pytest.mark.parametrize("status", LENGTHS)
async def test_an_answer_that_came_to_a_limit_is_not_gone_on_from(status: str) -> None:
    async with GeminiPeer(["One.", "Two."], faults=[Fault(finish=status)]) as peer:
        talk = await open_talk(peer)
        await talk.ask(user("First?"))
        await talk.ask(said(talk.text), user("Second?"))
        await talk.close()
    assert texts(peer.requests[1].body) == [
        ("user_input", "First?"),
        ("model_output", "One."),
        ("user_input", "Second?"),
    ]


async def test_missing_usage_is_estimated() -> None:
    async with GeminiPeer(["12345678"], always=Fault(no_usage=True)) as peer:
        talk = await open_talk(peer)
        await talk.ask(user("Hi."))
        await talk.close()
    assert talk.usage == Usage(peer.exchanges[0].sent, 2, estimated=True)


@pytest.mark.parametrize("fault", [Fault(one_byte=True), Fault(comments=True), Fault(no_done=True)])
async def test_bytes_may_come_in_any_pieces(fault: Fault) -> None:
    async with GeminiPeer(["Hellö 😀."], always=fault) as peer:
        talk = await open_talk(peer)
        await talk.ask(user("Hi."))
        await talk.close()
    assert talk.text == "Hellö 😀."


@pytest.mark.parametrize("how", ["forget", "count"])
async def test_an_interaction_that_is_gone_is_a_session_lost(how: str) -> None:
    async with GeminiPeer(["One.", "Two."], forgets_after=0) as peer:
        talk = await open_talk(peer)
        await talk.ask(user("First?"))
        if how == "forget":
            peer.interactions.forget()
        else:
            # Another program's answer: the store of a project is one.
            peer.interactions.forgets_after = 1
            other = await open_talk(peer)
            await other.ask(user("Mine?"))
            await other.close()
        with pytest.raises(SessionLostError, match="no longer has the conversation") as caught:
            await talk.ask(said("One."), user("Second?"))
        assert caught.value.retryable
        await talk.close()


REFUSED = [
    Fault(status=404, body="<html>Not here</html>", content_type="text/html"),
    Fault(status=404, body='{"detail": "Not Found"}'),
    Fault(body="<html>Login</html>", content_type="text/html"),
    Fault(body='{"status": "completed"}'),
    Fault(body="data: what?\n\n", content_type="text/event-stream"),
]


@pytest.mark.parametrize("fault", REFUSED)
async def test_an_endpoint_without_interactions_refuses_the_session(fault: Fault) -> None:
    async with GeminiPeer(always=fault) as peer:
        talk = await open_talk(peer)
        with pytest.raises(SessionRefusedError, match="has no Interactions") as caught:
            await talk.ask(user("Hi."))
        assert not caught.value.retryable
        assert caught.value.hint
        await talk.close()


async def test_a_failure_before_the_first_token_is_waited_for_and_asked_again() -> None:
    faults = [
        Fault(status=429, body=exhausted(13)),
        Fault(frame='{"event_type": "error", "error": {"code": "internal", "message": "boom"}}'),
        Fault(drop="before"),
        None,
        Fault(status=503, body=error_body(503, "UNAVAILABLE", "Overloaded.")),
    ]
    async with GeminiPeer(["Well."], faults=faults) as peer:
        talk = await open_talk(peer)
        await talk.ask(user("First?"))
        assert talk.text == "Well."
        assert [chunk.wait for chunk in talk.chunks if isinstance(chunk, Retrying)] == [13.0, 1.0, 2.0]
        await talk.ask(said(talk.text), user("Second?"))
        await talk.close()
    assert talk.waits == [13.0, 1.0, 2.0, 0.5]
    assert texts(peer.requests[-1].body) == [("user_input", "Second?")]


REPORTED: list[tuple[Fault, type[ProviderError]]] = [
    (Fault(status=429, body=exhausted(3600)), RateLimitError),
    (Fault(status=503, body=""), OverloadedError),
    (Fault(status=400, body=error_body(400, "INVALID_ARGUMENT", f"Odd {KEY}")), BadRequestError),
    (Fault(deltas=[]), EmptyAnswerError),
]


@pytest.mark.parametrize(("fault", "kind"), REPORTED)
async def test_what_it_cannot_do_is_reported_and_not_asked_again(
    fault: Fault, kind: type[ProviderError]
) -> None:
    async with GeminiPeer(always=fault) as peer:
        talk = await open_talk(peer)
        with pytest.raises(kind) as caught:
            await talk.ask(user("Hi."))
        assert type(caught.value) is kind
        assert not caught.value.retryable
        assert KEY not in caught.value.advice
        await talk.close()


BROKEN: list[tuple[Fault, type[ProviderError]]] = [
    (Fault(drop="within", after=4), NetworkError),
    (Fault(frame='{"error": {"code": "internal", "message": "boom"}}', after=4), OverloadedError),
    (Fault(frame="nonsense", after=4), ProviderProtocolError),
    (Fault(hang="within", after=4), ProviderTimeoutError),
    (Fault(no_finish=True, no_done=True), NetworkError),
    (Fault(finish="failed"), OverloadedError),
]


@pytest.mark.parametrize(("fault", "kind"), BROKEN)
async def test_what_breaks_off_is_kept_and_the_conversation_goes_on_after_it(
    fault: Fault, kind: type[ProviderError]
) -> None:
    async with GeminiPeer(["One.", "Hello there.", "Three."], faults=[None, fault]) as peer:
        talk = await open_talk(peer, timeouts=SHORT if fault.hang else QUICK)
        await talk.ask(user("First?"))
        with pytest.raises(ProviderError) as caught:
            await talk.ask(said("One."), user("Second?"))
        assert type(caught.value) is kind
        assert talk.text.startswith("Hell")
        part = talk.text
        await talk.ask(said(part), user("Third?"))
        assert talk.text == "Three."
        await talk.close()
    assert [text for _kind, text in texts(peer.requests[-1].body)] == ["Second?", part, "Third?"]
    assert not talk.waits


async def test_a_wrong_key_and_an_unknown_model_are_what_they_are() -> None:
    async with GeminiPeer(key="another") as peer:
        talk = await open_talk(peer)
        with pytest.raises(AuthenticationError) as caught:
            await talk.ask(user("Hi."))
        assert KEY not in caught.value.advice
        await talk.close()
    async with GeminiPeer() as peer:
        talk = await open_talk(peer, model="nope")
        with pytest.raises(ModelNotFoundError, match="nope"):
            await talk.ask(user("Hi."))
        await talk.close()


async def test_a_session_that_was_closed_takes_no_more() -> None:
    async with GeminiPeer() as peer:
        talk = await open_talk(peer)
        await talk.close()
        assert not talk.session.reusable
        with pytest.raises(SessionLostError):
            await talk.ask(user("Hi."))
    assert not peer.requests
