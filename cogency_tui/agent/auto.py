"""Auto: resume where provider and model have it, replay otherwise, and say why."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from cogency_tui.agent.replay import ReplayChannel
from cogency_tui.agent.resume import ResumeChannel
from cogency_tui.errors import ProviderError
from cogency_tui.protocol.events import Message
from cogency_tui.providers.base import Chunk, Provider, ReasoningDelta, TextDelta


class AutoChannel:
    """Begins with a session if there can be one; falls back to requests when it fails before any text."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._channel: ResumeChannel | ReplayChannel
        if provider.resumes:
            self._channel = ResumeChannel(provider, f"auto: {provider.name} keeps sessions")
        else:
            self._channel = ReplayChannel(provider, f"auto: {provider.name} has no sessions")

    @property
    def mode(self) -> str:
        return self._channel.mode

    @property
    def reason(self) -> str:
        return self._channel.reason

    async def generate(self, messages: Sequence[Message], stop: Sequence[str]) -> AsyncGenerator[Chunk, None]:
        begun = False
        try:
            async with aclosing(self._channel.generate(messages, stop)) as chunks:
                async for chunk in chunks:
                    begun = begun or isinstance(chunk, TextDelta | ReasoningDelta)
                    yield chunk
            return
        except ProviderError as exc:
            if begun or isinstance(self._channel, ReplayChannel):
                raise
            reason = f"auto: the session failed ({exc})"
        await self._channel.close()
        self._channel = ReplayChannel(self._provider, reason)
        async with aclosing(self._channel.generate(messages, stop)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def close(self) -> None:
        await self._channel.close()
