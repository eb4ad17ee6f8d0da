"""Makes Textual's pilot wait for what a key sets going, however little of a processor the test gets.

`textual._wait.wait_for_idle` takes a process that used no processor time for 20 ms to be idle. On a machine
with more to do than it can, that is also a process which was not given any, and the key it waits for has not
been looked at. Here it waits, before and after, until the event loop has nothing left to call.
"""

import asyncio
from collections.abc import Sized
from typing import cast

import pytest
from textual import _wait

_ROUNDS = 3
"""Turns of the loop with nothing to call, in a row: what a socket or a thread has ready comes with the next."""

_MOST = 20_000
"""Turns that are waited for at most: something may call without end."""

_wait_for_idle = _wait.wait_for_idle


async def _drain() -> None:
    ready = cast(Sized, getattr(asyncio.get_running_loop(), "_ready"))  # noqa: B009 - no public name
    empty = 0
    for _ in range(_MOST):
        await asyncio.sleep(0)
        empty = 0 if ready else empty + 1
        if empty == _ROUNDS:
            return


async def _wait_until_drained(min_sleep: float = _wait.SLEEP_GRANULARITY, max_sleep: float = 1) -> None:
    await _drain()
    await _wait_for_idle(min_sleep, max_sleep)
    await _drain()


def settle_surely() -> None:
    """Put this waiting in the place of Textual's."""
    patch = pytest.MonkeyPatch()
    for module in ("textual.app", "textual.pilot"):
        patch.setattr(f"{module}.wait_for_idle", _wait_until_drained)
