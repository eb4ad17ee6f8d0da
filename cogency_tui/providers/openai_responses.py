"""OpenAI's Responses wire protocol, over HTTP and as a session over a WebSocket.

Over HTTP the events are server-sent events; over a WebSocket each is one message. Omissions of compatible
servers are tolerated: indices, ids, usage; so is `[DONE]`, which the vendor does not send.

In a session the context is sent with the first request, then each message alone. The endpoint has the
latest answer of the connection, and nothing else; each request names the one that it continues from. The
system prompt is an item of the input like all else, because `instructions` are forgotten after each answer
and would have to be sent with every message.
"""

import json
from collections.abc import AsyncGenerator, Hashable, Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from cogency_tui.errors import NetworkError, ProviderError, SessionLostError
from cogency_tui.protocol.events import CacheMiss
from cogency_tui.protocol.messages import Message
from cogency_tui.providers import failures
from cogency_tui.providers.base import (
    PLAIN,
    Chunk,
    Options,
    ProviderSession,
    ReasoningDelta,
    TextDelta,
    Usage,
    unanswered,
)
from cogency_tui.providers.ending_checks import check_ending, check_memory
from cogency_tui.providers.endpoint import Endpoint, read_error
from cogency_tui.providers.failures import UnsupportedParameterError
from cogency_tui.providers.http_provider import Opener
from cogency_tui.providers.http_transport import Timeouts
from cogency_tui.providers.surrogates import SurrogateJoiner, whole_text
from cogency_tui.providers.token_counting import SessionUsage
from cogency_tui.providers.websocket_transport import Socket, socket_url
from cogency_tui.providers.wire_protocol import (
    Finish,
    Frame,
    bearer,
    cache_miss_of,
    count_of,
    malformed,
    names_in,
    read_object,
    table,
    text_of,
)

_REMEMBERED = 64
"""Events that are remembered by their numbers: a duplicate comes soon after."""

_PROVEN = 2
"""Consecutive steps by one after which a server is known to count by one."""


class EventNumbers:
    """Tracks the `sequence_number` of one answer's events: duplicates, and missing pieces of text.

    The vendor numbers all events of an answer by one, from 0. Compatible servers may start elsewhere, leave
    numbers out, or number each item or part separately; proxies drop events of unknown kinds. Whether a
    server counts by one is inferred from the numbers themselves, and only a gap within a text means that
    some of it is missing.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._recent: dict[int, Mapping[str, Any]] | None = {}
        self._steps = 0
        """Consecutive events whose number was one more than the one before."""
        self._text: Hashable = None

    def is_new(self, event: Mapping[str, Any], text: Hashable = None) -> bool:
        """Return whether an event is no duplicate; `text` names the text that it continues or ends.

        Events without a number are new, and all are once a number has been used for another event.

        Raises:
            NetworkError: events of this text are missing before it.
        """
        number = count_of(event.get("sequence_number"))
        if number is None or self._recent is None:
            self._steps = 0
            return True
        last = max(self._recent, default=None)
        if last is None or number > last:
            self._check_step(0 if last is None else number - last, text)
            self._recent[number] = event
            if len(self._recent) > _REMEMBERED:
                del self._recent[next(iter(self._recent))]
            return True
        if self._recent.get(number) == event:
            return False
        self._recent = None
        return True

    def _check_step(self, step: int, text: Hashable) -> None:
        goes_on, self._text = text is not None and text == self._text, text
        if step == 1:
            self._steps += 1
            return
        if goes_on and self._steps >= _PROVEN:
            raise NetworkError(
                f"Part of the response from {self._endpoint.name} was lost.",
                "The text so far is saved; try again.",
            )
        self._steps = 0


LABEL = "Responses"

_TEXTS = frozenset({"response.output_text.delta", "response.refusal.delta"})
_OF_TEXT = _TEXTS | {"response.output_text.done", "response.refusal.done"}
_REASONINGS = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
_ENDS = frozenset({"response.completed", "response.incomplete"})
_FAILURES = frozenset({"", "error", "response.failed"})
_REASONS: Mapping[str, Finish] = {"max_output_tokens": "length", "content_filter": "filter"}
_BREAK = "\n\n"


class ResponsesWire:
    """`POST /responses` with one endpoint. `summaries` requests summaries of the model's reasoning, for
    models that reason: others refuse it, which costs a request each time the program runs. `diagnoses`
    requests the vendor's cache diagnostics, for models that have them."""

    label = LABEL
    path = "/responses"
    models_path = "/models"

    def __init__(self, endpoint: Endpoint, *, summaries: bool = False, diagnoses: bool = False) -> None:
        self._endpoint = endpoint
        self._summaries = summaries
        self._diagnoses = diagnoses

    def headers(self) -> Mapping[str, str]:
        """Return the key as a bearer token."""
        return bearer(self._endpoint)

    def encode(self, messages: Sequence[Message], refused: Iterable[str], options: Options = PLAIN) -> bytes:
        """Encode the body of a request."""
        system = [whole_text(each["content"]) for each in messages if each["role"] == "system"]
        items = [item_of(each) for each in messages if each["role"] != "system"]
        instructions = {"instructions": _BREAK.join(system)} if system else {}
        return json.dumps({"stream": True, **instructions, **self.body(items, refused, options)}).encode()

    def body(
        self, items: Sequence[Mapping[str, Any]], refused: Iterable[str], options: Options
    ) -> dict[str, Any]:
        """Build the body of a request over either transport. Nothing is stored at the endpoint."""
        body: dict[str, Any] = {"model": self._endpoint.model, "store": False}
        if self._summaries and "reasoning" not in refused:
            body["reasoning"] = {"summary": "auto"}
        if self._diagnoses and options.previous and "prompt_cache_options" not in refused:
            body["prompt_cache_options"] = {"comparison_response_id": options.previous}
        body["input"] = items
        return body

    def reader(self) -> "ResponsesReader":
        """Create a reader for one answer."""
        return ResponsesReader(self._endpoint, names_answers=self._diagnoses)

    def models(self, body: Mapping[str, Any]) -> list[str]:
        """Return the ids in `data`."""
        return names_in(body.get("data"))


class ResponsesReader:
    """Reads the events of one answer. Once it has ended, `response_id` names it, and `retained` is the number
    of its tokens that a later answer in the same chain still sees. With `names_answers` the usage has the
    id, too."""

    def __init__(self, endpoint: Endpoint, *, names_answers: bool = False) -> None:
        self.response_id = ""
        self._names_answers = names_answers
        self.retained = 0
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
        """Read one event as received; `name` is its type where it has none itself.

        Raises:
            ProviderProtocolError: it is none of this wire.
            ProviderError: it is an error that the endpoint reports.
        """
        kind = text_of(event.get("type")) or name
        text = (event.get("output_index"), event.get("content_index")) if kind in _OF_TEXT else None
        if kind not in _FAILURES and not self._numbers.is_new(event, text):
            return Frame()
        if kind in _TEXTS:
            # A separate message (a remark before the answer) is a separate paragraph.
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
            self.retained = max(0, usage.output - reasoning) if forgets else usage.output
            answer = self.response_id if self._names_answers else ""
            usage = replace(usage, cache_miss=self._cache_miss(response), answer=answer)
        finish: Finish = "stop"
        if event.get("type") == "response.incomplete":
            reason = text_of(table(response.get("incomplete_details")).get("reason"))
            finish = _REASONS.get(reason, "other")
        return Frame(finish=finish, usage=usage, complete=True)

    def _cache_miss(self, response: Mapping[str, Any]) -> CacheMiss | None:
        diagnostics = table(response.get("prompt_cache_diagnostics"))
        outcome = diagnostics.get("type")
        if outcome == "cache_hit":
            return None
        # Only a miss has a reason; other outcomes are their own.
        reason = diagnostics.get("reason") or outcome
        return cache_miss_of(self._endpoint, reason, diagnostics.get("cache_missed_tokens"))

    def _malformed(self, event: Mapping[str, Any]) -> ProviderError:
        return malformed(self._endpoint, LABEL, json.dumps(event))


def item_of(message: Message) -> dict[str, Any]:
    """Convert a message to an item of `input`."""
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
    """Build the error of an event of type `error`. The documented one for SSE is flat; in fact it has an
    object of its own, and over a socket a status with the headers of an HTTP answer."""
    status = event.get("status")
    if not isinstance(status, int) or not 400 <= status < 600:
        return failures.from_frame(endpoint, event)
    given = table(event.get("headers")) | table(table(event.get("error")).get("headers"))
    headers = {name.lower(): str(value) for name, value in given.items()}
    return failures.from_status(endpoint, status, headers, json.dumps(event))


_GONE: Mapping[str, str] = {
    "previous_response_not_found": "has lost its context",
    "websocket_connection_limit_reached": "has reached its time limit",
}


def responses_sessions(
    endpoint: Endpoint,
    timeouts: Timeouts | None = None,
    *,
    summaries: bool = False,
    diagnoses: bool = False,
) -> Opener:
    """Return a function that opens sessions with one model. `summaries` and `diagnoses` as for
    `ResponsesWire`."""
    wire = ResponsesWire(endpoint, summaries=summaries, diagnoses=diagnoses)
    refused: set[str] = set()

    async def open_session(messages: Sequence[Message], options: Options = PLAIN) -> ProviderSession:
        url = socket_url(endpoint.base_url, wire.path)
        socket = await Socket.open(endpoint, f"{LABEL} WebSocket", url, wire.headers(), timeouts)
        return ResponsesSession(endpoint, wire, socket, messages, refused, options)

    return open_session


class ResponsesSession:
    """One connection. `refused` are optional parameters that the model does not accept; newly refused ones
    are added."""

    def __init__(
        self,
        endpoint: Endpoint,
        wire: ResponsesWire,
        socket: Socket,
        seed: Sequence[Message],
        refused: set[str],
        options: Options = PLAIN,
    ) -> None:
        self._endpoint = endpoint
        self._wire = wire
        self._options = options
        self._socket = socket
        self._refused = refused
        self._usage = SessionUsage()
        self._items: list[dict[str, Any]] = []
        self._previous = ""
        self._answer = ""
        self._whole = True
        self._add(seed)

    @property
    def reusable(self) -> bool:
        """True if the connection is open, and its last answer was complete."""
        return self._whole and self._socket.is_open

    async def send(self, messages: Sequence[Message]) -> None:
        """Request an answer to `messages`, after the seed if it is the first.

        Raises:
            SessionLostError: the connection is gone, or remembers more than the store.
        """
        check_memory(self._endpoint, self._answer, messages)
        self._whole = False
        self._add(unanswered(messages))
        await self._socket.send(self._request())

    async def receive(self) -> AsyncGenerator[Chunk, None]:
        """Stream the answer. Only closing the connection cancels it, which an early close does.

        Raises:
            SessionLostError: the connection or its state at the endpoint is gone.
            ProviderError: the endpoint refused, failed or broke off.
        """
        reader = self._wire.reader()
        texts, reasonings = SurrogateJoiner(), SurrogateJoiner()
        written: list[str] = []
        answer: list[str] = []
        try:
            while True:
                # A model that reasons without a summary is silent until its first word.
                event = await self._socket.receive(first=not written)
                if self._previous and table(event.get("response")).get("id") == self._previous:
                    # A repeated end of the answer before.
                    continue
                try:
                    frame = self._read(reader, event)
                except UnsupportedParameterError as refusal:
                    if refusal.param in self._refused:
                        raise
                    self._refused.add(refusal.param)
                    # The events of another response have their own numbers.
                    reader = self._wire.reader()
                    await self._socket.send(self._request())
                    continue
                if reasoning := reasonings.feed(frame.reasoning):
                    written.append(reasoning)
                    yield ReasoningDelta(reasoning)
                if text := texts.feed(frame.text) + (texts.close() if frame.complete else ""):
                    written.append(text)
                    answer.append(text)
                    yield TextDelta(text)
                if frame.complete:
                    break
            usage = self._used(frame, reader, written)
            self._continue_from(frame.finish, reader)
            self._answer = "".join(answer)
            yield usage
        finally:
            if not self._whole:
                await self.close()
        check_ending(self._endpoint, frame.finish, wrote=bool(answer), reasoned=bool(written))

    async def close(self) -> None:
        """Close the connection."""
        self._whole = False
        await self._socket.close()

    def _add(self, messages: Sequence[Message]) -> None:
        self._usage.sending(each["content"] for each in messages)
        self._items += [item_of(each) for each in messages]

    def _request(self) -> dict[str, Any]:
        options = replace(self._options, previous=self._previous) if self._previous else self._options
        request = {"type": "response.create", **self._wire.body(self._items, self._refused, options)}
        if self._previous:
            request["previous_response_id"] = self._previous
        return request

    def _read(self, reader: ResponsesReader, event: Mapping[str, Any]) -> Frame:
        if event.get("type") in {"error", "response.failed"}:
            reported = read_error(table(event.get("response")) or event)
            for name in reported.code.split():
                if name in _GONE:
                    raise SessionLostError(
                        f"The session with {self._endpoint.name} {_GONE[name]}.", "Try again."
                    )
        return reader.read_event(event)

    def _used(self, frame: Frame, reader: ResponsesReader, written: Sequence[str]) -> Usage:
        billed = frame.usage
        if billed is None:
            return self._usage.estimated(written)
        usage = self._usage.reported(
            billed.input, billed.output, cached=billed.cached, retained=reader.retained
        )
        return replace(
            usage,
            cache_written=billed.cache_written,
            cache_miss=billed.cache_miss,
            answer=billed.answer,
        )

    def _continue_from(self, finish: Finish, reader: ResponsesReader) -> None:
        """Continue from this answer, if the endpoint is known to have it: whole, with an id."""
        self._previous = reader.response_id
        self._items.clear()
        self._whole = finish == "stop" and bool(reader.response_id)
