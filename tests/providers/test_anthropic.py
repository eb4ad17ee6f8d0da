"""What Anthropic Messages alone has, over real sockets: its cache and its limits."""

from dataclasses import replace
from datetime import date
from functools import partial

import pytest
from anthropic import AsyncAnthropic

from cogency_tui.errors import BadRequestError
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.anthropic import AnthropicWire
from cogency_tui.providers.base import Usage
from cogency_tui.providers.models import ModelFacts
from tests.peers.anthropic import AnthropicPeer, Bill
from tests.peers.server import Fault
from tests.providers.asked import ANTHROPIC, KEY, Asked


async def test_the_request_is_what_the_vendor_expects() -> None:
    async with AnthropicPeer() as peer:
        await ANTHROPIC.ask(peer)
    [request] = peer.requests
    assert (request.method, request.path) == ("POST", "/v1/messages")
    assert request.headers["x-api-key"] == KEY
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert request.headers["content-type"] == "application/json"
    assert "authorization" not in request.headers
    mark = {"type": "ephemeral"}
    assert request.body == {
        "model": "test-model",
        "max_tokens": 32_000,
        "stream": True,
        "system": [{"type": "text", "text": "You are an agent.", "cache_control": mark}],
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "Say hello, ünïcode.", "cache_control": mark}],
            }
        ],
    }


@pytest.mark.parametrize(
    "fault",
    [Fault(no_done=True), Fault(no_finish=True), Fault(drop="within", after=7)],
)
async def test_one_of_the_last_two_events_may_be_missing(fault: Fault) -> None:
    # Seven events come before `message_stop`.
    async with AnthropicPeer(["Hellö 😀."], always=fault) as peer:
        asked = await ANTHROPIC.ask(peer)
    assert asked.error is None
    assert asked.text == "Hellö 😀."
    assert asked.usage.estimated is fault.no_finish


def history(cycles: int) -> list[Message]:
    """A conversation that begins with 1,500 tokens, and has 300 + 300 more with each cycle."""
    messages: list[Message] = [
        {"role": "system", "content": "s" * 4 * 1200},
        {"role": "user", "content": "u" * 4 * 300},
    ]
    for cycle in range(cycles):
        messages.append({"role": "assistant", "content": f"{cycle:04d}" * 300})
        messages.append({"role": "user", "content": f"{cycle:04d}" * 300})
    return messages


async def test_each_cycle_reads_all_that_the_last_one_wrote() -> None:
    asked = Asked()
    usages: list[Usage] = []
    async with AnthropicPeer(["ok"]) as peer:
        provider = ANTHROPIC.provider(peer, asked)
        for cycle in range(16):
            asked.chunks.clear()
            await asked.read(provider.stream(history(cycle)))
            usages.append(asked.usage)
        await provider.close()
    assert peer.bills == [Bill(0, 1500, 0), *(Bill(0, 600, 900 + 600 * cycle) for cycle in range(1, 16))]
    assert [usage.input for usage in usages] == [1500 + 600 * cycle for cycle in range(16)]
    assert [usage.cached for usage in usages] == [bill.read for bill in peer.bills]
    assert [usage.cache_written for usage in usages] == [bill.written for bill in peer.bills]


async def test_what_the_person_adds_before_an_answer_leaves_the_rest_in_the_cache() -> None:
    messages = history(2)
    async with AnthropicPeer(["ok"]) as peer:
        await ANTHROPIC.ask(peer, messages)
        # More messages than the vendor looks back over.
        messages.extend({"role": "user", "content": f"And {number}."} for number in range(30))
        await ANTHROPIC.ask(peer, messages)
        await ANTHROPIC.ask(peer, messages)
    first, second, third = peer.bills
    assert second.read == first.written - 600
    assert third.read == second.read + second.written


async def test_what_expired_is_written_again() -> None:
    async with AnthropicPeer(["ok"]) as peer:
        await ANTHROPIC.ask(peer, history(3))
        peer.forget()
        asked = await ANTHROPIC.ask(peer, history(3))
    assert asked.usage == Usage(3300, 1, cached=0, cache_written=3300, model="test-model", tier="standard")


async def test_histories_that_the_vendor_would_refuse_are_put_right() -> None:
    messages: list[Message] = [
        {"role": "system", "content": " "},
        {"role": "assistant", "content": "I begin."},
        {"role": "user", "content": "a"},
        {"role": "user", "content": "\n"},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": "cut "},
    ]
    async with AnthropicPeer() as peer:
        asked = await ANTHROPIC.ask(peer, messages)
    assert asked.error is None
    assert peer.exchanges[0].context == [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "\n\nb"},
    ]


async def test_a_limit_that_the_model_does_not_have_is_refused_in_the_vendors_words() -> None:
    greedy = replace(ANTHROPIC, wire=partial(AnthropicWire, facts=ModelFacts(max_output=200_000)))
    async with AnthropicPeer() as peer:
        asked = await greedy.ask(peer)
    assert type(asked.error) is BadRequestError
    assert "200000 > 128000" in str(asked.error)


async def test_all_models_are_listed() -> None:
    async with AnthropicPeer(key=KEY) as peer:
        peer.others = [f"claude-{number:02d}" for number in range(30)]
        provider = ANTHROPIC.provider(peer)
        assert [each.name for each in await provider.models()] == [*peer.others, "test-model"]
        await provider.close()
    assert len(peer.requests) == 1


async def test_the_list_states_when_models_are_retired() -> None:
    async with AnthropicPeer(key=KEY) as peer:
        peer.others = ["claude-1", "claude-2", "claude-3", "claude-4"]
        peer.lifecycles = {
            "claude-1": ("retired", "2020-01-02"),
            # Its retirement is overdue: it still answers.
            "claude-2": ("deprecated", "2020-01-02"),
            "claude-3": ("deprecated", "2999-01-02"),
            "claude-4": ("deprecated", ""),
        }
        provider = ANTHROPIC.provider(peer)
        ends = [each.ends for each in await provider.models()]
        await provider.close()
        async with AsyncAnthropic(api_key=KEY, base_url=peer.origin) as client:
            read = {each.id: each.retires_at async for each in client.models.list()}
    assert ends == [date(2020, 1, 2), None, date(2999, 1, 2), None, None]
    days = [each and each.date() for _name, each in sorted(read.items())]
    assert days == [date(2020, 1, 2), date(2020, 1, 2), date(2999, 1, 2), None, None]
