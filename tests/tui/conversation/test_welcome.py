"""What a new user reads first: what this is, which model answers and why, what to try, how to have another."""

from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import config_path
from cogency_tui.tui.conversation.welcome import draw_welcome, situation_of
from cogency_tui.tui.theme_styles import theme_styles_of


def read(agent: Agent, width: int = 200) -> str:
    return "\n".join(line.text for line in draw_welcome(situation_of(agent), width, theme_styles_of("night")))


def test_without_any_set_up_it_says_what_it_is_and_how_a_key_is_added(project: Path) -> None:
    said = read(Agent(project=project))
    assert "Your coding agent for this directory" in said
    assert "No model configured yet — using the built-in demo model offline/offline-1. Built in:" in said
    assert said.count("›") == 3
    assert "Set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY and restart" in said
    assert "~/.config/cogency-tui/config.toml" in said
    assert "cogency-tui --tour" in said


def test_a_key_that_is_there_is_named_and_never_shown(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    said = read(Agent(project=project))
    assert "API key found in ANTHROPIC_API_KEY. Press F2 to list its models" in said
    assert "sk-secret" not in said


def test_who_chose_the_model_is_told(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Model: openai/gpt-5-mini (--provider)" in read(Agent("openai", project=project))
    monkeypatch.setenv("COGENCY_PROVIDER", "openai")
    assert "($COGENCY_PROVIDER)" in read(Agent(project=project))
    monkeypatch.delenv("COGENCY_PROVIDER")
    config_path().parent.mkdir(parents=True)
    config_path().write_text('theme = "day"\nprovider = "openai"\n')
    said = read(Agent(project=project))
    assert f"Model: openai/gpt-5-mini ({config_path()}:2)" in said
    assert "--tour" not in said


@pytest.mark.parametrize("width", [20, 47, 120])
def test_it_fits(project: Path, width: int) -> None:
    lines = draw_welcome(situation_of(Agent(project=project)), width, theme_styles_of("night"))
    assert all(len(line.text) <= max(width, 40) for line in lines)
