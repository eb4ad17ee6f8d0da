"""The events of an answer of Gemini's Interactions: steps that begin, grow and stop.

A thought becomes an item of reasoning when it stops: its signature comes last. The arguments of a call arrive
in pieces, whose index is not always that of the call.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cogency_tui.providers import failures
from cogency_tui.providers.base import CallDelta, ReasoningItem, Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.gemini_content import arguments_text, tool_name
from cogency_tui.providers.wire_protocol import (
    Finish,
    Frame,
    count_of,
    items,
    malformed,
    read_object,
    table,
    text_of,
)

LABEL = "Interactions"

_ENDS: Mapping[str, Finish] = {
    "completed": "stop",
    "requires_action": "stop",
    "incomplete": "length",
    "requires_continuation": "length",
    "budget_exceeded": "length",
}

_CONTINUABLE = frozenset({"completed", "requires_action"})
"""Ends of an interaction that the next one can name: in the second case it brings the results of calls."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """The end of a piece of an answer: its `interaction`, and the `token` with which it goes on."""

    interaction: str = ""
    token: str = ""


NO_CONTINUATION = Continuation()


class InteractionsReader:
    """Reads the events of one answer, or of a piece of it after so many `calls`.

    `completed` names its interaction once it is complete, `continuation` how it goes on where it is not.
    `thought` is its number of reasoning tokens.
    """

    def __init__(self, endpoint: Endpoint, calls: int = 0) -> None:
        self.completed = ""
        self.continuation = NO_CONTINUATION
        self.thought = 0
        self.calls = calls
        self._endpoint = endpoint
        self._created = ""
        self._thinking: _Thought | None = None
        self._calling: _Call | None = None

    def read(self, name: str, data: str) -> Frame:
        """Read one event.

        Raises:
            ProviderProtocolError: it is no event.
            ProviderError: it is an error that the endpoint reports in mid-stream.
        """
        if data == "[DONE]":
            return Frame(complete=True)
        event = read_object(self._endpoint, LABEL, data)
        kind = text_of(event.get("event_type")) or name
        if kind == "error" or event.get("error"):
            raise failures.from_frame(self._endpoint, event)
        if kind == "step.start":
            return self._start(table(event.get("step")))
        if kind == "step.delta":
            return self._delta(table(event.get("delta")), data)
        if kind == "step.stop":
            return Frame(native=self._stop())
        if kind == "interaction.created":
            self._created = text_of(table(event.get("interaction")).get("id"))
        if kind == "interaction.completed":
            return self._end(table(event.get("interaction")))
        if kind == "message":
            raise malformed(self._endpoint, LABEL, data)
        return Frame()

    def _start(self, step: Mapping[str, Any]) -> Frame:
        """Read the start of a step, which may include its first words."""
        ended = self._stop()
        kind = step.get("type")
        if kind == "model_output":
            return Frame(_words(step.get("content")), native=ended)
        if kind == "function_call":
            return Frame(native=[*ended, *self._start_call(step)])
        summary = _words(step.get("summary"))
        if kind == "thought":
            self._thinking = _Thought(text_of(step.get("signature")), summary)
        return Frame(reasoning=summary, native=ended)

    def _start_call(self, step: Mapping[str, Any]) -> list[CallDelta | ReasoningItem]:
        index, self.calls = self.calls, self.calls + 1
        # Mostly empty here, and in the deltas then.
        arguments = arguments_text(table(step.get("arguments")))
        self._calling = _Call(index, whole=bool(arguments))
        signature = text_of(step.get("signature"))
        item = {"type": "function_call", "signature": signature}
        call = CallDelta(index, text_of(step.get("id")), tool_name(step.get("name")), arguments)
        return [ReasoningItem(item), call] if signature else [call]

    def _delta(self, delta: Mapping[str, Any], data: str) -> Frame:
        kind = delta.get("type")
        if kind == "text":
            text = delta.get("text")
            if not isinstance(text, str):
                raise malformed(self._endpoint, LABEL, data)
            return Frame(text)
        if kind == "arguments_delta" and self._calling and not self._calling.whole:
            return Frame(native=[CallDelta(self._calling.index, arguments=text_of(delta.get("arguments")))])
        if kind == "thought_summary":
            return self._think(summary=_words([delta.get("content")]))
        if kind == "thought_signature":
            return self._think(signature=text_of(delta.get("signature")))
        return Frame()

    def _think(self, *, summary: str = "", signature: str = "") -> Frame:
        if thought := self._thinking:
            self._thinking = replace(
                thought, summary=thought.summary + summary, signature=signature or thought.signature
            )
        return Frame(reasoning=summary)

    def _stop(self) -> list[CallDelta | ReasoningItem]:
        """End the step that is open."""
        thought, self._thinking = self._thinking, None
        call, self._calling = self._calling, None
        ended: list[CallDelta | ReasoningItem] = []
        if thought and thought.signature:
            ended.append(ReasoningItem(thought.step))
        if call:
            ended.append(CallDelta(call.index, complete=True))
        return ended

    def _end(self, interaction: Mapping[str, Any]) -> Frame:
        status = text_of(interaction.get("status"))
        if status == "failed":
            reported = next(iter(items(interaction.get("errors"))), None) or interaction.get("error")
            raise failures.from_frame(self._endpoint, reported or "The interaction failed.")
        # Events of a stream may leave out repeated fields.
        identifier = text_of(interaction.get("id")) or self._created
        if status in _CONTINUABLE:
            self.completed = identifier
        if status == "requires_continuation":
            self.continuation = Continuation(identifier, text_of(interaction.get("continuation_token")))
        # A piece of an answer may have reasoning only.
        finish = "stop" if self.continuation.token else _ENDS.get(status, "other")
        return Frame(finish=finish, usage=self._used(interaction), native=self._stop())

    def _used(self, interaction: Mapping[str, Any]) -> Usage | None:
        reported = table(interaction.get("usage"))
        sent, written = count_of(reported.get("total_input_tokens")), reported.get("total_output_tokens")
        if sent is None:
            return None
        self.thought = count_of(reported.get("total_thought_tokens")) or 0
        cached = count_of(reported.get("total_cached_tokens")) or 0
        model, tier = text_of(interaction.get("model")), text_of(interaction.get("service_tier"))
        return Usage(sent, (count_of(written) or 0) + self.thought, cached, model=model, tier=tier)


@dataclass(frozen=True, slots=True)
class _Thought:
    signature: str
    summary: str

    @property
    def step(self) -> dict[str, Any]:
        """The step, as a later request returns it."""
        summary = [{"type": "text", "text": self.summary}] if self.summary else []
        return {"type": "thought", "signature": self.signature, "summary": summary}


@dataclass(frozen=True, slots=True)
class _Call:
    index: int
    whole: bool
    """True if its arguments came with its start."""


def _words(content: object) -> str:
    """Return the text of a list of contents."""
    return "".join(text_of(table(each).get("text")) for each in items(content))
