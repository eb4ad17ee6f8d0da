"""Blocking work off the event loop.

Invariant: the work is over when `in_thread` has returned or raised. A call that is cancelled while it
writes is reported as interrupted only once the file is whole, so the next call sees the whole file.
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
            # Retrieved, so that asyncio does not report it as never retrieved; the cancellation takes
            # precedence.
            work.exception()
        raise


async def completed(work: Coroutine[Any, Any, Result]) -> Result:
    """Await the work to its end, also through a cancellation, which takes effect after it."""
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
