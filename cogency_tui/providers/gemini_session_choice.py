"""Gemini's sessions: Live where the model can write text there, Interactions otherwise, and for native calls.

Most models of the Live API answer in audio only, and refuse text as late as with the first question. A
refusal is remembered as long as the program runs.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

from cogency_tui.errors import SessionRefusedError
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import (
    PLAIN,
    Chunk,
    Notice,
    Options,
    ProviderSession,
    ReasoningDelta,
    TextDelta,
)
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.gemini import VERSION
from cogency_tui.providers.gemini_interactions import interaction_sessions
from cogency_tui.providers.gemini_live import live_sessions
from cogency_tui.providers.http_provider import Opener
from cogency_tui.providers.http_transport import Timeouts, Wait
from cogency_tui.providers.models import ModelFacts


def gemini_sessions(
    endpoint: Endpoint,
    timeouts: Timeouts | None = None,
    *,
    facts: ModelFacts,
    version: str = VERSION,
    wait: Wait = asyncio.sleep,
    jitter: Callable[[], float] = random.random,
) -> Opener:
    """Return a function that opens sessions with one model, as `interaction_sessions`. Native calls are made
    over Interactions only."""
    interactions = interaction_sessions(
        endpoint, timeouts, facts=facts, version=version, wait=wait, jitter=jitter
    )
    if not facts.live_text:
        return interactions
    lives = live_sessions(endpoint, timeouts, version=version)
    refusals: list[SessionRefusedError] = []

    async def open_session(messages: Sequence[Message], options: Options = PLAIN) -> ProviderSession:
        if refusals or options.tools:
            return await interactions(messages, options)

        async def turn(refusal: SessionRefusedError) -> ProviderSession:
            refusals.append(refusal)
            return await interactions(messages, options)

        try:
            return _LiveFirst(await lives(messages), turn)
        except SessionRefusedError as refusal:
            return _LiveFirst(await turn(refusal), None, _notice(refusal))

    return open_session


class _LiveFirst:
    """A session that is replaced by another, from `turn`, where it is refused before its first answer. The
    notice of that comes with the next answer."""

    def __init__(
        self,
        session: ProviderSession,
        turn: Callable[[SessionRefusedError], Awaitable[ProviderSession]] | None,
        notice: Notice | None = None,
    ) -> None:
        self._session = session
        self._turn = turn
        self._notice = notice
        self._sent: Sequence[Message] = ()

    @property
    def reusable(self) -> bool:
        """True if the present session is reusable."""
        return self._session.reusable

    @property
    def expires(self) -> float | None:
        """When the present session expires."""
        return self._session.expires

    async def send(self, messages: Sequence[Message]) -> None:
        """Send `messages`, over the other session where this one refuses them.

        Raises:
            ProviderError: that refuses them too, or the session is gone.
        """
        self._sent = messages
        try:
            await self._session.send(messages)
        except SessionRefusedError as refusal:
            await self._fall_back(refusal)

    async def receive(self) -> AsyncGenerator[Chunk, None]:
        """Stream the answer, from the other session where this one refuses it.

        Raises:
            ProviderError: that refuses it too, or the endpoint failed.
        """
        while True:
            try:
                async with aclosing(self._answer()) as chunks:
                    async for chunk in chunks:
                        yield chunk
            except SessionRefusedError as refusal:
                await self._fall_back(refusal)
            else:
                self._turn = None
                return

    async def close(self) -> None:
        """Close the session."""
        await self._session.close()

    async def _answer(self) -> AsyncGenerator[Chunk, None]:
        if self._notice is not None:
            notice, self._notice = self._notice, None
            yield notice
        async with aclosing(self._session.receive()) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, TextDelta | ReasoningDelta):
                    self._turn = None
                yield chunk

    async def _fall_back(self, refusal: SessionRefusedError) -> None:
        if self._turn is None:
            raise refusal
        turn, self._turn = self._turn, None
        await self._session.close()
        self._session = await turn(refusal)
        self._notice = _notice(refusal)
        await self._session.send(self._sent)


def _notice(refusal: SessionRefusedError) -> Notice:
    return Notice(f"{refusal} Continuing with Interactions, which stores the conversation at Google.")
