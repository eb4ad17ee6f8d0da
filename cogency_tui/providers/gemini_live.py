"""Sessions over Gemini's Live API, in text, and their connections: Google has the conversation as long as
the session lasts.

The history is sent once, as turns that request no answer; each round is one turn more. Google announces the
end of a connection, and where it has given a handle, the next round continues with that over another
connection. Closing the connection is the only way to cancel an answer.

A close code says little (1007 is a wrong key as well as a model without text); its reason is what an HTTP
answer would have reported.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

from cogency_tui.errors import (
    AuthenticationError,
    ContextTooLongError,
    NetworkError,
    PermissionDeniedError,
    ProviderError,
    ProviderTimeoutError,
    RateLimitError,
    SessionLostError,
    SessionRefusedError,
)
from cogency_tui.protocol.messages import Message
from cogency_tui.providers import failures
from cogency_tui.providers.base import (
    PLAIN,
    Chunk,
    Notice,
    Options,
    ProviderSession,
    ReasoningDelta,
    TextDelta,
    Usage,
    unanswered,
)
from cogency_tui.providers.ending_checks import check_ending, check_memory
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.gemini import (
    VERSION,
    key_header,
    resource_name,
    stated_version,
    texts_of,
)
from cogency_tui.providers.gemini_content import contents, system_field
from cogency_tui.providers.http_provider import Opener
from cogency_tui.providers.http_transport import Timeouts
from cogency_tui.providers.surrogates import SurrogateJoiner
from cogency_tui.providers.token_counting import RepeatingUsage
from cogency_tui.providers.websocket_transport import Socket, socket_url
from cogency_tui.providers.wire_protocol import Finish, count_of, table, text_of

LABEL = "Live"

_INTERNAL = 1011
"""Close code with which some models refuse to answer in text, and with which others just end."""


class LiveLink:
    """A connection that is set up. `answered` is set once the model has answered over it: before that, an
    internal error counts as a model that cannot answer in text."""

    def __init__(self, endpoint: Endpoint, socket: Socket) -> None:
        self.answered = False
        self._endpoint = endpoint
        self._socket = socket

    @classmethod
    async def open(
        cls, endpoint: Endpoint, url: str, setup: Mapping[str, Any], timeouts: Timeouts | None = None
    ) -> Self:
        """Connect to `url` and set the session up.

        Raises:
            SessionRefusedError: there are no such sessions for this model.
            ProviderError: none can be opened now.
        """
        link = cls(endpoint, await Socket.open(endpoint, LABEL, url, key_header(endpoint), timeouts))
        try:
            await link._send({"setup": setup})
            while "setupComplete" not in await link.receive(first=True):
                pass
        except BaseException:
            await link.close()
            raise
        return link

    @property
    def is_open(self) -> bool:
        """True if it is not known to have ended."""
        return self._socket.is_open

    async def add(self, turns: Sequence[Mapping[str, Any]], *, complete: bool) -> None:
        """Add turns to the conversation; `complete` requests an answer.

        Raises:
            ProviderError: the connection is gone, or the endpoint refused.
        """
        await self._send({"clientContent": {"turns": turns, "turnComplete": complete}})

    async def receive(self, *, first: bool = False) -> dict[str, Any]:
        """Return the next frame. `first` allows the time for a first byte.

        Raises:
            ProviderError: the connection is gone, the endpoint refused, or its frame is malformed.
        """
        with self._understood():
            frame = await self._socket.receive(first=first)
        if frame.get("error") or ("code" in frame and "message" in frame):
            raise failures.from_frame(self._endpoint, frame)
        return frame

    async def close(self) -> None:
        await self._socket.close()

    async def _send(self, frame: Mapping[str, Any]) -> None:
        with self._understood():
            await self._socket.send(frame)

    @contextmanager
    def _understood(self) -> Generator[None, None, None]:
        from websockets.exceptions import ConnectionClosed

        try:
            yield
        except ProviderError as error:
            cause = error.__cause__
            if isinstance(cause, ConnectionClosed) and cause.rcvd is not None:
                meaning = self._meaning(cause.rcvd.code, cause.rcvd.reason)
                if meaning is not None:
                    raise meaning from error
            raise

    def _meaning(self, code: int, reason: str) -> ProviderError | None:
        """Return the error of a close, where it differs from that of its code."""
        text = failures.from_status(self._endpoint, 429 if "quota" in reason.lower() else 400, {}, reason)
        if isinstance(
            text, AuthenticationError | PermissionDeniedError | RateLimitError | ContextTooLongError
        ):
            return text
        if code != _INTERNAL or self.answered:
            return None
        words = self._endpoint.quote(reason)
        return SessionRefusedError(
            f"{self._endpoint.name} ended the {LABEL} session ({code}{': ' + words if words else ''}).",
            "Use replay mode, or choose another model.",
        )


def live_url(base_url: str, version: str = VERSION) -> str:
    """Return the address of the Live API below a base URL. A version at its end overrides `version`, and is
    no part of the address."""
    stated = stated_version(base_url)
    root = base_url.rstrip("/").removesuffix(f"/{stated}" if stated else "")
    service = f"google.ai.generativelanguage.{stated or version}.GenerativeService.BidiGenerateContent"
    return socket_url(root, f"/ws/{service}")


SETTLE = 1.0
"""Seconds to wait for the handle of a session whose connection is about to end."""

_REASONS: Mapping[str, Finish] = {
    "": "stop",
    "TURN_COMPLETE_REASON_UNSPECIFIED": "stop",
    "NEED_MORE_INPUT": "other",
    "MALFORMED_FUNCTION_CALL": "other",
    "INPUT_OTHER": "other",
}
"""Reasons for the end of a turn. All others are those of a filter."""


def live_sessions(endpoint: Endpoint, timeouts: Timeouts | None = None, *, version: str = VERSION) -> Opener:
    """Return a function that opens sessions with one model. `version` as for `live_url`."""

    async def open_session(messages: Sequence[Message], options: Options = PLAIN) -> ProviderSession:
        del options
        return await LiveSession.open(endpoint, live_url(endpoint.base_url, version), messages, timeouts)

    return open_session


class LiveSession:
    """One conversation, over consecutive connections. Each begins with `setup`; `link` is the first of
    them, and `seed` its context."""

    expires: float | None = None

    def __init__(
        self,
        endpoint: Endpoint,
        url: str,
        setup: Mapping[str, Any],
        link: LiveLink,
        seed: Sequence[Message],
        timeouts: Timeouts | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._url = url
        self._setup = setup
        self._link = link
        self._timeouts = timeouts
        self._usage = RepeatingUsage(seed)
        self._notices: list[Notice] = []
        self._answer = ""
        self._last: dict[str, Any] = {}
        self._handle = ""
        self._leaving = False
        self._asked = False
        self._whole = True

    @classmethod
    async def open(
        cls, endpoint: Endpoint, url: str, seed: Sequence[Message], timeouts: Timeouts | None = None
    ) -> Self:
        """Connect and send the history.

        Raises:
            SessionRefusedError: there are no such sessions for this model.
            ProviderError: none can be opened now.
        """
        setup: dict[str, Any] = {
            "model": resource_name(endpoint.model),
            "generationConfig": {"responseModalities": ["TEXT"]},
            **system_field(seed),
            # Without a sliding window a full one would end the session.
            "contextWindowCompression": {"slidingWindow": {}},
        }
        link = await LiveLink.open(endpoint, url, {**setup, "sessionResumption": {}}, timeouts)
        session = cls(endpoint, url, setup, link, seed, timeouts)
        if turns := contents(seed):
            try:
                await link.add(turns, complete=False)
            except BaseException:
                await link.close()
                raise
        return session

    @property
    def reusable(self) -> bool:
        """True if its last answer was complete. Whether the connection is open, or another can be opened,
        shows with the next `send`."""
        return self._whole

    async def send(self, messages: Sequence[Message]) -> None:
        """Request an answer to `messages`, over a new connection where the old one has ended or is about
        to.

        Raises:
            SessionLostError: the session is gone, or remembers more than the store.
            ProviderError: no other connection can be opened.
        """
        check_memory(self._endpoint, self._answer, messages)
        new = unanswered(messages)
        await self._catch_up(0)
        if self._leaving and not self._handle:
            await self._catch_up(SETTLE)
        if self._leaving or not self._link.is_open:
            await self._move()
        self._usage.sending(new)
        # A handle is for the conversation as it was.
        self._handle, self._asked, self._whole = "", True, False
        await self._link.add(contents(new), complete=True)

    async def receive(self) -> AsyncGenerator[Chunk, None]:
        """Stream the answer. An early close closes the connection.

        Raises:
            SessionLostError: the session is gone.
            SessionRefusedError: the model does not answer in text here.
            ProviderError: the endpoint refused, failed or broke off.
        """
        texts, reasonings = SurrogateJoiner(), SurrogateJoiner()
        written: list[str] = []
        answer: list[str] = []
        reported: dict[str, Any] = {}
        content: dict[str, Any] = {}
        frame: dict[str, Any] = {}
        interrupted = over = False
        try:
            while self._notices:
                yield self._notices.pop(0)
            while not over:
                frame = await self._next(first=not written)
                # The counts may arrive in parts, and the last part be empty.
                reported |= table(frame.get("usageMetadata"))
                content = table(frame.get("serverContent"))
                interrupted = interrupted or bool(content.get("interrupted"))
                over = bool(content.get("turnComplete")) and content.get("interactionStatus") != "IN_PROGRESS"
                message, thought = texts_of(table(content.get("modelTurn")))
                if reasoning := reasonings.feed(thought):
                    written.append(reasoning)
                    yield ReasoningDelta(reasoning)
                if text := texts.feed(message) + (texts.close() if over else ""):
                    written.append(text)
                    answer.append(text)
                    yield TextDelta(text)
            finish = _REASONS.get(text_of(content.get("turnCompleteReason")), "filter")
            self._link.answered = True
            self._whole = finish == "stop" and not interrupted
            self._answer = "".join(answer)
            self._last = frame
            yield self._used(reported, written)
        finally:
            if not self._whole:
                await self.close()
        if interrupted:
            raise NetworkError(
                f"{self._endpoint.name} cut off the response.", "The text so far is saved; try again."
            )
        check_ending(self._endpoint, finish, wrote=bool(answer), reasoned=bool(written))

    async def close(self) -> None:
        """Close the connection."""
        self._whole = False
        await self._link.close()

    async def _next(self, *, first: bool = False) -> dict[str, Any]:
        """Return the next frame, and record its information about the session."""
        frame = await self._link.receive(first=first)
        while self._asked and frame.get("usageMetadata") and frame == self._last:
            # A repeated end of the answer before: it has no number, but its counts identify it.
            frame = await self._link.receive(first=first)
        self._asked = self._asked and "serverContent" not in frame
        self._leaving = self._leaving or "goAway" in frame
        # Until the answer begins, an update may be for the conversation before the question.
        if "sessionResumptionUpdate" in frame and not self._asked:
            update = table(frame["sessionResumptionUpdate"])
            # It is empty where the conversation cannot be resumed as it is.
            self._handle = text_of(update.get("newHandle"))
        return frame

    async def _catch_up(self, seconds: float) -> None:
        """Read the frames since the last answer; with `seconds`, wait so long for a handle."""
        try:
            async with asyncio.timeout(seconds):
                while not (seconds and self._handle):
                    await self._next()
        except (TimeoutError, ProviderTimeoutError, SessionLostError, SessionRefusedError):
            return

    async def _move(self) -> None:
        """Continue over another connection."""
        name = self._endpoint.name
        hint = "The text so far is saved; try again."
        # A handle is refused while the connection that it came over is open.
        await self._link.close()
        if not self._handle:
            raise SessionLostError(f"{name} has ended the session.", hint)
        setup = {**self._setup, "sessionResumption": {"handle": self._handle}}
        try:
            self._link = await LiveLink.open(self._endpoint, self._url, setup, self._timeouts)
        except SessionRefusedError as error:
            raise SessionLostError(f"{name} no longer has the session: {error}", hint) from error
        self._link.answered = True
        self._leaving = False
        self._usage.repeating()
        self._notices.append(Notice(f"{name} ended the connection; the session continues over a new one."))

    def _used(self, reported: Mapping[str, Any], written: Sequence[str]) -> Usage:
        billed = count_of(reported.get("promptTokenCount"))
        output = count_of(reported.get("responseTokenCount"))
        if billed is None or output is None:
            return self._usage.estimated(written)
        thought = count_of(reported.get("thoughtsTokenCount")) or 0
        cached = count_of(reported.get("cachedContentTokenCount"))
        return self._usage.reported(billed, output + thought, cached=cached, retained=output)
