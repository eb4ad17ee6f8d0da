"""A screen that returns an answer does so once, and closes no other screen."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.screen import Screen

import cogency_tui.tui
from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from cogency_tui.team.sharing import Terms
from cogency_tui.tui.conversation.links_dialog import LinksScreen
from cogency_tui.tui.help.screen import HelpScreen
from cogency_tui.tui.kit.dialogs import AnsweringScreen, Confirmation
from cogency_tui.tui.kit.partial_screen import PartialScreen
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.main.screen import MainScreen
from cogency_tui.tui.palette import Palette
from cogency_tui.tui.recall.rename_export_dialogs import ExportScreen, RenameScreen
from cogency_tui.tui.team.screen import ShareScreen
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import app_over, at_work, finished, main_of, opened, send, until
from tests.tui.scripted import ScriptedAgent

COMMANDS = (
    *("recall", "timeline", "review", "show_context", "show_costs", "choose_model", "settings", "set_theme"),
    *("help", "show_keys", "permissions", "profile", "show_usage", "rerun", "skills"),
)
TWO_KEYS = ("escape", "enter")
"""The second means something else on the screen beneath."""

HELD = ("escape",) * 5


def answering_screens() -> Iterator[type[Screen[Any]]]:
    """All screens of ours but the main ones and the base of all."""
    package = cogency_tui.tui
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            ours = isinstance(value, type) and issubclass(value, Screen)
            is_own = ours and value.__module__ == module.name
            if is_own and not issubclass(value, MainScreen) and value is not PartialScreen:
                yield value


def test_every_screen_that_is_closed_answers_once() -> None:
    found = set(answering_screens())
    assert len(found) > 20
    assert [each for each in found if not issubclass(each, AnsweringScreen)] == []
    assert {each for each in found if "dismiss" in vars(each)} == {AnsweringScreen}


async def settled(pilot: Pilot[Any]) -> None:
    for _ in range(2):
        await pilot.pause()


def type_at_once(pilot: Pilot[Any], *keys: str) -> None:
    for key in keys:
        pilot.app.post_message(events.Key(key, "\r" if key == "enter" else "\x1b"))


async def beneath(pilot: Pilot[Any]) -> HelpScreen:
    """A screen under the one that is closed, which would hear the same keys."""
    screen = HelpScreen("Beneath", [])
    await pilot.app.push_screen(screen)
    await settled(pilot)
    return screen


async def expect_one_closed(pilot: Pilot[Any], below: Screen[Any], burst: tuple[str, ...]) -> None:
    closing = pilot.app.screen
    assert closing is not below
    type_at_once(pilot, *burst)
    await until(pilot, lambda: closing not in pilot.app.screen_stack)
    await settled(pilot)
    assert pilot.app.screen is below, f"{burst} closed more than {closing}"


@pytest.mark.exhaustive
async def test_keys_in_one_burst_close_one_screen(project: Path, tmp_path: Path) -> None:
    dialogs: tuple[Callable[[], Screen[Any]], ...] = (
        lambda: Confirmation("Really?"),
        lambda: RenameScreen("title"),
        lambda: ShareScreen(Terms("/project", "project", "localhost/history", 1), None),
        lambda: ExportScreen("title", tmp_path),
        lambda: LinksScreen(["https://example.org"]),
        lambda: HelpScreen("Help", []),
        lambda: Palette([]),
    )
    agent = Agent(
        ScriptedProvider("Done."), project=project, data=project.parent / "data", settings=Settings()
    )
    async with at_work(agent, (80, 24)) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        await finished(pilot)
        below, main = await beneath(pilot), main_of(pilot)
        for make in dialogs:
            await pilot.app.push_screen(make())
            await settled(pilot)
            await expect_one_closed(pilot, below, TWO_KEYS)
        for command in COMMANDS:
            await main.run_action(f"command({command!r}, '')")
            await until(pilot, lambda: pilot.app.screen is not below)
            await settled(pilot)
            await expect_one_closed(pilot, below, HELD)


@pytest.mark.exhaustive
async def test_an_answer_waits_beneath_another_screen_and_may_find_nobody(project: Path) -> None:
    answers: list[bool | None] = []
    async with app_over(ScriptedAgent(project, [])).run_test() as pilot:
        await opened(pilot)
        asked, above = Confirmation("Really?"), HelpScreen("Above", [])
        await pilot.app.push_screen(asked, answers.append)
        await pilot.app.push_screen(above)
        asked.dismiss(True)
        asked.dismiss(False)
        await settled(pilot)
        assert pilot.app.screen is above
        assert answers == []
        type_at_once(pilot, "escape")
        await until(pilot, lambda: answers)
        await settled(pilot)
        assert answers == [True]
        assert pilot.app.screen is main_of(pilot)

        # One that nobody waits for any more is no crash.
        abandoned = Confirmation("Really?")

        async def ask() -> None:
            await app_of(main_of(pilot)).push_screen_wait(abandoned)

        asker = main_of(pilot).run_worker(ask)
        await until(pilot, lambda: pilot.app.screen is abandoned)
        asker.cancel()
        await settled(pilot)
        type_at_once(pilot, "escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        assert pilot.app.is_running
