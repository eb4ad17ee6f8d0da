"""Channels to the model: replay, resume, and auto, which chooses between them.

Replay sends one request for each cycle with the whole history, and works with every provider. Resume sends
the context once over a session, then only new messages. Auto resumes where provider and model support it,
replays otherwise, and reports why.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from typing import Protocol

from msgspec.structs import replace

from cogency_tui.errors import (
    AuthenticationError,
    ContextTooLongError,
    EmptyAnswerError,
    ProviderError,
    SessionLostError,
    SessionRefusedError,
    sentence,
)
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import (
    PLAIN,
    WRITTEN,
    Chunk,
    Notice,
    Options,
    Provider,
    ProviderSession,
    Steerable,
    Usage,
)
from cogency_tui.providers.http_transport import ATTEMPTS, Wait, with_retries


class LastAnswers:
    """The last answer of each provider to one conversation, by the provider's own id: it compares the next
    request with the one before, to state why its cache missed. Outlives channels: what replaces a channel
    often changes the request, too."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def added_to(self, options: Options, provider: Provider) -> Options:
        """The options with the provider's last answer; without an id before the first."""
        return replace(options, previous=self._ids.get(provider.name, ""))

    def note(self, provider: Provider, chunk: Chunk) -> None:
        """Record the id of an answer, if `chunk` has it."""
        if isinstance(chunk, Usage) and chunk.answer:
            self._ids[provider.name] = chunk.answer


class Channel(Protocol):
    """The way to the model: receives the whole context each time, and decides how much of it to send.

    `mode` and `reason` describe the last generated cycle.
    """

    @property
    def mode(self) -> str: ...

    @property
    def reason(self) -> str: ...

    @property
    def sent(self) -> int:
        """Characters of the messages that were sent for the last cycle."""
        ...

    @property
    def expires(self) -> float | None:
        """The Unix time at which the open session ends if nothing is sent; None without such a session."""
        ...

    def generate(self, messages: Sequence[Message], options: Options = PLAIN) -> AsyncGenerator[Chunk, None]:
        """Answer `messages`; the channel adds the last answer to the `options`. Closing the iterator early
        stops the generation.

        Raises:
            ProviderError: as the provider does.
        """
        ...

    async def steer(self, message: Message) -> bool:
        """Send `message`, which is the next one, to the answer that is being generated; return False where
        that is not possible, or not yet."""
        ...

    async def close(self) -> None: ...


class ReplayChannel:
    """Sends the whole history with each request."""

    expires: float | None = None

    def __init__(self, provider: Provider, reason: str = "", *, answers: LastAnswers | None = None) -> None:
        self.mode = "replay"
        self.reason = reason
        self.sent = 0
        self._provider = provider
        self._answers = answers or LastAnswers()

    async def generate(
        self, messages: Sequence[Message], options: Options = PLAIN
    ) -> AsyncGenerator[Chunk, None]:
        self.sent = sum(len(message["content"]) for message in messages)
        options = self._answers.added_to(options, self._provider)
        async with aclosing(self._provider.stream(messages, options)) as chunks:
            async for chunk in chunks:
                self._answers.note(self._provider, chunk)
                yield chunk

    async def steer(self, message: Message) -> bool:
        """Return False: an answer to a request takes no message."""
        del message
        return False

    async def close(self) -> None:
        """Do nothing: no connection outlives a cycle."""


class ResumeChannel:
    """Holds a session open between cycles and turns.

    Before each cycle, the session's history is compared with that from the store. If they differ (another
    dialect, a lost connection, an edited history), a new session is seeded: the store is authoritative.
    `attempts` is how often a session is opened in all before the last error is raised.
    """

    def __init__(
        self,
        provider: Provider,
        reason: str = "",
        *,
        answers: LastAnswers | None = None,
        attempts: int = ATTEMPTS,
        wait: Wait = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.mode = "resume"
        self.reason = reason
        self.sent = 0
        self._provider = provider
        self._answers = answers or LastAnswers()
        self._attempts = attempts
        self._wait = wait
        self._jitter = jitter
        self._session: ProviderSession | None = None
        self._known: list[Message] = []
        self._options = PLAIN

    @property
    def expires(self) -> float | None:
        return self._session.expires if self._session is not None and self._session.reusable else None

    async def generate(
        self, messages: Sequence[Message], options: Options = PLAIN
    ) -> AsyncGenerator[Chunk, None]:
        """Answer `messages`; if the session was lost before it sent anything, over a new one."""
        self.sent = 0
        attempts = with_retries(
            lambda: self._attempt(messages, options),
            attempts=self._attempts,
            wait=self._wait,
            jitter=self._jitter,
        )
        async with aclosing(attempts) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _attempt(self, messages: Sequence[Message], options: Options) -> AsyncGenerator[Chunk, None]:
        # A session has the options with which it was opened; pauses need no other one.
        wanted = replace(options, pauses=())
        fresh = self._fresh(messages) if wanted == self._options else None
        lost = ""
        if self._session is not None and fresh is not None:
            if self._session.reusable:
                begun = False
                try:
                    async with aclosing(self._round(self._session, fresh, messages)) as chunks:
                        async for chunk in chunks:
                            begun = begun or isinstance(chunk, WRITTEN)
                            yield chunk
                    return
                except SessionLostError as exc:
                    if begun:
                        raise
                    lost = str(exc)
            else:
                lost = f"The session with {self._provider.name} has ended."
        await self.close()
        if lost:
            yield Notice(f"{sentence(lost)} A new session continues the conversation.")
        self._options = wanted
        options = self._answers.added_to(options, self._provider)
        session = self._session = await self._provider.connect(messages[:-1], options)
        self.sent += sum(len(message["content"]) for message in messages[:-1])
        async with aclosing(self._round(session, messages[-1:], messages)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _round(
        self, session: ProviderSession, fresh: Sequence[Message], messages: Sequence[Message]
    ) -> AsyncGenerator[Chunk, None]:
        self._known = list(messages)
        self.sent += sum(len(message["content"]) for message in fresh)
        try:
            await session.send(fresh)
            async with aclosing(session.receive()) as chunks:
                async for chunk in chunks:
                    self._answers.note(self._provider, chunk)
                    yield chunk
        except ProviderError:
            # How much of this round the session has is unknown.
            await self.close()
            raise

    async def steer(self, message: Message) -> bool:
        """Send `message` to the running answer where the session is one that takes it."""
        if not isinstance(self._session, Steerable):
            return False
        with suppress(ProviderError):
            # The answer ends with the error, too.
            return await self._session.steer(message)
        return False

    def _fresh(self, messages: Sequence[Message]) -> Sequence[Message] | None:
        """The part of `messages` that the session has not been sent: its own answer in its stored form,
        then new messages. None if the session's history differs, or nothing is new.
        """
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


BREAKS = 2
"""Consecutive sessions that break off in mid-answer, after which requests are preferred."""

PAUSE = 300.0
"""Seconds after which a session is tried again that failed to open for a passing reason."""


class AutoChannel:
    """Begins with a session if the provider has them. Falls back to requests when no session opens, or when
    sessions break off repeatedly: the turn continues from the store, so no event is lost and no call
    repeated.
    """

    def __init__(
        self,
        provider: Provider,
        clock: Callable[[], float] = time.monotonic,
        *,
        answers: LastAnswers | None = None,
    ) -> None:
        self._provider = provider
        self._clock = clock
        self._answers = answers or LastAnswers()
        resumes = f"auto: {provider.name} supports sessions"
        self._resume = ResumeChannel(provider, resumes, answers=self._answers, attempts=1)
        self._replay = self._replay_for(f"auto: {provider.name} has no sessions")
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

    @property
    def expires(self) -> float | None:
        return self._channel.expires

    async def generate(
        self, messages: Sequence[Message], options: Options = PLAIN
    ) -> AsyncGenerator[Chunk, None]:
        if self._again is not None and self._clock() >= self._again:
            self._channel, self._again = self._resume, None
        if self._channel is self._resume:
            begun = False
            try:
                async with aclosing(self._resume.generate(messages, options)) as chunks:
                    async for chunk in chunks:
                        begun = begun or isinstance(chunk, WRITTEN)
                        yield chunk
                self._breaks = 0
                return
            except (AuthenticationError, ContextTooLongError, EmptyAnswerError):
                # Requests would be refused, or answered, in the same way.
                raise
            except ProviderError as exc:
                if begun:
                    self._breaks += 1
                    if self._breaks >= BREAKS:
                        await self._fall_back(exc)
                    raise
                failure = exc
            await self._fall_back(failure)
            yield Notice(f"{failure.sentence} Continuing in replay mode.")
        async with aclosing(self._replay.generate(messages, options)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def steer(self, message: Message) -> bool:
        """Send `message` to the running answer, as the channel in use does."""
        return await self._channel.steer(message)

    async def _fall_back(self, cause: ProviderError) -> None:
        await self._resume.close()
        self._breaks = 0
        self._again = None if isinstance(cause, SessionRefusedError) else self._clock() + PAUSE
        self._replay = self._replay_for(f"auto: no session ({cause})")
        self._channel = self._replay

    def _replay_for(self, reason: str) -> ReplayChannel:
        return ReplayChannel(self._provider, reason, answers=self._answers)

    async def close(self) -> None:
        await self._resume.close()
