"""Conversations with native calls over a provider's channel, as an agent has them."""

from collections.abc import Sequence
from contextlib import aclosing

from cogency_tui.agent.model_channels import Channel
from cogency_tui.protocol.messages import CallPart, Message, Part, ToolSpec
from cogency_tui.providers.base import CallDelta, Chunk, Notice, Options, ReasoningItem, TextDelta
from tests.peers.responses_events import NativeAnswer

TOOLS: tuple[ToolSpec, ...] = tuple(
    {
        "name": name,
        "description": f"The tool {name}.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    }
    for name in ("read", "list")
)
OPTIONS = Options(tools=TOOLS, effort="low", conversation="c1")
SYSTEM: Message = {"role": "system", "content": "You are an agent."}
THREE = NativeAnswer(
    reasoning="First a.\n\nThen b.",
    calls=[("read", '{"path": "a"}'), ("list", ""), ("read", '{"path": "ü😀"}')],
    piece=1,
)


def message_of(chunks: Sequence[Chunk]) -> Message:
    """The answer as an agent stores it."""
    parts: list[Part] = []
    calls: dict[int, CallPart] = {}
    text = ""
    for chunk in chunks:
        match chunk:
            case TextDelta():
                text += chunk.text
                if parts and parts[-1]["type"] == "text":
                    parts[-1]["text"] += chunk.text
                else:
                    parts.append({"type": "text", "text": chunk.text})
            case ReasoningItem():
                parts.append({"type": "reasoning", "item": chunk.item})
            case CallDelta() if chunk.index in calls:
                calls[chunk.index]["arguments"] += chunk.arguments
            case CallDelta():
                call: CallPart = {
                    "type": "call",
                    "id": chunk.id,
                    "name": chunk.name,
                    "arguments": chunk.arguments,
                }
                calls[chunk.index] = call
                parts.append(call)
            case _:
                pass
    return {"role": "assistant", "content": text, "parts": parts}


def calls_in(message: Message) -> list[CallPart]:
    return [part for part in message.get("parts", []) if part["type"] == "call"]


def results_of(message: Message) -> Message:
    parts: list[Part] = [
        {"type": "result", "id": call["id"], "name": call["name"], "text": f"{number}: done", "error": False}
        for number, call in enumerate(calls_in(message))
    ]
    return {
        "role": "user",
        "content": "\n".join(f"{number}: done" for number in range(len(parts))),
        "parts": parts,
    }


class Talk:
    """What an agent does with a channel: it keeps the history, and answers calls with results."""

    def __init__(self, channel: Channel, options: Options = OPTIONS) -> None:
        self.channel = channel
        self.messages: list[Message] = [SYSTEM]
        self.chunks: list[Chunk] = []
        self._options = options

    async def say(self, text: str) -> Message:
        return await self.send({"role": "user", "content": text})

    async def send(self, message: Message) -> Message:
        self.messages.append(message)
        self.chunks = []
        try:
            async with aclosing(self.channel.generate(self.messages, self._options)) as chunks:
                async for chunk in chunks:
                    self.chunks.append(chunk)
        finally:
            self.messages.append(message_of(self.chunks))
        return self.messages[-1]

    @property
    def history(self) -> list[Message]:
        """The messages before the last answer, as text."""
        return [{"role": each["role"], "content": each["content"]} for each in self.messages[:-1]]

    @property
    def text(self) -> str:
        return "".join(chunk.text for chunk in self.chunks if isinstance(chunk, TextDelta))

    @property
    def notices(self) -> list[str]:
        return [chunk.text for chunk in self.chunks if isinstance(chunk, Notice)]
