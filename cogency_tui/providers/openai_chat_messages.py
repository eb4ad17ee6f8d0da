"""The messages of a Chat Completions request.

A message of text alone is encoded as it always was. Results become tool messages, one each and in order,
before the text and the images of their message. A server may parse the arguments of a call: what is no JSON
object goes as one.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from cogency_tui.protocol.messages import CallPart, Message, Part, ResultPart, image_text, parts_of
from cogency_tui.providers.base import Options
from cogency_tui.providers.message_parts import arguments_text, image_url
from cogency_tui.providers.openai_chat_calls import EXTRA
from cogency_tui.providers.surrogates import whole_text

_REASONING = "reasoning_content"
_NO_REASONING = " "
"""Reasoning of a call that has none, as one that another model wrote: DeepSeek and Moonshot refuse a call
without it, and to Moonshot an empty text is none."""

_MISTRAL_ID = re.compile("[a-zA-Z0-9]{9}")
_BRIDGE = "Understood."
"""Text of the assistant's that Mistral requires between results and a message of the user."""


@dataclass(frozen=True, slots=True)
class MessageEncoder:
    """Encodes messages for one server. With `reasoning` it is sent the reasoning that it wrote, and with
    `strict_reasoning` it refuses a call without. `mistral` applies Mistral's rules for ids and roles."""

    reasoning: bool = False
    strict_reasoning: bool = False
    mistral: bool = False

    def encode(self, messages: Sequence[Message], options: Options) -> list[dict[str, Any]]:
        """Return the messages as the wire has them."""
        encoded = [each for message in messages for each in self._message(message, options)]
        return list(_bridged(encoded)) if self.mistral else encoded

    def _message(self, message: Message, options: Options) -> Iterator[dict[str, Any]]:
        if not message.get("parts"):
            yield {"role": message["role"], "content": whole_text(message["content"])}
        elif message["role"] == "assistant":
            yield from self._answer(parts_of(message))
        else:
            yield from self._given(message, options)

    def _answer(self, parts: Sequence[Part]) -> Iterator[dict[str, Any]]:
        """Yield an answer of the model's; nothing for one that was interrupted before its first word."""
        text = "".join(_text(part) for part in parts if part["type"] in ("text", "image"))
        calls = list(self._calls(parts))
        if not (text or calls):
            return
        answer: dict[str, Any] = {"role": "assistant", "content": text or None}
        answer |= self._reasoned(parts, has_calls=bool(calls))
        yield answer | ({"tool_calls": calls} if calls else {})

    def _calls(self, parts: Sequence[Part]) -> Iterator[dict[str, Any]]:
        extra: dict[str, Any] = {}
        for part in parts:
            if part["type"] == "reasoning" and EXTRA in part["item"]:
                extra = {EXTRA: part["item"][EXTRA]}
            elif part["type"] == "call":
                yield self._call(part) | extra
                extra = {}

    def _call(self, part: CallPart) -> dict[str, Any]:
        function = {"name": part["name"], "arguments": arguments_text(part)}
        return {"id": self._id(part["id"]), "type": "function", "function": function}

    def _reasoned(self, parts: Sequence[Part], *, has_calls: bool) -> dict[str, Any]:
        """Return the fields of an answer's reasoning, each joined from all of its items."""
        fields: dict[str, Any] = {}
        if not self.reasoning:
            return fields
        for part in parts:
            if part["type"] == "reasoning":
                for name, value in part["item"].items():
                    fields[name] = fields[name] + value if name in fields else value
        fields.pop(EXTRA, None)
        if not fields and has_calls and self.strict_reasoning:
            fields[_REASONING] = _NO_REASONING
        return fields

    def _given(self, message: Message, options: Options) -> Iterator[dict[str, Any]]:
        """Yield the messages for one of the user's or the engine's, without empty texts behind results."""
        results = [part for part in parts_of(message) if part["type"] == "result"]
        yield from (self._result(part) for part in results)
        others = [part for part in parts_of(message) if part["type"] in ("text", "image") and _text(part)]
        if others or not results:
            read = options.read_image if message["role"] == "user" else None
            yield {"role": message["role"], "content": _content(others, read)}

    def _result(self, part: ResultPart) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": self._id(part["id"]), "content": whole_text(part["text"])}

    def _id(self, given: str) -> str:
        return mistral_id(given) if self.mistral else given


def mistral_id(given: str) -> str:
    """Return an id of nine letters and digits for a call, the same for the same one."""
    if _MISTRAL_ID.fullmatch(given):
        return given
    import hashlib

    return hashlib.sha256(given.encode("utf-8", "surrogatepass")).hexdigest()[:9]


def _bridged(encoded: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield messages with one of the assistant's between each result and message of the user."""
    previous = ""
    for message in encoded:
        if previous == "tool" and message["role"] == "user":
            yield {"role": "assistant", "content": _BRIDGE}
        yield message
        previous = message["role"]


def _content(
    parts: Sequence[Part], read_image: Callable[[str], bytes] | None
) -> str | Sequence[Mapping[str, Any]]:
    """Return parts as text, or as a list where there are images to send."""
    if read_image is None or not any(part["type"] == "image" for part in parts):
        return "\n\n".join(_text(part) for part in parts)
    return [_part(part, read_image) for part in parts]


def _part(part: Part, read_image: Callable[[str], bytes]) -> dict[str, Any]:
    if part["type"] != "image":
        return {"type": "text", "text": _text(part)}
    return {"type": "image_url", "image_url": {"url": image_url(part, read_image)}}


def _text(part: Part) -> str:
    """Return the text of a part; an image is described."""
    if part["type"] == "image":
        return image_text(part)
    return whole_text(cast("str", part.get("text", "")))
