"""A key that does nothing in an empty prompt delays none that enters the question, and answers nothing."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.tui.questions.answer_lines import Answers
from cogency_tui.tui.questions.answer_timing import GAP, REPEAT
from tests.tui.driving import shown, until
from tests.tui.questions.test_question_lines import DIFF, EDIT, Asking, Clock, asking

A_LITTLE_LATER = REPEAT + 0.05
"""Seconds after which a key is no repetition of the one before."""


@asynccontextmanager
async def listening(
    question: Question = EDIT, size: tuple[int, int] = (80, 24)
) -> AsyncGenerator[tuple[Asking, Pilot[None], Clock]]:
    """A question that accepts keys."""
    async with asking(question, size) as (app, pilot, clock):
        clock.now += 1
        await until(pilot, lambda: not app.question.query_one(Answers).deaf)
        yield app, pilot, clock


async def press(pilot: Pilot[None], clock: Clock, *keys: str) -> None:
    """Press keys one by one."""
    for key in keys:
        clock.now += A_LITTLE_LATER
        await pilot.press(key)


def selected(app: Asking) -> str:
    answer = app.question.query_one(Answers).selected
    return answer.key if answer is not None else ""


@pytest.mark.parametrize("key", ["tab", "right", "down"])
async def test_a_question_is_entered_right_after_enter_and_enter_gives_what_is_selected(key: str) -> None:
    async with listening() as (app, pilot, clock):
        await press(pilot, clock, "enter", "enter", key)
        assert app.answers == []
        assert selected(app) == "y"
        await press(pilot, clock, "enter")
        await until(pilot, lambda: app.answers == [Answer(allow=True)])


async def test_enter_alone_answers_nothing_and_hides_no_answer() -> None:
    async with listening() as (app, pilot, clock):
        answers = app.question.query_one(Answers)
        for _press in range(5):
            await press(pilot, clock, "enter")
            assert not answers.deaf
            assert "Esc Stop" in shown(answers)
        assert shown(answers).rstrip().endswith("Tab to answer")
        assert (app.answers, app.typed) == ([], ["enter"] * 5)
        # Where there is no room for it, the hint covers no answer.
        pattern = "src/a/long/path/**"
        await app.ask(replace(EDIT, pattern=pattern), (60, 16))
        clock.now += 1
        await until(pilot, lambda: not app.question.query_one(Answers).deaf)
        before = shown(app.question.query_one(Answers))
        await press(pilot, clock, "enter")
        after = shown(app.question.query_one(Answers))
        assert after in (before, f"{before}   Tab to answer")
        assert "Esc Stop" in after


async def test_tab_in_the_first_moments_does_not_put_off_the_next_one() -> None:
    async with asking(EDIT) as (app, pilot, clock):
        clock.now += 0.5
        await pilot.press("tab")
        assert (selected(app), app.typed) == ("", ["tab"])
        clock.now += 0.4
        await pilot.press("tab")
        assert selected(app) == "y"
        assert app.answers == []


async def test_a_key_that_is_held_or_pasted_does_not_enter_the_question() -> None:
    async with asking(EDIT) as (app, pilot, clock):
        for _repeat in range(60):
            clock.now += 0.03
            await pilot.press("tab")
        assert (selected(app), app.question.is_entered) == ("", False)
        # As in a text with line breaks and tabs.
        clock.now += 1
        for key in ("enter", "tab", "enter"):
            clock.now += 0.001
            await pilot.press(key)
        assert (selected(app), app.question.is_entered, app.answers) == ("", False, [])


async def test_an_answer_right_after_enter_is_too_early_and_a_text_still_takes_a_pause() -> None:
    async with listening() as (app, pilot, clock):
        await press(pilot, clock, "enter", "y")
        await until(pilot, lambda: "y was too early" in shown(app.question.query_one(Answers)))
        clock.now += GAP + 0.1
        await pilot.press("y")
        await until(pilot, lambda: app.answers == [Answer(allow=True)])
        await app.ask(EDIT)
        clock.now += 1
        await until(pilot, lambda: not app.question.query_one(Answers).deaf)
        await press(pilot, clock, "x", "tab")
        assert (selected(app), app.question.is_entered) == ("", False)


async def test_the_selection_moves_both_ways_and_down_reaches_it_at_the_end() -> None:
    async with listening() as (app, pilot, clock):
        for key, answer in (("tab", "y"), ("right", "a"), ("tab", "c"), ("left", "a"), ("shift+tab", "y")):
            await press(pilot, clock, key)
            assert selected(app) == answer
        long = replace(EDIT, detail=DIFF + "+line\n" * 30)
        await app.ask(long)
        clock.now += 1
        await until(pilot, lambda: not app.question.query_one(Answers).deaf)
        await press(pilot, clock, "down")
        assert selected(app) == ""
        await press(pilot, clock, *["pagedown"] * 5)
        await until(pilot, lambda: "y Yes" in shown(app.question.query_one(Answers)))
        await press(pilot, clock, "down", "down")
        assert selected(app) == "y"
        assert app.answers == []
