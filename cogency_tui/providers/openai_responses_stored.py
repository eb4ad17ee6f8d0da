"""Sessions over Responses that the server stores, as LM Studio does: over HTTP, without a socket.

A round is one POST that names the last answer that was complete and brings what is new. An answer that was
cut short is not continued; its question is sent again, with the stored part of the answer. The system prompt
is an item of the first input, and is stored with it: chat templates of local models refuse a second one.

Items of reasoning stay with the server: requests of replay mode go over another wire, which cannot read them.
"""

import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from msgspec.structs import replace

from cogency_tui.errors import (
    BadRequestError,
    ProviderError,
    ProviderProtocolError,
    SessionLostError,
    SessionRefusedError,
)
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import (
    PLAIN,
    WRITTEN,
    CallDelta,
    Chunk,
    Options,
    ProviderSession,
    ReasoningDelta,
    ReasoningItem,
    TextDelta,
    Usage,
    unanswered,
)
from cogency_tui.providers.ending_checks import check_memory
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_provider import EndpointRequests, Opener
from cogency_tui.providers.http_transport import Timeouts
from cogency_tui.providers.models import ListedModel, ModelFacts
from cogency_tui.providers.openai_responses import ResponsesWire
from cogency_tui.providers.openai_responses_events import LABEL, ResponsesReader
from cogency_tui.providers.token_counting import SessionUsage


class StoredResponsesWire:
    """`POST /responses` for one conversation. `previous` names the answer that the next request continues
    from, `answer` is the reader of the last answer."""

    label = LABEL
    path = ResponsesWire.path
    models_path = ResponsesWire.models_path

    def __init__(self, endpoint: Endpoint, facts: ModelFacts | None = None) -> None:
        self.previous = ""
        self._wire = ResponsesWire(endpoint, facts)
        self.answer = self._wire.reader()

    def headers(self) -> Mapping[str, str]:
        """Return the key as a bearer token."""
        return self._wire.headers()

    def encode(self, messages: Sequence[Message], refused: Iterable[str], options: Options = PLAIN) -> bytes:
        """Encode the body of a request. The server has its own reasoning, and one cache for all."""
        items = self._wire.items(messages, options)
        left_out = {"include", "prompt_cache_key", *refused}
        body = {"stream": True, **self._wire.body(items, left_out, options), "store": True}
        if self.previous:
            body["previous_response_id"] = self.previous
        return json.dumps(body).encode()

    def reader(self, options: Options = PLAIN) -> ResponsesReader:
        """Create a reader for one answer."""
        self.answer = self._wire.reader()
        return self.answer

    def models(self, body: Mapping[str, Any]) -> list[ListedModel]:
        """Return the models in `data`."""
        return self._wire.models(body)


def stored_responses_sessions(
    endpoint: Endpoint, facts: ModelFacts | None = None, timeouts: Timeouts | None = None
) -> Opener:
    """Return a function that opens sessions with one model. Nothing is sent before the first answer is
    requested."""

    async def open_session(messages: Sequence[Message], options: Options = PLAIN) -> ProviderSession:
        wire = StoredResponsesWire(endpoint, facts)
        return StoredResponsesSession(endpoint, wire, messages, options, timeouts)

    return open_session


class StoredResponsesSession:
    """A chain of stored answers. It survives lost connections and answers that were cut short."""

    expires: float | None = None

    def __init__(
        self,
        endpoint: Endpoint,
        wire: StoredResponsesWire,
        seed: Sequence[Message],
        options: Options = PLAIN,
        timeouts: Timeouts | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._wire = wire
        self._options = options
        self._answers = EndpointRequests(endpoint, wire, timeouts)
        self._pending = list(seed)
        self._usage = SessionUsage()
        self._usage.sending_messages(seed, endpoint.model)
        self._answer = ""
        self._closed = False

    @property
    def reusable(self) -> bool:
        """True if it was not closed: there is no connection to lose."""
        return not self._closed

    async def send(self, messages: Sequence[Message]) -> None:
        """Queue `messages` for the request for the answer. After an answer that was cut short, these are
        all messages since the last complete answer, including the stored part of the other.

        Raises:
            SessionLostError: the session was closed, or remembers more than the store.
        """
        if self._closed:
            raise SessionLostError(f"The session with {self._endpoint.name} was closed.", "Try again.")
        check_memory(self._endpoint, self._answer, messages)
        new = messages if self._pending else unanswered(messages)
        self._usage.sending_messages(new, self._endpoint.model)
        self._pending += new

    async def receive(self) -> AsyncGenerator[Chunk, None]:
        """Request the answer and stream it. An early close closes the response.

        Raises:
            SessionLostError: the answer to continue from is gone.
            SessionRefusedError: the server has no Responses.
            ProviderError: the server refused, failed or broke off.
        """
        written: list[str] = []
        answer: list[str] = []
        begun = False
        try:
            async with aclosing(self._answers.stream(self._pending, self._options)) as chunks:
                async for chunk in chunks:
                    begun = begun or isinstance(chunk, WRITTEN)
                    if isinstance(chunk, ReasoningItem):
                        continue
                    written.append(_text_of(chunk))
                    if isinstance(chunk, TextDelta):
                        answer.append(chunk.text)
                    yield self._used(chunk, written) if isinstance(chunk, Usage) else chunk
        except ProviderError as error:
            meaning = error if begun else self._meaning(error)
            if meaning is error:
                raise
            raise meaning from error
        finally:
            if self._wire.answer.completed:
                self._wire.previous = self._wire.answer.response_id
                self._pending = []
            self._answer = "" if self._pending else "".join(answer)

    async def close(self) -> None:
        """Close the connections. What the server has stored stays there."""
        self._closed = True
        await self._answers.close()

    def _used(self, billed: Usage, written: Sequence[str]) -> Usage:
        if billed.estimated:
            return self._usage.estimated(written)
        retained = self._wire.answer.retained
        usage = self._usage.reported(billed.input, billed.output, cached=billed.cached, retained=retained)
        return replace(usage, model=billed.model, tier=billed.tier)

    def _meaning(self, error: ProviderError) -> ProviderError:
        """Convert `error`, raised before anything was received, to its meaning for a session."""
        name = self._endpoint.name
        if self._wire.previous and isinstance(error, ProviderProtocolError | BadRequestError):
            return SessionLostError(
                f"{name} no longer has the conversation.", "It is sent again from the local store."
            )
        if isinstance(error, ProviderProtocolError):
            return SessionRefusedError(
                f"{name} ({self._endpoint.host}) has no {LABEL}: {error}", "Use replay mode."
            )
        return error


def _text_of(chunk: Chunk) -> str:
    """Return what a chunk adds to the answer."""
    if isinstance(chunk, CallDelta):
        return chunk.arguments
    return chunk.text if isinstance(chunk, TextDelta | ReasoningDelta) else ""
