"""The Responses wire format, without sockets."""

import json
from typing import Any

import pytest

from cogency_tui.errors import (
    BadRequestError,
    ContextTooLongError,
    ModelNotFoundError,
    OverloadedError,
    PermissionDeniedError,
    ProviderError,
    ProviderProtocolError,
    RateLimitError,
)
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.failures import UnsupportedParameterError
from cogency_tui.providers.openai_responses import ResponsesReader, ResponsesWire
from cogency_tui.providers.wire_protocol import Frame
from tests.cases import cases

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
    wire = ResponsesWire(ENDPOINT, summaries=True)
    assert json.loads(wire.encode(MESSAGES, []))["reasoning"] == {"summary": "auto"}
    assert "reasoning" not in json.loads(wire.encode(MESSAGES, ["reasoning"]))


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
    assert WIRE.models({"object": "list", "data": [{"id": "b"}, {"id": "a"}]}) == ["a", "b"]
