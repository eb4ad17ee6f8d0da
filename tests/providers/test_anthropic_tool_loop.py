"""Tool loops over Anthropic's wire and real sockets, against a peer that demands what the vendor demands."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from cogency_tui.errors import BadRequestError, NetworkError
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.anthropic import AnthropicWire
from cogency_tui.providers.base import PLAIN, Chunk, Notice, Options, ReasoningDelta, Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_provider import HttpProvider
from cogency_tui.providers.models import ModelFacts
from tests.cases import cases
from tests.peers.anthropic import AnthropicPeer
from tests.peers.anthropic_answers import Answer, Call, Text, Thinking
from tests.peers.server import Fault
from tests.providers.anthropic_native import TOOLS, answered, calls_of, check_types, results_of, says, text
from tests.providers.asked import KEY

SYSTEM: Message = {"role": "system", "content": "s" * 4 * 2000}
ASKED = says("user", text("Look."))
REASONS = ModelFacts(reasoning=True, efforts={"low": "low", "high": "high"})
LOOKS = Answer(
    Thinking("Which files?"),
    Thinking(redacted=True),
    Text("I look."),
    Call("read", '{"file": "ü.txt", "lines": 3}'),
    Call("shell"),
    Call("read", '{"file": "b'),
)
DONE = Answer(Thinking("All there."), Text("Done."))


@asynccontextmanager
async def asking(
    peer: AnthropicPeer, model: str = "claude-sonnet-5", *, own: bool = False
) -> AsyncGenerator[HttpProvider]:
    """A provider that asks a peer for this model."""
    peer.model = model
    endpoint = Endpoint("anthropic", peer.base_url, model, "ANTHROPIC_API_KEY", KEY)
    wire = AnthropicWire(endpoint, REASONS, own=own)
    provider = HttpProvider(endpoint, wire, native=True, facts=REASONS)
    try:
        yield provider
    finally:
        await provider.close()


async def stream(
    provider: HttpProvider, messages: Sequence[Message], options: Options = TOOLS
) -> list[Chunk]:
    async with aclosing(provider.stream(messages, options)) as chunks:
        return [chunk async for chunk in chunks]


async def loop(peer: AnthropicPeer, provider: HttpProvider, options: Options = TOOLS) -> list[Message]:
    """A turn of one answer with calls and one without; the messages."""
    messages = [SYSTEM, ASKED]
    for _cycle in range(2):
        answer = answered(await stream(provider, messages, options))
        messages += [answer, results_of(answer)]
    for request in peer.requests:
        check_types(request.body)
    return messages


MODELS = ["claude-sonnet-5", "claude-sonnet-5-5", "claude-haiku-4-5", "kimi-k3"]


@cases("model", MODELS)
async def test_a_tool_loop_keeps_the_thinking_and_answers_each_call_once(model: str) -> None:
    async with AnthropicPeer([LOOKS, DONE], token=3) as peer, asking(peer, model, own=True) as provider:
        messages = await loop(peer, provider)
    calls = calls_of(messages[2])
    assert [(call["name"], call["arguments"]) for call in calls] == [
        ("read", '{"file": "ü.txt", "lines": 3}'),
        ("shell", ""),
        ("read", '{"file": "b'),
    ]
    sent = peer.requests[1].body["messages"]
    kinds = [block["type"] for block in sent[1]["content"]]
    assert kinds == ["thinking", "redacted_thinking", "text", "tool_use", "tool_use", "tool_use"]
    assert sent[1]["content"][0]["thinking"] == "Which files?"
    assert [block["tool_use_id"] for block in sent[2]["content"]] == [call["id"] for call in calls]


@cases(("token", "fault"), [(1, None), (100, None), (7, Fault(one_byte=True)), (7, Fault(comments=True))])
async def test_any_split_of_the_stream_gives_the_same_answer(token: int, fault: Fault | None) -> None:
    async with AnthropicPeer([LOOKS], token=token, always=fault) as peer, asking(peer) as provider:
        answer = answered(await stream(provider, [SYSTEM, ASKED]))
    assert [part["type"] for part in answer.get("parts", ())] == [
        "reasoning",
        "reasoning",
        "text",
        *["call"] * 3,
    ]
    assert [call["arguments"] for call in calls_of(answer)] == [
        '{"file": "ü.txt", "lines": 3}',
        "",
        '{"file": "b',
    ]
    assert answer["content"] == "I look."


async def test_summaries_of_thinking_are_shown() -> None:
    async with AnthropicPeer([LOOKS]) as peer, asking(peer) as provider:
        chunks = await stream(provider, [SYSTEM, ASKED])
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, ReasoningDelta)) == "Which files?"


async def test_an_answer_with_calls_alone_is_not_empty() -> None:
    async with AnthropicPeer([Answer(Call("shell"))]) as peer, asking(peer) as provider:
        chunks = await stream(provider, [SYSTEM, ASKED])
    assert isinstance(chunks[-1], Usage)
    assert (chunks[-1].model, chunks[-1].tier) == ("claude-sonnet-5", "standard")


async def test_a_connection_that_drops_within_a_call_leaves_it_incomplete() -> None:
    fault = Fault(drop="within", after=22)
    async with AnthropicPeer([LOOKS], token=3, always=fault) as peer, asking(peer) as provider:
        got: list[Chunk] = []

        async def listen() -> None:
            async for chunk in provider.stream([SYSTEM, ASKED], TOOLS):
                got.append(chunk)

        with pytest.raises(NetworkError):
            await listen()
    [call] = calls_of(answered(got))
    assert '{"file": "ü.txt", "lines": 3}'.startswith(call["arguments"])
    assert call["arguments"] != '{"file": "ü.txt", "lines": 3}'


async def test_each_cycle_of_a_tool_loop_reads_all_that_the_last_one_wrote() -> None:
    many = Answer(*(Call("read", f'{{"file": "{number}"}}') for number in range(15)))
    async with AnthropicPeer([many, many, DONE]) as peer, asking(peer) as provider:
        messages = [SYSTEM, ASKED]
        for _cycle in range(3):
            answer = answered(await stream(provider, messages))
            messages += [answer, results_of(answer)]
    first, second, third = peer.bills
    assert second.read == first.written + first.read
    # Each turn has more blocks than the vendor looks back over.
    assert third.read == second.read + second.written


async def test_a_history_with_calls_is_accepted_without_tools() -> None:
    async with AnthropicPeer([LOOKS, DONE, "Look around"]) as peer, asking(peer) as provider:
        messages = await loop(peer, provider)
        await stream(provider, [*messages[:3], messages[3], says("user", text("A title?"))], PLAIN)
    assert "tools" not in peer.requests[-1].body


async def test_an_effort_that_the_model_refuses_is_left_out_after_one_notice() -> None:
    async with AnthropicPeer([LOOKS, DONE]) as peer, asking(peer) as provider:
        peer.efforts = ()
        options = replace(TOOLS, effort="high")
        first = await stream(provider, [SYSTEM, ASKED], options)
        second = await stream(provider, [SYSTEM, ASKED], options)
    notices = [[chunk.text for chunk in chunks if isinstance(chunk, Notice)] for chunks in (first, second)]
    assert [len(each) for each in notices] == [1, 0]
    assert "reasoning effort high" in notices[0][0]
    sent = [request.body.get("output_config") for request in peer.requests]
    assert sent == [{"effort": "high"}, None, None]


async def test_thinking_that_the_model_refuses_is_left_out() -> None:
    async with AnthropicPeer([LOOKS]) as peer, asking(peer) as provider:
        peer.thinking_types = ("enabled",)
        await stream(provider, [SYSTEM, ASKED])
    assert ["thinking" in request.body for request in peer.requests] == [True, False]


async def test_a_proxy_that_refuses_headers_is_asked_without_them() -> None:
    async with AnthropicPeer([LOOKS, DONE]) as peer, asking(peer, "claude-sonnet-5-5", own=True) as provider:
        peer.versions, peer.betas = ("2023-06-01",), ()
        await loop(peer, provider)
    versions = [request.headers["anthropic-version"] for request in peer.requests]
    assert versions == ["2026-10-21", *["2023-06-01"] * 3]
    betas = [request.headers.get("anthropic-beta") for request in peer.requests]
    assert [beta is None for beta in betas] == [False, False, True, True]
    assert "block_binding" not in peer.requests[-1].body["thinking"]


async def test_tools_are_sent_without_a_field_that_is_refused() -> None:
    async with AnthropicPeer([LOOKS, DONE]) as peer, asking(peer, own=True) as provider:
        peer.refuses_eager_input = True
        await loop(peer, provider)
    eager = [request.body["tools"][0].get("eager_input_streaming") for request in peer.requests]
    assert eager == [True, None, None]


OTHER_SYSTEM: Message = {"role": "system", "content": "t" * 4 * 2000}


@cases(("own", "requests"), [(True, 2), (False, 3)])
async def test_thinking_survives_a_change_of_what_came_before_it(own: bool, requests: int) -> None:
    async with AnthropicPeer([LOOKS, DONE]) as peer, asking(peer, "claude-sonnet-5-5", own=own) as provider:
        peer.binds = True
        answer = answered(await stream(provider, [SYSTEM, ASKED]))
        await stream(provider, [OTHER_SYSTEM, ASKED, answer, results_of(answer)])
    assert len(peer.requests) == requests
    kinds = {block["type"] for block in peer.requests[-1].body["messages"][1]["content"]}
    # The vendor drops it itself where it is asked to; from other servers it is withheld.
    assert ("thinking" in kinds) is own


async def test_thinking_that_was_changed_is_withheld() -> None:
    async with AnthropicPeer([LOOKS, DONE]) as peer, asking(peer) as provider:
        answer = answered(await stream(provider, [SYSTEM, ASKED]))
        changed: Any = answer["parts"][0] if "parts" in answer else {}
        changed["item"]["thinking"] = "Something else."
        chunks = await stream(provider, [SYSTEM, ASKED, answer, results_of(answer)])
    assert answered(chunks)["content"] == "Done."


async def test_a_call_without_a_result_is_refused_in_the_vendors_words() -> None:
    async with AnthropicPeer([LOOKS]) as peer, asking(peer) as provider:
        answer = answered(await stream(provider, [SYSTEM, ASKED]))
        with pytest.raises(BadRequestError, match="`tool_use` ids were found without `tool_result` blocks"):
            await stream(provider, [SYSTEM, ASKED, answer, says("user", text("And?"))])
