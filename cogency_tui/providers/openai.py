"""Chat Completions over HTTP, for OpenAI and every server that is compatible with it.

The text that leaves it is what the model wrote: a stop marker that the endpoint stripped is put back,
and every delta is valid Unicode. Nothing is asked again once a token has been yielded.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from cogency_tui.errors import BadRequestError, NetworkError, ProviderError, ProviderProtocolError
from cogency_tui.protocol.events import Message
from cogency_tui.providers.base import Chunk, ReasoningDelta, Session, TextDelta, Usage
from cogency_tui.providers.chat_wire import (
    SurrogateJoiner,
    decode_frame,
    encode_request,
    is_cut_inside_json,
    stripped_marker,
)
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.failures import UnsupportedParameterError
from cogency_tui.providers.retries import Wait, with_retries
from cogency_tui.providers.tokens import estimate_tokens
from cogency_tui.providers.transport import HttpTransport, Timeouts

if TYPE_CHECKING:
    from httpx_sse import ServerSentEvent

MOST_STOPS = 4
"""Stop markers that Chat Completions takes."""

DRAIN = 0.5
"""Seconds to wait for the end of a finished stream, so that its connection can be used again."""


class ChatProvider:
    """One model behind one Chat Completions endpoint, in replay mode only."""

    resumes = False

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        context_size: int = 0,
        timeouts: Timeouts | None = None,
        wait: Wait = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.name = endpoint.name
        self.model = endpoint.model
        self.context_size = context_size
        self._endpoint = endpoint
        self._transport = HttpTransport(endpoint, timeouts)
        self._wait = wait
        self._jitter = jitter
        self._refused: set[str] = set()

    async def stream(
        self, messages: Sequence[Message], *, stop: Sequence[str] = ()
    ) -> AsyncGenerator[Chunk, None]:
        """Answer `messages`. Usage comes before a marker that is put back, so that it is not lost when
        the marker ends the reader's interest.

        Raises:
            ProviderError: the endpoint refused, failed or broke off.
        """
        attempts = with_retries(lambda: self._attempt(messages, stop), wait=self._wait, jitter=self._jitter)
        async with aclosing(attempts) as chunks:
            async for chunk in chunks:
                yield chunk

    async def connect(
        self,
        messages: Sequence[Message],
        *,
        stop: Sequence[str] = (),
    ) -> Session:
        """Refuse: there are no sessions here.

        Raises:
            ProviderError: always.
        """
        raise ProviderError(
            f"{self.name} speaks Chat Completions, which has no sessions.",
            "Use replay mode.",
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def _attempt(self, messages: Sequence[Message], stop: Sequence[str]) -> AsyncGenerator[Chunk, None]:
        """Ask, once more for each optional parameter that the model turns out to refuse."""
        while True:
            answer = _Answer(self._endpoint)
            given = () if "stop" in self._refused else stop[:MOST_STOPS]
            body = encode_request(self.model, messages, given, self._refused)
            try:
                async with aclosing(self._transport.events("/chat/completions", body)) as events:
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
        text = "".join(answer.texts)
        marker = stripped_marker(text, given) if answer.finish == "stop" else ""
        if marker:
            if is_cut_inside_json(text, marker):
                # The marker was content of a call. Stopping there again would cut the next try as well.
                self._refused.add("stop")
            yield TextDelta(marker)
        answer.check()


class _Answer:
    """What one streamed completion has brought so far."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.texts: list[str] = []
        self.written: list[str] = []
        self.finish = ""
        self.usage: Usage | None = None
        self._endpoint = endpoint
        self._done = False

    async def read(self, events: AsyncGenerator["ServerSentEvent", None]) -> AsyncGenerator[Chunk, None]:
        """Yield text and reasoning until the stream says that it is complete, or ends."""
        texts, reasonings = SurrogateJoiner(), SurrogateJoiner()
        try:
            async for event in events:
                if event.data == "[DONE]":
                    self._done = True
                    break
                frame = decode_frame(self._endpoint, event.data)
                self.finish = frame.finish or self.finish
                self.usage = frame.usage or self.usage
                if reasoning := reasonings.feed(frame.reasoning):
                    self.written.append(reasoning)
                    yield ReasoningDelta(reasoning)
                if text := texts.feed(frame.text):
                    self._add(text)
                    yield TextDelta(text)
        except ProviderError:
            # Some servers never close or drop the connection once all has been said.
            if not self.finish:
                raise
        if text := texts.close():
            self._add(text)
            yield TextDelta(text)
        if not (self.finish or self._done):
            raise NetworkError(
                f"{self._endpoint.name} ended its stream in mid-answer.",
                "What came before it is kept; try again.",
            )

    def check(self) -> None:
        """Report an end that the text does not show.

        Raises:
            ProviderError: the answer is empty, or was cut off by a filter.
        """
        name = self._endpoint.name
        if self.finish == "content_filter":
            raise BadRequestError(
                f"The content filter of {name} cut the answer off.", "Put the request differently."
            )
        if self.texts:
            return
        if self.finish == "length":
            raise ProviderProtocolError(
                f"{name} used up the tokens of its answer before it wrote any text.",
                "Raise the server's limit of output tokens, or choose another model.",
            )
        raise ProviderProtocolError(
            f"{name} gave an empty answer.", "Send it again, or choose another model."
        )

    def _add(self, text: str) -> None:
        self.texts.append(text)
        self.written.append(text)


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
