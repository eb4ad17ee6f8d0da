"""Auto: resume where provider and model have it, replay otherwise, and say why."""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from cogency_tui.agent.replay import ReplayChannel
from cogency_tui.agent.resume import ResumeChannel
from cogency_tui.errors import AuthenticationError, ContextTooLongError, ProviderError, SessionRefusedError
from cogency_tui.protocol.events import Message
from cogency_tui.providers.base import Chunk, Notice, Provider, ReasoningDelta, TextDelta

BREAKS = 2
"""Sessions in a row that break off in mid-answer before requests are preferred."""

PAUSE = 300.0
"""Seconds after which a session is tried again that could not be had for a reason that may pass."""


class AutoChannel:
    """Begins with a session if there can be one. Goes on with requests when it cannot be had, or keeps
    breaking off: the turn continues from the store, so no event is lost and no call repeated."""

    def __init__(self, provider: Provider, clock: Callable[[], float] = time.monotonic) -> None:
        self._provider = provider
        self._clock = clock
        self._resume = ResumeChannel(provider, f"auto: {provider.name} keeps sessions", attempts=1)
        self._replay = ReplayChannel(provider, f"auto: {provider.name} has no sessions")
        self._channel = self._resume if provider.resumes else self._replay
        self._again: float | None = None
        self._breaks = 0

    @property
    def mode(self) -> str:
        return self._channel.mode

    @property
    def reason(self) -> str:
        return self._channel.reason

    @property
    def sent(self) -> int:
        return self._channel.sent

    async def generate(self, messages: Sequence[Message]) -> AsyncGenerator[Chunk, None]:
        if self._again is not None and self._clock() >= self._again:
            self._channel, self._again = self._resume, None
        if self._channel is self._resume:
            begun = False
            try:
                async with aclosing(self._resume.generate(messages)) as chunks:
                    async for chunk in chunks:
                        begun = begun or isinstance(chunk, TextDelta | ReasoningDelta)
                        yield chunk
                self._breaks = 0
                return
            except (AuthenticationError, ContextTooLongError):
                # Requests would be refused for the same reason.
                raise
            except ProviderError as exc:
                if begun:
                    self._breaks += 1
                    if self._breaks >= BREAKS:
                        await self._fall_back(exc)
                    raise
                failure = exc
            await self._fall_back(failure)
            yield Notice(f"{failure} Going on in replay mode.")
        async with aclosing(self._replay.generate(messages)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _fall_back(self, cause: ProviderError) -> None:
        await self._resume.close()
        self._breaks = 0
        self._again = None if isinstance(cause, SessionRefusedError) else self._clock() + PAUSE
        self._replay = ReplayChannel(self._provider, f"auto: no session ({cause})")
        self._channel = self._replay

    async def close(self) -> None:
        await self._resume.close()
