"""Responses over a WebSocket: the context is sent with the first answer, then each message alone.

The endpoint keeps the latest answer of the connection, and nothing else; each request names the one
that it goes on from. The system prompt is an item of the input like all else, because `instructions`
are forgotten after each answer and would have to be sent with every message.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cogency_tui.errors import SessionLostError
from cogency_tui.protocol.events import Message
from cogency_tui.providers.base import Chunk, ReasoningDelta, Session, TextDelta, Usage, unanswered
from cogency_tui.providers.deltas import SurrogateJoiner
from cogency_tui.providers.endings import check_ending, check_memory
from cogency_tui.providers.endpoint import Endpoint, read_error
from cogency_tui.providers.failures import UnsupportedParameterError
from cogency_tui.providers.requests import Opener
from cogency_tui.providers.responses_wire import LABEL, ResponsesReader, ResponsesWire, item_of
from cogency_tui.providers.session_usage import SessionUsage
from cogency_tui.providers.socket import Socket, socket_url
from cogency_tui.providers.transport import Timeouts
from cogency_tui.providers.wire import Finish, Frame, table

_GONE: Mapping[str, str] = {
    "previous_response_not_found": "has lost its context",
    "websocket_connection_limit_reached": "has reached its time limit",
}


def responses_sessions(
    endpoint: Endpoint, timeouts: Timeouts | None = None, *, summaries: bool = False
) -> Opener:
    """What opens sessions with one model. `summaries` as for `ResponsesWire`."""
    wire = ResponsesWire(endpoint, summaries=summaries)
    refused: set[str] = set()

    async def open_session(messages: Sequence[Message]) -> Session:
        url = socket_url(endpoint.base_url, wire.path)
        socket = await Socket.open(endpoint, f"{LABEL} WebSocket", url, wire.headers(), timeouts)
        return ResponsesSession(endpoint, wire, socket, messages, refused)

    return open_session


class ResponsesSession:
    """One connection. `refused` are optional parameters that the model does not take; what turns out to
    be one is added."""

    def __init__(
        self,
        endpoint: Endpoint,
        wire: ResponsesWire,
        socket: Socket,
        seed: Sequence[Message],
        refused: set[str],
    ) -> None:
        self._endpoint = endpoint
        self._wire = wire
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
        """Whether the connection is open, and its last answer came to its own end."""
        return self._whole and self._socket.is_open

    async def send(self, messages: Sequence[Message]) -> None:
        """Ask for an answer to `messages`, after the seed if it is the first.

        Raises:
            SessionLostError: the connection is gone, or remembers more than the store.
        """
        check_memory(self._endpoint, self._answer, messages)
        self._whole = False
        self._add(unanswered(messages))
        await self._socket.send(self._request())

    async def receive(self) -> AsyncGenerator[Chunk, None]:
        """Stream the answer. There is no way to cancel it but to close the connection, which an early
        close does.

        Raises:
            SessionLostError: the connection or what the endpoint keeps for it is gone.
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
                    # The end of the answer before, once more.
                    continue
                try:
                    frame = self._read(reader, event)
                except UnsupportedParameterError as refusal:
                    if refusal.param in self._refused:
                        raise
                    self._refused.add(refusal.param)
                    # The events of another response are counted anew.
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
            self._keep(frame.finish, reader)
            self._answer = "".join(answer)
            yield usage
        finally:
            if not self._whole:
                await self.close()
        check_ending(self._endpoint, frame.finish, wrote_text=bool(answer), reasoned=bool(written))

    async def close(self) -> None:
        """Close the connection."""
        self._whole = False
        await self._socket.close()

    def _add(self, messages: Sequence[Message]) -> None:
        self._usage.sending(each["content"] for each in messages)
        self._items += [item_of(each) for each in messages]

    def _request(self) -> dict[str, Any]:
        request = {"type": "response.create", **self._wire.body(self._items, self._refused)}
        if self._previous:
            request["previous_response_id"] = self._previous
        return request

    def _read(self, reader: ResponsesReader, event: Mapping[str, Any]) -> Frame:
        if event.get("type") in {"error", "response.failed"}:
            reported = read_error(table(event.get("response")) or event)
            for name in reported.code.split():
                if name in _GONE:
                    raise SessionLostError(
                        f"The session with {self._endpoint.name} {_GONE[name]}.", "Send it again."
                    )
        return reader.read_event(event)

    def _used(self, frame: Frame, reader: ResponsesReader, written: Sequence[str]) -> Usage:
        billed = frame.usage
        if billed is None:
            return self._usage.estimated(written)
        usage = self._usage.reported(billed.input, billed.output, cached=billed.cached, kept=reader.kept)
        return replace(usage, cache_written=billed.cache_written)

    def _keep(self, finish: Finish, reader: ResponsesReader) -> None:
        """Go on from this answer, if it is one that the endpoint is known to keep: whole, with an id."""
        self._previous = reader.response_id
        self._items.clear()
        self._whole = finish == "stop" and bool(reader.response_id)
