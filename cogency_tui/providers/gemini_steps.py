"""The steps of Gemini's Interactions: messages as the input of a request.

The reasoning of a step is a `thought` before its text or call, and an item of reasoning is that step as it
was received. A call may have a signature of its own: `{"type": "function_call", "signature": "…"}` comes
directly before it. The signatures of `generateContent` are understood too, because both have the history of
one conversation.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

from cogency_tui.protocol.messages import CallPart, Message, Part, ResultPart, parts_of
from cogency_tui.providers.base import PLAIN, Options
from cogency_tui.providers.gemini_content import (
    UNCHECKED,
    arguments_of,
    call_text,
    image_data,
    image_text,
    result_text,
    results_first,
)
from cogency_tui.providers.surrogates import whole_text
from cogency_tui.providers.wire_protocol import text_of

Step: TypeAlias = dict[str, Any]


def steps(
    messages: Sequence[Message], options: Options = PLAIN, *, signs: bool = False, checked: bool = False
) -> list[Step]:
    """Convert the messages except the system prompt to the steps of `input`. Without tools, calls and their
    results become text.

    With `signs`, signatures are returned. `checked` marks a model that refuses calls without one.
    """
    converted: list[Step] = []
    for message in messages:
        if message["role"] == "assistant":
            converted += _answer(message, options, signs, checked)
        elif message["role"] == "user":
            converted += _input(message, options)
    return converted


def _answer(message: Message, options: Options, signs: bool, checked: bool) -> list[Step]:
    answer: list[Step] = []
    signature = ""
    for part in parts_of(message):
        if part["type"] == "reasoning":
            item = part["item"] if signs else {}
            signature = text_of(item.get("signature")) if item.get("type") == "function_call" else ""
            answer += _thought(item)
        elif part["type"] == "call" and options.tools:
            signed = not checked or any(step["type"] != "model_output" for step in answer)
            answer += _call(part, signature, signed=signed)
            signature = ""
        else:
            answer += _content("model_output", [part], options)
    return _ended(answer)


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


def _input(message: Message, options: Options) -> list[Step]:
    """Return the results of calls, then the rest as one step of the user's."""
    parts = results_first(parts_of(message))
    results = [part for part in parts if part["type"] == "result" and options.tools]
    others = [part for part in parts if part not in results]
    return [
        *(_result(part) for part in results if part["type"] == "result"),
        *_content("user_input", others, options),
    ]


def _result(result: ResultPart) -> Step:
    step: Step = {
        "type": "function_result",
        "call_id": result["id"],
        "name": result["name"],
        "result": whole_text(result["text"]),
    }
    return step | {"is_error": True} if result["error"] else step


def _content(kind: str, parts: Collection[Part], options: Options) -> list[Step]:
    images = kind == "user_input"
    contents = [content for part in parts if (content := _piece(part, options, images=images))]
    return [{"type": kind, "content": contents}] if contents else []


def _piece(part: Part, options: Options, *, images: bool) -> Step | None:
    if part["type"] == "image" and images and (data := image_data(part, options)):
        return {"type": "image", "data": data, "mime_type": part["media_type"]}
    text = _text(part)
    return {"type": "text", "text": text} if text else None


def _text(part: Part) -> str:
    match part["type"]:
        case "call":
            return call_text(part)
        case "result":
            return result_text(part)
        case "image":
            return image_text(part)
        case "text":
            return whole_text(part["text"])
        case "reasoning":
            return ""
