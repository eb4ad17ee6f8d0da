"""The Anthropic Messages wire format, without sockets."""

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogency_tui.errors import OverloadedError, ProviderProtocolError, RateLimitError
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.anthropic import DEFAULT_OUTPUT, AnthropicWire
from cogency_tui.providers.base import Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.models import ModelFacts
from cogency_tui.providers.wire_protocol import Finish, Frame
from tests.cases import cases

ENDPOINT = Endpoint("anthropic", "https://api.example", "claude-x", "ANTHROPIC_API_KEY", "sk-secret")
WIRE = AnthropicWire(ENDPOINT)
MARK = {"type": "ephemeral"}


def user(content: str) -> Message:
    return {"role": "user", "content": content}


def assistant(content: str) -> Message:
    return {"role": "assistant", "content": content}


def system(content: str) -> Message:
    return {"role": "system", "content": content}


def encoded(messages: list[Message]) -> dict[str, Any]:
    return json.loads(WIRE.encode(messages, ()))


def text(words: str, *, marked: bool = False) -> dict[str, Any]:
    return {"type": "text", "text": words} | ({"cache_control": MARK} if marked else {})


def test_a_request_has_what_the_vendor_requires_and_nothing_else() -> None:
    assert encoded([system("Be brief."), user("hi")]) == {
        "model": "claude-x",
        "max_tokens": DEFAULT_OUTPUT,
        "stream": True,
        "system": [text("Be brief.", marked=True)],
        "messages": [{"role": "user", "content": [text("hi", marked=True)]}],
    }


def test_an_answer_may_be_as_long_as_the_model_can_write() -> None:
    body = json.loads(AnthropicWire(ENDPOINT, ModelFacts(max_output=128_000)).encode([user("hi")], ()))
    assert body["max_tokens"] == 128_000


def test_the_key_goes_where_the_vendor_looks_for_it() -> None:
    assert WIRE.headers() == {"anthropic-version": "2023-06-01", "x-api-key": "sk-secret"}
    assert "x-api-key" not in AnthropicWire(Endpoint("local", "http://127.0.0.1:1", "m")).headers()


def test_the_newest_version_and_features_in_beta_are_asked_of_the_vendor_alone() -> None:
    endpoint = Endpoint("anthropic", "https://api.anthropic.com", "claude-sonnet-5-5")
    facts = ModelFacts(reasoning=True)
    assert AnthropicWire(endpoint, facts, own=True).headers() == {
        "anthropic-version": "2026-10-21",
        "anthropic-beta": "thinking-binding-controls-2026-08-01",
    }
    assert AnthropicWire(endpoint, facts).headers() == {"anthropic-version": "2023-06-01"}


@cases(
    ("base_url", "path"),
    [
        ("https://api.example", "/v1/messages"),
        ("https://api.example/", "/v1/messages"),
        ("https://api.example/anthropic", "/v1/messages"),
        ("https://api.example/v1", "/messages"),
        ("https://api.example/v1/", "/messages"),
    ],
)
def test_an_address_may_have_the_version_or_not(base_url: str, path: str) -> None:
    assert AnthropicWire(Endpoint("anthropic", base_url, "m")).path == path


def test_the_marks_are_on_the_system_prompt_and_the_last_two_messages_of_the_user() -> None:
    body = encoded([system("s"), user("a"), assistant("b"), user("c"), assistant("d"), user("e")])
    assert [message["content"] for message in body["messages"]] == [
        [text("a")],
        [text("b")],
        [text("c", marked=True)],
        [text("d")],
        [text("e", marked=True)],
    ]
    assert body["system"] == [text("s", marked=True)]


def test_messages_of_one_side_become_one_turn_of_blocks_with_a_blank_line_between_them() -> None:
    body = encoded([user("a"), user("b"), assistant("c"), assistant("d"), user("e")])
    assert body["messages"] == [
        {"role": "user", "content": [text("a"), text("\n\nb", marked=True)]},
        {"role": "assistant", "content": [text("c"), text("\n\nd")]},
        {"role": "user", "content": [text("e", marked=True)]},
    ]


def test_what_the_vendor_refuses_is_left_out() -> None:
    body = encoded([system(" \n"), user(""), assistant("hello"), user("a"), assistant("\t"), user("b")])
    assert "system" not in body
    assert body["messages"] == [{"role": "user", "content": [text("a"), text("\n\nb", marked=True)]}]


def test_an_answer_at_the_end_is_not_sent_to_be_gone_on_with() -> None:
    body = encoded([user("a"), assistant("cut off "), assistant("twice ")])
    assert body["messages"] == [{"role": "user", "content": [text("a", marked=True)]}]


def test_an_answer_within_the_history_is_left_as_it_is() -> None:
    body = encoded([user("a"), assistant("ends in white space \n"), user("b")])
    assert body["messages"][1]["content"] == [text("ends in white space \n")]


def test_a_request_is_valid_unicode() -> None:
    assert encoded([user("a\ud83d")])["messages"][0]["content"][0]["text"] == "a\ufffd"


Block = tuple[str, str]
TEXTS = st.sampled_from(["", " \n", "a", "bc\n", "\n\nd", "ü😀"])
SIDES = st.sampled_from([user, assistant])
HISTORIES: st.SearchStrategy[list[Message]] = st.lists(
    st.tuples(SIDES, TEXTS).map(lambda said: said[0](said[1]))
)


def blocks_of(body: dict[str, Any]) -> list[Block]:
    """What the vendor's cache compares: blocks in order, without the marks."""
    said = cast("list[dict[str, Any]]", body["messages"])
    return [(str(message["role"]), str(block["text"])) for message in said for block in message["content"]]


@given(HISTORIES)
def test_any_history_makes_a_request_that_the_vendor_takes(history: list[Message]) -> None:
    body = encoded([system("s"), *history])
    roles = [message["role"] for message in body["messages"]]
    assert roles == [("user", "assistant")[index % 2] for index in range(len(roles))]
    assert not roles or roles[-1] == "user"
    assert all(words.strip() for _role, words in blocks_of(body))
    marked = [
        number
        for number, message in enumerate(body["messages"])
        for block in message["content"]
        if "cache_control" in block
    ]
    assert len(marked) <= 3
    assert not roles or marked[-1] == len(roles) - 1


@pytest.mark.exhaustive
@given(HISTORIES, HISTORIES)
def test_a_longer_history_begins_with_the_blocks_of_the_shorter(
    history: list[Message], more: list[Message]
) -> None:
    before, after = blocks_of(encoded(history)), blocks_of(encoded([*history, *more]))
    assert after[: len(before)] == before


@given(HISTORIES)
def test_the_same_history_gives_the_same_bytes(history: list[Message]) -> None:
    assert WIRE.encode(history, ()) == WIRE.encode(list(history), ())


def read(*events: dict[str, Any]) -> list[Frame]:
    reader = WIRE.reader()
    return [reader.read(str(event.get("type")), json.dumps(event)) for event in events]


def started(**usage: object) -> dict[str, Any]:
    return {"type": "message_start", "message": {"id": "msg_1", "content": [], "usage": usage}}


def ended(reason: str | None = "end_turn", usage: dict[str, object] | None = None) -> dict[str, Any]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return {"type": "message_delta", "delta": delta, "usage": usage or {}}


def block(event: str, **part: object) -> dict[str, Any]:
    return {"type": event, "index": 0, ("delta" if event.endswith("delta") else "content_block"): part}


@cases(
    ("event", "words", "reasoning"),
    [
        (block("content_block_delta", type="text_delta", text="hi"), "hi", ""),
        (block("content_block_delta", type="thinking_delta", thinking="hm"), "", "hm"),
        (block("content_block_delta", type="signature_delta", signature="Eq"), "", ""),
        (block("content_block_delta", type="input_json_delta", partial_json="{"), "", ""),
        (block("content_block_delta", type="citations_delta", citation={}), "", ""),
        (block("content_block_delta", type="new_delta", text="?"), "", ""),
        (block("content_block_delta", type="text_delta", text=None), "", ""),
        (block("content_block_start", type="text", text=""), "", ""),
        (block("content_block_start", type="text", text="be"), "be", ""),
        (block("content_block_start", type="thinking", thinking="", signature=""), "", ""),
        (block("content_block_start", type="redacted_thinking", data="Em"), "", ""),
        ({"type": "content_block_stop", "index": 0}, "", ""),
        ({"type": "ping"}, "", ""),
        ({"type": "something_new", "delta": 1}, "", ""),
    ],
)
def test_deltas_of_all_kinds_are_read_and_what_is_not_known_is_ignored(
    event: dict[str, Any], words: str, reasoning: str
) -> None:
    assert read(event) == [Frame(words, reasoning)]


@cases(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "filter"),
        ("pause_turn", "other"),
        ("tool_use", "stop"),
        (None, ""),
    ],
)
def test_each_reason_to_stop_is_known(reason: str | None, finish: Finish) -> None:
    assert read(ended(reason))[0].finish == finish


def test_the_end_is_the_last_event_and_no_other() -> None:
    frames = read(started(input_tokens=1), ended(), {"type": "message_stop"})
    assert [frame.complete for frame in frames] == [False, False, True]


COMPLETE = {"input_tokens": 5, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300}


@cases(
    ("start", "end", "usage"),
    [
        (COMPLETE | {"output_tokens": 1}, {"output_tokens": 9}, Usage(325, 9, 300, cache_written=20)),
        (COMPLETE, COMPLETE | {"output_tokens": 9}, Usage(325, 9, 300, cache_written=20)),
        (COMPLETE, {"input_tokens": 7, "output_tokens": 9}, Usage(327, 9, 300, cache_written=20)),
        # Of servers that are compatible.
        ({"input_tokens": 5, "output_tokens": 1}, {"output_tokens": 9}, Usage(5, 9)),
        ({"input_tokens": 0}, {"input_tokens": 5, "output_tokens": 9}, Usage(5, 9)),
        ({"input_tokens": 5}, {"input_tokens": 0, "output_tokens": 9}, Usage(5, 9)),
        (
            {"input_tokens": 5, "cache_read_input_tokens": None, "cache_creation_input_tokens": 0},
            {"output_tokens": 9},
            Usage(5, 9, cache_written=0),
        ),
        # Not all of it was reported.
        ({"input_tokens": 5, "output_tokens": 1}, {}, None),
        ({}, {"output_tokens": 9}, None),
        ({"input_tokens": "5"}, {"output_tokens": 9}, None),
        ({"input_tokens": 5}, {"output_tokens": True}, None),
    ],
)
def test_usage_is_added_up_from_its_parts(
    start: dict[str, object], end: dict[str, object], usage: Usage | None
) -> None:
    assert read(started(**start), ended(usage=end))[-1].usage == usage


def test_each_answer_counts_for_itself() -> None:
    assert read(started(input_tokens=50), ended(usage={"output_tokens": 9}))[-1].usage == Usage(50, 9)
    assert read(started(input_tokens=5), ended(usage={"output_tokens": 1}))[-1].usage == Usage(5, 1)


@cases(
    "data",
    [
        "not json",
        "[]",
        "{}",
        '{"type": 1}',
        '{"object": "chat.completion.chunk", "choices": []}',
        '{"type": "message_start"}',
        '{"type": "message_start", "message": []}',
        '{"type": "content_block_start", "index": 0}',
        '{"type": "content_block_delta", "index": 0, "delta": "hi"}',
        '{"type": "message_delta", "delta": null, "usage": {"output_tokens": 1}}',
        "[" * 100_000,
    ],
)
def test_what_is_no_event_is_an_error_that_shows_it(data: str) -> None:
    with pytest.raises(ProviderProtocolError, match="invalid Anthropic Messages frame") as caught:
        WIRE.reader().read("message", data)
    assert data[:20] in str(caught.value)
    assert caught.value.hint


def test_errors_in_mid_stream_are_mapped() -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with pytest.raises(OverloadedError, match="Overloaded"):
        read(overloaded)
    with pytest.raises(RateLimitError, match="slow down"):
        read({"error": {"type": "rate_limit_error", "message": "slow down"}})
    with pytest.raises(OverloadedError, match="api_error"):
        read({"type": "error", "detail": "api_error"})


def test_models_are_named() -> None:
    listing = {"data": [{"id": "b", "type": "model"}, {"id": "a"}, "odd", {"id": 1}], "has_more": False}
    assert [each.name for each in WIRE.models(listing)] == ["a", "b"]
    assert WIRE.models_path == "/v1/models?limit=1000"
