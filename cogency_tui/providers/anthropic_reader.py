"""The events of Anthropic's answers. Blocks arrive one after the other, each with a start, deltas and a stop;
usage in parts: the input at the start, the output at the end, each figure cumulative."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from cogency_tui.protocol.events import CacheMiss
from cogency_tui.providers import failures
from cogency_tui.providers.anthropic_content import THINKING_BLOCKS
from cogency_tui.providers.base import CallDelta, ReasoningItem, Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.surrogates import whole_text
from cogency_tui.providers.wire_protocol import (
    Finish,
    Frame,
    cache_miss_of,
    count_of,
    malformed,
    read_object,
    table,
    text_of,
)

LABEL = "Anthropic Messages"

_FINISHES: Mapping[str, Finish] = {
    "end_turn": "stop",
    "tool_use": "stop",
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
_LONG_WRITTEN = "ephemeral_1h_input_tokens"
"""A part of the tokens that were written to the cache, below `cache_creation`."""


class MessagesReader:
    """Reads the events of one answer.

    `answer` is its id, once it has begun; with `names_answers` the usage has it, too. `input` counts the
    tokens of input as reported so far. `stopped` is set once the model has ended the answer itself.
    """

    def __init__(self, endpoint: Endpoint, *, names_answers: bool = False) -> None:
        self.answer = ""
        self.stopped = False
        self._endpoint = endpoint
        self._names_answers = names_answers
        self._counts: dict[str, int] = {}
        self._usage = Usage(0, 0)
        self._block: _Call | _Thinking | None = None
        self._calls = 0

    @property
    def input(self) -> int:
        return sum(self._counts.get(name, 0) for name in _INPUTS)

    def read(self, name: str, data: str) -> Frame:
        """Read one event; its type is in its data.

        Raises:
            ProviderProtocolError: it is no event.
            ProviderError: it is an error that the endpoint reports in mid-stream.
        """
        event = read_object(self._endpoint, LABEL, data)
        kind = text_of(event.get("type"))
        if kind == "error" or event.get("error"):
            raise failures.from_frame(self._endpoint, event)
        member = _MEMBERS.get(kind)
        if not kind or (member and not isinstance(event.get(member), dict)):
            raise malformed(self._endpoint, LABEL, data)
        part = table(event.get(member)) if member else {}
        match kind:
            case "message_start":
                self._begin(part)
            case "content_block_start":
                return self._start(part)
            case "content_block_delta":
                return self._add(part)
            case "content_block_stop":
                return Frame(native=self._stop())
            case "message_delta":
                return self._finish(part, table(event.get("usage")))
            case _:
                pass
        return Frame(complete=kind == "message_stop")

    def _begin(self, message: Mapping[str, Any]) -> None:
        usage = table(message.get("usage"))
        self._count(usage, _INPUTS)
        self._count(table(usage.get("cache_creation")), (_LONG_WRITTEN,))
        self.answer = text_of(message.get("id"))
        self._usage = Usage(
            0,
            0,
            cache_miss=self._cache_miss(message),
            answer=self.answer if self._names_answers else "",
            model=text_of(message.get("model")),
            tier=text_of(usage.get("service_tier")),
        )

    def _cache_miss(self, message: Mapping[str, Any]) -> CacheMiss | None:
        # Without a reason, the comparison was not done in time.
        reason = table(table(message.get("diagnostics")).get("cache_miss_reason"))
        return cache_miss_of(self._endpoint, reason.get("type"), reason.get("cache_missed_input_tokens"))

    def _start(self, block: Mapping[str, Any]) -> Frame:
        before, kind = self._stop(), text_of(block.get("type"))
        if kind == "tool_use":
            self._block = _Call(self._calls)
            self._calls += 1
            return Frame(native=(*before, self._block.start(block)))
        if kind in THINKING_BLOCKS:
            self._block = _Thinking(dict(block))
            return Frame(reasoning=text_of(block.get("thinking")), native=before)
        return Frame(text_of(block.get("text")) if kind == "text" else "", native=before)

    def _add(self, delta: Mapping[str, Any]) -> Frame:
        match text_of(delta.get("type")):
            case "text_delta":
                return Frame(text_of(delta.get("text")))
            case "thinking_delta":
                if isinstance(self._block, _Thinking):
                    self._block.add("thinking", delta)
                return Frame(reasoning=text_of(delta.get("thinking")))
            case "signature_delta" if isinstance(self._block, _Thinking):
                self._block.add("signature", delta)
            case "input_json_delta" if isinstance(self._block, _Call):
                return Frame(native=self._block.add(delta))
            case _:
                pass
        return Frame()

    def _stop(self) -> tuple[CallDelta | ReasoningItem, ...]:
        block, self._block = self._block, None
        return () if block is None else (block.stop(),)

    def _finish(self, delta: Mapping[str, Any], usage: Mapping[str, Any]) -> Frame:
        self._count(usage, (*_INPUTS, "output_tokens"))
        self._count(table(usage.get("cache_creation")), (_LONG_WRITTEN,))
        reason = text_of(delta.get("stop_reason"))
        finish = _FINISHES.get(reason, "other") if reason else ""
        self.stopped = finish == "stop"
        return Frame(finish=finish, usage=self._reported(), native=self._stop())

    def _count(self, usage: Mapping[str, Any], names: Iterable[str]) -> None:
        for name in names:
            count = count_of(usage.get(name))
            if count is not None:
                # Figures only grow; some servers report them at the start and send zeros at the end.
                self._counts[name] = max(count, self._counts.get(name, 0))

    def _reported(self) -> Usage | None:
        counts = self._counts
        if "input_tokens" not in counts or "output_tokens" not in counts:
            return None
        return replace(
            self._usage,
            input=self.input,
            output=counts["output_tokens"],
            cached=counts.get("cache_read_input_tokens"),
            cache_written=counts.get("cache_creation_input_tokens"),
            long_written=counts.get(_LONG_WRITTEN, 0),
        )


@dataclass(slots=True)
class _Call:
    """A call that arrives."""

    index: int

    def start(self, block: Mapping[str, Any]) -> CallDelta:
        # The vendor begins with an empty input; some servers send all of it here.
        given = table(block.get("input"))
        arguments = json.dumps(given, ensure_ascii=False) if given else ""
        return CallDelta(self.index, text_of(block.get("id")), text_of(block.get("name")), arguments)

    def add(self, delta: Mapping[str, Any]) -> tuple[CallDelta, ...]:
        arguments = text_of(delta.get("partial_json"))
        return (CallDelta(self.index, arguments=arguments),) if arguments else ()

    def stop(self) -> CallDelta:
        return CallDelta(self.index, complete=True)


@dataclass(slots=True)
class _Thinking:
    """Thinking that arrives, with a signature, which covers all of it."""

    block: dict[str, Any]

    def add(self, member: str, delta: Mapping[str, Any]) -> None:
        self.block[member] = text_of(self.block.get(member)) + text_of(delta.get(member))

    def stop(self) -> ReasoningItem:
        if "thinking" in self.block:
            # A character may have been split between two deltas.
            self.block["thinking"] = whole_text(text_of(self.block["thinking"]))
        return ReasoningItem(self.block)
