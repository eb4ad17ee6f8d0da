"""Resume: one session; the context is sent once, then each new message alone.

The session's own memory is compared with the history from the store before each cycle. Where they
part (another dialect, a lost connection, an edited history), a new session is seeded: what the
store says is what counts.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from cogency_tui.errors import ProviderError, SessionLostError
from cogency_tui.protocol.events import Message
from cogency_tui.providers.base import Chunk, Notice, Provider, ReasoningDelta, Session, TextDelta
from cogency_tui.providers.retries import ATTEMPTS, Wait, with_retries


class ResumeChannel:
    """Keeps a session open between cycles and turns. `attempts`: how often one is opened in all before
    the error of the last is raised."""

    def __init__(
        self,
        provider: Provider,
        reason: str = "",
        *,
        attempts: int = ATTEMPTS,
        wait: Wait = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.mode = "resume"
        self.reason = reason
        self.sent = 0
        self._provider = provider
        self._attempts = attempts
        self._wait = wait
        self._jitter = jitter
        self._session: Session | None = None
        self._known: list[Message] = []

    async def generate(self, messages: Sequence[Message]) -> AsyncGenerator[Chunk, None]:
        """Answer `messages`; where the session is gone before it said anything, through a new one."""
        self.sent = 0
        attempts = with_retries(
            lambda: self._attempt(messages),
            attempts=self._attempts,
            wait=self._wait,
            jitter=self._jitter,
        )
        async with aclosing(attempts) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _attempt(self, messages: Sequence[Message]) -> AsyncGenerator[Chunk, None]:
        fresh = self._fresh(messages)
        lost = ""
        if self._session is not None and fresh is not None:
            if self._session.reusable:
                begun = False
                try:
                    async with aclosing(self._round(self._session, fresh, messages)) as chunks:
                        async for chunk in chunks:
                            begun = begun or isinstance(chunk, TextDelta | ReasoningDelta)
                            yield chunk
                    return
                except SessionLostError as exc:
                    if begun:
                        raise
                    lost = str(exc)
            else:
                lost = f"The session with {self._provider.name} had ended."
        await self.close()
        if lost:
            yield Notice(f"{lost} A new one is given the conversation.")
        session = self._session = await self._provider.connect(messages[:-1])
        self.sent += sum(len(message["content"]) for message in messages[:-1])
        async with aclosing(self._round(session, messages[-1:], messages)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _round(
        self, session: Session, fresh: Sequence[Message], messages: Sequence[Message]
    ) -> AsyncGenerator[Chunk, None]:
        self._known = list(messages)
        self.sent += sum(len(message["content"]) for message in fresh)
        try:
            await session.send(fresh)
            async with aclosing(session.receive()) as chunks:
                async for chunk in chunks:
                    yield chunk
        except ProviderError:
            # What it now has of this round is its own secret.
            await self.close()
            raise

    def _fresh(self, messages: Sequence[Message]) -> Sequence[Message] | None:
        """What of `messages` the session has not been sent: its own answer as the store keeps it, then
        what is new. None where the session has seen something else, or nothing is new."""
        known = len(self._known)
        if not known or list(messages[:known]) != self._known:
            return None
        fresh = messages[known:]
        new = fresh[1:] if fresh and fresh[0]["role"] == "assistant" else fresh
        if not new or any(message["role"] == "assistant" for message in new):
            return None
        return fresh

    async def close(self) -> None:
        """End the session, if there is one."""
        session, self._session = self._session, None
        self._known = []
        if session is not None:
            await session.close()
