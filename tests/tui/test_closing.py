"""What is still asked for while the app is being closed."""

from pathlib import Path

from textual.css.query import NoMatches
from textual.widget import Widget

from tests.tui.driving import app_over
from tests.tui.scripted import ScriptedAgent


class Late(Widget):
    """Asks for work when it is gone."""

    began = False

    def on_unmount(self) -> None:
        self.run_worker(self._look)

    async def _look(self) -> None:
        Late.began = True
        raise NoMatches("no widget is there any more")


async def test_no_worker_begins_when_the_app_is_being_closed(project: Path) -> None:
    app = app_over(ScriptedAgent(project))
    async with app.run_test() as pilot:
        await pilot.app.screen.mount(Late())
    assert not Late.began


async def test_a_worker_begins_as_soon_as_there_is_an_app(project: Path) -> None:
    app = app_over(ScriptedAgent(project))
    async with app.run_test() as pilot:
        worker = pilot.app.run_worker(_answer)
        assert await worker.wait() == 7


async def _answer() -> int:
    return 7
