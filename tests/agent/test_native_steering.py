"""A message that steers a running answer over OpenAI's socket: it takes effect there, and the store has the same."""

from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal
from unittest.mock import Mock

import pytest
from msgspec.structs import replace
from openai.types.responses import (
    ResponseSteerAcceptedEvent,
    ResponseSteerEvent,
    ResponseSteerFailedEvent,
    ResponseSteerPendingEvent,
)

from cogency_tui.agent.agent import Agent
from cogency_tui.config.layers import Configured
from cogency_tui.config.schema import BudgetSettings, DialectChoice, SpanLimits
from cogency_tui.protocol.events import Event
from cogency_tui.providers import configured_providers
from tests.agent.test_native_wires import Work, problems, turn
from tests.agent.test_steering import STEERED, check_order, stored, texts
from tests.agent.test_turns import types
from tests.peers import responses
from tests.peers.responses import ResponsesPeer
from tests.peers.responses_events import NativeAnswer
from tests.peers.responses_steering import accepted, pending, unsteered
from tests.peers.ways import KEY, WAYS

LONG = "I will explain at length. " * 4
THOUGHT = NativeAnswer(reasoning="First I weigh one thing.\n\nThen another.")
CALLING = NativeAnswer(reasoning="I should mark it.", calls=[("mark", '{"step": 1}')])
WAY = WAYS["Responses WebSocket"]


@pytest.fixture(autouse=True)
def _vendors_own(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Take the peer for the vendor: other servers are never sent the event."""
    monkeypatch.setattr(configured_providers, "is_vendors_own", Mock(return_value=True))


@asynccontextmanager
async def conversing(
    tmp_path: Path,
    answers: Sequence[str],
    faults: Sequence[NativeAnswer] = (),
    *,
    steers: Literal["", "after item", "at end"] = "after item",
    dialect: DialectChoice = "native",
    hard_tokens: int = 0,
) -> AsyncGenerator[tuple[Agent, ResponsesPeer, Work]]:
    work = Work(WAY, tmp_path)
    peer = ResponsesPeer(answers, faults=faults, model=WAY.model, key=KEY, latency=0.005, steers=steers)
    async with peer:
        agent = work.agent(WAY.connect(peer), dialect)
        budget = BudgetSettings(turn=SpanLimits(hard_tokens=hard_tokens))
        agent.configured = Configured(replace(agent.settings, budget=budget))
        async with agent:
            yield agent, peer, work


async def steer(agent: Agent, at: str, *, then: Callable[[Event], None] = lambda _event: None) -> list[Event]:
    """The events of a turn, to whose first event of the type `at` the message comes, and of the next one. `then` is
    called with each event after that."""
    waiting: list[str] = []
    events: list[Event] = []
    async for event in agent.stream("go", conversation_id="c", message_waits=lambda: bool(waiting)):
        events.append(event)
        if waiting:
            then(event)
        elif event["type"] == at:
            waiting.append(STEERED)
            agent.steer("c", STEERED)
    return [*events, *[event async for event in agent.stream(STEERED, conversation_id="c")]]


def frames(peer: ResponsesPeer, kind: str) -> list[dict[str, Any]]:
    return [frame for socket in peer.sockets for frame in socket.frames if frame["type"] == kind]


async def test_a_message_ends_the_answer_at_the_vendors_boundary_and_is_answered(tmp_path: Path) -> None:
    answers = [LONG, "As you wish.", "Fine."]
    async with conversing(tmp_path, answers, [THOUGHT]) as (agent, peer, _work):
        events = await steer(agent, "think")
        kept = await stored(agent)
        after = await turn(agent, "and now?")
    assert problems([*events, *after]) == []
    # The text was never written: the answer ended after its reasoning.
    assert types(kept) == ["user", "think", "user", "respond"]
    assert [event.get("steered") for event in kept if event["type"] == "user"] == [None, True]
    assert [frame["type"] for frame in peer.sockets[0].frames] == [
        *["response.create", "response.steer", "response.create"],
    ]
    assert peer.connections == 1
    assert len(peer.exchanges) == 3
    assert texts(peer.exchanges[1].context)[-1] == f"user: {STEERED}"
    assert sum(STEERED in text for text in texts(peer.exchanges[2].context)) == 1
    for frame in frames(peer, "response.steer"):
        ResponseSteerEvent.model_validate(frame, extra="forbid")


async def test_of_two_messages_the_first_steers_and_the_second_follows_its_answer(tmp_path: Path) -> None:
    answers = [LONG, "As you wish.", "That, too."]
    async with conversing(tmp_path, answers, [THOUGHT]) as (agent, peer, _work):
        waiting: deque[str] = deque(["go"])
        events: list[Event] = []
        while waiting:
            stream = agent.stream(waiting.popleft(), conversation_id="c", message_waits=lambda: bool(waiting))
            async for event in stream:
                events.append(event)
                if event["type"] == "think" and not waiting:
                    waiting.extend([STEERED, "And so on."])
                    agent.steer("c", STEERED)
        kept = await stored(agent)
    assert problems(events) == []
    assert types(kept) == ["user", "think", "user", "respond", "user", "respond"]
    assert peer.connections == 1
    assert [texts(each.context)[-1] for each in peer.exchanges[1:]] == [
        f"user: {STEERED}",
        "user: And so on.",
    ]


async def test_an_answer_that_has_no_boundary_left_comes_to_its_end(tmp_path: Path) -> None:
    async with conversing(tmp_path, [LONG, "As you wish."]) as (agent, peer, _work):
        events = await steer(agent, "respond")
        kept = await stored(agent)
    assert problems(events) == []
    assert types(kept) == ["user", "respond", "user", "respond"]
    assert [event.get("steered") for event in kept if event["type"] == "user"] == [None, None]
    assert len(frames(peer, "response.create")) == 1
    assert len(peer.exchanges) == 2
    assert texts(peer.exchanges[1].context)[-2:] == [f"assistant: {LONG}", f"user: {STEERED}"]


async def test_a_message_before_calls_follows_their_results_in_a_new_session(tmp_path: Path) -> None:
    calling = NativeAnswer(calls=[("mark", '{"step": 1}')])
    answers = [LONG, "As you wish."]
    async with conversing(tmp_path, answers, [calling], steers="at end") as (agent, peer, work):
        events = await steer(agent, "respond")
        kept = await stored(agent)
    assert len(frames(peer, "response.steer")) == 1
    assert work.runs == [1]
    assert types(kept) == ["user", "respond", "call", "result", "user", "respond"]
    # The vendor would have put the message before the results.
    assert problems(events) == [
        "openai has a message out of order. A new session continues the conversation."
    ]
    assert peer.connections == 2
    check_order(peer.exchanges[-1].context, "step 1 done")


async def test_a_message_after_the_first_call_waits_for_the_results(tmp_path: Path) -> None:
    async with conversing(tmp_path, ["Marking.", "As you wish."], [CALLING]) as (agent, peer, work):
        events = await steer(agent, "call")
    assert problems(events) == []
    assert (work.runs, frames(peer, "response.steer"), peer.connections) == ([1], [], 1)
    check_order(peer.exchanges[-1].context, "step 1 done")


async def test_a_model_that_takes_no_message_is_asked_once_and_answers_after_its_answer(
    tmp_path: Path,
) -> None:
    answers = [LONG, "As you wish.", LONG, "Again."]
    async with conversing(tmp_path, answers, [THOUGHT], steers="") as (agent, peer, _work):
        events = [*await steer(agent, "think"), *await steer(agent, "respond")]
    assert problems(events) == []
    assert len(frames(peer, "response.steer")) == 1
    assert len(frames(peer, "response.create")) == 4
    assert peer.connections == 1
    last = [texts(each.context)[-1] for each in peer.exchanges]
    assert [text.endswith(("go", STEERED)) for text in last] == [True] * 4
    assert [text.endswith(STEERED) for text in last] == [False, True, False, True]


async def test_a_server_that_does_not_know_the_event_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = {
        "type": "invalid_request_error",
        "code": "unknown_event_type",
        "message": "Unknown event type.",
    }
    answer = {"type": "error", "status": 400, "error": problem}
    monkeypatch.setattr(responses, "unsteered", Mock(return_value=answer))
    async with conversing(tmp_path, [LONG, "As you wish."], [THOUGHT], steers="") as (agent, peer, _work):
        events = await steer(agent, "think")
    assert problems(events) == []
    assert len(frames(peer, "response.create")) == 2
    assert texts(peer.exchanges[-1].context)[-2:] == [f"assistant: {LONG}", f"user: {STEERED}"]


async def test_no_other_server_is_sent_the_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configured_providers, "is_vendors_own", Mock(return_value=False))
    async with conversing(tmp_path, [LONG, "As you wish."], [THOUGHT]) as (agent, peer, _work):
        await steer(agent, "think")
    assert frames(peer, "response.steer") == []


async def test_another_message_than_the_one_that_steered_goes_into_a_new_session(tmp_path: Path) -> None:
    async with conversing(tmp_path, [LONG, "Unread.", "As you wish."], [THOUGHT]) as (agent, peer, _work):
        async for event in agent.stream("go", conversation_id="c", message_waits=lambda: True):
            if event["type"] == "think":
                agent.steer("c", "The first wording.")
        events = await turn(agent, STEERED)
        kept = await stored(agent)
    assert types(kept) == ["user", "think", "user", "respond"]
    assert [text for text in problems(events) if "A new session" not in text] == []
    last = texts(peer.exchanges[-1].context)
    assert last[-1] == f"user: {STEERED}"
    assert "first wording" not in str(last)


async def test_a_turn_goes_on_if_the_message_that_steered_it_is_gone(tmp_path: Path) -> None:
    async with conversing(tmp_path, [LONG, "Unread.", "Done."], [THOUGHT]) as (agent, peer, _work):
        events: list[Event] = []
        async for event in agent.stream("go", conversation_id="c", message_waits=lambda: False):
            events.append(event)
            if event["type"] == "think":
                agent.steer("c", STEERED)
    assert types(events)[-2:] == ["metric", "end"]
    assert STEERED not in str(peer.exchanges[-1].context)
    assert [event for event in events if event["type"] == "respond"]


@pytest.mark.parametrize("dialect", ["xml", "delimiter", "action"])
async def test_nothing_steers_in_a_dialect_of_text(tmp_path: Path, dialect: DialectChoice) -> None:
    async with conversing(tmp_path, [LONG, LONG], [THOUGHT], dialect=dialect) as (agent, peer, _work):
        await steer(agent, "think")
    assert frames(peer, "response.steer") == []
    assert len(frames(peer, "response.create")) == 2


async def test_a_connection_that_is_lost_after_the_message_loses_and_doubles_nothing(tmp_path: Path) -> None:
    answers = [LONG, "As you wish.", "As you wish."]
    async with conversing(tmp_path, answers, [THOUGHT]) as (agent, peer, _work):
        events = await steer(agent, "think", then=lambda event: _drop(peer, event))
        kept = await stored(agent)
    assert types(events)[-1] == "end"
    assert types(kept) == ["user", "think", "user", "respond"]
    assert sum(STEERED in text for text in texts(peer.exchanges[-1].context)) == 1


def _drop(peer: ResponsesPeer, event: Event) -> None:
    if event["type"] == "metric":
        peer.drop_connections()


async def test_nothing_is_sent_past_a_limit_of_the_budget(tmp_path: Path) -> None:
    answers = [LONG, "As you wish."]
    async with conversing(tmp_path, answers, [THOUGHT], hard_tokens=1_000_000) as (agent, peer, _work):
        await steer(agent, "think")
    assert frames(peer, "response.steer") == []
    assert len(frames(peer, "response.create")) == 2


def test_the_peer_writes_what_the_vendors_types_read() -> None:
    item = {"type": "message", "role": "user", "content": STEERED}
    frame = {"type": "response.steer", "previous_response_id": "resp_1", "input": [item]}
    ResponseSteerAcceptedEvent.model_validate(accepted("resp_1"))
    ResponseSteerFailedEvent.model_validate(unsteered(frame, "response_not_active"))
    call = {"type": "function_call", "call_id": "call_1", "name": "mark"}
    read = ResponseSteerPendingEvent.model_validate(pending("resp_1", [call]))
    assert read.required_input[0].type == "function_call_output"
