"""A permission question shows what will happen, and is answered on purpose or not at all."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.config.themes import DEFAULT, load_palette
from cogency_tui.tui.kit.dialogs import DialogBody
from cogency_tui.tui.questions.answer_lines import Answers
from cogency_tui.tui.questions.screen import PermissionQuestion
from cogency_tui.tui.theme_styles import variables
from tests.tui.driving import app_over, calls_of, conversation_of, main_of, prompt_of, send, shown, until
from tests.tui.scripted import ScriptedAgent, call, execute, paused, respond

DIFF = "--- a/app.py\n+++ b/app.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\x1b[2J\n"
COMMAND = Question(
    "c", "shell", "command", "ls", "ls \u202e\x1b[2J", "it runs a command", "this very command", "ls …"
)
NARROW = Question("c", "shell", "command", "rm -r x", "rm -r x", "3 files would be lost")
EDIT = Question("c", "edit", "write", "Edit app.py (+1 −1)", DIFF, "it changes files")


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Asking(App[None]):
    """Asks one question, and keeps the answer."""

    def __init__(self, question: Question, clock: Clock) -> None:
        super().__init__()
        self.typed: list[str] = []
        self.question = PermissionQuestion(question, typed=self._note, clock=clock)
        self.answers: list[Answer | None] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variables(load_palette(DEFAULT))

    def on_mount(self) -> None:
        self.push_screen(self.question, self.answers.append)

    def _note(self, event: events.Key | events.Paste) -> None:
        self.typed.append(event.key if isinstance(event, events.Key) else event.text)


def body_of(app: Asking) -> str:
    return shown(app.question.query_one(DialogBody))


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("y", Answer(allow=True)),
        ("a", Answer(allow=True, scope="conversation")),
        ("A", Answer(allow=True, scope="always")),
        ("n", Answer(allow=False)),
        ("escape", Answer(allow=False)),
    ],
)
async def test_each_key_gives_its_answer(key: str, answer: Answer) -> None:
    clock = Clock()
    app = Asking(COMMAND, clock)
    async with app.run_test(size=(100, 30)) as pilot:
        clock.now += 1
        await pilot.press(key)
        await until(pilot, lambda: app.answers == [answer])


@pytest.mark.parametrize("key", ["a", "A"])
async def test_a_wider_yes_that_was_not_offered_is_no_answer(key: str) -> None:
    clock = Clock()
    app = Asking(NARROW, clock)
    async with app.run_test(size=(100, 30)) as pilot:
        assert "For this conversation" not in shown(app.question.query_one(Answers))
        clock.now += 1
        await pilot.press(key)
        await pilot.pause()
        assert app.answers == []
        assert app.typed == [key]
        clock.now += 1
        await pilot.press("y")
        await until(pilot, lambda: app.answers)
    assert app.answers == [Answer(allow=True)]


@pytest.mark.parametrize("key", ["y", "a", "n", "r", "escape", "enter", "space"])
async def test_keys_of_the_first_moments_answer_nothing(key: str) -> None:
    clock = Clock()
    app = Asking(COMMAND, clock)
    async with app.run_test(size=(100, 30)) as pilot:
        clock.now += 0.79
        await pilot.press(key)
        assert app.answers == []
        assert app.typed == [key]
        assert not app.question.query_one(Input).display


async def test_an_answer_needs_a_pause_after_the_last_key() -> None:
    clock = Clock()
    app = Asking(COMMAND, clock)
    async with app.run_test(size=(100, 30)) as pilot:
        for key in ("s", "a", "y", "j", "y"):
            clock.now += 0.7
            await pilot.press(key)
        assert app.answers == []
        assert app.typed == ["s", "a", "y", "j", "y"]
        clock.now += 0.8
        await pilot.press("y")
        await until(pilot, lambda: app.answers == [Answer(allow=True)])


async def test_a_key_that_is_none_of_the_question_begins_a_text() -> None:
    clock = Clock()
    app = Asking(COMMAND, clock)
    async with app.run_test(size=(100, 30)) as pilot:
        clock.now += 1
        await pilot.press(*"why")
        assert app.answers == []
        assert app.typed == ["w", "h", "y"]


async def test_a_letter_that_scrolls_does_not_open_the_question_to_the_next() -> None:
    clock = Clock()
    app = Asking(COMMAND, clock)
    async with app.run_test(size=(100, 30)) as pilot:
        clock.now += 1
        await pilot.press(*"jay")
        assert app.answers == []
        assert app.typed == ["a", "y"]


@pytest.mark.parametrize("key", ["tab", "down", "pageup"])
@pytest.mark.parametrize("paused", [True, False])
async def test_who_has_gone_into_the_question_answers_without_a_pause(key: str, paused: bool) -> None:
    clock = Clock()
    app = Asking(COMMAND, clock)
    async with app.run_test(size=(100, 30)) as pilot:
        clock.now += 1 if paused else 0.5
        await pilot.press(key, "y")
        if paused:
            await until(pilot, lambda: app.answers == [Answer(allow=True)])
        else:
            assert app.answers == []
            assert app.typed == ["y"]


async def test_a_paste_is_for_the_prompt() -> None:
    app = Asking(COMMAND, Clock())
    async with app.run_test(size=(100, 30)) as pilot:
        app.post_message(events.Paste("yes"))
        await until(pilot, lambda: app.typed == ["yes"])
        assert app.answers == []


async def test_a_reason_reaches_the_model() -> None:
    clock = Clock()
    app = Asking(COMMAND, clock)
    async with app.run_test(size=(100, 30)) as pilot:
        clock.now += 1
        await pilot.press("r")
        await pilot.press(*"yan")
        assert app.answers == []
        await pilot.press("enter")
        await until(pilot, lambda: app.answers == [Answer(allow=False, reason="yan")])


@pytest.mark.parametrize(("key", "kept"), [("y", True), ("n", False)])
async def test_what_was_changed_is_kept_or_put_back(key: str, kept: bool) -> None:
    clock = Clock()
    app = Asking(Question("c", "shell", "changed", "Keep it: changed app.py", DIFF, "it asked nobody"), clock)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "shell changed files" in body_of(app))
        answers = shown(app.question.query_one(Answers))
        assert [line.split() for line in answers.splitlines()] == [["y", "Keep"], ["n", "Revert"]]
        clock.now += 1
        await pilot.press("r")
        assert not app.question.query_one("#question-reason", Input).display
        clock.now += 1
        await pilot.press(key)
        await until(pilot, lambda: app.answers == [Answer(allow=kept)])


async def test_all_that_was_changed_is_seen_before_it_is_kept() -> None:
    diff = "--- a/a\n+++ b/a\n@@ -0,0 +1,15 @@\n" + "".join(f"+line {number}\n" for number in range(13))
    clock = Clock()
    app = Asking(Question("c", "shell", "changed", "Keep it: changed a", diff, "it asked nobody"), clock)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "shell changed files" in body_of(app))
        clock.now += 1
        await until(pilot, lambda: "Scroll down" in shown(app.question.query_one(Answers)))
        await pilot.press("y")
        assert app.answers == []
        await pilot.press("pagedown")
        await until(pilot, lambda: "Keep" in shown(app.question.query_one(Answers)))


async def test_what_a_yes_covers_is_not_cut() -> None:
    clock = Clock()
    covers = "every command, until content from elsewhere is read"
    app = Asking(Question("c", "shell", "command", "make", "make", "it may run anything", covers), clock)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: f"a allows: {covers}" in " ".join(body_of(app).split()))


async def test_escape_in_the_reason_goes_back_to_the_question() -> None:
    clock = Clock()
    app = Asking(COMMAND, clock)
    async with app.run_test(size=(100, 30)) as pilot:
        clock.now += 1
        await pilot.press("r", "x", "escape")
        assert app.answers == []
        await pilot.press("y")
        await until(pilot, lambda: app.answers == [Answer(allow=True)])


async def test_a_click_answers_but_not_the_one_that_brought_the_window_up() -> None:
    clock = Clock()
    app = Asking(COMMAND, clock)
    async with app.run_test(size=(100, 30)) as pilot:
        clock.now += 1
        app.post_message(events.AppBlur())
        app.post_message(events.AppFocus())
        await pilot.pause()
        await pilot.click(Answers, offset=(3, 0))
        assert app.answers == []
        clock.now += 1
        await pilot.click(Answers, offset=(3, 0))
        await until(pilot, lambda: app.answers == [Answer(allow=True)])


async def test_a_command_is_shown_with_what_it_hides() -> None:
    app = Asking(COMMAND, Clock())
    async with app.run_test(size=(100, 30)):
        assert "$ ls ⟨U+202E⟩␛[2J" in body_of(app)
        assert "Reason: it runs a command." in body_of(app)


async def test_a_command_that_looks_like_a_diff_is_shown_as_a_command() -> None:
    detail = "--- a/x || rm -r y\n+++ b/x\n@@ -1 +1 @@\n+rm -r z"
    app = Asking(replace(COMMAND, detail=detail), Clock())
    async with app.run_test(size=(100, 30)):
        body = app.question.query_one(DialogBody)
        strips = body.render_lines(body.size.region)
        assert "$ --- a/x || rm -r y" in body_of(app)
    assert len({segment.style.bgcolor for strip in strips for segment in strip if segment.style}) == 1


@pytest.mark.parametrize("size", [(160, 45), (100, 30), (80, 24), (60, 16)])
@pytest.mark.parametrize(
    ("blank", "note"),
    [
        ("\n" * 201, "… 200 empty lines …"),
        ("\n \t" * 200 + "\n", "… 200 empty lines …"),
        (" " * 5000, "⟨5000 spaces⟩"),
    ],
)
async def test_nothing_hides_behind_blanks(size: tuple[int, int], blank: str, note: str) -> None:
    app = Asking(replace(COMMAND, detail=f"ls{blank}rm -r x"), Clock())
    async with app.run_test(size=size):
        text = body_of(app)
        assert "$ ls" in text
        assert "rm -r x" in text
        assert note in text


@pytest.mark.parametrize("size", [(160, 45), (100, 30), (80, 24), (60, 16)])
async def test_of_a_long_command_its_end_is_seen_at_once(size: tuple[int, int]) -> None:
    detail = "\n".join(["echo begin", *["echo nothing"] * 200, "rm -r x"])
    app = Asking(replace(COMMAND, detail=detail), Clock())
    async with app.run_test(size=size) as pilot:
        text = body_of(app)
        assert "$ echo begin" in text
        assert "… 196 more lines, shown in full below …" in text
        assert "rm -r x" in text
        app.question.action_scroll(1000)
        await pilot.pause()
        assert body_of(app).count("echo nothing") > 2
        assert body_of(app).rstrip().endswith("rm -r x")


async def test_an_edit_is_shown_as_a_diff_in_colour() -> None:
    app = Asking(EDIT, Clock())
    async with app.run_test(size=(100, 30)):
        text = body_of(app)
        body = app.question.query_one(DialogBody)
        strips = body.render_lines(body.size.region)

    assert "Edit app.py (+1 −1)" in text
    assert "+x = 2␛[2J" in text
    grounds = {
        segment.style.bgcolor.name
        for strip in strips
        for segment in strip
        if segment.style and segment.style.bgcolor
    }
    assert len(grounds) == 3


async def test_a_long_diff_scrolls_and_the_answers_stay_in_sight() -> None:
    question = Question(
        "c", "write", "write", "Write big.py", DIFF + "+line\n" * 500 + "+the end\n", "it changes files"
    )
    app = Asking(question, Clock())
    async with app.run_test(size=(80, 24)) as pilot:
        assert app.question.query_one(Answers).region.bottom <= 24
        assert "the end" not in body_of(app)
        await pilot.press("pagedown")
        app.question.action_scroll(1000)
        assert "the end" in body_of(app)


def asks(question: Question) -> Any:
    async def ask(agent: ScriptedAgent) -> None:
        assert agent.ask is not None
        agent.answers.append(await agent.ask(question))

    return ask


async def asked(pilot: Pilot[Any]) -> PermissionQuestion:
    await until(pilot, lambda: isinstance(pilot.app.screen, PermissionQuestion))
    question = pilot.app.screen
    assert isinstance(question, PermissionQuestion)
    return question


@pytest.mark.exhaustive
async def test_the_agent_gets_the_answer_and_the_call_waits_for_it(project: Path) -> None:
    agent = ScriptedAgent(
        project, [call("c", "shell", command="ls"), execute(), asks(COMMAND), respond("done")]
    )
    async with app_over(agent).run_test(size=(160, 40)) as pilot:
        await send(pilot, "go")
        question = await asked(pilot)
        assert "waiting" in shown(calls_of(pilot))
        question.dismiss(Answer(allow=True))
        await until(pilot, lambda: agent.answers == [Answer(allow=True)])
        await until(pilot, lambda: "done" in shown(conversation_of(pilot)))
        assert "waiting" not in shown(calls_of(pilot))


@pytest.mark.exhaustive
async def test_a_question_that_nobody_waits_for_goes_away(project: Path) -> None:
    agent = ScriptedAgent(project, [call("c", "shell", command="ls"), asks(COMMAND)])
    async with app_over(agent).run_test(size=(160, 40)) as pilot:
        await send(pilot, "go")
        await asked(pilot)
        agent.interrupt()
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        assert agent.answers == []


async def test_typing_on_does_not_answer(project: Path) -> None:
    agent = ScriptedAgent(project, [paused, asks(COMMAND)])
    async with app_over(agent).run_test(size=(160, 40)) as pilot:
        await send(pilot, "go")
        await pilot.press(*"maybe")
        agent.gate.set()
        # However slow the machine is, these are its first moments.
        (await asked(pilot)).clock = Clock()
        for key in ("space", "y", "a", "n", "x", "backspace", "y"):
            # All at once, as a terminal hands them over.
            pilot.app.post_message(events.Key(key, " " if key == "space" else key if len(key) == 1 else None))
        pilot.app.post_message(events.Paste(" way"))
        await until(pilot, lambda: prompt_of(pilot).text == "maybe yany way")
        pilot.app.post_message(events.Key("enter", "\r"))
        await until(pilot, lambda: len(main_of(pilot).bridge.queue) == 1)

        assert agent.answers == []
        assert isinstance(pilot.app.screen, PermissionQuestion)


async def test_answers_say_how_far_they_reach_and_the_rule_as_it_is_stored() -> None:
    app = Asking(COMMAND, Clock())
    async with app.run_test(size=(100, 30)):
        answers = shown(app.question.query_one(Answers)).splitlines()
    assert [line.split()[0] for line in answers] == ["y", "a", "A", "n", "r"]
    assert "this very command" in answers[1]
    assert 'Always in this project  command "ls …"' in answers[2]


async def test_a_long_rule_is_shown_whole() -> None:
    app = Asking(replace(COMMAND, pattern=" ".join(["word"] * 12)), Clock())
    async with app.run_test(size=(60, 16)):
        assert " ".join(["word"] * 12) in " ".join(body_of(app).split())


async def test_answers_are_dim_until_keys_are_heard() -> None:
    clock = Clock()
    app = Asking(COMMAND, clock)
    async with app.run_test(size=(100, 30)) as pilot:
        answers = app.question.query_one(Answers)
        assert answers.deaf
        clock.now += 0.8
        await until(pilot, lambda: not answers.deaf)


async def test_how_many_more_wait_is_said_once_they_are_there() -> None:
    clock, others = Clock(), [0]
    app = Asking(replace(COMMAND, others=lambda: others[0]), clock)
    async with app.run_test(size=(100, 30)) as pilot:
        assert " of " not in body_of(app)
        others[0] = 2
        clock.now += 0.8
        await until(pilot, lambda: "1 of 3" in body_of(app))


@pytest.mark.parametrize("size", [(60, 16), (80, 24), (160, 45)])
async def test_command_and_all_answers_are_seen_at_once(size: tuple[int, int]) -> None:
    app = Asking(COMMAND, Clock())
    async with app.run_test(size=size):
        answers = app.question.query_one(Answers)
        assert len(shown(answers).splitlines()) == 5
        assert answers.region.bottom <= size[1]
        assert "$ ls" in body_of(app)


async def test_a_reason_can_be_written_on_a_small_screen() -> None:
    clock = Clock()
    app = Asking(EDIT, clock)
    async with app.run_test(size=(60, 16)) as pilot:
        clock.now += 1
        await pilot.press("r", *"not so")
        field = app.question.query_one(Input)
        assert field.region.height == 1
        assert app.question.query_one(Answers).region.bottom <= 16
        await pilot.press("enter")
        await until(pilot, lambda: app.answers == [Answer(allow=False, reason="not so")])


@pytest.mark.exhaustive
async def test_one_question_follows_the_other_each_with_its_own_grace(project: Path) -> None:
    agent = ScriptedAgent(project, [asks(COMMAND), asks(EDIT), respond("done")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "go")
        first = await asked(pilot)
        first.dismiss(Answer(allow=True))
        await until(
            pilot, lambda: isinstance(pilot.app.screen, PermissionQuestion) and pilot.app.screen is not first
        )
        (await asked(pilot)).clock = Clock()
        # The answer to the first, still on its way, is none to the second.
        pilot.app.post_message(events.Key("y", "y"))
        await pilot.pause()
        assert agent.answers == [Answer(allow=True)]
        (await asked(pilot)).dismiss(Answer(allow=False))
        await until(pilot, lambda: agent.answers == [Answer(allow=True), Answer(allow=False)])
