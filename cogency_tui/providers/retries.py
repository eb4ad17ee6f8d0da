"""When to ask an endpoint again: only before its first token, at most five times in all.

Each wait is announced as a `Retrying` chunk before it begins, and can be cancelled at any point.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from typing import TypeAlias

from cogency_tui.errors import OverloadedError, ProviderError, RateLimitError
from cogency_tui.providers.base import Chunk, ReasoningDelta, Retrying, TextDelta

ATTEMPTS = 5
FIRST_WAIT = 0.5
LONGEST_BACKOFF = 8.0
LONGEST_WAIT = 300.0
"""Seconds: a server that asks for a longer wait is reported instead of waited for."""

Wait: TypeAlias = Callable[[float], Awaitable[None]]


def backoff(jitter: Callable[[], float] = random.random, attempts: int = ATTEMPTS) -> Iterator[float]:
    """Yield the waits in seconds between attempts: doubling, each shortened by up to a quarter."""
    for retry in range(attempts - 1):
        yield min(FIRST_WAIT * 2**retry, LONGEST_BACKOFF) * (1 - 0.25 * jitter())


def wait_for(error: ProviderError, planned: float) -> float | None:
    """The wait before asking again, or None where asking again is no use."""
    if not error.retryable:
        return None
    asked = error.retry_after if isinstance(error, RateLimitError | OverloadedError) else None
    if asked is None:
        return planned
    return max(asked, 0.0) if asked <= LONGEST_WAIT else None


async def with_retries(
    attempt: Callable[[], AsyncGenerator[Chunk, None]],
    *,
    attempts: int = ATTEMPTS,
    wait: Wait = asyncio.sleep,
    jitter: Callable[[], float] = random.random,
) -> AsyncGenerator[Chunk, None]:
    """Stream the chunks of the first attempt that delivers.

    Raises:
        ProviderError: the last attempt failed, or one failed that cannot be repeated.
    """
    waits = backoff(jitter, attempts)
    number = 1
    while True:
        delivered = False
        try:
            async with aclosing(attempt()) as chunks:
                async for chunk in chunks:
                    delivered = delivered or isinstance(chunk, TextDelta | ReasoningDelta)
                    yield chunk
            return
        except ProviderError as error:
            planned = next(waits, None)
            seconds = None if delivered or planned is None else wait_for(error, planned)
            if seconds is None:
                raise
            cause = str(error)
        number += 1
        yield Retrying(number, seconds, cause)
        await wait(seconds)
