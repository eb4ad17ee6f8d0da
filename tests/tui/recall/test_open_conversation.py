"""`/rename`, `/export` and `/copy` act on the open conversation."""

import json
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.tui.recall.export import directory_of
from cogency_tui.tui.recall.rename_export_dialogs import ExportScreen, RenameScreen, TitleField
from cogency_tui.workspace.protected_names import short_path
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import at_work, finished, header_of, main_of, seen, send, told, type_text, until


def agent_in(project: Path) -> Agent:
    return Agent(ScriptedProvider("The *answer*.", "More."), project=project, data=project.parent / "data")


async def answered(pilot: Pilot[Any]) -> None:
    await send(pilot, "first question")
    await finished(pilot)
    await until(pilot, lambda: header_of(pilot).place.title == "first question")


async def test_a_title_is_given_in_the_command_or_in_a_dialog_and_seen_at_once(project: Path) -> None:
    agent = agent_in(project)
    async with at_work(agent) as pilot:
        await send(pilot, "/rename early")
        await until(pilot, lambda: "This conversation is empty." in told(pilot))
        await answered(pilot)
        await send(pilot, "/rename A better title")
        await until(pilot, lambda: header_of(pilot).place.title == "A better title")
        await send(pilot, "/rename")
        await until(pilot, lambda: isinstance(pilot.app.screen, RenameScreen))
        field = pilot.app.screen.query_one(TitleField)
        assert field.value == "A better title"
        field.value = ""
        await type_text(pilot, "Best")
        await pilot.press("enter")
        await until(pilot, lambda: header_of(pilot).place.title == "Best")
        id = main_of(pilot).bridge.conversation_id
        assert id is not None
        found = await (await agent.store()).conversation(id)
        assert found is not None
        assert found.title == "Best"


async def test_a_title_is_there_again_when_the_conversation_is_reopened(project: Path) -> None:
    agent = agent_in(project)
    async with at_work(agent) as pilot:
        await answered(pilot)
        await send(pilot, "/rename Renamed")
        await until(pilot, lambda: header_of(pilot).place.title == "Renamed")
        id = main_of(pilot).bridge.conversation_id
        assert id is not None
        transcript, _total = await main_of(pilot).bridge.reopen(id)
        assert transcript.title == "Renamed"


async def test_an_export_goes_into_a_named_file_but_over_no_other(project: Path) -> None:
    agent = agent_in(project)
    async with at_work(agent) as pilot:
        await answered(pilot)
        await send(pilot, "/export md notes.md")
        await until(pilot, lambda: "Exported" in told(pilot))
        assert "The *answer*." in (project / "notes.md").read_text()
        await send(pilot, "/export notes.md")
        await until(pilot, lambda: "exists already" in told(pilot))
        await send(pilot, "/export all.jsonl")
        await until(pilot, lambda: (project / "all.jsonl").exists())
        await until(pilot, lambda: (project / "all.jsonl").read_text().endswith("\n"))
        assert all(json.loads(line) for line in (project / "all.jsonl").read_text().splitlines())
        await send(pilot, "/export notes.txt")
        await until(pilot, lambda: "Unknown format" in told(pilot))
        assert not (project / "notes.txt").exists()


async def test_an_export_without_a_format_asks_for_one(project: Path) -> None:
    agent = agent_in(project)
    async with at_work(agent) as pilot:
        await answered(pilot)
        await send(pilot, "/export")
        await until(pilot, lambda: isinstance(pilot.app.screen, ExportScreen))
        await pilot.press("h")
        await until(pilot, lambda: list(directory_of(agent).glob("*.html")))


@pytest.mark.parametrize(
    ("keys", "form", "columns"), [(["enter"], "md", 120), (["down", "enter"], "html", 72)]
)
async def test_enter_exports_in_the_selected_format_and_says_where(
    project: Path, keys: list[str], form: str, columns: int
) -> None:
    agent = agent_in(project)
    async with at_work(agent, (columns, 24)) as pilot:
        await answered(pilot)
        await send(pilot, "/rename A title so long that its file has a long name")
        await send(pilot, "/export")
        await until(pilot, lambda: isinstance(pilot.app.screen, ExportScreen))
        await pilot.press(*keys)
        await until(pilot, lambda: "Exported" in told(pilot))
        (path,) = directory_of(agent).iterdir()
        assert path.suffix == f".{form}"
        assert short_path(path) in told(pilot).replace("\n", "")
        await until(pilot, lambda: path.name in seen(pilot))


@pytest.mark.parametrize("again", [False, True])
async def test_the_last_answer_is_copied(project: Path, again: bool) -> None:
    async with at_work(agent_in(project)) as pilot:
        await send(pilot, "/copy")
        await until(pilot, lambda: "No answer to copy yet." in told(pilot))
        await answered(pilot)
        if again:
            await send(pilot, "more")
            await finished(pilot)
        await send(pilot, "/copy")
        await until(pilot, lambda: pilot.app.clipboard == ("More." if again else "The *answer*."))
