"""OpenAI Realtime as a session, with text alone.

The conversation is a list of items at the endpoint, and it is kept equal to what the store has: a round
appends what is new, and an answer that was not wanted to its end is taken out again and what the store
keeps of it put in its place.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any
from urllib.parse import urlencode

from cogency_tui.errors import ProviderError
from cogency_tui.protocol.events import Message
from cogency_tui.providers.base import Chunk, Session, TextDelta, Usage, unanswered
from cogency_tui.providers.endings import check_ending, ends_alike
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.realtime_frames import LABEL, Answer, event_type, new_item, settings
from cogency_tui.providers.requests import Opener
from cogency_tui.providers.session_usage import SessionUsage
from cogency_tui.providers.socket import Socket, socket_url
from cogency_tui.providers.transport import Timeouts
from cogency_tui.providers.wire import bearer, count_of, table, text_of

CANCELLING = 1.5
"""Seconds that the endpoint has to end a response that we cancelled."""

LIFETIME = 58 * 60.0
"""Seconds for which a session is used. The endpoint ends it after 60 minutes, in mid-answer if need be."""

_REMEMBERED = 64
"""Events whose ids are remembered: one that comes twice comes soon after."""


def realtime_sessions(endpoint: Endpoint, timeouts: Timeouts | None = None) -> Opener:
    """What opens sessions of `endpoint`, whose model has to be one of the Realtime API."""

    async def open_seeded(messages: Sequence[Message]) -> Session:
        url = socket_url(endpoint.base_url, "/realtime", query=urlencode({"model": endpoint.model}))
        socket = await Socket.open(endpoint, LABEL, url, bearer(endpoint), timeouts)
        session = RealtimeSession(endpoint, socket)
        try:
            await session.seed(messages)
        except BaseException:
            await session.close()
            raise
        return session

    return open_seeded


class RealtimeSession:
    """One conversation of the Realtime API over `socket`. `clock` counts seconds."""

    def __init__(
        self,
        endpoint: Endpoint,
        socket: Socket,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._endpoint = endpoint
        self._socket = socket
        self._clock = clock
        self._until = clock() + LIFETIME
        self._usage = SessionUsage()
        self._idle = False
        self._last: Answer | None = None
        self._recent: deque[str] = deque(maxlen=_REMEMBERED)

    @property
    def reusable(self) -> bool:
        """Whether the endpoint waits for the next round, and has the time for it."""
        return self._idle and self._socket.is_open and self._clock() < self._until

    async def seed(self, messages: Sequence[Message]) -> None:
        """Give it its context, and see that all of it was taken. To be called once, before all else.

        Raises:
            SessionRefusedError: the endpoint has no sessions for this model.
            ProviderError: it refused something, or is gone.
        """
        while (await self._next(first=True))[0] != "session.created":
            pass
        prompted = bool(messages) and messages[0]["role"] == "system"
        history = messages[1:] if prompted else messages
        self._usage.sending(message["content"] for message in messages)
        frames = [settings(messages[0]["content"] if prompted else ""), *map(new_item, history)]
        # Both at once: each item is sent back, and an endpoint that cannot get rid of that stops reading.
        sending = asyncio.create_task(self._send(frames))
        try:
            await self._taken(len(history))
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
        self._idle = True

    async def send(self, messages: Sequence[Message]) -> None:
        """Append what is new and ask for an answer.

        Raises:
            SessionLostError: the session is gone.
        """
        self._idle = False
        last, self._last = self._last, None
        fresh, removals = unanswered(messages), list[dict[str, Any]]()
        if last is not None and (last.cut or not ends_alike("".join(last.texts), messages)):
            fresh = messages
            removals = [{"type": "conversation.item.delete", "item_id": item} for item in last.items]
            self._usage.removing(last.kept)
        self._usage.sending(message["content"] for message in fresh)
        await self._send([*removals, *map(new_item, fresh), {"type": "response.create"}])

    async def receive(self) -> AsyncGenerator[Chunk, None]:
        """Stream the answer. When this is closed early, the response is cancelled and will be taken out.

        Raises:
            SessionLostError: the session is gone.
            ProviderError: the endpoint refused, failed or sent nonsense; the session is closed then.
        """
        answer = Answer(self._endpoint)
        try:
            async with aclosing(self._read(answer)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except ProviderError:
            await self.close()
            raise
        except (GeneratorExit, asyncio.CancelledError):
            if not answer.ended:
                await self._cancel(answer)
            raise

    async def close(self) -> None:
        """Close the connection."""
        self._idle = False
        await self._socket.close()

    async def _read(self, answer: Answer) -> AsyncGenerator[Chunk, None]:
        while not answer.ended:
            if text := answer.read(*await self._next(first=not answer.texts)):
                yield TextDelta(text)
        rest = answer.close()
        finish = answer.finish()
        usage = self._account(answer)
        if rest:
            yield TextDelta(rest)
        yield usage
        check_ending(self._endpoint, finish, wrote_text=bool(answer.texts))

    async def _cancel(self, answer: Answer) -> None:
        """End the response. Where that cannot be done in time, the connection is closed."""
        try:
            async with asyncio.timeout(CANCELLING):
                await self._socket.send({"type": "response.cancel"})
                while not answer.ended:
                    answer.read(*await self._next())
        except (ProviderError, TimeoutError):
            await self.close()
            return
        answer.cut = True
        self._account(answer)

    def _account(self, answer: Answer) -> Usage:
        """Count the answer, with which the round is over."""
        self._last = answer
        self._idle = True
        reported = table(answer.response.get("usage"))
        billed, output = count_of(reported.get("input_tokens")), count_of(reported.get("output_tokens"))
        if billed is None or output is None:
            usage = self._usage.estimated(answer.texts)
            answer.kept = usage.output
            return usage
        cached = count_of(table(reported.get("input_token_details")).get("cached_tokens"))
        thought = count_of(table(reported.get("output_token_details")).get("reasoning_tokens")) or 0
        answer.kept = max(0, output - thought)
        return self._usage.reported(billed, output, cached=cached, kept=answer.kept)

    async def _send(self, frames: Sequence[Mapping[str, Any]]) -> None:
        for frame in frames:
            await self._socket.send(frame)

    async def _taken(self, items: int) -> None:
        """Wait until the settings and so many items have been acknowledged."""
        configured = False
        while items or not configured:
            kind = (await self._next(first=True))[0]
            configured = configured or kind == "session.updated"
            items -= kind == "conversation.item.added"

    async def _next(self, *, first: bool = False) -> tuple[str, dict[str, Any]]:
        """The next event that has not come before, by its id, and its type."""
        while True:
            frame = await self._socket.receive(first=first)
            id = text_of(frame.get("event_id"))
            if id and id in self._recent:
                continue
            self._recent.append(id)
            return event_type(self._endpoint, frame), frame
