"""Resume: one session; the context is sent once, then each new message alone.

The session's own memory is compared with the history from the store before each cycle. Where they
part (another dialect, a lost connection, an edited history), a new session is seeded: what the
store says is what counts.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from cogency_tui.protocol.events import Message
from cogency_tui.providers.base import Chunk, Provider, Session


class ResumeChannel:
    """Keeps a session open between cycles and turns."""

    def __init__(self, provider: Provider, reason: str = "") -> None:
        self.mode = "resume"
        self.reason = reason
        self._provider = provider
        self._session: Session | None = None
        self._known: list[Message] = []

    async def generate(self, messages: Sequence[Message], stop: Sequence[str]) -> AsyncGenerator[Chunk, None]:
        fresh = self._fresh(messages)
        session = self._session
        if session is None or not session.reusable or fresh is None:
            await self.close()
            session = self._session = await self._provider.connect(messages[:-1], stop=stop)
            fresh = messages[-1:]
        self._known = list(messages)
        await session.send(fresh)
        async with aclosing(session.receive()) as chunks:
            async for chunk in chunks:
                yield chunk

    def _fresh(self, messages: Sequence[Message]) -> Sequence[Message] | None:
        """What of `messages` the session has not seen, or None where it has seen something else."""
        known = len(self._known)
        if not known or list(messages[:known]) != self._known:
            return None
        fresh = messages[known:]
        # What follows what was sent is what the session wrote itself, as the store keeps it.
        if fresh and fresh[0]["role"] == "assistant":
            fresh = fresh[1:]
        if not fresh or any(message["role"] == "assistant" for message in fresh):
            return None
        return fresh

    async def close(self) -> None:
        """End the session, if there is one."""
        session, self._session = self._session, None
        self._known = []
        if session is not None:
            await session.close()
