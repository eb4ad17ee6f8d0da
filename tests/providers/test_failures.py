"""The map from statuses, bodies and exceptions to our errors."""

import inspect
import json
import socket
import ssl

import httpx
import httpx_sse

from cogency_tui import errors
from cogency_tui.errors import (
    AuthenticationError,
    BadRequestError,
    ContextTooLongError,
    ModelNotFoundError,
    NetworkError,
    OverloadedError,
    PermissionDeniedError,
    ProviderError,
    ProviderProtocolError,
    ProviderTimeoutError,
    RateLimitError,
)
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.failures import from_exception, from_frame, from_status, not_a_stream, retry_after
from cogency_tui.providers.refused_parameters import EFFORT, IMAGES, THINKING, UnsupportedParameterError
from tests.cases import cases

KEY = "sk-very-secret"
ENDPOINT = Endpoint("acme", "https://user:pw@api.acme.test/v1", "acme-1", "ACME_KEY", KEY)


def vendor(
    message: str, code: str | None = None, param: str | None = None, kind: str = "invalid_request_error"
) -> str:
    return json.dumps({"error": {"message": message, "type": kind, "param": param, "code": code}})


STATUSES: list[tuple[int, str, type[ProviderError]]] = [
    (400, vendor("Bad thing"), BadRequestError),
    (
        400,
        vendor("This model's maximum context length is 8192 tokens", "context_length_exceeded"),
        ContextTooLongError,
    ),
    (400, '{"error": "the request exceeds the available context size"}', ContextTooLongError),
    (
        400,
        '[{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}]',
        AuthenticationError,
    ),
    (
        400,
        vendor("Unsupported parameter: 'stream_options'", "unsupported_parameter", "stream_options"),
        UnsupportedParameterError,
    ),
    (
        422,
        '{"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]}',
        UnsupportedParameterError,
    ),
    (400, vendor("invalid reasoning, try again"), BadRequestError),
    (401, vendor(f"Incorrect API key provided: {KEY}.", "invalid_api_key"), AuthenticationError),
    (402, '{"error": {"message": "Insufficient credits", "code": 402}}', PermissionDeniedError),
    (403, vendor("Country not supported"), PermissionDeniedError),
    (404, vendor("The model `acme-1` does not exist", "model_not_found"), ModelNotFoundError),
    (404, '{"error": "model \\"acme-1\\" not found, try pulling it first"}', ModelNotFoundError),
    (404, "<!DOCTYPE html><html>Not here</html>", ProviderProtocolError),
    (404, "404 page not found", ProviderProtocolError),
    (405, "", ProviderProtocolError),
    (302, "", ProviderProtocolError),
    (408, "", ProviderTimeoutError),
    (409, vendor("Conflict"), OverloadedError),
    (413, "", ContextTooLongError),
    (422, '{"detail": "nope"}', BadRequestError),
    (429, vendor("Rate limit reached", "rate_limit_exceeded"), RateLimitError),
    (429, vendor("You exceeded your current quota", "insufficient_quota"), PermissionDeniedError),
    (500, vendor("The server had an error", kind="server_error"), OverloadedError),
    (502, "<html>Bad gateway</html>", OverloadedError),
    (503, "", OverloadedError),
    (529, vendor("Overloaded", kind="overloaded_error"), OverloadedError),
]


@cases(("status", "body", "kind"), STATUSES)
def test_a_status_becomes_the_right_error(status: int, body: str, kind: type[ProviderError]) -> None:
    error = from_status(ENDPOINT, status, {}, body)
    assert type(error) is kind
    assert error.hint
    assert KEY not in error.advice
    assert "\n" not in error.advice
    assert error.retryable == issubclass(kind, RateLimitError | OverloadedError | ProviderTimeoutError)


_LLAMACPP = {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}
_VLLM = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
_OPENROUTER = (
    "No endpoints found that support tool use. To learn more about provider routing, visit: https://x"
)
_WITH_EFFORT = (
    "Function tools with reasoning_effort are not supported for gpt-5.6-terra in /v1/chat/completions. To use "
    "function tools, use /v1/responses or set reasoning_effort to 'none'."
)
_UNREADABLE = (
    "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details."
)


@cases(
    ("status", "body", "hint"),
    [
        (400, vendor("registry.ollama.ai/library/gemma3:4b does not support tools"), "Use --dialect xml"),
        (500, json.dumps({"error": _LLAMACPP}), "Use --dialect xml"),
        (
            500,
            json.dumps({"error": _LLAMACPP | {"message": "Unsupported param: tools"}}),
            "Use --dialect xml",
        ),
        (400, vendor(_VLLM), "Use --dialect xml"),
        (404, json.dumps({"error": {"message": _OPENROUTER, "code": 404}}), "Use --dialect xml"),
        (400, vendor("`tool calling` is not supported with this model"), "Use --dialect xml"),
        (400, vendor(_WITH_EFFORT, param="reasoning_effort"), 'Set api = "responses"'),
        (400, vendor(_UNREADABLE, "tool_use_failed"), "Try again, or use --dialect xml"),
    ],
)
def test_a_refusal_of_tools_names_the_dialect_without(status: int, body: str, hint: str) -> None:
    error = from_status(ENDPOINT, status, {}, body)
    assert type(error) is BadRequestError
    assert hint in error.hint
    assert "acme refused the tools of the request (HTTP" in str(error)


def test_a_call_that_llamacpp_cannot_read_is_written_again() -> None:
    body = json.dumps({"error": {"code": 500, "message": "Failed to parse input at pos 12: <tool_call>"}})
    error = from_status(ENDPOINT, 500, {}, body)
    assert error.retryable
    assert "--dialect xml" in error.hint


_MISTRAL = {"loc": ["body", "reasoning_effort"], "msg": "Input should be 'none' or 'high'", "type": "enum"}


@cases(
    "body",
    [
        vendor("Unsupported value: 'reasoning_effort' does not support 'max'.", param="reasoning_effort"),
        vendor("`reasoning_effort` is not supported with this model"),
        vendor("property 'reasoning_effort' is unsupported, did you mean 'reasoning_format'?"),
        vendor('"gemma3:4b" does not support thinking', kind="api_error"),
        json.dumps(
            {"code": "invalid argument", "error": "Argument not supported on this model: reasoningEffort"}
        ),
        json.dumps({"detail": [_MISTRAL]}),
    ],
)
def test_a_refused_effort_is_known_in_every_vendors_words(body: str) -> None:
    error = from_status(ENDPOINT, 400, {}, body)
    assert isinstance(error, UnsupportedParameterError)
    assert error.param == EFFORT


def test_a_refused_switch_is_known_without_quotes() -> None:
    body = vendor("The value of the enable_thinking parameter is restricted to True.")
    error = from_status(ENDPOINT, 400, {}, body)
    assert isinstance(error, UnsupportedParameterError)
    assert error.param == THINKING


@cases(
    "body",
    [
        vendor("Invalid content type. image_url is only supported by certain models.", param="messages"),
        vendor("image input is not supported - hint: you may need to provide the mmproj"),
        vendor("m is not a multimodal model"),
        vendor("this model is missing data required for image input", kind="api_error"),
        vendor("messages.0.content.1.image.source.base64.data: Could not process image"),
        vendor("messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6 bytes > 5 bytes"),
        vendor("Failed to deserialize: messages[0]: unknown variant `image_url`, expected `text`"),
        vendor("No endpoints found that support image input: this model does not support images"),
        vendor("Provided image is not valid: unable to process input image"),
    ],
)
def test_refused_images_are_known_in_every_vendors_words(body: str) -> None:
    error = from_status(ENDPOINT, 400, {}, body)
    assert isinstance(error, UnsupportedParameterError)
    assert error.param == IMAGES
    assert "goes on without the images" in error.hint


@cases(
    "body", [vendor("Invalid revision of the model"), vendor("imaged: not supported"), vendor("image: busy")]
)
def test_other_errors_are_no_refusal_of_images(body: str) -> None:
    assert type(from_status(ENDPOINT, 400, {}, body)) is BadRequestError


@cases(
    ("status", "body", "kind"),
    [
        (500, vendor("The tool server had an error"), OverloadedError),
        (400, vendor("messages.3: tool_call_id is not supported here"), BadRequestError),
        (
            400,
            vendor("Function tools with reasoning_effort are not supported.", param="reasoning_effort"),
            UnsupportedParameterError,
        ),
    ],
)
def test_other_errors_about_tools_are_no_refusal_of_them(
    status: int, body: str, kind: type[ProviderError]
) -> None:
    error = from_status(ENDPOINT, status, {}, body)
    assert type(error) is kind
    assert "--dialect" not in error.hint


@cases(
    ("endpoint", "hint"),
    [
        (ENDPOINT, "Set ACME_KEY to a valid key in the shell that starts cogency-tui"),
        (
            Endpoint("mine", "https://mine.test/v1", "m"),
            'Set key_env = "VARIABLE" under [providers.mine] in the configuration',
        ),
    ],
)
def test_a_wrong_key_leads_to_where_it_is_set(endpoint: Endpoint, hint: str) -> None:
    assert hint in from_status(endpoint, 401, {}, "").hint


def test_the_endpoints_own_words_are_kept_short_and_without_keys_and_controls() -> None:
    error = from_status(ENDPOINT, 400, {}, vendor(f"Look:\n\x1b[2J{KEY} " + "x" * 1000))
    assert "Look: [2J[key] xxx" in str(error)
    assert len(str(error)) < 500


def test_a_redirect_names_its_target_without_following_it() -> None:
    error = from_status(ENDPOINT, 301, {"location": "https://elsewhere.test/"}, "")
    assert "https://elsewhere.test/" in str(error)


def test_waits_that_are_asked_for_are_kept() -> None:
    error = from_status(ENDPOINT, 429, {"retry-after": "7"}, "")
    assert isinstance(error, RateLimitError)
    assert error.retry_after == 7
    error = from_status(ENDPOINT, 503, {"retry-after-ms": "1500", "retry-after": "9"}, "")
    assert isinstance(error, OverloadedError)
    assert error.retry_after == 1.5


@cases(
    ("given", "wait"),
    [
        ("3", 3),
        ("0.25", 0.25),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 40),
        ("soon", None),
        ("", None),
        ("-5", None),
        ("1e9", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(given: str, wait: float | None) -> None:
    assert retry_after({"retry-after": given}, now=60) == wait


def test_a_date_that_has_passed_is_no_wait() -> None:
    assert retry_after({"retry-after": "Thu, 01 Jan 1970 00:00:10 GMT"}, now=60) == 0


FRAMES: list[tuple[object, type[ProviderError]]] = [
    ({"message": "slow", "type": "rate_limit_error"}, RateLimitError),
    ({"message": "busy", "type": "overloaded_error"}, OverloadedError),
    ({"message": "oops", "type": "server_error", "code": None}, OverloadedError),
    ({"message": "no", "type": "authentication_error"}, AuthenticationError),
    ({"message": "no", "code": 401}, AuthenticationError),
    ({"message": "no model", "type": "not_found_error"}, ModelNotFoundError),
    ({"message": "maximum context length", "type": "invalid_request_error"}, ContextTooLongError),
    ({"message": "insufficient_quota", "code": "insufficient_quota"}, PermissionDeniedError),
    ("llama runner process has terminated", OverloadedError),
    (["odd"], OverloadedError),
    (5, OverloadedError),
]


@cases(("error", "kind"), FRAMES)
def test_an_error_object_inside_a_200_becomes_the_right_error(
    error: object, kind: type[ProviderError]
) -> None:
    assert type(from_frame(ENDPOINT, error)) is kind


@cases(
    ("content_type", "body", "kind", "words"),
    [
        ("text/html", "<html>", ProviderProtocolError, "HTML page"),
        ("", "  <!DOCTYPE html>", ProviderProtocolError, "HTML page"),
        ("application/json", '{"error": {"message": "no", "code": 401}}', AuthenticationError, "no"),
        ("application/json", '{"choices": []}', ProviderProtocolError, "non-streaming response"),
        ("", "", ProviderProtocolError, "empty"),
    ],
)
def test_a_200_that_is_no_stream_says_what_it_is(
    content_type: str, body: str, kind: type[ProviderError], words: str
) -> None:
    error = not_a_stream(ENDPOINT, content_type, body)
    assert type(error) is kind
    assert words in str(error)


def exception(kind: type[Exception]) -> Exception:
    if issubclass(kind, OSError):
        return kind("said")
    parameters = inspect.signature(kind).parameters
    if issubclass(kind, httpx.HTTPStatusError):
        request = httpx.Request("POST", "https://api.acme.test")
        return kind("said", request=request, response=httpx.Response(500))  # pyright: ignore[reportCallIssue]
    return kind("said") if parameters else kind()


def foreign() -> list[type[Exception]]:
    found = [
        value for module in (httpx, httpx_sse) for value in vars(module).values() if inspect.isclass(value)
    ]
    kinds = (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, httpx_sse.SSEError)
    return [kind for kind in found if issubclass(kind, kinds)]


@cases("kind", [*foreign(), OSError, ssl.SSLError, ConnectionResetError])
def test_every_foreign_exception_is_mapped(kind: type[Exception]) -> None:
    error = from_exception(ENDPOINT, exception(kind))
    assert type(error) in vars(errors).values()
    assert error.hint
    assert "pw@" not in error.advice


def caused(cause: BaseException) -> httpx.ConnectError:
    error = httpx.ConnectError("All connection attempts failed")
    error.__cause__ = cause
    return error


@cases(
    ("cause", "base_url", "words", "retryable"),
    [
        (ConnectionRefusedError(), "http://127.0.0.1:1/v1", "Nothing is listening on 127.0.0.1:1", False),
        (ConnectionRefusedError(), "https://api.acme.test/v1", "No connection to api.acme.test", True),
        (socket.gaierror(socket.EAI_NONAME, "unknown"), "https://x.test/v1", "Cannot resolve x.test", False),
        (socket.gaierror(socket.EAI_AGAIN, "again"), "https://x.test/v1", "Cannot resolve x.test", True),
        (
            ExceptionGroup("all", [socket.gaierror(socket.EAI_AGAIN, "again")]),
            "https://x.test/v1",
            "Cannot resolve",
            True,
        ),
        (
            ssl.SSLCertVerificationError("self-signed"),
            "https://x.test/v1",
            "No secure connection to x.test",
            False,
        ),
    ],
)
def test_why_there_is_no_connection_is_told(
    cause: BaseException, base_url: str, words: str, retryable: bool
) -> None:
    error = from_exception(Endpoint("acme", base_url, "m"), caused(cause))
    assert type(error) is NetworkError
    assert words in str(error)
    assert error.retryable is retryable
    assert NetworkError.retryable
