"""Native calls, thinking and images on Anthropic's wire: their encoding, and their reading in any pieces."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from cogency_tui.protocol.messages import Message, Part
from cogency_tui.providers.anthropic import AnthropicWire
from cogency_tui.providers.base import PLAIN, CallDelta, Options, ReasoningItem, Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.models import ModelFacts
from cogency_tui.providers.refused_parameters import RETURNED_REASONING
from cogency_tui.providers.wire_protocol import Frame
from tests.cases import cases
from tests.providers.anthropic_native import (
    READ,
    SHELL,
    TOOLS,
    call,
    check_types,
    image,
    result,
    says,
    text,
    thinking,
)

ENDPOINT = Endpoint("anthropic", "https://api.anthropic.com", "claude-x", "ANTHROPIC_API_KEY", "sk-secret")
WIRE = AnthropicWire(ENDPOINT)
MARK = {"type": "ephemeral"}
ASKED = says("user", text("Look."))
CALLED = says("assistant", thinking(), text("I look."), call("toolu_1"), call("toolu_2", arguments=""))
RESULTS = says("user", result("toolu_1"), result("toolu_2", "no such file", error=True), text("Hurry."))


def encoded(
    messages: list[Message], options: Options = TOOLS, *, refused: tuple[str, ...] = ()
) -> dict[str, Any]:
    body = json.loads(WIRE.encode(messages, refused, options))
    check_types(body)
    return body


def contents(messages: list[Message], options: Options = TOOLS) -> list[list[dict[str, Any]]]:
    """The blocks of each turn, without the marks."""
    turns = encoded(messages, options)["messages"]
    return [
        [
            {name: value for name, value in block.items() if name != "cache_control"}
            for block in turn["content"]
        ]
        for turn in turns
    ]


def test_calls_their_results_and_thinking_are_the_vendors_blocks_in_order() -> None:
    assert contents([ASKED, CALLED, RESULTS]) == [
        [{"type": "text", "text": "Look."}],
        [
            {"type": "thinking", "thinking": "Hm.", "signature": "Eq1"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"file": "a"}},
            {"type": "tool_use", "id": "toolu_2", "name": "read", "input": {}},
        ],
        [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "one line"},
            {
                "type": "tool_result",
                "tool_use_id": "toolu_2",
                "content": "no such file",
                "is_error": True,
            },
            {"type": "text", "text": "Hurry."},
        ],
    ]


def test_the_tools_are_sent_with_their_schemas_and_a_mark_on_the_last() -> None:
    tools = encoded([ASKED])["tools"]
    assert [(tool["name"], tool["description"], tool["input_schema"]) for tool in tools] == [
        (spec["name"], spec["description"], spec["parameters"]) for spec in (READ, SHELL)
    ]
    assert [tool.get("cache_control") for tool in tools] == [None, MARK]
    assert "tools" not in encoded([ASKED], PLAIN)


def test_the_vendor_is_asked_for_arguments_as_they_are_written_and_other_servers_are_not() -> None:
    own = json.loads(AnthropicWire(ENDPOINT, own=True).encode([ASKED], (), TOOLS))
    check_types(own)
    assert [tool["eager_input_streaming"] for tool in own["tools"]] == [True, True]
    assert not any("eager_input_streaming" in tool for tool in encoded([ASKED])["tools"])


@cases(
    ("arguments", "given"),
    [
        ("{}", {}),
        (" ", {}),
        ('{"file": "ü\\n"}', {"file": "ü\n"}),
        ('{"file": "a', {"malformed": '{"file": "a'}),
        ('["a"]', {"malformed": '["a"]'}),
        ('{"size": NaN}', {"malformed": '{"size": NaN}'}),
        ('{"file": "\\ud83d"}', {"malformed": '{"file": "\\ud83d"}'}),
        ('{"file": "\ud83d"}', {"file": "\ufffd"}),
        ("[" * 100_000, {"malformed": "[" * 100_000}),
    ],
)
def test_arguments_that_are_no_object_are_put_into_one(arguments: str, given: dict[str, Any]) -> None:
    answer = says("assistant", call("toolu_1", arguments=arguments))
    assert contents([ASKED, answer, says("user", result("toolu_1"))])[1][0]["input"] == given


def test_without_tools_calls_and_results_are_text() -> None:
    assert contents([ASKED, CALLED, RESULTS], PLAIN)[1:] == [
        [
            {"type": "thinking", "thinking": "Hm.", "signature": "Eq1"},
            {"type": "text", "text": "I look."},
            {"type": "text", "text": '[call of read: {"file": "a"}]'},
            {"type": "text", "text": "[call of read: {}]"},
        ],
        [
            {"type": "text", "text": "[result of read]\none line"},
            {"type": "text", "text": "[result of read, failed]\nno such file"},
            {"type": "text", "text": "Hurry."},
        ],
    ]


def test_a_result_whose_call_is_not_sent_is_text() -> None:
    body = contents([says("assistant", call("toolu_1")), says("user", result("toolu_1"), text("Go on."))])
    assert body == [
        [{"type": "text", "text": "[result of read]\none line"}, {"type": "text", "text": "Go on."}]
    ]


def test_thinking_that_nothing_follows_is_left_out() -> None:
    cut = says("assistant", thinking(), text("Well"), thinking("And"))
    assert contents([ASKED, cut, ASKED])[1] == [thinking()["item"], {"type": "text", "text": "Well"}]
    only = says("assistant", thinking())
    assert contents([ASKED, only, ASKED]) == [
        [{"type": "text", "text": "Look."}, {"type": "text", "text": "\n\nLook."}]
    ]


def test_thinking_that_the_vendor_refused_is_not_returned_again() -> None:
    body = encoded([ASKED, CALLED, RESULTS], refused=(RETURNED_REASONING,))
    assert [block["type"] for block in body["messages"][1]["content"]] == ["text", "tool_use", "tool_use"]


def content_of(digest: str) -> bytes:
    return f"<{digest}>".encode()


READS = replace(TOOLS, read_image=content_of)


def test_images_are_sent_in_the_vendors_form_after_the_results() -> None:
    body = encoded(
        [ASKED, says("assistant", call("toolu_1")), says("user", result("toolu_1"), image())], READS
    )
    assert body["messages"][2]["content"][1] == {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "PGQxPg=="},
        "cache_control": MARK,
    }


def test_images_of_a_result_are_in_it_and_follow_a_failed_one() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "PGQxPg=="}
    sound: Part = {**result("toolu_1"), "images": [image()]}  # pyright: ignore[reportAssignmentType]
    failed: Part = {**result("toolu_2", error=True), "images": [image()]}  # pyright: ignore[reportAssignmentType]
    asked = says("assistant", call("toolu_1"), call("toolu_2"))
    [*_, turn] = contents([ASKED, asked, says("user", sound, failed)], READS)
    assert [block["type"] for block in turn] == ["tool_result", "tool_result", "image"]
    assert turn[0]["content"][1] == {"type": "image", "source": source}
    assert turn[0]["content"][0]["type"] == "text"
    assert isinstance(turn[1]["content"], str)
    check_types(encoded([ASKED, asked, says("user", sound, failed)], READS))


def test_images_of_a_result_follow_it_where_results_are_text() -> None:
    sound: Part = {**result("toolu_1"), "images": [image()]}  # pyright: ignore[reportAssignmentType]
    options = Options(read_image=content_of)
    turns = contents([ASKED, says("assistant", call("toolu_1")), says("user", sound)], options)
    assert [block["type"] for block in turns[-1]][-2:] == ["text", "image"]


@cases(
    ("role", "part", "options"),
    [
        ("user", image(), TOOLS),
        ("assistant", image(), READS),
        ("user", image("image/bmp"), READS),
    ],
)
def test_an_image_that_cannot_be_sent_is_named(role: str, part: Part, options: Options) -> None:
    turns = contents([ASKED, says(role, part), ASKED], options)
    kind = part["media_type"] if part["type"] == "image" else ""
    assert f"[image {kind} 800×600]" in [block["text"].strip() for turn in turns for block in turn]


def test_marks_are_on_the_tools_the_system_prompt_and_the_last_two_turns_of_the_user() -> None:
    system: Message = {"role": "system", "content": "Be brief."}
    again = says("assistant", call("toolu_3"))
    body = encoded([system, ASKED, CALLED, RESULTS, again, says("user", result("toolu_3"))])
    marked = [
        (number, place)
        for number, turn in enumerate(body["messages"])
        for place, block in enumerate(turn["content"])
        if "cache_control" in block
    ]
    assert marked == [(2, 2), (4, 0)]
    assert [tool.get("cache_control") for tool in body["tools"]] == [None, MARK]
    assert body["system"][0]["cache_control"] == MARK


def test_a_message_of_parts_that_are_one_text_is_encoded_as_the_text_alone() -> None:
    plain: list[Message] = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    parts: list[Message] = [says("user", text("a")), says("assistant", text("b"))]
    end: list[Message] = [{"role": "user", "content": "c"}]
    assert WIRE.encode(plain + end, ()) == WIRE.encode(parts + end, ())


IDS = st.integers(0, 99).map("toolu_{}".format)
CYCLES = st.lists(
    st.tuples(
        st.lists(st.sampled_from([thinking(), text("So."), text(" ")]), max_size=3),
        st.lists(IDS, max_size=3, unique=True),
    ),
    max_size=4,
)


def history(cycles: list[tuple[list[Part], list[str]]]) -> list[Message]:
    """A native history, as the engine guarantees it: each call has its result in the next message."""
    messages = [ASKED]
    for parts, ids in cycles:
        messages.append(says("assistant", *parts, *(call(id) for id in ids)))
        messages.append(says("user", *(result(id) for id in ids), text("Go on.")))
    return messages


def unmarked(body: dict[str, Any]) -> list[tuple[str, str]]:
    """What the vendor's cache compares."""
    return [
        (turn["role"], json.dumps({name: value for name, value in block.items() if name != "cache_control"}))
        for turn in body["messages"]
        for block in turn["content"]
    ]


@pytest.mark.exhaustive
@given(CYCLES, CYCLES)
def test_a_longer_native_history_begins_with_the_blocks_of_the_shorter(
    cycles: list[tuple[list[Part], list[str]]], more: list[tuple[list[Part], list[str]]]
) -> None:
    before, after = unmarked(encoded(history(cycles))), unmarked(encoded(history(cycles + more)))
    assert after[: len(before)] == before


def read(*events: dict[str, Any]) -> list[Frame]:
    reader = WIRE.reader()
    return [reader.read(event["type"], json.dumps(event)) for event in events]


def started(index: int, **block: object) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **delta: object) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def stopped(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def called(*pieces: str) -> list[dict[str, Any]]:
    """A call after thinking and a remark, with its arguments in these pieces."""
    return [
        started(0, type="thinking", thinking="", signature="", extra=1),
        *(delta(0, type="thinking_delta", thinking=words) for words in ("H\ud83d", "\ude00m.")),
        delta(0, type="signature_delta", signature="Eq1"),
        stopped(0),
        started(1, type="redacted_thinking", data="Em"),
        stopped(1),
        started(2, type="text", text=""),
        delta(2, type="text_delta", text="I look."),
        stopped(2),
        started(3, type="tool_use", id="toolu_1", name="read", input={}),
        *(delta(3, type="input_json_delta", partial_json=piece) for piece in ("", *pieces)),
        stopped(3),
        started(4, type="tool_use", id="toolu_2", name="list", input={}),
        delta(4, type="input_json_delta", partial_json=""),
        stopped(4),
    ]


THOUGHT = ReasoningItem({"type": "thinking", "thinking": "H😀m.", "signature": "Eq1", "extra": 1})


def test_an_answer_is_read_in_order_with_thinking_whole_and_calls_in_pieces() -> None:
    frames = read(*called('{"fi', 'le": "a"}'))
    parts = [part for frame in frames for part in frame.native]
    assert parts == [
        THOUGHT,
        ReasoningItem({"type": "redacted_thinking", "data": "Em"}),
        CallDelta(0, "toolu_1", "read"),
        CallDelta(0, arguments='{"fi'),
        CallDelta(0, arguments='le": "a"}'),
        CallDelta(0, complete=True),
        CallDelta(1, "toolu_2", "list"),
        CallDelta(1, complete=True),
    ]
    assert "".join(frame.text for frame in frames) == "I look."
    assert "".join(frame.reasoning for frame in frames) == "H\ud83d\ude00m."


@given(st.lists(st.text(alphabet='{}"\\ü😀a:,', max_size=4), max_size=8))
def test_any_split_gives_the_same_arguments(pieces: list[str]) -> None:
    parts = [part for frame in read(*called(*pieces)) for part in frame.native]
    first = [part for part in parts if isinstance(part, CallDelta) and part.index == 0]
    assert "".join(part.arguments for part in first) == "".join(pieces)
    assert [part.complete for part in first] == [False] * (len(first) - 1) + [True]


def test_a_call_that_comes_whole_and_without_a_stop_is_read() -> None:
    frames = read(
        started(0, type="tool_use", id="c1", name="read", input={"file": "ü"}),
        started(1, type="tool_use", id="c2", name="list", input={}),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}},
    )
    assert [part for frame in frames for part in frame.native] == [
        CallDelta(0, "c1", "read", '{"file": "ü"}'),
        CallDelta(0, complete=True),
        CallDelta(1, "c2", "list"),
        CallDelta(1, complete=True),
    ]
    assert frames[-1].finish == "stop"


def test_thinking_that_is_cut_short_is_no_item() -> None:
    assert not any(frame.native for frame in read(*called()[:4]))


def test_the_model_and_the_tier_that_answered_are_reported() -> None:
    usage = {"input_tokens": 5, "output_tokens": 1, "service_tier": "priority"}
    frames = read(
        {"type": "message_start", "message": {"id": "msg_1", "model": "claude-x-20260101", "usage": usage}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
    )
    assert frames[-1].usage == Usage(5, 9, model="claude-x-20260101", tier="priority")


def test_a_tier_is_asked_for_by_the_vendors_name() -> None:
    assert encoded([ASKED], Options(tier="standard_only"))["service_tier"] == "standard_only"
    assert "service_tier" not in encoded([ASKED], PLAIN)


BUDGETED = AnthropicWire(
    Endpoint("anthropic", "https://api.anthropic.com", "claude-haiku-4-5"), ModelFacts(reasoning=True)
)


@cases(
    ("answer", "asks"),
    [(CALLED, True), (says("assistant", text("I look."), call("toolu_1"), call("toolu_2")), False)],
)
def test_a_model_with_a_budget_does_not_think_after_calls_of_one_that_did_not(
    answer: Message, asks: bool
) -> None:
    body = json.loads(BUDGETED.encode([ASKED, answer, RESULTS], (), TOOLS))
    assert ("thinking" in body) is asks
