"""Native calls, signatures, effort and images over Gemini's `streamGenerateContent`."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from cogency_tui.config.schema import Effort
from cogency_tui.errors import BadRequestError, NetworkError, ProviderProtocolError
from cogency_tui.protocol.messages import ImagePart, Message, Part, ReasoningPart
from cogency_tui.providers.base import CallDelta, Chunk, Notice, Options, ReasoningItem, TextDelta
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.gemini import GeminiWire
from cogency_tui.providers.http_provider import HttpProvider
from cogency_tui.providers.models import ModelFacts
from tests.peers.gemini import GeminiPeer
from tests.peers.gemini_acts import Acts, Broken, Call, Said
from tests.peers.gemini_contents import Signatures, parts_of
from tests.peers.server import Fault
from tests.providers.asked import KEY, Asked
from tests.providers.gemini_native import FACTS, MODEL, TOOLS, answer_of, calls_in, results_of

PARALLEL: Acts = [
    Said("I look at both."),
    Call("read", {"path": "a.py", "lines": 3}, "fc-1", signature="c2lnMQ=="),
    Call("list", {}, "fc-2"),
    Call("read", {"path": "ü😀"}, "fc-3"),
]
DONE: Acts = [Said("All read.", signature="c2lnMg==")]
QUESTION: list[Message] = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": "Read both."},
]
PICTURE: ImagePart = {
    "type": "image",
    "digest": "d1",
    "media_type": "image/png",
    "width": 800,
    "height": 600,
    "size": 3,
}


def provider_of(peer: GeminiPeer, facts: ModelFacts = FACTS) -> HttpProvider:
    endpoint = Endpoint("gemini", peer.base_url, peer.model, "GEMINI_API_KEY", KEY)
    return HttpProvider(endpoint, GeminiWire(endpoint, facts), native=True, wait=Asked().wait)


async def ask(
    provider: HttpProvider, history: Sequence[Message], options: Options = TOOLS
) -> tuple[Message, Asked]:
    asked = Asked()
    await asked.read(provider.stream(history, options))
    return answer_of(asked.chunks), asked


def wire_of(model: str = MODEL, facts: ModelFacts = FACTS) -> GeminiWire:
    return GeminiWire(Endpoint("gemini", "https://g.example", model), facts)


def body_of(messages: Sequence[Message], options: Options = TOOLS, model: str = MODEL) -> dict[str, Any]:
    return json.loads(wire_of(model).encode(messages, [], options))


def answered(*parts: Part) -> Message:
    text = "".join(part["text"] for part in parts if part["type"] == "text")
    return {"role": "assistant", "content": text, "parts": list(parts)}


@pytest.mark.parametrize("at_once", [False, True])
async def test_parallel_calls_are_answered_and_signatures_come_back_on_their_parts(at_once: bool) -> None:
    async with GeminiPeer(acts=[PARALLEL, DONE, None], model=MODEL, at_once=at_once) as peer:
        provider = provider_of(peer)
        first, _ = await ask(provider, QUESTION)
        history = [*QUESTION, first, results_of(first, failed="list")]
        second, _ = await ask(provider, history)
        await ask(provider, [*history, second, {"role": "user", "content": "Thanks."}])
        await provider.close()
    assert [
        (call["id"], call["name"], json.loads(call["arguments"] or "{}")) for call in calls_in(first)
    ] == [
        ("fc-1", "read", {"path": "a.py", "lines": 3}),
        ("fc-2", "list", {}),
        ("fc-3", "read", {"path": "ü😀"}),
    ]
    # The peer refuses a signature on another part than its own.
    assert [content["role"] for content in peer.requests[2].body["contents"]] == [
        "user",
        "model",
        "user",
        "model",
        "user",
    ]
    assert peer.requests[1].body["contents"][2]["parts"][:2] == [
        {"functionResponse": {"id": "fc-1", "name": "read", "response": {"output": "result of read"}}},
        {"functionResponse": {"id": "fc-2", "name": "list", "response": {"error": "result of list"}}},
    ]
    signed = [part for content in peer.requests[2].body["contents"] for part in content["parts"]]
    assert [part["thoughtSignature"] for part in signed if "thoughtSignature" in part] == [
        "c2lnMQ==",
        "c2lnMg==",
    ]


async def test_an_answer_of_a_call_alone_is_not_empty_and_names_its_model() -> None:
    async with GeminiPeer(acts=[[Call("list")]], model=MODEL) as peer:
        provider = provider_of(peer)
        _, asked = await ask(provider, QUESTION)
        await provider.close()
    assert asked.chunks[0] == CallDelta(0, "", "list", "", complete=True)
    assert asked.usage.model == MODEL


@pytest.mark.parametrize("late", [False, True])
async def test_signatures_of_text_come_back_without_tools(late: bool) -> None:
    acts: list[Acts | None] = [[Said("Hello there.", "c2ln", late=late)], None]
    async with GeminiPeer(acts=acts, model=MODEL) as peer:
        provider = provider_of(peer)
        first, asked = await ask(provider, QUESTION, Options())
        await ask(provider, [*QUESTION, first, {"role": "user", "content": "And?"}], Options())
        await provider.close()
    assert asked.text == "Hello there."
    last = peer.requests[1].body["contents"][1]["parts"]
    assert last == (
        [{"text": "Hello there."}, {"text": "", "thoughtSignature": "c2ln"}]
        if late
        else [{"text": "Hello th"}, {"text": "ere.", "thoughtSignature": "c2ln"}]
    )


async def test_calls_of_another_model_are_marked_as_unchecked() -> None:
    foreign = answered(
        {"type": "call", "id": "00000000000000aa", "name": "read", "arguments": '{"path": "a"}'},
        {"type": "call", "id": "00000000000000ab", "name": "list", "arguments": ""},
    )
    async with GeminiPeer(model=MODEL) as peer:
        provider = provider_of(peer)
        answer, _ = await ask(provider, [*QUESTION, foreign, results_of(foreign)])
        await provider.close()
    assert answer["content"] == "Hello."
    parts = peer.requests[0].body["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == ["skip_thought_signature_validator", None]
    old = body_of([*QUESTION, foreign, results_of(foreign)], model="gemini-2.5-pro")
    assert "thoughtSignature" not in json.dumps(old)


async def test_signatures_that_another_key_gave_are_left_out_once_they_are_refused() -> None:
    stale = answered(
        {"type": "reasoning", "item": {"thoughtSignature": "c3RhbGU=", "of": "call"}},
        {"type": "call", "id": "fc-1", "name": "list", "arguments": "{}"},
    )
    async with GeminiPeer(model=MODEL) as peer:
        provider = provider_of(peer)
        answer, _ = await ask(provider, [*QUESTION, stale, results_of(stale)])
        await provider.close()
    assert answer["content"] == "Hello."
    assert ["c3RhbGU=" in request.raw.decode() for request in peer.requests] == [True, False]


async def test_a_call_without_its_result_is_refused() -> None:
    lonely = answered({"type": "call", "id": "fc-1", "name": "list", "arguments": "{}"})
    async with GeminiPeer(model=MODEL) as peer:
        provider = provider_of(peer)
        with pytest.raises(BadRequestError, match="number of function response parts"):
            await ask(provider, [*QUESTION, lonely, {"role": "user", "content": "And?"}])
        await provider.close()


@pytest.mark.parametrize("fault", [Fault(one_byte=True), Fault(comments=True)])
async def test_calls_are_the_same_in_any_bytes(fault: Fault) -> None:
    async with GeminiPeer(acts=[PARALLEL, PARALLEL], faults=[None, fault], model=MODEL) as peer:
        provider = provider_of(peer)
        whole, _ = await ask(provider, QUESTION)
        pieces, _ = await ask(provider, QUESTION)
        await provider.close()
    assert pieces == whole


@given(st.lists(st.booleans(), min_size=6, max_size=6))
def test_calls_are_the_same_in_any_chunks(breaks: list[bool]) -> None:
    parts = parts_of([*PARALLEL, Said("", "c2lnMw==")], 100, Signatures(required=False))
    chunks: list[list[dict[str, Any]]] = [[]]
    for part, new in zip(parts, breaks, strict=False):
        if new:
            chunks.append([])
        chunks[-1].append(part)
    reader = wire_of().reader()
    read: list[Chunk] = []
    for each in chunks:
        frame = reader.read("message", json.dumps({"candidates": [{"content": {"parts": each}}]}))
        read += [TextDelta(frame.text)] if frame.text else []
        read += frame.native
    assert answer_of(read) == answer_of(read_whole(parts))


def read_whole(parts: list[dict[str, Any]]) -> list[Chunk]:
    frame = wire_of().reader().read("message", json.dumps({"candidates": [{"content": {"parts": parts}}]}))
    return [TextDelta(frame.text), *frame.native]


# Calls that the endpoint could not read.

TRIED = "Malformed function call: print(default_api.read(path=3)"


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (TRIED, "read"),
        ("Malformed function call: call:default_api:read{path:<ctrl46>", "read"),
        ("Unexpected tool call: call:find_all{}", "find_all"),
        # The engine reports to the model that it has no name.
        ("Malformed function call: Function call is empty - no input to parse.", ""),
    ],
)
async def test_a_call_that_could_not_be_read_goes_back_to_the_model(message: str, name: str) -> None:
    acts: list[Acts | None] = [[Said("Well."), Broken("MALFORMED_FUNCTION_CALL", message)], None]
    async with GeminiPeer(acts=acts, model=MODEL) as peer:
        provider = provider_of(peer)
        answer, _ = await ask(provider, QUESTION)
        [call] = calls_in(answer)
        assert (call["name"], call["arguments"]) == (name, message)
        call["name"] = name or "call"
        await ask(provider, [*QUESTION, answer, results_of(answer)])
        await provider.close()
    sent = peer.requests[1].body["contents"][1]["parts"][1]["functionCall"]
    assert sent["args"] == {"malformed": message}


@pytest.mark.parametrize(
    ("options", "reason"),
    [(Options(), "MALFORMED_FUNCTION_CALL"), (TOOLS, "MALFORMED_RESPONSE"), (TOOLS, "TOO_MANY_TOOL_CALLS")],
)
async def test_without_tools_or_a_call_such_an_end_is_an_error(options: Options, reason: str) -> None:
    async with GeminiPeer(acts=[[Said("Well."), Broken(reason, TRIED)]], model=MODEL) as peer:
        provider = provider_of(peer)
        with pytest.raises(ProviderProtocolError, match=f"{reason}: Malformed function call"):
            await ask(provider, QUESTION, options)
        await provider.close()


def test_a_reader_knows_the_tools_of_its_own_request() -> None:
    wire = wire_of()
    act, answer = wire.reader(TOOLS), wire.reader()
    broken = {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": TRIED}
    chunk = json.dumps({"candidates": [broken]})
    [call] = act.read("message", chunk).native
    assert isinstance(call, CallDelta)
    assert (call.name, call.arguments) == ("read", TRIED)
    with pytest.raises(ProviderProtocolError, match="MALFORMED_FUNCTION_CALL"):
        answer.read("message", chunk)


# What a request asks for.


def test_tools_are_declared_with_their_json_schemas() -> None:
    body = body_of(QUESTION)
    assert list(body) == ["generationConfig", "systemInstruction", "tools", "contents"]
    [tool] = body["tools"]
    assert [each["name"] for each in tool["functionDeclarations"]] == ["read", "list"]
    assert tool["functionDeclarations"][0]["parametersJsonSchema"] == TOOLS.tools[0]["parameters"]


@pytest.mark.parametrize(
    ("model", "facts", "effort", "config"),
    [
        (MODEL, FACTS, "medium", {"thinkingLevel": "medium", "includeThoughts": True}),
        (MODEL, FACTS, "max", {"thinkingLevel": "high", "includeThoughts": True}),
        (MODEL, FACTS, "none", {"thinkingLevel": "low", "includeThoughts": True}),
        (MODEL, FACTS, None, {"includeThoughts": True}),
        ("unknown", ModelFacts(), "none", {"thinkingLevel": "minimal"}),
        ("unknown", ModelFacts(), "max", {"thinkingLevel": "high"}),
        ("gemini-2.5-flash", ModelFacts(reasoning=True), "none", {"thinkingBudget": 0}),
        (
            "gemini-2.5-pro",
            ModelFacts(reasoning=True),
            "none",
            {"thinkingBudget": 128, "includeThoughts": True},
        ),
    ],
)
def test_effort_is_the_vendors_level_or_budget(
    model: str, facts: ModelFacts, effort: Effort | None, config: dict[str, Any]
) -> None:
    body = json.loads(wire_of(model, facts).encode(QUESTION, [], Options(effort=effort)))
    assert body["generationConfig"]["thinkingConfig"] == config


async def test_a_model_without_levels_or_tiers_is_asked_without() -> None:
    async with GeminiPeer(model=MODEL, refuses=["thinkingLevel", "serviceTier"]) as peer:
        provider = provider_of(peer)
        _, asked = await ask(provider, QUESTION, Options(effort="high", tier="flex"))
        await provider.close()
    assert [chunk.text for chunk in asked.chunks if isinstance(chunk, Notice)] == [
        f"{MODEL} does not accept the reasoning effort high. Its own default applies instead.",
        f"{MODEL} does not accept the service tier flex. Its own default applies instead.",
    ]
    last = peer.requests[-1].body
    assert "serviceTier" not in last
    assert last["generationConfig"] == {"thinkingConfig": {"includeThoughts": True}}


async def test_a_model_that_does_not_think_has_no_effort() -> None:
    async with GeminiPeer(model=MODEL, refuses=["thinkingConfig"]) as peer:
        provider = provider_of(peer)
        _, first = await ask(provider, QUESTION, Options(effort="high"))
        answer, second = await ask(provider, QUESTION, Options(effort="high"))
        await provider.close()
    assert answer["content"] == "Hello."
    notices = [[chunk for chunk in asked.chunks if isinstance(chunk, Notice)] for asked in (first, second)]
    assert [len(each) for each in notices] == [1, 0]
    assert ["generationConfig" in request.body for request in peer.requests] == [True, False, False]


async def test_images_follow_the_results_in_base64() -> None:
    first = answered({"type": "call", "id": "fc-1", "name": "list", "arguments": ""})
    seen = results_of(first, PICTURE, {"type": "text", "text": "See."})
    options = Options(tools=TOOLS.tools, read_image={"d1": b"png"}.__getitem__)
    async with GeminiPeer(model=MODEL) as peer:
        provider = provider_of(peer)
        await ask(provider, [*QUESTION, first, seen], options)
        await provider.close()
    # The peer refuses them in the turn of the results.
    assert peer.requests[0].body["contents"][3] == {
        "role": "user",
        "parts": [{"inlineData": {"mimeType": "image/png", "data": "cG5n"}}, {"text": "See."}],
    }
    plain = body_of([*QUESTION, first, seen], Options(tools=TOOLS.tools))
    assert plain["contents"][3]["parts"][0] == {"text": "[image image/png 800×600]"}


async def test_what_the_user_says_after_results_is_a_turn_of_its_own() -> None:
    first = answered({"type": "call", "id": "fc-1", "name": "list", "arguments": ""})
    history = [*QUESTION, first, results_of(first), QUESTION[1], QUESTION[1]]
    async with GeminiPeer(model=MODEL) as peer:
        provider = provider_of(peer)
        await ask(provider, history)
        await provider.close()
    contents = peer.requests[0].body["contents"]
    assert [(turn["role"], len(turn["parts"])) for turn in contents[1:]] == [
        ("model", 1),
        ("user", 1),
        ("user", 2),
    ]


async def test_an_answer_at_the_end_is_not_to_be_continued() -> None:
    async with GeminiPeer(model=MODEL) as peer:
        provider = provider_of(peer)
        answer, _ = await ask(provider, [*QUESTION, answered({"type": "text", "text": "Hm."})])
        await provider.close()
    assert answer["content"] == "Hello."
    assert len(peer.requests[0].body["contents"]) == 1


async def test_a_server_without_ids_of_calls_is_asked_without() -> None:
    async with GeminiPeer(acts=[PARALLEL], model=MODEL, refuses=["id"]) as peer:
        provider = provider_of(peer)
        first, _ = await ask(provider, QUESTION)
        answer, _ = await ask(provider, [*QUESTION, first, results_of(first)])
        await provider.close()
    assert answer["content"] == "Hello."
    assert ['"id"' in request.raw.decode() for request in peer.requests] == [False, True, False]


def test_a_history_of_calls_is_text_where_there_are_no_tools() -> None:
    first = answered(
        {"type": "text", "text": "Hm."},
        {"type": "reasoning", "item": {"thoughtSignature": "c2ln", "of": "call"}},
        {"type": "call", "id": "fc-1", "name": "read", "arguments": '{"path": "a"}'},
    )
    body = body_of([*QUESTION, first, results_of(first)], Options())
    assert "tools" not in body
    assert body["contents"][1:] == [
        {"role": "model", "parts": [{"text": "Hm."}, {"text": '[call of read: {"path": "a"}]'}]},
        {"role": "user", "parts": [{"text": "[result of read]\nresult of read"}]},
    ]


def test_a_longer_native_history_begins_with_the_bytes_of_the_shorter_one() -> None:
    chunks = [
        TextDelta("Hm."),
        ReasoningItem({"thoughtSignature": "c2ln", "of": "call"}),
        CallDelta(0, "fc-1", "list", "{}", complete=True),
    ]
    first = answer_of(chunks)
    history = [*QUESTION, first, results_of(first)]
    shorter = wire_of().encode(history, [], TOOLS)
    longer = wire_of().encode([*history, first, results_of(first)], [], TOOLS)
    assert longer.startswith(shorter.removesuffix(b"]}"))


def test_signatures_of_sessions_are_put_on_the_part_after_them() -> None:
    def thought(signature: str) -> ReasoningPart:
        return {"type": "reasoning", "item": {"type": "thought", "signature": signature, "summary": []}}

    first = answered(
        thought("b25l"),
        {"type": "text", "text": "Hm."},
        thought("dHdv"),
        {"type": "call", "id": "ab12", "name": "list", "arguments": ""},
    )
    parts = body_of([*QUESTION, first, results_of(first)])["contents"][1]["parts"]
    assert [part["thoughtSignature"] for part in parts] == ["b25l", "dHdv"]


async def test_calls_before_a_drop_are_received() -> None:
    async with GeminiPeer(acts=[PARALLEL], always=Fault(drop="within", after=5), model=MODEL) as peer:
        provider, asked = provider_of(peer), Asked()
        with pytest.raises(NetworkError):
            await asked.read(provider.stream(QUESTION, TOOLS))
        await provider.close()
    assert [call["id"] for call in calls_in(answer_of(asked.chunks))] == ["fc-1"]
    assert len(peer.requests) == 1


def test_a_signature_whose_call_is_missing_is_left_out() -> None:
    cut = answered(
        {"type": "text", "text": "Hm."},
        {"type": "reasoning", "item": {"thoughtSignature": "c2ln", "of": "call"}},
    )
    assert body_of([*QUESTION, cut, QUESTION[1]])["contents"][1]["parts"] == [{"text": "Hm."}]


def test_a_request_is_what_the_vendors_types_name() -> None:
    first = answer_of(
        [
            ReasoningItem({"thoughtSignature": "c2ln", "of": "call"}),
            CallDelta(0, "fc-1", "list", "{}", complete=True),
            ReasoningItem({"thoughtSignature": "c2ln", "of": "thought", "text": "Why?"}),
        ]
    )
    options = Options(tools=TOOLS.tools, effort="high", read_image={"d1": b"png"}.__getitem__)
    body = body_of([*QUESTION, first, results_of(first, PICTURE)], options)
    contents = TypeAdapter(list[types.Content]).validate_python(body["contents"])
    assert contents[1].parts
    assert contents[1].parts[0].thought_signature == b"sig"
    assert contents[1].parts[1].thought
    tools = TypeAdapter(list[types.Tool]).validate_python(body["tools"])
    assert tools[0].function_declarations
    config = types.GenerationConfig.model_validate(body["generationConfig"])
    assert config.thinking_config
    assert config.thinking_config.thinking_level is types.ThinkingLevel.HIGH
