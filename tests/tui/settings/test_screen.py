"""`/settings` over a real agent and a real file: what is changed is written, and gone by."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from cogency_tui.agent.agent import Agent
from cogency_tui.config.layers import configure
from cogency_tui.config.options import options
from cogency_tui.config.schema import config_path
from cogency_tui.tui.app import CogencyApp
from cogency_tui.tui.kit.dialogs import Choices
from cogency_tui.tui.kit.select_list import SelectList
from cogency_tui.tui.models.screen import PickerScreen
from cogency_tui.tui.permissions.screen import PermissionsScreen
from cogency_tui.tui.settings.rows import LinkRow, SettingRow
from cogency_tui.tui.settings.screen import SettingsScreen
from tests.tui.driving import app_over, at_work, main_of, send, shown, status_of, type_text, until
from tests.tui.looks import check_looks
from tests.tui.scripted import ScriptedAgent


def agent_in(project: Path) -> Agent:
    return Agent("offline", project=project, data=project.parent / "data")


def written() -> str:
    return config_path().read_text() if config_path().exists() else ""


def write(text: str) -> None:
    config_path().parent.mkdir(parents=True, exist_ok=True)
    config_path().write_text(text)


async def settings(pilot: Pilot[Any]) -> SelectList[Any]:
    await send(pilot, "/settings")
    await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
    screen = pilot.app.screen
    assert isinstance(screen, SettingsScreen)
    listed = screen.rows
    await until(pilot, lambda: "provider" in shown(listed))
    return listed


def key_of(listed: SelectList[Any]) -> str:
    row = listed.row
    return row.preference.option.key if isinstance(row, SettingRow) else ""


async def select(pilot: Pilot[Any], listed: SelectList[Any], key: str) -> None:
    screen = pilot.app.screen
    assert isinstance(screen, SettingsScreen)
    while key_of(listed) != key:
        before = listed.selected
        await screen.action_move(1)
        assert listed.selected != before
    await pilot.pause()


def note(pilot: Pilot[Any]) -> str:
    return " ".join(shown(pilot.app.screen.query_one("#settings-note")).split())


def line(listed: SelectList[Any], key: str) -> str:
    return next(row for row in shown(listed).splitlines() if f" {key} " in row)


@pytest.mark.exhaustive
async def test_every_option_is_there_with_its_meaning_and_origin(project: Path) -> None:
    write('mode = "replay"\n')
    async with at_work(agent_in(project), (110, 60)) as pilot:
        listed = await settings(pilot)
        for key, option in options().items():
            await select(pilot, listed, key)
            await until(pilot, lambda meaning=option.meaning: meaning in note(pilot))
        await pilot.press("home")
        assert "--provider" in line(listed, "provider")
        assert "config.toml:1" in line(listed, "mode")
        assert line(listed, "dialect").endswith("default")


async def test_a_choice_goes_on_to_the_next_and_back_and_counts_at_once(project: Path) -> None:
    agent = agent_in(project)
    async with at_work(agent, (110, 40)) as pilot:
        listed = await settings(pilot)
        await select(pilot, listed, "permissions")
        await pilot.press("right")
        await until(pilot, lambda: agent.permissions == "edits")
        assert written() == 'permissions = "edits"\n'
        await until(pilot, lambda: "● permissions" in shown(listed))
        await pilot.press("left")
        await until(pilot, lambda: agent.permissions == "ask")
        await pilot.press("d")
        await until(pilot, lambda: "permissions" not in written())
        await until(pilot, lambda: "default" in line(listed, "permissions"))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        assert "ask" in shown(status_of(pilot))


@pytest.mark.exhaustive
async def test_a_text_is_checked_as_it_is_typed_and_written_when_it_can_be(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inline = "budget = { turn = { hard = 1 } }\n"
    write(f"# mine\nmax_iterations = 5 # few\n{inline}")
    monkeypatch.setenv("COGENCY_MODE", "replay")
    agent = agent_in(project)
    async with at_work(agent, (110, 40)) as pilot:
        listed = await settings(pilot)
        await select(pilot, listed, "max_iterations")
        await pilot.press("enter")
        field = pilot.app.screen.query_one("#settings-field", Input)
        await until(pilot, lambda: field.has_focus)
        assert field.value == "5"
        await type_text(pilot, "x")
        await until(pilot, lambda: "✗ must be a whole number, not 'x'" in note(pilot))
        await pilot.press("enter")
        assert "max_iterations = 5" in written()
        await pilot.press("backspace")
        await type_text(pilot, "50")
        await until(pilot, lambda: "✗" not in note(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: agent.settings.max_iterations == 50)
        assert written() == f"# mine\nmax_iterations = 50 # few\n{inline}"
        await until(pilot, lambda: not field.display)
        await pilot.press("enter")
        await until(pilot, lambda: field.has_focus)
        await pilot.press("9", "escape")
        await until(pilot, lambda: not field.display)
        assert isinstance(pilot.app.screen, SettingsScreen)
        assert "= 50 #" in written()

        # A form that cannot be changed.
        await pilot.press("home")
        await select(pilot, listed, "budget.day.hard")
        await pilot.press("enter")
        await until(pilot, lambda: field.display)
        await pilot.press("5", "enter")
        await until(pilot, lambda: "has a form that cannot be edited automatically" in note(pilot))
        assert written() == f"# mine\nmax_iterations = 50 # few\n{inline}"
        await until(pilot, lambda: not field.display)

        # What goes before the file is told.
        await pilot.press("home")
        assert "$COGENCY_MODE" in line(listed, "mode")
        await select(pilot, listed, "mode")
        await pilot.press("right")
        await until(pilot, lambda: "COGENCY_MODE overrides it until you quit" in note(pilot))
        assert agent.mode == "replay"
        assert 'mode = "auto"' in written()


@pytest.mark.exhaustive
async def test_theme_and_footer_are_seen_at_once_and_the_list_leads_to_the_other_screens(
    project: Path,
) -> None:
    async with at_work(agent_in(project), (110, 40)) as pilot:
        listed = await settings(pilot)
        first = listed.row
        await pages_and_ends_are_reached_by_their_keys(pilot, listed)
        assert listed.row == first

        await select(pilot, listed, "theme")
        before = pilot.app.theme
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.theme != before)
        await until(pilot, lambda: f'theme = "{pilot.app.theme}"' in written())
        await select(pilot, listed, "footer")
        await pilot.press("enter")
        await until(pilot, lambda: main_of(pilot).has_class("-no-footer"))
        await select(pilot, listed, "mouse")
        await pilot.press("enter")
        await until(pilot, lambda: "Takes effect at the next start" in note(pilot))

        await pilot.press("slash")
        await type_text(pilot, "rules")
        await until(pilot, lambda: "provider" not in shown(listed))
        await pilot.press("enter")
        assert isinstance(listed.row, LinkRow)
        await until(pilot, lambda: "Enter open" in shown(pilot.app.screen.query_one(Choices)))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, PermissionsScreen))
        await pilot.press("escape")
        listed = await settings(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, PickerScreen))


async def pages_and_ends_are_reached_by_their_keys(pilot: Pilot[Any], listed: SelectList[Any]) -> None:
    await pilot.press("pagedown")
    page = listed.selected
    assert page > 10
    await pilot.press("end")
    assert isinstance(listed.row, LinkRow)
    assert "Elsewhere" in shown(listed)
    await pilot.press("pageup")
    assert page < listed.selected < len(listed.rows) - 10
    await pilot.press("home")
    assert shown(listed).splitlines()[0].strip() == listed.rows[0].text, "with its heading"


@pytest.mark.exhaustive
@pytest.mark.parametrize(("size", "theme"), [((100, 30), "night"), ((80, 24), "day")])
async def test_looks(project: Path, size: tuple[int, int], theme: str) -> None:
    write('theme = "night"\n\n[budget.turn]\nhard = 0.5\n')

    def make() -> CogencyApp:
        agent = ScriptedAgent(project)
        agent.configured = configure()
        return app_over(agent)

    async def prepare(pilot: Pilot[Any]) -> None:
        listed = await settings(pilot)
        await select(pilot, listed, "budget.turn.hard")
        await until(pilot, lambda: "Spending limit per" in note(pilot))

    await check_looks("settings", make, prepare, sizes=[size], themes=[theme])
