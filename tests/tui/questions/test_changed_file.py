"""A file that changes while an edit of it is asked about: the question shows what the edit would do now."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from cogency_tui.tui.kit.dialogs import QuestionBody
from cogency_tui.tui.questions.answer_lines import Answers
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import (
    answer,
    asked,
    at_work,
    conversation_of,
    finished,
    main_of,
    question_of,
    send,
    shown,
    until,
)

pytestmark = pytest.mark.usefixtures("short_pause")

UPDATED = "File changed since · diff updated"


@asynccontextmanager
async def editing(project: Path, file: str) -> AsyncGenerator[tuple[Pilot[Any], ScriptedProvider]]:
    """An edit of `b` into `c` in this file is asked about."""
    (project / file).write_text("a\nb\n")
    read = json.dumps([{"name": "read", "args": {"file": file}}])
    edit = json.dumps([{"name": "edit", "args": {"file": file, "old": "b\n", "new": "c\n"}}])
    provider = ScriptedProvider(
        f"<execute>{read}</execute>", f"<execute>{edit}</execute>", "Done.", size=10_000
    )
    agent = Agent(provider, project=project, data=project.parent / "data", settings=Settings())
    async with at_work(agent, (110, 40)) as pilot:
        await send(pilot, "go")
        await asked(pilot)
        await until(pilot, lambda: "+ c" in body_of(pilot))
        yield pilot, provider


def body_of(pilot: Pilot[Any]) -> str:
    panel = question_of(pilot)
    return shown(panel.query_one(QuestionBody)) if panel else ""


def last_call(pilot: Pilot[Any]) -> tuple[str, str]:
    transcript = conversation_of(pilot).transcript
    call = transcript.call(list(transcript.calls)[-1])
    return call.state, call.outcome


@pytest.mark.parametrize("file", ["README.md", "src/api/views.py"])
async def test_the_question_is_drawn_again_when_the_file_changes(project: Path, file: str) -> None:
    async with editing(project, file) as (pilot, _provider):
        before = question_of(pilot)
        (project / file).write_text("z\nb\n")
        await until(pilot, lambda: UPDATED in body_of(pilot))
        assert "z" in body_of(pilot)
        assert "  a" not in body_of(pilot)
        assert (panel := question_of(pilot)) is not before
        assert panel is not None
        assert panel.has_focus
        await answer(pilot, "y")
        await finished(pilot)
        assert (project / file).read_text() == "z\nc\n"


async def test_an_edit_that_no_longer_applies_is_reported_to_the_agent(project: Path) -> None:
    async with editing(project, "README.md") as (pilot, provider):
        (project / "README.md").write_text("a\nx\n")
        await until(pilot, lambda: "README.md changed: this edit no longer applies" in body_of(pilot))
        panel = await asked(pilot)
        await until(pilot, lambda: shown(panel.query_one(Answers)).lstrip().startswith("y Continue"))
        await answer(pilot, "y")
        await finished(pilot)
        assert (project / "README.md").read_text() == "a\nx\n"
        assert last_call(pilot) == ("failed", "Text to replace not found in README.md.")
        assert "old is not in README.md" in str(provider.sent[-1])


async def test_an_edit_that_applies_again_is_asked_about_as_before(project: Path) -> None:
    async with editing(project, "README.md") as (pilot, _provider):
        (project / "README.md").write_text("a\nx\n")
        await until(pilot, lambda: "no longer applies" in body_of(pilot))
        (project / "README.md").write_text("a\nb\n")
        await until(pilot, lambda: "+ c" in body_of(pilot))
        await answer(pilot, "y")
        await finished(pilot)
        assert (project / "README.md").read_text() == "a\nc\n"


async def test_a_yes_to_a_diff_that_is_not_the_present_one_asks_again(project: Path) -> None:
    async with editing(project, "README.md") as (pilot, _provider):
        main_of(pilot).bridge.agent.files_changed = unnoticed  # pyright: ignore[reportAttributeAccessIssue]
        (project / "README.md").write_text("z\nb\n")
        await answer(pilot, "y")
        await until(pilot, lambda: UPDATED in body_of(pilot))
        assert (project / "README.md").read_text() == "z\nb\n"
        await answer(pilot, "y")
        await finished(pilot)
        assert (project / "README.md").read_text() == "z\nc\n"


async def unnoticed(_conversation: str | None) -> None:
    """No file watcher reports the change."""
