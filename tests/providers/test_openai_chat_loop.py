"""Loops of native calls over Chat Completions, on real sockets, with servers of every habit and rule."""

from collections.abc import Sequence

import pytest

from cogency_tui.errors import BadRequestError, NetworkError
from cogency_tui.protocol.messages import CallPart, Message, Part, ToolSpec
from cogency_tui.providers.base import CallDelta, Notice, Options, ReasoningItem, TextDelta
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_provider import HttpProvider
from cogency_tui.providers.models import ModelFacts
from cogency_tui.providers.openai_chat import ChatWire
from tests.peers.chat import ChatPeer
from tests.peers.chat_answers import Answer, Call, Habits
from tests.peers.chat_history import Rules
from tests.peers.server import Fault
from tests.providers.asked import KEY, MESSAGES, MODEL

READ: ToolSpec = {
    "name": "read",
    "description": "Show a file.",
    "parameters": {"type": "object", "properties": {"file": {"type": "string"}}},
}
CALLS = (Call("call_1", "read", '{"file": "a"}'), Call("call_2", "read", '{"file": "b"}'))
RETURNS = ModelFacts(reasoning=True, returns_reasoning=True)


class Loop:
    """Turns of a model with tools: requests, its native answers, results, as the engine has them."""

    def __init__(self, peer: ChatPeer, name: str = "openai", facts: ModelFacts | None = None) -> None:
        endpoint = Endpoint(name, peer.base_url, MODEL, "", KEY)
        self.messages: list[Message] = list(MESSAGES)
        self.notices: list[str] = []
        wire = ChatWire(endpoint, facts)
        self._provider = HttpProvider(endpoint, wire, native=True, wait=self._wait, jitter=lambda: 0.0)

    async def ask(self, options: Options) -> list[CallPart]:
        """Ask for the next answer, and return its calls."""
        parts: list[Part] = []
        calls: dict[int, CallPart] = {}
        async for chunk in self._provider.stream(self.messages, options):
            match chunk:
                case TextDelta(text):
                    parts.append({"type": "text", "text": text})
                case ReasoningItem(item):
                    parts.append({"type": "reasoning", "item": item})
                case CallDelta(index, id, name, arguments):
                    if index not in calls:
                        made = id or f"{index:016x}"
                        calls[index] = {"type": "call", "id": made, "name": name, "arguments": ""}
                        parts.append(calls[index])
                    calls[index]["arguments"] += arguments
                case Notice(text):
                    self.notices.append(text)
                case _:
                    pass
        self.messages.append({"role": "assistant", "content": "", "parts": parts})
        return list(calls.values())

    def give(self, calls: Sequence[CallPart]) -> None:
        """Add the results of calls."""
        results: list[Part] = [
            {"type": "result", "id": each["id"], "name": each["name"], "text": "1\tone", "error": False}
            for each in calls
        ]
        self.messages.append({"role": "user", "content": "", "parts": results})

    async def run(self, options: Options) -> list[CallPart]:
        """Give results until the model calls nothing more, and return all its calls."""
        made: list[CallPart] = []
        try:
            while calls := await self.ask(options):
                made += calls
                self.give(calls)
        finally:
            await self._provider.close()
        return made

    async def _wait(self, seconds: float) -> None:
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
        made = await Loop(peer, "deepseek", facts).run(TOOLS)
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
        made = await Loop(peer).run(TOOLS)
    assert [each["arguments"] for each in made] == [each.arguments for each in CALLS]
    assert [each["role"] for each in peer.requests[-1].body["messages"][-2:]] == ["tool", "tool"]


async def test_mistrals_ids_and_order_of_roles_are_followed() -> None:
    async with ChatPeer([Answer("", *CALLS), "Done."]) as peer:
        peer.rules = Rules(mistral=True)
        loop = Loop(peer, "mistral")
        loop.give(await loop.ask(TOOLS))
        loop.messages.append({"role": "user", "content": "And now?"})
        await loop.run(TOOLS)
    roles = [each["role"] for each in peer.requests[-1].body["messages"]]
    assert roles[2:] == ["assistant", "tool", "tool", "assistant", "user"]


async def test_details_of_reasoning_go_back_to_openrouter() -> None:
    details = [{"type": "reasoning.encrypted", "data": "AAA", "id": "call_1", "index": 0}]
    async with ChatPeer([Answer("", CALLS[0], details=details), "Done."]) as peer:
        peer.rules = Rules("reasoning_details", demands=True)
        await Loop(peer, "openrouter").run(TOOLS)
    assert peer.requests[-1].body["messages"][2]["reasoning_details"] == details


async def test_a_refused_effort_is_left_out_with_one_notice() -> None:
    async with ChatPeer([Answer("", CALLS[0]), "Done."], refuses=["reasoning_effort"]) as peer:
        loop = Loop(peer)
        await loop.run(Options(tools=(READ,), effort="high"))
    assert ["reasoning_effort" in request.body for request in peer.requests] == [True, False, False]
    [notice] = loop.notices
    assert notice.startswith("test-model does not accept the reasoning effort high.")


async def test_tools_that_are_refused_are_one_error_with_the_dialect_to_use() -> None:
    async with ChatPeer() as peer:
        peer.no_tools = (500, "tools param requires --jinja flag")
        with pytest.raises(BadRequestError) as caught:
            await Loop(peer).run(TOOLS)
    assert len(peer.requests) == 1
    assert "tools param requires --jinja flag" in str(caught.value)
    assert caught.value.hint == "Use --dialect xml, which needs no tools of the server."


async def test_a_connection_that_breaks_within_a_call_is_an_error() -> None:
    fault = Fault(drop="within", after=3)
    async with ChatPeer([Answer("", CALLS[0])], faults=[fault]) as peer:
        with pytest.raises(NetworkError):
            await Loop(peer).run(TOOLS)
    assert len(peer.requests) == 1


async def test_an_answer_of_one_call_is_not_empty() -> None:
    async with ChatPeer([Answer("", Call("c", "read", "")), "Done."]) as peer:
        [made] = await Loop(peer).run(TOOLS)
    assert made["arguments"] == ""
