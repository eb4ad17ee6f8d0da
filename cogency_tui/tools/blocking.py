"""Blocking work off the event loop.

Invariant: when `in_thread` has returned or raised, the work is over. A call that was cancelled while it
wrote is only reported as interrupted once the file is whole, and the next call sees it so.
"""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

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
