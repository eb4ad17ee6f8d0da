"""Gemini's wire formats, without sockets."""

import json
from typing import Any

import pytest

from cogency_tui.errors import (
    AuthenticationError,
    BadRequestError,
    ContextTooLongError,
    ModelNotFoundError,
    OverloadedError,
    PermissionDeniedError,
    ProviderError,
    ProviderProtocolError,
    ProviderTimeoutError,
    RateLimitError,
)
from cogency_tui.protocol.messages import Message
from cogency_tui.providers import failures
from cogency_tui.providers.base import Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.gemini import GeminiWire
from cogency_tui.providers.gemini_interactions import InteractionsWire
from cogency_tui.providers.gemini_interactions_reader import InteractionsReader
from cogency_tui.providers.gemini_live import live_url
from cogency_tui.providers.models import ModelFacts
from cogency_tui.providers.refused_parameters import (
    CALL_IDS,
    EFFORT,
    RETURNED_REASONING,
    THINKING,
    TIER,
    UnsupportedParameterError,
)
from tests.cases import cases
from tests.peers.gemini import error_body, exhausted

ENDPOINT = Endpoint("gemini", "https://api.example", "some-model", "GEMINI_API_KEY", "secret-key")
REASONS = ModelFacts(reasoning=True)
WIRE = GeminiWire(ENDPOINT, REASONS)
SYSTEM: Message = {"role": "system", "content": "Be brief."}
ASKED: Message = {"role": "user", "content": "Hi."}
SAID: Message = {"role": "assistant", "content": "Hello."}


@cases(
    ("base", "model", "path"),
    [
        ("https://g.example", "m", "/v1beta/models/m:streamGenerateContent?alt=sse"),
        ("https://g.example/", "models/m", "/v1beta/models/m:streamGenerateContent?alt=sse"),
        ("https://g.example/v1", "m", "/models/m:streamGenerateContent?alt=sse"),
        ("https://g.example/v1beta/", "m", "/models/m:streamGenerateContent?alt=sse"),
        ("https://g.example/vertex", "m", "/v1beta/models/m:streamGenerateContent?alt=sse"),
        ("https://g.example", "tunedModels/m", "/v1beta/tunedModels/m:streamGenerateContent?alt=sse"),
        ("https://g.example", "m?key=#1", "/v1beta/models/m%3Fkey%3D%231:streamGenerateContent?alt=sse"),
    ],
)
def test_the_version_stands_in_the_address_once(base: str, model: str, path: str) -> None:
    assert GeminiWire(Endpoint("gemini", base, model)).path == path


def test_another_version_can_be_had() -> None:
    wire = GeminiWire(ENDPOINT, version="v1")
    assert (wire.path.split(":")[0], wire.models_path) == (
        "/v1/models/some-model",
        "/v1/models?pageSize=1000",
    )
    assert InteractionsWire(ENDPOINT, version="v1").path == "/v1/interactions"


SERVICE = "GenerativeService.BidiGenerateContent"


@pytest.mark.parametrize(
    ("base", "version", "url"),
    [
        (
            "https://g.example",
            "v1beta",
            f"wss://g.example/ws/google.ai.generativelanguage.v1beta.{SERVICE}",
        ),
        (
            "http://127.0.0.1:80/v1/",
            "v1beta",
            f"ws://127.0.0.1:80/ws/google.ai.generativelanguage.v1.{SERVICE}",
        ),
        (
            "https://g.example/proxy",
            "v1",
            f"wss://g.example/proxy/ws/google.ai.generativelanguage.v1.{SERVICE}",
        ),
    ],
)
def test_the_version_is_part_of_the_name_of_the_live_service(base: str, version: str, url: str) -> None:
    assert live_url(base, version) == url


def test_the_key_is_in_a_header_alone() -> None:
    assert WIRE.headers() == {"x-goog-api-key": "secret-key"}
    assert InteractionsWire(ENDPOINT).headers() == {"x-goog-api-key": "secret-key"}
    assert GeminiWire(Endpoint("gemini", "http://127.0.0.1", "m")).headers() == {}
    assert "secret-key" not in WIRE.path + WIRE.models_path + live_url(ENDPOINT.base_url)


def test_turns_alternate_and_the_system_prompt_stands_apart() -> None:
    messages: list[Message] = [SYSTEM, ASKED, {"role": "user", "content": "a\ud83d"}, SAID, ASKED]
    body = json.loads(WIRE.encode(messages, []))
    assert body == {
        "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Hi."}, {"text": "a\ufffd"}]},
            {"role": "model", "parts": [{"text": "Hello."}]},
            {"role": "user", "parts": [{"text": "Hi."}]},
        ],
    }


def test_what_is_empty_or_refused_is_left_out() -> None:
    messages: list[Message] = [ASKED, {"role": "assistant", "content": ""}, ASKED]
    assert json.loads(WIRE.encode(messages, [THINKING])) == {
        "contents": [{"role": "user", "parts": [{"text": "Hi."}, {"text": "Hi."}]}]
    }
    assert "thinkingConfig" not in GeminiWire(ENDPOINT).encode([ASKED], []).decode()


def test_a_request_begins_with_the_bytes_of_the_one_before() -> None:
    first = WIRE.encode([SYSTEM, ASKED], [])
    second = WIRE.encode([SYSTEM, ASKED, SAID, ASKED], [])
    assert second.startswith(first.removesuffix(b"]}"))


def chunk(*parts: dict[str, Any], **candidate: object) -> str:
    return json.dumps({"candidates": [{"content": {"role": "model", "parts": parts}, **candidate}]})


@cases(
    ("data", "text", "reasoning"),
    [
        (chunk({"text": "hi"}), "hi", ""),
        (chunk({"text": "hm", "thought": True}, {"text": "hi", "thoughtSignature": "x"}), "hi", "hm"),
        (chunk({"functionCall": {}}, {"text": 3}), "", ""),
        ('{"candidates": [{"finishReason": "STOP"}]}', "", ""),
        ('{"candidates": [{"content": {"role": "model"}}]}', "", ""),
        ('{"candidates": []}', "", ""),
        ('{"responseId": "x", "modelStatus": {}}', "", ""),
        (f"[{chunk({'text': 'hi'})}]", "hi", ""),
    ],
)
def test_parts_of_all_kinds_are_read(data: str, text: str, reasoning: str) -> None:
    read = WIRE.reader().read("message", data)
    assert (read.text, read.reasoning) == (text, reasoning)


@cases(
    ("reason", "finish"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "filter"),
        ("RECITATION", "filter"),
        ("BLOCKLIST", "filter"),
        ("PROHIBITED_CONTENT", "filter"),
        ("SPII", "filter"),
        ("LANGUAGE", "other"),
        ("NEVER_HEARD_OF", "other"),
        ("FINISH_REASON_UNSPECIFIED", ""),
        (None, ""),
    ],
)
def test_reasons_to_stop_are_read(reason: str | None, finish: str) -> None:
    assert WIRE.reader().read("message", chunk(finishReason=reason)).finish == finish


def test_a_call_of_a_tool_that_is_not_there_is_an_error_with_the_vendors_words() -> None:
    data = chunk(finishReason="MALFORMED_FUNCTION_CALL", finishMessage="Malformed function call: read()")
    with pytest.raises(
        ProviderProtocolError, match=r"MALFORMED_FUNCTION_CALL: Malformed function call: read"
    ):
        WIRE.reader().read("message", data)


def test_a_question_that_is_blocked_is_the_filters() -> None:
    data = (
        '{"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 4}}'
    )
    read = WIRE.reader().read("message", data)
    assert (read.finish, read.usage) == ("filter", Usage(4, 0, 0))
    allowed = '{"promptFeedback": {"safetyRatings": []}, "candidates": [{"finishReason": "STOP"}]}'
    assert WIRE.reader().read("message", allowed).finish == "stop"


@cases(
    ("counts", "usage"),
    [
        ({"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7}, Usage(5, 2, 0)),
        (
            {
                "promptTokenCount": 50,
                "candidatesTokenCount": 2,
                "thoughtsTokenCount": 3,
                "cachedContentTokenCount": 40,
            },
            Usage(50, 5, 40),
        ),
        ({"promptTokenCount": 5}, Usage(5, 0, 0)),
        ({"candidatesTokenCount": 5}, None),
        ({"promptTokenCount": True}, None),
        (None, None),
    ],
)
def test_usage_counts_thoughts_as_output(counts: object, usage: Usage | None) -> None:
    assert WIRE.reader().read("message", json.dumps({"usageMetadata": counts})).usage == usage


@cases("data", ["not json", '"x"', "[]", "[1]", "{", '{"candidates": 1}', "[" * 100_000])
def test_what_is_no_chunk_is_an_error_that_shows_it(data: str) -> None:
    with pytest.raises(ProviderProtocolError) as caught:
        WIRE.reader().read("message", data)
    assert data[:20] in str(caught.value)


@pytest.mark.parametrize("wrapped", ["%s", "[%s]"])
def test_errors_in_mid_stream_are_mapped(wrapped: str) -> None:
    with pytest.raises(OverloadedError, match="overloaded"):
        WIRE.reader().read("message", wrapped % error_body(503, "UNAVAILABLE", "The model is overloaded."))
    with pytest.raises(RateLimitError) as caught:
        WIRE.reader().read("message", wrapped % exhausted(13.5))
    assert caught.value.retry_after == 13.5


def test_models_that_generate_content_are_listed_by_their_names() -> None:
    listed = [
        {"name": "models/b", "supportedGenerationMethods": ["generateContent"]},
        {"name": "models/e", "supportedGenerationMethods": ["embedContent"]},
        {"name": "models/a"},
        {},
        7,
    ]
    for wire in (WIRE, InteractionsWire(ENDPOINT)):
        assert [each.name for each in wire.models({"models": listed})] == ["a", "b"]


LIMIT = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
MISSING = "models/nope is not found for API version v1beta, or is not supported for generateContent."


@cases(
    ("status", "body", "kind"),
    [
        (
            400,
            error_body(400, "INVALID_ARGUMENT", "API key not valid. Pass a valid one."),
            AuthenticationError,
        ),
        (400, error_body(400, "INVALID_ARGUMENT", "API key expired. Renew it."), AuthenticationError),
        (400, error_body(400, "INVALID_ARGUMENT", "API Key not found."), AuthenticationError),
        (400, error_body(400, "INVALID_ARGUMENT", LIMIT), ContextTooLongError),
        (404, error_body(404, "NOT_FOUND", MISSING), ModelNotFoundError),
        (404, error_body(404, "NOT_FOUND", "Requested entity was not found."), ProviderProtocolError),
        (403, error_body(403, "PERMISSION_DENIED", "No access."), PermissionDeniedError),
        (429, exhausted(13), RateLimitError),
        (429, exhausted(40, "GenerateRequestsPerDayPerProjectPerModel-FreeTier"), PermissionDeniedError),
        (429, f"[{exhausted(13)}]", RateLimitError),
        (503, error_body(503, "UNAVAILABLE", "The model is overloaded."), OverloadedError),
        (504, error_body(504, "DEADLINE_EXCEEDED", "Deadline expired."), OverloadedError),
        (400, error_body(400, "INVALID_ARGUMENT", "Request contains an invalid argument."), BadRequestError),
        (400, '{"error": {"message": "Thinking is fun.", "code": "invalid_request"}}', BadRequestError),
        (400, 'event: error\ndata: {"error": {"message": "API key not valid."}}\n\n', AuthenticationError),
    ],
)
def test_the_vendors_refusals_are_mapped(status: int, body: str, kind: type[ProviderError]) -> None:
    error = failures.from_status(ENDPOINT, status, {}, body)
    assert type(error) is kind
    assert "secret-key" not in error.advice


@cases(
    ("name", "kind"),
    [
        ("resource_exhausted", RateLimitError),
        ("unauthenticated", AuthenticationError),
        ("invalid_argument", BadRequestError),
        ("deadline_exceeded", ProviderTimeoutError),
        ("permission_denied", PermissionDeniedError),
        ("internal", OverloadedError),
    ],
)
def test_names_of_errors_are_known_without_a_status(name: str, kind: type[ProviderError]) -> None:
    assert type(failures.from_frame(ENDPOINT, {"code": name, "message": "So it is."})) is kind


@cases(
    "words",
    [
        "Thinking is not enabled for models/some-model",
        "Unable to submit request because thinking is not supported by this model. Learn more: https://x",
        "Unable to submit request because Thinking_config.include_thoughts is only enabled when thinking is enabled..",
        "Invalid JSON payload received. Unknown name \"thinkingConfig\" at 'generation_config': Cannot find field.",
        "thinking is not configurable in this model; please remove the thinking_config setting",
    ],
)
def test_a_model_that_does_not_think_can_do_without(words: str) -> None:
    error = failures.from_status(ENDPOINT, 400, {}, error_body(400, "INVALID_ARGUMENT", words))
    assert isinstance(error, UnsupportedParameterError)
    assert error.param == THINKING


@cases(
    ("words", "param"),
    [
        ("Thinking level is not supported for this model.", EFFORT),
        ("Thinking level MINIMAL is not supported for this model. Please retry with other level.", EFFORT),
        (
            "Invalid value at 'generation_config.thinking_config.thinking_level' (TYPE_ENUM), \"ultra\"",
            EFFORT,
        ),
        ("The thinking budget 0 is invalid. Please choose a value between 128 and 32768.", EFFORT),
        ('Invalid JSON payload received. Unknown name "serviceTier": Cannot find field.', TIER),
        ("Unknown parameter 'service_tier'.", TIER),
        ("Corrupted thought signature.", RETURNED_REASONING),
        ("Invalid thought_signature in content 3.", RETURNED_REASONING),
        ("Unable to submit request because Thought signature is not valid..", RETURNED_REASONING),
        ("Unknown name \"id\" at 'contents[1].parts[0].function_call': Cannot find field.", CALL_IDS),
    ],
)
def test_a_refused_setting_or_signature_can_be_left_out(words: str, param: str) -> None:
    error = failures.from_status(ENDPOINT, 400, {}, error_body(400, "INVALID_ARGUMENT", words))
    assert isinstance(error, UnsupportedParameterError)
    assert error.param == param


def test_a_missing_signature_is_no_refusal_of_signatures() -> None:
    words = "Function call is missing a thought_signature in functionCall parts."
    error = failures.from_status(ENDPOINT, 400, {}, error_body(400, "INVALID_ARGUMENT", words))
    assert type(error) is BadRequestError


# Interactions.


def test_an_interaction_brings_steps_and_names_the_last_one() -> None:
    wire = InteractionsWire(Endpoint("gemini", "https://g.example", "models/m"), REASONS)
    body = json.loads(wire.encode([SYSTEM, ASKED, SAID, ASKED], []))
    assert body == {
        "model": "m",
        "stream": True,
        "store": True,
        "generation_config": {"thinking_summaries": "auto"},
        "system_instruction": "Be brief.",
        "input": [
            {"type": "user_input", "content": [{"type": "text", "text": "Hi."}]},
            {"type": "model_output", "content": [{"type": "text", "text": "Hello."}]},
            {"type": "user_input", "content": [{"type": "text", "text": "Hi."}]},
        ],
    }
    wire.previous = "v1_1"
    body = json.loads(wire.encode([{"role": "user", "content": "a\ud83d"}], [THINKING]))
    assert body == {
        "model": "m",
        "stream": True,
        "store": True,
        "previous_interaction_id": "v1_1",
        "input": [{"type": "user_input", "content": [{"type": "text", "text": "a\ufffd"}]}],
    }


def read_event(event: object, name: str = "message") -> Any:
    return InteractionsReader(ENDPOINT).read(name, event if isinstance(event, str) else json.dumps(event))


def started(kind: str, **step: object) -> dict[str, object]:
    return {"event_type": "step.start", "index": 0, "step": {"type": kind, **step}}


def delta(kind: str, **given: object) -> dict[str, object]:
    return {"event_type": "step.delta", "index": 0, "delta": {"type": kind, **given}}


HI = {"type": "text", "text": "hi"}


@cases(
    ("event", "text", "reasoning"),
    [
        (started("model_output", content=[HI, HI]), "hihi", ""),
        (started("model_output"), "", ""),
        (started("thought", summary=[HI]), "", "hi"),
        (started("user_input", content=[HI]), "", ""),
        (delta("text", text="hi"), "hi", ""),
        (delta("thought_summary", content=HI), "", "hi"),
        (delta("thought_summary"), "", ""),
        (delta("thought_signature", signature="x"), "", ""),
        (delta("never_heard_of"), "", ""),
        ({"event_type": "step.stop", "index": 0}, "", ""),
        ({"event_type": "interaction.created", "interaction": {"id": "x"}}, "", ""),
        ({"event_type": "never.heard.of"}, "", ""),
    ],
)
def test_steps_of_all_kinds_are_read(event: object, text: str, reasoning: str) -> None:
    read = read_event(event)
    assert (read.text, read.reasoning, read.complete) == (text, reasoning, False)


def test_the_name_of_an_event_may_stand_outside_of_it() -> None:
    assert read_event({"delta": {"type": "text", "text": "hi"}}, "step.delta").text == "hi"
    assert read_event("[DONE]", "done").complete
    with pytest.raises(ProviderProtocolError):
        read_event({"delta": {"type": "text", "text": "hi"}})


@cases(
    ("status", "finish", "completed"),
    [
        ("completed", "stop", "v1_1"),
        ("incomplete", "length", ""),
        ("requires_continuation", "length", ""),
        ("budget_exceeded", "length", ""),
        ("cancelled", "other", ""),
        ("requires_action", "stop", "v1_1"),
    ],
)
def test_only_a_completed_interaction_is_gone_on_from(status: str, finish: str, completed: str) -> None:
    usage = {"total_input_tokens": 50, "total_output_tokens": 2, "total_thought_tokens": 3}
    reader = InteractionsReader(ENDPOINT)
    interaction = {"id": "v1_1", "status": status, "usage": usage}
    frame = reader.read("", json.dumps({"event_type": "interaction.completed", "interaction": interaction}))
    assert (frame.finish, frame.usage) == (finish, Usage(50, 5, 0))
    assert (reader.completed, reader.thought) == (completed, 3)


def test_the_end_need_not_name_the_interaction_again() -> None:
    reader = InteractionsReader(ENDPOINT)
    reader.read("", json.dumps({"event_type": "interaction.created", "interaction": {"id": "v1_1"}}))
    reader.read(
        "", json.dumps({"event_type": "interaction.completed", "interaction": {"status": "completed"}})
    )
    assert reader.completed == "v1_1"


@cases(
    ("usage", "read"),
    [
        ({"total_input_tokens": 5, "total_output_tokens": 2, "total_cached_tokens": 4}, Usage(5, 2, 4)),
        ({"total_input_tokens": 5}, Usage(5, 0, 0)),
        ({"total_tokens": 5}, None),
        (None, None),
    ],
)
def test_totals_are_read_or_count_as_missing(usage: object, read: Usage | None) -> None:
    interaction = {"id": "x", "status": "completed", "usage": usage}
    assert read_event({"event_type": "interaction.completed", "interaction": interaction}).usage == read


@cases(
    ("event", "name", "kind", "words"),
    [
        (
            {"event_type": "error", "error": {"code": "rate_limit_exceeded", "message": "slow"}},
            "error",
            RateLimitError,
            "slow",
        ),
        ({"error": {"code": "internal", "message": "boom"}}, "error", OverloadedError, "boom"),
        ({"event_type": "error"}, "error", OverloadedError, "error"),
        (
            {
                "event_type": "interaction.completed",
                "interaction": {"status": "failed", "errors": [{"code": "internal", "message": "boom"}]},
            },
            "",
            OverloadedError,
            "boom",
        ),
        (
            {"event_type": "interaction.completed", "interaction": {"status": "failed"}},
            "",
            OverloadedError,
            "failed",
        ),
        (delta("text"), "", ProviderProtocolError, "text"),
        ("nonsense", "", ProviderProtocolError, "nonsense"),
    ],
)
def test_errors_of_an_interaction_are_mapped(
    event: object, name: str, kind: type[ProviderError], words: str
) -> None:
    with pytest.raises(kind, match=words):
        read_event(event, name)
