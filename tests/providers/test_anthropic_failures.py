"""The refusals of Anthropic that a request can do without, and those of message threads."""

import json
from typing import Any

from cogency_tui.errors import BadRequestError, ModelNotFoundError, SessionLostError, SessionRefusedError
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.failures import from_frame, from_status
from cogency_tui.providers.refused_parameters import (
    EFFORT,
    RETURNED_REASONING,
    THINKING,
    UnsupportedParameterError,
)
from tests.cases import cases

ENDPOINT = Endpoint("anthropic", "https://api.anthropic.com", "claude-x", "ANTHROPIC_API_KEY", "sk-secret")


def body(message: str, kind: str = "invalid_request_error", **details: Any) -> str:
    error = {"type": kind, "message": message} | ({"details": details} if details else {})
    return json.dumps({"type": "error", "error": error, "request_id": "req_1"})


@cases(
    ("message", "param"),
    [
        ("This model does not support the effort parameter.", EFFORT),
        ("output_config.effort: Extra inputs are not permitted", EFFORT),
        ("output_config: Extra inputs are not permitted", EFFORT),
        ("adaptive thinking is not supported on this model", THINKING),
        (
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
            '"output_config.effort" to control thinking behavior.',
            THINKING,
        ),
        ("thinking.adaptive.display: Extra inputs are not permitted", THINKING),
        (
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When "
            "`thinking` is enabled, a final `assistant` message must start with a thinking block.",
            THINKING,
        ),
        ("tools.0.custom.eager_input_streaming: Extra inputs are not permitted", "eager_input_streaming"),
        ('anthropic-version: "2026-10-21" is not a valid version', "anthropic-version"),
        ("Unexpected value(s) `new-2026` for the `anthropic-beta` header.", "anthropic-beta"),
        ("service_tier: Extra inputs are not permitted", "service_tier"),
        ("messages.1.content.0: Invalid `signature` in `thinking` block", RETURNED_REASONING),
        (
            "messages.3.content.16: `thinking` or `redacted_thinking` blocks in the latest assistant message "
            "cannot be modified. These blocks must remain as they were in the original response.",
            RETURNED_REASONING,
        ),
    ],
)
def test_what_a_request_can_do_without_is_named(message: str, param: str) -> None:
    error = from_status(ENDPOINT, 400, {}, body(message))
    assert isinstance(error, UnsupportedParameterError)
    assert error.param == param


@cases(
    "message",
    [
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.",
        "messages.0.content.1.image.source.base64.data: Image does not match the provided media type",
        "max_tokens: 200000 > 128000, which is the maximum allowed number of output tokens for claude-x",
    ],
)
def test_other_refusals_are_the_requests(message: str) -> None:
    assert type(from_status(ENDPOINT, 400, {}, body(message))) is BadRequestError


@cases(
    ("code", "status", "words"),
    [
        ("thread_not_found", 404, "The session with anthropic is no longer held there."),
        ("thread_already_continued", 400, "The session with anthropic was continued elsewhere."),
        ("thread_continue_in_flight", 400, "The session with anthropic is being continued elsewhere."),
        ("thread_fingerprint_mismatch", 400, "The session with anthropic has other settings."),
    ],
)
def test_a_thread_that_cannot_be_continued_is_a_lost_session(code: str, status: int, words: str) -> None:
    said = body("previous_message_id: no usable thread for this model", "x_error", error_code=code)
    for error in (from_status(ENDPOINT, status, {}, said), from_frame(ENDPOINT, json.loads(said))):
        assert type(error) is SessionLostError
        assert str(error) == words
        assert not error.retryable


def test_a_request_that_threads_do_not_support_refuses_the_session() -> None:
    details: dict[str, Any] = {"error_code": "thread_unsupported_request", "unsupported": ["hipaa"]}
    error = from_status(ENDPOINT, 400, {}, body("thread: not for this organization", **details))
    assert type(error) is SessionRefusedError
    assert "not for this organization" in str(error)


def test_a_model_that_is_not_found_is_no_thread() -> None:
    error = from_status(ENDPOINT, 404, {}, body("model: claude-x", "not_found_error"))
    assert type(error) is ModelNotFoundError
