"""Several looks of one start of the app, each taken after the keys that lead on from the one before."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, cast

from textual.app import App
from textual.pilot import Pilot

from tests.exhaustive import is_quick
from tests.tui.driving import until
from tests.tui.looks import SIZES, THEMES, Prepare, check_looks

Step: TypeAlias = tuple[str, Prepare]
"""The name of a look, and what leads to it."""


class _Running:
    """What `check_looks` is to start, and runs already."""

    def __init__(self, pilot: Pilot[Any]) -> None:
        self._pilot = pilot

    @asynccontextmanager
    async def run_test(self, **_options: Any) -> AsyncGenerator[Pilot[Any]]:
        yield self._pilot


async def check_series(
    make: Callable[[], App[Any]],
    *steps: Step,
    sizes: Sequence[tuple[int, int]] = SIZES,
    in_one_theme: Collection[str] = (),
) -> None:
    """Compare one look after the other, each as `check_looks` does: no step may depend on the sizes and the theme
    that were shown before it. Each begins on the first screen in the first size.

    Those `in_one_theme` are not seen in the second theme: their widgets are in others, too, or name the theme.
    """
    async with make().run_test(size=sizes[0]) as pilot:
        for name, prepare in steps:
            await _go_back(pilot, sizes[0])
            themes = THEMES[:1] if name in in_one_theme else THEMES
            await _check(pilot, name, prepare, sizes=sizes, themes=themes)


async def check_series_in_each_size(make: Callable[[], App[Any]], *steps: Step) -> None:
    """As `check_series`, where what is shown depends on the size that it was prepared in, and not on the start:
    all looks are prepared anew in each size."""
    async with make().run_test(size=SIZES[0]) as pilot:
        for size in SIZES:
            for name, prepare in steps:
                await _go_back(pilot, size)
                await _check(pilot, name, prepare, sizes=[size])


async def check_series_from_each_size(
    make: Callable[[], Awaitable[App[Any]]],
    *steps: Step,
    sizes: Sequence[tuple[int, int]] = SIZES,
    themes: Sequence[str] = (),
) -> None:
    """As `check_series`, where what is shown depends on the size that the app started in: it starts in each. The
    quick run takes the first. `themes` are those of `check_looks`."""
    for size in sizes[:1] if is_quick() else sizes:
        app = await make()
        async with app.run_test(size=size) as pilot:
            for name, prepare in steps:
                await _check(pilot, name, prepare, sizes=[size], themes=themes)


async def _go_back(pilot: Pilot[Any], size: tuple[int, int]) -> None:
    """Show the first screen in this size."""
    while len(pilot.app.screen_stack) > 1:
        await pilot.app.pop_screen()
    await pilot.resize_terminal(*size)
    await until(pilot, lambda: pilot.app.screen.size == size)


async def _check(pilot: Pilot[Any], name: str, prepare: Prepare, **options: Any) -> None:
    await check_looks(name, lambda: cast("App[Any]", _Running(pilot)), prepare, **options)
