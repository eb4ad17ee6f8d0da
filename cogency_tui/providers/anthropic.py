"""The Anthropic Messages wire protocol, with prompt caching.

The vendor's cache works on prefixes of blocks, and is written and read only at marks. So each message is a
block that never changes after it was sent: the blocks of a longer history begin with those of a shorter
one. Only the marks move, and they are no part of the comparison.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from cogency_tui.protocol.events import CacheMiss
from cogency_tui.protocol.messages import Message
from cogency_tui.providers import failures
from cogency_tui.providers.base import PLAIN, Options, Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.surrogates import whole_text
from cogency_tui.providers.wire_protocol import (
    Finish,
    Frame,
    cache_miss_of,
    count_of,
    malformed,
    names_in,
    read_object,
    table,
    text_of,
)

DEFAULT_OUTPUT = 32_000
"""Tokens of an answer where the model's own limit is not known: every model that the vendor still serves
can write so many. Models that reason by default spend them on that, too, and a file is written in one
answer."""

_VERSION = "2023-06-01"
"""Version that every server of this wire accepts. The fields that are sent and read here are the same in
the next, 2026-10-21."""

_MOST_MODELS = 1000
"""Models on a page of the list; 20 by default."""

_FINISHES: Mapping[str, Finish] = {
    "end_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filter",
}

_MEMBERS = {
    "message_start": "message",
    "content_block_start": "content_block",
    "content_block_delta": "delta",
    "message_delta": "delta",
}
"""Required fields of an event of each type."""

_INPUTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")

_Role: TypeAlias = Literal["user", "assistant"]


class AnthropicWire:
    """`POST /v1/messages` with one endpoint. `max_output` is the limit of the model's tokens in one answer;
    0 where it is not known. `diagnoses` requests the vendor's cache diagnostics, which other servers of this
    wire do not have."""

    label = "Anthropic Messages"

    def __init__(self, endpoint: Endpoint, max_output: int = 0, *, diagnoses: bool = False) -> None:
        self._endpoint = endpoint
        self._diagnoses = diagnoses
        self._max_output = max_output or DEFAULT_OUTPUT
        # The vendor's own address has no version, but some tools want one there, and users copy it.
        root = "" if endpoint.base_url.rstrip("/").endswith("/v1") else "/v1"
        self.path = f"{root}/messages"
        self.models_path = f"{root}/models?limit={_MOST_MODELS}"

    def headers(self) -> Mapping[str, str]:
        """Return the key, and the version of the protocol."""
        key = {"x-api-key": self._endpoint.key} if self._endpoint.key else {}
        return {"anthropic-version": _VERSION} | key

    def encode(self, messages: Sequence[Message], refused: Iterable[str], options: Options = PLAIN) -> bytes:
        """Encode the body of a request, without what the vendor would refuse: messages of white space only,
        and an assistant's message at either end of the history."""
        system, turns = _arranged(messages)
        body: dict[str, Any] = {
            "model": self._endpoint.model,
            "max_tokens": self._max_output,
            "stream": True,
        }
        if self._diagnoses and options.previous is not None:
            # The vendor compares only requests that have this field, so the first has it too.
            body["diagnostics"] = {"previous_message_id": options.previous or None}
        if system:
            body["system"] = _blocks(system, marked=True)
        asked = [index for index, turn in enumerate(turns) if turn.role == "user"]
        body["messages"] = [
            # The last request ended with the user's message before the last one, so the cache has an entry
            # there. From each mark, the vendor looks at 20 blocks back, and at the next mark then.
            {"role": turn.role, "content": _blocks(turn.texts, marked=index in asked[-2:])}
            for index, turn in enumerate(turns)
        ]
        for param in refused:
            body.pop(param, None)
        return json.dumps(body).encode()

    def reader(self) -> "MessagesReader":
        """Create a reader, which sums the usage of one answer."""
        return MessagesReader(self._endpoint, self.label, names_answers=self._diagnoses)

    def models(self, body: Mapping[str, Any]) -> list[str]:
        """Return the ids in `data`."""
        return names_in(body.get("data"))


class MessagesReader:
    """Reads the events of one answer. Usage arrives in parts: the input at the start, the output at the
    end, each figure cumulative. With `names_answers` it has the id of the answer."""

    def __init__(self, endpoint: Endpoint, label: str, *, names_answers: bool = False) -> None:
        self._endpoint = endpoint
        self._label = label
        self._names_answers = names_answers
        self._counts: dict[str, int] = {}
        self._answer = ""
        self._cache_miss: CacheMiss | None = None

    def read(self, name: str, data: str) -> Frame:
        """Read one event; its type is in its data.

        Raises:
            ProviderProtocolError: it is no event.
            ProviderError: it is an error that the endpoint reports in mid-stream.
        """
        event = read_object(self._endpoint, self._label, data)
        kind = text_of(event.get("type"))
        if kind == "error" or event.get("error"):
            raise failures.from_frame(self._endpoint, event)
        member = _MEMBERS.get(kind)
        if not kind or (member and not isinstance(event.get(member), dict)):
            raise malformed(self._endpoint, self._label, data)
        part = table(event.get(member)) if member else {}
        if kind == "message_start":
            self._begin(part)
        elif kind in ("content_block_start", "content_block_delta"):
            return _piece(part)
        elif kind == "message_delta":
            usage = table(event.get("usage"))
            self._add(usage, (*_INPUTS, "output_tokens"))
            reason = text_of(part.get("stop_reason"))
            return Frame(
                finish=_FINISHES.get(reason, "other") if reason else "",
                usage=self._usage(),
            )
        return Frame(complete=kind == "message_stop")

    def _begin(self, message: Mapping[str, Any]) -> None:
        self._add(table(message.get("usage")), _INPUTS)
        self._answer = text_of(message.get("id")) if self._names_answers else ""
        # Without a reason, the comparison was not done in time.
        reason = table(table(message.get("diagnostics")).get("cache_miss_reason"))
        self._cache_miss = cache_miss_of(
            self._endpoint, reason.get("type"), reason.get("cache_missed_input_tokens")
        )

    def _add(self, usage: Mapping[str, Any], names: Iterable[str]) -> None:
        for name in names:
            count = count_of(usage.get(name))
            if count is not None:
                # Figures only grow; some servers report them at the start and send zeros at the end.
                self._counts[name] = max(count, self._counts.get(name, 0))

    def _usage(self) -> Usage | None:
        counts = self._counts
        if "input_tokens" not in counts or "output_tokens" not in counts:
            return None
        return Usage(
            sum(counts.get(name, 0) for name in _INPUTS),
            counts["output_tokens"],
            cached=counts.get("cache_read_input_tokens"),
            cache_written=counts.get("cache_creation_input_tokens"),
            cache_miss=self._cache_miss,
            answer=self._answer,
        )


@dataclass(frozen=True, slots=True)
class _Turn:
    """Consecutive texts of one side. A text after another begins with the blank line between them, so that
    no text changes when one more follows."""

    role: _Role
    texts: list[str]


def _arranged(messages: Sequence[Message]) -> tuple[list[str], list[_Turn]]:
    """Arrange the system prompt and the turns as the vendor requires: alternating, and the user's first and
    last.

    The vendor no longer accepts an assistant's message at the end, which was to be continued: the model
    answers the user's message before it again.
    """
    system: list[str] = []
    turns: list[_Turn] = []
    for message in messages:
        text = whole_text(message["content"])
        role = message["role"]
        if not text.strip():
            continue
        if role == "system":
            system.append(f"\n\n{text}" if system else text)
        elif turns and turns[-1].role == role:
            turns[-1].texts.append(f"\n\n{text}")
        elif turns or role == "user":
            turns.append(_Turn(role, [text]))
    if turns and turns[-1].role == "assistant":
        turns.pop()
    return system, turns


def _blocks(texts: Sequence[str], *, marked: bool) -> list[dict[str, Any]]:
    """Convert texts to content, with the cache's mark on the last where it is wanted."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    if marked:
        blocks[-1]["cache_control"] = {"type": "ephemeral"}
    return blocks


def _piece(part: Mapping[str, Any]) -> Frame:
    """Return what a block begins with or a delta adds; nothing for signatures and other kinds."""
    kind = text_of(part.get("type"))
    if kind in ("text", "text_delta"):
        return Frame(text_of(part.get("text")))
    if kind in ("thinking", "thinking_delta"):
        return Frame(reasoning=text_of(part.get("thinking")))
    return Frame()
