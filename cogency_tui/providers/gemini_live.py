"""Sessions over Gemini's Live API, in text: Google keeps the conversation as long as it lasts.

The history is given once, as turns that ask for no answer; each round is one turn more. Before Google ends
a connection it says so, and where it has given a handle the next round goes on with that, over another
connection. There is no way to cancel an answer but to close the connection.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Self

from cogency_tui.errors import NetworkError, ProviderTimeoutError, SessionLostError, SessionRefusedError
from cogency_tui.protocol.events import Message
from cogency_tui.providers.base import Chunk, Notice, ReasoningDelta, Session, TextDelta, Usage, unanswered
from cogency_tui.providers.deltas import SurrogateJoiner
from cogency_tui.providers.endings import check_ending, check_memory
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.gemini_live_link import LiveLink, live_url
from cogency_tui.providers.gemini_usage import RepeatingUsage
from cogency_tui.providers.gemini_wire import VERSION, contents, resource_name, system_field, texts_of
from cogency_tui.providers.requests import Opener
from cogency_tui.providers.transport import Timeouts
from cogency_tui.providers.wire import Finish, count_of, table, text_of

SETTLE = 1.0
"""Seconds to wait for the handle of a session whose connection is about to end."""

_REASONS: Mapping[str, Finish] = {
    "": "stop",
    "TURN_COMPLETE_REASON_UNSPECIFIED": "stop",
    "NEED_MORE_INPUT": "other",
    "MALFORMED_FUNCTION_CALL": "other",
    "INPUT_OTHER": "other",
}
"""Why a turn ended. All other reasons are those of a filter."""


def live_sessions(endpoint: Endpoint, timeouts: Timeouts | None = None, *, version: str = VERSION) -> Opener:
    """What opens sessions with one model. `version` as for `live_url`."""

    async def open_session(messages: Sequence[Message]) -> Session:
        return await LiveSession.open(endpoint, live_url(endpoint.base_url, version), messages, timeouts)

    return open_session


class LiveSession:
    """One conversation, over one connection after another. `setup` is what each begins with, `link` the
    first of them, and `seed` what it was given."""

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
        """Connect and give the history.

        Raises:
            SessionRefusedError: there are no such sessions for this model.
            ProviderError: none is to be had now.
        """
        setup: dict[str, Any] = {
            "model": resource_name(endpoint.model),
            "generationConfig": {"responseModalities": ["TEXT"]},
            **system_field(seed),
            # Without a window that slides a full one would end the session.
            "contextWindowCompression": {"slidingWindow": {}},
        }
        link = await LiveLink.open(endpoint, url, {**setup, "sessionResumption": {}}, timeouts)
        session = cls(endpoint, url, setup, link, seed, timeouts)
        if turns := contents(seed):
            try:
                await link.say(turns, complete=False)
            except BaseException:
                await link.close()
                raise
        return session

    @property
    def reusable(self) -> bool:
        """Whether its last answer came to its own end. Whether the connection still stands, or another can
        be had, shows with the next `send`."""
        return self._whole

    async def send(self, messages: Sequence[Message]) -> None:
        """Ask for an answer to `messages`, over a new connection where the old one has ended or is about to.

        Raises:
            SessionLostError: the session is gone, or remembers more than the store.
            ProviderError: no other connection is to be had.
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
        await self._link.say(contents(new), complete=True)

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
                # The counts may come in parts, and the last part empty.
                reported |= table(frame.get("usageMetadata"))
                content = table(frame.get("serverContent"))
                interrupted = interrupted or bool(content.get("interrupted"))
                over = bool(content.get("turnComplete")) and content.get("interactionStatus") != "IN_PROGRESS"
                said, thought = texts_of(table(content.get("modelTurn")))
                if reasoning := reasonings.feed(thought):
                    written.append(reasoning)
                    yield ReasoningDelta(reasoning)
                if text := texts.feed(said) + (texts.close() if over else ""):
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
                f"{self._endpoint.name} broke its answer off.", "What came before it is kept; try again."
            )
        check_ending(self._endpoint, finish, wrote_text=bool(answer), reasoned=bool(written))

    async def close(self) -> None:
        """Close the connection."""
        self._whole = False
        await self._link.close()

    async def _next(self, *, first: bool = False) -> dict[str, Any]:
        """The next frame, with what it says of the session taken note of."""
        frame = await self._link.receive(first=first)
        while self._asked and frame.get("usageMetadata") and frame == self._last:
            # The end of the answer before, once more: there are no numbers to know it by, but its counts.
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
        """Read what came since the last answer; with `seconds`, wait so long for a handle."""
        try:
            async with asyncio.timeout(seconds):
                while not (seconds and self._handle):
                    await self._next()
        except (TimeoutError, ProviderTimeoutError, SessionLostError, SessionRefusedError):
            return

    async def _move(self) -> None:
        """Go on over another connection."""
        name = self._endpoint.name
        hint = "What came before it is kept; try again."
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
        self._notices.append(Notice(f"{name} ended the connection; the session goes on over another."))

    def _used(self, reported: Mapping[str, Any], written: Sequence[str]) -> Usage:
        billed = count_of(reported.get("promptTokenCount"))
        output = count_of(reported.get("responseTokenCount"))
        if billed is None or output is None:
            return self._usage.estimated(written)
        thought = count_of(reported.get("thoughtsTokenCount")) or 0
        cached = count_of(reported.get("cachedContentTokenCount"))
        return self._usage.reported(billed, output + thought, cached=cached, kept=output)
