"""When an endpoint is asked again, and when it is not."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

import pytest

from cogency_tui.errors import (
    AuthenticationError,
    NetworkError,
    OverloadedError,
    ProviderError,
    RateLimitError,
)
from cogency_tui.providers.base import Chunk, ReasoningDelta, ReasoningItem, Retrying, TextDelta, Usage
from cogency_tui.providers.http_transport import ATTEMPTS, LONGEST_WAIT, backoff, wait_for, with_retries
from tests.cases import cases

Attempt = Callable[[], AsyncGenerator[Chunk, None]]


def attempts(*outcomes: Sequence[Chunk | ProviderError]) -> Attempt:
    remaining = list(outcomes)

    async def attempt() -> AsyncGenerator[Chunk, None]:
        for each in remaining.pop(0):
            if isinstance(each, ProviderError):
                raise each
            yield each

    return attempt


async def run(attempt: Attempt) -> tuple[list[Chunk], list[float], ProviderError | None]:
    waits: list[float] = []
    chunks: list[Chunk] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    try:
        async for chunk in with_retries(attempt, wait=wait, jitter=lambda: 0.0):
            chunks.append(chunk)
    except ProviderError as error:
        return chunks, waits, error
    return chunks, waits, None


async def test_items_of_reasoning_are_those_of_the_attempt_that_delivers() -> None:
    first, second, third = (ReasoningItem({"number": number}) for number in range(3))
    chunks, _waits, error = await run(
        attempts([first, NetworkError("down")], [second, TextDelta("Hi."), third, Usage(1, 1)])
    )
    assert error is None
    assert chunks[1:] == [second, TextDelta("Hi."), third, Usage(1, 1)]
    assert isinstance(chunks[0], Retrying)


async def test_items_of_reasoning_alone_are_an_answer() -> None:
    item = ReasoningItem({"number": 1})
    assert await run(attempts([item, Usage(1, 1)])) == ([Usage(1, 1), item], [], None)


def test_delays_double_with_jitter_that_only_shortens() -> None:
    assert list(backoff(lambda: 0.0)) == [0.5, 1.0, 2.0, 4.0]
    assert list(backoff(lambda: 1.0)) == [0.375, 0.75, 1.5, 3.0]


@cases(
    ("error", "wait"),
    [
        (NetworkError("x"), 1.0),
        (AuthenticationError("x"), None),
        (RateLimitError("x", retry_after=7), 7.0),
        (RateLimitError("x", retry_after=0), 0.0),
        (OverloadedError("x", retry_after=LONGEST_WAIT + 1), None),
        (OverloadedError("x"), 1.0),
    ],
)
def test_the_servers_wish_goes_before_our_plan(error: ProviderError, wait: float | None) -> None:
    assert wait_for(error, 1.0) == wait


async def test_each_wait_is_announced_before_it_begins() -> None:
    attempt = attempts([NetworkError("down")], [RateLimitError("slow", retry_after=3)], [TextDelta("hi")])
    chunks, waits, error = await run(attempt)
    assert chunks == [Retrying(2, 0.5, "down", 5), Retrying(3, 3.0, "slow", 5), TextDelta("hi")]
    assert waits == [0.5, 3.0]
    assert error is None


async def test_it_gives_up_after_the_last_attempt_with_its_error() -> None:
    last = NetworkError("still down")
    attempt = attempts(*[[NetworkError("down")]] * (ATTEMPTS - 1), [last])
    chunks, waits, error = await run(attempt)
    assert len(chunks) == len(waits) == ATTEMPTS - 1
    assert error is last


@pytest.mark.parametrize("first", [TextDelta("a"), ReasoningDelta("a")])
async def test_nothing_is_repeated_after_the_first_token(first: Chunk) -> None:
    chunks, waits, error = await run(attempts([first, NetworkError("broke")]))
    assert chunks == [first]
    assert not waits
    assert isinstance(error, NetworkError)


async def test_usage_is_no_token() -> None:
    chunks, waits, _error = await run(attempts([Usage(1, 1), NetworkError("broke")], [TextDelta("a")]))
    assert chunks == [Usage(1, 1), Retrying(2, 0.5, "broke", 5), TextDelta("a")]
    assert waits == [0.5]


async def test_a_wait_can_be_cancelled() -> None:
    waiting = asyncio.Event()

    async def wait(_seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    async def consume() -> None:
        async with aclosing(with_retries(attempts([NetworkError("down")]), wait=wait)) as chunks:
            async for _chunk in chunks:
                pass

    task = asyncio.create_task(consume())
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
