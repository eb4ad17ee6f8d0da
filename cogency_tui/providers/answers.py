"""One answer over HTTP, whatever its wire protocol.

The text that leaves it is what the model wrote, and every delta is valid Unicode.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from cogency_tui.errors import NetworkError, ProviderError
from cogency_tui.protocol.events import Message
from cogency_tui.providers.base import Chunk, ReasoningDelta, TextDelta, Usage
from cogency_tui.providers.deltas import SurrogateJoiner
from cogency_tui.providers.endings import check_ending
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.failures import UnsupportedParameterError
from cogency_tui.providers.tokens import estimate_tokens
from cogency_tui.providers.transport import HttpTransport, Timeouts
from cogency_tui.providers.wire import Finish, Reader, Wire

if TYPE_CHECKING:
    from httpx_sse import ServerSentEvent

DRAIN = 0.5
"""Seconds to wait for the end of a finished stream, so that its connection can be used again."""


class Answers:
    """Answers of one endpoint in one wire protocol, each asked for once. Remembers what it refuses."""

    def __init__(self, endpoint: Endpoint, wire: Wire, timeouts: Timeouts | None = None) -> None:
        self._endpoint = endpoint
        self._wire = wire
        self._transport = HttpTransport(endpoint, wire.headers(), timeouts)
        self._refused: set[str] = set()

    async def models(self) -> list[str]:
        """The models that the endpoint lists.

        Raises:
            ProviderError: it refused or failed.
        """
        return self._wire.models(await self._transport.fetch(self._wire.models_path))

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def stream(self, messages: Sequence[Message]) -> AsyncGenerator[Chunk, None]:
        """Ask, once more for each optional parameter that the model turns out to refuse. Closing the
        iterator early closes the response.

        Raises:
            ProviderError: the endpoint refused, failed or broke off.
        """
        while True:
            answer = _Answer(self._endpoint, self._wire.reader())
            body = self._wire.encode(messages, self._refused)
            try:
                async with aclosing(self._transport.events(self._wire.path, body)) as events:
                    async with aclosing(answer.read(events)) as chunks:
                        async for chunk in chunks:
                            yield chunk
                    await _drain(events)
            except UnsupportedParameterError as refusal:
                if refusal.param in self._refused:
                    raise
                self._refused.add(refusal.param)
                continue
            break
        yield answer.usage or _estimate(messages, answer.written)
        reasoned = bool(answer.written)
        check_ending(self._endpoint, answer.finish, wrote_text=answer.wrote_text, reasoned=reasoned)


class _Answer:
    """What one streamed answer has brought so far."""

    def __init__(self, endpoint: Endpoint, reader: Reader) -> None:
        self.written: list[str] = []
        self.wrote_text = False
        self.finish: Finish = ""
        self.usage: Usage | None = None
        self._endpoint = endpoint
        self._reader = reader
        self._complete = False

    async def read(self, events: AsyncGenerator["ServerSentEvent", None]) -> AsyncGenerator[Chunk, None]:
        """Yield text and reasoning until the stream says that it is complete, or ends."""
        texts, reasonings = SurrogateJoiner(), SurrogateJoiner()
        try:
            async for event in events:
                frame = self._reader.read(event.event, event.data)
                self.finish = frame.finish or self.finish
                self.usage = frame.usage or self.usage
                if reasoning := reasonings.feed(frame.reasoning):
                    self.written.append(reasoning)
                    yield ReasoningDelta(reasoning)
                if text := texts.feed(frame.text):
                    self._add(text)
                    yield TextDelta(text)
                if frame.complete:
                    self._complete = True
                    break
        except ProviderError:
            # Some servers never close or drop the connection once all has been said.
            if not self.finish:
                raise
        if text := texts.close():
            self._add(text)
            yield TextDelta(text)
        if not (self.finish or self._complete):
            raise NetworkError(
                f"{self._endpoint.name} ended its stream in mid-answer.",
                "What came before it is kept; try again.",
            )

    def _add(self, text: str) -> None:
        self.written.append(text)
        self.wrote_text = True


async def _drain(events: AsyncGenerator["ServerSentEvent", None]) -> None:
    """Read on to the end of a body that is complete."""
    try:
        async with asyncio.timeout(DRAIN):
            async for _event in events:
                pass
    except (TimeoutError, ProviderError):
        return


def _estimate(messages: Sequence[Message], written: Iterable[str]) -> Usage:
    return Usage(
        estimate_tokens(each["content"] for each in messages), estimate_tokens(written), estimated=True
    )
