"""The features of the main screen."""

from pathlib import Path

from cogency_tui.tui.commands import COMMANDS
from cogency_tui.tui.main.features import Features
from tests.tui.driving import app_over, main_of
from tests.tui.scripted import ScriptedAgent


async def test_each_command_has_a_handler(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test() as pilot:
        screen = main_of(pilot)
        handlers = Features(screen, screen.bridge).handlers

        assert {command.handler for command in COMMANDS} <= handlers.keys()
