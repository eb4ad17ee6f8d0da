"""Loops of native calls over Chat Completions, on real sockets, with servers of every habit and rule."""

import json
from typing import Literal

import pytest

from cogency_tui.errors import BadRequestError, NetworkError
from cogency_tui.protocol.messages import ImagePart, Message
from cogency_tui.providers.base import Notice, Options
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_provider import HttpProvider
from cogency_tui.providers.models import ModelFacts
from cogency_tui.providers.openai_chat import ChatWire
from tests.peers.chat import ChatPeer
from tests.peers.chat_answers import Answer, Call, Habits
from tests.peers.chat_history import Rules
from tests.peers.server import Fault
from tests.providers.asked import KEY, MODEL
from tests.providers.native_loop import READ, Loop

CALLS = (Call("call_1", "read", '{"file": "a"}'), Call("call_2", "read", '{"file": "b"}'))
RETURNS = ModelFacts(reasoning=True, returns_reasoning=True)


def loop_with(peer: ChatPeer, name: str = "openai", facts: ModelFacts | None = None) -> Loop:
    endpoint = Endpoint(name, peer.base_url, MODEL, "", KEY)
    return Loop(HttpProvider(endpoint, ChatWire(endpoint, facts), native=True, wait=unwanted))


async def unwanted(seconds: float) -> None:
    raise AssertionError("A refusal is not waited for.")


TOOLS = Options(tools=(READ,))
ANSWERS = [
    Answer("Let me see.", CALLS[0], reasoning="First a, because it is first."),
    Answer("", CALLS[1], reasoning="Then b."),
    Answer("Both are one.", reasoning="Done."),
]


@pytest.mark.parametrize("facts", [None, RETURNS])
async def test_a_loop_of_native_calls_ends_with_an_answer(facts: ModelFacts | None) -> None:
    async with ChatPeer(ANSWERS, key=KEY) as peer:
        peer.rules = Rules("reasoning_content", demands=True) if facts else Rules()
        made = await loop_with(peer, "deepseek", facts).run(TOOLS)
    assert [(each["id"], each["name"], each["arguments"]) for each in made] == [
        (each.id, each.name, each.arguments) for each in CALLS
    ]
    returned = [message.get("reasoning_content") for message in peer.requests[-1].body["messages"]]
    assert (ANSWERS[0].reasoning in returned) == bool(facts)


@pytest.mark.parametrize(
    "habits",
    [
        Habits(index="none", ids="none", whole="together", finish="stop"),
        Habits(index="zero", whole="alone"),
        Habits(ids="repeated", names="repeated"),
        Habits(arguments="object", empty=True),
    ],
)
async def test_parallel_calls_of_any_server_are_answered_each(habits: Habits) -> None:
    async with ChatPeer([Answer("", *CALLS), "Done."]) as peer:
        peer.habits = habits
        made = await loop_with(peer).run(TOOLS)
    assert [each["arguments"] for each in made] == [each.arguments for each in CALLS]
    assert [each["role"] for each in peer.requests[-1].body["messages"][-2:]] == ["tool", "tool"]


async def test_calls_that_arrive_byte_by_byte_between_comments_are_the_same() -> None:
    fault = Fault(one_byte=True, comments=True)
    async with ChatPeer([Answer("Both.", *CALLS), "Done."], always=fault, token=3) as peer:
        made = await loop_with(peer).run(TOOLS)
    assert [each["arguments"] for each in made] == [each.arguments for each in CALLS]


async def test_mistrals_ids_and_order_of_roles_are_followed() -> None:
    async with ChatPeer([Answer("", *CALLS), "Done."]) as peer:
        peer.rules = Rules(mistral=True)
        loop = loop_with(peer, "mistral")
        loop.give(await loop.ask(TOOLS))
        loop.messages.append({"role": "user", "content": "And now?"})
        await loop.run(TOOLS)
    roles = [each["role"] for each in peer.requests[-1].body["messages"]]
    assert roles[2:] == ["assistant", "tool", "tool", "assistant", "user"]


async def test_details_of_reasoning_go_back_to_openrouter() -> None:
    details = [{"type": "reasoning.encrypted", "data": "AAA", "id": "call_1", "index": 0}]
    async with ChatPeer([Answer("", CALLS[0], details=details), "Done."]) as peer:
        peer.rules = Rules("reasoning_details", demands=True)
        await loop_with(peer, "openrouter").run(TOOLS)
    assert peer.requests[-1].body["messages"][2]["reasoning_details"] == details


async def test_a_refused_effort_is_left_out_with_one_notice() -> None:
    async with ChatPeer([Answer("", CALLS[0]), "Done."], refuses=["reasoning_effort"]) as peer:
        loop = loop_with(peer)
        await loop.run(Options(tools=(READ,), effort="high"))
    assert ["reasoning_effort" in request.body for request in peer.requests] == [True, False, False]
    [notice] = loop.notices
    assert notice.startswith("test-model does not accept the reasoning effort high.")


@pytest.mark.parametrize("field", ["thinking", "enable_thinking"])
async def test_a_switch_that_is_refused_is_left_out_with_one_notice(
    field: Literal["thinking", "enable_thinking"],
) -> None:
    facts = ModelFacts(reasoning_switch=field)
    async with ChatPeer([Answer("", CALLS[0]), "Done."], refuses=[field]) as peer:
        loop = loop_with(peer, facts=facts)
        await loop.run(Options(tools=(READ,), effort="none"))
    assert [field in request.body for request in peer.requests] == [True, False, False]
    [notice] = loop.notices
    assert notice.startswith("test-model does not accept the reasoning effort none.")


async def test_refused_images_are_left_out_with_one_notice() -> None:
    refusal = {"error": {"message": "test-model is not a multimodal model"}}
    image: ImagePart = {
        **{"type": "image", "digest": "d", "media_type": "image/png", "width": 8, "height": 6},
        **{"size": 3, "name": "shot.png"},
    }  # pyright: ignore[reportAssignmentType]
    messages: list[Message] = [{"role": "user", "content": "See", "parts": [image]}]
    notices: list[str] = []
    async with ChatPeer(["Hm.", "Hm."], faults=[Fault(status=400, body=json.dumps(refusal))]) as peer:
        endpoint = Endpoint("mine", peer.base_url, "test-model")
        provider = HttpProvider(endpoint, ChatWire(endpoint))
        for _ in range(2):
            async for chunk in provider.stream(messages, Options(read_image=lambda _digest: b"png")):
                notices += [chunk.text] if isinstance(chunk, Notice) else []
        await provider.close()
    sent = [request.body["messages"][0]["content"] for request in peer.requests]
    assert [type(each) for each in sent] == [list, str, str]
    assert sent[1] == "[image shot.png 8×6]"
    [notice] = notices
    assert "test-model is not a multimodal model" in notice
    assert "set images = false under [providers.mine]" in notice


async def test_tools_that_are_refused_are_one_error_with_the_dialect_to_use() -> None:
    async with ChatPeer() as peer:
        peer.no_tools = (500, "tools param requires --jinja flag")
        with pytest.raises(BadRequestError) as caught:
            await loop_with(peer).run(TOOLS)
    assert len(peer.requests) == 1
    assert "tools param requires --jinja flag" in str(caught.value)
    assert caught.value.hint == "Use --dialect xml, which needs no tools of the server."


async def test_a_connection_that_breaks_within_a_call_is_an_error() -> None:
    fault = Fault(drop="within", after=3)
    async with ChatPeer([Answer("", CALLS[0])], faults=[fault]) as peer:
        with pytest.raises(NetworkError):
            await loop_with(peer).run(TOOLS)
    assert len(peer.requests) == 1


async def test_an_answer_of_one_call_is_not_empty() -> None:
    async with ChatPeer([Answer("", Call("c", "read", "")), "Done."]) as peer:
        [made] = await loop_with(peer).run(TOOLS)
    assert made["arguments"] == ""


async def test_a_refused_effort_leaves_the_others_in_force() -> None:
    async with ChatPeer(model=MODEL, key=KEY, refuses=["reasoning_effort"]) as peer:
        endpoint = Endpoint("openai", peer.base_url, MODEL, "OPENAI_API_KEY", KEY)
        provider = HttpProvider(endpoint, ChatWire(endpoint))
        for effort in ("max", "low", "max"):
            async for _chunk in provider.stream([{"role": "user", "content": "hi"}], Options(effort=effort)):
                pass
        await provider.close()
    sent = [request.body.get("reasoning_effort") for request in peer.requests]
    assert sent == ["max", None, "low", None, None]
