"""The start of an empty conversation: the model and its origin, suggestions, and recent conversations."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from textual import events

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import config_path
from cogency_tui.tui.conversation.welcome import Recent, WelcomePicker, draw_welcome, situation_of
from cogency_tui.tui.kit.cell_text import cells
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.workspace.protected_names import short_path
from tests.tui.driving import (
    app_over,
    conversation_of,
    files_of,
    finished,
    main_of,
    prompt_of,
    send,
    shown,
    until,
)
from tests.tui.main.test_screen import past
from tests.tui.review.stage import answered, working
from tests.tui.scripted import ScriptedAgent, respond

PAST = [Recent(str(number), f"Conversation {number}", "14:05") for number in range(9)]


def lines(agent: Agent, width: int = 200, height: int = 60, recent: Sequence[Recent] = ()) -> list[str]:
    picker = WelcomePicker(lambda _action: None, lambda: None, lambda: True)
    picker.know(recent)
    drawn = draw_welcome(situation_of(agent), picker, width, height, theme_styles_of("night"))
    return [line.text for line in drawn]


def read(agent: Agent) -> str:
    return "\n".join(lines(agent))


def test_without_any_set_up_it_says_what_it_is_and_how_a_key_is_added(project: Path) -> None:
    said = read(Agent(project=project))
    assert "Your coding agent for this directory" in said
    assert " offline/offline-1  F2    ask  Shift+Tab" in said
    assert "No model configured yet — using the built-in demo model." in said
    assert said.count("›") == 3
    assert "Set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY and restart" in said
    assert "~/.config/cogency-tui/config.toml" in said
    assert "cogency-tui --tour" in said


def test_a_key_that_is_there_is_named_and_never_shown(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    said = read(Agent(project=project))
    assert "API key found in ANTHROPIC_API_KEY. Press F2 to list its models" in said
    assert "sk-secret" not in said


def test_the_origin_of_the_model_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = read(Agent("openai", project=project))
    assert " openai/gpt-6.1-sol " in said
    assert "Model set by --provider" in said
    monkeypatch.setenv("COGENCY_PROVIDER", "openai")
    assert "Model set by $COGENCY_PROVIDER" in read(Agent(project=project))
    monkeypatch.delenv("COGENCY_PROVIDER")
    config_path().parent.mkdir(parents=True)
    config_path().write_text('theme = "day"\nprovider = "openai"\n')
    said = read(Agent(project=project))
    assert f"Model set in {short_path(config_path())}:2" in said
    assert "--tour" not in said


@pytest.mark.parametrize("width", [20, 47, 120])
def test_it_fits(project: Path, width: int) -> None:
    assert all(cells(line) <= max(width, 40) for line in lines(Agent(project=project), width, recent=PAST))


@pytest.mark.parametrize(("height", "recent"), [(12, 4), (16, 5), (18, 2), (36, 5)])
def test_what_can_be_picked_is_visible_without_scrolling(project: Path, height: int, recent: int) -> None:
    drawn = lines(Agent("openai", project=project), 56, height, PAST)
    assert len(drawn) <= height
    assert sum("›" in line for line in drawn) == 3 + recent


async def test_down_picks_a_suggestion_and_up_returns_to_the_history(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 40)) as pilot:
        view, prompt = conversation_of(pilot), prompt_of(pilot)
        await pilot.press("down", "down", "up", "enter")
        await until(pilot, lambda: prompt.text == "explain what this project does")
        prompt.clear_draft()
        await pilot.press("up")
        assert prompt.text == "explain what this project does", "the history, as nothing is selected"
        prompt.replace_text("")
        row = next(y for y, line in enumerate(shown(view).splitlines()) if "add a missing test" in line)
        await pilot.click(view, offset=(8, row))
        await until(pilot, lambda: prompt.text == "add a missing test" and prompt.has_focus)


async def test_a_recent_conversation_is_resumed(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    past(agent, "Fix the test", "Upgrade httpx")
    async with app_over(agent).run_test(size=(120, 40)) as pilot:
        view = conversation_of(pilot)
        await until(pilot, lambda: "Upgrade httpx" in shown(view))
        await pilot.press(*["down"] * 5, "enter")
        await until(pilot, lambda: "about Upgrade httpx" in shown(view))
        # In a conversation the keys are those of the history again.
        await send(pilot, "go")
        await finished(pilot)
        await pilot.press("down", "enter")
        assert agent.asked == ["go"]
        assert main_of(pilot).bridge.conversation_id == "id1"


async def test_conversations_of_one_title_are_told_apart_by_their_first_messages(project: Path) -> None:
    agent = working(project, *["Done."] * 4)
    ids = [await answered(agent, text) for text in ("fix the parser", "fix the lexer", "other")]
    store = await agent.store()
    for id in ids[:2]:
        await store.rename(id, "Fix it")
    async with app_over(agent).run_test(size=(120, 40)) as pilot:
        view = conversation_of(pilot)
        await until(pilot, lambda: "Fix it  fix the parser" in shown(view))
        assert "Fix it  fix the lexer" in shown(view)
        assert "other  " in shown(view)
        assert "other  other" not in shown(view)
    await agent.close()


async def test_only_the_start_screen_picks_a_suggestion(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    past(agent, "Fix the test")
    async with app_over(agent).run_test(size=(120, 40)) as pilot:
        view, prompt = conversation_of(pilot), prompt_of(pilot)
        await until(pilot, lambda: "Fix the test" in shown(view))
        await pilot.press("down", "down")
        await main_of(pilot).run_action("command('resume', 'id0')")
        await until(pilot, lambda: "about Fix the test" in shown(view))
        await pilot.press("enter", "down", "enter")
        assert prompt.text == ""
        await send(pilot, "go")
        await finished(pilot)
        await pilot.press("down", "enter")
        assert prompt.text == ""
        assert agent.asked == ["go"]
        await pilot.press("ctrl+n", "enter")
        assert prompt.text == "", "nothing is selected where the start screen is shown again"


async def test_text_deselects_the_suggestion_whatever_is_typed_right_after_it(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(120, 40)) as pilot:
        prompt = prompt_of(pilot)
        await pilot.press("down", "down")
        # The prompt handles these before the screen handles any message about them.
        for key in ("g", "o", "enter", "enter"):
            prompt.post_message(events.Key(key, key if len(key) == 1 else "\r"))
        await finished(pilot)
        await until(pilot, lambda: agent.asked == ["go"])
        assert prompt.text == ""


async def test_the_chips_change_model_and_permissions(project: Path) -> None:
    agent = ScriptedAgent(project)
    async with app_over(agent).run_test(size=(120, 40)) as pilot:
        view = conversation_of(pilot)
        files_of(pilot).focus()
        rows = shown(view).splitlines()
        y = next(y for y, line in enumerate(rows) if "Shift+Tab" in line)
        await pilot.click(view, offset=(rows[y].index("ask"), y))
        await until(pilot, lambda: agent.permissions == "edits" and " edits  Shift+Tab" in shown(view))
        await pilot.click(view, offset=(rows[y].index("openai"), y))
        await until(pilot, lambda: not main_of(pilot).is_active)
