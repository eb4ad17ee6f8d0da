"""Sessions over OpenAI's Responses by WebSocket.

The context is sent with the first request, then each message alone. The endpoint has the latest answer of
the connection, its calls and reasoning included, and nothing else; each request names the one that it
continues from. The system prompt is an item of the input like all else, because `instructions` are forgotten
after each answer and would have to be sent with every message; tools are, and have to be.

A message may steer the running answer (`response.steer`). From then on the endpoint has it, and answers it
when that answer has ended, unless it reports otherwise or the answer ends with calls: then it would put the
message before their results. So the session goes on only with exactly this message, and is lost otherwise.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from msgspec.structs import replace

from cogency_tui.errors import ProviderError, SessionLostError
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import (
    PLAIN,
    CallDelta,
    Chunk,
    Options,
    ProviderSession,
    ReasoningDelta,
    Steered,
    TextDelta,
    Usage,
    unanswered,
)
from cogency_tui.providers.ending_checks import check_ending, check_memory
from cogency_tui.providers.endpoint import Endpoint, read_error
from cogency_tui.providers.http_provider import Opener
from cogency_tui.providers.http_transport import Timeouts
from cogency_tui.providers.models import ModelFacts
from cogency_tui.providers.openai_responses import ResponsesWire
from cogency_tui.providers.openai_responses_events import LABEL, ResponsesReader
from cogency_tui.providers.openai_responses_lanes import Lane, Lanes
from cogency_tui.providers.refused_parameters import (
    IMAGES,
    UnsupportedParameterError,
    notice_of_refusal,
    refused_name,
    without_refused,
)
from cogency_tui.providers.surrogates import SurrogateJoiner
from cogency_tui.providers.token_counting import SessionUsage, rest_of
from cogency_tui.providers.websocket_transport import Socket, socket_url
from cogency_tui.providers.wire_protocol import Frame, table, text_of

_STEER = "response.steer"
_UNKNOWN = "unknown_event_type"

_GONE: Mapping[str, str] = {
    "previous_response_not_found": "has lost its context",
    "websocket_connection_limit_reached": "has reached its time limit",
}


def responses_sessions(
    endpoint: Endpoint,
    facts: ModelFacts | None = None,
    timeouts: Timeouts | None = None,
    *,
    diagnoses: bool = False,
    lanes: bool = False,
    steers: bool = False,
) -> Opener:
    """Return a function that opens sessions with one model. `facts` and `diagnoses` as for
    `ResponsesWire`; with `lanes` they share connections, with `steers` a message may steer an answer."""
    wire = ResponsesWire(endpoint, facts, diagnoses=diagnoses)
    refused: set[str] = set() if steers else {_STEER}

    async def open_socket() -> Socket:
        url = socket_url(endpoint.base_url, wire.path)
        return await Socket.open(endpoint, f"{LABEL} WebSocket", url, wire.headers(), timeouts)

    pool = Lanes(endpoint, open_socket, timeouts) if lanes else None

    async def open_session(messages: Sequence[Message], options: Options = PLAIN) -> ProviderSession:
        socket = await (pool.open() if pool else open_socket())
        return ResponsesSession(endpoint, wire, socket, messages, refused, options)

    return open_session


class ResponsesSession:
    """One connection, or a lane of it. `refused` are optional parameters that the model does not accept;
    newly refused ones are added."""

    expires: float | None = None

    def __init__(
        self,
        endpoint: Endpoint,
        wire: ResponsesWire,
        socket: Socket | Lane,
        seed: Sequence[Message],
        refused: set[str],
        options: Options = PLAIN,
    ) -> None:
        self._endpoint = endpoint
        self._wire = wire
        self._options = without_refused(options, refused)
        self._socket = socket
        self._refused = refused
        self._usage = SessionUsage()
        self._items: list[dict[str, Any]] = []
        self._previous = ""
        self._answer = ""
        self._running = ""
        """The id of the answer that is being received."""
        self._steering: Message | None = None
        """The message that has steered the last answer."""
        self._whole = True
        self._add(seed)

    @property
    def reusable(self) -> bool:
        """True if the connection is open, and its last answer was complete."""
        return self._whole and self._socket.is_open

    async def send(self, messages: Sequence[Message]) -> None:
        """Request an answer to `messages`, after the seed if it is the first.

        Raises:
            SessionLostError: the connection is gone, remembers more than the store, or has been steered by
                another message.
        """
        check_memory(self._endpoint, self._answer, messages)
        new = unanswered(messages)
        if self._steering is not None and list(new) != [self._steering]:
            raise SessionLostError(f"{self._endpoint.name} has a message out of order.", "Try again.")
        self._whole = False
        self._add(new)
        if self._steering is None:
            await self._socket.send(self._request())

    async def steer(self, message: Message) -> bool:
        """Send `message` to the running answer; see `Steerable`."""
        if not self._running or self._steering is not None or _STEER in self._refused or "parts" in message:
            return False
        self._steering = message
        item = {"type": "message", "role": "user", "content": message["content"]}
        frame = {"type": _STEER, "previous_response_id": self._running, "input": [item]}
        await (self._socket.steer(frame) if isinstance(self._socket, Lane) else self._socket.send(frame))
        return True

    async def receive(self) -> AsyncGenerator[Chunk, None]:
        """Stream the answer. Only closing the connection cancels it, which an early close does.

        Raises:
            SessionLostError: the connection or its state at the endpoint is gone.
            ProviderError: the endpoint refused, failed or broke off.
        """
        reader, answer = self._wire.reader(), _Answer()
        awaited, self._running = self._steering, ""
        try:
            while True:
                # A model that reasons without a summary is silent until its first word.
                event = await self._socket.receive(first=not answer.written)
                if self._previous and table(event.get("response")).get("id") == self._previous:
                    # A repeated end of the answer before.
                    continue
                if event.get("type") == "response.created":
                    self._running = text_of(table(event.get("response")).get("id"))
                    if awaited is not None:
                        awaited = self._steering = None
                elif event.get("type") == "response.steer.failed" or self._is_unknown(event):
                    self._note_refusal(event)
                    if awaited is not None:
                        awaited = None
                        await self._socket.send(self._request())
                    if event.get("type") == "error":
                        continue
                try:
                    frame = self._read(reader, event)
                except UnsupportedParameterError as refusal:
                    name = refused_name(refusal, self._options)
                    if name in self._refused or refusal.param == IMAGES:
                        # A request leaves the images out; the items of this one are in the form of the wire.
                        raise
                    self._refused.add(name)
                    if notice := notice_of_refusal(refusal, self._options, self._endpoint):
                        yield notice
                    self._options = without_refused(self._options, self._refused)
                    # The events of another response have their own numbers.
                    reader = self._wire.reader()
                    await self._socket.send(self._request())
                    continue
                for chunk in answer.read(frame):
                    yield chunk
                if frame.complete:
                    break
            usage = self._used(frame, reader, answer.written)
            self._continue_from(reader)
            self._answer = "".join(answer.texts)
            yield usage
            if reader.steered and self._whole:
                yield Steered()
                return
        finally:
            self._running = ""
            if not self._whole:
                await self._give_up(reader, answer)
        check_ending(self._endpoint, frame.finish, wrote=answer.wrote, reasoned=bool(answer.written))

    async def close(self) -> None:
        """Close the connection."""
        self._whole = False
        await self._socket.close()

    async def _give_up(self, reader: ResponsesReader, answer: "_Answer") -> None:
        """Close the connection. Where the answer goes on in its lane, report the usage of its rest."""
        read_rest = partial(self._read_rest, reader, self._usage.estimated(answer.written))
        await (self._socket.close(read_rest) if isinstance(self._socket, Lane) else self._socket.close())

    def _read_rest(self, reader: ResponsesReader, known: Usage, event: Mapping[str, Any]) -> None:
        with suppress(ProviderError):
            usage = self._read(reader, event).usage
            if usage and self._options.report_rest:
                self._options.report_rest(rest_of(usage, known))

    def _add(self, messages: Sequence[Message]) -> None:
        self._usage.sending_messages(messages, self._endpoint.model)
        self._items += self._wire.items(messages, self._options)

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
            long_written=billed.long_written,
            cache_miss=billed.cache_miss,
            answer=billed.answer,
            model=billed.model,
            tier=billed.tier,
        )

    def _continue_from(self, reader: ResponsesReader) -> None:
        """Continue from this answer, if the endpoint is known to have it: whole, with an id."""
        self._previous = reader.response_id
        self._items.clear()
        self._whole = reader.completed or (reader.steered and self._steering is not None)

    def _is_unknown(self, event: Mapping[str, Any]) -> bool:
        """Return whether the endpoint does not know the event that steers: the answer goes on."""
        is_error = event.get("type") == "error" and self._steering is not None
        return is_error and _UNKNOWN in read_error(event).code.split()

    def _note_refusal(self, event: Mapping[str, Any]) -> None:
        """Note that a message has not steered the answer; none is tried again where that is not supported."""
        self._steering = None
        if {"steering_not_supported", _UNKNOWN} & set(read_error(event).code.split()):
            self._refused.add(_STEER)


class _Answer:
    """An answer as received so far."""

    def __init__(self) -> None:
        self.written: list[str] = []
        """Its text, reasoning and calls, in pieces."""
        self.texts: list[str] = []
        self.wrote = False
        """True if there is text, or a call."""
        self._texts = SurrogateJoiner()
        self._reasonings = SurrogateJoiner()

    def read(self, frame: Frame) -> Iterator[Chunk]:
        """Yield the chunks of one event."""
        if reasoning := self._reasonings.feed(frame.reasoning):
            self.written.append(reasoning)
            yield ReasoningDelta(reasoning)
        if text := self._texts.feed(frame.text) + (self._texts.close() if frame.complete else ""):
            self.texts.append(text)
            self._add(text)
            yield TextDelta(text)
        for part in frame.native:
            if isinstance(part, CallDelta):
                self._add(part.arguments)
            yield part

    def _add(self, text: str) -> None:
        self.written.append(text)
        self.wrote = True
