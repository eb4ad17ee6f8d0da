"""After a turn that failed, the error offers to retry it, and one key does."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from cogency_tui.errors import NetworkError
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import Chunk, Retrying
from cogency_tui.store.open_locks import Presence
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import (
    app_over,
    at_work,
    conversation_of,
    finished,
    live_line_of,
    main_of,
    prompt_of,
    send,
    shown,
    told,
    until,
)
from tests.tui.review.stage import agent_of, shell
from tests.tui.scripted import ScriptedAgent, call, error, notice, paused, respond, user

REFUSED = error("Nothing is listening on 127.0.0.1:1.", "Start the server.")


async def failed(pilot: Pilot[Any]) -> None:
    """Send a message whose turn fails."""
    await send(pilot, "fix it")
    await finished(pilot)
    await until(pilot, lambda: "Enter retry" in shown(conversation_of(pilot)))


@pytest.mark.parametrize("way", ["enter", "R", "click", "/retry"])
async def test_a_turn_that_failed_is_retried_without_another_message(project: Path, way: str) -> None:
    agent = ScriptedAgent(project, [REFUSED], [respond("Fixed.")])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await failed(pilot)
        view = conversation_of(pilot)
        match way:
            case "R":
                view.focus()
                await pilot.press("R")
            case "click":
                rows = shown(view).split("\n")
                await pilot.click(view, offset=(6, next(y for y, row in enumerate(rows) if "retry" in row)))
            case "/retry":
                await send(pilot, "/retry")
            case _:
                await pilot.press("enter")
        await until(pilot, lambda: "Fixed." in shown(view))
        assert agent.asked == ["fix it", ""]
        assert shown(view).count("fix it") == 1
        assert "retry" not in shown(view)


async def test_with_a_text_in_the_prompt_enter_is_not_offered_to_retry(project: Path) -> None:
    agent = ScriptedAgent(project, [REFUSED], [respond("Fixed.")])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await failed(pilot)
        view = conversation_of(pilot)
        await pilot.press("a")
        await until(pilot, lambda: "/retry continues the turn" in shown(view) and "Enter" not in shown(view))
        await pilot.press("backspace")
        await until(pilot, lambda: "Enter retry" in shown(view) and "/retry" not in shown(view))


async def test_a_reopened_conversation_with_a_draft_offers_the_command_to_retry(project: Path) -> None:
    provider = ScriptedProvider("<<hang>>", size=10_000)
    agent = Agent(provider, project=project, data=project.parent / "data", settings=Settings(titles=False))
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: "go" in shown(conversation_of(pilot)) and main_of(pilot).bridge.working)
        prompt_of(pilot).replace_text("a draft")
        await pilot.pause()
        id = main_of(pilot).bridge.conversation_id
        pilot.app.exit()
    async with app_over(agent, conversation_id=id).run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: prompt_of(pilot).text == "a draft")
        await until(pilot, lambda: "/retry continues the turn" in shown(conversation_of(pilot)))
        assert "Enter" not in shown(conversation_of(pilot))
    await agent.close()


async def test_the_offer_goes_as_soon_as_something_runs_and_comes_again(project: Path) -> None:
    agent = ScriptedAgent(project, [REFUSED, notice("Summarized.")], [paused, REFUSED])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await failed(pilot)
        view = conversation_of(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "retry" not in shown(view))
        await pilot.press("enter")
        agent.gate.set()
        await finished(pilot)
        await until(pilot, lambda: shown(view).count("Enter retry") == 1)
        assert agent.asked == ["fix it", ""], "an Enter while it works does nothing"


async def test_there_is_nothing_to_retry_after_an_answer(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("Done.")])
    async with app_over(agent).run_test(size=(120, 30), notifications=True) as pilot:
        await send(pilot, "fix it")
        await finished(pilot)
        await pilot.press("enter")
        await send(pilot, "/retry")
        await until(pilot, lambda: "Nothing to retry" in told(pilot))
        assert agent.asked == ["fix it"]


async def test_a_message_that_returned_to_the_prompt_is_sent_and_not_retried(project: Path) -> None:
    class Refusing(ScriptedAgent):
        async def run_turn(self, *_arguments: Any, **_options: Any) -> None:
            raise NetworkError("The store is gone.")

    async with app_over(Refusing(project)).run_test(size=(120, 30)) as pilot:
        await send(pilot, "fix it")
        await until(pilot, lambda: prompt_of(pilot).text == "fix it")
        assert "The store is gone." in shown(conversation_of(pilot))
        assert "retry" not in shown(conversation_of(pilot))


async def test_a_real_agent_answers_the_message_that_failed(project: Path, tmp_path: Path) -> None:
    provider = ScriptedProvider(NetworkError("The connection was refused."), "Here I am.")
    agent = Agent(provider, project=project, data=tmp_path / "data", settings=Settings(mode="replay"))
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await failed(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "Here I am." in shown(conversation_of(pilot)))
        stored = await (await agent.store()).events(main_of(pilot).bridge.conversation_id or "")
        assert [event["type"] for event in stored] == ["user", "error", "respond"]
    await agent.close()


class Limited(ScriptedProvider):
    """Limits the rate of each request; the retry of the first is a minute away."""

    async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[Chunk, None]:
        yield Retrying(2, 60.0 if len(self.sent) == 1 else 0.0, "Rate limited.", 5)
        if len(self.sent) == 1:
            await asyncio.Event().wait()
        async for chunk in super().answer(messages):
            yield chunk


@pytest.mark.parametrize("way", ["enter", "click", "/retry", "reopened"])
async def test_a_turn_interrupted_while_it_waits_for_a_retry_can_be_retried(
    project: Path, tmp_path: Path, way: str
) -> None:
    agent = Agent(
        Limited("Here I am."), project=project, data=tmp_path / "data", settings=Settings(mode="replay")
    )
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        view = conversation_of(pilot)
        await send(pilot, "fix it")
        await until(pilot, lambda: "(2 of 5)" in shown(live_line_of(pilot)))
        await pilot.press("escape")
        await finished(pilot)
        await until(pilot, lambda: "Enter retry" in shown(view))
        assert "■ Interrupted" in shown(view)
        match way:
            case "click":
                rows = shown(view).split("\n")
                await pilot.click(view, offset=(6, next(y for y, row in enumerate(rows) if "retry" in row)))
            case "/retry":
                await send(pilot, "/retry")
            case "reopened":
                await reopen(pilot, main_of(pilot).bridge.conversation_id or "")
                await until(pilot, lambda: "Enter retry" in shown(conversation_of(pilot)))
                await pilot.press("enter")
            case _:
                await pilot.press("enter")
        await until(pilot, lambda: "Here I am." in shown(conversation_of(pilot)))
        assert "retry" not in shown(conversation_of(pilot))
        assert "Interrupted" not in shown(conversation_of(pilot)), "the turn has its answer"
        assert shown(conversation_of(pilot)).count("Rate limited.") <= 1
        stored = await (await agent.store()).events(main_of(pilot).bridge.conversation_id or "")
        assert [event["type"] for event in stored if event["type"] != "error"] == ["user", "respond"]
    await agent.close()


@pytest.mark.parametrize("reopened", [False, True], ids=["live", "reopened"])
@pytest.mark.parametrize("first", ["half <<hang>>", shell("sleep 60")], ids=["answer", "call"])
async def test_a_turn_that_the_user_interrupted_is_continued_by_a_command_but_not_by_enter(
    project: Path, first: str, reopened: bool
) -> None:
    provider = ScriptedProvider(first, "The rest.", size=10_000)
    async with at_work(agent_of(project, provider)) as pilot:
        await send(pilot, "fix it")
        sign = "half" if "half" in first else "sleep 60"
        await until(pilot, lambda: sign in shown(conversation_of(pilot)))
        await pilot.press("escape")
        await finished(pilot)
        await until(pilot, lambda: "■ Interrupted" in shown(conversation_of(pilot)))
        if reopened:
            await reopen(pilot, main_of(pilot).bridge.conversation_id or "")
            await until(pilot, lambda: sign in shown(conversation_of(pilot)))
        assert "retry" not in shown(conversation_of(pilot))
        await pilot.press("enter")
        assert not main_of(pilot).bridge.working
        await send(pilot, "/retry")
        await until(pilot, lambda: "The rest." in shown(conversation_of(pilot)))
        await finished(pilot)
        assert shown(conversation_of(pilot)).count("fix it") == 1
        assert "■ Interrupted" not in shown(conversation_of(pilot)), "the turn has its answer"
        await send(pilot, "/retry")
        await until(pilot, lambda: "Nothing to retry" in told(pilot))
    [reported] = provider.sent[1]
    assert reported["role"] == "user"
    assert ("cut short" if "half" in first else "interrupted") in reported["content"]


async def reopen(pilot: Pilot[Any], id: str) -> None:
    await send(pilot, "/new")
    await until(pilot, lambda: "Your coding agent" in shown(conversation_of(pilot)))
    main_of(pilot)._features.conversations.open(id)  # pyright: ignore[reportPrivateUsage]


def problem_in(pilot: Pilot[Any]) -> list[str]:
    """The lines of the error on the screen, with its next step and the offer to retry."""
    lines = [line.strip() for line in shown(conversation_of(pilot)).splitlines()]
    return lines[next(at for at, line in enumerate(lines) if line.startswith("✗")) :][:3]


async def test_a_failed_turn_looks_the_same_and_is_retried_when_the_conversation_is_opened_again(
    project: Path, tmp_path: Path
) -> None:
    refused = NetworkError("The connection was refused.", "Start the server.")
    provider = ScriptedProvider(refused, "Here I am.")
    agent = Agent(provider, project=project, data=tmp_path / "data", settings=Settings(mode="replay"))
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await failed(pilot)
        live = problem_in(pilot)
        assert live == ["✗ The connection was refused.", "→ Start the server.", "Enter retry"]
        id = main_of(pilot).bridge.conversation_id or ""
        await reopen(pilot, id)
        await until(pilot, lambda: "Enter retry" in shown(conversation_of(pilot)))
        assert problem_in(pilot) == live
        await pilot.press("enter")
        await until(pilot, lambda: "Here I am." in shown(conversation_of(pilot)))
        assert "retry" not in shown(conversation_of(pilot))
        await finished(pilot)
        await reopen(pilot, id)
        await until(pilot, lambda: "Here I am." in shown(conversation_of(pilot)))
        assert problem_in(pilot)[:2] == live[:2]
        assert "retry" not in shown(conversation_of(pilot))
    await agent.close()


async def test_a_turn_whose_program_was_killed_is_retried_when_the_conversation_is_opened_again(
    project: Path, tmp_path: Path
) -> None:
    agent = Agent(
        ScriptedProvider("Here I am."),
        project=project,
        data=tmp_path / "data",
        settings=Settings(mode="replay"),
    )
    store = await agent.store()
    made = await store.create_conversation(str(project), dialect="xml", provider="scripted", model="m")
    await store.append(made.id, user("fix it"))
    await store.append(made.id, call("c1", "edit", file="a.py", old="x", new="y"))
    async with app_over(agent, conversation_id=made.id).run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "■ Cut off: the program ended" in shown(conversation_of(pilot)))
        assert "interrupted" in shown(conversation_of(pilot))
        await until(pilot, lambda: "Enter retry" in shown(conversation_of(pilot)))
        await pilot.press("enter")
        await until(pilot, lambda: "Here I am." in shown(conversation_of(pilot)))
        assert "retry" not in shown(conversation_of(pilot))
    await agent.close()


async def test_a_turn_that_another_program_works_on_is_no_failure(project: Path, tmp_path: Path) -> None:
    agent = Agent(
        ScriptedProvider(), project=project, data=tmp_path / "data", settings=Settings(mode="replay")
    )
    store = await agent.store()
    made = await store.create_conversation(str(project), dialect="xml", provider="scripted", model="m")
    await store.append(made.id, user("fix it"))
    await store.append(made.id, call("c1", "edit", file="a.py", old="x", new="y"))
    other = Presence(agent.data)
    assert other.enter(made.id, 0.0)
    async with app_over(agent, conversation_id=made.id).run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "fix it" in shown(conversation_of(pilot)))
        assert "retry" not in shown(conversation_of(pilot))
        assert "nterrupted" not in shown(conversation_of(pilot))
    other.leave()
    await agent.close()
