"""A store that cannot be read any more, as after damage: every command that needs it says so, and the rest goes on."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from tests.tui.driving import at_work, conversation_of, finished, main_of, prompt_of, send, shown, told, until

TABLES = ("conversations", "events", "usage", "edits")


def damage(data: Path) -> None:
    """Have the tables that everything is read from be gone, as another process sees the file."""
    with sqlite3.connect(data / "cogency.db") as connection:
        for table in TABLES:
            connection.execute(f"ALTER TABLE {table} RENAME TO lost_{table}")
    connection.close()


async def talked(pilot: Pilot[Any]) -> None:
    await send(pilot, "list files")
    await finished(pilot)


# Not the review: what it shows may have been read as soon as the turn was over.
@pytest.mark.parametrize(
    "commands",
    [
        ["/context"],
        pytest.param(
            ["/cost", "/timeline", "/agents", "/undo", "/profile", "/fork", "/recall"],
            marks=pytest.mark.exhaustive,
        ),
    ],
)
async def test_what_cannot_be_read_is_said_and_the_screen_stays(project: Path, commands: list[str]) -> None:
    data = project.parent / "data"
    agent = Agent("offline", project=project, data=data, permissions="auto")
    async with at_work(agent) as pilot:
        await talked(pilot)
        damage(data)
        for command in commands:
            pilot.app.clear_notifications()
            await until(pilot, lambda: "no such table" not in told(pilot))
            await send(pilot, command)
            await until(pilot, lambda: "no such table" in told(pilot) or "no such table" in everything(pilot))
            await pilot.press("escape")
            await until(pilot, lambda: pilot.app.screen is main_of(pilot))
            assert "list files" in shown(conversation_of(pilot))
            prompt_of(pilot).replace_text("still here")
            assert prompt_of(pilot).text == "still here"


def everything(pilot: Pilot[Any]) -> str:
    """All that the screen shows."""
    widgets = pilot.app.screen.query("*")
    return "\n".join(shown(each) for each in widgets if each.display and each.size.area and not each.children)
