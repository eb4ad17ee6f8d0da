"""Messages and tools as Responses requests have them: the items of `input`, and functions.

An item of a model's reasoning goes back verbatim, in its place. The endpoint refuses one that no text or
call follows, as after an interrupted answer: it is left out. Texts and calls go back without the ids that
the endpoint gave to their items, because an id needs the exact item that came before it.

Models label each message of theirs as a remark or as the final answer, and do worse where the labels do not
come back. A label is stored as an item of reasoning before its text.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from cogency_tui.protocol.messages import (
    CallPart,
    ImagePart,
    Message,
    Part,
    ResultPart,
    ToolSpec,
    image_text,
    nested_parts_of,
    parts_of,
)
from cogency_tui.providers.message_parts import arguments_text, image_url
from cogency_tui.providers.surrogates import whole_text

Item: TypeAlias = dict[str, Any]

_LABEL = "message_label"
"""Type of an item that is ours: the `phase` of the message that follows."""

ReadImage: TypeAlias = Callable[[str], bytes]


def items_of(message: Message, read_image: ReadImage | None = None, *, nests: bool = False) -> list[Item]:
    """Convert a message to items of `input`. `read_image` returns the content of an image by its digest.

    An endpoint that `nests` takes the images of a result in it. Elsewhere they follow as a message of the
    user's, which ends the turn that the model's reasoning belongs to.
    """
    role = message["role"]
    if not message.get("parts") or role == "system":
        return [_text_item(role, message["content"])]
    if role == "assistant":
        return _answer_items(parts_of(message))
    nests = nests and read_image is not None
    parts = nested_parts_of(message) if nests else parts_of(message)
    outputs = [_output(part, read_image if nests else None) for part in parts if part["type"] == "result"]
    contents = [content for part in parts for content in _contents(part, read_image)]
    return [*outputs, _message(role, contents)] if contents else outputs


def function_of(tool: ToolSpec) -> dict[str, Any]:
    """Convert a tool to a function. `strict` is on by default, and refuses schemas with optional fields."""
    description = whole_text(tool["description"])
    function = {"name": tool["name"], "description": description, "parameters": tool["parameters"]}
    return {"type": "function", **function, "strict": False}


def is_returnable(item: Mapping[str, Any]) -> bool:
    """Return whether an item of reasoning can be sent back: without content it is only a reference to
    something that the endpoint has not stored."""
    return bool(item.get("encrypted_content") or item.get("content"))


def label_of(item: Mapping[str, Any]) -> Item | None:
    """Return the label of a message, as an item; None where the model gives none."""
    phase = item.get("phase")
    return {"type": _LABEL, "phase": phase} if isinstance(phase, str) else None


def _answer_items(parts: Sequence[Part]) -> list[Item]:
    items: list[Item] = []
    label: Item = {}
    for item in filter(None, map(_answer_item, parts)):
        if item["type"] == _LABEL:
            label = {"phase": item["phase"]}
            continue
        if item["type"] != "message":
            label = {}
        items.append({**item, **label})
    while items and items[-1]["type"] == "reasoning":
        items.pop()
    return items


def _answer_item(part: Part) -> Item | None:
    match part["type"]:
        case "text":
            return _text_item("assistant", part["text"]) if part["text"] else None
        case "call":
            return _call(part)
        case "reasoning":
            return part["item"] if part["item"].get("type") in {"reasoning", _LABEL} else None
        case "image":
            return _text_item("assistant", image_text(part))
        case "result":
            return _output(part)


def _call(part: CallPart) -> Item:
    return {
        "type": "function_call",
        "call_id": part["id"],
        "name": part["name"],
        "arguments": arguments_text(part),
    }


def _output(part: ResultPart, read_image: ReadImage | None = None) -> Item:
    output: str | list[Item] = whole_text(part["text"])
    if read_image is not None and (images := part.get("images")):
        output = [_text("user", output), *(_image(image, read_image) for image in images)]
    return {"type": "function_call_output", "call_id": part["id"], "output": output}


def _contents(part: Part, read_image: ReadImage | None) -> list[dict[str, Any]]:
    """Return the content of a user's part; none for a result, which is an item of its own."""
    if part["type"] == "text" and part["text"]:
        return [_text("user", part["text"])]
    if part["type"] == "image":
        return [_image(part, read_image)]
    return []


def _image(part: ImagePart, read_image: ReadImage | None) -> dict[str, Any]:
    if read_image is None:
        return _text("user", image_text(part))
    return {"type": "input_image", "detail": "auto", "image_url": image_url(part, read_image)}


def _text_item(role: str, text: str) -> Item:
    return _message(role, [_text(role, text)])


def _message(role: str, contents: list[dict[str, Any]]) -> Item:
    return {"type": "message", "role": role, "content": contents}


def _text(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": kind, "text": whole_text(text)}
