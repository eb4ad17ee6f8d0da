"""The last line: the keys that work where one is."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.config.schema import Settings
from cogency_tui.tui.help.screen import HelpScreen
from cogency_tui.tui.kit.dialogs import Choices
from cogency_tui.tui.kit.footer import Footer
from cogency_tui.tui.models.screen import PickerScreen
from tests.tui.driving import app_over, files_of, main_of, prompt_of, shown, until
from tests.tui.scripted import ScriptedAgent


def footer(pilot: Pilot[Any]) -> Footer:
    return main_of(pilot).query_one(Footer)


@pytest.mark.exhaustive
async def test_it_names_the_keys_of_where_one_is_and_a_click_does_what_they_do(project: Path) -> None:
    agent = ScriptedAgent(project)
    async with app_over(agent).run_test(size=(160, 45)) as pilot:
        assert shown(footer(pilot)).startswith("Enter send")
        # A key of the prompt is the prompt's.
        prompt_of(pilot).replace_text("hello")
        await pilot.click(footer(pilot), offset=(0, 0))
        await until(pilot, lambda: agent.asked == ["hello"])

        files_of(pilot).focus()
        await until(pilot, lambda: "@ " in shown(footer(pilot)))
        assert "Enter send" not in shown(footer(pilot))
        place = shown(footer(pilot)).index("F1 help")
        await pilot.hover(footer(pilot), offset=(place, 0))
        assert str(footer(pilot).tooltip) == "Keys and commands (F1)"
        await pilot.click(footer(pilot), offset=(place, 0))
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))


@pytest.mark.exhaustive
async def test_it_and_a_dialog_have_the_keys_that_a_person_chose(project: Path) -> None:
    settings = Settings(provider="openai", keys={"help": "ctrl+g", "picker.test": "f9"})
    async with app_over(ScriptedAgent(project, settings=settings)).run_test(size=(160, 45)) as pilot:
        assert "Ctrl+G help" in shown(footer(pilot))
        await pilot.press("f2")
        await until(pilot, lambda: isinstance(pilot.app.screen, PickerScreen))
        offered = shown(pilot.app.screen.query_one(Choices))
        assert "F9 test" in offered
        assert "Enter show models" in offered
        assert "Esc close" in offered


async def test_a_short_screen_has_no_room_for_it(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 24)) as pilot:
        assert footer(pilot).size.height == 1
        await pilot.resize_terminal(100, 23)
        await until(pilot, lambda: footer(pilot).size.height == 0)


async def test_it_can_be_switched_off(project: Path) -> None:
    agent = ScriptedAgent(project, settings=Settings(provider="openai", footer=False))
    async with app_over(agent).run_test(size=(100, 40)) as pilot:
        assert footer(pilot).size.height == 0
