"""What Responses alone has, over HTTP and real sockets."""

from dataclasses import replace

from cogency_tui.errors import ContextTooLongError
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.openai_responses import ResponsesWire
from tests.peers.responses import ResponsesPeer
from tests.peers.server import Fault
from tests.providers.asked import KEY, MESSAGES, RESPONSES

PLAIN = replace(RESPONSES, wire=ResponsesWire)
"""As it is spoken with a model that does not reason."""


async def test_the_request_is_what_the_vendor_expects() -> None:
    messages: list[Message] = [
        *MESSAGES,
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "Again."},
    ]
    async with ResponsesPeer(key=KEY) as peer:
        asked = await PLAIN.ask(peer, messages)
    assert asked.error is None
    [request] = peer.requests
    assert request.path == "/v1/responses"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["accept"] == "text/event-stream"
    assert request.body == {
        "model": "test-model",
        "stream": True,
        "store": False,
        "instructions": "You are an agent.",
        "input": [
            {
                "type": "message",
                "role": each["role"],
                "content": [
                    {
                        "type": "output_text" if each["role"] == "assistant" else "input_text",
                        "text": each["content"],
                    }
                ],
            }
            for each in messages[1:]
        ],
    }
    assert peer.exchanges[0].context == messages


async def test_what_was_sent_before_is_served_from_the_cache() -> None:
    long: list[Message] = [{"role": "user", "content": "word " * 2000}]
    async with ResponsesPeer() as peer:
        asked = await RESPONSES.ask(peer, long, times=2)
    assert asked.usage.input == 2500
    assert asked.usage.cached == 2432


async def test_reasoning_is_summarised_beside_the_text_where_it_is_asked_for() -> None:
    fault = Fault(reasoning="First this.\n\nThen that.")
    async with ResponsesPeer(["Hi."], always=fault) as peer:
        asked = await RESPONSES.ask(peer)
        silent = await PLAIN.ask(peer)
    assert asked.reasoning == "First this.\n\nThen that."
    assert asked.usage.output == 1 + 6
    assert (silent.reasoning, silent.text, silent.usage.output) == ("", "Hi.", 1 + 6)


async def test_a_summary_that_is_refused_is_not_asked_for_again() -> None:
    async with ResponsesPeer(refuses=["reasoning"]) as peer:
        asked = await RESPONSES.ask(peer, times=2)
    assert asked.text == "Hello."
    assert ["reasoning" in request.body for request in peer.requests] == [True, False, False]
    assert not asked.waits


async def test_a_context_that_is_too_long_is_said_to_be() -> None:
    async with ResponsesPeer(context_size=5) as peer:
        asked = await RESPONSES.ask(peer)
    assert type(asked.error) is ContextTooLongError
    assert asked.error.hint
