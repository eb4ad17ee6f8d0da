"""The Chat Completions wire protocol, for OpenAI and every server that is compatible with it.

Deviations of compatible servers are tolerated: comments, a missing `[DONE]`, usage on the finish chunk or in
the choice, reasoning under several names, content parts as a list, and calls in many forms
(`openai_chat_calls`). Fields that only one vendor has are sent only to it.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from cogency_tui.config.schema import Effort
from cogency_tui.protocol.messages import Message, ToolSpec
from cogency_tui.providers import failures
from cogency_tui.providers.base import PLAIN, Options, ReasoningItem, Usage
from cogency_tui.providers.efforts import effort_word
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.models import ListedModel, ModelFacts, ReasoningSwitch
from cogency_tui.providers.openai_chat_calls import CallJoiner
from cogency_tui.providers.openai_chat_messages import MessageEncoder
from cogency_tui.providers.refused_parameters import EFFORT, THINKING
from cogency_tui.providers.surrogates import whole_text
from cogency_tui.providers.wire_protocol import (
    Finish,
    Frame,
    bearer,
    count_of,
    items,
    listed_models,
    malformed,
    read_object,
    table,
    text_of,
)

_FINISHES: Mapping[str, Finish] = {
    "stop": "stop",
    "tool_calls": "stop",
    "function_call": "stop",
    "eos": "stop",
    "length": "length",
    "model_length": "length",
    "content_filter": "filter",
}
"""Reasons for an end; `eos` is Together's, `model_length` Mistral's."""

_SWITCHES: Mapping[ReasoningSwitch, Mapping[str, Any]] = {
    "thinking": {"thinking": {"type": "disabled"}},
    "enable_thinking": {"enable_thinking": False},
}
"""Fields that turn reasoning off."""

_DETAILS = "reasoning_details"

Vendor: TypeAlias = Literal["", "openai", "openrouter", "mistral", "minimax"]
"""A vendor with fields or rules of its own."""

_HOSTS: Mapping[str, Vendor] = {
    "api.openai.com": "openai",
    "openrouter.ai": "openrouter",
    "api.mistral.ai": "mistral",
    "api.minimax.io": "minimax",
    "api.minimaxi.com": "minimax",
}
_DETAILED = ("openrouter", "minimax")
"""Vendors whose reasoning has details, which go back instead of its text."""
_NAMES: Mapping[str, Vendor] = {"openrouter": "openrouter", "mistral": "mistral", "minimax": "minimax"}


def vendor_of(endpoint: Endpoint) -> Vendor:
    """Return whose endpoint this is, by its host, or its configured name: as `openai` many servers are
    configured that are not, whose cache is not OpenAI's."""
    return _HOSTS.get(endpoint.host) or _NAMES.get(endpoint.name, "")


class ChatWire:
    """`POST /chat/completions` with one endpoint."""

    label = "Chat Completions"
    path = "/chat/completions"
    models_path = "/models"

    def __init__(self, endpoint: Endpoint, facts: ModelFacts | None = None) -> None:
        self._endpoint = endpoint
        self._facts = facts or ModelFacts()
        self._vendor = vendor_of(endpoint)
        returns = self._facts.returns_reasoning
        self._messages = MessageEncoder(
            reasoning=returns or self._vendor == "openrouter",
            strict_reasoning=returns and self._vendor not in _DETAILED,
            mistral=self._vendor == "mistral",
        )

    def headers(self) -> Mapping[str, str]:
        """Return the key as a bearer token."""
        return bearer(self._endpoint)

    def encode(self, messages: Sequence[Message], refused: Iterable[str], options: Options = PLAIN) -> bytes:
        """Encode the body of a request; it requests the usage, which is not sent otherwise. The messages
        precede all that may change between requests."""
        body: dict[str, Any] = {
            "model": self._endpoint.model,
            "messages": self._messages.encode(messages, options),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if options.tools:
            body["tools"] = [_tool(spec) for spec in options.tools]
        body |= self._own_fields(options)
        without = set(refused)
        if options.effort is not None:
            body |= self._effort(options.effort, without)
        return json.dumps({name: value for name, value in body.items() if name not in without}).encode()

    def reader(self, options: Options = PLAIN) -> "ChatReader":
        """Create a reader that keeps the reasoning which the endpoint wants back."""
        details = self._messages.reasoning and self._vendor in _DETAILED
        return ChatReader(self._endpoint, texts=self._facts.returns_reasoning, details=details)

    def models(self, body: Mapping[str, Any]) -> list[ListedModel]:
        """Return the models in `data`."""
        return listed_models(body.get("data"))

    def _own_fields(self, options: Options) -> dict[str, Any]:
        """Return the fields of this endpoint's vendor, and the class of service that the user has chosen."""
        fields: dict[str, Any] = {"service_tier": options.tier} if options.tier else {}
        if self._vendor == "minimax" and self._facts.returns_reasoning:
            fields["reasoning_split"] = True
        if self._vendor == "openai" and options.conversation:
            fields["prompt_cache_key"] = options.conversation
        return fields

    def _effort(self, effort: Effort, refused: Collection[str]) -> dict[str, Any]:
        if effort == "none" and (switch := _SWITCHES.get(self._facts.reasoning_switch)):
            return {} if THINKING in refused else dict(switch)
        if EFFORT in refused:
            return {}
        word = effort_word(self._facts.efforts, effort)
        if self._vendor == "openrouter":
            return {"reasoning": {"effort": word}}
        return {"reasoning_effort": word}


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {"type": "function", "function": dict(spec)}


class ChatReader:
    """Reads one answer. The reasoning that a request with the answer has to return becomes items: its
    `details` where the endpoint sends them, or its `texts`."""

    def __init__(self, endpoint: Endpoint, *, texts: bool = False, details: bool = False) -> None:
        self._endpoint = endpoint
        self._calls = CallJoiner()
        self._reasoning = _Reasoning(texts=texts, details=details)
        self._model = ""
        self._tier = ""

    def read(self, name: str, data: str) -> Frame:
        """Read one chunk.

        Raises:
            ProviderProtocolError: it is no chunk.
            ProviderError: it is an error that the endpoint reports in mid-stream.
        """
        if data == "[DONE]":
            return Frame(complete=True, before=self._reasoning.take(), native=[*self._calls.close()])
        chunk = read_object(self._endpoint, ChatWire.label, data)
        if chunk.get("error"):
            raise failures.from_frame(self._endpoint, chunk["error"])
        choices = items(chunk.get("choices"))
        if chunk.get("choices") and not choices:
            raise malformed(self._endpoint, ChatWire.label, data)
        self._model = text_of(chunk.get("model")) or self._model
        self._tier = text_of(chunk.get("service_tier")) or self._tier
        return self._frame(chunk, table(choices[0]) if choices else {})

    def _frame(self, chunk: dict[str, Any], choice: dict[str, Any]) -> Frame:
        delta = table(choice.get("delta"))
        finish = text_of(choice.get("finish_reason"))
        text = _text(delta.get("content")) or _text(delta.get("refusal"))
        self._reasoning.feed(delta)
        calls = list(self._calls.feed(delta))
        return Frame(
            text,
            _reasoning_text(delta),
            _FINISHES.get(finish, "other") if finish else "",
            usage=self._usage(chunk, choice),
            before=self._reasoning.take() if text or calls or finish else (),
            native=[*calls, *(self._calls.close() if finish else ())],
        )

    def _usage(self, chunk: dict[str, Any], choice: dict[str, Any]) -> Usage | None:
        """Return the reported usage, which Moonshot has in the choice and Groq in a field of its own."""
        groq = table(chunk.get("x_groq"))
        reported = table(chunk.get("usage") or choice.get("usage") or groq.get("usage"))
        sent, written = count_of(reported.get("prompt_tokens")), count_of(reported.get("completion_tokens"))
        if sent is None or written is None:
            return None
        details = table(reported.get("prompt_tokens_details"))
        return Usage(
            sent,
            written,
            _cached(reported, details),
            cache_written=count_of(details.get("cache_write_tokens")),
            model=self._endpoint.quote(self._model),
            tier=self._endpoint.quote(self._tier),
        )


class _Reasoning:
    """The reasoning of an answer since it was last taken: its details, with pieces of text joined, or else
    its texts under the name of the server's field."""

    def __init__(self, *, texts: bool, details: bool) -> None:
        self._takes_texts = texts
        self._takes_details = details
        self._details: list[dict[str, Any]] = []
        self._name = ""
        self._texts: list[str] = []

    def feed(self, delta: Mapping[str, Any]) -> None:
        """Add the reasoning of a delta."""
        name = next((name for name in _REASONING if _text(delta.get(name))), "")
        if name and self._takes_texts:
            self._name = name
            self._texts.append(_text(delta[name]))
        if self._takes_details:
            for piece in items(delta.get(_DETAILS)):
                self._add(table(piece))

    def take(self) -> Sequence[ReasoningItem]:
        """Return what there is, as one item."""
        item: dict[str, Any] = {}
        if self._details:
            item[_DETAILS] = self._details
        elif self._texts:
            item[self._name] = whole_text("".join(self._texts))
        self._details, self._texts = [], []
        return [ReasoningItem(item)] if item else ()

    def _add(self, piece: dict[str, Any]) -> None:
        last = self._details[-1] if self._details else {}
        if not _continues(last, piece):
            self._details.append(dict(piece))
            return
        for name, value in piece.items():
            if name in _JOINED:
                last[name] = text_of(last.get(name)) + text_of(value)
            elif value is not None:
                last[name] = value


_REASONING = ("reasoning_content", "reasoning")
_JOINED = ("text", "summary")


def _continues(last: Mapping[str, Any], piece: Mapping[str, Any]) -> bool:
    """Return whether a piece of details goes on with the last; an encrypted one is always whole."""
    same = all(last.get(name) == piece.get(name) for name in ("type", "index"))
    ids = {text_of(each.get("id")) for each in (last, piece)} - {""}
    return bool(last) and same and len(ids) < 2 and "data" not in piece


def _reasoning_text(delta: Mapping[str, Any]) -> str:
    """Return the reasoning of a delta as text, under any of its names; Mistral has it in the content."""
    plain = next((text for name in _REASONING if (text := _text(delta.get(name)))), "")
    return plain or _text(delta.get(_DETAILS)) or _thinking(delta.get("content"))


def _thinking(content: object) -> str:
    return "".join(_text(table(part).get("thinking")) for part in items(content))


def _text(value: object) -> str:
    """Return a text, or the texts of a list of parts."""
    return text_of(value) or "".join(_part_text(table(part)) for part in items(value))


def _part_text(part: dict[str, Any]) -> str:
    return _text(part.get("text")) or text_of(part.get("summary"))


def _cached(usage: Mapping[str, Any], details: Mapping[str, Any]) -> int | None:
    """Return the cached tokens; DeepSeek and Moonshot have fields of their own."""
    given = (
        details.get("cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),
        usage.get("cached_tokens"),
    )
    return next((count for each in given if (count := count_of(each)) is not None), None)
