"""Replay: one request a cycle, with the whole history. Works with every provider."""

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from cogency_tui.protocol.events import Message
from cogency_tui.providers.base import Chunk, Provider


class Channel(Protocol):
    """The way to the model: given the whole context each time, it decides what of it to send.

    `mode` and `reason` say what is in use, and why, for the cycle that was generated last.
    """

    @property
    def mode(self) -> str: ...

    @property
    def reason(self) -> str: ...

    @property
    def sent(self) -> int:
        """Characters of the messages that were sent for it."""
        ...

    def generate(self, messages: Sequence[Message]) -> AsyncGenerator[Chunk, None]:
        """Answer `messages`. Closing the iterator early stops the generation.

        Raises:
            ProviderError: as the provider does.
        """
        ...

    async def close(self) -> None: ...


class ReplayChannel:
    """Sends everything, each time."""

    def __init__(self, provider: Provider, reason: str = "") -> None:
        self.mode = "replay"
        self.reason = reason
        self.sent = 0
        self._provider = provider

    def generate(self, messages: Sequence[Message]) -> AsyncGenerator[Chunk, None]:
        self.sent = sum(len(message["content"]) for message in messages)
        return self._provider.stream(messages)

    async def close(self) -> None:
        """Nothing is kept open between cycles."""
