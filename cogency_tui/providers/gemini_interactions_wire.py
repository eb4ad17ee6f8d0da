"""Gemini's Interactions wire protocol: requests that go on from a stored answer, and their events."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cogency_tui.protocol.events import Message
from cogency_tui.providers import failures
from cogency_tui.providers.base import Usage
from cogency_tui.providers.deltas import whole_text
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.gemini_wire import VERSION, key_header, models_in, version_path
from cogency_tui.providers.wire import Finish, Frame, count_of, items, malformed, read_object, table, text_of

LABEL = "Interactions"

_ENDS: Mapping[str, Finish] = {
    "completed": "stop",
    "incomplete": "length",
    "requires_continuation": "length",
    "budget_exceeded": "length",
}


class InteractionsWire:
    """`POST /{version}/interactions` for one conversation. `previous` names the interaction that the next
    request goes on from, `answer` is the reader of the last answer. `version` and `thoughts` as for
    `GeminiWire`."""

    label = LABEL

    def __init__(self, endpoint: Endpoint, *, version: str = VERSION, thoughts: bool = False) -> None:
        self.previous = ""
        self.answer = InteractionsReader(endpoint)
        self._endpoint = endpoint
        self._thoughts = thoughts
        prefix = version_path(endpoint.base_url, version)
        self.path = f"{prefix}/interactions"
        self.models_path = f"{prefix}/models"

    def headers(self) -> Mapping[str, str]:
        """The key in Google's own header."""
        return key_header(self._endpoint)

    def encode(self, messages: Sequence[Message], refused: Iterable[str]) -> bytes:
        """The body of a request. The system prompt holds for one interaction alone, and has to be in
        each request."""
        system = [whole_text(each["content"]) for each in messages if each["role"] == "system"]
        config: dict[str, Any] = {}
        if self._thoughts and failures.THINKING not in refused:
            config["thinking_summaries"] = "auto"
        body: dict[str, Any] = {
            "model": self._endpoint.model.removeprefix("models/"),
            "stream": True,
            "store": True,
        }
        if config:
            body["generation_config"] = config
        if system:
            body["system_instruction"] = "\n\n".join(system)
        if self.previous:
            body["previous_interaction_id"] = self.previous
        body["input"] = [_step(each) for each in messages if each["role"] != "system" and each["content"]]
        return json.dumps(body).encode()

    def reader(self) -> "InteractionsReader":
        """A reader for one answer."""
        self.answer = InteractionsReader(self._endpoint)
        return self.answer

    def models(self, body: Mapping[str, Any]) -> list[str]:
        """The models that generate content, without `models/` before their names."""
        return models_in(body)


class InteractionsReader:
    """Reads the events of one answer. `completed` names its interaction once it is complete, and `thought`
    are the tokens of reasoning in it."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.completed = ""
        self.thought = 0
        self._endpoint = endpoint
        self._created = ""

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
        if kind == "interaction.created":
            self._created = text_of(table(event.get("interaction")).get("id"))
        if kind == "interaction.completed":
            return self._end(table(event.get("interaction")))
        if kind == "message":
            raise malformed(self._endpoint, LABEL, data)
        return Frame()

    def _start(self, step: Mapping[str, Any]) -> Frame:
        """A step may begin with its first words."""
        if step.get("type") == "model_output":
            return Frame(_words(step.get("content")))
        return Frame(reasoning=_words(step.get("summary")))

    def _delta(self, delta: Mapping[str, Any], data: str) -> Frame:
        kind = delta.get("type")
        if kind == "text":
            text = delta.get("text")
            if not isinstance(text, str):
                raise malformed(self._endpoint, LABEL, data)
            return Frame(text)
        if kind == "thought_summary":
            return Frame(reasoning=_words([delta.get("content")]))
        return Frame()

    def _end(self, interaction: Mapping[str, Any]) -> Frame:
        status = text_of(interaction.get("status"))
        if status == "failed":
            reported = next(iter(items(interaction.get("errors"))), None) or interaction.get("error")
            raise failures.from_frame(self._endpoint, reported or "The interaction failed.")
        if status == "completed":
            # Events of a stream may leave out what was said before.
            self.completed = text_of(interaction.get("id")) or self._created
        return Frame(finish=_ENDS.get(status, "other"), usage=self._used(table(interaction.get("usage"))))

    def _used(self, reported: Mapping[str, Any]) -> Usage | None:
        sent, written = count_of(reported.get("total_input_tokens")), reported.get("total_output_tokens")
        if sent is None:
            return None
        self.thought = count_of(reported.get("total_thought_tokens")) or 0
        cached = count_of(reported.get("total_cached_tokens")) or 0
        return Usage(sent, (count_of(written) or 0) + self.thought, cached)


def _step(message: Message) -> dict[str, Any]:
    """A message as a step of `input`."""
    kind = "model_output" if message["role"] == "assistant" else "user_input"
    return {"type": kind, "content": [{"type": "text", "text": whole_text(message["content"])}]}


def _words(content: object) -> str:
    """The text of a list of contents."""
    return "".join(text_of(table(each).get("text")) for each in items(content))
