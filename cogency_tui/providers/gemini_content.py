"""The contents of Gemini's requests: messages as turns of parts, with each signature on its own part.

A signature is the model's reasoning, encrypted. It belongs to the part that it came on: the first call of a
step, or a text, which is empty where the stream had ended. As an item of reasoning it comes directly before
its call, or directly after its text, of which `length` characters have it:

    {"thoughtSignature": "…", "of": "call"}
    {"thoughtSignature": "…", "of": "text", "length": 12}
    {"thoughtSignature": "…", "of": "thought", "text": "the summary that has it"}

The steps of Interactions are understood too, because both have the history of one conversation.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeAlias

from cogency_tui.protocol.messages import CallPart, ImagePart, Message, Part, ToolSpec, image_text, parts_of
from cogency_tui.providers.base import PLAIN, Options
from cogency_tui.providers.message_parts import (
    arguments_of,
    call_as_text,
    image_data,
    result_as_text,
)
from cogency_tui.providers.surrogates import whole_text
from cogency_tui.providers.wire_protocol import count_of, table, text_of

JsonObject: TypeAlias = dict[str, Any]

IMAGES = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
"""Media types of images that the vendor takes."""

UNCHECKED = "skip_thought_signature_validator"
"""The vendor's signature for a call that another model made, or whose signature is lost."""


def system_field(messages: Sequence[Message]) -> JsonObject:
    """Return the system prompt as a field of a request; none where there is no prompt."""
    parts = [{"text": whole_text(each["content"])} for each in messages if each["role"] == "system"]
    return {"systemInstruction": {"parts": parts}} if parts else {}


def tools_field(tools: Iterable[ToolSpec]) -> JsonObject:
    """Return the tools as a field of a request; none where there are no tools."""
    declarations = [
        {
            "name": tool["name"],
            "description": whole_text(tool["description"]),
            "parametersJsonSchema": tool["parameters"],
        }
        for tool in tools
    ]
    return {"tools": [{"functionDeclarations": declarations}]} if declarations else {}


def contents(
    messages: Sequence[Message], options: Options = PLAIN, *, signs: bool = False, checked: bool = False
) -> list[JsonObject]:
    """Convert the messages except the system prompt, user and model alternating. Empty text is left out,
    because the endpoint refuses it. Results are a turn of their own: the endpoint takes text and images after
    them, in the same turn, for the model's. Without tools, calls and their results become text.

    With `signs`, signatures are returned. `checked` marks a model that refuses a step without one.
    """
    turns: list[JsonObject] = []
    for message in messages:
        if message["role"] == "system":
            continue
        role = "model" if message["role"] == "assistant" else "user"
        parts = (
            _model_parts(message, options, signs) if role == "model" else _user_parts(message, options, turns)
        )
        for group in _groups(parts):
            if turns and turns[-1]["role"] == role and not _is_result(turns[-1]["parts"][-1]):
                turns[-1]["parts"] += group
            else:
                turns.append({"role": role, "parts": group})
    if checked:
        for turn in turns:
            _sign_first_call(turn["parts"])
    return turns


def without_ids(turns: list[JsonObject]) -> list[JsonObject]:
    """Remove the ids of calls and results, which then belong together by their order."""
    for part in (part for turn in turns for part in turn["parts"]):
        table(part.get("functionCall") or part.get("functionResponse")).pop("id", None)
    return turns


def arguments_text(arguments: JsonObject) -> str:
    """Render the arguments of a call as JSON text; empty where it has none."""
    return json.dumps(arguments, ensure_ascii=False) if arguments else ""


def tool_name(name: object) -> str:
    """Return the name of the tool in a call, which may have that of the vendor's own name space before it."""
    return text_of(name).removeprefix("default_api:")


def sendable_image(image: ImagePart, options: Options) -> str:
    """Return the content of an image in base64; empty where it cannot be sent."""
    if options.read_image is None or image["media_type"] not in IMAGES:
        return ""
    return image_data(image, options.read_image)


def part_text(part: Part) -> str:
    """Return a part as text, for a request that cannot have it as it is."""
    match part["type"]:
        case "call":
            return call_as_text(part)
        case "result":
            return result_as_text(part)
        case "image":
            return image_text(part)
        case "text":
            return whole_text(part["text"])
        case "reasoning":
            return ""


def results_first(parts: Sequence[Part]) -> list[Part]:
    """Order the parts of a user's message as the vendor requires."""
    return sorted(parts, key=lambda part: part["type"] != "result")


@dataclass(slots=True)
class _ModelParts:
    """The parts of one answer, with the signature for the next of them: for a call, or `for_text` as well."""

    parts: list[JsonObject] = field(default_factory=list[JsonObject])
    _signature: str = ""
    _for_text: bool = False

    def add_text(self, text: str) -> None:
        """Append text, unless it is empty."""
        if not text:
            return
        self._append({"text": text}, signed=self._for_text)

    def add_call(self, call: CallPart) -> None:
        """Append a call."""
        function = {"id": call["id"], "name": call["name"], "args": arguments_of(call)}
        self._append({"functionCall": function}, signed=True)

    def add_reasoning(self, item: Mapping[str, Any]) -> None:
        """Put the signature of an item on its part, or keep it for the next."""
        if item.get("type") == "thought":
            self._signature, self._for_text = text_of(item.get("signature")), True
        elif item.get("of") == "call":
            self._signature, self._for_text = text_of(item.get("thoughtSignature")), False
        elif signature := text_of(item.get("thoughtSignature")):
            self._sign_last(signature, item)

    def _append(self, part: JsonObject, *, signed: bool) -> None:
        if signed and self._signature:
            part["thoughtSignature"] = self._signature
        self._signature = ""
        self.parts.append(part)

    def _sign_last(self, signature: str, item: Mapping[str, Any]) -> None:
        if item.get("of") == "thought":
            self.parts.append({"text": text_of(item.get("text")), "thought": True})
        else:
            self._split_off(count_of(item.get("length")) or 0)
        self.parts[-1]["thoughtSignature"] = signature

    def _split_off(self, length: int) -> None:
        """Make the last characters of the text, so many, a part of their own; an empty one without text."""
        last = self.parts[-1] if self.parts else {}
        if not length or "text" not in last or "thoughtSignature" in last:
            self.parts.append({"text": ""})
        elif head := last["text"][:-length]:
            self.parts.append({"text": last["text"][-length:]})
            last["text"] = head


def _model_parts(message: Message, options: Options, signs: bool) -> list[JsonObject]:
    answer = _ModelParts()
    for part in parts_of(message):
        if part["type"] == "reasoning":
            if signs:
                answer.add_reasoning(part["item"])
        elif part["type"] == "call" and options.tools:
            answer.add_call(part)
        else:
            answer.add_text(part_text(part))
    return answer.parts


def _user_parts(message: Message, options: Options, turns: Sequence[JsonObject]) -> list[JsonObject]:
    called = _called(turns) if options.tools else set[str]()
    parts = (_user_part(part, options, called) for part in results_first(parts_of(message)))
    return [part for part in parts if part.get("text", True)]


def _groups(parts: Sequence[JsonObject]) -> list[list[JsonObject]]:
    """Divide the parts of a message between results and others."""
    groups = groupby(parts, key=_is_result)
    return [list(group) for _is, group in groups]


def _is_result(part: JsonObject) -> bool:
    return "functionResponse" in part


def _user_part(part: Part, options: Options, called: Collection[str]) -> JsonObject:
    if part["type"] == "result" and part["id"] in called:
        response = {"error" if part["error"] else "output": whole_text(part["text"])}
        return {"functionResponse": {"id": part["id"], "name": part["name"], "response": response}}
    if part["type"] == "image" and (data := sendable_image(part, options)):
        return {"inlineData": {"mimeType": part["media_type"], "data": data}}
    return {"text": part_text(part)}


def _called(turns: Sequence[JsonObject]) -> set[str]:
    """Return the ids of the calls in the last turn, whose results are due."""
    last = turns[-1] if turns else {}
    calls = [table(part.get("functionCall")) for part in last.get("parts", ())]
    return {call["id"] for call in calls if call}


def _sign_first_call(parts: Iterable[JsonObject]) -> None:
    first = next((part for part in parts if "functionCall" in part), None)
    if first is not None:
        first.setdefault("thoughtSignature", UNCHECKED)
