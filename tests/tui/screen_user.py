"""Using one full screen by keys: press, and wait until nothing is read any more."""

from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar, cast

from textual.pilot import Pilot
from textual.screen import Screen

from cogency_tui.tui.app import CogencyApp
from cogency_tui.tui.kit.tab_bar import TabBar
from tests.tui.driving import shown, until

Shown = TypeVar("Shown", bound=Screen[Any])


class ScreenUser(Generic[Shown]):
    """Presses keys on a screen of the class `SCREEN`, whose workers are in groups that begin with one of
    `GROUPS`."""

    SCREEN: ClassVar[type[Screen[Any]]]
    GROUPS: ClassVar[tuple[str, ...]]

    def __init__(self, pilot: Pilot[Any]) -> None:
        self.pilot = pilot

    @property
    def app(self) -> CogencyApp:
        app: Any = self.pilot.app
        return app

    @property
    def screen(self) -> Shown:
        return cast("Shown", next(each for each in self.app.screen_stack if isinstance(each, self.SCREEN)))

    @property
    def is_open(self) -> bool:
        return isinstance(self.app.screen, self.SCREEN)

    @property
    def tabs(self) -> str:
        return shown(self.screen.query_one(TabBar))

    async def press(self, *keys: str) -> None:
        """Press keys, and wait after each until its effect is shown."""
        for key in keys:
            await self.pilot.press(key)
            await self.settled()

    async def settled(self) -> None:
        """Return when nothing is read or is about to be."""
        await self.pilot.pause()
        while self.works:
            await self.until(lambda: not self.works)
            await self.pilot.pause()

    @property
    def works(self) -> bool:
        """True while something is read."""
        workers: Any = self.app.workers
        return any(each.group.startswith(self.GROUPS) and not each.is_finished for each in workers)

    async def until(self, condition: Callable[[], object]) -> None:
        await until(self.pilot, condition)
