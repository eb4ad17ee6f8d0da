"""The Chat Completions peer with tools and reasoning, driven by the vendor's own client."""

from collections.abc import Mapping, Sequence
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionChunk

from tests.peers.chat import ChatPeer
from tests.peers.chat_answers import Answer, Call, Habits
from tests.peers.chat_history import Rules

pytestmark = pytest.mark.exhaustive

CALLS = (Call("call_1", "read", '{"file": "a"}'), Call("call_2", "list_all", "{}"))
TOOLS: Any = [
    {
        "type": "function",
        "function": {"name": name, "description": "", "parameters": {"type": "object", "properties": {}}},
    }
    for name in ("read", "list_all")
]
ASKED: dict[str, Any] = {"role": "user", "content": "Read a and list all."}
CALLED: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [call.whole for call in CALLS]}
RESULTS: list[dict[str, Any]] = [
    {"role": "tool", "tool_call_id": call.id, "content": "one"} for call in CALLS
]


def client_of(peer: ChatPeer) -> AsyncOpenAI:
    return AsyncOpenAI(api_key="sk-peer", base_url=peer.base_url, max_retries=0)


async def chunks_of(peer: ChatPeer, messages: Sequence[Any], tools: Any = TOOLS) -> list[ChatCompletionChunk]:
    async with client_of(peer) as client:
        stream = await client.chat.completions.create(
            model="test-model", messages=[*messages], tools=tools, stream=True
        )
        return [chunk async for chunk in stream]


async def test_the_vendors_client_joins_parallel_calls_to_a_message_that_is_accepted() -> None:
    async with ChatPeer([Answer("Both.", *CALLS), "Done."], token=3) as peer, client_of(peer) as client:
        async with client.chat.completions.stream(
            model="test-model", messages=[{"role": "user", "content": "Read."}], tools=TOOLS
        ) as stream:
            message = (await stream.get_final_completion()).choices[0]
        assert message.finish_reason == "tool_calls"
        assert message.message.content == "Both."
        made = message.message.tool_calls or []
        assert [(each.id, each.function.name, each.function.arguments) for each in made] == [
            (each.id, each.name, each.arguments) for each in CALLS
        ]
        answered = {"role": "assistant", "content": "Both.", "tool_calls": [call.whole for call in CALLS]}
        [*_, last] = [each for each in await chunks_of(peer, [ASKED, answered, *RESULTS]) if each.choices]
    assert last.choices[0].finish_reason == "stop"


async def test_the_vendors_client_sees_reasoning_as_a_field_beside_its_own() -> None:
    async with ChatPeer([Answer("Yes.", reasoning="I think.")]) as peer:
        deltas = [chunk.choices[0].delta for chunk in await chunks_of(peer, [ASKED]) if chunk.choices]
    reasoning = [(delta.model_extra or {}).get("reasoning_content", "") for delta in deltas]
    assert "".join(reasoning) == "I think."
    assert "".join(delta.content or "" for delta in deltas) == "Yes."


@pytest.mark.parametrize(
    "habits", [Habits(ids="repeated"), Habits(names="repeated"), Habits(whole="together"), Habits(empty=True)]
)
async def test_the_vendors_client_reads_what_keeps_to_its_index(habits: Habits) -> None:
    async with ChatPeer([Answer("", *CALLS)]) as peer:
        peer.habits = habits
        pieces = [
            piece
            for chunk in await chunks_of(peer, [ASKED])
            for choice in chunk.choices
            for piece in choice.delta.tool_calls or ()
        ]
    assert {piece.index for piece in pieces} == {0, 1}
    for number, call in enumerate(CALLS):
        arguments = [piece.function.arguments for piece in pieces if piece.index == number and piece.function]
        assert "".join(text or "" for text in arguments) == call.arguments


def changed(message: Mapping[str, Any], **members: Any) -> dict[str, Any]:
    return {**message, **members}


FIRST = CALLS[0].whole
BROKEN = changed(FIRST, function={"name": "read", "arguments": '{"file'})


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([ASKED, CALLED], "did not have response messages: call_1, call_2"),
        ([ASKED, CALLED, RESULTS[0]], "did not have response messages: call_2"),
        ([ASKED, CALLED, RESULTS[0], ASKED, RESULTS[1]], "did not have response messages: call_2"),
        ([ASKED, RESULTS[0]], "must be a response to a preceeding message"),
        ([ASKED, CALLED, *RESULTS, RESULTS[0]], "must be a response to a preceeding message"),
        ([ASKED, changed(CALLED, tool_calls=[])], "expected a string, got null"),
        ([ASKED, changed(CALLED, content="x", tool_calls=[])], "too short"),
        ([ASKED, {"role": "assistant", "content": None}], "expected a string, got null"),
        ([ASKED, changed(CALLED, reasoning_content="hm"), *RESULTS], "'reasoning_content' was unexpected"),
        ([changed(ASKED, role="human")], "Supported values are"),
        ([ASKED, changed(CALLED, tool_calls=[BROKEN])], "must be a JSON object"),
        ([ASKED, changed(CALLED, tool_calls=[changed(FIRST, id="c" * 41)])], "string too long"),
        ([], "too short"),
    ],
)
async def test_the_vendors_client_knows_the_refusals_of_messages(
    messages: Sequence[dict[str, Any]], words: str
) -> None:
    async with ChatPeer() as peer:
        with pytest.raises(openai.BadRequestError, match=words):
            await chunks_of(peer, messages)
    assert peer.exchanges == []


WRONG_TOOLS: list[tuple[list[dict[str, Any]], str]] = [
    ([], "too short"),
    ([{"type": "function", "function": {"name": "no good"}}], "does not match pattern"),
    ([{"type": "function", "function": {"name": "x", "parameters": {}}}], "must be of type object"),
]


@pytest.mark.parametrize(("tools", "words"), WRONG_TOOLS)
async def test_the_vendors_client_knows_the_refusals_of_tools(tools: Any, words: str) -> None:
    async with ChatPeer() as peer:
        with pytest.raises(openai.BadRequestError, match=words):
            await chunks_of(peer, [ASKED], tools)


@pytest.mark.parametrize(
    ("rules", "messages", "words"),
    [
        (Rules("reasoning_content", demands=True), [ASKED, CALLED, *RESULTS], "Missing `reasoning_content`"),
        (
            Rules("reasoning_content"),
            [ASKED, changed(CALLED, reasoning_content="invented"), *RESULTS],
            "not what this server wrote",
        ),
        (Rules(mistral=True), [ASKED, CALLED, *RESULTS], "a-z, A-Z, 0-9, with a length of 9"),
        (
            Rules(mistral=True),
            [
                ASKED,
                changed(CALLED, tool_calls=[changed(FIRST, id="abcdefgh1")]),
                changed(RESULTS[0], tool_call_id="abcdefgh1"),
                ASKED,
            ],
            "Unexpected role 'user' after role 'tool'",
        ),
    ],
)
async def test_other_vendors_refuse_what_they_do(
    rules: Rules, messages: Sequence[dict[str, Any]], words: str
) -> None:
    async with ChatPeer() as peer:
        peer.rules = rules
        with pytest.raises(openai.BadRequestError, match=words):
            await chunks_of(peer, messages)


async def test_a_server_without_tools_refuses_them_and_nothing_else() -> None:
    async with ChatPeer() as peer:
        peer.no_tools = (500, "tools param requires --jinja flag")
        with pytest.raises(openai.InternalServerError, match="--jinja"):
            await chunks_of(peer, [ASKED])
        assert await chunks_of(peer, [ASKED], openai.omit)
