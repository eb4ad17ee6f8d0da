"""What is still asked for while the app, or a screen of it, is being closed."""

import asyncio
from collections.abc import Callable
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from textual._context import message_hook as message_hook_context_var
from textual.css.query import NoMatches
from textual.message import Message
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget

from cogency_tui.agent.agent import Agent
from cogency_tui.tui.app import CogencyApp
from tests.tui.driving import app_over, main_of, until
from tests.tui.scripted import ScriptedAgent, call, execute, respond, result

SCRIPT = (
    respond("Looking."),
    execute(),
    call("c1", "list", path="."),
    result("c1", "list"),
    respond("Done."),
)
SCREENS = (
    "recall",
    "timeline",
    "agents",
    "review",
    "permissions",
    "lsp",
    "mcp",
    "profile",
    "trust",
    "show_context",
    "show_costs",
    "choose_model",
    "settings",
)

"""Commands that open something."""
TEXTUALS_OWN = pytest.mark.filterwarnings("ignore:coroutine 'Screen._watch_selections' was never awaited")
"""Left undone by Textual where a screen goes before its watchers ran."""


class Late(Widget):
    """Asks for work when it is gone."""

    began = False

    def on_unmount(self) -> None:
        self.run_worker(self._look)

    async def _look(self) -> None:
        Late.began = True
        raise NoMatches("no widget is there any more")


class Removed(Screen[None]):
    """Looks, when its worker ends, for a widget that it does not have any more."""

    failed = 0

    def on_mount(self) -> None:
        self.run_worker(self._work())

    async def _work(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            Removed.failed += 1
            self.query_one("#missing")


class Leaver:
    """Counts the messages that arrive anywhere in an app, and leaves it at a given one."""

    def __init__(self, app: CogencyApp, at: int = 0) -> None:
        self.count = 0
        self._app = app
        self._at = at

    def leave_after(self, messages: int) -> None:
        """Leave after so many messages from now on."""
        self._at = self.count + messages

    def __call__(self, _message: Message) -> None:
        self.count += 1
        if self.count == self._at:
            self._app.exit()


async def wait_until(condition: Callable[[], object]) -> None:
    """As `driving.until`, but for an app that may be left meanwhile."""
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("what was waited for did not come about")


async def leave_at(project: Path, at: int) -> int:
    """Start the app with a message to be worked on, and leave it at message `at`, or else after the turn; its
    exit status."""
    app = app_over(ScriptedAgent(project, SCRIPT), prompt="go on")
    message_hook_context_var.set(Leaver(app, at))
    await app.run_async(headless=True, size=(160, 45), auto_pilot=leave_after_the_turn)
    return app.return_code or 0


async def leave_after_the_turn(pilot: Pilot[Any]) -> None:
    await finish_turn(pilot)
    pilot.app.exit()


async def finish_turn(pilot: Pilot[Any]) -> None:
    """Return when the first turn has ended, or the app was left."""
    bridge = main_of(pilot).bridge
    await wait_until(lambda: not pilot.app.is_running or (bridge.conversation_id and not bridge.working))


async def count_messages(project: Path) -> int:
    """How many messages arrive until the first turn has ended."""
    app = app_over(ScriptedAgent(project, SCRIPT), prompt="go on")
    leaver = Leaver(app)
    message_hook_context_var.set(leaver)
    await app.run_async(headless=True, size=(160, 45), auto_pilot=leave_after_the_turn)
    return leaver.count


async def test_what_a_removed_screen_misses_is_no_error_and_no_worker_begins_at_the_end(
    project: Path,
) -> None:
    app = app_over(ScriptedAgent(project))
    async with app.run_test() as pilot:
        worker = pilot.app.run_worker(_answer)
        assert await worker.wait() == 7, "a worker begins as soon as there is an app"

        await pilot.app.push_screen(Removed())
        await pilot.app.pop_screen()
        await until(pilot, lambda: Removed.failed)
        await pilot.pause()
        assert pilot.app.is_running

        await pilot.app.screen.mount(Late())
    assert not Late.began


async def test_what_a_living_screen_misses_is_one(project: Path) -> None:
    app = app_over(ScriptedAgent(project))

    async def miss(pilot: Pilot[Any]) -> None:
        pilot.app.screen.call_next(pilot.app.screen.query_one, "#missing")

    await app.run_async(headless=True, auto_pilot=miss)
    assert app.return_code == 1


@pytest.mark.exhaustive
@TEXTUALS_OWN
async def test_the_app_is_left_at_any_message_of_its_start(project: Path) -> None:
    total = await count_messages(project)
    moments = range(1, total, max(1, total // 10))
    assert [await leave_at(project, at) for at in moments] == [0] * len(moments)


@pytest.mark.parametrize(
    "moments",
    [
        list(zip(SCREENS, (5, 15, 30), strict=False)),
        pytest.param(list(zip(SCREENS[3:], cycle((5, 15, 30)), strict=False)), marks=pytest.mark.exhaustive),
    ],
    ids=["some", "the others"],
)
@TEXTUALS_OWN
async def test_the_app_is_left_while_a_screen_opens(project: Path, moments: list[tuple[str, int]]) -> None:
    async def open_and_leave(pilot: Pilot[Any], leaver: Leaver, command: str, after: int) -> None:
        leaver.leave_after(after)
        main_of(pilot).call_next(main_of(pilot).run_action, f"command('{command}')")
        await wait_until(lambda: not pilot.app.is_running or len(pilot.app.screen_stack) > 1)
        pilot.app.exit()

    async with Agent("offline", project=project) as agent:
        for command, after in moments:
            app = app_over(agent)
            leaver = Leaver(app)
            message_hook_context_var.set(leaver)
            pilot = partial(open_and_leave, leaver=leaver, command=command, after=after)
            await app.run_async(headless=True, size=(160, 45), auto_pilot=pilot)
            assert app.return_code == 0, command


async def _answer() -> int:
    return 7
