"""What Chat Completions demand of a request's messages and tools, with the vendor's words where it refuses."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.peers.server import Context

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MISTRAL_ID = re.compile(r"[a-zA-Z0-9]{9}")
_LONGEST_ID = 40
_MEMBERS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls"},
    "tool": {"role", "content", "tool_call_id"},
}
Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules of one vendor. `reasoning` is the field of an answer that it takes back, of a call as it must
    where `demands`. `mistral`: its ids, and no message of the user behind a result."""

    reasoning: str = ""
    demands: bool = False
    mistral: bool = False


def complaint(body: Mapping[str, Any], rules: Rules, written: Sequence[object] = ()) -> str:
    """What is wrong with the messages or tools, nothing where they are right. `written` is all reasoning that
    the server wrote, which has to come back as it was."""
    messages: Sequence[Message] = body.get("messages", [])
    return next(
        (
            words
            for words in (
                *_about_tools(body),
                *(_of_one(at, each, rules, written) for at, each in enumerate(messages)),
                *_about_order(messages, rules),
            )
            if words
        ),
        "" if messages else "[] is too short - 'messages'",
    )


def _about_tools(body: Mapping[str, Any]) -> Iterator[str]:
    if "tools" in body and not body["tools"]:
        yield "[] is too short - 'tools'"
    for at, tool in enumerate(body.get("tools", [])):
        if tool.get("type") != "function" or not _NAME.fullmatch(tool["function"]["name"]):
            yield f"Invalid 'tools[{at}].function.name': string does not match pattern."
        if tool["function"].get("parameters", {}).get("type") != "object":
            yield f"Invalid schema for function '{tool['function']['name']}': schema must be of type object."


def _of_one(at: int, message: Message, rules: Rules, written: Sequence[object]) -> str:
    role, place = message["role"], f"messages.[{at}]"
    if role not in _MEMBERS:
        return f"Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', and 'tool'."
    own = {rules.reasoning} if role == "assistant" else set[str]()
    if unknown := sorted(message.keys() - _MEMBERS[role] - own):
        return f"Additional properties are not allowed ('{unknown[0]}' was unexpected) - '{place}'"
    if message["content"] is None and not message.get("tool_calls"):
        return f"Invalid value for 'content': expected a string, got null. - '{place}'"
    if role == "assistant":
        return _of_answer(place, message, rules, written)
    images = role != "user" and not isinstance(message["content"], str)
    return f"Invalid 'content': image_url is only allowed for role user. - '{place}'" if images else ""


def _of_answer(place: str, message: Message, rules: Rules, written: Sequence[object]) -> str:
    if "tool_calls" in message and not message["tool_calls"]:
        return f"[] is too short - '{place}.tool_calls'"
    reasoning = message.get(rules.reasoning)
    if rules.demands and message.get("tool_calls") and not str(reasoning or ""):
        return f"Missing `reasoning_content` field in the assistant message. - '{place}'"
    if reasoning and reasoning not in (*written, " "):
        return f"The reasoning is not what this server wrote. - '{place}'"
    return next((words for call in message.get("tool_calls", []) if (words := _of_call(call, rules))), "")


def _of_call(call: Message, rules: Rules) -> str:
    if call.get("type") != "function" or not _NAME.fullmatch(call["function"]["name"]):
        return "Invalid 'tool_calls[0].function.name': string does not match pattern."
    if rules.mistral and not _MISTRAL_ID.fullmatch(call["id"]):
        return f"Tool call id was {call['id']} but must be a-z, A-Z, 0-9, with a length of 9."
    if not 0 < len(call["id"]) <= _LONGEST_ID:
        return f"Invalid 'tool_calls[0].id': string too long. Expected at most {_LONGEST_ID} characters."
    try:
        parsed = json.loads(call["function"]["arguments"])
    except ValueError:
        parsed = None
    return "" if isinstance(parsed, dict) else "Function arguments must be a JSON object."


def _about_order(messages: Sequence[Message], rules: Rules) -> Iterator[str]:
    due: list[str] = []
    previous = ""
    for message in messages:
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] not in due:
                yield "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
                return
            due.remove(message["tool_call_id"])
        elif due:
            break
        if rules.mistral and (previous, role) == ("tool", "user"):
            yield "Unexpected role 'user' after role 'tool'"
        previous = role
        due += [call["id"] for call in message.get("tool_calls", [])]
    if due:
        yield (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(due)}"
        )


def context_of(body: Mapping[str, Any]) -> Context:
    """The messages as the model reads them."""
    return [{"role": each["role"], "content": _text(each)} for each in body["messages"]]


def _text(message: Message) -> str:
    content = message["content"] or ""
    if not isinstance(content, str):
        content = "".join(part.get("text", "[image]") for part in content)
    calls = message.get("tool_calls")
    return content + (json.dumps(calls) if calls else "")
