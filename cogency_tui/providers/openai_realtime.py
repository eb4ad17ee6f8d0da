"""OpenAI's Realtime API as a session, with text alone: its events, and the session over a socket.

The conversation is a list of items at the endpoint, and is made equal to the stored one: a round appends
what is new, and an answer that was cancelled is removed again and replaced by its stored part. Only text is
requested, and events of audio are ignored.
"""

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any
from urllib.parse import urlencode

from cogency_tui.errors import ProviderError, SessionLostError, SessionRefusedError
from cogency_tui.protocol.messages import Message
from cogency_tui.providers import failures
from cogency_tui.providers.base import PLAIN, Chunk, Options, ProviderSession, TextDelta, Usage, unanswered
from cogency_tui.providers.ending_checks import check_ending, ends_alike
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_provider import Opener
from cogency_tui.providers.http_transport import Timeouts
from cogency_tui.providers.surrogates import SurrogateJoiner, whole_text
from cogency_tui.providers.token_counting import SessionUsage
from cogency_tui.providers.websocket_transport import Socket, socket_url
from cogency_tui.providers.wire_protocol import Finish, bearer, count_of, malformed, table, text_of

LABEL = "Realtime"

_HARMLESS = frozenset({"response_cancel_not_active", "item_delete_invalid_item_id"})
"""Errors of a cancel that came too late and of an item that does not exist: the state is the wanted one."""

_NO_SESSIONS = frozenset({"invalid_model", "missing_model", "beta_api_shape_disabled"})

_FINISHES: Mapping[str, Finish] = {"max_output_tokens": "length", "content_filter": "filter"}


def settings(instructions: str) -> dict[str, Any]:
    """Request text alone, no listening, and no silent truncation of the context. The instructions are sent
    even where they are empty, because the endpoint has defaults of its own."""
    session = {
        "type": "realtime",
        "output_modalities": ["text"],
        "instructions": whole_text(instructions),
        "audio": {"input": {"turn_detection": None}},
        "truncation": "disabled",
    }
    return {"type": "session.update", "session": session}


def new_item(message: Message) -> dict[str, Any]:
    """Build the event that appends a message to the conversation."""
    kind = "output_text" if message["role"] == "assistant" else "input_text"
    content = [{"type": kind, "text": whole_text(message["content"])}]
    return {
        "type": "conversation.item.create",
        "item": {"type": "message", "role": message["role"], "content": content},
    }


def event_type(endpoint: Endpoint, frame: dict[str, Any]) -> str:
    """Return the type of a server's event, unless it is an error that matters.

    Raises:
        ProviderProtocolError: it has none.
        ProviderError: the error that it reports.
    """
    kind = text_of(frame.get("type"))
    if not kind:
        raise malformed(endpoint, LABEL, json.dumps(frame))
    if kind == "error" and text_of(table(frame.get("error")).get("code")) not in _HARMLESS:
        raise _reported(endpoint, frame)
    return kind


def _reported(endpoint: Endpoint, frame: dict[str, Any]) -> ProviderError:
    error = table(frame.get("error"))
    code, words = text_of(error.get("code")), endpoint.quote(text_of(error.get("message")))
    if code == "session_expired":
        return SessionLostError(
            f"{endpoint.name} ended the session: {words}", "The text so far is saved; try again."
        )
    if code in _NO_SESSIONS:
        return SessionRefusedError(
            f"{endpoint.name} has no {LABEL} session for {endpoint.model}: {words}",
            "Use replay mode, or choose another model.",
        )
    return failures.from_frame(endpoint, frame)


class RealtimeAnswer:
    """One response as received so far. `items` are the ids of the items that it added to the conversation,
    `response` is the endpoint's report at its end; `cut` marks a cancelled one. `retained` is the number of
    its tokens that stay in the context."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.items: list[str] = []
        self.texts: list[str] = []
        self.response: dict[str, Any] = {}
        self.ended = False
        self.cut = False
        self.retained = 0
        self._endpoint = endpoint
        self._joiner = SurrogateJoiner()

    def read(self, kind: str, frame: dict[str, Any]) -> str:
        """Read one event; return its text.

        Raises:
            ProviderProtocolError: its content does not match its type.
        """
        match kind, frame:
            case "response.output_text.delta", {"delta": str(delta)}:
                return self._add(self._joiner.feed(delta))
            case "response.output_item.added", {"item": {"id": str(item)}}:
                self.items.append(item)
            case "response.done", {"response": dict()}:
                self.response = table(frame["response"])
                self.ended = True
            case "response.output_text.delta" | "response.output_item.added" | "response.done", _:
                raise malformed(self._endpoint, LABEL, json.dumps(frame))
            case _:
                pass
        return ""

    def close(self) -> str:
        """Return the rest of the text."""
        return self._add(self._joiner.close())

    def finish(self) -> Finish:
        """Return why it ended.

        Raises:
            ProviderError: it failed, or the endpoint cancelled it.
        """
        status = text_of(self.response.get("status"))
        details = table(self.response.get("status_details"))
        if status == "failed":
            raise failures.from_frame(self._endpoint, details)
        if status == "cancelled":
            raise SessionLostError(
                f"{self._endpoint.name} cancelled the response.", "The text so far is saved; try again."
            )
        if status == "incomplete":
            return _FINISHES.get(text_of(details.get("reason")), "other")
        return "stop"

    def _add(self, text: str) -> str:
        if text:
            self.texts.append(text)
        return text


CANCELLING = 1.5
"""Seconds that the endpoint has to end a response that we cancelled."""

LIFETIME = 58 * 60.0
"""Seconds for which a session is used. The endpoint ends it after 60 minutes, even in mid-answer."""

_REMEMBERED = 64
"""Events whose ids are remembered: a duplicate comes soon after."""


def realtime_sessions(endpoint: Endpoint, timeouts: Timeouts | None = None) -> Opener:
    """Return a function that opens sessions of `endpoint`, whose model has to be one of the Realtime API."""

    async def open_seeded(messages: Sequence[Message], options: Options = PLAIN) -> ProviderSession:
        del options
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

    expires: float | None = None

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
        self._last: RealtimeAnswer | None = None
        self._recent: deque[str] = deque(maxlen=_REMEMBERED)

    @property
    def reusable(self) -> bool:
        """True if the endpoint waits for the next round, and the session's lifetime allows one."""
        return self._idle and self._socket.is_open and self._clock() < self._until

    async def seed(self, messages: Sequence[Message]) -> None:
        """Send the context, and check that the endpoint has accepted all of it. Call it once, first.

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
        # Both at once: each item is sent back, and an endpoint that cannot deliver it stops reading.
        sending = asyncio.create_task(self._send(frames))
        try:
            await self._taken(len(history))
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
        self._idle = True

    async def send(self, messages: Sequence[Message]) -> None:
        """Append the new messages and request an answer.

        Raises:
            SessionLostError: the session is gone.
        """
        self._idle = False
        last, self._last = self._last, None
        fresh, removals = unanswered(messages), list[dict[str, Any]]()
        if last is not None and (last.cut or not ends_alike("".join(last.texts), messages)):
            fresh = messages
            removals = [{"type": "conversation.item.delete", "item_id": item} for item in last.items]
            self._usage.removing(last.retained)
        self._usage.sending(message["content"] for message in fresh)
        await self._send([*removals, *map(new_item, fresh), {"type": "response.create"}])

    async def receive(self) -> AsyncGenerator[Chunk, None]:
        """Stream the answer. When this is closed early, the response is cancelled, and removed later.

        Raises:
            SessionLostError: the session is gone.
            ProviderError: the endpoint refused, failed or sent a malformed event; the session is closed then.
        """
        answer = RealtimeAnswer(self._endpoint)
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

    async def _read(self, answer: RealtimeAnswer) -> AsyncGenerator[Chunk, None]:
        while not answer.ended:
            if text := answer.read(*await self._next(first=not answer.texts)):
                yield TextDelta(text)
        rest = answer.close()
        finish = answer.finish()
        usage = self._account(answer)
        if rest:
            yield TextDelta(rest)
        yield usage
        check_ending(self._endpoint, finish, wrote=bool(answer.texts))

    async def _cancel(self, answer: RealtimeAnswer) -> None:
        """End the response. Where that takes too long, the connection is closed."""
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

    def _account(self, answer: RealtimeAnswer) -> Usage:
        """Record the answer's usage, which ends the round."""
        self._last = answer
        self._idle = True
        reported = table(answer.response.get("usage"))
        billed, output = count_of(reported.get("input_tokens")), count_of(reported.get("output_tokens"))
        if billed is None or output is None:
            usage = self._usage.estimated(answer.texts)
            answer.retained = usage.output
            return usage
        cached = count_of(table(reported.get("input_token_details")).get("cached_tokens"))
        thought = count_of(table(reported.get("output_token_details")).get("reasoning_tokens")) or 0
        answer.retained = max(0, output - thought)
        return self._usage.reported(billed, output, cached=cached, retained=answer.retained)

    async def _send(self, frames: Sequence[Mapping[str, Any]]) -> None:
        for frame in frames:
            await self._socket.send(frame)

    async def _taken(self, items: int) -> None:
        """Wait until the settings and this number of items have been acknowledged."""
        configured = False
        while items or not configured:
            kind = (await self._next(first=True))[0]
            configured = configured or kind == "session.updated"
            items -= kind == "conversation.item.added"

    async def _next(self, *, first: bool = False) -> tuple[str, dict[str, Any]]:
        """Return the type of the next event that is no duplicate, by its id, and the event."""
        while True:
            frame = await self._socket.receive(first=first)
            id = text_of(frame.get("event_id"))
            if id and id in self._recent:
                continue
            self._recent.append(id)
            return event_type(self._endpoint, frame), frame
