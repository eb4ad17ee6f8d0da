"""A question that a dialog covers for a while: what was seen of it at this size counts, the pause begins again."""

from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.permissions.gate import Answer
from cogency_tui.tui.kit.dialogs import QuestionBody
from cogency_tui.tui.questions.answer_lines import Answers, MoreLine
from cogency_tui.tui.questions.panel import QuestionPanel
from tests.tui.driving import app_over, asked, main_of, opened, send, shown, until
from tests.tui.questions.test_question_lines import COMMAND, EDIT, asking, asks
from tests.tui.scripted import ScriptedAgent

pytestmark = pytest.mark.usefixtures("short_pause")

LONG = replace(
    EDIT, detail="--- a/app.py\n+++ b/app.py\n@@ -0,0 +1,9 @@\n" + "".join(f"+{n}\n" for n in range(9))
)
DIALOGS = ["f1", "ctrl+p"]


async def scrolled(pilot: Pilot[Any]) -> QuestionPanel:
    """The question, scrolled to its end."""
    await opened(pilot)
    await send(pilot, "go")
    question = await asked(pilot)
    question.clock = lambda: monotonic() + 60
    await until(pilot, lambda: question.check_action("answer", (True, "once")))
    await pilot.press("pagedown")
    await until(pilot, lambda: "↑ " in shown(question.query_one(MoreLine)))
    return question


async def cover(pilot: Pilot[Any], key: str) -> None:
    """Open a dialog over the main screen."""
    await pilot.press(key)
    await until(pilot, lambda: not main_of(pilot).is_active)


async def uncover(pilot: Pilot[Any]) -> None:
    await pilot.press("escape")
    await until(pilot, lambda: main_of(pilot).is_active)


@pytest.mark.parametrize("key", DIALOGS)
async def test_a_scrolled_question_is_answered_after_a_dialog_has_covered_it(project: Path, key: str) -> None:
    agent = ScriptedAgent(project, [asks(LONG)])
    async with app_over(agent).run_test(size=(60, 16)) as pilot:
        question = await scrolled(pilot)
        await cover(pilot, key)
        await uncover(pilot)
        await until(pilot, lambda: question.check_action("answer", (True, "once")))
        assert "↑ " in shown(question.query_one(MoreLine))
        assert "y Yes" in shown(question.query_one(Answers))
        await pilot.press("y")
        await until(pilot, lambda: agent.answers == [Answer(allow=True)])


async def test_a_question_behind_a_dialog_is_not_seen(project: Path) -> None:
    agent = ScriptedAgent(project, [asks(LONG)])
    async with app_over(agent).run_test(size=(60, 16)) as pilot:
        question = await scrolled(pilot)
        body = question.query_one(QuestionBody)
        await cover(pilot, "ctrl+p")
        body.forget()
        body.jump(0)
        await pilot.pause()
        assert "Edit app.py" in shown(body)
        assert not body.is_seen
        await uncover(pilot)
        await until(pilot, lambda: body.is_seen)


async def test_a_scrolled_question_begins_again_in_another_window(project: Path) -> None:
    agent = ScriptedAgent(project, [asks(LONG)])
    async with app_over(agent).run_test(size=(60, 16)) as pilot:
        question = await scrolled(pilot)
        await pilot.resize_terminal(60, 17)
        await until(pilot, lambda: "↓ " in shown(question.query_one(MoreLine)))
        await until(pilot, lambda: question.check_action("answer", (True, "once")))
        await pilot.press("y")
        await until(pilot, lambda: agent.answers == [Answer(allow=True)])


async def test_what_scrolling_has_left_out_is_above() -> None:
    command = replace(COMMAND, detail="".join(f"echo {n}\n" for n in range(15)))
    async with asking(command, (100, 8)) as (app, pilot, clock):
        body, answers = app.question.query_one(QuestionBody), app.question.query_one(Answers)
        clock.now += 1
        await until(pilot, lambda: "↓ Scroll" in shown(answers))
        # Two keys between two frames.
        body.jump(1000)
        await until(pilot, lambda: "↑ Scroll" in shown(answers))
        await pilot.press("pageup", "pageup", "pageup")
        await until(pilot, lambda: "↓ Scroll" in shown(answers) or body.is_seen)
        await pilot.press("pagedown", "pagedown", "pagedown")
        await until(pilot, lambda: "y Yes" in shown(answers))
