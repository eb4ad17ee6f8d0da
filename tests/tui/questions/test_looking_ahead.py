"""Looking at a question that waits: it says which one comes first, and the tool calls pane shows its call."""

from dataclasses import replace
from pathlib import Path
from time import monotonic

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.permissions.gate import Round
from cogency_tui.tui.questions.answer_lines import Answers, MoreLine
from tests.tui.driving import asked, calls_of, conversation_of, finished, main_of, seen, shown, until
from tests.tui.questions.test_mode_change import FILES, asking, write
from tests.tui.questions.test_question_lines import EDIT, body_of
from tests.tui.questions.test_question_lines import asking as asking_alone

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


async def click(pilot: Pilot[None], text: str) -> None:
    """Click the first place on the screen with this text."""
    rows = seen(pilot).splitlines()[1:]
    at = next((row.index(text), y) for y, row in enumerate(rows) if text in row)
    await pilot.click(offset=at)


@pytest.mark.parametrize(
    ("size", "first", "between", "last"),
    [
        ((100, 30), "1 of 3  ] view next", "2 of 3  [ or ] view others", "3 of 3  [ view previous"),
        ((60, 16), "1 of 3 ] next", "2 of 3", "3 of 3 [ back"),
    ],
)
async def test_the_head_of_a_question_offers_what_can_be_viewed_and_a_click_shows_it(
    size: tuple[int, int], first: str, between: str, last: str
) -> None:
    name = "long/" * (4 if size[0] == 60 else 1)
    waiting = [replace(EDIT, summary=f"Edit {name}{n}", round=lambda n=n: Round(n, 3)) for n in (2, 3)]
    question = replace(EDIT, summary=f"Edit {name}1", round=lambda: Round(1, 3, tuple(waiting)))
    async with asking_alone(question, size) as (app, pilot, clock):
        clock.now += 60
        await until(pilot, lambda: body_of(app).splitlines()[0].endswith(f"  {first}"))
        await click(pilot, "] view next" if size[0] == 100 else "] next")
        await until(pilot, lambda: body_of(app).splitlines()[0].endswith(f"  {between}"))
        await click(pilot, "] view others" if size[0] == 100 else "2 of 3")
        await until(pilot, lambda: body_of(app).splitlines()[0].endswith(f"  {last}"))
        await click(pilot, "[ view" if size[0] == 100 else "[ back")
        await until(pilot, lambda: body_of(app).splitlines()[0].endswith(f"  {between}"))
        waiting.pop()
        # What is no question any more cannot be viewed.
        await (click(pilot, "[ or ]") if size[0] == 100 else pilot.press("left_square_bracket"))
        await until(pilot, lambda: body_of(app).splitlines()[0].endswith(f"  {first}"))
        await click(pilot, "] view next" if size[0] == 100 else "] next")
        await until(pilot, lambda: "2 of 3" in body_of(app) and "]" not in body_of(app).splitlines()[0])


async def test_a_question_that_cannot_be_viewed_says_why() -> None:
    waiting = replace(EDIT, summary="Edit two", round=lambda: Round(2, 3))
    question = replace(EDIT, summary="Edit one", round=lambda: Round(1, 3, (waiting,)))
    async with asking_alone(question, (100, 30)) as (app, pilot, clock):
        clock.now += 60
        await until(pilot, lambda: app.question.check_action("look", (1,)))
        answers = app.question.query_one(Answers)
        for key, remark in (("left", "no question before this one waits"), ("right", "")):
            await pilot.press(f"{key}_square_bracket")
            await until(pilot, lambda remark=remark: remark in shown(answers))
        await until(pilot, lambda: body_of(app).splitlines()[0].endswith("2 of 3  [ view previous"))
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: "question 3 is not ready" in shown(answers))
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: body_of(app).splitlines()[0].endswith("1 of 3  ] view next"))
        assert "not ready" not in shown(answers)


async def test_a_click_on_the_number_of_more_lines_scrolls_to_them() -> None:
    edit = replace(EDIT, detail="--- a/app.py\n+++ b/app.py\n@@ -0,0 +1,9 @@\n" + "+x\n" * 9)
    async with asking_alone(edit, (60, 16)) as (app, pilot, _clock):
        await until(pilot, lambda: "↓ " in shown(app.question.query_one(MoreLine)))
        await click(pilot, "more lines")
        await until(pilot, lambda: "↑ " in shown(app.question.query_one(MoreLine)))
        await click(pilot, "↑ ")
        await until(pilot, lambda: "↓ " in shown(app.question.query_one(MoreLine)))
