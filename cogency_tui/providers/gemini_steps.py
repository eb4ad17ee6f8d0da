"""The steps of Gemini's Interactions: messages as the input of a request.

The reasoning of a step is a `thought` before its text or call, and an item of reasoning is that step as it
was received. A call may have a signature of its own: `{"type": "function_call", "signature": "…"}` comes
directly before it. The signatures of `generateContent` are understood too, because both have the history of
one conversation.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from cogency_tui.protocol.messages import CallPart, Message, Part, ResultPart, parts_of
from cogency_tui.providers.base import PLAIN, Options
from cogency_tui.providers.gemini_content import (
    UNCHECKED,
    part_text,
    results_first,
    sendable_image,
)
from cogency_tui.providers.message_parts import arguments_of
from cogency_tui.providers.surrogates import whole_text
from cogency_tui.providers.wire_protocol import text_of

Step: TypeAlias = dict[str, Any]


def steps(
    messages: Sequence[Message], options: Options = PLAIN, *, signs: bool = False, checked: bool = False
) -> list[Step]:
    """Convert the messages except the system prompt to the steps of `input`. Without tools, calls and their
    results become text.

    With `signs`, signatures are returned. `checked` marks a model that refuses calls without one: where it
    refused their signatures, they become text too.
    """
    textual = _called(messages) if not options.tools or (checked and not signs) else set[str]()
    converter = _Converter(options, textual, signs, checked)
    return [step for message in messages for step in converter.steps(message)]


@dataclass(frozen=True, slots=True)
class _Converter:
    """Converts messages. The calls with the ids in `textual`, and their results, become text."""

    options: Options
    textual: Collection[str]
    signs: bool
    checked: bool

    def steps(self, message: Message) -> list[Step]:
        """Convert a message; the system prompt is no step."""
        if message["role"] == "assistant":
            return self._answer(message)
        return self._input(message) if message["role"] == "user" else []

    def _answer(self, message: Message) -> list[Step]:
        answer: list[Step] = []
        signature = ""
        for part in parts_of(message):
            if part["type"] == "reasoning":
                item = part["item"] if self.signs else {}
                signature = text_of(item.get("signature")) if item.get("type") == "function_call" else ""
                answer += _thought(item)
            elif part["type"] == "call" and part["id"] not in self.textual:
                signed = not self.checked or any(step["type"] != "model_output" for step in answer)
                answer += _call(part, signature, signed=signed)
                signature = ""
            else:
                answer += self._content("model_output", [part])
        return _ended(answer)

    def _input(self, message: Message) -> list[Step]:
        """Return the results of calls, then the rest as one step of the user's."""
        results: list[Step] = []
        others: list[Part] = []
        for part in results_first(parts_of(message)):
            if part["type"] == "result" and self.options.tools and part["id"] not in self.textual:
                results.append(_result(part))
            else:
                others.append(part)
        return [*results, *self._content("user_input", others)]

    def _content(self, kind: str, parts: Sequence[Part]) -> list[Step]:
        images = kind == "user_input"
        contents = [content for part in parts if (content := self._piece(part, images=images))]
        return [{"type": kind, "content": contents}] if contents else []

    def _piece(self, part: Part, *, images: bool) -> Step | None:
        if part["type"] == "image" and images and (data := sendable_image(part, self.options)):
            return {"type": "image", "data": data, "mime_type": part["media_type"]}
        text = part_text(part)
        return {"type": "text", "text": text} if text else None


def _called(messages: Sequence[Message]) -> set[str]:
    """Return the ids of all calls in `messages`."""
    return {part["id"] for message in messages for part in parts_of(message) if part["type"] == "call"}


def _thought(item: Mapping[str, Any]) -> list[Step]:
    if item.get("type") == "thought":
        return [dict(item)]
    signature = text_of(item.get("thoughtSignature"))
    return [{"type": "thought", "signature": signature}] if signature else []


def _call(call: CallPart, signature: str, *, signed: bool) -> list[Step]:
    """Return the step of a call, after the vendor's own thought for one without, unless it is `signed`."""
    step: Step = {
        "type": "function_call",
        "id": call["id"],
        "name": call["name"],
        "arguments": arguments_of(call),
    }
    if signature:
        return [step | {"signature": signature}]
    return [step] if signed else [{"type": "thought", "signature": UNCHECKED}, step]


def _ended(answer: list[Step]) -> list[Step]:
    """Drop thoughts at the end: they belong to an answer that was interrupted."""
    while answer and answer[-1]["type"] == "thought":
        answer.pop()
    return answer


def _result(result: ResultPart) -> Step:
    step: Step = {
        "type": "function_result",
        "call_id": result["id"],
        "name": result["name"],
        "result": whole_text(result["text"]),
    }
    return step | {"is_error": True} if result["error"] else step
