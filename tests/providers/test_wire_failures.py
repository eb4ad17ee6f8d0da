"""What goes wrong over each wire protocol, on the way or in the vendor's words: what is asked again, what is
reported, and what is kept."""

import json

import pytest

from cogency_tui.errors import (
    AuthenticationError,
    BadRequestError,
    ContextTooLongError,
    EmptyAnswerError,
    ModelNotFoundError,
    NetworkError,
    OverloadedError,
    PermissionDeniedError,
    ProviderError,
    ProviderProtocolError,
    RateLimitError,
)
from tests.peers.anthropic import error_event, error_object
from tests.peers.gemini import error_body, exhausted
from tests.peers.server import Fault
from tests.providers.asked import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    KEY,
    RESPONSES,
    VENDORS,
    Vendor,
    named,
)

every_wire = pytest.mark.parametrize("vendor", VENDORS, ids=str)


def openai(message: str, code: str | None = None, kind: str = "x") -> str:
    """An error as OpenAI answers it."""
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}})


def anthropic(status: int, kind: str, words: str, **headers: str) -> Fault:
    """An error as Anthropic answers it."""
    return Fault(status=status, headers=headers, body=json.dumps(error_object(kind, words)))


def google(code: int, status: str, words: str) -> Fault:
    """An error as Google answers it."""
    return Fault(status=code, body=error_body(code, status, words))


NESTED = json.dumps({"type": "error", "error": {"type": "too_many_requests", "message": "Slow down."}})
RECOVERED: list[tuple[Vendor, Fault, float]] = [
    *(
        (vendor, fault, wait)
        for vendor in VENDORS
        for fault, wait in [
            (
                Fault(status=429, headers={"retry-after-ms": "20", "retry-after": "9"}, body=openai("slow")),
                0.02,
            ),
            (Fault(status=429, headers={"Retry-After": "3"}, body=""), 3.0),
            (Fault(status=500, body="oops", content_type="text/plain"), 0.5),
            (Fault(status=503, body="<html></html>", content_type="text/html"), 0.5),
            (Fault(status=408, body=""), 0.5),
            (Fault(status=409, body=""), 0.5),
            (Fault(body=openai("slow", kind="rate_limit_error")), 0.5),
            (Fault(frame=vendor.busy), 0.5),
            (Fault(frame=vendor.busy, after=vendor.opening), 0.5),
            (Fault(drop="before"), 0.5),
            (Fault(drop="within"), 0.5),
            (Fault(drop="within", after=vendor.opening), 0.5),
        ]
    ),
    (CHAT, Fault(status=529, body=openai("Overloaded", kind="overloaded_error")), 0.5),
    (CHAT, Fault(frame=openai("busy", kind="server_error"), after=1), 0.5),
    (
        RESPONSES,
        Fault(status=429, headers={"Retry-After": "3"}, body=openai("Slow.", "rate_limit_exceeded")),
        3.0,
    ),
    (RESPONSES, Fault(status=500, body=openai("Oh.", "server_error")), 0.5),
    (RESPONSES, Fault(status=503, body=openai("The engine is overloaded.")), 0.5),
    (RESPONSES, Fault(frame=RESPONSES.busy, after=2), 0.5),
    (RESPONSES, Fault(frame=NESTED, after=2), 0.5),
    (RESPONSES, Fault(finish="failed", deltas=[]), 0.5),
    (ANTHROPIC, anthropic(529, "overloaded_error", "Overloaded"), 0.5),
    (
        ANTHROPIC,
        anthropic(429, "rate_limit_error", "This would exceed your rate limit", **{"retry-after": "3"}),
        3.0,
    ),
    (ANTHROPIC, anthropic(500, "api_error", "Internal server error"), 0.5),
    (ANTHROPIC, anthropic(504, "timeout_error", "Timed out"), 0.5),
    (ANTHROPIC, Fault(frame=error_event("timeout_error", "Timed out"), after=1), 0.5),
    (GEMINI, Fault(status=429, body=exhausted(13)), 13.0),
    (GEMINI, Fault(status=429, body=f"[{exhausted(0.2)}]"), 0.2),
    (GEMINI, Fault(frame=exhausted(7)), 7.0),
    (GEMINI, Fault(frame=f"[{exhausted(7)}]"), 7.0),
    (GEMINI, google(500, "INTERNAL", "An internal error has occurred."), 0.5),
    (GEMINI, google(503, "UNAVAILABLE", "The model is overloaded."), 0.5),
    (GEMINI, google(504, "DEADLINE_EXCEEDED", "Deadline expired."), 0.5),
]


@pytest.mark.parametrize(("vendor", "fault", "wait"), RECOVERED, ids=named)
async def test_a_failure_before_the_first_token_is_retried(vendor: Vendor, fault: Fault, wait: float) -> None:
    async with vendor.peer(["Hello."], faults=[fault]) as peer:
        asked = await vendor.ask(peer)
    assert asked.error is None
    assert asked.text == "Hello."
    assert asked.waits == [wait]
    [notice] = asked.retries
    assert (notice.attempt, notice.wait) == (2, wait)
    assert notice.cause


@every_wire
async def test_it_gives_up_after_five_attempts(vendor: Vendor) -> None:
    async with vendor.peer(always=Fault(status=503, body="")) as peer:
        asked = await vendor.ask(peer)
    assert isinstance(asked.error, OverloadedError)
    assert len(peer.requests) == 5
    assert asked.waits == [0.5, 1.0, 2.0, 4.0]


@pytest.mark.parametrize("body", ["", "garbage\n\nmore"])
@every_wire
async def test_a_stream_of_nothing_is_one_that_broke_off(vendor: Vendor, body: str) -> None:
    async with vendor.peer(always=Fault(body=body, content_type="text/event-stream")) as peer:
        asked = await vendor.ask(peer)
    assert type(asked.error) is NetworkError
    assert "closed the stream mid-response" in str(asked.error)
    assert asked.error.hint
    assert len(peer.requests) == 5


CREDIT = (
    "Your credit balance is too low to access the Anthropic API. "
    "Please go to Plans & Billing to upgrade or purchase credits."
)
LIMIT = "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."
SPENT = "Your organization has reached its monthly spend limit"
WRONG = "invalid_request_error"
TOO_LONG = "prompt is too long: 213462 tokens > 200000 maximum"
TOO_MUCH = "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"
TOO_MANY = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
LONG = openai("Your input exceeds the context window of this model.", "context_length_exceeded")
LONG_EVENT = json.dumps({"type": "error", **json.loads(LONG)})
BLOCKED = '{"promptFeedback": {"blockReason": "SAFETY"}}'
DAY = exhausted(40, "GenerateRequestsPerDayPerProjectPerModel-FreeTier")
MALFORMED = "MALFORMED_FUNCTION_CALL"
REPORTED: list[tuple[Vendor, Fault, type[ProviderError], str]] = [
    *(
        (vendor, fault, kind, words)
        for vendor in VENDORS
        for fault, kind, words in [
            (Fault(status=401, body=openai(f"Bad key {KEY}")), AuthenticationError, "[key]"),
            (Fault(status=400, body=openai("No such thing")), BadRequestError, "No such thing"),
            (Fault(status=429, headers={"retry-after": "3600"}, body=""), RateLimitError, "429"),
            (
                Fault(status=301, headers={"location": "https://x.test/"}, body=""),
                ProviderProtocolError,
                "x.test",
            ),
            (Fault(body="<html>Login</html>", content_type="text/html"), ProviderProtocolError, "HTML page"),
            (Fault(body='{"choices": []}'), ProviderProtocolError, "non-streaming response"),
            (Fault(frame="{not json", after=vendor.opening), ProviderProtocolError, "{not json"),
            (Fault(deltas=[]), EmptyAnswerError, "empty response"),
            (Fault(deltas=[], finish=vendor.limit), EmptyAnswerError, "reached its output token limit"),
            (
                Fault(deltas=[], finish=vendor.limit, reasoning="hm"),
                EmptyAnswerError,
                "reached its output token limit",
            ),
            (Fault(deltas=[], finish=vendor.filtered), BadRequestError, f"content filter of {vendor.name}"),
        ]
    ),
    (CHAT, Fault(status=404, body=openai("The model `m` does not exist")), ModelNotFoundError, "model `m`"),
    (
        RESPONSES,
        Fault(status=429, body=openai("You exceeded your current quota.", "insufficient_quota")),
        PermissionDeniedError,
        "quota",
    ),
    (RESPONSES, Fault(status=400, body=LONG), ContextTooLongError, "context window"),
    (RESPONSES, Fault(frame=LONG_EVENT, after=2), ContextTooLongError, "context window"),
    (RESPONSES, Fault(frame='{"choices": []}', after=1), ProviderProtocolError, "invalid Responses frame"),
    (ANTHROPIC, anthropic(400, WRONG, TOO_LONG), ContextTooLongError, "213462"),
    (ANTHROPIC, anthropic(400, WRONG, TOO_MUCH), ContextTooLongError, "190000"),
    (
        ANTHROPIC,
        anthropic(413, "request_too_large", "Request exceeds the maximum size"),
        ContextTooLongError,
        "maximum",
    ),
    (ANTHROPIC, anthropic(400, WRONG, CREDIT), PermissionDeniedError, "anthropic quota exceeded"),
    (ANTHROPIC, anthropic(400, WRONG, LIMIT), PermissionDeniedError, "regain access"),
    (ANTHROPIC, anthropic(402, "billing_error", "Payment required"), PermissionDeniedError, "quota"),
    (ANTHROPIC, anthropic(429, "rate_limit_error", SPENT), PermissionDeniedError, "spend limit"),
    (
        ANTHROPIC,
        anthropic(403, "permission_error", "Your key may not use this"),
        PermissionDeniedError,
        "denied access",
    ),
    (ANTHROPIC, anthropic(404, "not_found_error", "model: claude-x"), ModelNotFoundError, "claude-x"),
    (ANTHROPIC, anthropic(404, "not_found_error", "Not Found"), ProviderProtocolError, "Endpoint not found:"),
    (
        ANTHROPIC,
        anthropic(401, "authentication_error", f"invalid x-api-key {KEY}"),
        AuthenticationError,
        "[key]",
    ),
    (ANTHROPIC, anthropic(400, WRONG, "tools.0: Field required"), BadRequestError, "tools.0"),
    (
        ANTHROPIC,
        anthropic(429, "rate_limit_error", "Slow", **{"retry-after": "3600"}),
        RateLimitError,
        "Slow",
    ),
    (
        ANTHROPIC,
        Fault(frame='{"choices": []}', after=1),
        ProviderProtocolError,
        "invalid Anthropic Messages frame",
    ),
    (ANTHROPIC, Fault(frame=error_event(WRONG, TOO_LONG), after=1), ContextTooLongError, "213462"),
    (
        ANTHROPIC,
        Fault(frame=error_event("billing_error", "No money"), after=1),
        PermissionDeniedError,
        "No money",
    ),
    (
        ANTHROPIC,
        Fault(frame=error_event("request_too_large", "Too big"), after=1),
        ContextTooLongError,
        "Too big",
    ),
    (GEMINI, Fault(status=429, body=DAY), PermissionDeniedError, "quota"),
    (GEMINI, Fault(status=429, body=exhausted(3600)), RateLimitError, "429"),
    (GEMINI, google(400, "INVALID_ARGUMENT", TOO_MANY), ContextTooLongError, "1200000"),
    (GEMINI, google(403, "PERMISSION_DENIED", "Denied"), PermissionDeniedError, "Denied"),
    (GEMINI, google(400, "INVALID_ARGUMENT", f"Odd {KEY}"), BadRequestError, "[key]"),
    (GEMINI, Fault(frame=BLOCKED), BadRequestError, "content filter"),
    (GEMINI, Fault(deltas=[], finish=MALFORMED), ProviderProtocolError, MALFORMED),
]


@pytest.mark.parametrize(("vendor", "fault", "kind", "words"), REPORTED, ids=named)
async def test_what_retrying_cannot_help_is_reported(
    vendor: Vendor, fault: Fault, kind: type[ProviderError], words: str
) -> None:
    async with vendor.peer(always=fault) as peer:
        asked = await vendor.ask(peer)
    assert asked.error is not None
    assert type(asked.error) is kind
    assert words in str(asked.error)
    assert KEY not in asked.error.advice
    assert asked.error.hint
    assert not asked.waits
    assert len(peer.requests) == 1


BROKEN: list[tuple[Vendor, Fault, type[ProviderError]]] = [
    *(
        (vendor, fault, kind)
        for vendor in VENDORS
        for fault, kind in [
            (Fault(drop="within", after=vendor.opening + 2), NetworkError),
            (Fault(frame=vendor.busy, after=vendor.opening + 2), OverloadedError),
            (Fault(frame="nonsense", after=vendor.opening + 2), ProviderProtocolError),
            (Fault(no_finish=True, no_done=True), NetworkError),
            (Fault(no_finish=True, no_done=True, no_usage=True), NetworkError),
            (Fault(finish=vendor.filtered), BadRequestError),
        ]
    ),
    (RESPONSES, Fault(finish="failed"), OverloadedError),
    (GEMINI, Fault(finish="RECITATION"), BadRequestError),
]


@pytest.mark.parametrize(("vendor", "fault", "kind"), BROKEN, ids=named)
async def test_after_the_first_token_what_came_is_kept_and_nothing_is_asked_again(
    vendor: Vendor, fault: Fault, kind: type[ProviderError]
) -> None:
    async with vendor.peer(["Hello there."], always=fault) as peer:
        asked = await vendor.ask(peer)
    assert type(asked.error) is kind
    assert asked.text.startswith("Hello th")
    assert len(peer.requests) == 1
    assert not asked.waits
