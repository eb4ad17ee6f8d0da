"""A native conversation with Claude, as the engine hands it to the wire and as the vendor's types check it."""

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from anthropic.types.beta import BetaContentBlockParam
from anthropic.types.beta.message_create_params import MessageCreateParamsStreaming
from pydantic import TypeAdapter

from cogency_tui.protocol.messages import CallPart, ImagePart, Message, Part, ReasoningPart, ToolSpec
from cogency_tui.providers.base import CallDelta, Chunk, Options, ReasoningItem, TextDelta

READ: ToolSpec = {
    "name": "read",
    "description": "Show a text file.",
    "parameters": {"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"]},
}
SHELL: ToolSpec = {
    "name": "shell",
    "description": "Run a command.",
    "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
}
TOOLS = Options(tools=(READ, SHELL))


def text(words: str) -> Part:
    """A part of text."""
    return {"type": "text", "text": words}


def call(id: str, name: str = "read", arguments: str = '{"file": "a"}') -> Part:
    """A call."""
    return {"type": "call", "id": id, "name": name, "arguments": arguments}


def result(id: str, words: str = "one line", *, error: bool = False) -> Part:
    """The result of a call."""
    return {"type": "result", "id": id, "name": "read", "text": words, "error": error}


def thinking(words: str = "Hm.") -> ReasoningPart:
    """Thinking as the vendor sent it."""
    return {"type": "reasoning", "item": {"type": "thinking", "thinking": words, "signature": "Eq1"}}


def image(media_type: str = "image/png") -> ImagePart:
    """An image."""
    return {
        "type": "image",
        "digest": "d1",
        "media_type": media_type,
        "width": 800,
        "height": 600,
        "size": 9,
    }


def says(role: Any, *parts: Part) -> Message:
    """A message of these parts."""
    content = "".join(part["text"] for part in parts if part["type"] == "text" or part["type"] == "result")
    return {"role": role, "content": content, "parts": list(parts)}


def check_types(body: dict[str, Any]) -> None:
    """Hold a body to the types of the vendor's own client, which has to know each of its fields."""
    assert _known(MessageCreateParamsStreaming, body | {"messages": []}) == body | {"messages": []}
    for message in body["messages"]:
        assert message.keys() == {"role", "content"}
        for block in message["content"]:
            assert _known(BetaContentBlockParam, block) == block


def _known(kind: Any, value: dict[str, Any]) -> Any:
    """A value with the fields of its type alone."""
    adapter = _adapter(kind)
    return json.loads(adapter.dump_json(adapter.validate_python(value), warnings="none"))


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def answered(chunks: Iterable[Chunk]) -> Message:
    """The message of an answer, as the engine stores it: its parts in order."""
    parts: list[Part] = []
    calls: dict[int, CallPart] = {}
    for chunk in chunks:
        if isinstance(chunk, ReasoningItem):
            parts.append({"type": "reasoning", "item": chunk.item})
        elif isinstance(chunk, TextDelta):
            before = parts.pop() if parts and parts[-1]["type"] == "text" else text("")
            parts.append(text(before["text"] + chunk.text if before["type"] == "text" else chunk.text))
        elif isinstance(chunk, CallDelta):
            if chunk.index not in calls:
                calls[chunk.index] = {"type": "call", "id": chunk.id, "name": chunk.name, "arguments": ""}
                parts.append(calls[chunk.index])
            calls[chunk.index]["arguments"] += chunk.arguments
    return says("assistant", *parts)


def calls_of(message: Message) -> list[CallPart]:
    """The calls in an answer."""
    return [part for part in message.get("parts", ()) if part["type"] == "call"]


def results_of(message: Message) -> Message:
    """A message with the result of each call in an answer."""
    return says("user", *(result(each["id"], f"result of {each['arguments']}") for each in calls_of(message)))
