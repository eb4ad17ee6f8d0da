"""Maps the errors of endpoints and of the network to ours; nothing else does.

Every error created here is a `ProviderError` with a next step for the user, quotes the endpoint's own words
on one line, and never contains a key.
"""

import json
import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from typing import cast
from urllib.parse import urlsplit

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
    SessionLostError,
    SessionRefusedError,
)
from cogency_tui.providers.endpoint import Endpoint, Reported, read_error
from cogency_tui.providers.refused_parameters import IMAGES, UnsupportedParameterError, refused_parameter
from cogency_tui.providers.tls_mismatch import (
    is_answer_in_plain,
    is_refusal_of_plain,
    is_secure,
    with_tls,
    without_tls,
)

_TOO_LONG = re.compile(
    r"context[ _-]?(length|window|size|limit)|maximum context|prompt is too long|too many (input )?tokens"
    r"|exceeds? the (available|model'?s?) (context|maximum)|input is too long|exceed_context_size"
    r"|input token limit|input token count\b.{0,40}\bexceeds",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient_quota|insufficient (credits|balance|funds)|billing|spend[_ ]limit", re.IGNORECASE
)
_NO_CREDIT = re.compile(
    r"credit balance is too low|reached your specified (workspace )?API usage limits", re.IGNORECASE
)
"""Anthropic's message for used-up credit or limits, which it sends with the status of a malformed request."""
_BAD_KEY = re.compile(
    r"(invalid|incorrect|wrong|missing)\W+api\W?key|api\W?key\W+(is )?(not valid|invalid|not found|expired)",
    re.I,
)
_MODEL = re.compile(r"\bmodel\b|model_not_found|(?<!/)\bmodels/\S+ is not found", re.IGNORECASE)
_NO_TOOLS = re.compile(
    r"does not support (tools|tool (use|calling)|function calling)|that support tool use"
    r"|(tool|function) calling\W+is not (supported|enabled)|tools param requires|unsupported param: tools"
    r"|tool choice requires --enable-auto-tool-choice|\btools?\W+(is|are) not supported",
    re.IGNORECASE,
)
"""Refusals of a request's tools: of Ollama, OpenRouter, Groq, llama.cpp (HTTP 500), vLLM and others."""
_NO_TOOLS_WITH_EFFORT = re.compile(r"set reasoning_effort to 'none'", re.IGNORECASE)
"""OpenAI's refusal of tools in Chat Completions while the model reasons, even where no effort is sent."""
_UNREADABLE_CALL = re.compile(r"failed to parse (input|tool call)", re.IGNORECASE)
"""llama.cpp's error (HTTP 500) about a call that the model wrote and it could not read."""
_READ_BY_US = "Try again, or use --dialect xml, which needs no tools of the server."
_EVENT_DATA = re.compile(r"^data: ?(\{.+)$", re.MULTILINE)
_HTML = re.compile(r"\s*(<!doctype html|<html|<head|<body)", re.IGNORECASE)
_THREADS = {
    "thread_not_found": "is no longer held there",
    "thread_already_continued": "was continued elsewhere",
    "thread_continue_in_flight": "is being continued elsewhere",
    "thread_fingerprint_mismatch": "has other settings",
}
"""Anthropic's codes for a message thread that cannot be continued: it is created again from the store."""

_STATUS_OF_NAME = (
    ("rate_limit", 429),
    ("too_many", 429),
    ("quota", 429),
    ("exhausted", 429),
    ("overloaded", 529),
    ("unavailable", 503),
    ("timeout", 408),
    ("deadline", 408),
    ("authentication", 401),
    ("api_key", 401),
    ("unauthenticated", 401),
    ("permission", 403),
    ("not_found", 404),
    ("context_length", 400),
    ("invalid_request", 400),
    ("invalid_prompt", 400),
    ("invalid_argument", 400),
    ("policy", 400),
    ("billing", 402),
    ("too_large", 413),
)


def from_status(endpoint: Endpoint, status: int, headers: Mapping[str, str], body: str) -> ProviderError:
    """Build the error for an HTTP answer other than 200."""
    if 300 <= status < 400:
        target = endpoint.quote(headers.get("location", "another address"))
        return ProviderProtocolError(
            f"{endpoint.name} redirects to {target} (HTTP {status}).",
            "API keys are not sent across redirects. Set base_url to the final URL.",
        )
    if status == 400 and not is_secure(endpoint) and is_refusal_of_plain(body):
        return with_tls(endpoint)
    reported = Reported("an HTML page") if _HTML.match(body) else read_error(_json_or_text(body))
    return _classify(endpoint, status, reported, retry_after(headers))


def from_frame(endpoint: Endpoint, error: object) -> ProviderError:
    """Build the error for an error object that came with HTTP 200."""
    reported = read_error(error)
    names = reported.code.lower()
    named = next((status for name, status in _STATUS_OF_NAME if name in names), 500)
    return _classify(endpoint, reported.status or named, reported, None)


def not_a_stream(endpoint: Endpoint, content_type: str, body: str) -> ProviderError:
    """Build the error for HTTP 200 with something other than server-sent events."""
    if _HTML.match(body) or "html" in content_type:
        return ProviderProtocolError(
            f"{endpoint.name} ({endpoint.host}) returned an HTML page instead of a model response.",
            "Check base_url, with its version. A proxy or a login page may be in between.",
        )
    value = _json_or_text(body)
    if isinstance(value, dict) and cast("dict[str, object]", value).get("error"):
        return from_frame(endpoint, cast("object", value))
    kind = endpoint.quote(content_type) or "no content type"
    return ProviderProtocolError(
        f"{endpoint.name} returned a non-streaming response ({kind}): {endpoint.quote(body) or 'empty'}",
        "Check that base_url is the right server, and that it supports streaming.",
    )


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the wait in seconds that the endpoint asks for: `retry-after-ms`, then seconds or a date."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    given = headers.get("retry-after", "").strip()
    seconds = _number(given)
    if seconds is not None or not given:
        return seconds
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(given).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, moment - (time.time() if now is None else now))


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\s*\d{1,9}(\.\d{1,9})?\s*", text) else None


def _json_or_text(body: str) -> object:
    # Gemini's Interactions sends an error as an event, whatever its status.
    event = _EVENT_DATA.search(body)
    for text in (body, event[1] if event else ""):
        try:
            return cast("object", json.loads(text))
        except (ValueError, RecursionError):
            continue
    return body


def _classify(endpoint: Endpoint, status: int, reported: Reported, wait: float | None) -> ProviderError:
    wait = reported.wait if wait is None else wait
    words = endpoint.quote(reported.message)
    message = f" (HTTP {status}): {words}" if words else f" (HTTP {status})."
    where = f"${endpoint.key_env}" if endpoint.key_env else "the key"
    text = reported.all_words
    name = endpoint.name
    if (of_thread := _of_thread(name, reported.code, message)) is not None:
        return of_thread
    if status in {400, 413, 422, 500} and _TOO_LONG.search(text):
        return ContextTooLongError(
            f"The conversation is too long for {endpoint.model}{message}",
            "Start a new conversation, or choose a model with a larger context.",
        )
    if status in {400, 404, 422, 500, 501} and (hint := _hint_for_tools(text)):
        return BadRequestError(f"{name} refused the tools of the request{message}", hint)
    # Gemini's rate-limit errors mention plan and billing, and name the wait.
    spent = status in {403, 429} and reported.wait is None and _QUOTA.search(text)
    if status == 402 or spent or (status == 400 and _NO_CREDIT.search(text)):
        return PermissionDeniedError(f"{name} quota exceeded{message}", "Check the plan and billing there.")
    if status == 401 or (status == 400 and _BAD_KEY.search(text)):
        return AuthenticationError(f"{name} rejected the API key{message}", _where_to_set_the_key(endpoint))
    if status == 403:
        return PermissionDeniedError(
            f"{name} denied access{message}",
            f"Check the permissions of {where}, and its access to {endpoint.model}.",
        )
    if (status in {404, 410} and _MODEL.search(text)) or (
        status == 400 and "model_not_found" in reported.code
    ):
        return ModelNotFoundError(
            f"{name} does not have the model {endpoint.model}{message}",
            "Choose another with --model; a local server may need to load it first.",
        )
    if status in {404, 405}:
        return ProviderProtocolError(
            f"Endpoint not found: {endpoint.host}{urlsplit(endpoint.base_url).path}{message}",
            'Check base_url, with its version; a server without Responses needs api = "chat".',
        )
    if status == 408:
        return ProviderTimeoutError(f"{name} timed out{message}", "Try again.")
    if status == 413:
        return ContextTooLongError(
            f"The request is too large for {name}{message}", "Start a new conversation, or send less at once."
        )
    if status == 429:
        return RateLimitError(f"Rate limited by {name}{message}", "Wait a moment, then try again.", wait)
    if status == 409 or status >= 500:
        hint = _READ_BY_US if _UNREADABLE_CALL.search(text) else "Try again later, or choose another model."
        return OverloadedError(f"{name} is unavailable{message}", hint, wait)
    return _refused(f"{name} refused the request{message}", reported)


def _hint_for_tools(text: str) -> str:
    """Return the next step after a refusal of tools or of a native call; empty for another one."""
    if _NO_TOOLS_WITH_EFFORT.search(text):
        return 'Set api = "responses" for this provider, or use --effort none or --dialect xml.'
    # Groq's code for a call that the model wrote and Groq could not read.
    if "tool_use_failed" in text:
        return _READ_BY_US
    return "Use --dialect xml, which needs no tools of the server." if _NO_TOOLS.search(text) else ""


def _of_thread(name: str, code: str, message: str) -> ProviderError | None:
    """Build the error of a message thread, if it is one."""
    if "thread_unsupported_request" in code:
        return SessionRefusedError(f"{name} refused a message thread{message}", "Use replay mode.")
    for each, what in _THREADS.items():
        if each in code:
            error = SessionLostError(f"The session with {name} {what}.", "Try again.")
            # The same request fails again.
            error.retryable = False
            return error
    return None


def _where_to_set_the_key(endpoint: Endpoint) -> str:
    if endpoint.key_env:
        return (
            f"Set {endpoint.key_env} to a valid key in the shell that starts cogency-tui, and start it again."
        )
    return (
        f'Set key_env = "VARIABLE" under [providers.{endpoint.name}] in the configuration, and set that '
        "variable to the key."
    )


def _refused(message: str, reported: Reported) -> BadRequestError:
    hint = "Check the model name and the provider settings."
    if name := refused_parameter(reported):
        hint = _WITHOUT_IMAGES if name == IMAGES else hint
        return UnsupportedParameterError(message, hint, name)
    return BadRequestError(message, hint)


_WITHOUT_IMAGES = "Choose replay mode (/mode replay), which goes on without the images, or another model."

_UNKNOWN = (
    "is signed by an unknown authority",
    "If the server is your own, set SSL_CERT_FILE to its certificate or to that of its authority.",
)
_ANOTHER = ("is for another host", "Check the host in base_url.")
_CERTIFICATES = {
    9: ("is not valid yet", "Check this machine's clock."),
    10: ("has expired", "If the server is your own, renew it; check this machine's clock."),
    **dict.fromkeys((18, 19, 20, 21), _UNKNOWN),
    62: _ANOTHER,
    64: _ANOTHER,
}
"""Problem of a certificate, by OpenSSL's code (X509_V_ERR_…), and the remedy."""


def from_exception(endpoint: Endpoint, exc: Exception) -> ProviderError:
    """Build the error for an exception of httpx, httpx-sse or the sockets below them."""
    import httpx

    host = endpoint.host
    if isinstance(exc, httpx.ConnectTimeout | httpx.PoolTimeout):
        return ProviderTimeoutError(
            f"Connection to {host} timed out.", "Check the network, or try again later."
        )
    if isinstance(exc, httpx.TimeoutException):
        return ProviderTimeoutError(f"{endpoint.name} ({host}) stopped responding.", "Try again.")
    if isinstance(exc, httpx.ProxyError):
        return NetworkError(
            f"The proxy for {host} refused the connection: {endpoint.quote(str(exc))}.",
            "Check HTTPS_PROXY and NO_PROXY.",
        )
    if isinstance(exc, httpx.ConnectError):
        return unconnected(endpoint, exc)
    if isinstance(exc, httpx.DecodingError):
        return ProviderProtocolError(
            f"{endpoint.name} sent a response that cannot be decoded: {endpoint.quote(str(exc))}.",
            "Check for a proxy that changes responses.",
        )
    if isinstance(exc, httpx.UnsupportedProtocol | httpx.InvalidURL | httpx.LocalProtocolError):
        return BadRequestError(
            f"{endpoint.name} cannot be reached at this address: {endpoint.quote(str(exc))}.",
            "Check base_url.",
        )
    return NetworkError(
        f"The connection to {endpoint.name} ({host}) was lost.",
        "The text so far is saved; try again.",
    )


def unconnected(endpoint: Endpoint, exc: Exception) -> ProviderError:
    """Build the error for a connection that could not be made."""
    causes = list(_causes(exc))
    host = endpoint.host
    words = endpoint.quote(str(exc))
    tls = next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None)
    if tls is not None and is_answer_in_plain(tls):
        return without_tls(endpoint)
    if tls is not None or "SSL" in words:
        error = NetworkError(*_insecure(host, tls, words))
        error.retryable = False
        return error
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        error = NetworkError(
            f"Cannot resolve {host}: {words}", "Check the network and the spelling of base_url."
        )
        error.retryable = any(
            isinstance(cause, socket.gaierror) and cause.errno == socket.EAI_AGAIN for cause in causes
        )
        return error
    if endpoint.is_loopback:
        # Retrying does not start a server on this machine that is not running.
        error = NetworkError(
            f"Nothing is listening on {host}.", f"Start the {endpoint.name} server, or check base_url."
        )
        error.retryable = False
        return error
    return NetworkError(f"No connection to {host}: {words}", "Check the network and base_url.")


def _insecure(host: str, tls: ssl.SSLError | None, words: str) -> tuple[str, str]:
    """Return why there is no secure connection, and the remedy."""
    code: int = getattr(tls, "verify_code", 0)
    if code in _CERTIFICATES:
        what, hint = _CERTIFICATES[code]
        return f"The certificate of {host} {what}.", hint
    return (
        f"No secure connection to {host}: {words}",
        "Check the address; add your own authority with SSL_CERT_FILE.",
    )


def _causes(exc: BaseException) -> Iterator[BaseException]:
    """Yield the exception and all its causes, the members of groups included."""
    pending: list[BaseException] = [exc]
    seen: set[int] = set()
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        pending += [cause for cause in (current.__cause__, current.__context__) if cause is not None]
        if isinstance(current, BaseExceptionGroup):
            pending += cast("BaseExceptionGroup[BaseException]", current).exceptions
