"""Several looks of one start of the app, each taken after the keys that lead on from the one before."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, cast

from textual.app import App
from textual.pilot import Pilot

from cogency_tui.tui.main.screen import MainScreen
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
    that were shown before it. Each begins on the main screen in the first size.

    Those `in_one_theme` are not seen in the second theme: their widgets are in others, too, or name the theme.
    """
    async with make().run_test(size=sizes[0]) as pilot:
        for name, prepare in steps:
            while not isinstance(pilot.app.screen, MainScreen):
                await pilot.app.pop_screen()
            await pilot.resize_terminal(*sizes[0])
            await until(pilot, lambda: pilot.app.screen.size == sizes[0])
            themes = THEMES[:1] if name in in_one_theme else THEMES
            await _check(pilot, name, prepare, sizes=sizes, themes=themes)


async def check_series_from_each_size(
    make: Callable[[], Awaitable[App[Any]]],
    *steps: Step,
    sizes: Sequence[tuple[int, int]] = SIZES,
    themes: Sequence[str] = THEMES,
) -> None:
    """As `check_series`, where what is shown depends on the size that it was prepared in: the app starts in each,
    and changes its theme in the last. The quick run takes the first."""
    for size in sizes[:1] if is_quick() else sizes:
        app = await make()
        async with app.run_test(size=size) as pilot:
            for name, prepare in steps:
                of_last = themes if size == sizes[-1] else themes[:1]
                await _check(pilot, name, prepare, sizes=[size], themes=of_last)


async def _check(pilot: Pilot[Any], name: str, prepare: Prepare, **options: Any) -> None:
    await check_looks(name, lambda: cast("App[Any]", _Running(pilot)), prepare, **options)
