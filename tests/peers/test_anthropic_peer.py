"""The Anthropic peer as the vendor's own client sees it."""

import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import pytest
from anthropic.types import (
    CacheMissPreviousMessageNotFound,
    CacheMissSystemChanged,
    Message,
    MessageParam,
    TextBlockParam,
)

from tests.peers.anthropic import AnthropicPeer, Bill, error_event, error_object
from tests.peers.server import Fault

pytestmark = pytest.mark.exhaustive

QUESTION: list[MessageParam] = [{"role": "user", "content": "Hi."}]
ORDER = [
    "message_start",
    "content_block_start",
    "ping",
    "content_block_delta",
    "content_block_delta",
    "content_block_stop",
    "content_block_start",
    "content_block_delta",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
]


@asynccontextmanager
async def client_of(peer: AnthropicPeer, key: str = "sk-key") -> AsyncGenerator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(base_url=peer.base_url, api_key=key, max_retries=0) as client:
        yield client


def block(text: str, *, marked: bool = False) -> TextBlockParam:
    if marked:
        return {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
    return {"type": "text", "text": text}


async def answer(
    peer: AnthropicPeer,
    messages: Iterable[MessageParam] = QUESTION,
    *,
    system: Iterable[TextBlockParam] = (),
    max_tokens: int = 1000,
    **extra: Any,
) -> Message:
    async with (
        client_of(peer) as client,
        client.messages.stream(
            model="test-model",
            max_tokens=max_tokens,
            messages=messages,
            system=system,
            extra_body=extra,
        ) as stream,
    ):
        return await stream.get_final_message()


async def test_an_answer_is_complete_to_the_vendors_client() -> None:
    async with AnthropicPeer(["Hello there"]) as peer:
        message = await answer(peer)
    assert [part.type for part in message.content] == ["text"]
    assert message.content[0].model_dump()["text"] == "Hello there"
    assert (message.role, message.model, message.stop_reason) == ("assistant", "test-model", "end_turn")
    assert (message.usage.input_tokens, message.usage.output_tokens) == (1, 3)


async def test_text_arrives_piece_by_piece() -> None:
    async with (
        AnthropicPeer(["Hello there"], key="sk-key") as peer,
        client_of(peer) as client,
        client.messages.stream(model="test-model", max_tokens=10, messages=QUESTION) as stream,
    ):
        assert [text async for text in stream.text_stream] == ["Hell", "o th", "ere"]


async def test_events_come_in_the_vendors_order_with_reasoning_before_the_text() -> None:
    async with (
        AnthropicPeer(["Hello."], always=Fault(reasoning="Let me think")) as peer,
        client_of(peer) as client,
        client.messages.with_streaming_response.create(
            model="test-model", max_tokens=10, messages=QUESTION, stream=True
        ) as response,
    ):
        lines = [line async for line in response.iter_lines()]
        names = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
        types = [json.loads(line[6:])["type"] for line in lines if line.startswith("data: ")]
        assert names == types == ORDER
    async with AnthropicPeer(["Hello."], always=Fault(reasoning="Let me think")) as peer:
        message = await answer(peer)
    thinking, text = (part.model_dump() for part in message.content)
    assert (thinking["type"], thinking["thinking"], bool(thinking["signature"])) == (
        "thinking",
        "Let me think",
        True,
    )
    assert text["text"] == "Hello."


@pytest.mark.parametrize("reason", ["max_tokens", "refusal", "model_context_window_exceeded"])
async def test_other_reasons_to_stop_are_the_vendors(reason: str) -> None:
    async with AnthropicPeer(always=Fault(finish=reason, deltas=[])) as peer:
        message = await answer(peer)
    assert message.stop_reason == reason
    assert not message.content


LONG = "x" * 4 * 1024
SHORT = "x" * 4 * 1023


def usage_of(message: Message) -> Bill:
    usage = message.usage
    written, read = usage.cache_creation_input_tokens, usage.cache_read_input_tokens
    assert written is not None
    assert read is not None
    assert usage.cache_creation is not None
    assert usage.cache_creation.ephemeral_5m_input_tokens == written
    return Bill(usage.input_tokens, written, read)


async def test_a_prefix_is_written_at_its_mark_and_read_by_the_next_request() -> None:
    async with AnthropicPeer() as peer:
        system = [block(LONG, marked=True)]
        bills = [usage_of(await answer(peer, QUESTION, system=system)) for _ in range(2)]
        peer.forget()
        bills.append(usage_of(await answer(peer, QUESTION, system=system)))
    assert bills == [Bill(1, 1024, 0), Bill(1, 0, 1024), Bill(1, 1024, 0)]
    assert bills == peer.bills


@pytest.mark.parametrize(
    ("system", "least", "bill"),
    [
        ([block(LONG)], 1024, Bill(1025, 0, 0)),
        ([block(SHORT, marked=True)], 1024, Bill(1024, 0, 0)),
        ([block(SHORT, marked=True)], 512, Bill(1, 0, 1023)),
        ([block(LONG, marked=True)], 4096, Bill(1025, 0, 0)),
    ],
)
async def test_only_what_is_marked_and_long_enough_is_cached(
    system: list[TextBlockParam], least: int, bill: Bill
) -> None:
    async with AnthropicPeer() as peer:
        peer.least_cached = least
        await answer(peer, system=system)
        await answer(peer, system=system)
    assert peer.bills[1] == bill


async def test_a_change_before_a_mark_makes_another_prefix() -> None:
    async with AnthropicPeer() as peer:
        await answer(peer, system=[block(LONG, marked=True)])
        await answer(peer, system=[block("y" + LONG[1:], marked=True)])
        await answer(peer, [{"role": "user", "content": [block(LONG, marked=True)]}])
    assert [bill.read for bill in peer.bills] == [0, 0, 0]


def turn(index: int, *, marked: bool) -> MessageParam:
    content = [block(f"{index:040d}", marked=marked)]
    if index % 2:
        return {"role": "assistant", "content": content}
    return {"role": "user", "content": content}


def turns(number: int, *marked: int) -> list[MessageParam]:
    """A conversation of so many blocks of ten tokens each, with marks on some."""
    return [turn(index, marked=index in marked) for index in range(number)]


@pytest.mark.parametrize(
    ("before", "after", "read"),
    [
        # The marks move with the conversation.
        (turns(1, 0), turns(3, 2), 10),
        (turns(3, 2), turns(5, 2, 4), 30),
        # From a mark on, an entry is looked for at twenty blocks, with the mark's own.
        (turns(1, 0), turns(21, 18), 10),
        (turns(1, 0), turns(21, 19), 10),
        (turns(1, 0), turns(21, 20), 0),
        (turns(1, 0), turns(21, 0, 20), 10),
        # Nothing is written but at a mark.
        (turns(5, 4), turns(3, 2), 0),
    ],
)
async def test_entries_are_looked_for_as_the_vendor_does(
    before: list[MessageParam], after: list[MessageParam], read: int
) -> None:
    async with AnthropicPeer() as peer:
        peer.least_cached = 10
        await answer(peer, before)
        await answer(peer, after)
    assert peer.bills[1].read == read


def said(role: str, *contents: str) -> list[dict[str, Any]]:
    return [{"role": role, "content": content} for content in contents]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"messages": []}, "messages: at least one message is required"),
    ({"messages": said("assistant", "a")}, 'messages: first message must use the "user" role'),
    ({"messages": said("user", "a") + said("system", "b")}, "role 'system' is not supported on this model"),
    ({"messages": said("user", "a") + said("assistant", "b")}, "does not support assistant message prefill"),
    ({"messages": said("user", "", "a")}, "messages.0: all messages must have non-empty content"),
    ({"messages": said("user", " \n")}, "messages: text content blocks must contain non-whitespace text"),
    ({"messages": said("user", "")}, "messages: text content blocks must be non-empty"),
    ({"system": " "}, "system: text content blocks must contain non-whitespace text"),
    (
        {"system": [block("s", marked=True)] * 5},
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    ({"max_tokens": 0}, "max_tokens: Input should be greater than or equal to 1"),
    ({"max_tokens": 128_001}, "max_tokens: 128001 > 128000, which is the maximum allowed number"),
    ({"system": "x" * 800_004}, "prompt is too long: 200002 tokens > 200000 maximum"),
    ({"temperature": 1}, "temperature: Extra inputs are not permitted"),
]


@pytest.mark.parametrize(("body", "words"), REFUSED)
async def test_what_the_vendor_would_not_take_is_refused_in_its_words(
    body: dict[str, Any], words: str
) -> None:
    async with AnthropicPeer(refuses=["temperature"]) as peer:
        with pytest.raises(anthropic.BadRequestError) as caught:
            await answer(peer, **body)
    assert caught.value.type == "invalid_request_error"
    assert words in str(caught.value)
    assert not peer.exchanges


async def test_what_is_missing_is_named() -> None:
    async with AnthropicPeer() as peer, client_of(peer) as client:
        for missing in ("model", "max_tokens", "messages"):
            body = {"model": "test-model", "max_tokens": 10, "messages": QUESTION}
            del body[missing]
            with pytest.raises(anthropic.BadRequestError, match=f"{missing}: Field required"):
                await client.post("/v1/messages", body=body, cast_to=object)
        with pytest.raises(anthropic.BadRequestError, match="anthropic-version: header is required"):
            await client.get(
                "/v1/models", cast_to=object, options={"headers": {"anthropic-version": anthropic.omit}}
            )


async def test_a_model_or_an_address_that_is_not_there_is_not_found() -> None:
    async with AnthropicPeer() as peer, client_of(peer) as client:
        with pytest.raises(anthropic.NotFoundError, match="model: claude-nope"):
            await client.messages.create(model="claude-nope", max_tokens=10, messages=QUESTION)
        with pytest.raises(anthropic.NotFoundError, match="Not Found"):
            await client.post("/v2/messages", body={}, cast_to=object)


async def test_the_key_is_taken_in_either_header() -> None:
    async with AnthropicPeer(key="sk-key") as peer:
        async with client_of(peer) as client:
            await client.models.list()
            await client.models.list(extra_headers={"authorization": anthropic.omit, "x-api-key": "sk-key"})
        async with client_of(peer, "sk-other") as client:
            with pytest.raises(anthropic.AuthenticationError, match="invalid x-api-key"):
                await client.models.list()


STATUSES: list[tuple[int, str, type[anthropic.APIStatusError]]] = [
    (429, "rate_limit_error", anthropic.RateLimitError),
    (413, "request_too_large", anthropic.ContentTooLargeError),
    (500, "api_error", anthropic.InternalServerError),
    (529, "overloaded_error", anthropic.OverloadedError),
]


@pytest.mark.parametrize(("status", "kind", "error"), STATUSES)
async def test_faults_are_the_vendors_errors(
    status: int, kind: str, error: type[anthropic.APIStatusError]
) -> None:
    fault = Fault(status=status, headers={"retry-after": "7"}, body=json.dumps(error_object(kind, "Not now")))
    async with AnthropicPeer(always=fault) as peer:
        with pytest.raises(error, match="Not now") as caught:
            await answer(peer)
    assert caught.value.type == kind
    assert caught.value.response.headers["retry-after"] == "7"


async def test_an_error_in_mid_stream_is_an_event() -> None:
    fault = Fault(frame=error_event("overloaded_error", "Overloaded"), after=4)
    async with AnthropicPeer(["Hello."], always=fault) as peer:
        with pytest.raises(anthropic.APIStatusError, match="Overloaded") as caught:
            await answer(peer)
    assert caught.value.type == "overloaded_error"


async def test_diagnostics_name_the_first_difference_to_the_request_before() -> None:
    async with AnthropicPeer() as peer:
        first = await answer(peer, system=[block("Be brief.")], diagnostics={"previous_message_id": None})
        before = {"previous_message_id": first.id}
        grown: list[MessageParam] = [
            *QUESTION,
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "So?"},
        ]
        same = await answer(peer, grown, system=[block("Be brief.")], diagnostics=before)
        changed = await answer(peer, system=[block("Be long.")], diagnostics=before)
        gone = await answer(peer, diagnostics={"previous_message_id": "msg_gone"})
        peer.compares_late = True
        late = await answer(peer, diagnostics=before)
    assert (first.diagnostics, same.diagnostics) == (None, None)
    assert changed.diagnostics is not None
    assert isinstance(changed.diagnostics.cache_miss_reason, CacheMissSystemChanged)
    assert changed.diagnostics.cache_miss_reason.cache_missed_input_tokens == 3
    assert gone.diagnostics is not None
    assert isinstance(gone.diagnostics.cache_miss_reason, CacheMissPreviousMessageNotFound)
    assert late.diagnostics is not None
    assert late.diagnostics.cache_miss_reason is None
    for message in (changed, gone, late):
        type(message).model_validate_json(message.to_json(), strict=True)


async def test_models_are_listed_in_pages() -> None:
    async with AnthropicPeer(model="claude-a") as peer, client_of(peer) as client:
        peer.others = [f"claude-{number}" for number in range(30)]
        page = await client.models.list()
        assert (len(page.data), page.has_more, page.last_id) == (20, True, "claude-18")
        assert [model.id async for model in client.models.list()] == ["claude-a", *peer.others]
        assert len((await client.models.list(limit=1000)).data) == 31
    assert page.data[0].max_input_tokens == peer.context_size
