"""Looking at a question that waits: it says which one comes first, and the tool calls pane shows its call."""

from pathlib import Path
from time import monotonic

import pytest

from cogency_tui.tui.questions.answer_lines import Answers
from tests.tui.driving import asked, calls_of, conversation_of, finished, main_of, shown, until
from tests.tui.questions.test_mode_change import FILES, asking, write

pytestmark = pytest.mark.usefixtures("short_pause")


async def test_a_waiting_question_says_which_one_to_answer_first_and_shows_its_call(project: Path) -> None:
    async with asking(project, *map(write, FILES), size=(160, 45)) as pilot:
        panel = await asked(pilot)
        panel.clock = lambda: monotonic() + 60
        transcript = conversation_of(pilot).transcript
        first, second, third = transcript.calls

        await until(pilot, lambda: panel.check_action("look", (1,)))
        await until(pilot, lambda: calls_of(pilot).key == first)
        await pilot.press("right_square_bracket")
        answers = panel.query_one(Answers)
        await until(pilot, lambda: "Answer question 1 first" in shown(answers))
        assert calls_of(pilot).key == second
        assert "[ Previous question   ] Next question   Esc Stop" in shown(answers)
        # The remark is none of the answers that Tab selects.
        await pilot.press("tab", "tab", "tab", "tab")
        assert answers.selected is not None
        assert answers.selected.key == "left_square_bracket"

        await pilot.press("right_square_bracket")
        await until(pilot, lambda: "Next question" not in shown(answers))
        await pilot.press("left_square_bracket", "left_square_bracket")
        await until(pilot, lambda: "Answer question 1 first" not in shown(answers))
        assert calls_of(pilot).key == first
        await main_of(pilot).run_action("command('permissions', 'edits')")
        await finished(pilot)
        await until(pilot, lambda: calls_of(pilot).key == third)
        assert calls_of(pilot).following
