"""A signal reaches the event loop, however busy the loop is."""

import asyncio
import os
import signal

import pytest

from cogency_tui.signal_delivery import on_signal

_MORE_THAN_A_PIPE_HOLDS = 10_000


def _flood() -> None:
    """Fill the pipe that wakes the loop, as threads do that post while it is busy."""
    loop = asyncio.get_running_loop()
    for _ in range(_MORE_THAN_A_PIPE_HOLDS):
        loop.call_soon_threadsafe(int)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1])
async def test_a_signal_that_comes_while_the_loop_is_flooded_is_delivered_once(number: int) -> None:
    loop, came = asyncio.get_running_loop(), asyncio.Queue[int]()
    before = signal.getsignal(number)
    on_signal(loop, number, lambda: came.put_nowait(number))
    try:
        _flood()
        os.kill(os.getpid(), number)
        async with asyncio.timeout(10):
            assert await came.get() == number
        os.kill(os.getpid(), number)
        async with asyncio.timeout(10):
            assert await came.get() == number
        assert came.empty()
    finally:
        loop.remove_signal_handler(number)
        signal.signal(number, before)
