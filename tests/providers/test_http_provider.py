"""What Chat Completions alone has, over real sockets: parameters that may be refused, servers that differ."""

import pytest

from cogency_tui.providers.base import ReasoningDelta
from tests.peers.chat import ChatPeer
from tests.peers.server import Fault
from tests.providers.asked import BLOCK, CHAT, KEY, MESSAGES


async def test_the_request_is_what_the_vendor_expects() -> None:
    async with ChatPeer() as peer:
        await CHAT.ask(peer)
    [request] = peer.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert request.body == {
        "model": "test-model",
        "messages": MESSAGES,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_an_unsupported_parameter_is_dropped_and_remembered() -> None:
    async with ChatPeer([BLOCK], refuses=["stream_options"]) as peer:
        asked = await CHAT.ask(peer, times=2)
    assert asked.text == BLOCK
    assert ["stream_options" in request.body for request in peer.requests] == [True, False, False]
    assert asked.usage.estimated
    assert not asked.waits


TOLERATED = [
    Fault(no_done=True),
    Fault(usage_on_finish=True),
    Fault(usage_on_finish=True, no_done=True),
    Fault(no_finish=True),
    # All has been said, but for `[DONE]`.
    Fault(drop="within", after=5),
]


@pytest.mark.parametrize("fault", TOLERATED)
async def test_what_compatible_servers_do_differently_is_tolerated(fault: Fault) -> None:
    async with ChatPeer(["Hellö 😀."], always=fault) as peer:
        asked = await CHAT.ask(peer)
    assert asked.error is None
    assert asked.text == "Hellö 😀."
    assert not asked.usage.estimated


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
async def test_reasoning_may_have_either_name(key: str) -> None:
    async with ChatPeer(["Hi."], always=Fault(reasoning="Let me think", reasoning_key=key)) as peer:
        asked = await CHAT.ask(peer)
    assert asked.chunks[0] == ReasoningDelta("Let me think")
    assert asked.text == "Hi."
