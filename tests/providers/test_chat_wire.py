"""The Chat Completions wire format, without sockets."""

import json

import pytest

from cogency_tui.errors import OverloadedError, ProviderProtocolError, RateLimitError
from cogency_tui.providers.base import Usage
from cogency_tui.providers.chat_wire import (
    SurrogateJoiner,
    decode_frame,
    encode_request,
    is_cut_inside_json,
    stripped_marker,
)
from cogency_tui.providers.endpoint import Endpoint

ENDPOINT = Endpoint("openai", "https://api.example/v1", "m", "OPENAI_API_KEY", "sk-secret")
CALL = '[{"name": "read", "args": {}}]'


@pytest.mark.parametrize(
    ("text", "stop", "marker"),
    [
        (f"<think>x</think>\n<execute>\n{CALL}\n", ["</execute>"], "</execute>"),
        (f"<execute>{CALL}", ["</execute>"], "</execute>"),
        ('<execute>\n[{"name": "write", "args": {"content": "a ', ["</execute>"], "</execute>"),
        ("<execute>\n", ["</execute>"], "</execute>"),
        ("Just an answer.", ["</execute>"], ""),
        ("A block opens with `<execute>` and closes with", ["</execute>"], ""),
        ("The <execute> marker is explained here.", ["</execute>"], ""),
        (f"<execute>{CALL}</execute>", ["</execute>"], ""),
        (f"§think: x\n§call: {CALL}\n", ["§execute"], "§execute"),
        ("§call: {}\n  ", ["§execute"], "§execute"),
        ("§call: {}\n§respond: never mind", ["§execute"], ""),
        ("§call: {} mid-line", ["§execute"], ""),
        ("§respond: done\n§end\n", ["§execute"], ""),
        (f"<execute>{CALL}", [], ""),
        (f"<execute>{CALL}", ["<end>"], ""),
    ],
)
def test_a_stripped_marker_is_told_from_a_natural_end(text: str, stop: list[str], marker: str) -> None:
    assert stripped_marker(text, stop) == marker


@pytest.mark.parametrize(
    ("text", "marker", "inside"),
    [
        (f"<execute>\n{CALL}\n", "</execute>", False),
        ('<execute>\n[{"name": "write", "args": {"content": "a ', "</execute>", True),
        ('<execute>\n[{"name": "write", "args": {"content": "a \\" ', "</execute>", True),
        ('§call: {"name": "write", "args": {"content": "\n', "§execute", True),
    ],
)
def test_a_marker_inside_a_string_was_content(text: str, marker: str, inside: bool) -> None:
    assert is_cut_inside_json(text, marker) is inside


def test_surrogates_are_joined_across_deltas_and_replaced_when_alone() -> None:
    joiner = SurrogateJoiner()
    assert joiner.feed("a\ud83d") == "a"
    assert joiner.feed("\ude00b") == "😀b"
    assert joiner.feed("\ude00") == "\ufffd"
    assert joiner.feed("\ud83d") == ""
    assert joiner.feed("x") == "\ufffdx"
    assert joiner.feed("\ud83d") == ""
    assert joiner.close() == "\ufffd"


def test_a_request_is_valid_unicode_and_leaves_out_what_was_refused() -> None:
    body = json.loads(
        encode_request("m", [{"role": "user", "content": "a\ud83d"}], ["</x>"], ["stream_options"])
    )
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "a\ufffd"}],
        "stream": True,
        "stop": ["</x>"],
    }


def frame(**delta: object) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})


@pytest.mark.parametrize(
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
    read = decode_frame(ENDPOINT, data)
    assert (read.text, read.reasoning) == (text, reasoning)


@pytest.mark.parametrize(
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
    assert decode_frame(ENDPOINT, json.dumps({"choices": [], "usage": usage})).usage == read


@pytest.mark.parametrize("data", ["not json", "[]", '"x"', '{"choices": 1}', "{", "[" * 100_000])
def test_what_is_no_frame_is_an_error_that_shows_it(data: str) -> None:
    with pytest.raises(ProviderProtocolError) as caught:
        decode_frame(ENDPOINT, data)
    assert data[:20] in str(caught.value)
    assert caught.value.hint


def test_errors_in_mid_stream_are_mapped() -> None:
    with pytest.raises(RateLimitError):
        decode_frame(
            ENDPOINT, '{"error": {"message": "slow down", "type": "rate_limit_error", "code": null}}'
        )
    with pytest.raises(OverloadedError, match="Upstream"):
        decode_frame(ENDPOINT, '{"error": {"code": 502, "message": "Upstream"}, "choices": []}')
