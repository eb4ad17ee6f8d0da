"""A provider over HTTP in any wire protocol: one request for each answer in replay mode, and sessions where
there are any.

Its deltas are exactly the model's text, and each is valid Unicode. Nothing is requested again once a token
has been yielded.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol

from cogency_tui.errors import NetworkError, ProviderError, SessionRefusedError
from cogency_tui.protocol.messages import Message, images_in
from cogency_tui.providers.base import (
    PLAIN,
    CallDelta,
    Chunk,
    Options,
    ProviderSession,
    ReasoningDelta,
    TextDelta,
    Usage,
)
from cogency_tui.providers.ending_checks import check_ending
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_transport import HttpTransport, Timeouts, Wait, with_retries
from cogency_tui.providers.image_tokens import tokens_of_images
from cogency_tui.providers.models import ListedModel, ModelFacts
from cogency_tui.providers.refused_parameters import (
    UnsupportedParameterError,
    notice_of_refusal,
    refused_name,
    without_refused,
)
from cogency_tui.providers.surrogates import SurrogateJoiner
from cogency_tui.providers.token_counting import estimate_tokens, tokens_of
from cogency_tui.providers.wire_protocol import Finish, Reader, Wire

if TYPE_CHECKING:
    from httpx_sse import ServerSentEvent


DRAIN = 0.5
"""Seconds to wait for the end of a finished stream, so that its connection can be reused."""


class EndpointRequests:
    """Requests to one endpoint in one wire protocol, without retries. Adds the parameters that it refuses to
    `refused`, and leaves them out."""

    def __init__(
        self,
        endpoint: Endpoint,
        wire: Wire,
        timeouts: Timeouts | None = None,
        refused: set[str] | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._wire = wire
        self._transport = HttpTransport(endpoint, wire.headers(), timeouts)
        self._refused: set[str] = set() if refused is None else refused

    async def models(self) -> list[ListedModel]:
        """List the endpoint's models.

        Raises:
            ProviderError: it refused or failed.
        """
        return self._wire.models(await self._transport.fetch(self._wire.models_path))

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def stream(
        self, messages: Sequence[Message], options: Options = PLAIN, *, wrote: bool = False
    ) -> AsyncGenerator[Chunk, None]:
        """Request an answer, again for each optional parameter that the model turns out to refuse. Closing
        the iterator early closes the response. `wrote` marks the rest of an answer that has text already.

        Raises:
            ProviderError: the endpoint refused, failed or broke off.
        """
        while True:
            options = without_refused(options, self._refused)
            answer = _Answer(self._endpoint, self._wire.reader(options))
            body = self._wire.encode(messages, self._refused, options)
            try:
                async with aclosing(self._transport.events(self._wire.path, body)) as events:
                    async with aclosing(answer.read(events)) as chunks:
                        async for chunk in chunks:
                            yield chunk
                    await _drain(events)
            except UnsupportedParameterError as refusal:
                name = refused_name(refusal, options)
                if name in self._refused:
                    raise
                self._refused.add(name)
                if notice := notice_of_refusal(refusal, options, self._endpoint):
                    yield notice
                continue
            break
        yield answer.usage or _estimate(self._endpoint.model, messages, answer.characters)
        reasoned = answer.characters > 0
        for cut in check_ending(
            self._endpoint, answer.finish, wrote=wrote or answer.wrote, reasoned=reasoned
        ):
            yield cut


class _Answer:
    """A streamed answer as received so far."""

    def __init__(self, endpoint: Endpoint, reader: Reader) -> None:
        self.characters = 0
        """Of the text, the reasoning and the calls."""
        self.wrote = False
        """True if there is text, or a call."""
        self.finish: Finish = ""
        self.usage: Usage | None = None
        self._endpoint = endpoint
        self._reader = reader
        self._complete = False

    async def read(self, events: AsyncGenerator["ServerSentEvent", None]) -> AsyncGenerator[Chunk, None]:
        """Yield its parts until the stream reports its end, or ends."""
        texts, reasonings = SurrogateJoiner(), SurrogateJoiner()
        try:
            async for event in events:
                frame = self._reader.read(event.event, event.data)
                self.finish = frame.finish or self.finish
                self.usage = frame.usage or self.usage
                if reasoning := reasonings.feed(frame.reasoning):
                    self.characters += len(reasoning)
                    yield ReasoningDelta(reasoning)
                for item in frame.before:
                    yield item
                if text := texts.feed(frame.text):
                    self._add(text)
                    yield TextDelta(text)
                for part in frame.native:
                    if isinstance(part, CallDelta):
                        self._add(part.arguments)
                    yield part
                if frame.complete:
                    self._complete = True
                    break
        except ProviderError:
            # Some servers never close or drop the connection after the last event.
            if not self.finish:
                raise
        if text := texts.close():
            self._add(text)
            yield TextDelta(text)
        if not (self.finish or self._complete):
            raise NetworkError(
                f"{self._endpoint.name} closed the stream mid-response.",
                "The text so far is saved; try again.",
            )

    def _add(self, text: str) -> None:
        self.characters += len(text)
        self.wrote = True


async def _drain(events: AsyncGenerator["ServerSentEvent", None]) -> None:
    """Read a complete body to its end."""
    try:
        async with asyncio.timeout(DRAIN):
            async for _event in events:
                pass
    except (TimeoutError, ProviderError):
        return


def _estimate(model: str, messages: Sequence[Message], written: int) -> Usage:
    """Estimate the usage of an answer with this many characters."""
    text, images = estimate_tokens(each["content"] for each in messages), images_in(messages)
    return Usage(text + tokens_of_images(model, images), tokens_of(written), estimated=True)


class Opener(Protocol):
    """Opens a session seeded with messages, as `Provider.connect`."""

    def __call__(
        self, messages: Sequence[Message], options: Options = PLAIN
    ) -> Awaitable[ProviderSession]: ...


class HttpProvider:
    """One model behind one endpoint. It has sessions where `sessions` opens them, and `native` calls."""

    def __init__(
        self,
        endpoint: Endpoint,
        wire: Wire,
        *,
        sessions: Opener | None = None,
        native: bool = False,
        facts: ModelFacts | None = None,
        timeouts: Timeouts | None = None,
        wait: Wait = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.name = endpoint.name
        self.model = endpoint.model
        self.facts = facts or ModelFacts()
        self.native = native
        self._label = wire.label
        self._sessions = sessions
        self._answers = EndpointRequests(endpoint, wire, timeouts)
        self._wait = wait
        self._jitter = jitter

    @property
    def resumes(self) -> bool:
        """True if sessions can be opened."""
        return self._sessions is not None

    async def stream(
        self, messages: Sequence[Message], options: Options = PLAIN
    ) -> AsyncGenerator[Chunk, None]:
        """Answer `messages`, with retries where these may help.

        Raises:
            ProviderError: the endpoint refused, failed or broke off.
        """
        attempts = with_retries(
            lambda: self._answers.stream(messages, options), wait=self._wait, jitter=self._jitter
        )
        async with aclosing(attempts) as chunks:
            async for chunk in chunks:
                yield chunk

    async def connect(self, messages: Sequence[Message], options: Options = PLAIN) -> ProviderSession:
        """Open a session seeded with `messages`.

        Raises:
            SessionRefusedError: there are none here.
            ProviderError: none can be opened now.
        """
        if self._sessions is None:
            raise SessionRefusedError(
                f"{self.name} uses {self._label}, which has no sessions.",
                "Use replay mode: /mode replay, or --mode replay.",
            )
        return await self._sessions(messages, options)

    async def models(self) -> list[ListedModel]:
        """List the endpoint's models.

        Raises:
            ProviderError: it refused or failed.
        """
        return await self._answers.models()

    async def close(self) -> None:
        """Close the connections."""
        await self._answers.close()
