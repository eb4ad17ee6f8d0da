"""Delivers signals to an event loop.

asyncio sends the number of a signal through the pipe that also wakes the loop, and drops it if the pipe is
full: a signal is lost while other threads post faster than a busy loop works.
"""

import signal
from asyncio import AbstractEventLoop
from collections.abc import Callable
from contextlib import suppress


def on_signal(loop: AbstractEventLoop, number: int, then: Callable[[], object]) -> None:
    """Have `loop` call `then` at each signal `number`, until it removes its handler or is closed."""
    loop.add_signal_handler(number, _wake)
    # A full pipe wakes the loop as well.
    signal.set_wakeup_fd(signal.set_wakeup_fd(-1), warn_on_full_buffer=False)
    signal.signal(number, lambda _number, _frame: _post(loop, then))
    signal.siginterrupt(number, False)


def _post(loop: AbstractEventLoop, then: Callable[[], object]) -> None:
    # The loop may have been closed just now.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(then)


def _wake() -> None:
    """Do nothing: asyncio's handler wakes the loop, in which Python calls ours."""
