"""The contents of requests to `GeminiPeer`: what the vendor refuses in them, and what the model sees."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tests.peers.gemini_acts import UNCHECKED, Acts, Broken, Call, Said, cut
from tests.peers.server import Context

Json: TypeAlias = dict[str, Any]

_NAME = re.compile(r"[a-zA-Z_][\w.:-]{0,127}", re.ASCII)
_ARGUMENT = "Request contains an invalid argument."
_ORDER = "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
_ENDS_WITH_MODEL = "Requests ending with a model turn are not supported."
_COUNT = (
    "Please ensure that the number of function response parts is equal to the number of function call parts "
    "of the function call turn."
)


@dataclass(slots=True)
class Signatures:
    """Those that were given, with the part that each is on. `required`: Gemini 3 wants one in each step.
    `unchecked`: the one that need not be given is known."""

    required: bool
    unchecked: bool = True
    _given: dict[str, Json] = field(default_factory=dict[str, Json])

    def give(self, signature: str, part: Mapping[str, Any]) -> None:
        """Note the part that a signature was sent on."""
        self._given[signature] = _unsigned(part)

    def knows(self, signature: str) -> bool:
        """Whether it was given, or is the one that need not be."""
        return signature in self._given or (self.unchecked and signature == UNCHECKED)

    def refuse(self, content: Mapping[str, Any]) -> str:
        """Why the parts of a model's content are refused; empty if they are not."""
        parts = content["parts"]
        calls = [part for part in parts if "functionCall" in part]
        if self.required and calls and "thoughtSignature" not in calls[0]:
            name, place = calls[0]["functionCall"]["name"], parts.index(calls[0]) + 1
            return (
                "Function call is missing a thought_signature in functionCall parts. This is required for tools "
                "to work correctly, and missing thought_signature may lead to degraded model performance. "
                f"Additional data, function call `default_api:{name}` , position {place}. Please refer to "
                "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            )
        return "" if all(self._is_right(part) for part in parts) else "Corrupted thought signature."

    def _is_right(self, part: Mapping[str, Any]) -> bool:
        signature = part.get("thoughtSignature")
        if signature is None or (signature == UNCHECKED and "functionCall" in part):
            return True
        return self._given.get(signature) == _unsigned(part)


def refuse_contents(body: Mapping[str, Any], signatures: Signatures) -> str:
    """Why the contents and tools of a request are refused; empty if they are not."""
    contents = _turns(body.get("contents", ()))
    parts = [part for content in contents for part in content.get("parts", ())]
    roles = {content["role"] for content in contents}
    right = all(_is_part(part, content["role"]) for content in contents for part in content["parts"])
    if not parts or not right or not roles <= {"user", "model"} or not _are_tools(body):
        return _ARGUMENT
    if contents[-1]["role"] == "model":
        return _ENDS_WITH_MODEL
    due: list[tuple[str, str]] = []
    before = "user"
    for content in contents:
        role = content["role"]
        if problem := _refuse_turn(content, role, before, due):
            return problem
        if role == "model" and (problem := signatures.refuse(content)):
            return problem
        due = _calls(content)
        before = role
    return _COUNT if due else ""


def context_of(contents: Sequence[Mapping[str, Any]]) -> Context:
    """The messages of `contents`, calls and results as JSON."""
    roles = {"model": "assistant", "user": "user"}
    return [
        {
            "role": roles[content.get("role", "user")],
            "content": "".join(_seen(part) for part in content["parts"]),
        }
        for content in contents
    ]


def parts_of(acts: Acts, token: int, signatures: Signatures) -> list[Json]:
    """The parts of an answer, text in pieces."""
    parts: list[Json] = []
    for act in acts:
        if isinstance(act, Said):
            parts += [{"text": piece} for piece in cut(act.text, token)]
            if act.signature and (act.late or not act.text):
                parts.append({"text": ""})
        elif isinstance(act, Call):
            identifier = {"id": act.id} if act.id else {}
            parts.append({"functionCall": {**identifier, "name": act.name, "args": dict(act.args)}})
        if isinstance(act, Said | Call) and act.signature:
            signatures.give(act.signature, parts[-1])
            parts[-1]["thoughtSignature"] = act.signature
    return parts


def end_of(acts: Acts) -> Json:
    """The end of a candidate whose call could not be read; empty for another."""
    broken = next((act for act in acts if isinstance(act, Broken)), None)
    return {"finishReason": broken.reason, "finishMessage": broken.message} if broken else {}


def _turns(contents: Sequence[Mapping[str, Any]]) -> list[Json]:
    """The contents with those of the model together: the vendor's chat has one for each chunk."""
    turns: list[Json] = []
    for content in contents:
        role = content.get("role", "user")
        if turns and turns[-1]["role"] == role == "model":
            turns[-1]["parts"] += content.get("parts", ())
        else:
            turns.append({"role": role, "parts": list(content.get("parts", ()))})
    return turns


def _refuse_turn(content: Mapping[str, Any], role: str, before: str, due: Sequence[tuple[str, str]]) -> str:
    if role == "model":
        return _ORDER if _calls(content) and before != "user" else ""
    responses = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
    if responses and "functionResponse" not in content["parts"][-1]:
        # What follows the results in their turn is taken for the model's.
        return _ENDS_WITH_MODEL
    answered = [(each.get("id", ""), each["name"]) for each in responses]
    return "" if answered == list(due) else _COUNT


def _calls(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
    return [(call.get("id", ""), call["name"]) for call in calls]


def _is_part(part: Mapping[str, Any], role: str) -> bool:
    if "functionCall" in part:
        return isinstance(part["functionCall"].get("args", {}), dict)
    if "functionResponse" in part:
        return isinstance(part["functionResponse"].get("response"), dict)
    if "inlineData" in part:
        return bool(part["inlineData"]["data"]) and part["inlineData"]["mimeType"].startswith("image/")
    # The vendor's chat returns the empty text at the end of a stream.
    return bool(part.get("text")) or (role == "model" and "text" in part)


def _are_tools(body: Mapping[str, Any]) -> bool:
    declared = [each for tool in body.get("tools", ()) for each in tool["functionDeclarations"]]
    schemas = [each.get("parametersJsonSchema", each.get("parameters", {})) for each in declared]
    names = {each["name"] for each in declared if _NAME.fullmatch(each["name"])}
    return len(names) == len(declared) and all(isinstance(schema, dict) for schema in schemas)


def _unsigned(part: Mapping[str, Any]) -> Json:
    """A part without its signature, and without the id of a call, which the vendor may have left out."""
    bare = {name: value for name, value in part.items() if name != "thoughtSignature"}
    if call := bare.get("functionCall"):
        bare["functionCall"] = {"name": call["name"], "args": call.get("args", {})}
    return bare


def _seen(part: Mapping[str, Any]) -> str:
    if "inlineData" in part:
        return f"[{part['inlineData']['mimeType']}]"
    special = part.get("functionCall") or part.get("functionResponse")
    return json.dumps(special) if special else part.get("text", "")
