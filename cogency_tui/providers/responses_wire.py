"""OpenAI's Responses wire protocol: requests, and the events that both of its transports bring.

Over HTTP they are server-sent events; over a WebSocket each is one message (`responses_session`). What
compatible servers leave out is tolerated: indices, ids, usage; `[DONE]`, which the vendor does not send.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cogency_tui.errors import ProviderError
from cogency_tui.protocol.events import Message
from cogency_tui.providers import failures
from cogency_tui.providers.base import Usage
from cogency_tui.providers.deltas import whole_text
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.event_numbers import EventNumbers
from cogency_tui.providers.wire import (
    Finish,
    Frame,
    bearer,
    count_of,
    malformed,
    names_in,
    read_object,
    table,
    text_of,
)

LABEL = "Responses"

_TEXTS = frozenset({"response.output_text.delta", "response.refusal.delta"})
_OF_TEXT = _TEXTS | {"response.output_text.done", "response.refusal.done"}
_REASONINGS = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
_ENDS = frozenset({"response.completed", "response.incomplete"})
_FAILURES = frozenset({"", "error", "response.failed"})
_REASONS: Mapping[str, Finish] = {"max_output_tokens": "length", "content_filter": "filter"}
_BREAK = "\n\n"


class ResponsesWire:
    """`POST /responses` with one endpoint. `summaries` asks for summaries of the model's reasoning; it is
    for models that reason, because others refuse it, which costs a request each time the program runs."""

    label = LABEL
    path = "/responses"
    models_path = "/models"

    def __init__(self, endpoint: Endpoint, *, summaries: bool = False) -> None:
        self._endpoint = endpoint
        self._summaries = summaries

    def headers(self) -> Mapping[str, str]:
        """The key as a bearer token."""
        return bearer(self._endpoint)

    def encode(self, messages: Sequence[Message], refused: Iterable[str]) -> bytes:
        """The body of a request."""
        system = [whole_text(each["content"]) for each in messages if each["role"] == "system"]
        items = [item_of(each) for each in messages if each["role"] != "system"]
        instructions = {"instructions": _BREAK.join(system)} if system else {}
        return json.dumps({"stream": True, **instructions, **self.body(items, refused)}).encode()

    def body(self, items: Sequence[Mapping[str, Any]], refused: Iterable[str]) -> dict[str, Any]:
        """What a request has over either transport. Nothing is stored at the endpoint."""
        body: dict[str, Any] = {"model": self._endpoint.model, "store": False}
        if self._summaries and "reasoning" not in refused:
            body["reasoning"] = {"summary": "auto"}
        body["input"] = items
        return body

    def reader(self) -> "ResponsesReader":
        """A reader for one answer."""
        return ResponsesReader(self._endpoint)

    def models(self, body: Mapping[str, Any]) -> list[str]:
        """The ids in `data`."""
        return names_in(body.get("data"))


class ResponsesReader:
    """Reads the events of one answer. Once it has ended, `response_id` names it, and `kept` are the tokens
    of it that a later answer in the same chain still sees."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.response_id = ""
        self.kept = 0
        self._endpoint = endpoint
        self._text_at: tuple[object, ...] = ()
        self._reasoning_at: tuple[object, ...] = ()
        self._numbers = EventNumbers(endpoint)

    def read(self, name: str, data: str) -> Frame:
        """Read one server-sent event.

        Raises:
            ProviderProtocolError: it is none of this wire.
            ProviderError: it is an error that the endpoint reports in mid-stream.
        """
        if data == "[DONE]":
            return Frame(complete=True)
        return self.read_event(read_object(self._endpoint, LABEL, data), "" if name == "message" else name)

    def read_event(self, event: Mapping[str, Any], name: str = "") -> Frame:
        """Read one event as it came, with the `name` that is used where it names no type itself.

        Raises:
            ProviderProtocolError: it is none of this wire.
            ProviderError: it is an error that the endpoint reports.
        """
        kind = text_of(event.get("type")) or name
        text = (event.get("output_index"), event.get("content_index")) if kind in _OF_TEXT else None
        if kind not in _FAILURES and not self._numbers.is_new(event, text):
            return Frame()
        if kind in _TEXTS:
            # A message of its own (a remark before the answer) is a paragraph of its own.
            at = (event.get("output_index"),)
            piece = self._paragraph(self._text_at, at) + self._delta(event)
            self._text_at = at
            return Frame(piece)
        if kind in _REASONINGS:
            at = (event.get("output_index"), event.get("summary_index"), event.get("content_index"))
            reasoning = self._paragraph(self._reasoning_at, at) + self._delta(event)
            self._reasoning_at = at
            return Frame(reasoning=reasoning)
        if kind in _ENDS:
            return self._end(event)
        if kind == "response.failed":
            raise failures.from_frame(self._endpoint, table(event.get("response")).get("error") or event)
        if kind == "error" or (not kind and event.get("error")):
            raise _failure(self._endpoint, event)
        if not kind:
            raise self._malformed(event)
        return Frame()

    def _paragraph(self, before: tuple[object, ...], at: tuple[object, ...]) -> str:
        return _BREAK if before and before != at else ""

    def _delta(self, event: Mapping[str, Any]) -> str:
        delta = event.get("delta")
        if not isinstance(delta, str):
            raise self._malformed(event)
        return delta

    def _end(self, event: Mapping[str, Any]) -> Frame:
        response = table(event.get("response"))
        if not response:
            raise self._malformed(event)
        self.response_id = text_of(response.get("id"))
        reported = table(response.get("usage"))
        usage = _usage(reported)
        if usage is not None:
            details = table(reported.get("output_tokens_details"))
            reasoning = count_of(details.get("reasoning_tokens")) or 0
            # Reasoning is dropped at the next message of a user, unless the model keeps all of it.
            forgets = table(response.get("reasoning")).get("context") != "all_turns"
            self.kept = max(0, usage.output - reasoning) if forgets else usage.output
        finish: Finish = "stop"
        if event.get("type") == "response.incomplete":
            reason = text_of(table(response.get("incomplete_details")).get("reason"))
            finish = _REASONS.get(reason, "other")
        return Frame(finish=finish, usage=usage, complete=True)

    def _malformed(self, event: Mapping[str, Any]) -> ProviderError:
        return malformed(self._endpoint, LABEL, json.dumps(event))


def item_of(message: Message) -> dict[str, Any]:
    """A message as an item of `input`."""
    kind = "output_text" if message["role"] == "assistant" else "input_text"
    content = [{"type": kind, "text": whole_text(message["content"])}]
    return {"type": "message", "role": message["role"], "content": content}


def _usage(reported: dict[str, Any]) -> Usage | None:
    sent, written = count_of(reported.get("input_tokens")), count_of(reported.get("output_tokens"))
    if sent is None or written is None:
        return None
    details = table(reported.get("input_tokens_details"))
    cached, cache_written = details.get("cached_tokens"), details.get("cache_write_tokens")
    return Usage(sent, written, count_of(cached), cache_written=count_of(cache_written))


def _failure(endpoint: Endpoint, event: Mapping[str, Any]) -> ProviderError:
    """The error in an event of type `error`. Documented for SSE is a flat one; what is sent has an object
    of its own, and over a socket a status with the headers that HTTP would have had."""
    status = event.get("status")
    if not isinstance(status, int) or not 400 <= status < 600:
        return failures.from_frame(endpoint, event)
    given = table(event.get("headers")) | table(table(event.get("error")).get("headers"))
    headers = {name.lower(): str(value) for name, value in given.items()}
    return failures.from_status(endpoint, status, headers, json.dumps(event))
