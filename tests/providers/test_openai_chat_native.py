"""Native calls, reasoning, effort and images over Chat Completions, without sockets."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessageParam
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter

from cogency_tui.config.schema import Effort
from cogency_tui.protocol.messages import ImagePart, Message, Part, ToolSpec
from cogency_tui.providers.base import PLAIN, CallDelta, Options, ReasoningItem
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.models import ModelFacts, ReasoningSwitch
from cogency_tui.providers.openai_chat import ChatReader, ChatWire
from tests.cases import cases
from tests.peers.chat_answers import Call, Habits, call_deltas

OWN = Endpoint("openai", "https://api.openai.com/v1", "m", "OPENAI_API_KEY", "sk-secret")
OTHER = Endpoint("mine", "http://127.0.0.1:8000/v1", "m")
OPENROUTER = Endpoint("openrouter", "https://openrouter.ai/api/v1", "m")
MISTRAL = Endpoint("mistral", "https://api.mistral.ai/v1", "m")
MINIMAX = Endpoint("minimax", "https://api.minimax.io/v1", "m")
RETURNS = ModelFacts(reasoning=True, returns_reasoning=True)

READ: ToolSpec = {
    "name": "read",
    "description": "Show a file.",
    "parameters": {"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"]},
}
TOOLS = Options(tools=(READ,))
IMAGE: ImagePart = {
    "type": "image",
    "digest": "abc",
    "media_type": "image/png",
    "width": 800,
    "height": 600,
    "size": 3,
}


def call(id: str, arguments: str = '{"file": "a"}', name: str = "read") -> Part:
    return {"type": "call", "id": id, "name": name, "arguments": arguments}


def result(id: str, text: str = "1\tone", *, error: bool = False) -> Part:
    return {"type": "result", "id": id, "name": "read", "text": text, "error": error}


def words(text: str) -> Part:
    return {"type": "text", "text": text}


def thought(**item: Any) -> Part:
    return {"type": "reasoning", "item": item}


def answer(*parts: Part) -> Message:
    return {"role": "assistant", "content": "", "parts": list(parts)}


def given_back(*parts: Part) -> Message:
    return {"role": "user", "content": "", "parts": list(parts)}


SYSTEM: Message = {"role": "system", "content": "You are an agent."}
ASKED: Message = {"role": "user", "content": "Read a and b."}
HISTORY: Sequence[Message] = (
    SYSTEM,
    ASKED,
    answer(words("I read both."), call("call_1"), call("call_2", "")),
    given_back(result("call_1"), result("call_2", "failed: no file", error=True)),
)


def body_of(
    messages: Sequence[Message],
    endpoint: Endpoint = OTHER,
    facts: ModelFacts | None = None,
    options: Options = PLAIN,
    refused: Iterable[str] = (),
) -> dict[str, Any]:
    return json.loads(ChatWire(endpoint, facts).encode(messages, refused, options))


def encoded(message: Message, endpoint: Endpoint = OTHER, facts: ModelFacts | None = None) -> Any:
    return body_of([message], endpoint, facts)["messages"]


def test_calls_and_results_are_the_vendors_own_messages() -> None:
    messages = body_of(HISTORY, options=TOOLS)["messages"]
    function = {"name": "read", "arguments": '{"file": "a"}'}
    assert messages[2] == {
        "role": "assistant",
        "content": "I read both.",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": function},
            {"id": "call_2", "type": "function", "function": {"name": "read", "arguments": "{}"}},
        ],
    }
    assert messages[3:] == [
        {"role": "tool", "tool_call_id": "call_1", "content": "1\tone"},
        {"role": "tool", "tool_call_id": "call_2", "content": "failed: no file"},
    ]


def test_a_call_without_text_has_null_as_its_content() -> None:
    assert encoded(answer(call("c")))[0]["content"] is None


def test_text_follows_the_results_of_its_message() -> None:
    messages = encoded(given_back(words("And this?"), result("c"), words("Soon.")))
    assert messages == [
        {"role": "tool", "tool_call_id": "c", "content": "1\tone"},
        {"role": "user", "content": "And this?\n\nSoon."},
    ]


def test_an_empty_text_is_no_message_behind_results_and_one_alone() -> None:
    assert [each["role"] for each in encoded(given_back(result("c"), words("")))] == ["tool"]
    assert encoded(given_back(words(""))) == [{"role": "user", "content": ""}]


def test_an_answer_of_which_only_reasoning_is_left_is_left_out() -> None:
    assert encoded(answer(thought(reasoning_content="hm")), facts=RETURNS) == []


@cases(
    ("written", "sent"),
    [
        ("", "{}"),
        (" \n", "{}"),
        ('{"file":  "ä"}', '{"file":  "ä"}'),
        ('{"file": "a', '{"malformed": "{\\"file\\": \\"a"}'),
        ("[1]", '{"malformed": "[1]"}'),
        ('"x"', '{"malformed": "\\"x\\""}'),
        ('{"a": "\ud83d"}', '{"a": "\ufffd"}'),
    ],
)
def test_arguments_are_always_the_text_of_an_object(written: str, sent: str) -> None:
    [message] = encoded(answer(call("c", written)))
    assert message["tool_calls"][0]["function"]["arguments"] == sent


def test_a_request_with_everything_is_one_of_the_vendors_type() -> None:
    options = Options(
        tools=(READ,), effort="max", conversation="c1", tier="flex", read_image=lambda digest: b"png"
    )
    history = [*HISTORY, answer(words("Done.")), given_back(words("See"), IMAGE)]
    body = body_of(history, OWN, options=options)
    TypeAdapter(CompletionCreateParamsStreaming).validate_python(body)
    for message in body["messages"]:
        TypeAdapter[Any](ChatCompletionMessageParam).validate_python(message)
    assert body["tools"] == [{"type": "function", "function": READ}]
    assert (body["prompt_cache_key"], body["service_tier"], body["reasoning_effort"]) == ("c1", "flex", "max")


def test_nothing_about_tools_is_sent_without_them() -> None:
    assert body_of([SYSTEM, ASKED]).keys() == {"model", "messages", "stream", "stream_options"}


def test_the_cache_key_is_sent_to_openai_alone_and_a_chosen_tier_to_all() -> None:
    options = Options(conversation="c1", tier="flex")
    served = Endpoint("openai", "http://127.0.0.1:8000/v1", "m")
    for endpoint in (served, OTHER, OPENROUTER, MISTRAL):
        body = body_of([ASKED], endpoint, options=options)
        assert "prompt_cache_key" not in body
        assert body["service_tier"] == "flex"
        assert "service_tier" not in body_of([ASKED], endpoint, options=Options(conversation="c1"))


def test_a_longer_history_begins_with_the_shorter_one() -> None:
    wire = ChatWire(OTHER, RETURNS)
    history = [
        *HISTORY,
        answer(thought(reasoning_content="hm"), call("call_3")),
        given_back(result("call_3")),
    ]
    for length in range(1, len(history)):
        before = wire.encode(history[:length], (), TOOLS).partition(b'], "stream"')[0]
        assert wire.encode(history, (), TOOLS).startswith(before)


EFFORTS: ModelFacts = ModelFacts(efforts={"none": "none", "low": "low", "high": "xhigh"})


@cases(
    ("facts", "effort", "word"),
    [
        (ModelFacts(), "none", "none"),
        (ModelFacts(), "max", "max"),
        (EFFORTS, "none", "none"),
        (EFFORTS, "medium", "low"),
        (EFFORTS, "max", "xhigh"),
        (ModelFacts(efforts={"high": "high"}), "none", "high"),
    ],
)
def test_effort_is_in_the_vendors_word(facts: ModelFacts, effort: Effort, word: str) -> None:
    assert body_of([ASKED], facts=facts, options=Options(effort=effort))["reasoning_effort"] == word


SWITCHES: list[tuple[ReasoningSwitch, dict[str, Any]]] = [
    ("thinking", {"thinking": {"type": "disabled"}}),
    ("enable_thinking", {"enable_thinking": False}),
]


@cases(("switch", "fields"), SWITCHES)
def test_a_switch_turns_reasoning_off_where_no_effort_does(
    switch: ReasoningSwitch, fields: dict[str, Any]
) -> None:
    facts = ModelFacts(efforts={"none": "none", "low": "low"}, reasoning_switch=switch)
    plain = body_of([ASKED], facts=facts)
    assert body_of([ASKED], facts=facts, options=Options(effort="none")) == {**plain, **fields}
    low = body_of([ASKED], facts=facts, options=Options(effort="low"))
    assert low == {**plain, "reasoning_effort": "low"}
    assert body_of([ASKED], facts=facts, options=Options(effort="none"), refused=["thinking"]) == plain


def test_effort_is_reasoning_to_openrouter_and_left_out_once_refused() -> None:
    options = Options(effort="high")
    assert body_of([ASKED], OPENROUTER, options=options)["reasoning"] == {"effort": "high"}
    for endpoint in (OPENROUTER, OTHER):
        refused = body_of([ASKED], endpoint, options=options, refused=["effort"])
        assert not {"reasoning", "reasoning_effort"} & refused.keys()


# Images.


def test_images_follow_the_results_as_data_urls() -> None:
    message = given_back(result("c"), words("Like this:"), IMAGE)
    options = Options(read_image={"abc": b"png"}.__getitem__)
    messages = body_of([message], options=options)["messages"]
    assert [each["role"] for each in messages] == ["tool", "user"]
    assert messages[1]["content"] == [
        {"type": "text", "text": "Like this:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}},
    ]


def test_an_image_that_cannot_be_sent_is_described() -> None:
    [user] = encoded(given_back(IMAGE))
    assert user["content"] == "[image image/png 800×600]"
    options = Options(read_image=lambda digest: b"png")
    [system] = body_of([{"role": "system", "content": "", "parts": [IMAGE]}], options=options)["messages"]
    assert system["content"] == "[image image/png 800×600]"


# Mistral.


def test_mistral_is_sent_ids_of_nine_letters_and_digits() -> None:
    own, ours = "D681PevKs", "0123456789abcdef"
    messages = body_of(
        [answer(call(own), call(ours)), given_back(result(own), result(ours))], MISTRAL, options=TOOLS
    )["messages"]
    ids = [each["id"] for each in messages[0]["tool_calls"]]
    assert ids[0] == own
    assert len(ids[1]) == 9
    assert ids[1].isalnum()
    assert [each["tool_call_id"] for each in messages[1:]] == ids


def test_mistral_is_sent_an_answer_between_results_and_the_user() -> None:
    roles = [each["role"] for each in encoded(given_back(result("c"), words("Stop.")), MISTRAL)]
    assert roles == ["tool", "assistant", "user"]
    assert [each["role"] for each in encoded(given_back(result("c"), words("Stop.")))] == ["tool", "user"]


# Reasoning.


def read(
    chunks: Iterable[dict[str, Any]],
    endpoint: Endpoint = OTHER,
    facts: ModelFacts | None = None,
    finish: str = "tool_calls",
) -> list[Any]:
    """All that a reader gives for deltas: texts, items and pieces of calls in order."""
    reader = ChatWire(endpoint, facts).reader()
    parts: list[Any] = []
    for data in [*(chunk(delta) for delta in chunks), chunk({}, finish), "[DONE]"]:
        frame = reader.read("message", data)
        parts += [*frame.before, *([frame.text] if frame.text else []), *frame.native]
    return parts


def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


@cases("field", ["reasoning_content", "reasoning"])
def test_reasoning_comes_before_the_text_as_one_item_and_goes_back_in_its_field(field: str) -> None:
    parts = read([{field: "I "}, {field: "think."}, {"content": "Yes."}], facts=RETURNS, finish="stop")
    assert parts == [ReasoningItem({field: "I think."}), "Yes."]
    [sent] = encoded(answer(thought(**parts[0].item), words("Yes.")), facts=RETURNS)
    assert sent == {"role": "assistant", "content": "Yes.", field: "I think."}


def test_reasoning_before_a_call_and_without_anything_behind_it_is_an_item() -> None:
    piece = {"index": 0, "id": "c", "function": {"name": "read", "arguments": "[]"}}
    parts = read([{"reasoning_content": "hm"}, {"tool_calls": [piece]}], facts=RETURNS)
    assert parts == [ReasoningItem({"reasoning_content": "hm"}), CallDelta(0, "c", "read", "[]")]
    assert read([{"reasoning_content": "hm"}], facts=RETURNS) == [ReasoningItem({"reasoning_content": "hm"})]


def test_reasoning_between_texts_is_joined_when_it_goes_back() -> None:
    deltas = [{"reasoning_content": "a"}, {"content": "1"}, {"reasoning_content": "b"}, {"content": "2"}]
    parts = read(deltas, facts=RETURNS, finish="stop")
    items = [thought(**part.item) for part in parts if isinstance(part, ReasoningItem)]
    [sent] = encoded(answer(items[0], words("1"), items[1], words("2")), facts=RETURNS)
    assert (sent["content"], sent["reasoning_content"]) == ("12", "ab")


@cases("endpoint", [OWN, OTHER, OPENROUTER, MISTRAL])
def test_reasoning_is_no_item_to_servers_that_do_not_want_it(endpoint: Endpoint) -> None:
    assert read([{"reasoning_content": "hm"}, {"content": "x"}], endpoint, finish="stop") == ["x"]


@cases("endpoint", [OWN, OTHER, MISTRAL])
def test_reasoning_goes_back_to_no_server_that_does_not_want_it(endpoint: Endpoint) -> None:
    [sent] = encoded(answer(thought(reasoning_content="hm"), words("x")), endpoint)
    assert sent == {"role": "assistant", "content": "x"}


def test_a_call_without_reasoning_has_a_placeholder_where_it_is_demanded() -> None:
    assert encoded(answer(call("c")), facts=RETURNS)[0]["reasoning_content"] == " "
    assert "reasoning_content" not in encoded(answer(words("x")), facts=RETURNS)[0]
    for endpoint in (OPENROUTER, MINIMAX):
        assert "reasoning_content" not in encoded(answer(call("c")), endpoint, RETURNS)[0]


DETAILS = [
    {"type": "reasoning.text", "text": "I ", "id": None, "format": "anthropic-claude-v1", "index": 0},
    {"type": "reasoning.text", "text": "think.", "id": None, "format": "anthropic-claude-v1", "index": 0},
    {"type": "reasoning.text", "signature": "sig==", "format": "anthropic-claude-v1", "index": 0},
    {"type": "reasoning.encrypted", "data": "AAA", "id": "tool_1", "index": 1},
    {"type": "reasoning.encrypted", "data": "BBB", "id": "tool_2", "index": 1},
]


@cases(("endpoint", "facts"), [(OPENROUTER, None), (MINIMAX, RETURNS)])
def test_details_go_back_in_order_with_their_pieces_joined(endpoint: Endpoint, facts: ModelFacts) -> None:
    deltas = [{"reasoning": "shown", "reasoning_details": [piece]} for piece in DETAILS]
    parts = read([*deltas, {"content": "Yes."}], endpoint, facts, finish="stop")
    [text, *encrypted] = parts[0].item["reasoning_details"]
    assert text == {
        "type": "reasoning.text",
        "text": "I think.",
        "id": None,
        "format": "anthropic-claude-v1",
        "index": 0,
        "signature": "sig==",
    }
    assert encrypted == DETAILS[3:]
    [sent] = encoded(answer(thought(**parts[0].item), words("Yes.")), endpoint, facts)
    assert sent["reasoning_details"] == [text, *DETAILS[3:]]
    assert sent.keys() == {"role", "content", "reasoning_details"}


def test_details_alone_are_shown() -> None:
    frame = ChatReader(OPENROUTER).read("message", chunk({"reasoning_details": DETAILS[:2]}))
    assert frame.reasoning == "I think."


def test_thinking_in_the_content_is_shown_as_reasoning() -> None:
    content = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "x"},
    ]
    frame = ChatReader(MISTRAL).read("message", chunk({"content": content}))
    assert (frame.reasoning, frame.text) == ("hm", "x")


def test_minimax_is_asked_for_reasoning_apart_from_the_text() -> None:
    assert body_of([ASKED], MINIMAX, RETURNS)["reasoning_split"] is True
    assert "reasoning_split" not in body_of([ASKED], OTHER, RETURNS)


# Calls as servers send them.

CALLS = (
    Call("call_1", "read", '{"file": "ä\\ud83d\\ude00", "lines": [1, {"a": "}{"}]}'),
    Call("call_2", "read", '{"file": "b"}'),
    Call("call_3", "list_all", "{}"),
)


def joined(parts: Iterable[Any]) -> list[tuple[str, str, str]]:
    """The calls of an answer: id, name, arguments. The first piece of each has its name."""
    calls: list[list[str]] = []
    for part in parts:
        if not isinstance(part, CallDelta):
            continue
        if part.index == len(calls):
            assert part.name
            calls.append(["", "", ""])
        else:
            assert not part.name
        calls[part.index] = [
            old + new
            for old, new in zip(calls[part.index], (part.id, part.name, part.arguments), strict=True)
        ]
    return [(id, name, arguments) for id, name, arguments in calls]


WHOLE = [(each.id, each.name, each.arguments) for each in CALLS]
NAMELESS = [("", name, arguments) for _id, name, arguments in WHOLE]


@cases(
    ("habits", "calls"),
    [
        (Habits(), WHOLE),
        # Gemini's compatible endpoint and gateways: whole calls without an index, one chunk each or one for all.
        (Habits(index="none", whole="alone"), WHOLE),
        (Habits(index="none", whole="together"), WHOLE),
        (Habits(index="none", ids="empty", whole="alone"), NAMELESS),
        (Habits(index="none", ids="empty", whole="together"), NAMELESS),
        (Habits(index="none", ids="none", whole="together", finish="stop"), NAMELESS),
        # Ollama, github.com/ollama/ollama/issues/15457; Dynamo, Gemini through gateways.
        (Habits(index="zero", whole="alone"), WHOLE),
        (Habits(index="zero", ids="none", whole="alone"), NAMELESS),
        (Habits(index="zero", ids="empty", whole="together"), NAMELESS),
        # vLLM and SGLang as in github.com/InternLM/lmdeploy/issues/3412.
        (Habits(index="zero"), WHOLE),
        (Habits(index="zero", ids="repeated"), WHOLE),
        (Habits(index="none"), WHOLE),
        (Habits(index="none", ids="repeated"), WHOLE),
        (Habits(index="none", ids="repeated", names="repeated"), WHOLE),
        (Habits(ids="repeated", names="repeated"), WHOLE),
        (Habits(ids="empty", names="repeated"), NAMELESS),
        (Habits(names="pieces"), WHOLE),
        (Habits(names="pieces", ids="repeated"), WHOLE),
        (Habits(arguments="null"), WHOLE),
        (Habits(whole="alone"), WHOLE),
        (Habits(whole="together"), WHOLE),
        (Habits(empty=True), WHOLE),
    ],
)
def test_calls_of_every_habit_are_the_same_calls(habits: Habits, calls: Any) -> None:
    for size in (1, 3, 7, 1000):
        assert joined(read(call_deltas(CALLS, size, habits), finish=habits.finish)) == calls


def test_an_id_that_several_calls_have_is_that_of_the_first() -> None:
    for habits in (Habits(ids="same"), Habits(ids="same", index="none", whole="alone")):
        calls = joined(read(call_deltas(CALLS, 5, habits)))
        assert [id for id, _name, _arguments in calls] == ["call_same", "", ""]
        assert [call[1:] for call in calls] == [call[1:] for call in NAMELESS]


def test_an_id_that_comes_with_every_piece_of_several_calls_is_that_of_the_latest() -> None:
    deltas = [
        {"id": "c", "function": {"name": "read", "arguments": '{"file": "a"}'}},
        {"id": "c", "function": {"name": "read", "arguments": '{"file": '}},
        {"id": "c", "function": {"arguments": '"b"}'}},
    ]
    calls = joined(read([{"tool_calls": [each]} for each in deltas]))
    assert calls == [("c", "read", '{"file": "a"}'), ("", "read", '{"file": "b"}')]


def test_arguments_that_are_an_object_become_its_text() -> None:
    calls = joined(read(call_deltas(CALLS, 5, Habits(arguments="object"))))
    assert [json.loads(arguments or "{}") for _id, _name, arguments in calls] == [
        json.loads(each.arguments) for each in CALLS
    ]


def test_the_older_function_call_is_one_call() -> None:
    habits = Habits(legacy=True, finish="function_call")
    calls = joined(read(call_deltas(CALLS[:1], 5, habits), finish="function_call"))
    assert calls == [("", "read", CALLS[0].arguments)]


@cases("arguments", ["", None, {}])
def test_a_call_without_arguments_is_one(arguments: object) -> None:
    piece = {"index": 0, "id": "c", "function": {"name": "list", "arguments": arguments}}
    assert read([{"tool_calls": [piece]}]) == [CallDelta(0, "c", "list", "")]


def test_pieces_without_a_name_go_on_with_the_call_at_their_position() -> None:
    deltas = [
        [{"function": {"name": "read", "arguments": ""}}, {"function": {"name": "list", "arguments": ""}}],
        [{"function": {"arguments": '{"file"'}}, {"function": {"arguments": '{"path"'}}],
        [{"function": {"arguments": ': "a"}'}}, {"function": {"arguments": ': "b"}'}}],
    ]
    calls = joined(read([{"tool_calls": each} for each in deltas]))
    assert calls == [("", "read", '{"file": "a"}'), ("", "list", '{"path": "b"}')]


def test_pieces_with_another_index_and_the_same_id_go_on_with_the_call() -> None:
    # LocalAI, github.com/mudler/LocalAI/issues/9722.
    deltas = [
        {"index": 0, "id": "c", "function": {"name": "read", "arguments": ""}},
        {"index": 1, "id": "c", "function": {"arguments": '{"file": "a"}'}},
    ]
    assert joined(read([{"tool_calls": [each]} for each in deltas])) == [("c", "read", '{"file": "a"}')]


def test_pieces_with_a_new_id_and_no_name_go_on_with_the_call() -> None:
    # Early releases of vLLM gave each piece an id of its own.
    deltas = [
        {"index": 0, "id": "c1", "function": {"name": "read", "arguments": ""}},
        {"index": 0, "id": "c2", "function": {"arguments": '{"file": '}},
        {"index": 0, "id": "c3", "function": {"arguments": '"a"}'}},
    ]
    assert joined(read([{"tool_calls": [each]} for each in deltas])) == [("c1", "read", '{"file": "a"}')]


def test_an_empty_object_before_the_arguments_is_none_of_them() -> None:
    # Bedrock, github.com/openai/openai-agents-js/pull/712; Gemini, github.com/microsoft/autogen/pull/7549.
    named = {"index": 0, "id": "c", "function": {"name": "read", "arguments": "{}"}}
    for name in ("", "read"):
        piece = {"index": 0, "id": "c", "function": {"name": name, "arguments": '{"file": '}}
        rest = {"index": 0, "function": {"arguments": '"a"}'}}
        calls = joined(read([{"tool_calls": [each]} for each in (named, piece, rest)]))
        assert calls == [("c", "read", '{"file": "a"}')]


def test_a_call_that_is_sent_once_more_as_a_whole_is_one() -> None:
    # Cerebras, github.com/elizaOS/eliza/pull/9766: it would run twice.
    again = [{"tool_calls": [{"index": at, **each.whole}]} for at, each in enumerate(CALLS)]
    assert joined(read([*call_deltas(CALLS, 5), *again])) == WHOLE


def test_equal_calls_with_ids_of_their_own_are_two() -> None:
    twice = [Call("call_1", "read", '{"file": "a"}'), Call("call_2", "read", '{"file": "a"}')]
    for habits in (Habits(index="zero", whole="alone"), Habits(index="none", ids="none", whole="together")):
        assert len(joined(read(call_deltas(twice, 5, habits)))) == 2


@cases("first", ["", "{"])
def test_later_pieces_may_have_an_empty_name_and_the_first_one_arguments(first: str) -> None:
    # LM Studio, github.com/lmstudio-ai/lmstudio-bug-tracker/issues/649; llama.cpp.
    deltas = [
        {"index": 0, "id": "c", "function": {"name": "read", "arguments": first}},
        {"index": 0, "function": {"name": "", "arguments": '{"file": "a"}'.removeprefix(first)}},
    ]
    assert joined(read([{"tool_calls": [each]} for each in deltas])) == [("c", "read", '{"file": "a"}')]


def test_a_name_that_comes_after_the_arguments_is_that_of_the_call() -> None:
    deltas = [
        {"index": 0, "id": "c"},
        {"index": 0, "function": {"arguments": '{"file": '}},
        {"index": 0, "function": {"name": "read", "arguments": '"a"}'}},
    ]
    assert read([{"tool_calls": [each]} for each in deltas]) == [CallDelta(0, "c", "read", '{"file": "a"}')]


def test_a_call_that_is_never_named_stays_without_a_name() -> None:
    piece = {"index": 0, "id": "c", "function": {"arguments": "{}"}}
    assert read([{"tool_calls": [piece]}]) == [CallDelta(0, "c", "", "{}")]


def test_characters_that_are_split_between_pieces_are_whole() -> None:
    deltas = [
        {"index": 0, "id": "c", "function": {"name": "read", "arguments": '{"file": "\ud83d'}},
        {"index": 0, "function": {"arguments": '\ude00"}'}},
    ]
    assert joined(read([{"tool_calls": [each]} for each in deltas])) == [("c", "read", '{"file": "😀"}')]
    assert joined(read([{"tool_calls": deltas[:1]}])) == [("c", "read", '{"file": "\ufffd')]


def test_texts_before_and_behind_calls_stay_in_place() -> None:
    piece = {"index": 0, "id": "c", "function": {"name": "read", "arguments": '{"file": "a"}'}}
    parts = read([{"content": "a"}, {"tool_calls": [piece]}, {"content": "b"}], finish="stop")
    assert parts == ["a", CallDelta(0, "c", "read", '{"file": "a"}'), "b"]


def test_a_signature_that_google_puts_on_a_call_goes_back_with_it() -> None:
    # ai.google.dev/gemini-api/docs/thought-signatures: without it the next request is refused.
    extra = {"google": {"thought_signature": "sig=="}}
    piece = {"id": "c", "function": {"name": "read", "arguments": "{}"}, "extra_content": extra}
    other = {"function": {"name": "list", "arguments": "{}"}}
    [item, first, second, *_arguments] = read([{"tool_calls": [piece, other]}])
    assert item == ReasoningItem({"extra_content": extra})
    calls = [call(first.id), call("ours", name=second.name)]
    [sent] = encoded(answer(thought(**item.item), *calls))
    assert [each.get("extra_content") for each in sent["tool_calls"]] == [extra, None]


@cases(
    "piece",
    [
        {},
        {"index": 0},
        {"index": 0, "function": None},
        {"index": -1, "id": 5, "function": {"name": None, "arguments": 7}},
        None,
        "odd",
    ],
)
def test_pieces_of_no_use_break_nothing(piece: object) -> None:
    good = {"index": 0, "id": "c", "function": {"name": "read", "arguments": '{"file": "a"}'}}
    assert joined(read([{"tool_calls": [good]}, {"tool_calls": [piece]}]))[0] in (
        ("c", "read", '{"file": "a"}'),
        ("c", "read", '{"file": "a"}7'),
    )


_ARGUMENTS = st.dictionaries(st.text(max_size=3), st.text(max_size=8), max_size=3).map(json.dumps)
_CALLS = st.lists(st.tuples(st.sampled_from(["read", "list_all", "re"]), _ARGUMENTS), min_size=1, max_size=4)
_HABITS = st.builds(
    Habits,
    ids=st.sampled_from(["each", "repeated"]),
    names=st.sampled_from(["first", "repeated", "pieces"]),
    index=st.sampled_from(["each", "zero"]),
    whole=st.sampled_from(["", "alone", "together"]),
)


@given(calls=_CALLS, habits=_HABITS, size=st.integers(1, 12))
def test_any_split_of_a_stream_gives_the_same_calls(
    calls: list[tuple[str, str]], habits: Habits, size: int
) -> None:
    made = [Call(f"call_{at}", name, arguments) for at, (name, arguments) in enumerate(calls)]
    assert joined(read(call_deltas(made, size, habits))) == [
        (each.id, each.name, each.arguments) for each in made
    ]


# Usage and ends.


@cases(
    ("frame", "cached", "written"),
    [
        ({"usage": {"prompt_cache_hit_tokens": 3}}, 3, None),
        ({"usage": {"cached_tokens": 4}}, 4, None),
        ({"usage": {"prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 2}}}, 5, 2),
        ({"choices": [{"delta": {}, "usage": {"cached_tokens": 6}}]}, 6, None),
        ({"x_groq": {"id": "r", "usage": {}}}, None, None),
    ],
)
def test_cached_tokens_are_read_in_every_vendors_place(
    frame: dict[str, Any], cached: int | None, written: int | None
) -> None:
    counts = {"prompt_tokens": 9, "completion_tokens": 1}
    for holder in (frame, frame.get("x_groq", {}), *frame.get("choices", [])):
        if "usage" in holder:
            holder["usage"] |= counts
    reader = ChatReader(OTHER)
    reader.read("message", '{"choices": [], "model": "m-1", "service_tier": "flex"}')
    usage = reader.read("message", json.dumps(frame)).usage
    assert usage is not None
    assert (usage.input, usage.output) == (9, 1)
    assert (usage.cached, usage.cache_written) == (cached, written)
    assert (usage.model, usage.tier) == ("m-1", "flex")


@cases(
    ("reason", "finish"),
    [
        ("tool_calls", "stop"),
        ("function_call", "stop"),
        ("eos", "stop"),
        ("model_length", "length"),
        ("", ""),
        ("odd", "other"),
    ],
)
def test_ends_are_read_in_every_vendors_word(reason: str, finish: str) -> None:
    assert ChatReader(OTHER).read("message", chunk({}, reason)).finish == finish


def test_a_reader_is_of_one_answer() -> None:
    wire = ChatWire(OTHER)
    piece = {"index": 0, "id": "c", "function": {"name": "read", "arguments": "{}"}}
    for _time in range(2):
        frame = wire.reader().read("message", chunk({"tool_calls": [piece]}, "stop"))
        assert joined(frame.native) == [("c", "read", "{}")]


def test_long_arguments_in_small_pieces_are_read_whole() -> None:
    # Parsed at each piece, they would take minutes.
    whole = [Call("c", "write", json.dumps({"content": "x}" * 100_000}))]
    assert joined(read(call_deltas(whole, 4, Habits(ids="repeated", names="repeated")))) == [
        (whole[0].id, whole[0].name, whole[0].arguments)
    ]
