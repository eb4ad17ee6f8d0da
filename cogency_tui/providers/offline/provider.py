"""The embedded provider: a small deterministic model in the program itself, without key or network.

It answers from the messages alone, so that a history in replay mode and a session in resume mode get the
same text. Usage comes before the last delta, so that a reader that stops at a batch's end has it.
"""

import asyncio
import math
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from cogency_tui.errors import ConfigError, ProviderError
from cogency_tui.providers.base import PLAIN, Chunk, Options, TextDelta, Usage, unanswered
from cogency_tui.providers.models import ListedModel, ModelFacts
from cogency_tui.providers.token_counting import estimate_tokens

if TYPE_CHECKING:
    from cogency_tui.protocol.messages import Message

DELAY = 0.005
"""Seconds between tokens: about 200 a second, the speed of a quick hosted model."""

DELAY_VARIABLE = "COGENCY_OFFLINE_DELAY"


def offline_delay(environ: Mapping[str, str]) -> float:
    """Return the delay between tokens in seconds from the environment.

    Raises:
        ConfigError: the variable is no number of seconds.
    """
    given = environ.get(DELAY_VARIABLE, "").strip()
    if not given:
        return DELAY
    try:
        seconds = float(given)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise ConfigError(
            f"{DELAY_VARIABLE} is {given!r}, which is not a number of seconds.", "Use 0 for no delay."
        )
    return seconds


class OfflineProvider:
    """The embedded model. Several conversations may use one at a time."""

    name = "offline"
    model = "offline-1"
    facts = ModelFacts(context_size=32_000)
    resumes = True
    native = False

    def __init__(self, delay: float | None = None) -> None:
        """`delay` is the number of seconds between tokens; default: that of the environment."""
        self._delay = offline_delay(os.environ) if delay is None else delay

    async def stream(
        self, messages: Sequence["Message"], options: Options = PLAIN
    ) -> AsyncGenerator[Chunk, None]:
        del options
        sent = estimate_tokens(each["content"] for each in messages)
        async with aclosing(generate(messages, sent, self._delay)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def connect(self, messages: Sequence["Message"], options: Options = PLAIN) -> "OfflineSession":
        """Open a session with `messages` as its context."""
        del options
        return OfflineSession(messages, self._delay)

    async def models(self) -> list[ListedModel]:
        """Return the one model."""
        return [ListedModel(self.model)]

    async def close(self) -> None:
        """Do nothing: no connection is open."""


class OfflineSession:
    """A conversation with its context in the model. It can be reused after any interruption."""

    expires: float | None = None

    def __init__(self, messages: Sequence["Message"], delay: float) -> None:
        self._context = list(messages)
        self._unsent = list(messages)
        self._delay = delay
        self._closed = False

    @property
    def reusable(self) -> bool:
        return not self._closed

    async def send(self, messages: Sequence["Message"]) -> None:
        """Add to the context, which includes the model's own answers.

        Raises:
            ProviderError: the session is closed.
        """
        self._check_open()
        fresh = unanswered(messages)
        self._context += fresh
        self._unsent += fresh

    async def receive(self) -> AsyncGenerator[Chunk, None]:
        """Answer the sent messages. Text generated before an early close stays in the context, too.

        Raises:
            ProviderError: the session is closed.
        """
        self._check_open()
        sent = estimate_tokens(each["content"] for each in self._unsent) if self._unsent else 0
        self._unsent.clear()
        written: list[str] = []
        try:
            async with aclosing(generate(tuple(self._context), sent, self._delay)) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, TextDelta):
                        written.append(chunk.text)
                    yield chunk
        finally:
            if written:
                self._context.append({"role": "assistant", "content": "".join(written)})

    async def close(self) -> None:
        """Discard the conversation."""
        self._closed = True
        self._context.clear()
        self._unsent.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise ProviderError("The offline session is closed.", "Open a new one.")


async def generate(messages: Sequence["Message"], sent: int, delay: float) -> AsyncGenerator[Chunk, None]:
    """Write the reply to `messages` token by token; `sent` is the input in tokens that its usage reports."""
    # The model is a thousand patterns: they are loaded on first use.
    from cogency_tui.providers.offline.model import next_text
    from cogency_tui.providers.offline.wire import split_tokens

    text = next_text(messages)
    *first, last = split_tokens(text)
    for token in first:
        yield TextDelta(token)
        await asyncio.sleep(delay)
    yield Usage(sent, estimate_tokens([text]), estimated=True)
    yield TextDelta(last)
