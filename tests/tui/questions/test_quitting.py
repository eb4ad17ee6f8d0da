"""Quitting while questions wait for an answer: the confirmation names them, and not the agent's work."""

from pathlib import Path

import pytest

from cogency_tui.tui.kit.dialogs import Confirmation, QuestionBody
from tests.tui.driving import asked, finished, main_of, shown, until
from tests.tui.questions.test_mode_change import asking, write

pytestmark = pytest.mark.usefixtures("short_pause")


@pytest.mark.parametrize(
    ("files", "text"),
    [
        (["a.txt"], "A question is open. Quit anyway?"),
        (["a.txt", "b.txt"], "2 questions are open. Quit anyway?"),
    ],
)
async def test_the_confirmation_counts_the_open_questions(project: Path, files: list[str], text: str) -> None:
    async with asking(project, *map(write, files)) as pilot:
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await until(pilot, lambda: text in shown(pilot.app.screen.query_one(QuestionBody)))
        await pilot.press("n")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        panel = await asked(pilot)
        # The screen gives the focus back once it has resumed.
        await until(pilot, lambda: panel.has_focus)
        await pilot.press("escape")
        await finished(pilot)
