"""Work in threads: over when it is reported to be over."""

import asyncio
import threading

import pytest

from cogency_tui.tools.worker_threads import in_thread


async def test_result_and_error_come_back() -> None:
    assert await in_thread(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        await in_thread(divmod, 1, 0)


async def test_cancellation_takes_effect_when_the_work_is_done() -> None:
    begun, go, done = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go.wait(5)
        done.set()

    task = asyncio.create_task(in_thread(work))
    await asyncio.to_thread(begun.wait, 5)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done.is_set()


async def test_failure_of_cancelled_work_is_not_reported_twice() -> None:
    go = threading.Event()

    def work() -> None:
        go.wait(5)
        raise ValueError

    task = asyncio.create_task(in_thread(work))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
