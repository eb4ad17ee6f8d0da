"""Blocking work off the event loop.

Invariant: when `in_thread` has returned or raised, the work is over. A call that was cancelled while it
wrote is only reported as interrupted once the file is whole, and the next call sees it so.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

Params = ParamSpec("Params")
Result = TypeVar("Result")


async def in_thread(
    function: Callable[Params, Result], /, *args: Params.args, **kwargs: Params.kwargs
) -> Result:
    """Run a function in a thread; a cancellation takes effect when it is done."""
    work = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():
            try:
                await asyncio.wait([work])
            except asyncio.CancelledError:
                continue
        if not work.cancelled():
            # Looked at, so that it is not reported as never retrieved; the cancellation goes first.
            work.exception()
        raise


async def completed(work: Coroutine[Any, Any, Result]) -> Result:
    """Wait until the work is done, also through a cancellation, which takes effect after it."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return task.result()
