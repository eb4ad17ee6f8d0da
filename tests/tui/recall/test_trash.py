"""The trash: conversations that are open do not go there unseen, and come back from it at any time."""

import os
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Permissions, Settings
from cogency_tui.store.open_locks import Presence
from cogency_tui.store.trash import Trash
from cogency_tui.tui.kit.dialogs import Confirmation
from cogency_tui.tui.kit.footer import Footer
from cogency_tui.tui.main.screen import MainScreen
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import (
    at_work,
    conversation_of,
    finished,
    main_of,
    question_of,
    seen,
    send,
    shown,
    told,
    until,
)
from tests.tui.recall.past import (
    agent_in,
    is_open,
    list_of,
    listed,
    open_recall,
    recalled,
    screen_of,
    settled,
    usual,
)
from tests.tui.review.stage import write


def agent_over(project: Path, *replies: str, permissions: Permissions = "ask") -> Agent:
    provider = ScriptedProvider(*replies, size=10_000)
    data = project.parent / "data"
    settings = Settings(titles=False)
    return Agent(provider, project=project, data=data, permissions=permissions, settings=settings)


async def answered(pilot: Pilot[Any], text: str) -> str:
    """Have a message answered; return the id of its conversation."""
    await send(pilot, text)
    await finished(pilot)
    id = main_of(pilot).bridge.conversation_id
    assert id is not None
    return id


async def choose_trash(pilot: Pilot[Any], agent: Agent) -> None:
    """Open the list, and press the key of the trash on its first conversation."""
    await open_recall(pilot, agent)
    await pilot.press("down")
    await until(pilot, lambda: list_of(pilot).has_focus and list_of(pilot).entry)
    await pilot.press("d")


async def is_trashed(agent: Agent, id: str) -> bool:
    found = await (await agent.store()).conversation(id)
    assert found is not None
    return found.trashed is not None


async def test_the_conversation_on_the_screen_is_moved_only_after_a_yes_and_a_new_one_begins(
    project: Path,
) -> None:
    agent = agent_over(project, "one", "two")
    async with at_work(agent) as pilot:
        id = await answered(pilot, "first")
        await choose_trash(pilot, agent)
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        assert "Move the open conversation to the trash? A new one begins." in seen(pilot)
        await pilot.press("n")
        await until(pilot, lambda: is_open(pilot))
        assert "first" in listed(pilot)
        assert not await is_trashed(agent, id)

        await pilot.press("d")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await pilot.press("y")
        await until(pilot, lambda: is_open(pilot) and "first" not in listed(pilot))
        assert "to the trash (u undo)" in told(pilot)
        assert await is_trashed(agent, id)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        assert not conversation_of(pilot).transcript.units
        assert await answered(pilot, "second") != id
        assert await is_trashed(agent, id)


async def test_a_conversation_at_work_is_not_moved(project: Path) -> None:
    agent = agent_over(project, "one <<hang>>")
    async with at_work(agent) as pilot:
        await send(pilot, "first")
        await until(pilot, lambda: "one" in shown(conversation_of(pilot)))
        await choose_trash(pilot, agent)
        await until(pilot, lambda: "“first” is running. Stop it first." in told(pilot))
        assert not await is_trashed(agent, main_of(pilot).bridge.conversation_id or "")
        assert main_of(pilot).bridge.working
        await pilot.press("escape", "escape")
        await finished(pilot)


async def test_a_conversation_that_waits_for_an_answer_is_not_moved(project: Path) -> None:
    agent = agent_over(project, write("new.py", "x = 1\n"), "done")
    async with at_work(agent) as pilot:
        await send(pilot, "first")
        await until(pilot, lambda: question_of(pilot) is not None)
        await pilot.app.screen.run_action("screen.command('recall')")
        await until(pilot, lambda: is_open(pilot))
        await settled(pilot)
        await pilot.press("down")
        await until(pilot, lambda: list_of(pilot).has_focus and list_of(pilot).entry)
        await pilot.press("d")
        await until(pilot, lambda: "“first” is waiting for you. Answer or stop it first." in told(pilot))
        assert not await is_trashed(agent, main_of(pilot).bridge.conversation_id or "")


async def test_a_conversation_whose_command_runs_in_the_background_is_not_moved(project: Path) -> None:
    agent = agent_over(project, "one")
    async with at_work(agent) as pilot:
        id = await answered(pilot, "first")
        assert agent.background is not None
        started = await agent.background.of(id).start("sleep 60", project, dict(os.environ))
        await choose_trash(pilot, agent)
        await until(pilot, lambda: "“first” has a command running in the background." in told(pilot))
        assert not await is_trashed(agent, id)
        await agent.background.stop(started)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))


async def test_a_conversation_that_is_open_on_another_screen_is_closed(project: Path) -> None:
    agent = agent_over(project, "one <<hang>>", "two")
    async with at_work(agent) as pilot:
        await send(pilot, "first")
        await until(pilot, lambda: "one" in shown(conversation_of(pilot)))
        first: MainScreen = main_of(pilot)
        id = first.bridge.conversation_id
        assert id is not None
        await pilot.press("ctrl+n")
        await until(pilot, lambda: main_of(pilot) is not first and pilot.app.screen is main_of(pilot))
        first.bridge.interrupt()
        await until(pilot, lambda: first.state == "idle")
        await choose_trash(pilot, agent)
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        assert "Move “first” to the trash? It is open, and will be closed." in seen(pilot)
        await pilot.press("y")
        await until(pilot, lambda: is_open(pilot) and "first" not in listed(pilot))
        app: Any = pilot.app
        await until(pilot, lambda: first not in app.conversations.screens)
        assert await is_trashed(agent, id)


async def test_a_conversation_that_is_open_in_another_program_is_not_moved(project: Path) -> None:
    agent = agent_over(project, "one", "two")
    other = Presence(project.parent / "data")
    async with at_work(agent) as pilot:
        id = await answered(pilot, "first")
        await pilot.press("ctrl+n")
        await until(pilot, lambda: other.enter(id, 1.0))
        await choose_trash(pilot, agent)
        await until(pilot, lambda: "is open in process" in told(pilot))
        assert not await is_trashed(agent, id)
    other.leave()


@pytest.mark.parametrize("text", ["second", "!true"])
async def test_a_message_restores_a_conversation_that_another_program_has_moved(
    project: Path, text: str
) -> None:
    agent = agent_over(project, "one", "two", permissions="auto")
    async with at_work(agent) as pilot:
        id = await answered(pilot, "first")
        await Trash((await agent.store()).database).move(id)
        assert await answered(pilot, text) == id
        assert not await is_trashed(agent, id)
        await answered(pilot, "third")
        await until(pilot, lambda: "was in the trash, and is restored." in shown(conversation_of(pilot)))


async def test_what_was_moved_before_a_restart_is_restored_from_the_trash_which_u_shows(
    project: Path,
) -> None:
    agent = agent_in(project)
    made = await usual(agent)
    await agent.recall.trash(made["week"].id)
    await agent.close()
    agent = agent_in(project)
    async with recalled(agent) as pilot:
        line = screen_of(pilot).query_one(Footer)
        await pilot.press("down")
        await until(pilot, lambda: "d trash" in shown(line))
        assert "u undo" not in shown(line)
        await pilot.press("u")
        await until(pilot, lambda: "Add pagination" in listed(pilot))
        assert "This is the trash: u restores." in told(pilot)
        await until(pilot, lambda: "u restore" in shown(line))
        assert "d trash" not in shown(line)
        await pilot.press("u")
        await until(pilot, lambda: "The trash is empty." in listed(pilot))
        assert not await is_trashed(agent, made["week"].id)
