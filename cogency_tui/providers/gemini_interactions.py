"""Sessions over Gemini's Interactions: each answer is stored at Google, and the next goes on from it.

A round is one POST that names the last interaction that completed and brings what is new. One that was
cut short is not gone on from; what it was asked is sent again, with the part of its answer that the store
has kept.

Privacy: going on from an interaction needs `store: true`. Google then keeps what was sent and answered,
55 days for a paid project and one day for a free one. Replay mode stores nothing there.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from cogency_tui.errors import (
    BadRequestError,
    PermissionDeniedError,
    ProviderError,
    ProviderProtocolError,
    SessionLostError,
    SessionRefusedError,
)
from cogency_tui.protocol.events import Message
from cogency_tui.providers.answers import Answers
from cogency_tui.providers.base import Chunk, ReasoningDelta, Session, TextDelta, Usage, unanswered
from cogency_tui.providers.endings import check_memory
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.gemini_interactions_wire import LABEL, InteractionsWire
from cogency_tui.providers.gemini_usage import RepeatingUsage
from cogency_tui.providers.gemini_wire import VERSION
from cogency_tui.providers.requests import Opener
from cogency_tui.providers.retries import Wait, with_retries
from cogency_tui.providers.transport import Timeouts


def interaction_sessions(
    endpoint: Endpoint,
    timeouts: Timeouts | None = None,
    *,
    version: str = VERSION,
    thoughts: bool = False,
    wait: Wait = asyncio.sleep,
    jitter: Callable[[], float] = random.random,
) -> Opener:
    """What opens sessions with one model. Nothing is sent before the first answer is asked for."""

    async def open_session(messages: Sequence[Message]) -> Session:
        wire = InteractionsWire(endpoint, version=version, thoughts=thoughts)
        return InteractionsSession(endpoint, wire, messages, timeouts, wait=wait, jitter=jitter)

    return open_session


class InteractionsSession:
    """A chain of interactions. It outlives lost connections and answers that were cut short."""

    def __init__(
        self,
        endpoint: Endpoint,
        wire: InteractionsWire,
        seed: Sequence[Message],
        timeouts: Timeouts | None = None,
        *,
        wait: Wait = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._endpoint = endpoint
        self._wire = wire
        self._answers = Answers(endpoint, wire, timeouts)
        self._system = [each for each in seed if each["role"] == "system"]
        self._pending = [each for each in seed if each["role"] != "system"]
        self._wait = wait
        self._jitter = jitter
        self._usage = RepeatingUsage(seed)
        self._answer = ""
        self._closed = False

    @property
    def reusable(self) -> bool:
        """Whether it was not closed: there is no connection to lose."""
        return not self._closed

    async def send(self, messages: Sequence[Message]) -> None:
        """Take `messages` to be sent with the request for the answer. After an answer that was cut short
        that is all since the last interaction that completed, the kept part of the answer included.

        Raises:
            SessionLostError: the session was closed, or remembers more than the store.
        """
        if self._closed:
            raise SessionLostError(f"The session with {self._endpoint.name} was closed.", "Send it again.")
        check_memory(self._endpoint, self._answer, messages)
        new = messages if self._pending else unanswered(messages)
        self._usage.sending(new)
        self._pending += new

    async def receive(self) -> AsyncGenerator[Chunk, None]:
        """Ask for the answer and stream it, asking again where that may help. An early close closes the
        response.

        Raises:
            SessionLostError: the interaction to go on from is gone.
            SessionRefusedError: there are no interactions at this endpoint.
            ProviderError: the endpoint refused, failed or broke off.
        """
        sent = self._system + self._pending
        self._usage.repeating()
        written: list[str] = []
        answer: list[str] = []
        begun = False
        attempts = with_retries(lambda: self._answers.stream(sent), wait=self._wait, jitter=self._jitter)
        try:
            async with aclosing(attempts) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, TextDelta | ReasoningDelta):
                        written.append(chunk.text)
                    if isinstance(chunk, TextDelta):
                        answer.append(chunk.text)
                    if isinstance(chunk, Usage):
                        chunk = self._used(chunk, written)
                    begun = begun or bool(written) or isinstance(chunk, Usage)
                    yield chunk
        except ProviderError as error:
            if begun:
                raise
            # It was asked often enough.
            error.retryable = False
            meaning = self._meaning(error)
            if meaning is error:
                raise
            raise meaning from error
        finally:
            if completed := self._wire.answer.completed:
                self._wire.previous = completed
                self._pending = []
            self._answer = "".join(answer) if completed else ""

    async def close(self) -> None:
        """Close the connections. What Google has stored stays there until it expires."""
        self._closed = True
        await self._answers.close()

    def _used(self, billed: Usage, written: Sequence[str]) -> Usage:
        if billed.estimated:
            return self._usage.estimated(written)
        kept = billed.output - self._wire.answer.thought
        return self._usage.reported(billed.input, billed.output, cached=billed.cached, kept=kept)

    def _meaning(self, error: ProviderError) -> ProviderError:
        """What `error`, raised before anything came, means to a session."""
        name = self._endpoint.name
        unheard = isinstance(error, ProviderProtocolError)
        if not self._wire.previous and unheard:
            return SessionRefusedError(
                f"{name} ({self._endpoint.host}) has no {LABEL}: {error}", "Use replay mode."
            )
        refused = isinstance(error, BadRequestError | PermissionDeniedError)
        named = refused and "interaction" in str(error).lower()
        if self._wire.previous and (unheard or named):
            return SessionLostError(
                f"{name} no longer has the conversation.", "It is sent again from what is kept here."
            )
        return error
