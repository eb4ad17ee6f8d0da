"""The offer of other agents' histories on the start screen, `/import`, and going on in a fork."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.importers.importer import Importer
from cogency_tui.agent.importers.offer import is_offered
from cogency_tui.config.schema import Settings
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edits import Edits
from cogency_tui.store.store import Store
from cogency_tui.tui.main import screen
from tests.agent.importers.reading import FIXTURES
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import app_over, conversation_of, finished, main_of, send, shown, told, until


@pytest.fixture
def history(monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(FIXTURES / "claude-code-2.1.197", Path.home() / ".claude")
    monkeypatch.setattr(screen, "_OFFER_AFTER", 0.01)


def _agent(project: Path, data: Path, *replies: str) -> Agent:
    settings = Settings(mode="replay", titles=False)
    return Agent(ScriptedProvider(*replies), project=project, data=data, settings=settings)


@pytest.mark.usefixtures("history")
async def test_what_other_agents_have_is_offered_once_and_imported(project: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    agent = _agent(project, data)
    async with app_over(agent).run_test(size=(110, 36), notifications=True) as pilot:
        await until(pilot, lambda: "Import history" in shown(conversation_of(pilot)))
        assert "Claude Code" in (page := shown(conversation_of(pilot)))
        assert "86 events" in page
        assert is_offered(data)
        for _ in range(4):
            await pilot.press("down")
        await pilot.press("enter")
        await until(pilot, lambda: "Imported 86 events of Claude Code" in told(pilot))
        assert "Import history" not in shown(conversation_of(pilot))
        await send(pilot, "/import codex")
        await until(pilot, lambda: "Nothing new to import." in told(pilot))
        await send(pilot, "/import emacs")
        await until(pilot, lambda: "Unknown agent 'emacs'." in told(pilot))
    await agent.close()
    again = _agent(project, data)
    async with app_over(again).run_test(size=(110, 36)) as pilot:
        await until(pilot, lambda: "Try" in shown(conversation_of(pilot)))
        assert "Import" not in shown(conversation_of(pilot))
    await again.close()


@pytest.mark.usefixtures("history")
async def test_leaving_ends_the_process_that_counts_what_there_is(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    surveys: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, command: list[str], **options: Any) -> None:
            super().__init__(command, **options)
            if "survey" in command:
                surveys.append(self)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    agent = _agent(project, tmp_path / "data")
    async with app_over(agent).run_test(size=(110, 36)) as pilot:
        await until(pilot, lambda: surveys)
    assert None not in [survey.returncode for survey in surveys]
    await agent.close()


@pytest.mark.usefixtures("history")
async def test_an_imported_conversation_is_read_as_it_is_and_goes_on_in_a_fork(
    project: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    async with await Store.open(data) as store:
        async for _ in Importer(store, Blobs(data / "blobs"), Path.home(), {}, None).run("claude-code"):
            pass
        found = await store.conversations(limit=9)
        cart = next(each for each in found if each.title.startswith("Fix the total"))
        before = await store.events(cart.id)
    agent = _agent(project, data, "Yes.", "Again.")
    async with app_over(agent, conversation_id=cart.id).run_test(size=(110, 36), notifications=True) as pilot:
        await until(pilot, lambda: "Fix the total" in main_of(pilot).title_shown)
        await until(pilot, lambda: "From Claude Code: a message continues it in a fork" in told(pilot))
        await send(pilot, "go on")
        await until(pilot, lambda: "Yes." in shown(conversation_of(pilot)))
        await finished(pilot)
        assert "This goes on in a fork here" in told(pilot)
        fork = main_of(pilot).bridge.conversation_id
        assert fork is not None
        await send(pilot, "and on")
        await until(pilot, lambda: "Again." in shown(conversation_of(pilot)))
        await finished(pilot)
        assert main_of(pilot).bridge.conversation_id == fork
        store = await agent.store()
        stored = await store.conversation(fork)
        assert stored is not None
        assert (stored.parent, stored.source) == (cart.id, "")
        assert await store.events(cart.id) == before
        assert len(await store.events(fork)) == len(before) + 4
    await agent.close()
    again = _agent(project, data)
    async with app_over(again, conversation_id=fork).run_test(size=(110, 36), notifications=True) as pilot:
        await until(pilot, lambda: "A fork of a conversation from Claude Code." in told(pilot))
    await again.close()


async def test_a_conversation_of_another_project_goes_on_in_a_fork_with_its_own_edits(
    project: Path, tmp_path: Path
) -> None:
    data, notes = tmp_path / "data", tmp_path / "notes"
    for place in (project, notes):
        place.mkdir(exist_ok=True)
        (place / "cart.py").write_text("one\n")
    calls = [{"name": "edit", "args": {"file": "cart.py", "old": "one", "new": "two"}}]
    write = f"<execute>\n{json.dumps(calls)}\n</execute>"
    there = _agent(notes, data, write, "Done.")
    there.permissions = "edits"
    await there.open()
    async for _ in there.stream("there", conversation_id=None):
        pass
    begun = await (await there.store()).latest(str(notes))
    assert begun is not None
    id = begun.id
    await there.close()
    assert (notes / "cart.py").read_text() == "two\n"
    agent = _agent(project, data, write, "Done here.")
    agent.permissions = "edits"
    async with app_over(agent, conversation_id=id).run_test(size=(110, 36), notifications=True) as pilot:
        await until(pilot, lambda: "Done." in shown(conversation_of(pilot)))
        await send(pilot, "here")
        await until(pilot, lambda: "Done here." in shown(conversation_of(pilot)))
        await finished(pilot)
        fork = main_of(pilot).bridge.conversation_id
        assert fork not in (None, id)
        store = await agent.store()
        made = [
            (edit.origin.project, edit.origin.conversation)
            for edit in await Edits(store.database).of_project(str(project), limit=9)
        ]
        assert made == [(str(project), fork)]
        # What was done there is in no file here.
        assert fork is not None
        assert [edit.origin.project for edit in await agent.journal.in_history(fork)] == [str(project)]
    await agent.close()
    assert (project / "cart.py").read_text() == "two\n"
