"""A provider over HTTP: one request an answer in replay mode, and sessions where there are any.

Nothing is asked again once a token has been yielded.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TypeAlias

from cogency_tui.errors import SessionRefusedError
from cogency_tui.protocol.events import Message
from cogency_tui.providers.answers import Answers
from cogency_tui.providers.base import Chunk, Session
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.models import ModelFacts
from cogency_tui.providers.retries import Wait, with_retries
from cogency_tui.providers.transport import Timeouts
from cogency_tui.providers.wire import Wire

Opener: TypeAlias = Callable[[Sequence[Message]], Awaitable[Session]]
"""Opens a session seeded with messages."""


class HttpProvider:
    """One model behind one endpoint. It has sessions where `sessions` opens them."""

    def __init__(
        self,
        endpoint: Endpoint,
        wire: Wire,
        *,
        sessions: Opener | None = None,
        facts: ModelFacts | None = None,
        timeouts: Timeouts | None = None,
        wait: Wait = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.name = endpoint.name
        self.model = endpoint.model
        self.facts = facts or ModelFacts()
        self._label = wire.label
        self._sessions = sessions
        self._answers = Answers(endpoint, wire, timeouts)
        self._wait = wait
        self._jitter = jitter

    @property
    def resumes(self) -> bool:
        """Whether there is a way to open sessions."""
        return self._sessions is not None

    async def stream(self, messages: Sequence[Message]) -> AsyncGenerator[Chunk, None]:
        """Answer `messages`, asking again where that may help.

        Raises:
            ProviderError: the endpoint refused, failed or broke off.
        """
        attempts = with_retries(lambda: self._answers.stream(messages), wait=self._wait, jitter=self._jitter)
        async with aclosing(attempts) as chunks:
            async for chunk in chunks:
                yield chunk

    async def connect(self, messages: Sequence[Message]) -> Session:
        """Open a session seeded with `messages`.

        Raises:
            SessionRefusedError: there are none here.
            ProviderError: none is to be had now.
        """
        if self._sessions is None:
            raise SessionRefusedError(
                f"{self.name} speaks {self._label}, which has no sessions.", "Use replay mode."
            )
        return await self._sessions(messages)

    async def models(self) -> list[str]:
        """The models that the endpoint lists.

        Raises:
            ProviderError: it refused or failed.
        """
        return await self._answers.models()

    async def close(self) -> None:
        """Close the connections."""
        await self._answers.close()
