"""A permission question shows what will happen, and is answered on purpose or not at all."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.app import App
from textual.geometry import Size
from textual.pilot import Pilot
from textual.widgets import Input

from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.config.themes import DEFAULT, load_palette
from cogency_tui.tui.kit.dialogs import DialogBody
from cogency_tui.tui.questions.answer_lines import Answers
from cogency_tui.tui.questions.screen import PermissionQuestion
from cogency_tui.tui.theme_styles import variables
from tests.tui.driving import (
    app_over,
    calls_of,
    conversation_of,
    finished,
    main_of,
    prompt_of,
    send,
    shown,
    until,
)
from tests.tui.scripted import ScriptedAgent, call, execute, paused, respond

DIFF = "--- a/app.py\n+++ b/app.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\x1b[2J\n"
COMMAND = Question(
    "c", "shell", "command", "ls", "ls \u202e\x1b[2J", "it runs a command", "this very command", "ls …"
)
NARROW = Question("c", "shell", "command", "rm -r x", "rm -r x", "3 files would be lost")
EDIT = Question("c", "edit", "write", "Edit app.py (+1 −1)", DIFF, "it changes files")

SIZES = ((160, 45), (100, 30), (80, 24), (60, 16))


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Asking(App[None]):
    """Asks a question, and keeps the answer."""

    def __init__(self, question: Question, clock: Clock) -> None:
        super().__init__()
        self.clock = clock
        self.typed: list[str] = []
        self.question = PermissionQuestion(question, typed=self._note, clock=clock)
        self.answers: list[Answer | None] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variables(load_palette(DEFAULT))

    def on_mount(self) -> None:
        self.push_screen(self.question, self.answers.append)

    async def ask(self, question: Question, size: tuple[int, int] | None = None) -> None:
        """Ask another one, whatever became of the last, in a window of this size."""
        if self.question in self.screen_stack:
            await self.pop_screen()
        if size is not None and size != self.size:
            self.post_message(events.Resize(Size(*size), Size(*size)))
            while self.screen.size != size:  # noqa: ASYNC110 (the app has no event for it)
                await asyncio.sleep(0)
        self.typed, self.answers = [], []
        self.question = PermissionQuestion(question, typed=self._note, clock=self.clock)
        await self.push_screen(self.question, self.answers.append)

    def _note(self, event: events.Key | events.Paste) -> None:
        self.typed.append(event.key if isinstance(event, events.Key) else event.text)


@asynccontextmanager
async def asking(
    question: Question, size: tuple[int, int] = (100, 30)
) -> AsyncGenerator[tuple[Asking, Pilot[None], Clock]]:
    clock = Clock()
    app = Asking(question, clock)
    async with app.run_test(size=size) as pilot:
        yield app, pilot, clock


def body_of(app: Asking) -> str:
    return shown(app.question.query_one(DialogBody))


async def test_each_key_gives_its_answer() -> None:
    async with asking(COMMAND) as (app, pilot, clock):
        for key, answer in (
            ("y", Answer(allow=True)),
            ("a", Answer(allow=True, scope="conversation")),
            ("A", Answer(allow=True, scope="always")),
            ("n", Answer(allow=False)),
            ("escape", Answer(allow=False)),
        ):
            await app.ask(COMMAND)
            clock.now += 1
            await pilot.press(key)
            await until(pilot, lambda answer=answer: app.answers == [answer])

        # Escape in the reason goes back to the question, enter gives it to the model.
        await app.ask(COMMAND)
        clock.now += 1
        await pilot.press("r", "x", "escape")
        assert app.answers == []
        await pilot.press("y")
        await until(pilot, lambda: app.answers == [Answer(allow=True)])
        await app.ask(COMMAND)
        clock.now += 1
        await pilot.press("r")
        await pilot.press(*"yan")
        assert app.answers == []
        await pilot.press("enter")
        await until(pilot, lambda: app.answers == [Answer(allow=False, reason="yan")])


async def test_a_wider_yes_that_was_not_offered_is_no_answer() -> None:
    async with asking(NARROW) as (app, pilot, clock):
        for key in ("a", "A"):
            await app.ask(NARROW)
            await pilot.pause()
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


async def test_keys_of_the_first_moments_answer_nothing() -> None:
    async with asking(COMMAND) as (app, pilot, clock):
        for key in ("y", "a", "n", "r", "escape", "enter", "space"):
            await app.ask(COMMAND)
            clock.now += 0.79
            await pilot.press(key)
            assert app.answers == []
            assert app.typed == [key]
            assert not app.question.query_one(Input).display

        # An answer needs a pause after the last key.
        await app.ask(COMMAND)
        for key in ("s", "a", "y", "j", "y"):
            clock.now += 0.7
            await pilot.press(key)
        assert app.answers == []
        assert app.typed == ["s", "a", "y", "j", "y"]
        clock.now += 0.8
        await pilot.press("y")
        await until(pilot, lambda: app.answers == [Answer(allow=True)])


async def test_a_key_that_is_none_of_the_question_begins_a_text() -> None:
    async with asking(COMMAND) as (app, pilot, clock):
        # A letter that scrolls does not open the question to the next.
        for keys, typed in (("why", "why"), ("jay", "ay")):
            await app.ask(COMMAND)
            clock.now += 1
            await pilot.press(*keys)
            assert app.answers == []
            assert app.typed == [*typed]

        # A paste is for the prompt.
        await app.ask(COMMAND)
        app.post_message(events.Paste("yes"))
        await until(pilot, lambda: app.typed == ["yes"])
        assert app.answers == []


async def test_who_has_gone_into_the_question_answers_without_a_pause() -> None:
    async with asking(COMMAND) as (app, pilot, clock):
        for key in ("tab", "down", "pageup"):
            await app.ask(COMMAND)
            clock.now += 1
            await pilot.press(key, "y")
            await until(pilot, lambda: app.answers == [Answer(allow=True)])

            await app.ask(COMMAND)
            clock.now += 0.5
            await pilot.press(key, "y")
            assert app.answers == []
            assert app.typed == ["y"]


async def test_what_was_changed_is_kept_or_put_back() -> None:
    question = Question("c", "shell", "changed", "Keep it: changed app.py", DIFF, "it asked nobody")
    async with asking(question, (80, 24)) as (app, pilot, clock):
        for key, kept in (("y", True), ("n", False)):
            await app.ask(question)
            await until(pilot, lambda: "shell changed files" in body_of(app))
            answers = shown(app.question.query_one(Answers))
            assert [line.split() for line in answers.splitlines()] == [["y", "Keep"], ["n", "Revert"]]
            clock.now += 1
            await pilot.press("r")
            assert not app.question.query_one("#question-reason", Input).display
            clock.now += 1
            await pilot.press(key)
            await until(pilot, lambda kept=kept: app.answers == [Answer(allow=kept)])


@pytest.mark.usefixtures("short_pause")
async def test_all_that_was_changed_is_seen_before_it_is_kept() -> None:
    diff = "--- a/a\n+++ b/a\n@@ -0,0 +1,15 @@\n" + "".join(f"+line {number}\n" for number in range(13))
    question = Question("c", "shell", "changed", "Keep it: changed a", diff, "it asked nobody")
    async with asking(question, (80, 24)) as (app, pilot, clock):
        await until(pilot, lambda: "shell changed files" in body_of(app))
        clock.now += 1
        await until(pilot, lambda: "Scroll down" in shown(app.question.query_one(Answers)))
        await pilot.press("y")
        assert app.answers == []
        await pilot.press("pagedown")
        await until(pilot, lambda: "Keep" in shown(app.question.query_one(Answers)))


async def test_a_click_answers_but_not_the_one_that_brought_the_window_up() -> None:
    async with asking(COMMAND) as (app, pilot, clock):
        clock.now += 1
        app.post_message(events.AppBlur())
        app.post_message(events.AppFocus())
        await pilot.pause()
        await pilot.click(Answers, offset=(3, 0))
        assert app.answers == []
        clock.now += 1
        await pilot.click(Answers, offset=(3, 0))
        await until(pilot, lambda: app.answers == [Answer(allow=True)])


async def test_a_command_is_shown_with_what_it_hides_and_answers_say_how_far_they_reach() -> None:
    async with asking(COMMAND) as (app, pilot, _clock):
        assert "$ ls ⟨U+202E⟩␛[2J" in body_of(app)
        assert "Reason: it runs a command." in body_of(app)
        # The rule is shown as it is stored.
        answers = shown(app.question.query_one(Answers)).splitlines()
        assert [line.split()[0] for line in answers] == ["y", "a", "A", "n", "r"]
        assert "this very command" in answers[1]
        assert 'Always in this project  command "ls …"' in answers[2]

        # One that looks like a diff is shown as a command.
        await app.ask(replace(COMMAND, detail="--- a/x || rm -r y\n+++ b/x\n@@ -1 +1 @@\n+rm -r z"))
        await pilot.pause()
        assert "$ --- a/x || rm -r y" in body_of(app)
        assert len(grounds_of(app)) == 1

        await app.ask(EDIT)
        await pilot.pause()
        assert "Edit app.py (+1 −1)" in body_of(app)
        assert "+ x = 2␛[2J" in body_of(app)
        assert len(grounds_of(app)) == 3

        # What a yes covers is not cut, nor a long rule.
        covers = "every command, until content from elsewhere is read"
        await app.ask(replace(COMMAND, grant=covers), (80, 24))
        await until(pilot, lambda: f"a allows: {covers}" in " ".join(body_of(app).split()))
        await app.ask(replace(COMMAND, pattern=" ".join(["word"] * 12)), (60, 16))
        await until(pilot, lambda: " ".join(["word"] * 12) in " ".join(body_of(app).split()))


def grounds_of(app: Asking) -> set[str]:
    """The backgrounds of the body."""
    body = app.question.query_one(DialogBody)
    strips = body.render_lines(body.size.region)
    styles = [segment.style for strip in strips for segment in strip if segment.style]
    return {style.bgcolor.name for style in styles if style.bgcolor}


async def test_nothing_hides_behind_blanks_or_many_lines() -> None:
    blanks = [
        ("\n" * 201, "… 200 empty lines …"),
        ("\n \t" * 200 + "\n", "… 200 empty lines …"),
        (" " * 5000, "⟨5000 spaces⟩"),
    ]
    long = "\n".join(["echo begin", *["echo nothing"] * 200, "rm -r x"])
    async with asking(COMMAND) as (app, pilot, _clock):
        for size in SIZES:
            # All of them in the largest and in the smallest.
            for blank, note in blanks if size in (SIZES[0], SIZES[-1]) else blanks[-1:]:
                await app.ask(replace(COMMAND, detail=f"ls{blank}rm -r x"), size)
                await pilot.pause()
                text = body_of(app)
                assert "$ ls" in text
                assert "rm -r x" in text
                assert note in text

            # Of a long command its end is seen at once.
            await app.ask(replace(COMMAND, detail=long))
            await pilot.pause()
            text = body_of(app)
            assert "$ echo begin" in text
            assert "… 196 more lines, shown in full below …" in text
            assert "rm -r x" in text
            app.question.action_scroll(1000)
            await pilot.pause()
            assert body_of(app).count("echo nothing") > 2
            assert body_of(app).rstrip().endswith("rm -r x")

            # Command and all answers are seen at once.
            await app.ask(COMMAND)
            await pilot.pause()
            answers = app.question.query_one(Answers)
            assert len(shown(answers).splitlines()) == 5
            assert answers.region.bottom <= size[1]
            assert "$ ls" in body_of(app)


async def test_a_long_diff_scrolls_and_the_answers_stay_in_sight() -> None:
    question = Question(
        "c", "write", "write", "Write big.py", DIFF + "+line\n" * 500 + "+the end\n", "it changes files"
    )
    async with asking(question, (80, 24)) as (app, pilot, clock):
        assert app.question.query_one(Answers).region.bottom <= 24
        assert "the end" not in body_of(app)
        await pilot.press("pagedown")
        app.question.action_scroll(1000)
        assert "the end" in body_of(app)

        # A reason can be written on a small screen.
        await app.ask(EDIT, (60, 16))
        await pilot.pause()
        clock.now += 1
        await pilot.press("r", *"not so")
        field = app.question.query_one(Input)
        assert field.region.height == 1
        assert app.question.query_one(Answers).region.bottom <= 16
        await pilot.press("enter")
        await until(pilot, lambda: app.answers == [Answer(allow=False, reason="not so")])


@pytest.mark.usefixtures("short_pause")
async def test_answers_are_dim_until_keys_are_heard_and_how_many_more_wait_is_said_then() -> None:
    others = [0]
    async with asking(replace(COMMAND, others=lambda: others[0])) as (app, pilot, clock):
        answers = app.question.query_one(Answers)
        assert answers.deaf
        assert " of " not in body_of(app)
        others[0] = 2
        clock.now += 0.8
        await until(pilot, lambda: not answers.deaf)
        await until(pilot, lambda: "1 of 3" in body_of(app))


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
        project,
        [call("c", "shell", command="ls"), execute(), asks(COMMAND), respond("done")],
        [call("d", "shell", command="ls"), asks(COMMAND)],
        [asks(COMMAND), asks(EDIT), respond("done")],
    )
    async with app_over(agent).run_test(size=(160, 40)) as pilot:
        await send(pilot, "go")
        question = await asked(pilot)
        assert "waiting" in shown(calls_of(pilot))
        question.dismiss(Answer(allow=True))
        await until(pilot, lambda: agent.answers == [Answer(allow=True)])
        await until(pilot, lambda: "done" in shown(conversation_of(pilot)))
        assert "waiting" not in shown(calls_of(pilot))

        # A question that nobody waits for goes away.
        agent.answers.clear()
        await send(pilot, "go")
        await asked(pilot)
        agent.interrupt()
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        assert agent.answers == []
        await finished(pilot)

        # One follows the other, each with its own grace.
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
