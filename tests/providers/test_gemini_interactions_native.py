"""Native calls, signatures and continuations over Gemini's Interactions."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from google.genai._gaos.types import interactions
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from cogency_tui.errors import BadRequestError, NetworkError, ProviderProtocolError
from cogency_tui.protocol.messages import ImagePart, Message
from cogency_tui.providers.base import CallDelta, Notice, Options, ReasoningItem, Retrying
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.gemini_interactions import InteractionsWire, interaction_sessions
from cogency_tui.providers.gemini_interactions_reader import InteractionsReader
from tests.peers.gemini import GeminiPeer
from tests.peers.gemini_acts import Act, Acts, Call, Pause, Said
from tests.peers.server import Fault
from tests.providers.gemini_native import FACTS, MODEL, TOOLS, answer_of, calls_in, results_of
from tests.providers.gemini_talk import QUICK, SYSTEM, Talk, contexts, endpoint_of, user

PARALLEL: Acts = [
    Said("Both."),
    Call("read", {"path": "a.py", "lines": 3}, "ab12", signature="c2lnMQ=="),
    Call("list", {}, "cd34"),
    Call("read", {"path": "ü😀"}, "ef56"),
]
PICTURE: ImagePart = {
    "type": "image",
    "digest": "d1",
    "media_type": "image/png",
    "width": 800,
    "height": 600,
    "size": 3,
}


async def open_talk(peer: GeminiPeer, seed: Sequence[Message] = (SYSTEM,), options: Options = TOOLS) -> Talk:
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    endpoint = endpoint_of(peer, peer.model)
    opener = interaction_sessions(endpoint, QUICK, facts=FACTS, wait=wait, jitter=lambda: 0.0)
    return Talk(await opener(seed, options), waits)


def kinds(body: dict[str, Any]) -> list[str]:
    return [step["type"] for step in body["input"]]


async def test_the_results_of_parallel_calls_alone_are_sent() -> None:
    async with GeminiPeer(acts=[PARALLEL, [Said("Done.")]], model=MODEL) as peer:
        talk = await open_talk(peer)
        await talk.ask(user("Read both."))
        first = answer_of(talk.chunks)
        await talk.ask(first, results_of(first, {"type": "text", "text": "Go on."}, failed="list"))
        await talk.close()
    assert [(call["id"], call["name"], json.loads(call["arguments"])) for call in calls_in(first)] == [
        ("ab12", "read", {"path": "a.py", "lines": 3}),
        ("cd34", "list", {}),
        ("ef56", "read", {"path": "ü😀"}),
    ]
    assert talk.text == "Done."
    body = peer.requests[1].body
    assert body["previous_interaction_id"] == "v1_00000001"
    assert kinds(body) == ["function_result"] * 3 + ["user_input"]
    assert body["input"][1] == {
        "type": "function_result",
        "call_id": "cd34",
        "name": "list",
        "result": "result of list",
        "is_error": True,
    }
    # They hold for one interaction alone.
    assert [tool["name"] for tool in body["tools"]] == ["read", "list"]


async def test_calls_stream_in_pieces_and_end_with_their_step() -> None:
    async with GeminiPeer(acts=[PARALLEL], model=MODEL) as peer:
        talk = await open_talk(peer)
        await talk.ask(user("Read both."))
        await talk.close()
    pieces = [chunk for chunk in talk.chunks if isinstance(chunk, CallDelta) and chunk.index == 0]
    assert pieces[0] == CallDelta(0, "ab12", "read")
    assert len(pieces) > 5
    assert [piece.complete for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert talk.usage.model == MODEL


@pytest.mark.parametrize("own", [False, True])
async def test_a_session_is_seeded_with_calls_and_their_signatures(own: bool) -> None:
    acts: Acts = [Said("One."), Call("list", {}, "ab12", signature="c2lnMQ==", own=own)]
    async with GeminiPeer(acts=[acts, None], model=MODEL) as peer:
        talk = await open_talk(peer)
        await talk.ask(user("List it."))
        first = answer_of(talk.chunks)
        await talk.close()
        talk = await open_talk(peer, [SYSTEM, user("List it."), first])
        await talk.ask(results_of(first))
        await talk.close()
    assert talk.text == "Hello."
    assert "previous_interaction_id" not in peer.requests[1].body
    thought = [] if own else ["thought"]
    assert kinds(peer.requests[1].body) == [
        "user_input",
        "model_output",
        *thought,
        "function_call",
        "function_result",
    ]


async def test_signatures_of_replay_mode_and_calls_of_other_models_are_sent_as_thoughts() -> None:
    mine = answer_of(
        [ReasoningItem({"thoughtSignature": "c2ln", "of": "call"}), CallDelta(0, "ab12", "list", "{}")]
    )
    foreign = answer_of([CallDelta(0, "0" * 16, "list", "{}"), CallDelta(1, "1" * 16, "list", "{}")])
    seed = [SYSTEM, user("1"), mine, results_of(mine), foreign, results_of(foreign)]
    async with GeminiPeer(model=MODEL) as peer:
        peer.signatures.give("c2ln", {})
        talk = await open_talk(peer, seed)
        await talk.ask(user("And?"))
        await talk.close()
    thoughts = [step for step in peer.requests[0].body["input"] if step["type"] == "thought"]
    assert [step["signature"] for step in thoughts] == ["c2ln", "skip_thought_signature_validator"]


@pytest.mark.parametrize("own", [False, True])
async def test_calls_whose_signatures_are_refused_are_sent_as_text(own: bool) -> None:
    signature = [ReasoningItem({"type": "thought", "signature": "b2xk"})] if own else []
    stale = answer_of([*signature, CallDelta(0, "ab12", "list", "{}")])
    async with GeminiPeer(acts=[[Call("list", {}, "cd34", "c2ln")], None], model=MODEL) as peer:
        peer.signatures.unchecked = False
        talk = await open_talk(peer, [SYSTEM, user("1"), stale, results_of(stale)])
        await talk.ask(user("And?"))
        first = answer_of(talk.chunks)
        await talk.ask(first, results_of(first))
        await talk.close()
    assert talk.text == "Hello."
    assert [kinds(request.body) for request in peer.requests] == [
        ["user_input", "thought", "function_call", "function_result", "user_input"],
        ["user_input", "model_output", "user_input", "user_input"],
        ["function_result"],
    ]


async def test_a_call_that_was_cut_short_is_sent_again_as_it_is_stored() -> None:
    acts: list[Acts | None] = [[Call("list", {}, "ab12"), Said("x" * 4000)], [Said("Well.")]]
    async with GeminiPeer(acts=acts, faults=[Fault(drop="within", after=12)], model=MODEL) as peer:
        talk = await open_talk(peer)
        with pytest.raises(NetworkError):
            await talk.ask(user("List it."))
        part = answer_of(talk.chunks)
        assert calls_in(part)
        await talk.ask(part, results_of(part))
        await talk.close()
    assert talk.text == "Well."
    assert kinds(peer.requests[1].body)[-1] == "function_result"
    assert [request.body["input"][0]["type"] for request in peer.requests] == ["user_input"] * 2


async def test_arguments_that_were_cut_short_are_sent_as_an_object() -> None:
    acts: list[Acts | None] = [[Call("read", {"path": "a.py"}, "ab12")], [Said("Well.")]]
    async with GeminiPeer(acts=acts, faults=[Fault(drop="within", after=4)], model=MODEL) as peer:
        talk = await open_talk(peer)
        with pytest.raises(NetworkError):
            await talk.ask(user("Read it."))
        part = answer_of(talk.chunks)
        await talk.ask(part, results_of(part))
        await talk.close()
    assert [call["arguments"] for call in calls_in(part)] == ['{"p']
    [call] = [step for step in peer.requests[1].body["input"] if step["type"] == "function_call"]
    assert call["arguments"] == {"malformed": '{"p'}


async def test_a_call_without_its_result_is_refused() -> None:
    async with GeminiPeer(acts=[PARALLEL], model=MODEL) as peer:
        talk = await open_talk(peer)
        await talk.ask(user("Read both."))
        with pytest.raises(BadRequestError, match="function_result is missing"):
            await talk.ask(answer_of(talk.chunks), user("And?"))
        await talk.close()


@pytest.mark.parametrize("fault", [Fault(one_byte=True), Fault(comments=True), Fault(no_done=True)])
async def test_calls_are_the_same_in_any_bytes(fault: Fault) -> None:
    async with GeminiPeer(acts=[PARALLEL] * 2, faults=[None, fault], model=MODEL) as peer:
        answers: list[Message] = []
        for _time in range(2):
            talk = await open_talk(peer)
            await talk.ask(user("Read both."))
            answers.append(answer_of(talk.chunks))
            await talk.close()
    assert answers[0] == answers[1]


def read_calls(*events: dict[str, Any]) -> list[Any]:
    reader = InteractionsReader(Endpoint("gemini", "https://g.example", MODEL))
    return [part for event in events for part in reader.read("", json.dumps(event)).native]


def test_arguments_belong_to_the_call_that_is_open_whatever_their_index() -> None:
    call: dict[str, Any] = {"type": "function_call", "id": "ab", "name": "list", "arguments": {}}
    assert read_calls(
        {"event_type": "step.start", "index": 1, "step": call},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "arguments_delta", "arguments": "{}"}},
        {"event_type": "interaction.completed", "interaction": {"id": "x", "status": "requires_action"}},
    ) == [CallDelta(0, "ab", "list"), CallDelta(0, arguments="{}"), CallDelta(0, complete=True)]


def test_arguments_may_come_whole_with_the_start_of_a_call() -> None:
    call = {"type": "function_call", "id": "ab", "name": "read", "arguments": {"path": "ü"}}
    assert read_calls(
        {"event_type": "step.start", "step": call},
        {"event_type": "step.delta", "delta": {"type": "arguments_delta", "arguments": '{"path": "ü"}'}},
        {"event_type": "step.stop"},
    ) == [CallDelta(0, "ab", "read", '{"path": "ü"}'), CallDelta(0, complete=True)]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=9), st.booleans())
def test_arguments_may_come_in_any_pieces(lengths: list[int], stopped: bool) -> None:
    text = json.dumps({"path": "ü😀", "lines": [1, 2]}, ensure_ascii=False)
    call: dict[str, Any] = {"type": "function_call", "id": "ab", "name": "default_api:read"}
    events: list[dict[str, Any]] = [{"event_type": "step.start", "step": call}]
    for length in [*lengths, len(text)]:
        piece, text = text[:length], text[length:]
        delta = {"type": "arguments_delta", "arguments": piece}
        events.append({"event_type": "step.delta", "delta": delta})
    events += [{"event_type": "step.stop"}] if stopped else [{"event_type": "step.start", "step": call}]
    [first, *_] = calls_in(answer_of(read_calls(*events)))
    assert first["name"] == "read"
    assert json.loads(first["arguments"]) == {"path": "ü😀", "lines": [1, 2]}


# Answers that the endpoint asks to continue.


async def test_an_answer_goes_on_within_itself_where_the_endpoint_asks_for_it() -> None:
    acts: Acts = [Said("One, "), Pause(), Said("two, "), Call("list", {}, "ab12"), Pause(), Said("three.")]
    async with GeminiPeer(acts=[acts, None], model="test-model") as peer:
        talk = await open_talk(peer)
        await talk.ask(user("Count."))
        answer = answer_of(talk.chunks)
        usage = talk.usage
        await talk.ask(answer, results_of(answer))
        await talk.close()
    assert answer["content"] == "One, two, three."
    bodies = [request.body for request in peer.requests]
    assert [body.get("continuation_token") for body in bodies] == [
        None,
        "t-v1_00000001",
        "t-v1_00000002",
        None,
    ]
    assert ["input" in body for body in bodies] == [True, False, False, True]
    assert {body["system_instruction"] for body in bodies} == {SYSTEM["content"]}
    assert all("tools" in body for body in bodies)
    assert kinds(bodies[3]) == ["function_result"]
    assert contexts(peer)[3][:2] == ["Count.", "One, two, list({})three."]
    assert usage.billed_input == sum(exchange.input for exchange in peer.exchanges[:3])
    assert usage.output == sum(exchange.output for exchange in peer.exchanges[:3])


async def test_calls_of_all_pieces_are_counted_on() -> None:
    acts: Acts = [Call("list", {}, "ab12"), Pause(), Call("list", {}, "cd34")]
    async with GeminiPeer(acts=[acts]) as peer:
        talk = await open_talk(peer)
        await talk.ask(user("List it twice."))
        await talk.close()
    assert [(call["id"], call["name"]) for call in calls_in(answer_of(talk.chunks))] == [
        ("ab12", "list"),
        ("cd34", "list"),
    ]


async def test_a_piece_that_fails_before_its_first_word_is_asked_for_again() -> None:
    faults = [None, Fault(status=503, body="{}"), None]
    async with GeminiPeer(acts=[[Said("One, "), Pause(), Said("two.")]], faults=faults) as peer:
        talk = await open_talk(peer)
        await talk.ask(user("Count."))
        await talk.close()
    assert talk.text == "One, two."
    assert [type(chunk) for chunk in talk.chunks].count(Retrying) == 1
    tokens = [request.body.get("continuation_token") for request in peer.requests]
    assert tokens == [None, "t-v1_00000001", "t-v1_00000001"]


async def test_an_answer_that_breaks_off_in_a_later_piece_is_sent_again_as_it_is_stored() -> None:
    acts: list[Acts | None] = [[Said("One, "), Pause(), Said("two." * 99)], [Said("Well.")]]
    async with GeminiPeer(acts=acts, faults=[None, Fault(drop="within", after=9)]) as peer:
        talk = await open_talk(peer)
        with pytest.raises(NetworkError):
            await talk.ask(user("Count."))
        part = answer_of(talk.chunks)
        assert part["content"].startswith("One, two.")
        await talk.ask(part, user("Go on."))
        await talk.close()
    body = peer.requests[2].body
    assert "continuation_token" not in body
    assert kinds(body) == ["user_input", "model_output", "user_input"]


async def test_the_pieces_of_an_answer_are_bounded() -> None:
    endless: list[Act] = [Said("word "), Pause()] * 40
    async with GeminiPeer(acts=[endless, [Said("Well.")]]) as peer:
        talk = await open_talk(peer)
        await talk.ask(user("Count."))
        assert talk.text == "word " * 16
        await talk.ask(answer_of(talk.chunks), user("Go on."))
        await talk.close()
    assert len(peer.requests) == 17


async def test_reasoning_alone_may_fill_a_piece_but_nothing_may_not() -> None:
    thinking = Fault(reasoning="Let me think")
    acts: list[Acts | None] = [[Pause(), Said("Done."), Pause()], [Pause(), Said("Done.")]]
    async with GeminiPeer(acts=acts, faults=[thinking]) as peer:
        talk = await open_talk(peer)
        await talk.ask(user("1"))
        assert talk.text == "Done."
        await talk.close()
        talk = await open_talk(peer)
        with pytest.raises(ProviderProtocolError, match="empty response"):
            await talk.ask(user("2"))
        await talk.close()


# What a request asks for.


async def test_effort_and_tier_are_the_vendors_and_left_out_where_they_are_refused() -> None:
    options = Options(effort="max", tier="flex")
    async with GeminiPeer(model=MODEL, refuses=["thinking_level"]) as peer:
        talk = await open_talk(peer, options=options)
        await talk.ask(user("Hi."))
        await talk.close()
    [notice] = [chunk for chunk in talk.chunks if isinstance(chunk, Notice)]
    assert "does not accept the reasoning effort max" in notice.text
    configs = [request.body["generation_config"] for request in peer.requests]
    assert configs == [
        {"thinking_level": "high", "thinking_summaries": "auto"},
        {"thinking_summaries": "auto"},
    ]
    assert peer.requests[0].body["service_tier"] == "flex"


async def test_images_follow_the_results_in_base64() -> None:
    options = Options(tools=TOOLS.tools, read_image={"d1": b"png"}.__getitem__)
    async with GeminiPeer(acts=[[Call("list", {}, "ab12")]], model=MODEL) as peer:
        talk = await open_talk(peer, options=options)
        await talk.ask(user("List it."))
        first = answer_of(talk.chunks)
        await talk.ask(first, results_of(first, PICTURE))
        await talk.close()
    assert peer.requests[1].body["input"][1] == {
        "type": "user_input",
        "content": [{"type": "image", "data": "cG5n", "mime_type": "image/png"}],
    }


def test_a_history_of_calls_is_text_where_there_are_no_tools() -> None:
    first = answer_of([CallDelta(0, "ab12", "list", "{}")])
    wire = InteractionsWire(Endpoint("gemini", "https://g.example", MODEL), FACTS)
    body = json.loads(wire.encode([user("1"), first, results_of(first)], [], Options()))
    assert [(step["type"], step["content"][0]["text"]) for step in body["input"]] == [
        ("user_input", "1"),
        ("model_output", "[call of list: {}]"),
        ("user_input", "[result of list]\nresult of list"),
    ]


def test_a_request_is_what_the_vendors_types_name() -> None:
    first = answer_of(
        [
            ReasoningItem(
                {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "Why?"}]}
            ),
            CallDelta(0, "ab12", "list", "{}"),
        ]
    )
    options = Options(tools=TOOLS.tools, effort="high", tier="flex", read_image={"d1": b"png"}.__getitem__)
    wire = InteractionsWire(Endpoint("gemini", "https://g.example", MODEL), FACTS)
    body = json.loads(wire.encode([SYSTEM, user("1"), first, results_of(first, PICTURE)], [], options))
    parsed = TypeAdapter(interactions.CreateModelInteraction).validate_python(body)
    assert isinstance(parsed.input, list)
    assert [type(step).__name__ for step in parsed.input] == [
        "UserInputStep",
        "ThoughtStep",
        "FunctionCallStep",
        "FunctionResultStep",
        "UserInputStep",
    ]
    assert parsed.tools
    assert [type(tool).__name__ for tool in parsed.tools] == ["Function", "Function"]
