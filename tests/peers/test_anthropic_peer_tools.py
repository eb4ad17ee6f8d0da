"""The Anthropic peer's thinking, calls and threads as the vendor's own client sees them."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import pytest
from anthropic.types.beta import BetaMessage, BetaMessageParam, BetaToolParam

from tests.peers.anthropic import AnthropicPeer
from tests.peers.anthropic_answers import Answer, Call, Text, Thinking
from tests.peers.server import Fault

pytestmark = pytest.mark.exhaustive

TOOLS: list[BetaToolParam] = [
    {"name": "read", "description": "Show a file.", "input_schema": {"type": "object"}},
    {"name": "shell", "description": "Run a command.", "input_schema": {"type": "object"}},
]
LOOKS = Answer(
    Thinking("Which files?"),
    Thinking(redacted=True),
    Text("I look."),
    Call("read", '{"file": "ü.txt"}'),
    Call("shell"),
)
ASKED: BetaMessageParam = {"role": "user", "content": "Look."}


@asynccontextmanager
async def client_of(peer: AnthropicPeer) -> AsyncGenerator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(base_url=peer.base_url, api_key="k", max_retries=0) as client:
        yield client


async def answer(
    client: anthropic.AsyncAnthropic, messages: list[BetaMessageParam], **fields: Any
) -> BetaMessage:
    given: dict[str, Any] = {"thinking": {"type": "adaptive"}, "tools": TOOLS} | fields
    async with client.beta.messages.stream(
        model="test-model", max_tokens=4000, messages=messages, **given
    ) as stream:
        return await stream.get_final_message()


def replied(message: BetaMessage, *results: dict[str, Any]) -> list[BetaMessageParam]:
    """A history with an answer as the client gives it, and results."""
    content: Any = [block.model_dump(exclude_none=True) for block in message.content]
    for block in content:
        block.pop("parsed_output", None)
    given: Any = list(results)
    return [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": content},
        {"role": "user", "content": given},
    ]


def results_of(message: BetaMessage) -> list[dict[str, Any]]:
    ids = [block.id for block in message.content if block.type == "tool_use"]
    return [{"type": "tool_result", "tool_use_id": id, "content": "one line"} for id in ids]


async def test_thinking_and_calls_are_complete_to_the_vendors_client() -> None:
    async with AnthropicPeer([LOOKS, "Done."], token=3) as peer, client_of(peer) as client:
        message = await answer(client, [ASKED])
        assert [block.type for block in message.content] == [
            "thinking",
            "redacted_thinking",
            "text",
            "tool_use",
            "tool_use",
        ]
        calls = [block for block in message.content if block.type == "tool_use"]
        assert [(call.name, call.input) for call in calls] == [("read", {"file": "ü.txt"}), ("shell", {})]
        assert message.stop_reason == "tool_use"
        done = await answer(client, replied(message, *results_of(message)))
    assert done.stop_reason == "end_turn"


async def test_thinking_can_be_omitted_but_for_its_signature() -> None:
    async with AnthropicPeer([LOOKS]) as peer, client_of(peer) as client:
        message = await answer(client, [ASKED], thinking={"type": "adaptive", "display": "omitted"})
    assert message.content[0].type == "thinking"
    assert (message.content[0].thinking, bool(message.content[0].signature)) == ("", True)


def _changed(history: list[Any], name: str, value: object) -> None:
    history[1]["content"][0][name] = value


CHANGES: list[tuple[Callable[[list[Any]], object], str]] = [
    (lambda history: history[2]["content"].pop(), "`tool_use` ids were found without `tool_result` blocks"),
    (
        lambda history: history.pop(),
        "without `tool_result` blocks|does not support assistant message prefill",
    ),
    (
        lambda history: history[2]["content"].insert(0, {"type": "text", "text": "First."}),
        "`tool_use` ids were found without `tool_result` blocks",
    ),
    (
        lambda history: history[2]["content"][0].update(tool_use_id="toolu_other"),
        "unexpected `tool_use_id` found in `tool_result` blocks: toolu_other",
    ),
    (
        lambda history: history[2]["content"].append(history[2]["content"][0]),
        "each tool_use must have a single result",
    ),
    (
        lambda history: history[1]["content"][3].update(input="{}"),
        r"tool_use\.input: Input should be a valid dictionary",
    ),
    (lambda history: history[1]["content"][3].update(id="a b"), "String should match pattern"),
    (lambda history: _changed(history, "thinking", "Other."), "cannot be modified"),
    (lambda history: _changed(history, "signature", "Eq"), "Invalid `signature` in `thinking` block"),
    (lambda history: history[1]["content"].pop(1), "cannot be modified"),
    (lambda history: history[1]["content"].reverse(), "The final block in an assistant message cannot be"),
    (lambda history: history[0].update(content=history[2]["content"]), "unexpected `tool_use_id`"),
]


@pytest.mark.parametrize(("change", "words"), CHANGES)
async def test_what_does_not_belong_together_is_refused(
    change: Callable[[list[Any]], object], words: str
) -> None:
    async with AnthropicPeer([LOOKS, "Done."]) as peer, client_of(peer) as client:
        message = await answer(client, [ASKED])
        history: list[Any] = replied(message, *results_of(message))
        change(history)
        with pytest.raises(anthropic.BadRequestError, match=words):
            await answer(client, history)


async def test_a_model_with_a_budget_requires_the_thinking_before_its_calls() -> None:
    budget = {"type": "enabled", "budget_tokens": 2000}
    async with AnthropicPeer([LOOKS, "Done."]) as peer, client_of(peer) as client:
        message = await answer(client, [ASKED], thinking=budget)
        history: Any = replied(message, *results_of(message))
        del history[1]["content"][:2]
        with pytest.raises(anthropic.BadRequestError, match="must start with a thinking block"):
            await answer(client, history, thinking=budget)
        await answer(client, history)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"tools": []}, "must define tools"),
    ({"thinking": {"type": "enabled", "budget_tokens": 1000}}, "budget_tokens"),
    ({"thinking": {"type": "enabled", "budget_tokens": 4000}}, "budget_tokens"),
    ({"output_config": {"effort": "huge"}}, "does not support the effort parameter"),
    ({"extra_body": {"reasoning": {}}}, "reasoning: Extra inputs are not permitted"),
    ({"extra_body": {"thread": {"type": "create"}}}, "thread: Extra inputs are not permitted"),
    (
        {"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}},
        "block_binding: Extra inputs are not permitted",
    ),
]


@pytest.mark.parametrize(("fields", "words"), REFUSED)
async def test_settings_that_the_model_does_not_have_are_refused(fields: dict[str, Any], words: str) -> None:
    async with AnthropicPeer([LOOKS]) as peer, client_of(peer) as client:
        message = await answer(client, [ASKED])
        with pytest.raises(anthropic.BadRequestError, match=words):
            await answer(client, replied(message, *results_of(message)), **fields)


BETA = "message-threads-2026-08-12"


async def test_the_vendors_own_thread_goes_on_with_what_is_new_alone() -> None:
    async with AnthropicPeer([LOOKS, "Done.", "Again."]) as peer, client_of(peer) as client:
        thread = client.beta.messages.thread(
            model="test-model",
            max_tokens=4000,
            system="Be brief.",
            tools=TOOLS,
            thinking={"type": "adaptive"},
        )

        async def send(message: BetaMessageParam) -> BetaMessage:
            async with thread.stream(message) as stream:
                return await stream.get_final_message()

        message = await send(ASKED)
        results: Any = {"role": "user", "content": results_of(message)}
        await send(results)
        peer.threads.forget()
        await send({"role": "user", "content": "And now?"})
    threads = [request.body.get("thread", {}).get("type") for request in peer.requests]
    assert threads == ["create", "continue", "continue", "create"]
    assert [len(request.body["messages"]) for request in peer.requests] == [1, 1, 1, 5]
    assert [exchange.context[0]["content"] for exchange in peer.exchanges] == ["Be brief."] * 3


async def test_a_thread_goes_on_once_and_with_the_same_settings() -> None:
    async with AnthropicPeer(["Hello.", "Done."]) as peer, client_of(peer) as client:
        first = await answer(client, [ASKED], thread={"type": "create"}, betas=[BETA])
        next: Any = {"type": "continue", "previous_message_id": first.id}
        extra: Any = {"thread": next, "betas": [BETA], "tools": anthropic.omit}
        with pytest.raises(anthropic.BadRequestError, match=r"differing field\(s\): thinking"):
            await answer(client, [ASKED], **extra, thinking={"type": "disabled"})
        with pytest.raises(anthropic.BadRequestError, match=r"differing field\(s\): tools"):
            await answer(client, [ASKED], **(extra | {"tools": TOOLS}))
        await answer(client, [ASKED], **extra)
        with pytest.raises(anthropic.BadRequestError, match="already been continued") as caught:
            await answer(client, [ASKED], **extra)
        assert caught.value.error_code == "thread_already_continued"
        lost = extra | {"thread": {"type": "continue", "previous_message_id": "msg_other"}}
        with pytest.raises(anthropic.NotFoundError) as missing:
            await answer(client, [ASKED], **lost)
        assert missing.value.error_code == "thread_not_found"


async def test_a_thread_whose_answer_was_cut_short_is_not_found() -> None:
    async with AnthropicPeer(["Hello."], faults=[Fault(no_finish=True)]) as peer, client_of(peer) as client:
        async with client.beta.messages.stream(
            model="test-model", max_tokens=9, messages=[ASKED], thread={"type": "create"}, betas=[BETA]
        ) as stream:
            ids = [event.message.id async for event in stream if event.type == "message_start"]
        extra: Any = {"thread": {"type": "continue", "previous_message_id": ids[0]}, "betas": [BETA]}
        with pytest.raises(anthropic.NotFoundError):
            await answer(client, [ASKED], **extra, tools=anthropic.omit, thinking=anthropic.omit)
