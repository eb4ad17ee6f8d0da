"""Answers of `AnthropicPeer` with more than text: thinking and calls, as the vendor streams them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

Deltas = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Text:
    """Text that the model says."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """Thinking; `redacted` as the vendor shows it when it must not be read."""

    text: str = ""
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call; `arguments` are JSON text, which a model may break off."""

    name: str
    arguments: str = "{}"


class Answer(str):
    """A reply of blocks, in order. As text it is what the model says in it."""

    blocks: Sequence[Text | Thinking | Call]

    def __new__(cls, *blocks: Text | Thinking | Call) -> Self:
        answer = super().__new__(cls, "".join(block.text for block in blocks if isinstance(block, Text)))
        answer.blocks = blocks
        return answer


@dataclass(frozen=True, slots=True)
class Streamed:
    """A block as it begins, its deltas, and how it is once it is complete."""

    start: dict[str, Any]
    deltas: Deltas
    whole: dict[str, Any]


def streamed(
    block: Text | Thinking | Call, number: str, size: int, *, display: str = "summarized"
) -> Streamed:
    """How a block is sent, in pieces of `size` characters. `number` makes its id or signature its own."""
    if isinstance(block, Text):
        deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block.text, size)]
        return Streamed({"type": "text", "text": ""}, deltas, {"type": "text", "text": block.text})
    if isinstance(block, Thinking):
        return _thinking(block, number, size, display)
    start: dict[str, Any] = {"type": "tool_use", "id": f"toolu_{number}", "name": block.name, "input": {}}
    # The vendor begins with an empty piece, and sends nothing else for a call without arguments.
    given = [] if block.arguments == "{}" else _pieces(block.arguments, size)
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *given]]
    return Streamed(start, deltas, start | {"input": _parsed(block.arguments)})


def _thinking(block: Thinking, number: str, size: int, display: str) -> Streamed:
    if block.redacted:
        whole = {"type": "redacted_thinking", "data": f"Em{number}"}
        return Streamed(whole, [], whole)
    text = block.text if display == "summarized" else ""
    signature = f"EqQBCgIYAhIM{number}"
    deltas: Deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(text, size)]
    deltas.append({"type": "signature_delta", "signature": signature})
    start = {"type": "thinking", "thinking": "", "signature": ""}
    return Streamed(start, deltas, start | {"thinking": text, "signature": signature})


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return {}
