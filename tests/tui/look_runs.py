"""How often `check_looks` starts an app, and in which themes, where each size of a look is prepared by itself."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

from textual.app import App
from textual.pilot import Pilot

from tests.tui.driving import until
from tests.tui.looks import SIZES, THEMES, Prepare, check_looks


def themes_in(size: tuple[int, int]) -> Sequence[str]:
    """Both themes in the smallest size, one in the others: as `check_looks` does with all sizes of one start."""
    return THEMES if size == SIZES[-1] else THEMES[:1]


class Running:
    """An app that runs already: `check_looks` resizes it in the place of a start."""

    def __init__(self, pilot: Pilot[Any]) -> None:
        self._pilot = pilot

    @asynccontextmanager
    async def run_test(self, *, size: tuple[int, int]) -> AsyncGenerator[Pilot[Any]]:
        pilot = self._pilot
        while len(pilot.app.screen_stack) > 1:
            pilot.app.pop_screen()
            await pilot.pause()
        if pilot.app.size != size:
            await pilot.resize_terminal(*size)
            await until(pilot, lambda: pilot.app.screen.size == size)
        yield pilot


async def check_looks_in_each_size(app: App[Any], **looks: Prepare) -> None:
    """Compare each of these looks in each size, prepared in that size, all with one start of `app`.

    A screen that was pushed for a look is popped before the next.
    """
    async with app.run_test(size=SIZES[0]) as pilot:
        running = cast("Any", Running(pilot))
        for size in SIZES:
            for name, prepare in looks.items():
                await check_looks(
                    name.replace("_", "-"), lambda: running, prepare, sizes=[size], themes=themes_in(size)
                )
