"""What the user sends while a conversation is being opened belongs to that conversation."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.errors import StoreError
from cogency_tui.tui.bridge import Bridge
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import (
    app_over,
    conversation_of,
    finished,
    main_of,
    prompt_of,
    seen,
    send,
    shown,
    until,
)
from tests.tui.review.stage import agent_of, answered

ANSWERS = ("It is forty-two.", "I said so.", "Once more.")


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Iterator[asyncio.Event]:
    """Conversations open once it is set."""
    event, reopen = asyncio.Event(), Bridge.reopen

    async def wait(self: Bridge, conversation_id: str) -> Any:
        await event.wait()
        return await reopen(self, conversation_id)

    monkeypatch.setattr(Bridge, "reopen", wait)
    yield event
    event.set()


@asynccontextmanager
async def opening(project: Path) -> AsyncGenerator[tuple[Pilot[Any], ScriptedProvider, str]]:
    """The app, which is about to open a conversation of one turn."""
    provider = ScriptedProvider(*ANSWERS, size=1000)
    agent = agent_of(project, provider)
    id = await answered(agent, "what is it?")
    async with app_over(agent, conversation_id=id).run_test(size=(100, 30), notifications=True) as pilot:
        yield pilot, provider, id
    await agent.close()


def known(provider: ScriptedProvider) -> str:
    """What the model was given before the last messages."""
    return "\n".join(str(each["content"]) for each in provider.seeds[-1])


async def test_a_message_sent_before_it_is_open_has_its_history(project: Path, door: asyncio.Event) -> None:
    async with opening(project) as (pilot, provider, id):
        await send(pilot, "are you sure?")
        await send(pilot, "really?")
        await until(pilot, lambda: "still opening" in seen(pilot))
        assert not main_of(pilot).bridge.working
        assert len(provider.sent) == 1

        door.set()
        await until(pilot, lambda: len(provider.sent) == 3)
        await finished(pilot)
        assert main_of(pilot).bridge.conversation_id == id
        assert "It is forty-two." in known(provider)
        text = shown(conversation_of(pilot))
        assert text.index("It is forty-two.") < text.index("are you sure?") < text.index("really?")


async def test_a_command_waits_for_it_too_and_keeps_its_place(project: Path, door: asyncio.Event) -> None:
    async with opening(project) as (pilot, provider, id):
        await send(pilot, "/new")
        await send(pilot, "something else")
        door.set()
        await until(pilot, lambda: len(provider.sent) == 2)
        await finished(pilot)
        assert main_of(pilot).bridge.conversation_id not in (None, id)
        assert "It is forty-two." not in known(provider)


async def test_a_message_returns_to_the_prompt_if_it_does_not_open(
    project: Path, door: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_self: Bridge, _id: str) -> Any:
        await door.wait()
        raise StoreError("The conversation is damaged.", "Restore it.")

    monkeypatch.setattr(Bridge, "reopen", fail)
    async with opening(project) as (pilot, provider, _id):
        await send(pilot, "are you sure?")
        assert not prompt_of(pilot).text
        door.set()
        await until(pilot, lambda: prompt_of(pilot).text == "are you sure?")
        assert "The conversation is damaged." in seen(pilot)
        assert not main_of(pilot).bridge.working
        assert len(provider.sent) == 1


async def test_a_new_conversation_instead_returns_the_message(project: Path, door: asyncio.Event) -> None:
    async with opening(project) as (pilot, provider, _id):
        await send(pilot, "are you sure?")
        await pilot.press("ctrl+n")
        await until(pilot, lambda: prompt_of(pilot).text == "are you sure?")
        door.set()
        await pilot.press("enter")
        await until(pilot, lambda: len(provider.sent) == 2)
        await finished(pilot)
        assert "It is forty-two." not in known(provider)
        assert "It is forty-two." not in shown(conversation_of(pilot))


async def test_one_that_the_user_chooses_gets_the_message_instead_of_the_one_before(
    project: Path, door: asyncio.Event
) -> None:
    door.set()
    async with opening(project) as (pilot, provider, id):
        await until(pilot, lambda: conversation_of(pilot).transcript.units)
        other = await answered(main_of(pilot).agent, "something else")
        door.clear()
        await pilot.pause()
        await main_of(pilot).run_action(f"command('resume', {other!r})")
        await send(pilot, "are you sure?")
        door.set()
        await until(pilot, lambda: len(provider.sent) == 3)
        await finished(pilot)
        assert main_of(pilot).bridge.conversation_id == other
        store = await main_of(pilot).agent.store()
        turns = [known.turns for each in (id, other) if (known := await store.conversation(each))]
        assert turns == [1, 2]
