"""Which files instruct the model: in `/context` with where they are from, and told where they cannot be read."""

import os
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.context_window import ContextPart
from cogency_tui.agent.project.instructions import LONGEST, Instructions, Source
from cogency_tui.config.schema import Settings, config_directory
from cogency_tui.tui.cost.context_screen import ContextScreen
from cogency_tui.tui.cost.context_usage import Contents
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import app_over, at_work, finished, main_of, send, shown, told, until
from tests.tui.look_series import check_series_in_each_size
from tests.tui.scripted import EPOCH, ScriptedAgent

pytestmark = pytest.mark.exhaustive


def agent_in(project: Path, *replies: str) -> Agent:
    return Agent(
        ScriptedProvider(*replies), project=project, data=project.parent / "data", settings=Settings()
    )


async def context_of(pilot: Pilot[Any]) -> str:
    await send(pilot, "/context")
    await until(pilot, lambda: isinstance(pilot.app.screen, ContextScreen))
    await until(pilot, lambda: shown(pilot.app.screen.query_one("#context-body")).strip())
    return shown(pilot.app.screen.query_one("#context-body"))


async def close(pilot: Pilot[Any]) -> None:
    await pilot.press("escape")
    await until(pilot, lambda: pilot.app.screen is main_of(pilot))


async def test_files_are_listed_with_their_size_and_one_that_cannot_be_read_is_told_once(
    project: Path,
) -> None:
    replies = ("Hello.", "Hello.", "Hello.", "Again.")
    async with at_work(agent_in(project, *replies), (120, 50)) as pilot:
        await send(pilot, "hi")
        await finished(pilot)
        assert "Active instructions" not in await context_of(pilot), "without any, nothing is said of them"
        await close(pilot)

        (project / "AGENTS.md").write_text("x" * 1234)
        (project / "src" / "AGENTS.md").write_text("in a part")
        own = config_directory() / "AGENTS.md"
        own.parent.mkdir(parents=True)
        own.write_text("y" * (LONGEST + 1000))
        await pilot.press("ctrl+n")
        await send(pilot, "hi")
        await finished(pilot)
        text = await context_of(pilot)
        lines = {line.split()[0]: line for line in text.splitlines() if "AGENTS.md" in line}
        assert "project, 1.2 kB" in lines["AGENTS.md"]
        assert "user, 33.8 kB, truncated to 32.8 kB" in lines["~/.config/cogency-tui/AGENTS.md"]
        assert "src/AGENTS.md" in text
        await close(pilot)

        (project / "AGENTS.md").unlink()
        os.mkfifo(project / "AGENTS.md")
        await pilot.press("ctrl+n")
        await send(pilot, "hi")
        await until(pilot, lambda: "Instructions not loaded: AGENTS.md" in told(pilot))
        await finished(pilot)
        await send(pilot, "again")
        await finished(pilot)
        assert told(pilot).count("Instructions not loaded") == 1
        assert "✗ AGENTS.md" in await context_of(pilot)
        await close(pilot)


async def test_looks(project: Path) -> None:
    instructions = Instructions(
        "text",
        (
            Source("~/.config/cogency-tui/AGENTS.md", own=True, size=310),
            Source("AGENTS.md", own=False, size=LONGEST + 9000),
        ),
        (*(f"part{number}/AGENTS.md" for number in range(8)), "a\x1b[2Jb/AGENTS.md"),
        ("CLAUDE.md: it is not a regular file (socket or device).",),
    )
    parts = [
        ContextPart("system prompt", 610),
        ContextPart("tools", 2300),
        ContextPart("instructions", 8200),
        ContextPart("history", 12_400),
    ]

    async def prepare(pilot: Pilot[Any]) -> None:
        contents = Contents("openai/gpt-5.6-sol", parts, 200_000, instructions=instructions)
        await pilot.app.push_screen(ContextScreen(contents, clock=lambda: EPOCH))
        await until(pilot, lambda: shown(pilot.app.screen.query_one("#context-body")).strip())

    await check_series_in_each_size(lambda: app_over(ScriptedAgent(project)), ("context", prepare))
