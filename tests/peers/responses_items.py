"""The items of `input` as Responses takes and refuses them, for `tests.peers.responses`."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from tests.peers.server import Context

Item = dict[str, Any]

Problem = tuple[str, str | None, str | None]
"""What is wrong, with its code and the parameter."""

_KINDS = {"message", "function_call", "function_call_output", "reasoning"}
_CONTENTS = {
    "assistant": ("output_text",),
    "user": ("input_text", "input_image"),
    "system": ("input_text",),
    "developer": ("input_text",),
}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_DATA_URL = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_INCLUDABLE = {"reasoning.encrypted_content", "message.output_text.logprobs"}


def items_in(given: object) -> list[Item]:
    """The items of `input`, which may be a text, and may leave out the type of a message."""
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    return [{"type": "message", **item} for item in cast("list[Item]", given)]


def problem_in(body: Item, before: Sequence[Item], issued: Collection[str]) -> Problem | None:
    """What is wrong with a request that goes on from the items `before`. `issued` are the contents of
    reasoning that was encrypted here."""
    new = items_in(body["input"])
    return (
        _problem_of_options(body)
        or next(filter(None, (_problem_of(item, at, issued) for at, item in enumerate(new))), None)
        or _unpaired([*before, *new])
    )


def _problem_of_options(body: Item) -> Problem | None:
    for value in body.get("include", ()):
        if value not in _INCLUDABLE:
            return f"Invalid value: '{value}'.", "invalid_value", "include[0]"
    effort = body.get("reasoning", {}).get("effort")
    if effort is not None and effort not in EFFORTS:
        return f"Invalid value: '{effort}'.", "invalid_value", "reasoning.effort"
    for at, tool in enumerate(body.get("tools", ())):
        if tool["type"] != "function" or not _NAME.fullmatch(tool["name"]):
            return f"Invalid 'tools[{at}].name'.", "invalid_value", f"tools[{at}].name"
        if tool["parameters"]["type"] != "object" or tool["strict"] is not False:
            return f"Invalid schema for function '{tool['name']}'.", "invalid_function_parameters", "tools"
    return None


def _problem_of(item: Item, at: int, issued: Collection[str]) -> Problem | None:
    if item["type"] not in _KINDS:
        return f"Invalid value: '{item['type']}'.", "invalid_value", f"input[{at}]"
    if item["type"] == "message":
        return _problem_of_message(item, at)
    if item["type"] == "reasoning":
        return _problem_of_reasoning(item, issued)
    key = "arguments" if item["type"] == "function_call" else "output"
    if key == "output" and isinstance(item[key], list):
        return _problem_of_message({"role": "user", "content": item[key]}, at)
    if not isinstance(item[key], str) or not 0 < len(item["call_id"]) <= 64:
        return f"Invalid type for 'input[{at}].{key}'.", "invalid_type", f"input[{at}].{key}"
    return None


def _problem_of_message(item: Item, at: int) -> Problem | None:
    kinds = _CONTENTS[item["role"]]
    for part in _list(item["content"]):
        if part["type"] not in kinds:
            text = f"Invalid value: '{part['type']}'. Supported values are: '{kinds[0]}'."
            return text, "invalid_value", f"input[{at}].content[0]"
        if part["type"] == "input_image" and not _DATA_URL.fullmatch(part["image_url"]):
            return "Invalid 'image_url'.", "invalid_image_url", f"input[{at}].content"
    return None


def _problem_of_reasoning(item: Item, issued: Collection[str]) -> Problem | None:
    if not (encrypted := item.get("encrypted_content")):
        text = f"Item with id '{item['id']}' not found. Items are not persisted when `store` is set to false."
        return text, None, "input"
    if encrypted not in issued:
        text = f"The encrypted content for item {item['id']} could not be verified."
        return text, "invalid_encrypted_content", None
    return None


def _unpaired(items: Sequence[Item]) -> Problem | None:
    """See that calls have outputs before the next message, outputs calls, and reasoning what follows it."""
    pending: set[str] = set()
    for item, after in zip(items, [*items[1:], None], strict=True):
        kind = item["type"]
        if kind == "function_call":
            pending.add(item["call_id"])
        elif kind == "function_call_output" and item["call_id"] not in pending:
            return f"No tool call found for function call output with call_id {item['call_id']}.", *_INPUT
        elif kind == "function_call_output":
            pending.remove(item["call_id"])
        elif kind == "message" and item["role"] == "user" and pending:
            break
        if kind == "reasoning" and not _follows(after):
            text = (
                f"Item '{item['id']}' of type 'reasoning' was provided without its required following item."
            )
            return text, *_INPUT
    return (f"No tool output found for function call {min(pending)}.", *_INPUT) if pending else None


_INPUT = (None, "input")


def _follows(after: Item | None) -> bool:
    """Whether an item can follow one of reasoning."""
    return after is not None and (after["type"] != "message" or after["role"] == "assistant")


def context_of(items: Sequence[Item], thoughts: Mapping[str, str], *, all_turns: bool) -> Context:
    """What the model sees of the items: reasoning, by their ids, of earlier turns only with `all_turns`."""
    users = [at for at, item in enumerate(items) if item.get("role") == "user"]
    turn = users[-1] if users else 0
    return [
        _seen(item, thoughts)
        for at, item in enumerate(items)
        if all_turns or at > turn or item["type"] != "reasoning"
    ]


def _seen(item: Item, thoughts: Mapping[str, str]) -> dict[str, str]:
    match item["type"]:
        case "message":
            return {"role": item["role"], "content": _text(item["content"])}
        case "function_call":
            return {"role": "call", "content": f"{item['name']} {item['arguments']}"}
        case "function_call_output":
            return {"role": "result", "content": _text(item["output"])}
        case _:
            return {"role": "reasoning", "content": thoughts[item["id"]]}


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "[image]") for part in _list(content))


def _list(value: object) -> list[Item]:
    """A list; of nothing where a text stands instead of one."""
    return cast("list[Item]", value) if isinstance(value, list) else []
