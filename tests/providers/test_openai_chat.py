"""The Chat Completions wire format, without sockets."""

import json

import pytest

from cogency_tui.errors import OverloadedError, ProviderProtocolError, RateLimitError
from cogency_tui.providers.base import Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.openai_chat import ChatWire
from tests.cases import cases

ENDPOINT = Endpoint("openai", "https://api.example/v1", "m", "OPENAI_API_KEY", "sk-secret")
WIRE = ChatWire(ENDPOINT)


def test_a_request_is_valid_unicode_and_leaves_out_what_was_refused() -> None:
    body = json.loads(WIRE.encode([{"role": "user", "content": "a\ud83d"}], ["stream_options"]))
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "a\ufffd"}],
        "stream": True,
    }


def frame(**delta: object) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})


@cases(
    ("data", "text", "reasoning"),
    [
        (frame(content="hi"), "hi", ""),
        (frame(content=None), "", ""),
        (frame(content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "ab", ""),
        (frame(refusal="no"), "no", ""),
        (frame(reasoning_content="hm"), "", "hm"),
        (frame(reasoning="hm", content=""), "", "hm"),
        ('{"choices": null}', "", ""),
        ('{"choices": []}', "", ""),
        ('{"choices": [{"delta": null}]}', "", ""),
        ('{"choices": ["odd"]}', "", ""),
        ('{"object": "ping"}', "", ""),
    ],
)
def test_deltas_of_all_kinds_are_read(data: str, text: str, reasoning: str) -> None:
    read = WIRE.reader().read("message", data)
    assert (read.text, read.reasoning) == (text, reasoning)


@cases(
    ("usage", "read"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 2}, Usage(5, 2)),
        (
            {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}},
            Usage(5, 2, 4),
        ),
        ({"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": None}, Usage(5, 2)),
        ({"prompt_tokens": "5", "completion_tokens": 2}, None),
        ({"prompt_tokens": True, "completion_tokens": -1}, None),
        (None, None),
    ],
)
def test_usage_is_read_or_counts_as_missing(usage: object, read: Usage | None) -> None:
    assert WIRE.reader().read("message", json.dumps({"choices": [], "usage": usage})).usage == read


@cases("data", ["not json", "[]", '"x"', '{"choices": 1}', "{", "[" * 100_000])
def test_what_is_no_frame_is_an_error_that_shows_it(data: str) -> None:
    with pytest.raises(ProviderProtocolError) as caught:
        WIRE.reader().read("message", data)
    assert data[:20] in str(caught.value)
    assert caught.value.hint


def test_errors_in_mid_stream_are_mapped() -> None:
    with pytest.raises(RateLimitError):
        WIRE.reader().read(
            "message", '{"error": {"message": "slow down", "type": "rate_limit_error", "code": null}}'
        )
    with pytest.raises(OverloadedError, match="Upstream"):
        WIRE.reader().read("message", '{"error": {"code": 502, "message": "Upstream"}, "choices": []}')
