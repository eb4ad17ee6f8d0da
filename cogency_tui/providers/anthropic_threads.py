"""Sessions over Anthropic's message threads: the vendor holds the conversation, and each request brings what
is new alone.

The first request creates a thread with the whole context, each later one continues it from the answer before,
once. The vendor bills the whole context each time, most of it from its cache: what a thread saves is upload
and the time to the first token. It ends five minutes after its last answer, or earlier: it is best effort,
and an answer that was cut short cannot be continued from. Then the engine opens another from the store.

Privacy: the vendor keeps a thread in memory alone, for an hour at most.
"""

import asyncio
import json
import random
import re
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from typing import Any

from msgspec.structs import replace

from cogency_tui.errors import BadRequestError, ProviderError, SessionLostError, SessionRefusedError
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.anthropic import AnthropicWire, cache_lifetime
from cogency_tui.providers.anthropic_content import Arrangement, mark
from cogency_tui.providers.anthropic_reader import MessagesReader
from cogency_tui.providers.base import (
    PLAIN,
    WRITTEN,
    Chunk,
    Options,
    ProviderSession,
    ReasoningDelta,
    TextDelta,
    Usage,
    unanswered,
)
from cogency_tui.providers.ending_checks import check_memory
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_provider import EndpointRequests, Opener
from cogency_tui.providers.http_transport import Timeouts, Wait, with_retries
from cogency_tui.providers.models import ModelFacts
from cogency_tui.providers.refused_parameters import RETURNED_REASONING
from cogency_tui.providers.token_counting import SessionUsage
from cogency_tui.providers.wire_protocol import Frame

BETA = "message-threads-2026-08-12"

LIFETIME = 300.0
"""Seconds after its last answer for which the vendor holds a thread."""

_LONG_TURN = 8
"""Blocks of a turn above which it has two marks for the cache."""

_NAMES_THREAD = re.compile(r"\bthread\b|anthropic-beta", re.IGNORECASE)

_STILLBORN = 2
"""Consecutive threads that were lost before they were continued once, after which none is expected."""


class ThreadWire(AnthropicWire):
    """Requests of one thread. `previous` is the id of the answer to continue from, `answer` the reader of the
    last one. `held` is the input of the last request, which a thread that is continued has, too."""

    def __init__(self, endpoint: Endpoint, facts: ModelFacts, *, own: bool = False) -> None:
        super().__init__(endpoint, facts, own=own)
        self.previous = ""
        self.held = 0
        self.answer = MessagesReader(endpoint)
        self._thought = False

    @property
    def betas(self) -> list[str]:
        """As of all requests, and threads."""
        return [*super().betas, BETA]

    def encode(self, messages: Sequence[Message], refused: Iterable[str], options: Options = PLAIN) -> bytes:
        """Encode the request that creates the thread with `messages`, or continues it with them."""
        refused = set(refused)
        thinks = RETURNED_REASONING not in refused
        history = Arrangement(options, thinks=thinks, continued=bool(self.previous))
        history.arrange(messages)
        self._mark(history, cache_lifetime(refused, options))
        if self.previous and options.previous is not None:
            options = replace(options, previous=self.previous)
        body = self.body(history, refused, options)
        return json.dumps(self._continuing(body) if self.previous else self._creating(body)).encode()

    def _creating(self, body: dict[str, Any]) -> dict[str, Any]:
        self._thought = "thinking" in body
        if "system" in body and "tools" in body:
            # Three marks are free in a thread, and that of the system prompt covers the tools before it.
            del body["tools"][-1]["cache_control"]
        return body | {"thread": {"type": "create"}}

    def _continuing(self, body: dict[str, Any]) -> dict[str, Any]:
        # A thread keeps the settings of its first request.
        kept = ("system", "tools") if self._thought else ("system", "tools", "thinking")
        thread = {"type": "continue", "previous_message_id": self.previous}
        return {name: value for name, value in body.items() if name not in kept} | {"thread": thread}

    def _mark(self, history: Arrangement, lifetime: str) -> None:
        """Mark the last block for the cache, and the first of a long turn: the vendor looks for the entry of
        the turn before from each mark 20 blocks back, the calls among them."""
        if not history.turns:
            return
        blocks = history.turns[-1].blocks
        mark(blocks[-1], lifetime)
        if self.previous and len(blocks) > _LONG_TURN:
            mark(blocks[0], lifetime)

    def reader(self, options: Options = PLAIN) -> MessagesReader:
        """Create a reader, which checks that the endpoint knows the thread."""
        self.answer = _ThreadReader(self._endpoint, held=self.held, names_answers=self._own)
        return self.answer


class _ThreadReader(MessagesReader):
    """Reads an answer within a thread, whose input has grown from `held` tokens."""

    def __init__(self, endpoint: Endpoint, *, held: int, names_answers: bool) -> None:
        super().__init__(endpoint, names_answers=names_answers)
        self._held = held

    def read(self, name: str, data: str) -> Frame:
        """Read one event.

        Raises:
            SessionRefusedError: the model was sent the new messages alone.
            ProviderError: as for any answer.
        """
        frame = super().read(name, data)
        # Thinking of earlier turns may have been dropped from it.
        if 0 < self.input < self._held // 2:
            raise SessionRefusedError(
                f"{self._endpoint.name} ignores message threads: the model received the last message alone.",
                "Use replay mode.",
            )
        return frame


def thread_sessions(
    endpoint: Endpoint,
    facts: ModelFacts,
    timeouts: Timeouts | None = None,
    *,
    own: bool = False,
    # Goes on while the machine sleeps.
    clock: Callable[[], float] = time.time,
    wait: Wait = asyncio.sleep,
    jitter: Callable[[], float] = random.random,
) -> Opener:
    """Return a function that opens sessions with one model. Nothing is sent before the first answer is
    requested. `own` as for `AnthropicWire`."""
    stillborn: list[SessionLostError] = []
    refused: set[str] = set()

    async def open_session(messages: Sequence[Message], options: Options = PLAIN) -> ProviderSession:
        if len(stillborn) >= _STILLBORN:
            raise SessionRefusedError(
                f"{endpoint.name} does not hold message threads of this conversation.", "Use replay mode."
            )
        wire = ThreadWire(endpoint, facts, own=own)
        requests = EndpointRequests(endpoint, wire, timeouts, refused)
        return ThreadSession(
            endpoint, wire, requests, messages, options, stillborn, clock=clock, wait=wait, jitter=jitter
        )

    return open_session


class ThreadSession:
    """One thread. Each loss before it was continued once is added to `stillborn`, which is cleared once a
    thread is continued."""

    def __init__(
        self,
        endpoint: Endpoint,
        wire: ThreadWire,
        requests: EndpointRequests,
        seed: Sequence[Message],
        options: Options,
        stillborn: list[SessionLostError],
        *,
        clock: Callable[[], float],
        wait: Wait,
        jitter: Callable[[], float],
    ) -> None:
        self._endpoint = endpoint
        self._wire = wire
        self._requests = requests
        self._options = options
        self._stillborn = stillborn
        self._clock = clock
        self._wait = wait
        self._jitter = jitter
        self._usage = SessionUsage()
        self._pending: list[Message] = []
        self._answer = ""
        self._continued = False
        self._ends = clock() + LIFETIME
        self._usable = True
        self._add(seed)

    @property
    def reusable(self) -> bool:
        """True if its last answer was complete, and the thread has not ended."""
        return self._usable and self._clock() < self._ends

    @property
    def expires(self) -> float | None:
        """When the thread ends, in Unix seconds, once it has one answer."""
        return self._ends if self._wire.previous else None

    async def send(self, messages: Sequence[Message]) -> None:
        """Queue `messages` for the request for the answer.

        Raises:
            SessionLostError: the thread has ended, or remembers more than the store.
        """
        if not self._usable:
            raise SessionLostError(f"The session with {self._endpoint.name} was closed.", "Try again.")
        check_memory(self._endpoint, self._answer, messages)
        self._add(unanswered(messages))

    async def receive(self) -> AsyncGenerator[Chunk, None]:
        """Request the answer and stream it, with retries where these may help. An early close closes the
        response, and ends the thread.

        Raises:
            SessionLostError: the thread is gone.
            SessionRefusedError: the endpoint has no threads, or not for this request.
            ProviderError: the endpoint refused, failed or broke off.
        """
        self._usable = False
        written: list[str] = []
        answer: list[str] = []
        begun = False
        attempts = with_retries(
            lambda: self._requests.stream(self._pending, self._options), wait=self._wait, jitter=self._jitter
        )
        try:
            async with aclosing(attempts) as chunks:
                async for chunk in chunks:
                    begun = begun or isinstance(chunk, WRITTEN)
                    if isinstance(chunk, TextDelta | ReasoningDelta):
                        written.append(chunk.text)
                    if isinstance(chunk, TextDelta):
                        answer.append(chunk.text)
                    yield self._used(chunk, written) if isinstance(chunk, Usage) else chunk
        except ProviderError as error:
            if begun:
                raise
            # No attempts are left.
            error.retryable = False
            meaning = self._meaning(error)
            if meaning is error:
                raise
            raise meaning from error
        self._continue("".join(answer))

    async def close(self) -> None:
        """Close the connections. The vendor forgets the thread by itself."""
        self._usable = False
        await self._requests.close()

    def _add(self, messages: Sequence[Message]) -> None:
        self._usage.sending_messages(messages, self._endpoint.model)
        self._pending += messages

    def _continue(self, answer: str) -> None:
        """Continue from the answer that has just ended, if the vendor is known to have it."""
        if self._wire.previous:
            self._continued = True
            self._stillborn.clear()
        self._wire.previous = self._wire.answer.answer
        self._wire.held = self._wire.answer.input
        self._pending = []
        self._answer = answer
        self._ends = self._clock() + LIFETIME
        self._usable = self._wire.answer.stopped and bool(self._wire.previous)

    def _used(self, billed: Usage, written: Sequence[str]) -> Usage:
        if billed.estimated:
            return self._usage.estimated(written)
        usage = self._usage.reported(billed.input, billed.output, cached=billed.cached)
        return replace(billed, input=usage.input, billed_input=usage.billed_input)

    def _meaning(self, error: ProviderError) -> ProviderError:
        """Convert `error`, raised before anything was received, to its meaning for a session."""
        if isinstance(error, SessionLostError) and not self._continued:
            self._stillborn.append(error)
        if isinstance(error, BadRequestError) and _NAMES_THREAD.search(str(error)):
            return SessionRefusedError(
                f"{self._endpoint.name} ({self._endpoint.host}) has no message threads: {error}",
                "Use replay mode.",
            )
        return error
