"""Drafts: each belongs to its conversation; one of none is offered once: in the prompt when a program starts,
in the history when it runs."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from cogency_tui.store.prompt_text import Written
from cogency_tui.store.prompts_and_drafts import LONGEST, Draft, Prompts
from cogency_tui.tui.prompt.prompt_and_queue import PromptLine
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import (
    app_over,
    conversation_of,
    finished,
    main_of,
    prompt_of,
    send,
    shown,
    told,
    type_text,
    until,
)

RESTORED = "Unsent message restored · Esc clears"
IN_HISTORY = "Unsent message added to the history · ↑ shows it"


@pytest.fixture
def agent(project: Path) -> Agent:
    provider = ScriptedProvider("fine", "fine", "fine", size=10_000)
    return Agent(provider, project=project, data=project.parent / "data", settings=Settings(titles=False))


def prompts_of(agent: Agent) -> Prompts:
    return Prompts(agent.data, agent.project, number=99)


def line_of(pilot: Pilot[Any]) -> str:
    """The line below the prompt."""
    line = main_of(pilot).query_one(PromptLine)
    return shown(line).strip() if line.display else ""


async def converse(pilot: Pilot[Any], text: str) -> str:
    """Have a turn in the shown conversation; return its id."""
    await send(pilot, text)
    await until(pilot, lambda: "fine" in shown(conversation_of(pilot)))
    await finished(pilot)
    return main_of(pilot).bridge.conversation_id or ""


async def type_draft(pilot: Pilot[Any], text: str) -> None:
    prompt_of(pilot).replace_text(text)
    await pilot.pause()


async def test_a_draft_is_shown_in_its_conversation_and_in_no_other(agent: Agent) -> None:
    async with app_over(agent).run_test(size=(100, 30), notifications=True) as pilot:
        first = await converse(pilot, "first")
        await type_draft(pilot, "more about the first")
        await pilot.press("ctrl+n")
        await until(pilot, lambda: "saved in the previous conversation" in told(pilot))
        assert prompt_of(pilot).text == ""
        second = await converse(pilot, "second")
        await type_draft(pilot, "more about the second")

        for id, text in ((first, "more about the first"), (second, "more about the second")):
            await main_of(pilot).run_action(f"command('resume', {id!r})")
            await until(pilot, lambda text=text: prompt_of(pilot).text == text)
            await until(pilot, lambda: line_of(pilot) == RESTORED)
        await pilot.press("!")
        await until(pilot, lambda: line_of(pilot) == "")
    await agent.close()


async def test_a_draft_is_there_when_the_program_opens_its_conversation_again(agent: Agent) -> None:
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        id = await converse(pilot, "first")
        await type_draft(pilot, "and then")
        pilot.app.exit()
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await converse(pilot, "another")
        assert prompt_of(pilot).text == ""
    async with app_over(agent, conversation_id=id).run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: prompt_of(pilot).text == "and then")
    await agent.close()


async def test_a_draft_of_no_conversation_is_offered_in_the_next_new_one_and_esc_clears_it(
    agent: Agent,
) -> None:
    async with app_over(agent).run_test(size=(100, 30), notifications=True) as pilot:
        id = await converse(pilot, "first")
        await pilot.press("ctrl+n")
        await type_draft(pilot, "an idea")
        await main_of(pilot).run_action(f"command('resume', {id!r})")
        await until(pilot, lambda: "saved for the next new conversation" in told(pilot))
        assert prompt_of(pilot).text == ""
        pilot.app.exit()
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: prompt_of(pilot).text == "an idea")
        await until(pilot, lambda: line_of(pilot) == RESTORED)
        await pilot.press("escape")
        await until(pilot, lambda: (prompt_of(pilot).text, line_of(pilot)) == ("", ""))
        await pilot.press("up")
        assert prompt_of(pilot).text == "an idea"
    await agent.close()


async def test_ctrl_n_in_a_conversation_that_was_never_begun_leaves_the_draft_alone(agent: Agent) -> None:
    async with app_over(agent).run_test(size=(100, 30), notifications=True) as pilot:
        await type_draft(pilot, "an idea")
        await pilot.press("ctrl+n")
        await pilot.pause()
        assert (prompt_of(pilot).text, line_of(pilot), told(pilot)) == ("an idea", "", "")
    await agent.close()


async def test_of_two_programs_one_gets_the_draft(agent: Agent, project: Path) -> None:
    prompts_of(agent).put_aside(Draft(Written("an idea")))
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: prompt_of(pilot).text == "an idea")
        assert prompts_of(agent).claim("") == []
    await agent.close()


async def test_a_prompt_of_the_command_line_takes_no_draft(agent: Agent) -> None:
    prompts_of(agent).put_aside(Draft(Written("an idea")))
    async with app_over(agent, prompt="do it").run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "fine" in shown(conversation_of(pilot)))
        await finished(pilot)
        assert prompt_of(pilot).text == ""
    assert len(prompts_of(agent).claim("")) == 1
    await agent.close()


async def test_older_drafts_of_a_conversation_are_in_the_history(agent: Agent) -> None:
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        id = await converse(pilot, "first")
    for text in ("older", "newer"):
        prompts_of(agent).put_aside(Draft(Written(text), conversation=id))
    async with app_over(agent, conversation_id=id).run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: prompt_of(pilot).text == "newer")
        await until(pilot, lambda: Written("older") in prompts_of(agent).history())
    await agent.close()


async def test_a_draft_that_cannot_be_stored_goes_into_the_history(agent: Agent) -> None:
    async with app_over(agent).run_test(size=(100, 30), notifications=True) as pilot:
        await converse(pilot, "first")
        await type_draft(pilot, "and then")
        prompts = Prompts(agent.data, agent.project)
        await until(pilot, lambda: list(prompts.directory.glob("draft-*.json")))
        prompts.directory.rename(prompts.directory.with_name("gone"))
        prompts.directory.write_text("in the way")
        await pilot.press("ctrl+n")
        await until(pilot, lambda: "cannot be used" in told(pilot))
        assert prompt_of(pilot).text == ""
        await pilot.press("up")
        assert prompt_of(pilot).text == "and then"
    await agent.close()


async def test_the_message_that_is_being_edited_is_saved_once_and_in_its_place(project: Path) -> None:
    provider = ScriptedProvider("one <<hang>>", size=10_000)
    agent = Agent(provider, project=project, data=project.parent / "data", settings=Settings(titles=False))
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        for text in ("go", "a", "b", "c"):
            await send(pilot, text)
        await until(pilot, lambda: len(main_of(pilot).bridge.queue) == 3)
        await pilot.press("d", "up", "up", "!")
        id = main_of(pilot).bridge.conversation_id
        pilot.app.exit()
    (claimed,) = prompts_of(agent).claim(id or "")
    assert [each.text for each in claimed.draft.messages] == ["a", "b!", "c", "d"]
    await agent.close()


async def test_a_new_conversation_of_a_running_program_begins_with_an_empty_prompt(agent: Agent) -> None:
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await converse(pilot, "first")
        # As of another program, which has ended.
        prompts_of(agent).put_aside(Draft(Written("window two draft"), (Written("queued"),)))
        await pilot.press("ctrl+n")
        await until(pilot, lambda: line_of(pilot) == IN_HISTORY)
        assert prompt_of(pilot).text == ""
        await type_text(pilot, "hello")
        await pilot.press("enter")
        await until(pilot, lambda: "hello" in shown(conversation_of(pilot)))
        await finished(pilot)
        await pilot.press("up", "up")
        assert prompt_of(pilot).text == "window two draft"
        await pilot.press("up")
        assert prompt_of(pilot).text == "queued"
        await until(pilot, lambda: not list(prompts_of(agent).directory.glob("draft-*-*-*.json")))
    texts = [each.text for each in prompts_of(agent).history()]
    assert texts == ["first", "queued", "window two draft", "hello"]
    assert prompts_of(agent).claim("") == []
    await agent.close()


async def test_a_new_conversation_on_another_screen_begins_with_an_empty_prompt(project: Path) -> None:
    provider = ScriptedProvider("one <<hang>>", size=10_000)
    agent = Agent(provider, project=project, data=project.parent / "data", settings=Settings(titles=False))
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: "one" in shown(conversation_of(pilot)))
        prompts_of(agent).put_aside(Draft(Written("window two draft")))
        first = main_of(pilot)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: main_of(pilot) is not first and line_of(pilot) == IN_HISTORY)
        assert prompt_of(pilot).text == ""
        await until(pilot, lambda: Written("window two draft") in prompts_of(agent).history())
    await agent.close()


async def test_a_draft_that_the_history_cannot_store_stays_a_draft(agent: Agent) -> None:
    long = Written("long " * (LONGEST // 5))
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await converse(pilot, "first")
        prompts_of(agent).put_aside(Draft(long))
        await pilot.press("ctrl+n")
        await until(pilot, lambda: line_of(pilot) == IN_HISTORY)
        await until(pilot, lambda: list(prompts_of(agent).directory.glob("unsent-*.json")))
    (claimed,) = prompts_of(agent).claim("")
    assert claimed.draft.written == long
    await agent.close()
