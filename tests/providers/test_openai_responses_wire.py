"""The Responses wire format, without sockets."""

import json
from datetime import date
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogency_tui.config.schema import Effort
from cogency_tui.errors import (
    BadRequestError,
    ContextTooLongError,
    ModelNotFoundError,
    NetworkError,
    OverloadedError,
    PermissionDeniedError,
    ProviderError,
    ProviderProtocolError,
    RateLimitError,
)
from cogency_tui.protocol.messages import ImagePart, Message, Part, ToolSpec, parts_of
from cogency_tui.providers.base import PLAIN, CallDelta, Options, ReasoningItem, Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.models import ListedModel, ModelFacts
from cogency_tui.providers.openai_responses import ResponsesWire
from cogency_tui.providers.openai_responses_events import ResponsesReader
from cogency_tui.providers.refused_parameters import UnsupportedParameterError
from cogency_tui.providers.wire_protocol import Frame
from tests.cases import cases
from tests.peers.responses_params import check_params

ENDPOINT = Endpoint("openai", "https://api.example/v1", "m", "OPENAI_API_KEY", "sk-secret")
WIRE = ResponsesWire(ENDPOINT)
MESSAGES: list[Message] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "a\ud83d"},
    {"role": "assistant", "content": "b"},
]


def test_a_request_says_who_said_what_in_valid_unicode() -> None:
    body = json.loads(WIRE.encode(MESSAGES, []))
    assert body == {
        "model": "m",
        "stream": True,
        "store": False,
        "instructions": "Be brief.",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a\ufffd"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "b"}]},
        ],
    }


def test_a_longer_history_begins_with_the_bytes_of_the_shorter_one() -> None:
    longer: list[Message] = [*MESSAGES, {"role": "user", "content": "c"}]
    short = WIRE.encode(MESSAGES, [])
    assert WIRE.encode(longer, []).startswith(short.removesuffix(b"]}"))


def test_summaries_are_asked_for_until_they_are_refused() -> None:
    wire = ResponsesWire(ENDPOINT, ModelFacts(reasoning=True))
    assert json.loads(wire.encode(MESSAGES, []))["reasoning"] == {"summary": "auto"}
    assert "reasoning" not in json.loads(wire.encode(MESSAGES, ["reasoning.summary"]))


def read(*events: object) -> list[Frame]:
    reader = WIRE.reader()
    return [reader.read("message", json.dumps(event)) for event in events]


def delta(kind: str, text: object, **where: int) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "delta": text, **where}


def end(kind: str = "completed", **response: object) -> dict[str, Any]:
    return {"type": f"response.{kind}", "response": {"id": "resp_1", **response}}


def test_text_and_refusals_are_text_and_summaries_and_open_reasoning_are_reasoning() -> None:
    [text, refusal, summary, reasoning] = read(
        delta("output_text", "a"),
        delta("refusal", "b"),
        delta("reasoning_summary_text", "c", output_index=0, summary_index=0, content_index=0),
        delta("reasoning_text", "d", output_index=0, summary_index=0, content_index=0),
    )
    assert (text, refusal) == (Frame("a"), Frame("b"))
    assert (summary, reasoning) == (Frame(reasoning="c"), Frame(reasoning="d"))


def test_messages_and_parts_of_a_summary_are_paragraphs() -> None:
    frames = read(
        delta("reasoning_summary_text", "One", output_index=0, summary_index=0),
        delta("reasoning_summary_text", "Two", output_index=0, summary_index=1),
        delta("output_text", "Let me", output_index=1, content_index=0),
        delta("output_text", " see.", output_index=1, content_index=0),
        delta("output_text", "Done.", output_index=2, content_index=0),
    )
    assert "".join(frame.reasoning for frame in frames) == "One\n\nTwo"
    assert "".join(frame.text for frame in frames) == "Let me see.\n\nDone."


@cases(
    "event",
    [
        {"type": "response.created", "response": {}},
        {"type": "keepalive", "sequence_number": 7},
        {"type": "response.output_text.done", "text": "again"},
        {"type": "response.something.new", "delta": 5},
        {"type": "codex.rate_limits"},
    ],
)
def test_what_is_not_known_is_passed_over(event: dict[str, Any]) -> None:
    assert read(event) == [Frame()]


def test_an_event_that_names_no_type_is_what_its_name_says() -> None:
    assert WIRE.reader().read("response.output_text.delta", '{"delta": "a"}') == Frame("a")


@cases(
    ("event", "finish"),
    [
        (end(), "stop"),
        (end("incomplete", incomplete_details={"reason": "max_output_tokens"}), "length"),
        (end("incomplete", incomplete_details={"reason": "content_filter"}), "filter"),
        (end("incomplete", incomplete_details={"reason": "steered"}), "other"),
        (end("incomplete", incomplete_details=None), "other"),
    ],
)
def test_the_end_says_why(event: dict[str, Any], finish: str) -> None:
    [frame] = read(event)
    assert (frame.finish, frame.complete) == (finish, True)


def test_done_ends_a_stream_of_a_server_that_sends_it() -> None:
    assert WIRE.reader().read("message", "[DONE]") == Frame(complete=True)


@cases(
    ("usage", "expected"),
    [
        ({"input_tokens": 5, "output_tokens": 2}, Usage(5, 2)),
        (
            {
                "input_tokens": 5,
                "output_tokens": 2,
                "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
            },
            Usage(5, 2, 4, cache_written=1),
        ),
        ({"input_tokens": 5, "output_tokens": 2, "input_tokens_details": None}, Usage(5, 2)),
        ({"input_tokens": "5", "output_tokens": 2}, None),
        (None, None),
    ],
)
def test_usage_is_read_or_counts_as_missing(usage: object, expected: Usage | None) -> None:
    [frame] = read(end(usage=usage))
    assert frame.usage == expected


@pytest.mark.parametrize(
    ("context", "kept"), [({}, 3), ({"context": "current_turn"}, 3), ({"context": "all_turns"}, 10)]
)
def test_reasoning_stays_only_where_the_endpoint_says_so(context: dict[str, str], kept: int) -> None:
    usage = {"input_tokens": 5, "output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 7}}
    reader = WIRE.reader()
    reader.read_event(end(usage=usage, reasoning=context))
    assert (reader.retained, reader.response_id) == (kept, "resp_1")


@cases(
    "data",
    [
        "not json",
        "[]",
        "{",
        '{"choices": []}',
        '{"type": 7}',
        '{"type": "response.output_text.delta"}',
        '{"type": "response.output_text.delta", "delta": 7}',
        '{"type": "response.completed"}',
        '{"type": "response.completed", "response": "x"}',
    ],
)
def test_what_is_no_event_is_an_error_that_shows_it(data: str) -> None:
    with pytest.raises(ProviderProtocolError, match="invalid Responses frame") as caught:
        WIRE.reader().read("message", data)
    assert data[:20] in str(caught.value)


def failure(event: object) -> ProviderError:
    reader: ResponsesReader = WIRE.reader()
    with pytest.raises(ProviderError) as caught:
        reader.read("message", json.dumps(event))
    return caught.value


def failed(code: str) -> dict[str, Any]:
    return end("failed", error={"code": code, "message": "Said so."})


def nested(status: int | None, code: str, message: str = "Said so.", **more: object) -> dict[str, Any]:
    error = {"type": "invalid_request_error", "code": code, "message": message, **more}
    return {"type": "error", "error": error} | ({} if status is None else {"status": status})


ERRORS: list[tuple[dict[str, Any], type[ProviderError]]] = [
    ({"type": "error", "code": "rate_limit_exceeded", "message": "Slow.", "param": None}, RateLimitError),
    ({"type": "error", "code": None, "message": "Oh.", "param": None}, OverloadedError),
    (nested(None, "too_many_requests"), RateLimitError),
    (nested(None, "context_length_exceeded"), ContextTooLongError),
    (nested(429, "rate_limit_exceeded"), RateLimitError),
    (nested(429, "insufficient_quota"), PermissionDeniedError),
    (nested(400, "context_length_exceeded"), ContextTooLongError),
    (nested(400, "model_not_found", "The requested model 'm' does not exist."), ModelNotFoundError),
    (nested(404, "model_not_found", "The model `m` does not exist."), ModelNotFoundError),
    (nested(400, "unsupported_value", param="reasoning.summary"), UnsupportedParameterError),
    (nested(400, "invalid_value"), BadRequestError),
    (nested(503, "server_is_overloaded"), OverloadedError),
    ({"type": "error", "status": 500, "code": "x", "message": "Flat."}, OverloadedError),
    (failed("server_error"), OverloadedError),
    (failed("rate_limit_exceeded"), RateLimitError),
    (failed("invalid_prompt"), BadRequestError),
    (failed("misalignment_policy_violation"), BadRequestError),
    (end("failed", error=None), OverloadedError),
    ({"error": {"message": "Said so.", "code": 502}}, OverloadedError),
]


@cases(("event", "kind"), ERRORS)
def test_errors_of_all_shapes_are_mapped(event: dict[str, Any], kind: type[ProviderError]) -> None:
    error = failure(event)
    assert type(error) is kind
    assert error.hint


HEADERS = {"Retry-After": 7}


@pytest.mark.parametrize(
    "event",
    [
        nested(429, "rate_limit_exceeded", headers=HEADERS),
        {**nested(429, "rate_limit_exceeded"), "headers": HEADERS},
    ],
)
def test_an_error_event_may_carry_the_headers_of_http(event: dict[str, Any]) -> None:
    error = failure(event)
    assert isinstance(error, RateLimitError)
    assert error.retry_after == 7


def test_models_are_those_in_data() -> None:
    data = [{"id": "b", "shutdown_date": "2027-01-31"}, {"id": "a", "shutdown_date": None}]
    listed = WIRE.models({"object": "list", "data": data})
    assert listed == [ListedModel("a"), ListedModel("b", date(2027, 1, 31))]


REASONS = ModelFacts(
    reasoning=True, all_turns=True, efforts={"none": "none", "low": "low", "high": "high", "max": "xhigh"}
)
TOOL: ToolSpec = {
    "name": "read",
    "description": "Read a file.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
}
REASONING: dict[str, Any] = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [],
    "encrypted_content": "gAAAA",
    "new": None,
}
CALLS: Message = {
    "role": "assistant",
    "content": "I read both.",
    "parts": [
        {"type": "reasoning", "item": REASONING},
        {"type": "text", "text": "I read both."},
        {"type": "call", "id": "call_1", "name": "read", "arguments": '{"path": "a"}'},
        {"type": "call", "id": "call_2", "name": "list", "arguments": ""},
    ],
}
RESULTS: Message = {
    "role": "user",
    "content": "A\nGone.\nGo on.",
    "parts": [
        {"type": "text", "text": "Go on."},
        {"type": "result", "id": "call_1", "name": "read", "text": "A", "error": False},
        {"type": "result", "id": "call_2", "name": "list", "text": "Gone.", "error": True},
    ],
}
NATIVE: list[Message] = [*MESSAGES, {"role": "user", "content": "Read a."}, CALLS, RESULTS]


def body_of(messages: list[Message], options: Options = PLAIN, facts: ModelFacts | None = None) -> Any:
    body = json.loads(ResponsesWire(ENDPOINT, facts).encode(messages, [], options))
    check_params(body)
    return body


def test_calls_and_results_are_items_in_order_with_results_before_text() -> None:
    assert body_of(NATIVE)["input"][3:] == [
        REASONING,
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "I read both."}],
        },
        {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": '{"path": "a"}'},
        {"type": "function_call", "call_id": "call_2", "name": "list", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "A"},
        {"type": "function_call_output", "call_id": "call_2", "output": "Gone."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go on."}]},
    ]


def test_a_longer_native_history_begins_with_the_bytes_of_the_shorter_one() -> None:
    options = Options(tools=(TOOL,), effort="high", conversation="c1", tier="flex")
    wire = ResponsesWire(ENDPOINT, REASONS)
    bodies = [wire.encode(NATIVE[:length], [], options) for length in range(2, len(NATIVE) + 1)]
    for short, long in pairwise(bodies):
        assert long.startswith(short.removesuffix(b"]}"))


@cases(
    ("arguments", "sent"),
    [
        ("", "{}"),
        (" ", "{}"),
        ('{"a": "\ud83d\ude00"}', '{"a": "😀"}'),
        ('{"a": 1', '{"malformed": "{\\"a\\": 1"}'),
        ("[1]", '{"malformed": "[1]"}'),
        ("[" * 100_000, json.dumps({"malformed": "[" * 100_000})),
    ],
)
def test_arguments_are_sent_as_an_object(arguments: str, sent: str) -> None:
    message: Message = {
        "role": "assistant",
        "content": "",
        "parts": [{"type": "call", "id": "1", "name": "read", "arguments": arguments}],
    }
    [call] = body_of([message])["input"]
    assert call["arguments"] == sent


def answered(*parts: Part) -> list[str]:
    message: Message = {"role": "assistant", "content": "", "parts": list(parts)}
    return [item["type"] for item in body_of([message])["input"]]


def test_reasoning_that_nothing_follows_or_that_is_of_another_wire_is_left_out() -> None:
    reasoning: Part = {"type": "reasoning", "item": REASONING}
    other: Part = {"type": "reasoning", "item": {"type": "thinking", "signature": "x"}}
    said: Part = {"type": "text", "text": "Yes."}
    empty: Part = {"type": "text", "text": ""}
    assert answered(reasoning, said, reasoning, empty) == ["reasoning", "message"]
    assert answered(reasoning) == []
    assert answered(other, said) == ["message"]


IMAGE: ImagePart = {
    "type": "image",
    "digest": "d1",
    "media_type": "image/png",
    "width": 800,
    "height": 600,
    "size": 3,
}


def test_an_image_is_a_data_url_after_the_results() -> None:
    message: Message = {"role": "user", "content": "", "parts": [IMAGE, *parts_of(RESULTS)[1:]]}
    options = Options(read_image={"d1": b"abc"}.__getitem__)
    items = body_of([CALLS, message], options)["input"]
    image = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,YWJj"}
    assert [item["type"] for item in items[-3:]] == [
        "function_call_output",
        "function_call_output",
        "message",
    ]
    assert items[-1]["content"] == [image]


def test_images_of_a_result_are_in_it_where_the_endpoint_takes_them_there() -> None:
    nested: Part = {**parts_of(RESULTS)[1], "images": [IMAGE]}  # pyright: ignore[reportAssignmentType]
    message: Message = {"role": "user", "content": "A", "parts": [nested, parts_of(RESULTS)[2]]}
    image = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,YWJj"}
    options = Options(read_image={"d1": b"abc"}.__getitem__)
    first, _second = body_of([CALLS, message], options)["input"][-2:]
    assert first["output"] == [{"type": "input_text", "text": "A"}, image]
    elsewhere = ResponsesWire(Endpoint("xai", "https://api.example/v1", "m"))
    first, _second, after = json.loads(elsewhere.encode([CALLS, message], [], options))["input"][-3:]
    assert (first["output"], after["content"]) == ("A", [image])
    [*_, last] = body_of([CALLS, message])["input"]
    assert last["content"] == [{"type": "input_text", "text": "[image image/png 800×600]"}]


def test_an_image_that_cannot_be_sent_is_described() -> None:
    from_user: Message = {"role": "user", "content": "", "parts": [IMAGE]}
    from_model: Message = {"role": "assistant", "content": "", "parts": [IMAGE]}
    items = body_of([from_user, from_model])["input"]
    assert [item["content"][0]["text"] for item in items] == ["[image image/png 800×600]"] * 2


def test_options_are_fields_of_the_request_in_the_models_words() -> None:
    options = Options(tools=(TOOL,), effort="max", conversation="c1", tier="flex")
    body = body_of(MESSAGES, options, REASONS)
    assert {name: value for name, value in body.items() if name not in {"input", "instructions"}} == {
        "stream": True,
        "model": "m",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "xhigh", "summary": "auto", "context": "all_turns"},
        "prompt_cache_key": "c1",
        "service_tier": "flex",
        "tools": [{"type": "function", **TOOL, "strict": False}],
    }


@cases(
    ("effort", "word", "unknown"),
    [
        ("none", "none", "none"),
        ("medium", "low", "medium"),
        ("high", "high", "high"),
        ("max", "xhigh", "max"),
    ],
)
def test_an_effort_that_the_model_lacks_is_the_next_lower_one(
    effort: Effort, word: str, unknown: str
) -> None:
    options = Options(effort=effort)
    assert body_of(MESSAGES, options, REASONS)["reasoning"]["effort"] == word
    assert body_of(MESSAGES, options)["reasoning"] == {"effort": unknown}


def test_an_effort_below_all_of_the_models_is_its_lowest() -> None:
    facts = ModelFacts(efforts={"high": "xhigh"})
    assert body_of(MESSAGES, Options(effort="none"), facts)["reasoning"] == {"effort": "xhigh"}


@cases(
    ("refused", "field", "left"),
    [
        ("effort", "reasoning", {"summary": "auto", "context": "all_turns"}),
        ("reasoning.summary", "reasoning", {"effort": "low", "context": "all_turns"}),
        ("reasoning.context", "reasoning", {"effort": "low", "summary": "auto"}),
        ("reasoning", "reasoning", None),
        ("include", "include", None),
        ("prompt_cache_key", "prompt_cache_key", None),
        ("service_tier", "service_tier", None),
    ],
)
def test_what_was_refused_alone_is_left_out(refused: str, field: str, left: object) -> None:
    wire = ResponsesWire(ENDPOINT, REASONS)
    options = Options(effort="low", conversation="c1", tier="flex")
    whole, body = (json.loads(wire.encode(MESSAGES, given, options)) for given in ([], [refused]))
    assert body.get(field) == left
    assert body == {name: value for name, value in whole.items() if name != field} | (
        {} if left is None else {field: left}
    )


def item_event(kind: str, at: int | None, **item: object) -> dict[str, Any]:
    place = {} if at is None else {"output_index": at}
    return {"type": f"response.output_item.{kind}", **place, "item": {"type": "function_call", **item}}


def piece(text: str, at: int | None = 0, kind: str = "delta", **more: object) -> dict[str, Any]:
    key = "delta" if kind == "delta" else "arguments"
    place = {} if at is None else {"output_index": at}
    return {"type": f"response.function_call_arguments.{kind}", **place, key: text, **more}


def calls_of(*events: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    """The calls as an agent puts them together: id, name, arguments, and whether the end was marked."""
    calls: dict[int, tuple[str, str, str, bool]] = {}
    for frame in read(*events):
        for part in frame.native:
            assert isinstance(part, CallDelta)
            call_id, name, arguments, complete = calls.get(part.index, (part.id, part.name, "", False))
            assert not complete
            calls[part.index] = (call_id, name, arguments + part.arguments, part.complete)
    return [calls[index] for index in range(len(calls))]


BEGUN = item_event("added", 1, id="fc_1", call_id="call_1", name="read", arguments="")
DONE = item_event("done", 1, id="fc_1", call_id="call_1", name="read", arguments='{"path":"a"}')
READ = [("call_1", "read", '{"path":"a"}', True)]


@cases(
    ("events", "calls"),
    [
        ([BEGUN, piece('{"pa', 1), piece('th":"a"}', 1), piece('{"path":"a"}', 1, "done"), DONE], READ),
        ([BEGUN, DONE], READ),
        ([{**BEGUN, "item": {**BEGUN["item"], "arguments": "{}"}}, piece('{"path":"a"}', 1), DONE], READ),
        ([DONE], READ),
        ([DONE, DONE], READ),
        ([BEGUN, piece('{"path":"a"}', 1), piece("lost", 7), DONE], READ),
        ([BEGUN, piece('{"path":"a"}', 1, "done")], [("call_1", "read", '{"path":"a"}', False)]),
        ([BEGUN, piece('{"pa', 1)], [("call_1", "read", '{"pa', False)]),
        (
            [
                BEGUN,
                piece('{"pa', 1),
                {**DONE, "item": {**DONE["item"], "arguments": '{"path', "status": "incomplete"}},
            ],
            [("call_1", "read", '{"path', False)],
        ),
        ([piece('{"path":"a"}', 1), DONE], READ),
        ([{**BEGUN, "output_index": 5}, DONE], READ),
        ([item_event("added", 1, id="fc_1", name="read"), DONE], [("", "read", '{"path":"a"}', True)]),
        (
            [
                item_event("added", None, id="fc_1", call_id="call_1", name="read"),
                piece('{"path":', None, item_id="fc_1"),
                piece('"a"}', None, item_id="fc_1"),
                item_event("done", None, id="fc_1", call_id="call_1", name="read", arguments='{"path":"a"}'),
            ],
            READ,
        ),
        (
            [
                item_event("added", None, call_id="call_1", name="read"),
                piece('{"path":"a"}', None),
                item_event("done", None, call_id="call_1", name="read", arguments='{"path":"a"}'),
                item_event("added", None, call_id="call_2", name="list"),
                piece("{}", None),
                item_event("done", None, call_id="call_2", name="list", arguments="{}"),
            ],
            [*READ, ("call_2", "list", "{}", True)],
        ),
        (
            [
                BEGUN,
                item_event("added", 2, id="fc_2", call_id="call_2", name="list"),
                piece("{", 2),
                piece('{"path":"', 1),
                piece("}", 2),
                item_event("done", 2, id="fc_2", call_id="call_2", name="list", arguments="{}"),
                piece('a"}', 1),
                DONE,
            ],
            [*READ, ("call_2", "list", "{}", True)],
        ),
        (
            [
                BEGUN,
                piece('{"a":"\ud83d', 1),
                piece('\ude00"}', 1),
                {**DONE, "item": {"type": "function_call"}},
            ],
            [("call_1", "read", '{"a":"😀"}', True)],
        ),
    ],
)
def test_calls_are_read_in_any_of_the_pieces_that_servers_send(
    events: list[dict[str, Any]], calls: list[tuple[str, str, str, bool]]
) -> None:
    assert calls_of(*events) == calls


@given(st.lists(st.text(max_size=8), max_size=6), st.integers(0, 6))
def test_any_split_of_the_arguments_gives_the_same_call(pieces: list[str], streamed: int) -> None:
    whole = "".join(pieces)
    events = [BEGUN, *(piece(text, 1) for text in pieces[:streamed])]
    events += [piece(whole, 1, "done"), item_event("done", 1, call_id="call_1", name="read", arguments=whole)]
    numbered = [event | {"sequence_number": at} for at, event in enumerate(events)]
    assert calls_of(*numbered) == [("call_1", "read", whole, True)]
    doubled = [event for event in numbered for _time in range(2)]
    assert calls_of(*doubled) == [("call_1", "read", whole, True)]


def test_a_call_that_has_no_name_at_its_end_is_an_error() -> None:
    with pytest.raises(ProviderProtocolError, match="invalid Responses frame"):
        read(item_event("added", 1, call_id="call_1"), item_event("done", 1, call_id="call_1"))


def test_arguments_that_were_lost_on_the_way_are_noticed() -> None:
    events = [BEGUN, piece('{"pa', 1), piece("th", 1), piece('":', 1), piece('"a"}', 1)]
    numbered = [event | {"sequence_number": at} for at, event in enumerate(events)]
    with pytest.raises(NetworkError, match="was lost"):
        read(*numbered[:3], numbered[4])


@cases(
    ("item", "returned"),
    [
        (REASONING, True),
        ({"id": "rs_1", "type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm."}]}, True),
        ({"id": "rs_1", "type": "reasoning", "summary": []}, False),
        ({"id": "msg_1", "type": "message", "content": []}, False),
    ],
)
def test_reasoning_that_can_be_sent_back_is_an_item(item: dict[str, Any], returned: bool) -> None:
    [frame] = read({"type": "response.output_item.done", "output_index": 0, "item": item})
    assert frame == (Frame(native=[ReasoningItem(item)]) if returned else Frame())


def test_reasoning_stays_in_the_context_until_the_results_of_its_calls_are_answered() -> None:
    usage = {"input_tokens": 5, "output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 7}}
    reader = WIRE.reader()
    for event in (DONE, end(usage=usage)):
        reader.read_event(event)
    assert reader.retained == 10


def test_usage_names_the_model_and_the_tier_that_answered() -> None:
    usage = {"input_tokens": 5, "output_tokens": 2}
    [frame] = read(end(usage=usage, model="m-2026-11-01", service_tier="priority"))
    assert frame.usage == Usage(5, 2, model="m-2026-11-01", tier="priority")


def test_the_label_of_a_message_comes_back_with_its_text_alone() -> None:
    label: dict[str, Any] = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "content": [],
        "phase": "commentary",
    }
    [frame] = read({"type": "response.output_item.added", "output_index": 0, "item": label})
    [item] = [part.item for part in frame.native if isinstance(part, ReasoningItem)]
    message: Message = {
        "role": "assistant",
        "content": "Let me see.Done.",
        "parts": [
            {"type": "reasoning", "item": item},
            {"type": "text", "text": "Let me see."},
            {"type": "reasoning", "item": REASONING},
            {"type": "text", "text": "Done."},
            {"type": "reasoning", "item": item},
        ],
    }
    items = body_of([message])["input"]
    assert [(each["type"], each.get("phase")) for each in items] == [
        ("message", "commentary"),
        ("reasoning", None),
        ("message", None),
    ]
