"""The one map from what an endpoint said to our errors (what the network did: `network_failures`).

Every error made here is a `ProviderError` with a next step for the person, keeps the endpoint's own
words on one line, and never contains a key.
"""

import json
import re
import time
from collections.abc import Mapping
from typing import cast
from urllib.parse import urlsplit

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
from cogency_tui.providers.endpoint import Endpoint, Reported, read_error
from cogency_tui.providers.scheme import is_refusal_of_plain, is_secure, with_tls

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
"""What Anthropic says with the status of a request that is wrong."""
_BAD_KEY = re.compile(
    r"(invalid|incorrect|wrong|missing)\W+api\W?key|api\W?key\W+(is )?(not valid|invalid|not found|expired)",
    re.I,
)
_MODEL = re.compile(r"\bmodel\b|model_not_found|(?<!/)\bmodels/\S+ is not found", re.IGNORECASE)
_REFUSAL = re.compile(
    r"unsupported|not supported|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|invalid",
    re.IGNORECASE,
)
_NO_THINKING = re.compile(
    r"(?=.*(thinking|include_?thoughts))"
    r"(?=.*(not (supported|enabled|configurable)|only enabled|unknown name))",
    re.IGNORECASE | re.DOTALL,
)
_EVENT_DATA = re.compile(r"^data: ?(\{.+)$", re.MULTILINE)
_HTML = re.compile(r"\s*(<!doctype html|<html|<head|<body)", re.IGNORECASE)
_OPTIONAL = ("stream_options", "reasoning")
"""Parameters that we can do without, so that refusing one is no reason to give up."""

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

THINKING = "thinking"
"""What Gemini's several ways to ask for summaries of the reasoning are called when they are refused."""


class UnsupportedParameterError(BadRequestError):
    """The endpoint does not take the optional parameter `param`; the request works without it."""

    def __init__(self, message: str, hint: str, param: str) -> None:
        super().__init__(message, hint)
        self.param = param


def from_status(endpoint: Endpoint, status: int, headers: Mapping[str, str], body: str) -> ProviderError:
    """The error for an HTTP answer other than 200."""
    if 300 <= status < 400:
        target = endpoint.quote(headers.get("location", "another address"))
        return ProviderProtocolError(
            f"{endpoint.name} redirects to {target} (HTTP {status}).",
            "Keys are not sent on to another address: set base_url to the final one.",
        )
    if status == 400 and not is_secure(endpoint) and is_refusal_of_plain(body):
        return with_tls(endpoint)
    reported = Reported("an HTML page") if _HTML.match(body) else read_error(_json_or_text(body))
    return _classify(endpoint, status, reported, retry_after(headers))


def from_frame(endpoint: Endpoint, error: object) -> ProviderError:
    """The error for an error object that came with HTTP 200."""
    reported = read_error(error)
    names = reported.code.lower()
    named = next((status for name, status in _STATUS_OF_NAME if name in names), 500)
    return _classify(endpoint, reported.status or named, reported, None)


def not_a_stream(endpoint: Endpoint, content_type: str, body: str) -> ProviderError:
    """The error for HTTP 200 with something other than server-sent events."""
    if _HTML.match(body) or "html" in content_type:
        return ProviderProtocolError(
            f"{endpoint.name} ({endpoint.host}) answered with an HTML page instead of a model's answer.",
            "Check base_url, with its version. A proxy or a login page may be in between.",
        )
    value = _json_or_text(body)
    if isinstance(value, dict) and cast("dict[str, object]", value).get("error"):
        return from_frame(endpoint, cast("object", value))
    kind = endpoint.quote(content_type) or "no content type"
    return ProviderProtocolError(
        f"{endpoint.name} did not stream its answer ({kind}): {endpoint.quote(body) or 'empty'}",
        "Check that base_url names the right server, and that it can stream.",
    )


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """The wait in seconds that the endpoint asks for: `retry-after-ms`, then seconds or a date."""
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
    said = f" (HTTP {status}): {words}" if words else f" (HTTP {status})."
    where = f"${endpoint.key_env}" if endpoint.key_env else "the key"
    text = reported.all_words
    name = endpoint.name
    if status in {400, 413, 422, 500} and _TOO_LONG.search(text):
        return ContextTooLongError(
            f"The conversation is too long for {endpoint.model}{said}",
            "Start a new one, or choose a model that takes more.",
        )
    # Gemini speaks of plan and billing with each rate that is limited, and says how long it is.
    spent = status in {403, 429} and reported.wait is None and _QUOTA.search(text)
    if status == 402 or spent or (status == 400 and _NO_CREDIT.search(text)):
        return PermissionDeniedError(
            f"The quota at {name} is used up{said}", "Check the plan and billing there."
        )
    if status == 401 or (status == 400 and _BAD_KEY.search(text)):
        return AuthenticationError(f"{name} does not accept the key{said}", f"Check {where}.")
    if status == 403:
        return PermissionDeniedError(
            f"{name} does not allow this{said}",
            f"Check what {where} may do, and that it may use {endpoint.model}.",
        )
    if (status in {404, 410} and _MODEL.search(text)) or (
        status == 400 and "model_not_found" in reported.code
    ):
        return ModelNotFoundError(
            f"{name} does not have the model {endpoint.model}{said}",
            "Choose another with --model; a local server may have to load it first.",
        )
    if status in {404, 405}:
        return ProviderProtocolError(
            f"Nothing answers at {endpoint.host}{urlsplit(endpoint.base_url).path}{said}",
            'Check base_url, with its version; a server without Responses needs api = "chat".',
        )
    if status == 408:
        return ProviderTimeoutError(f"{name} gave up waiting{said}", "Try again.")
    if status == 413:
        return ContextTooLongError(
            f"The request is too large for {name}{said}", "Start a new conversation, or ask for less at once."
        )
    if status == 429:
        return RateLimitError(f"{name} limits the rate{said}", "Wait a moment, then send again.", wait)
    if status == 409 or status >= 500:
        return OverloadedError(
            f"{name} cannot answer now{said}", "Try again later, or choose another model.", wait
        )
    return _refused(f"{name} refused the request{said}", reported)


def _refused(message: str, reported: Reported) -> BadRequestError:
    hint = "Check the model's name and the provider's settings."
    if _NO_THINKING.match(reported.message):
        return UnsupportedParameterError(message, hint, THINKING)
    refused = _REFUSAL.search(reported.message) or "unsupported" in reported.code
    for param in _OPTIONAL:
        # In quotes, because "reasoning" is a word that any message may have.
        named = reported.param.startswith(param) or re.search(rf"[\"'`]{param}\b", reported.message)
        if named and refused:
            return UnsupportedParameterError(message, hint, param)
    return BadRequestError(message, hint)
