"""What the vendor requires of the messages of a request: of calls, results, thinking and images."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

Block: TypeAlias = dict[str, Any]
Message: TypeAlias = Mapping[str, Any]

THINKING = ("thinking", "redacted_thinking")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_ID_WORDS = "String should match pattern '^[a-zA-Z0-9_-]+$'"
_MEDIA = ("image/jpeg", "image/png", "image/gif", "image/webp")
_ROLES = {
    "tool_use": "assistant",
    "thinking": "assistant",
    "redacted_thinking": "assistant",
    "tool_result": "user",
    "image": "user",
}


def listed(content: str | list[Block]) -> list[Block]:
    """Content as a list; text alone is short for a list of one block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def complaint(
    body: Mapping[str, Any], written: Mapping[str, Sequence[Block]], issued: Iterable[Block]
) -> str:
    """What is wrong with the messages of a request, in the vendor's words; nothing where they are right.
    `written` has the thinking of each answer of the peer by the ids of its calls, `issued` all thinking."""
    messages = body["messages"]
    blocks = [(f"messages.{at}", message, listed(message["content"])) for at, message in enumerate(messages)]
    each = (_of_blocks(place, message, content) for place, message, content in blocks)
    checks = (
        *each,
        _of_tools(body, messages),
        *_of_calls(messages),
        *_of_signatures(messages, list(issued)),
        _of_open_loop(body, messages, written),
    )
    return next((words for words in checks if words), "")


def _of_blocks(place: str, message: Message, content: Sequence[Block]) -> str:
    for at, block in enumerate(content):
        where, kind = f"{place}.content.{at}", block["type"]
        if message["role"] != _ROLES.get(kind, message["role"]):
            return f"{where}: `{kind}` blocks are only allowed in `{_ROLES[kind]}` messages"
        if words := _of_block(kind, block):
            return f"{where}.{words}"
    if message["role"] == "assistant" and content and content[-1]["type"] in THINKING:
        return f"{place}: The final block in an assistant message cannot be `thinking`."
    return ""


def _of_block(kind: str, block: Block) -> str:
    if kind in THINKING and "cache_control" in block:
        return f"{kind}.cache_control: Extra inputs are not permitted"
    if kind == "tool_use" and not isinstance(block["input"], dict):
        return "tool_use.input: Input should be a valid dictionary"
    if kind == "tool_use" and not _ID.fullmatch(block["id"]):
        return f"tool_use.id: {_ID_WORDS}"
    if kind == "tool_result" and not _ID.fullmatch(block["tool_use_id"]):
        return f"tool_result.tool_use_id: {_ID_WORDS}"
    if kind == "tool_result" and isinstance(block.get("content"), list):
        for inner in block["content"]:
            if block.get("is_error") and inner["type"] != "text":
                return 'tool_result: all content must be type "text" if "is_error" is true'
            if words := _of_block(inner["type"], inner):
                return f"tool_result.content: {words}"
    if kind == "image" and block["source"]["media_type"] not in _MEDIA:
        return f"image.source.base64.media_type: Input should be {', '.join(map(repr, _MEDIA))}"
    return ""


def _of_tools(body: Mapping[str, Any], messages: Sequence[Message]) -> str:
    used = any(block["type"] in ("tool_use", "tool_result") for _at, _in, block in _all(messages))
    if used and not body.get("tools"):
        return "Requests which have `tool_use` or `tool_result` blocks in messages must define tools."
    return ""


def _of_calls(messages: Sequence[Message]) -> Iterator[str]:
    """Each call has its result at the beginning of the next message, and each result its call before it."""
    for at, message in enumerate(messages):
        calls = _ids(listed(messages[at - 1]["content"]), "tool_use", "id") if at else []
        content = listed(message["content"])
        results = _ids(content, "tool_result", "tool_use_id")
        for place, block in enumerate(content):
            if block["type"] == "tool_result" and block["tool_use_id"] not in calls:
                yield (
                    f"messages.{at}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks: "
                    f"{block['tool_use_id']}. Each `tool_result` block must have a corresponding `tool_use` "
                    "block in the previous message."
                )
        first = _ids(content[: len(results)], "tool_result", "tool_use_id")
        if missing := [call for call in calls if call not in first]:
            yield (
                f"messages.{at - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in "
                "the next message."
            )
        if len(set(results)) < len(results):
            yield f"messages.{at}.content: each tool_use must have a single result."


def _of_signatures(messages: Sequence[Message], issued: Sequence[Block]) -> Iterator[str]:
    for at, place, block in _all(messages):
        if block["type"] not in THINKING or block in issued:
            continue
        key = "data" if block["type"] == "redacted_thinking" else "signature"
        if any(block[key] == each.get(key) for each in issued):
            yield f"messages.{at}.content.{place}: {_MODIFIED}"
        yield f"messages.{at}.content.{place}: Invalid `{key}` in `{block['type']}` block"


def _of_open_loop(
    body: Mapping[str, Any], messages: Sequence[Message], written: Mapping[str, Sequence[Block]]
) -> str:
    """The thinking of an answer whose results are sent is complete, or left out where the model thinks as it
    likes."""
    calls = _ids(listed(messages[-1]["content"]), "tool_result", "tool_use_id")
    if not calls:
        return ""
    at = len(messages) - 2
    content = listed(messages[at]["content"])
    thinking = [block for block in content if block["type"] in THINKING]
    if thinking and thinking != list(written.get(calls[0], thinking)):
        return f"messages.{at}.content.0: {_MODIFIED}"
    if body.get("thinking", {}).get("type") == "enabled" and content[0]["type"] not in THINKING:
        return (
            f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{content[0]['type']}`. When `thinking` is enabled, a final `assistant` message must start with a "
            "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
        )
    return ""


_MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks "
    "must remain as they were in the original response."
)


def _all(messages: Sequence[Message]) -> Iterator[tuple[int, int, Block]]:
    for at, message in enumerate(messages):
        for place, block in enumerate(listed(message["content"])):
            yield at, place, block


def _ids(content: Iterable[Block], kind: str, key: str) -> list[str]:
    return [block[key] for block in content if block["type"] == kind]
