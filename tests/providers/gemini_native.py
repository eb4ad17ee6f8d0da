"""Native answers as the engine stores them, for the tests of Gemini's two wires."""

from collections.abc import Iterable

from cogency_tui.config.schema import Effort
from cogency_tui.protocol.messages import CallPart, Message, Part, ResultPart, ToolSpec, parts_of
from cogency_tui.providers.base import CallDelta, Chunk, Options, ReasoningItem, TextDelta
from cogency_tui.providers.models import ModelFacts

READ: ToolSpec = {
    "name": "read",
    "description": "Read a file.",
    "parameters": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
        "required": ["path"],
    },
}
LIST: ToolSpec = {
    "name": "list",
    "description": "List a directory.",
    "parameters": {"type": "object", "properties": {}},
}
TOOLS = Options(tools=(READ, LIST))
EFFORTS: dict[Effort, str] = {"low": "low", "medium": "medium", "high": "high"}
FACTS = ModelFacts(reasoning=True, efforts=EFFORTS)
MODEL = "gemini-4-test"


def answer_of(chunks: Iterable[Chunk]) -> Message:
    """The answer, its parts in the order in which they began. A call without an id gets one of ours."""
    parts: list[Part] = []
    calls: dict[int, CallPart] = {}
    for chunk in chunks:
        if isinstance(chunk, TextDelta):
            if parts and parts[-1]["type"] == "text":
                parts[-1]["text"] += chunk.text
            else:
                parts.append({"type": "text", "text": chunk.text})
        elif isinstance(chunk, ReasoningItem):
            parts.append({"type": "reasoning", "item": chunk.item})
        elif isinstance(chunk, CallDelta):
            if chunk.index not in calls:
                identifier = chunk.id or f"{chunk.index:016x}"
                call: CallPart = {"type": "call", "id": identifier, "name": chunk.name, "arguments": ""}
                calls[chunk.index] = call
                parts.append(call)
            calls[chunk.index]["arguments"] += chunk.arguments
    return {"role": "assistant", "content": text_of(parts), "parts": parts}


def calls_in(message: Message) -> list[CallPart]:
    """The calls of an answer."""
    return [part for part in parts_of(message) if part["type"] == "call"]


def results_of(answer: Message, *others: Part, failed: str = "") -> Message:
    """The results of its calls; those of the tool `failed` are errors."""
    results: list[Part] = [_result(call, failed) for call in calls_in(answer)]
    return {"role": "user", "content": text_of([*results, *others]), "parts": [*results, *others]}


def text_of(parts: Iterable[Part]) -> str:
    """The text of some parts."""
    return "".join(part["text"] for part in parts if part["type"] == "text" or part["type"] == "result")


def _result(call: CallPart, failed: str) -> ResultPart:
    return {
        "type": "result",
        "id": call["id"],
        "name": call["name"],
        "text": f"result of {call['name']}",
        "error": call["name"] == failed,
    }
