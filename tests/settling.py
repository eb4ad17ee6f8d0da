"""Makes Textual's pilot wait until what a key sets going is done, rather than until the processor is idle.

`textual._wait.wait_for_idle` sleeps until the process used no processor time for 20 ms: two such sleeps for a key are
most of the time of a test, and on a busy machine a process that was not given any time is taken for an idle one. Here
an app is idle when its event loop has nothing to call, its screen has nothing to draw, no thread works for the loop,
and no timer is due soon. A thread or a timer that something else holds up is waited for as long as Textual slept.
"""

import asyncio
from asyncio import FIRST_COMPLETED
from collections.abc import Awaitable, Callable, Sized
from time import monotonic
from typing import Any, cast
from weakref import WeakSet

import aiosqlite
import pytest
from textual import _wait
from textual._context import active_app
from textual.app import App
from textual.screen import Screen

SOON = 2 * _wait.SLEEP_GRANULARITY
"""Seconds that timers are due in, and that a thread may take, to be waited for."""

FRAME = 0.25
"""Seconds between two frames that a screen draws by itself. It draws whenever the app is idle, so that most of the 60
a second that Textual draws would show what no test looks at."""

_ROUNDS = 3
"""Turns of the loop with nothing to call, in a row: what a socket or a thread has ready comes with the next."""

_MOST = 20_000
"""Turns that are waited for at most: something may call without end."""

_MOST_FRAMES = 100
"""Frames that are drawn at most: something may change in each."""

_work = WeakSet[asyncio.Future[Any]]()
"""What the event loops of this process have threads do."""


async def wait_until_idle(min_sleep: float = 0.0, max_sleep: float = 1) -> None:
    """Wait until the app that runs has nothing to do, for `max_sleep` seconds at most."""
    last = monotonic() + max_sleep
    await _rest()
    for due in sorted(_timers_due_soon()):
        await asyncio.sleep(max(due - monotonic(), 0.0))
        await _rest()
    while monotonic() < last and await _thread_finishes():
        await _rest()


async def _rest() -> None:
    """Return when the event loop has nothing to call and the screen has nothing to draw."""
    await _drain()
    for _ in range(_MOST_FRAMES):
        if not _draw():
            return
        await _drain()


async def _drain() -> None:
    ready = cast(Sized, getattr(asyncio.get_running_loop(), "_ready"))  # noqa: B009 - no public name
    empty = 0
    for _ in range(_MOST):
        await asyncio.sleep(0)
        empty = 0 if ready else empty + 1
        if empty == _ROUNDS:
            return


def _draw() -> bool:
    """Have the screen draw what it would draw at its next tick, if anything."""
    screen = _screen()
    if screen is None or not _is_dirty(screen):
        return False
    screen._on_timer_update()  # pyright: ignore[reportPrivateUsage]
    return True


def _screen() -> Screen[Any] | None:
    app: App[Any] | None = active_app.get(None)
    return app.screen if app is not None and app.is_running and app.screen_stack else None


def _is_dirty(screen: Any) -> bool:
    return screen.is_current and not screen.app._batch_count and screen._update_timer._active.is_set()


async def _thread_finishes() -> bool:
    """Wait until a thread has finished a piece of work; False where none does soon."""
    loop = asyncio.get_running_loop()
    work = [each for each in _work if each.get_loop() is loop]
    return bool(work) and bool((await asyncio.wait(work, timeout=SOON, return_when=FIRST_COMPLETED))[0])


def _timers_due_soon() -> list[float]:
    """When they are due, without the timers by which screens draw."""
    loop: Any = asyncio.get_running_loop()
    ours, soon = _drawing(), monotonic() + SOON
    handles = (each for each in loop._scheduled if not each._cancelled and not ours.intersection(each._args))
    return [each._when for each in handles if each._when <= soon]


def _drawing() -> set[Any]:
    app: Any = active_app.get(None)
    if app is None:
        return set()
    timers = [screen._update_timer for stack in app._screen_stacks.values() for screen in stack]
    return {getattr(timer._task, "_fut_waiter", None) for timer in timers} - {None}


def _noted(wrap: Callable[..., Any]) -> Callable[..., Any]:
    """`asyncio.wrap_future`, which knows what it waits for."""

    def note(future: Any, **options: Any) -> Any:
        wrapped = wrap(future, **options)
        _note(wrapped)
        return wrapped

    return note


def _noted_query(execute: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """A method of aiosqlite's connection, which hands work to its thread, and is known to wait for it."""

    async def note(*args: Any, **options: Any) -> Any:
        over = asyncio.get_running_loop().create_future()
        _note(over)
        try:
            return await execute(*args, **options)
        finally:
            over.cancel()

    return note


def _note(future: asyncio.Future[Any]) -> None:
    if not future.done():
        _work.add(future)
        future.add_done_callback(_work.discard)


def settle_surely() -> None:
    """Put this waiting in the place of Textual's, and note what threads do."""
    patch = pytest.MonkeyPatch()
    patch.setattr("textual.screen.UPDATE_PERIOD", FRAME)
    for module in ("textual.app", "textual.pilot"):
        patch.setattr(f"{module}.wait_for_idle", wait_until_idle)
    wrap = _noted(asyncio.wrap_future)
    for module in ("asyncio", "asyncio.futures"):
        patch.setattr(f"{module}.wrap_future", wrap)
    for name in ("_execute", "_connect"):
        patch.setattr(aiosqlite.Connection, name, _noted_query(getattr(aiosqlite.Connection, name)))
