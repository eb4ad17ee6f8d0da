"""The model's questions in the app: choosing by digit, cursor and click, own words, skipping, small windows."""

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.permissions.gate import Answer, Inquiry, InquiryAnswer, Question, Round
from cogency_tui.store.store import new_conversation_id
from cogency_tui.tools.user_questions import Choice, UserQuestion
from cogency_tui.tui.kit.dialogs import QuestionBody
from cogency_tui.tui.questions.announcement import Announcement
from cogency_tui.tui.questions.answer_lines import Answers, MoreLine
from cogency_tui.tui.questions.docked_question import Hands
from cogency_tui.tui.questions.inquiry_panel import InquiryPanel
from cogency_tui.tui.questions.reason_field import ReasonField
from cogency_tui.tui.status.status_bar import StatusBar
from tests.peers.scripted import ScriptedProvider
from tests.tui.conversation.test_reopened import lines_of, live, reopened
from tests.tui.driving import (
    answer,
    app_over,
    asked,
    at_work,
    conversation_of,
    finished,
    main_of,
    opened,
    prompt_of,
    send,
    shown,
    until,
)
from tests.tui.look_series import check_series_in_each_size
from tests.tui.looks import Prepare, check_looks
from tests.tui.prompt.test_looks import BoxStand
from tests.tui.review.stage import agent_of, block
from tests.tui.scripted import ScriptedAgent, Step, call, respond, result, user

DATABASE = UserQuestion(
    "Which database should the service use for its sessions?",
    [
        Choice("SQLite", "one file, no server, enough for one machine"),
        Choice(
            "Postgres", "a server of its own, ready for several machines and for the reports of next year"
        ),
        Choice("In memory", "lost with each restart"),
    ],
    "Database",
)
CHECKS = UserQuestion(
    "Which checks run before a commit?",
    [Choice("ruff"), Choice("basedpyright", "slow"), Choice("pytest", "finds most")],
    "Checks",
    True,
)
NAME = UserQuestion("What is the package called?", [Choice("shop"), Choice("store")], "Name")
EDIT = Question("d", "shell", "command", "Run a command", "ls", "")


def inquires(*questions: UserQuestion, **fields: Any) -> Any:
    async def inquire(agent: ScriptedAgent) -> None:
        assert agent.inquire is not None
        agent.answers.append(await agent.inquire(Inquiry("c", questions, **fields)))

    return inquire


def asks(question: Question) -> Any:
    async def ask(agent: ScriptedAgent) -> None:
        assert agent.ask is not None
        agent.answers.append(await agent.ask(question))

    return ask


def script(*steps: Step) -> list[Step]:
    return [user("go"), respond("I need to know."), call("c", "ask"), *steps, respond("Thanks.", "r2")]


def panel_of(pilot: Pilot[Any]) -> InquiryPanel:
    return pilot.app.screen.query_one(InquiryPanel)


async def ready(pilot: Pilot[Any]) -> InquiryPanel:
    """The inquiry, once it takes answers."""
    await until(pilot, lambda: panel_of(pilot).is_mounted and not panel_of(pilot).answered)
    panel = panel_of(pilot)
    panel.clock = lambda: monotonic() + 60
    await until(pilot, lambda: panel.check_action("pick", (1,)))
    return panel


@asynccontextmanager
async def inquired(
    project: Path, *questions: UserQuestion, size: tuple[int, int] = (100, 30)
) -> AsyncGenerator[tuple[Pilot[Any], ScriptedAgent, InquiryPanel]]:
    agent = ScriptedAgent(project, script(inquires(*questions)))
    async with app_over(agent).run_test(size=size) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        yield pilot, agent, await ready(pilot)


def body(pilot: Pilot[Any]) -> str:
    return shown(panel_of(pilot).query_one(QuestionBody))


def keys(pilot: Pilot[Any]) -> str:
    return shown(panel_of(pilot).query_one(Answers))


@pytest.mark.parametrize(("digit", "label"), [("1", "SQLite"), ("3", "In memory")])
async def test_a_digit_answers_a_single_question(project: Path, digit: str, label: str) -> None:
    async with inquired(project, DATABASE) as (pilot, agent, _panel):
        await pilot.press(digit)
        await until(pilot, lambda: agent.answers == [InquiryAnswer(((label,),))])
        await until(pilot, lambda: not main_of(pilot).query(InquiryPanel))
        await until(pilot, lambda: prompt_of(pilot).has_focus)


async def test_a_digit_that_comes_too_early_or_begins_a_text_answers_nothing(project: Path) -> None:
    agent = ScriptedAgent(project, script(inquires(DATABASE)))
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        await until(pilot, lambda: panel_of(pilot).is_mounted)
        panel_of(pilot).clock = lambda: 0.0
        await pilot.press("1")
        await until(pilot, lambda: "1 was too early" in keys(pilot))
        await pilot.press("0", "x")
        await until(pilot, lambda: prompt_of(pilot).text == "10x")
        assert agent.answers == []


@pytest.mark.parametrize("digit", ["0", "4", "6", "9"])
async def test_a_digit_without_a_choice_does_nothing(project: Path, digit: str) -> None:
    async with inquired(project, NAME) as (pilot, agent, panel):
        await pilot.press(digit)
        await until(pilot, lambda: f"{digit} is not offered" in keys(pilot))
        assert agent.answers == []
        assert prompt_of(pilot).text == ""
        later = monotonic() + 120
        panel.clock = lambda: later
        await pilot.press("2")
        await until(pilot, lambda: agent.answers == [InquiryAnswer((("store",),))])


async def test_the_cursor_and_enter_answer_once_the_question_is_entered(project: Path) -> None:
    async with inquired(project, DATABASE) as (pilot, agent, panel):
        await pilot.press("enter")
        await until(pilot, lambda: "Tab to answer" in keys(pilot))
        await pilot.press("down", "down")
        await until(pilot, lambda: "▸ 2 Postgres" in body(pilot))
        await pilot.press("up", "up")
        await until(pilot, lambda: "▸ 4 Other…" in body(pilot))
        await pilot.press("up")
        await until(pilot, lambda: "▸ 3 In memory" in body(pilot) and panel.timing.is_confirmed)
        await pilot.press("enter")
        await until(pilot, lambda: agent.answers == [InquiryAnswer((("In memory",),))])


async def test_several_choices_are_toggled_and_confirmed(project: Path) -> None:
    async with inquired(project, CHECKS) as (pilot, agent, panel):
        await pilot.press("1")
        await until(pilot, lambda: "[x] ruff" in body(pilot))
        await pilot.press("3", "1")
        await until(pilot, lambda: "[x] pytest" in body(pilot) and "[ ] ruff" in body(pilot))
        await pilot.press("down", "space")
        await until(pilot, lambda: "▸ 2 [x] basedpyright" in body(pilot))
        await until(pilot, lambda: "Enter Send" in keys(pilot) and panel.timing.is_confirmed)
        await pilot.press("enter")
        await until(pilot, lambda: agent.answers == [InquiryAnswer((("basedpyright", "pytest"),))])


async def test_enter_sends_only_what_is_ticked(project: Path) -> None:
    async with inquired(project, CHECKS) as (pilot, agent, panel):
        await pilot.press("up")
        await until(pilot, lambda: "▸ Send" in body(pilot) and "Enter" not in keys(pilot))
        await until(pilot, lambda: panel.timing.is_confirmed)
        await pilot.press("enter")
        await until(pilot, lambda: "nothing selected: 1–4 select, n skips" in keys(pilot))
        assert "1–4 Toggle" in keys(pilot)
        assert "Space" not in keys(pilot)
        await pilot.press("down")
        await until(pilot, lambda: "▸ 1 [ ] ruff" in body(pilot) and "Enter Choose" in keys(pilot))
        await until(pilot, lambda: panel.timing.is_confirmed)
        await pilot.press("enter")
        await until(pilot, lambda: "[x] ruff" in body(pilot) and "Enter Send" in keys(pilot))
        assert agent.answers == []
        await pilot.press("down")
        await until(pilot, lambda: "▸ 2" in body(pilot) and "Enter Choose" in keys(pilot))
        await pilot.press("up", "up")
        await until(pilot, lambda: "▸ Send" in body(pilot) and "Enter Send" in keys(pilot))
        await until(pilot, lambda: panel.timing.is_confirmed)
        await pilot.press("enter")
        await until(pilot, lambda: agent.answers == [InquiryAnswer((("ruff",),))])


async def test_a_click_on_the_last_row_sends_what_is_ticked(project: Path) -> None:
    async with inquired(project, CHECKS) as (pilot, agent, panel):
        await pilot.press("3")
        await until(pilot, lambda: "[x] pytest" in body(pilot))
        question = panel.query_one(QuestionBody)
        lines = body(pilot).split("\n")
        row = next(at for at, line in enumerate(lines) if line.strip() == "Send")
        await pilot.click(question, offset=(lines[row].index("Send") + 1, row))
        await until(pilot, lambda: agent.answers == [InquiryAnswer((("pytest",),))])


async def test_enter_changes_an_answer_without_sending_it(project: Path) -> None:
    async with inquired(project, DATABASE, NAME) as (pilot, agent, panel):
        await pilot.press("2")
        await until(pilot, lambda: "What is the package called?" in body(pilot))
        await pilot.press("1")
        await until(pilot, lambda: "▸ 1 shop ✓" in body(pilot) and "Enter Send" in keys(pilot))
        await pilot.press("left")
        await until(pilot, lambda: "▸ 2 Postgres ✓" in body(pilot) and "Enter Send" in keys(pilot))
        await pilot.press("up")
        await until(pilot, lambda: "▸ 1 SQLite" in body(pilot) and "Enter Choose" in keys(pilot))
        await pilot.press("tab", "shift+tab")
        await until(pilot, lambda: "▸ 2 Postgres ✓" in body(pilot))
        await pilot.press("down")
        await until(pilot, lambda: "▸ 3 In memory" in body(pilot) and panel.timing.is_confirmed)
        await pilot.press("enter")
        await until(pilot, lambda: "▸ 3 In memory ✓" in body(pilot) and "Enter Send" in keys(pilot))
        assert agent.answers == []
        await until(pilot, lambda: panel.timing.is_confirmed)
        await pilot.press("enter")
        await until(pilot, lambda: agent.answers == [InquiryAnswer((("In memory",), ("shop",)))])


async def test_after_another_screen_enter_sends_from_the_answer(project: Path) -> None:
    async with inquired(project, DATABASE, NAME) as (pilot, agent, _panel):
        await pilot.press("2")
        await until(pilot, lambda: "What is the package called?" in body(pilot))
        await pilot.press("1")
        await until(pilot, lambda: "▸ 1 shop ✓" in body(pilot) and "Enter Send" in keys(pilot))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: pilot.app.screen is not main_of(pilot))
        await until(pilot, lambda: pilot.app.screen.query(InquiryPanel))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot) and main_of(pilot).query(InquiryPanel))
        back = await ready(pilot)
        await until(pilot, lambda: "▸ 1 shop ✓" in body(pilot) and "Enter Send" in keys(pilot))
        await until(pilot, lambda: back.timing.is_confirmed)
        await pilot.press("enter")
        await until(pilot, lambda: agent.answers == [InquiryAnswer((("Postgres",), ("shop",)))])


async def test_tab_and_shift_tab_turn_to_the_next_question_and_back(project: Path) -> None:
    async with inquired(project, DATABASE, CHECKS, NAME) as (pilot, _agent, _panel):
        assert "Tab to answer" in keys(pilot)
        await pilot.press("tab")
        await until(pilot, lambda: "▸ 1 SQLite" in body(pilot) and "Tab Next question" in keys(pilot))
        await pilot.press("tab")
        await until(pilot, lambda: "Which checks" in body(pilot))
        await pilot.press("shift+tab")
        await until(pilot, lambda: "Which database" in body(pilot))
        await pilot.press("1")
        await until(pilot, lambda: "Which checks" in body(pilot))
        await pilot.press("shift+tab")
        await until(pilot, lambda: "Which database" in body(pilot) and "▸ 1 SQLite ✓" in body(pilot))
        assert "▸ 4" not in body(pilot)


async def test_the_key_that_the_prompt_names_only_enters_the_question(project: Path) -> None:
    async with inquired(project, DATABASE, NAME) as (pilot, _agent, panel):
        await pilot.press("enter")
        await until(pilot, lambda: "Tab to answer" in keys(pilot))
        assert keys(pilot).count("Tab") == 1
        later = monotonic() + 120
        panel.clock = lambda: later
        await pilot.press("tab")
        await until(pilot, lambda: "▸ 1 SQLite" in body(pilot))


async def test_a_digit_that_enters_the_question_leaves_tab_to_the_next_one(project: Path) -> None:
    async with inquired(project, CHECKS, NAME) as (pilot, _agent, _panel):
        await pilot.press("1")
        await until(pilot, lambda: "[x] ruff" in body(pilot) and "Enter Next question" in keys(pilot))
        await pilot.press("tab")
        await until(pilot, lambda: "What is the package called?" in body(pilot))


async def test_answers_and_words_stay_on_another_screen(project: Path) -> None:
    async with inquired(project, DATABASE, CHECKS, NAME) as (pilot, agent, panel):
        await pilot.press("2")
        await until(pilot, lambda: "Which checks" in body(pilot))
        await pilot.press("1")
        await until(pilot, lambda: "[x] ruff" in body(pilot))
        await pilot.press("tab")
        await until(pilot, lambda: "What is the package called?" in body(pilot))
        await pilot.press("3")
        await until(pilot, lambda: panel.query_one(ReasonField).has_focus)
        await pilot.press(*"bazaar")

        await pilot.press("ctrl+r")
        await until(pilot, lambda: pilot.app.screen is not main_of(pilot))
        await until(pilot, lambda: pilot.app.screen.query(InquiryPanel))
        await pilot.press("f6")
        await until(pilot, lambda: panel_of(pilot).has_focus)
        await ready(pilot)
        assert "Database ✓   Checks ✓   Name" in body(pilot)
        await pilot.press("left")
        await until(pilot, lambda: "[x] ruff" in body(pilot))
        await pilot.press("3")
        await until(pilot, lambda: "[x] pytest" in body(pilot))
        await pilot.press("right")
        await until(pilot, lambda: "What is the package called?" in body(pilot))

        await pilot.press("f6")
        await until(pilot, lambda: not panel_of(pilot).has_focus_within)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await until(pilot, lambda: main_of(pilot).query(InquiryPanel))
        await until(pilot, lambda: main_of(pilot).query(ReasonField))
        field = panel_of(pilot).query_one(ReasonField)
        await until(pilot, lambda: field.has_focus and field.value == "bazaar")
        await pilot.press("s", "enter")
        await until(pilot, lambda: "Name ✓" in body(pilot))
        back = await ready(pilot)
        await until(pilot, lambda: "▸ 3 bazaars ✓" in body(pilot) and "Enter Send" in keys(pilot))
        await until(pilot, lambda: back.timing.is_confirmed)
        await pilot.press("enter")
        await until(
            pilot,
            lambda: agent.answers == [InquiryAnswer((("Postgres",), ("ruff", "pytest"), ("bazaars",)))],
        )


async def test_own_words_are_an_answer(project: Path) -> None:
    async with inquired(project, DATABASE) as (pilot, agent, panel):
        await pilot.press("4")
        await until(pilot, lambda: panel.query_one(ReasonField).has_focus)
        assert panel.query_one(ReasonField).placeholder == "Your answer"
        assert "Give this answer" not in keys(pilot)
        assert "Enter or Esc Back" in keys(pilot)
        await pilot.press("x")
        await until(pilot, lambda: "Enter Give this answer" in keys(pilot))
        await pilot.press("backspace")
        await until(pilot, lambda: "Enter or Esc Back" in keys(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: panel.has_focus)
        await pilot.press("4")
        await until(pilot, lambda: panel.query_one(ReasonField).has_focus)
        await pilot.press(*"Redis", "enter")
        await until(pilot, lambda: agent.answers == [InquiryAnswer((("Redis",),))])


async def test_own_words_are_one_of_several_answers_and_the_last_row_sends(project: Path) -> None:
    async with inquired(project, CHECKS) as (pilot, agent, panel):
        await pilot.press("1")
        await until(pilot, lambda: "[x] ruff" in body(pilot))
        await pilot.press("4")
        await until(pilot, lambda: panel.query_one(ReasonField).has_focus)
        await pilot.press(*"mypy")
        await until(pilot, lambda: "Enter Add this answer" in keys(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "▸ 4 [x] mypy" in body(pilot) and "Enter Send" in keys(pilot))
        assert agent.answers == []
        await pilot.press("4")
        await until(pilot, lambda: panel.query_one(ReasonField).has_focus)
        await pilot.press(*["backspace"] * 4)
        await until(pilot, lambda: "Enter Remove this answer" in keys(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "▸ 4 [ ] Other…" in body(pilot))
        await pilot.press("4")
        await until(pilot, lambda: panel.query_one(ReasonField).has_focus)
        await pilot.press(*"mypy", "enter")
        await until(pilot, lambda: "[x] mypy" in body(pilot) and panel.has_focus)
        await pilot.press("down")
        await until(pilot, lambda: "▸ Send" in body(pilot) and panel.timing.is_confirmed)
        await pilot.press("enter")
        await until(pilot, lambda: agent.answers == [InquiryAnswer((("ruff", "mypy"),))])


async def test_words_that_were_not_given_stay_in_the_field(project: Path) -> None:
    async with inquired(project, DATABASE, NAME) as (pilot, _agent, panel):
        field = panel.query_one(ReasonField)
        for key, words in (("4", "Redis"), ("r", "later")):
            await pilot.press(key)
            await until(pilot, lambda: field.has_focus and not field.value)
            await pilot.press(*words, "escape")
            await until(pilot, lambda: panel.has_focus)
        await pilot.press("4")
        await until(pilot, lambda: field.has_focus and field.value == "Redis")
        await pilot.press("s", "enter")
        await until(pilot, lambda: "Database ✓" in body(pilot))


async def test_skipping_is_for_one_question(project: Path) -> None:
    async with inquired(project, DATABASE, CHECKS, NAME) as (pilot, agent, panel):
        assert "n Skip " in keys(pilot)
        await pilot.press("2")
        await until(pilot, lambda: "Which checks" in body(pilot))
        await pilot.press("n")
        await until(pilot, lambda: "Checks skipped" in body(pilot) and "package called" in body(pilot))
        await pilot.press("r")
        await until(pilot, lambda: panel.query_one(ReasonField).has_focus)
        await pilot.press(*"not yet", "enter")
        await until(pilot, lambda: "Name skipped" in body(pilot) and "Enter Send" in keys(pilot))
        assert agent.answers == []
        await until(pilot, lambda: panel.timing.is_confirmed)
        await pilot.press("enter")
        expected = InquiryAnswer((("Postgres",), (), ()), reasons=("", "", "not yet"))
        await until(pilot, lambda: agent.answers == [expected])


async def test_a_skipped_question_can_still_be_answered(project: Path) -> None:
    async with inquired(project, DATABASE, NAME) as (pilot, agent, panel):
        await pilot.press("n")
        await until(pilot, lambda: "Database skipped" in body(pilot))
        await pilot.press("left")
        await until(pilot, lambda: "Which database" in body(pilot))
        await pilot.press("1")
        await until(pilot, lambda: "Database ✓" in body(pilot) and "skipped" not in body(pilot))
        await pilot.press("n")
        await until(pilot, lambda: "Name skipped" in body(pilot) and panel.timing.is_confirmed)
        await pilot.press("enter")
        await until(pilot, lambda: agent.answers == [InquiryAnswer((("SQLite",), ()))])


@pytest.mark.parametrize("words", ["", "later"])
async def test_skipping_a_single_question_answers_none_and_the_turn_goes_on(
    project: Path, words: str
) -> None:
    async with inquired(project, CHECKS) as (pilot, agent, panel):
        if words:
            await pilot.press("r")
            await until(pilot, lambda: panel.query_one(ReasonField).has_focus)
            assert panel.query_one(ReasonField).placeholder == "Why not?"
            await pilot.press(*words, "enter")
        else:
            await pilot.press("n")
        await until(pilot, lambda: agent.answers == [InquiryAnswer(declined=True, reason=words)])
        await finished(pilot)
        await until(pilot, lambda: "Thanks." in shown(conversation_of(pilot)))


async def test_esc_stops_the_turn_as_at_a_permission_question(project: Path) -> None:
    async with inquired(project, DATABASE) as (pilot, agent, _panel):
        await pilot.press("escape")
        await until(pilot, lambda: not main_of(pilot).query(InquiryPanel))
        await finished(pilot)
        assert agent.answers == []


async def test_several_questions_are_answered_in_turn_and_sent_together(project: Path) -> None:
    async with inquired(project, DATABASE, CHECKS, NAME) as (pilot, agent, panel):
        assert "Database   Checks   Name" in body(pilot)
        await pilot.press("2")
        await until(pilot, lambda: "Which checks" in body(pilot) and "Database ✓" in body(pilot))
        await pilot.press("1")
        await until(pilot, lambda: "[x] ruff" in body(pilot))
        await pilot.press("left")
        await until(pilot, lambda: "Which database" in body(pilot))
        assert "▸ 2 Postgres ✓" in body(pilot)
        await pilot.press("1")
        await until(pilot, lambda: "What is the package called?" in body(pilot))
        await pilot.press("2")
        await until(pilot, lambda: "Name ✓" in body(pilot) and "Enter Send" in keys(pilot))
        assert agent.answers == []
        await until(pilot, lambda: panel.timing.is_confirmed)
        await pilot.press("enter")
        await until(pilot, lambda: agent.answers == [InquiryAnswer((("SQLite",), ("ruff",), ("store",)))])


async def test_a_click_chooses_and_a_click_on_a_name_shows_its_question(project: Path) -> None:
    async with inquired(project, DATABASE, NAME) as (pilot, agent, panel):
        question = panel.query_one(QuestionBody)
        lines = body(pilot).split("\n")
        row = next(at for at, line in enumerate(lines) if "Database" in line and "Name" in line)
        await pilot.click(question, offset=(lines[row].index("Name") + 1, row))
        await until(pilot, lambda: "What is the package called?" in body(pilot))
        lines = body(pilot).split("\n")
        row = next(at for at, line in enumerate(lines) if "1 shop" in line)
        await pilot.click(question, offset=(lines[row].index("shop") + 1, row))
        await until(pilot, lambda: "Name ✓" in body(pilot) and "Which database" in body(pilot))
        assert agent.answers == []


async def test_text_that_is_typed_goes_to_the_prompt(project: Path) -> None:
    async with inquired(project, DATABASE) as (pilot, agent, _panel):
        await pilot.press("h", "i", "space", "1")
        await until(pilot, lambda: prompt_of(pilot).text == "hi 1")
        assert agent.answers == []


@pytest.mark.parametrize(
    ("size", "tab", "reason"),
    [((60, 16), "Tab Next", "r Say why"), ((100, 30), "Tab Next question", "r Skip, and say why")],
)
async def test_a_key_keeps_its_name_in_a_window(
    project: Path, size: tuple[int, int], tab: str, reason: str
) -> None:
    async with inquired(project, DATABASE, CHECKS, NAME, size=size) as (pilot, _agent, _panel):
        for key, row in (("down", "▸ 1 SQLite"), ("up", "▸ 4 Other…"), ("tab", "1 [ ]"), ("down", "▸ 1 [ ]")):
            await pilot.press(key)
            await until(pilot, lambda row=row: row in body(pilot))
            offered = re.split(r"   |\n", keys(pilot))
            assert {tab, reason} <= {each.strip() for each in offered}


async def test_while_a_text_is_typed_only_the_way_to_the_question_is_named(project: Path) -> None:
    async with inquired(project, DATABASE, NAME) as (pilot, agent, panel):
        await pilot.press("down")
        await until(pilot, lambda: "▸ 1 SQLite" in body(pilot) and "Enter Choose" in keys(pilot))
        assert "Tab Next question" in keys(pilot)
        await pilot.press("h", "i")
        await until(pilot, lambda: prompt_of(pilot).text == "hi" and "Tab to answer" in keys(pilot))
        assert "Enter" not in keys(pilot)
        assert keys(pilot).count("Tab") == 1
        later = monotonic() + 120
        panel.clock = lambda: later
        await pilot.press("tab")
        await until(pilot, lambda: "Enter Choose" in keys(pilot) and "Tab Next question" in keys(pilot))
        assert agent.answers == []


@pytest.mark.parametrize("questions", [(DATABASE,), (DATABASE, CHECKS, NAME)], ids=["one", "three"])
async def test_beside_a_text_in_the_prompt_no_digit_is_offered_and_esc_is(
    project: Path, questions: tuple[UserQuestion, ...]
) -> None:
    async with inquired(project, *questions, size=(60, 16)) as (pilot, agent, _panel):
        assert "1–4" in keys(pilot)
        await pilot.press("h", "i")
        await until(pilot, lambda: "Esc Stop" in keys(pilot) and keys(pilot).endswith("Tab to answer"))
        assert "1–4" not in keys(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: not main_of(pilot).query(InquiryPanel))
        assert (agent.answers, prompt_of(pilot).text) == ([], "hi")


async def test_enter_says_that_it_skips_while_no_reason_is_written(project: Path) -> None:
    async with inquired(project, DATABASE) as (pilot, agent, _panel):
        await pilot.press("r")
        await until(pilot, lambda: "Esc Back" in keys(pilot))
        assert "Enter Skip   " in keys(pilot)
        await pilot.press("n")
        await until(pilot, lambda: "Enter Skip, and say this   " in keys(pilot))
        await pilot.press("backspace", "space")
        await until(pilot, lambda: "Enter Skip   " in keys(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: agent.answers == [InquiryAnswer(declined=True)])


async def test_a_small_window_shows_the_question_and_scrolls_to_the_cursor(project: Path) -> None:
    many = UserQuestion(
        DATABASE.question, [*DATABASE.choices, Choice("Files"), Choice("Redis"), Choice("None")]
    )
    async with inquired(project, many, size=(60, 16)) as (pilot, _agent, panel):
        assert "The agent asks: Which database should the service" in body(pilot)
        assert "1 SQLite" in body(pilot)
        assert "more line" in shown(panel.query_one(MoreLine))
        await pilot.press("up")
        await until(pilot, lambda: "▸ 7 Other…" in body(pilot))
        await pilot.press("down")
        await until(pilot, lambda: "Which database" in body(pilot) and "▸ 1 SQLite" in body(pilot))


async def test_a_digit_chooses_nothing_that_was_not_shown(project: Path) -> None:
    many = UserQuestion(
        DATABASE.question, [*DATABASE.choices, Choice("Files"), Choice("Redis"), Choice("None")]
    )
    async with inquired(project, many, size=(60, 16)) as (pilot, agent, panel):
        assert "6 None" not in body(pilot)
        await pilot.press("6")
        await until(pilot, lambda: "▸ 6 None" in body(pilot) and "Enter Answer" in keys(pilot))
        assert agent.answers == []
        await until(pilot, lambda: panel.timing.is_confirmed)
        await pilot.press("enter")
        await until(pilot, lambda: agent.answers == [InquiryAnswer((("None",),))])


async def test_a_question_has_more_rows_than_the_conversation_in_a_small_window(project: Path) -> None:
    async with inquired(project, DATABASE, size=(60, 16)) as (pilot, _agent, panel):
        await until(pilot, lambda: panel.size.height > conversation_of(pilot).size.height + 4)
        assert "4 Other…" in body(pilot)


@pytest.mark.parametrize("text", ["Delete all?" + "\n" * 60, "Delete all?" + "\nline" * 60 + "\nThe end."])
async def test_the_choices_are_in_sight_however_long_the_question_is(project: Path, text: str) -> None:
    long = UserQuestion(text, [Choice("Yes,\n\n\nall", "they\nare gone"), Choice("No")])
    async with inquired(project, long, size=(80, 24)) as (pilot, _agent, panel):
        assert "Delete all?" in body(pilot)
        assert "1 Yes, all  they are gone" in body(pilot)
        assert "2 No" in body(pilot)
        assert "more lines below the answers" in body(pilot)
        await pilot.press("up")
        await until(pilot, lambda: "▸ 3 Other…" in body(pilot))
        for _ in range(10):
            await pilot.press("pagedown")
        await until(pilot, lambda: "↓" not in shown(panel.query_one(MoreLine)))
        assert text.endswith("\n") or "The end." in body(pilot)


async def test_on_another_screen_it_is_a_line_until_f6(project: Path) -> None:
    agent = ScriptedAgent(project, script(inquires(DATABASE)))
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await opened(pilot)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: pilot.app.screen is not main_of(pilot))
        main_of(pilot).send(prompt_of(pilot).written)
        await until(pilot, lambda: pilot.app.screen.query(InquiryPanel))
        line = panel_of(pilot).query_one(Announcement)
        await until(
            pilot, lambda: "? The agent asks: Which database should the service use" in shown_bar(line)
        )
        await pilot.press("f6")
        await until(pilot, lambda: panel_of(pilot).has_focus)
        await ready(pilot)
        await pilot.press("2")
        await until(pilot, lambda: agent.answers == [InquiryAnswer((("Postgres",),))])


async def test_the_line_on_another_screen_shows_the_question_that_the_user_is_at(project: Path) -> None:
    async with inquired(project, DATABASE, CHECKS, NAME) as (pilot, _agent, _panel):
        await pilot.press("2")
        await until(pilot, lambda: "Which checks" in body(pilot))
        await pilot.press("ctrl+p")
        await until(pilot, lambda: pilot.app.screen.query("#dialog-question"))
        line = pilot.app.screen.query_one("#dialog-question", Announcement)
        await until(pilot, lambda: "? The agent asks: Which checks run before" in shown_bar(line))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: pilot.app.screen is not main_of(pilot))
        await until(pilot, lambda: pilot.app.screen.query(InquiryPanel))
        line = panel_of(pilot).query_one(Announcement)
        await until(pilot, lambda: "? The agent asks: Which checks run before" in shown_bar(line))
        await pilot.press("f6")
        await until(pilot, lambda: panel_of(pilot).has_focus)
        await ready(pilot)
        await pilot.press("tab")
        await until(pilot, lambda: "What is the package called?" in body(pilot))
        await pilot.press("f6")
        await until(pilot, lambda: "? The agent asks: What is the package called?" in shown_bar(line))


def shown_bar(line: Announcement) -> str:
    return line.render_line(0).text


async def test_it_queues_with_permission_questions_and_each_can_be_viewed_before(project: Path) -> None:
    inquiry = Inquiry("c", (DATABASE,))
    first = Question("d", "shell", "command", "Run", "ls", "", round=lambda: Round(1, 2, (inquiry,)))
    agent = ScriptedAgent(
        project,
        script(call("d", "shell", command="ls"), asks(first), inquires(DATABASE, round=lambda: Round(2, 2))),
    )
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        question = await asked(pilot)
        question.clock = lambda: monotonic() + 60
        await until(pilot, lambda: question.check_action("look", (1,)))
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: "1 SQLite" in shown(question.query_one(QuestionBody)))
        assert "Answer question 1 first" in shown(question.query_one(Answers))
        await pilot.press("left_square_bracket")
        await answer(pilot, "y")
        await ready(pilot)
        await until(pilot, lambda: "2 of 2" in body(pilot))
        await pilot.press("1")
        await until(pilot, lambda: agent.answers == [Answer(allow=True), InquiryAnswer((("SQLite",),))])


async def test_the_other_conversations_wait_badge_counts_it(project: Path) -> None:
    agent = ScriptedAgent(project, script(inquires(DATABASE)))
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        await ready(pilot)
        assert main_of(pilot).state == "waiting"
        assert main_of(pilot).question == DATABASE.question
        await pilot.press("ctrl+n")
        await until(pilot, lambda: "1 waiting" in shown(pilot.app.screen.query_one(StatusBar)))


async def test_a_real_agent_gets_the_answer_and_its_call_waits_for_it(project: Path) -> None:
    question = {"question": "Which database?", "choices": ["SQLite", "Postgres"]}
    provider = ScriptedProvider(block("ask", questions=[question]), "Postgres it is.")
    async with at_work(agent_of(project, provider)) as pilot:
        await send(pilot, "set it up")
        await ready(pilot)
        await until(pilot, lambda: "? ask Which database?" in shown(conversation_of(pilot)))
        assert "waiting" in shown(conversation_of(pilot))
        await pilot.press("2")
        await finished(pilot)
        await until(pilot, lambda: "✓ ask Which database? · Postgres" in shown(conversation_of(pilot)))
    assert '"answer": "Postgres"' in provider.sent[-1][-1]["content"]


async def test_the_conversation_shows_the_answers_also_when_it_is_reopened(project: Path) -> None:
    question = {"question": "Which database?", "choices": ["SQLite", "Postgres"]}
    name = {"question": "What name?", "choices": ["shop", "store"]}
    replies = (block("ask", questions=[question]), block("ask", questions=[question, name]), "Done.")

    async def inquire(inquiry: Inquiry) -> InquiryAnswer:
        return InquiryAnswer(tuple((each.choices[1].label,) for each in inquiry.questions))

    agent, id = agent_of(project, ScriptedProvider(*replies)), new_conversation_id()
    agent.inquire = inquire
    try:
        seen = await live(agent, id, "do it")
        again = await reopened(agent, id)
    finally:
        await agent.close()
    lines = [" ".join(line.split()) for line in lines_of(again)]
    assert lines_of(again) == lines_of(seen)
    assert any(line.startswith("✓ ask Which database? · Postgres") for line in lines)
    at = next(at for at, line in enumerate(lines) if line.startswith("✓ ask 2 questions"))
    assert lines[at + 1 : at + 5] == ["Which database?", "→ Postgres", "What name?", "→ store"]


def answered(*answers: tuple[str, Sequence[str]]) -> Step:
    ended = result(
        "c", "ask", "; ".join(", ".join(given) for _question, given in answers), None, duration=42.0
    )
    assert ended["type"] == "result"
    ended["payload"]["answers"] = [{"question": each, "answers": [*given]} for each, given in answers]
    return ended


def inquiring(*questions: UserQuestion, pressed: Sequence[str] = (), **fields: Any) -> Prepare:
    """Mount an inquiry over the prompt, and press keys once it takes answers."""

    async def prepare(pilot: Pilot[Any]) -> None:
        now, screen = [100.0], pilot.app.screen
        await until(pilot, lambda: screen.size == pilot.app.size)
        for old in screen.query(InquiryPanel):
            old.display = False
            await pilot.pause()
            await old.remove()
        panel = InquiryPanel(
            Inquiry("c", questions, **fields), Hands(lambda _answer: None), clock=lambda: now[0]
        )
        await screen.mount(panel, before="#prompt-box")
        screen.set_focus(panel)
        await until(pilot, lambda: panel.query_one(Answers).size)
        now[0] += 1
        await until(pilot, lambda: not panel.query_one(Answers).deaf)
        await pilot.pause()
        for key in pressed:
            now[0] += 1
            await pilot.press(key)

    return prepare


@pytest.mark.exhaustive
async def test_how_inquiries_look() -> None:
    own = ["down", "down", "down", "down", "enter", *"Redis"]
    await check_series_in_each_size(
        BoxStand,
        ("inquiry", inquiring(DATABASE)),
        ("inquiry-chosen", inquiring(DATABASE, CHECKS, NAME, pressed=["down", "enter", "down", "space"])),
        (
            "inquiry-asker",
            inquiring(NAME, asker="the sub-agent builder", round=lambda: Round(2, 5), pressed=["up"]),
        ),
        ("inquiry-own", inquiring(DATABASE, pressed=own)),
    )


async def test_how_answers_look(project: Path) -> None:
    long = (
        "a service of my own, which runs on the machine of the team beside the others and needs no database"
    )
    done = answered(
        (DATABASE.question, ["Postgres"]), (CHECKS.question, ["ruff", "pytest"]), (NAME.question, [long])
    )
    agent = ScriptedAgent(project, script(done))

    async def prepare(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        await send(pilot, "go")
        await finished(pilot)

    await check_looks("answered", lambda: app_over(agent), prepare, sizes=[(100, 30)])
