"""A question is answered with yes only in a window that has shown what the yes allows."""

from dataclasses import replace

import pytest
from textual.app import App
from textual.pilot import Pilot

from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.config.themes import DEFAULT, load_palette
from cogency_tui.tui.kit.dialogs import Confirmation, QuestionBody
from cogency_tui.tui.questions.answer_lines import Answers
from cogency_tui.tui.theme_styles import variables
from tests.tui.driving import shown, until
from tests.tui.questions.test_question_lines import COMMAND, EDIT, Asking, Clock, asking

pytestmark = pytest.mark.usefixtures("short_pause")

TINY = [(1, 1), (200, 2), (10, 40), (20, 5), (19, 6), (3, 3)]
SMALL = [(20, 6), (40, 8), (25, 9), (200, 6)]
ANSWERS = ["y", "a", "c", "A"]


async def heard(pilot: Pilot[None], app: Asking, clock: Clock) -> None:
    """Wait until the question hears its keys."""
    answers = app.question.query_one(Answers)

    def hears() -> bool:
        # A change of the window that comes late begins another pause.
        clock.now += 1
        return not answers.deaf

    await until(pilot, hears)


async def expect_no_yes(pilot: Pilot[None], app: Asking, clock: Clock) -> None:
    for key in ANSWERS:
        await heard(pilot, app, clock)
        await pilot.press(key)
    assert app.answers == []


@pytest.mark.parametrize(
    ("question", "sizes"),
    [(COMMAND, TINY), pytest.param(EDIT, TINY[::2], marks=pytest.mark.exhaustive)],
    ids=["command", "edit"],
)
async def test_a_window_that_shows_nothing_of_the_question_hears_no_yes(
    question: Question, sizes: list[tuple[int, int]]
) -> None:
    async with asking(question) as (app, pilot, clock):
        for size in sizes:
            await app.ask(question, size)
            await expect_no_yes(pilot, app, clock)
            # As far down as its text goes.
            await pilot.press("tab", *["down"] * 5)
            app.question.query_one(QuestionBody).jump(1000)
            await expect_no_yes(pilot, app, clock)
            await heard(pilot, app, clock)
            await pilot.press("n")
            await until(pilot, lambda: app.answers == [Answer(allow=False)])

        # One that is too small says so.
        for size in [(200, 5), (20, 5)]:
            await app.ask(COMMAND, size)
            await pilot.pause()
            text = " ".join(shown(app.question.query_one(QuestionBody)).split())
            assert text == "Enlarge the window."
            assert shown(app.question.query_one(Answers)).split() == ["n", "No"]


@pytest.mark.parametrize(
    ("command", "sizes"),
    [
        ("rm -r important", SMALL),
        pytest.param("echo a\n" * 40 + "rm -r b", SMALL[1::2], marks=pytest.mark.exhaustive),
    ],
    ids=["short", "long"],
)
async def test_a_small_window_hears_a_yes_once_the_command_is_read(
    command: str, sizes: list[tuple[int, int]]
) -> None:
    question = replace(COMMAND, detail=command)
    async with asking(question) as (app, pilot, clock):
        for size in sizes:
            await app.ask(question, size)
            body = app.question.query_one(QuestionBody)
            await heard(pilot, app, clock)
            if not body.is_seen:
                assert "Scroll" in shown(app.question.query_one(Answers))
                await expect_no_yes(pilot, app, clock)
            assert not body.is_seen or size != SMALL[0]
            for _ in range(60):
                if body.is_seen:
                    break
                await heard(pilot, app, clock)
                await pilot.press("down")
            assert body.is_seen
            await heard(pilot, app, clock)
            await pilot.press("y")
            await until(pilot, lambda: app.answers == [Answer(allow=True)])


async def test_what_was_read_in_a_large_window_is_read_again_in_a_small_one() -> None:
    async with asking(COMMAND) as (app, pilot, clock):
        for small in [(20, 5), (20, 6), (100, 3)]:
            await app.ask(COMMAND, (100, 30))
            body = app.question.query_one(QuestionBody)
            await until(pilot, lambda body=body: body.is_seen)
            await pilot.resize_terminal(*small)
            await expect_no_yes(pilot, app, clock)
            await pilot.resize_terminal(100, 30)
            await until(pilot, lambda body=body: body.is_seen)
            await heard(pilot, app, clock)
            await pilot.press("y")
            await until(pilot, lambda: app.answers == [Answer(allow=True)])


class Confirming(App[None]):
    """Asks for one confirmation."""

    def __init__(self) -> None:
        super().__init__()
        self.question = Confirmation("Take back every change of the conversation? 12 files are written.")
        self.answers: list[bool | None] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variables(load_palette(DEFAULT))

    def on_mount(self) -> None:
        self.push_screen(self.question, self.answers.append)


@pytest.mark.parametrize("size", [(1, 1), (200, 1), (3, 30), (20, 6)], ids=str)
async def test_a_confirmation_that_is_not_on_the_screen_is_not_given(size: tuple[int, int]) -> None:
    app = Confirming()
    async with app.run_test(size=size) as pilot:
        body = app.question.query_one(QuestionBody)
        assert not body.is_seen
        await pilot.press("y", "enter")
        assert app.answers == []
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: body.is_seen)
        await pilot.press("enter")
        assert app.answers == []
        await pilot.press("y")
        await until(pilot, lambda: app.answers == [True])
