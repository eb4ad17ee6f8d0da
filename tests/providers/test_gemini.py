"""What Gemini's `streamGenerateContent` alone has, over real sockets."""

from cogency_tui.protocol.messages import Message
from tests.peers.gemini import GeminiPeer
from tests.peers.server import Fault
from tests.providers.asked import BLOCK, GEMINI, KEY, MESSAGES


async def test_the_request_is_what_the_vendor_expects() -> None:
    async with GeminiPeer(key=KEY) as peer:
        await GEMINI.ask(peer)
    [request] = peer.requests
    assert request.path == "/v1beta/models/test-model:streamGenerateContent?alt=sse"
    assert request.headers["x-goog-api-key"] == KEY
    assert "authorization" not in request.headers
    assert request.body == {
        "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
        "systemInstruction": {"parts": [{"text": "You are an agent."}]},
        "contents": [{"role": "user", "parts": [{"text": "Say hello, ünïcode."}]}],
    }


async def test_thoughts_count_as_output() -> None:
    async with GeminiPeer(["Hi."], always=Fault(reasoning="Let me think")) as peer:
        asked = await GEMINI.ask(peer)
    assert asked.reasoning == "Let me think"
    assert asked.usage.output == 1 + 3


async def test_a_model_that_does_not_think_is_asked_without_and_that_is_remembered() -> None:
    async with GeminiPeer([BLOCK], refuses=["thinkingConfig"]) as peer:
        asked = await GEMINI.ask(peer, times=2)
    assert asked.text == BLOCK
    asked_for = ["generationConfig" in request.body for request in peer.requests]
    assert asked_for == [True, False, False]
    assert not asked.waits


async def test_what_was_sent_before_is_read_from_the_cache() -> None:
    history: list[Message] = [*MESSAGES, {"role": "user", "content": "x" * 8000}]
    async with GeminiPeer() as peer:
        first = await GEMINI.ask(peer, history)
        longer: list[Message] = [
            *history,
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "And?"},
        ]
        second = await GEMINI.ask(peer, longer)
    assert first.usage.cached == 0
    assert second.usage.cached is not None
    assert second.usage.cached >= 0.9 * first.usage.input


async def test_all_models_are_on_one_page() -> None:
    async with GeminiPeer(key=KEY) as peer:
        provider = GEMINI.provider(peer)
        assert [each.name for each in await provider.models()] == ["test-model"]
        await provider.close()
    assert peer.requests[0].path == "/v1beta/models?pageSize=1000"
