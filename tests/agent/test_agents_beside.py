"""Agents beside each other: conversations that run at the same time, each by the choices of its own agent."""

import asyncio
from pathlib import Path

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.config.schema import Settings
from tests.agent.test_turns import turn
from tests.peers.scripted import ScriptedProvider
from tests.tui.review.stage import write


def agent_over(tmp_path: Path, project: Path, *replies: str) -> Agent:
    provider = ScriptedProvider(*replies, size=10_000)
    return Agent(provider, project=project, data=tmp_path / "data", settings=Settings())


async def test_a_widening_of_one_widens_no_other(tmp_path: Path, project: Path) -> None:
    asked: list[str] = []

    async def decline(question: Question) -> Answer:
        asked.append(question.summary)
        return Answer(False)

    async with agent_over(tmp_path, project, write("a.py", "1\n"), "ok", write("b.py", "1\n"), "ok") as first:
        second = first.beside()
        second.ask = decline
        first.permissions = "auto"
        await turn(first, "write a", conversation_id="a")
        await turn(second, "write b", conversation_id="b")
    assert asked == ["Create b.py"]
    assert ((project / "a.py").exists(), (project / "b.py").exists()) == (True, False)


async def test_one_begins_no_wider_than_configured_and_no_wider_than_the_other(
    tmp_path: Path, project: Path
) -> None:
    async with agent_over(tmp_path, project) as first:
        first.permissions = "auto"
        assert first.beside().permissions == "ask"
        first.permissions = "plan"
        assert first.beside().permissions == "plan"


async def test_one_that_leaves_ends_only_its_own_conversation(tmp_path: Path, project: Path) -> None:
    async with agent_over(tmp_path, project, "one <<hang>>", "two", "three") as first:
        provider = first.provider
        assert isinstance(provider, ScriptedProvider)
        second = first.beside()
        running = asyncio.create_task(turn(first, "go", conversation_id="a"))
        await provider.hanging.wait()
        assert [event["type"] for event in await turn(second, "go", conversation_id="b")][-1] == "end"
        await first.leave("a")
        assert (await running)[-1]["type"] == "interrupt"
        assert (await turn(second, "again", conversation_id="b"))[-1]["type"] == "end"
        store = await second.store()
        assert len([each for each in await store.events("a") if each["type"] == "user"]) == 1
        assert len([each for each in await store.events("b") if each["type"] == "user"]) == 2
