"""All edits allowed by an answer: the badge and the prompt's bar show it, and it can be taken back."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from cogency_tui.tui.permissions.screen import PermissionsScreen
from cogency_tui.tui.prompt.prompt_and_queue import PromptBox
from cogency_tui.tui.status.status_bar import StatusBar
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import answer, asked, at_work, finished, main_of, question_of, send, shown, told, until

pytestmark = pytest.mark.usefixtures("short_pause")


def write(file: str) -> str:
    return f"<execute>{json.dumps([{'name': 'write', 'args': {'file': file, 'content': 'x'}}])}</execute>"


def badge(pilot: Pilot[Any]) -> str:
    """The mode in the status bar, with the class of the prompt's bar."""
    main = main_of(pilot)
    bars = [name for name in ("ask", "edits", "auto") if main.query_one(PromptBox).has_class(f"-{name}")]
    return f"{shown(main.query_one(StatusBar)).split()[0]} {' '.join(bars)}"


@asynccontextmanager
async def answered_with(project: Path, key: str, *replies: str) -> AsyncGenerator[Pilot[Any]]:
    """The first of two edits was allowed with `key`, in the first of several turns."""
    replies = (write("a.txt"), write("b.txt"), "Done.", *replies)
    provider = ScriptedProvider(*replies, size=1000)
    agent = Agent(provider, project=project, data=project.parent / "data", settings=Settings())
    async with at_work(agent, (110, 40)) as pilot:
        assert badge(pilot) == "ask ask"
        await send(pilot, "go")
        await answer(pilot, key)
        yield pilot


async def permissions(pilot: Pilot[Any]) -> PermissionsScreen:
    """Open the list of permissions."""
    await send(pilot, "/permissions")
    await until(pilot, lambda: isinstance(pilot.app.screen, PermissionsScreen))
    assert isinstance(pilot.app.screen, PermissionsScreen)
    return pilot.app.screen


async def test_the_badge_shows_edits_that_go_through_and_shift_tab_asks_again(project: Path) -> None:
    async with answered_with(project, "c", write("c.txt"), "Done.") as pilot:
        await finished(pilot)
        assert (project / "b.txt").exists()
        assert badge(pilot) == "edits edits"
        await pilot.press("shift+tab")
        assert badge(pilot) == "ask ask"
        assert told(pilot).startswith("ask: ")
        await send(pilot, "again")
        await asked(pilot)
        assert not (project / "c.txt").exists()
        await answer(pilot, "c")
        await finished(pilot)
        assert badge(pilot) == "edits edits"

        await send(pilot, "/permissions ask")
        await until(pilot, lambda: badge(pilot) == "ask ask")
        await pilot.press("shift+tab")
        assert badge(pilot) == "edits edits"
        assert main_of(pilot).agent.permissions == "edits"


async def test_the_badge_follows_a_permission_that_is_revoked(project: Path) -> None:
    async with answered_with(project, "c") as pilot:
        await finished(pilot)
        screen = await permissions(pilot)
        await until(pilot, lambda: "all changes to files" in shown(screen.rows))
        while "all changes to files" not in str(screen.rows.row):
            await pilot.press("down")
        await pilot.press("d")
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await until(pilot, lambda: badge(pilot) == "ask ask")


async def test_the_mode_in_effect_and_the_grant_are_listed_until_the_user_chooses_to_be_asked(
    project: Path,
) -> None:
    async with answered_with(project, "c") as pilot:
        await finished(pilot)
        screen = await permissions(pilot)
        await until(pilot, lambda: "● edits  all edits allowed in this conversation" in shown(screen.rows))
        assert "● ask" not in shown(screen.rows)
        await pilot.press("up", "enter")
        await until(pilot, lambda: "● ask" in shown(screen.rows))
        assert "all changes to files" not in shown(screen.rows)


async def test_a_grant_for_a_turn_is_listed_only_while_it_runs(project: Path) -> None:
    async with answered_with(project, "a") as pilot:
        await finished(pilot)
        screen = await permissions(pilot)
        await until(pilot, lambda: "● ask" in shown(screen.rows))
        assert "all changes to files" not in shown(screen.rows)


async def test_edits_allowed_for_a_turn_are_shown_while_it_runs(project: Path) -> None:
    shell = f"<execute>{json.dumps([{'name': 'shell', 'args': {'command': 'touch c.txt'}}])}</execute>"
    provider = ScriptedProvider(write("a.txt"), shell, "Done.", size=1000)
    agent = Agent(provider, project=project, data=project.parent / "data", settings=Settings())
    async with at_work(agent, (110, 40)) as pilot:
        await send(pilot, "go")
        await answer(pilot, "a")
        await until(pilot, lambda: (panel := question_of(pilot)) and "touch" in panel.question.detail)
        assert badge(pilot) == "edits edits"
        await answer(pilot, "y")
        await finished(pilot)
        await until(pilot, lambda: badge(pilot) == "ask ask")


async def test_another_conversation_asks(project: Path) -> None:
    async with answered_with(project, "c") as pilot:
        await finished(pilot)
        assert badge(pilot) == "edits edits"
        await pilot.press("ctrl+n")
        await until(pilot, lambda: badge(pilot) == "ask ask")
