"""A change of the permission mode while questions wait: one that is chosen settles them by its own decision; the
key that goes from mode to mode settles none. The open one keeps the focus.
"""

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
from cogency_tui.tui.questions import answer_timing
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import (
    answer,
    asked,
    at_work,
    conversation_of,
    finished,
    main_of,
    prompt_of,
    question_of,
    send,
    told,
    until,
)

pytestmark = pytest.mark.usefixtures("short_pause")

FILES = ["a.txt", "b.txt", "c.txt"]


def write(file: str) -> dict[str, Any]:
    return {"name": "write", "args": {"file": file, "content": "x"}}


def shell(command: str) -> dict[str, Any]:
    return {"name": "shell", "args": {"command": command}}


@asynccontextmanager
async def asking(
    project: Path, *calls: dict[str, Any], size: tuple[int, int] = (110, 40)
) -> AsyncGenerator[Pilot[Any]]:
    """The first of these calls, which the agent makes at once, is asked about, and the others wait."""
    provider = ScriptedProvider(f"<execute>{json.dumps(calls)}</execute>", "Done.", size=10_000)
    agent = Agent(provider, project=project, data=project.parent / "data", settings=Settings())
    async with at_work(agent, size) as pilot:
        await send(pilot, "go")
        panel = await asked(pilot)
        await until(pilot, lambda: len(panel.question.round().waiting) == len(calls) - 1)
        yield pilot


def states_of(pilot: Pilot[Any]) -> list[str]:
    transcript = conversation_of(pilot).transcript
    return [transcript.call(index).state for index in transcript.calls]


async def test_a_wider_mode_approves_all_questions_that_it_would_not_ask(project: Path) -> None:
    async with asking(project, *map(write, FILES)) as pilot:
        await main_of(pilot).run_action("command('permissions', 'edits')")
        await finished(pilot)
        assert all((project / file).exists() for file in FILES)
        assert question_of(pilot) is None
        assert states_of(pilot) == ["done"] * 3
        assert told(pilot) == "edits: 3 questions approved"
        await until(pilot, lambda: main_of(pilot).focused is prompt_of(pilot))


async def test_the_mode_changes_even_before_a_question_accepts_keys(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_timing, "PAUSE", 600.0)
    async with asking(project, write("a.txt")) as pilot:
        await pilot.press("shift+tab")
        await until(pilot, lambda: main_of(pilot).agent.permissions == "edits")


async def test_the_key_settles_nothing_on_its_way_and_one_answer_lets_the_mode_decide(project: Path) -> None:
    async with asking(project, *map(write, FILES)) as pilot:
        panel = await asked(pilot)
        await pilot.press("shift+tab", "shift+tab", "shift+tab")
        await until(pilot, lambda: told(pilot).startswith("plan: "))
        assert question_of(pilot) is panel
        assert panel.has_focus
        await pilot.press("shift+tab", "shift+tab")
        await until(pilot, lambda: told(pilot).startswith("edits: "))
        assert states_of(pilot)[0] == "waiting"
        await answer(pilot, "y")
        await finished(pilot)
        assert all((project / file).exists() for file in FILES)


async def test_a_question_that_the_wider_mode_asks_as_well_stays_open_with_the_focus(project: Path) -> None:
    outside = project.parent / "d.txt"
    calls = [write(str(outside)), write("a.txt"), write("b.txt")]
    async with asking(project, *calls) as pilot:
        panel = await asked(pilot)
        await main_of(pilot).run_action("command('permissions', 'edits')")
        await until(pilot, lambda: told(pilot) == "edits: 2 questions approved")
        assert question_of(pilot) is panel
        assert panel.has_focus
        await until(pilot, lambda: states_of(pilot) == ["waiting", "done", "done"])
        assert not outside.exists()
        await answer(pilot, "n")
        await finished(pilot)
        assert prompt_of(pilot).text == ""


async def test_auto_leaves_questions_about_losses_open(project: Path) -> None:
    async with asking(project, shell("rm README.md")) as pilot:
        panel = await asked(pilot)
        assert panel.question.losses
        await main_of(pilot).run_action("command('permissions', 'auto')")
        await until(pilot, lambda: told(pilot).startswith("auto: "))
        assert question_of(pilot) is panel
        assert panel.has_focus
        await answer(pilot, "n")
        await finished(pilot)
        assert (project / "README.md").exists()


async def test_a_narrower_mode_settles_nothing(project: Path) -> None:
    async with asking(project, write("a.txt")) as pilot:
        panel = await asked(pilot)
        main_of(pilot).agent.permissions = "auto"
        await pilot.press("shift+tab")
        await until(pilot, lambda: told(pilot).startswith("plan: "))
        assert question_of(pilot) is panel
        assert panel.has_focus
        await answer(pilot, "n")
        await finished(pilot)
        assert states_of(pilot) == ["declined"]


async def test_permissions_by_command_settle_the_same(project: Path) -> None:
    async with asking(project, *map(write, FILES)) as pilot:
        await pilot.press(*"/permissions", "space", *"edits", "enter")
        await finished(pilot)
        assert told(pilot) == "edits: 3 questions approved"
        assert all((project / file).exists() for file in FILES)


async def test_a_mode_chosen_from_the_list_settles_the_same(project: Path) -> None:
    async with asking(project, *map(write, FILES)) as pilot:
        await main_of(pilot).run_action("command('permissions')")
        await until(pilot, lambda: isinstance(pilot.app.screen, PermissionsScreen))
        screen = pilot.app.screen
        assert isinstance(screen, PermissionsScreen)
        await until(pilot, lambda: screen.rows.key == "ask")
        await pilot.press("down", "enter")
        await finished(pilot)
        assert told(pilot).endswith("edits: 3 questions approved")
