"""Several conversations at a time: each goes on while another is shown, and is found again as it was left."""

from pathlib import Path

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from cogency_tui.tui.status.status_bar import Background
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import (
    at_work,
    conversation_of,
    main_of,
    prompt_of,
    send,
    shown,
    status_of,
    until,
)


def agent_over(project: Path, *replies: str) -> Agent:
    provider = ScriptedProvider(*replies, size=10_000)
    return Agent(provider, project=project, data=project.parent / "data", settings=Settings())


async def test_a_conversation_that_works_goes_on_when_another_begins(project: Path) -> None:
    agent = agent_over(project, "one <<hang>>", "two")
    async with at_work(agent) as pilot:
        await send(pilot, "first")
        first = main_of(pilot)
        await until(pilot, lambda: "one" in shown(conversation_of(pilot)))
        await pilot.press("ctrl+n")
        await until(
            pilot, lambda: main_of(pilot) is not first and not conversation_of(pilot).transcript.units
        )
        assert first.bridge.working
        await until(pilot, lambda: status_of(pilot).background == Background(working=1))
        assert "1 running" in shown(status_of(pilot))

        await send(pilot, "second")
        await until(pilot, lambda: "two" in shown(conversation_of(pilot)))
        await until(pilot, lambda: not main_of(pilot).bridge.working)
        assert first.bridge.working
        prompt_of(pilot).replace_text("a draft")

        await pilot.press("f9", "enter")
        await until(pilot, lambda: main_of(pilot) is first)
        assert "one" in shown(conversation_of(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: not first.bridge.working)
        await pilot.press("f9", "enter")
        await until(pilot, lambda: main_of(pilot) is not first)
        assert prompt_of(pilot).text == "a draft"
        store = await agent.store()
        assert [each.turns for each in await store.conversations(limit=9)] == [1, 1]
