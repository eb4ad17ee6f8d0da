"""A permission question shows what will happen, and is answered on purpose or not at all."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.pilot import Pilot
from textual.widgets import Input

from cogency_tui.agent.permissions.gate import Answer, Question, Round
from cogency_tui.config.themes import DEFAULT, load_palette
from cogency_tui.tools.loss import Loss, LostPath
from cogency_tui.tui.help.screen import HelpScreen
from cogency_tui.tui.kit.bar import Surface
from cogency_tui.tui.kit.dialogs import Confirmation, DialogBody, QuestionBody
from cogency_tui.tui.kit.footer import Footer
from cogency_tui.tui.main.features import PANES_STYLES
from cogency_tui.tui.prompt.completion import Completion
from cogency_tui.tui.questions import answer_timing
from cogency_tui.tui.questions.announcement import Announcement
from cogency_tui.tui.questions.answer_lines import Answers, MoreLine
from cogency_tui.tui.questions.answer_timing import GAP, PAUSE
from cogency_tui.tui.questions.panel import Hands, QuestionPanel
from cogency_tui.tui.recall.screen import RecallScreen
from cogency_tui.tui.settings.screen import SettingsScreen
from cogency_tui.tui.theme_styles import variables
from cogency_tui.workspace.diff import LineCounts
from tests.tui.driving import (
    answer,
    app_over,
    asked,
    calls_of,
    conversation_of,
    finished,
    live_line_of,
    main_of,
    opened,
    prompt_of,
    question_of,
    seen,
    send,
    shown,
    until,
)
from tests.tui.scripted import ScriptedAgent, call, execute, paused, respond

DIFF = "--- a/app.py\n+++ b/app.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\x1b[2J\n"
COMMAND = Question(
    "c", "shell", "command", "ls", "ls \u202e\x1b[2J", "it runs a command", "this very command", "ls …"
)
NARROW = Question("c", "shell", "command", "rm -r x", "rm -r x", "it is protected")
EDIT = Question(
    *("c", "edit", "write", "Edit app.py", DIFF, ""),
    counts=LineCounts(1, 1),
    grant="all changes to files in the project",
    turn="all changes to files in the project",
)

SIZES = ((160, 45), (100, 30), (80, 24), (60, 16))


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self, now: float = 100.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Asking(App[None]):
    """Asks a question below a pane, and keeps the answer."""

    CSS_PATH: ClassVar = [PANES_STYLES.with_name(name) for name in ("main.tcss", "panes.tcss")]

    def __init__(self, question: Question, clock: Clock) -> None:
        super().__init__()
        self.clock = clock
        self.typed: list[str] = []
        self.answers: list[Answer] = []
        self.stopped = 0
        self.follows = False
        self.question = self._panel(question)

    def compose(self) -> ComposeResult:
        yield Surface(id="panes")

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variables(load_palette(DEFAULT))

    async def on_mount(self) -> None:
        await self._show()

    async def ask(self, question: Question, size: tuple[int, int] | None = None) -> None:
        """Ask another one, whatever became of the last, in a window of this size."""
        await self._hide()
        if size is not None and size != self.size:
            self.post_message(events.Resize(Size(*size), Size(*size)))
            while self.screen.size != size:  # noqa: ASYNC110 (the app has no event for it)
                await asyncio.sleep(0)
        self.typed, self.answers, self.stopped = [], [], 0
        self.question = self._panel(question)
        await self._show()
        while not self.question.query_one(DialogBody).size:  # noqa: ASYNC110 (the app has no event for it)
            await asyncio.sleep(0)

    async def _show(self) -> None:
        await self.screen.mount(self.question)
        self.screen.set_focus(self.question)

    async def _hide(self) -> None:
        self.question.display = False
        while self.question.region:  # noqa: ASYNC110 (the app has no event for it)
            await asyncio.sleep(0)
        await self.question.remove()

    def _panel(self, question: Question) -> QuestionPanel:
        def stop() -> None:
            self.stopped += 1

        hands = Hands(self._keep, self._note, stop)
        after = self.question if self.follows else None
        return QuestionPanel(question, hands, after=after, clock=self.clock)

    def _keep(self, answer: Answer) -> None:
        self.answers.append(answer)

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
            ("c", Answer(allow=True, scope="conversation")),
            ("A", Answer(allow=True, scope="always")),
            ("n", Answer(allow=False)),
        ):
            await app.ask(COMMAND)
            clock.now += 1
            await pilot.press(key)
            await until(pilot, lambda answer=answer: app.answers == [answer])

        await app.ask(EDIT)
        clock.now += 1
        await pilot.press("a")
        await until(pilot, lambda: app.answers == [Answer(allow=True, scope="turn")])

        # Escape in the reason goes back to the question, enter gives it to the model.
        await app.ask(COMMAND)
        clock.now += 1
        await pilot.press("r", "x", "escape")
        assert app.answers == []
        assert app.stopped == 0
        await pilot.press("y")
        await until(pilot, lambda: app.answers == [Answer(allow=True)])
        await app.ask(COMMAND)
        clock.now += 1
        await pilot.press("r")
        await pilot.press(*"yan")
        assert app.answers == []
        await pilot.press("enter")
        await until(pilot, lambda: app.answers == [Answer(allow=False, reason="yan")])


async def test_escape_stops_the_turn_at_any_time_and_is_no_answer() -> None:
    async with asking(COMMAND) as (app, pilot, clock):
        for waited in (0, 1):
            await app.ask(COMMAND)
            clock.now += waited
            await pilot.press("escape")
            await until(pilot, lambda: app.stopped)
            assert app.stopped == 1
            assert app.answers == []
            assert app.typed == []


@pytest.mark.usefixtures("short_pause")
async def test_an_answer_is_selected_and_given_with_enter() -> None:
    async with asking(EDIT) as (app, pilot, clock):
        for keys, answer in (
            (["tab"], Answer(allow=True)),
            (["right", "right"], Answer(allow=True, scope="turn")),
            (["tab", "tab", "tab", "left"], Answer(allow=True, scope="turn")),
            (["left", "left", "left"], Answer(allow=False)),
        ):
            await app.ask(EDIT)
            clock.now += 1
            await until(pilot, lambda: not app.question.query_one(Answers).deaf)
            await pilot.press(*keys, "enter")
            assert app.answers == [], "keys in a burst confirm nothing"
            clock.now += 1
            await pilot.press("enter")
            await until(pilot, lambda answer=answer: app.answers == [answer])
        await app.ask(EDIT)
        clock.now += 1
        await pilot.press("left")
        clock.now += 1
        await pilot.press("enter")
        await until(pilot, lambda: app.stopped)
        assert app.answers == []


@pytest.mark.usefixtures("short_pause")
async def test_enter_is_for_the_prompt_unless_an_answer_was_selected_after_the_last_key() -> None:
    async with asking(EDIT) as (app, pilot, clock):
        clock.now += 1
        await until(pilot, lambda: not app.question.query_one(Answers).deaf)
        await pilot.press("enter")
        assert app.typed == ["enter"]
        # Tab in the first moments is no selection that a later Enter gives.
        await pilot.press("tab")
        clock.now += 1
        await pilot.press("enter")
        # Neither is one before a text.
        clock.now += 1
        await pilot.press("tab", "x")
        clock.now += 1
        await pilot.press("enter")
        assert app.typed == ["enter", "tab", "enter", "x", "enter"]
        assert app.answers == []


@pytest.mark.usefixtures("short_pause")
async def test_other_waiting_questions_are_looked_at_and_not_answered() -> None:
    other = replace(EDIT, summary="Edit other.py", detail=DIFF.replace("x = 2", "y = 3"))
    asked = replace(EDIT, round=lambda: Round(2, 3, (replace(other, round=lambda: Round(3, 3)),)))
    async with asking(asked) as (app, pilot, clock):
        await until(pilot, lambda: "2 of 3  ] view next" in body_of(app))
        for key in ("y", "a", "c", "n", "enter"):
            clock.now += 1
            await until(pilot, lambda: app.question.check_action("look", (1,)))
            await pilot.press("right_square_bracket")
            await until(pilot, lambda: "Edit other.py  +1 −1" in body_of(app))
            assert "3 of 3  [ view previous" in body_of(app)
            assert "+ y = 3" in body_of(app)
            assert "[ Previous question   Esc Stop" in shown(app.question.query_one(Answers))
            clock.now += 1
            await pilot.press(key)
            assert app.answers == []
            clock.now += 1
            await until(pilot, lambda: app.question.check_action("look", (1,)))
            await pilot.press("left_square_bracket")
            await until(pilot, lambda: "Edit app.py" in body_of(app))
        clock.now += 1
        await until(pilot, lambda: app.question.check_action("answer", (True, "once")))
        await pilot.press("y")
        await until(pilot, lambda: app.answers == [Answer(allow=True)])


async def test_the_keys_for_other_questions_are_named_even_where_there_is_little_room() -> None:
    other = replace(EDIT, summary="Edit other.py")
    edit = replace(EDIT, summary=f"Edit {'long/' * 4}a.py", round=lambda: Round(1, 2, (other,)))
    async with asking(edit, (60, 16)) as (app, pilot, _clock):
        await until(pilot, lambda: body_of(app).splitlines()[0].endswith("  1 of 2 ] next"))
        # A number without a question is accounted for, where there is room.
        missing = replace(EDIT, round=lambda: Round(3, 4, (other,), ((1, True), (2, False))))
        await app.ask(missing, (100, 30))
        first = "3 of 4 · #1 failed, #2 not ready  ] view next"
        await until(pilot, lambda: body_of(app).splitlines()[0].endswith(f"  {first}"))
        await app.ask(replace(missing, round=lambda: Round(3, 4, (other,), ((2, True),))), (60, 16))
        await until(pilot, lambda: body_of(app).splitlines()[0].endswith("#2 failed  ] view next"))
        # A bare key would be no help.
        longer = replace(edit, summary=f"Edit {'long/' * 5}a.py")
        await app.ask(longer, (60, 16))
        await until(pilot, lambda: body_of(app).splitlines()[0].endswith("  1 of 2"))
        await app.ask(replace(edit, round=lambda: Round(2, 2)))
        await until(pilot, lambda: body_of(app).splitlines()[0].endswith("  2 of 2"))


@pytest.mark.parametrize(
    ("size", "changed"), [((80, 24), 8), ((60, 16), 4), ((100, 30), 11), ((160, 45), 18)]
)
async def test_as_many_changed_lines_as_fit_are_seen_at_once_in_half_of_the_window(
    size: tuple[int, int], changed: int
) -> None:
    body = "".join(f" line {number}\n" for number in range(3))
    body += "".join(f"-old {number}\n+new {number}\n" for number in range(20)) + " end\n" * 3
    edit = replace(EDIT, detail=f"--- a/app.py\n+++ b/app.py\n@@ -7,26 +7,26 @@\n{body}")
    async with asking(replace(edit, pattern="src/**"), size) as (app, pilot, _clock):
        await until(pilot, lambda: "Edit app.py  +1 −1" in body_of(app))
        await pilot.pause()
        seen = [line.strip() for line in body_of(app).splitlines()]
        assert sum("− old" in line or "+ new" in line for line in seen) >= changed
        assert not [line for line in seen if line.startswith(("---", "+++", "@@"))]
        assert app.question.region.height <= size[1] // 2 + 2
        # One unchanged line is enough to find the place.
        assert any(line.endswith("line 2") for line in seen)
        assert not any(line.endswith("line 1") for line in seen)
        more = shown(app.question.query_one(MoreLine))
        hidden = 43 - len(seen)
        assert f"↓ {hidden} more lines" in more
        app.question.query_one(DialogBody).jump(1000)
        end = f"↑ {hidden} more lines · Edit app.py · +1 −1"
        await until(pilot, lambda: end in shown(app.question.query_one(MoreLine)))


async def test_a_loss_is_named_in_red_and_an_ordinary_question_is_not() -> None:
    lost = replace(
        COMMAND,
        detail="rm -rf docs",
        reason="",
        losses=(Loss("directory", (LostPath("docs", 7),)),),
        grant="",
        pattern="",
    )
    async with asking(lost) as (app, pilot, _clock):
        await until(pilot, lambda: "Permanently deletes" in body_of(app))
        assert "Permanently deletes the directory docs/ (7 files)." in body_of(app)
        assert "Reason" not in body_of(app)
        bad = load_palette(DEFAULT).colors.bad
        assert colors_of(app, "Permanently") == {bad}
        assert app.question.styles.border_left[1].hex.lower() == bad
        assert "y Yes   n No   r No, and say why   Esc Stop" in shown(app.question.query_one(Answers))
        await app.ask(COMMAND)
        await pilot.pause()
        assert app.question.styles.border_left[1].hex.lower() == load_palette(DEFAULT).colors.edit


def colors_of(app: Asking, word: str) -> set[str]:
    """The colors of the segments with this word."""
    body = app.question.query_one(DialogBody)
    strips = body.render_lines(Region(0, 0, *body.size))
    found = [segment.style for strip in strips for segment in strip if word in segment.text and segment.style]
    return {style.color.name for style in found if style.color}


async def test_a_wider_yes_that_was_not_offered_is_no_answer() -> None:
    async with asking(NARROW) as (app, pilot, clock):
        for key in ("a", "c", "A"):
            await app.ask(NARROW)
            await pilot.pause()
            assert "conversation" not in shown(app.question.query_one(Answers))
            clock.now += 1
            await pilot.press(key)
            await pilot.pause()
            assert app.answers == []
            assert app.typed == []
            clock.now += 1
            await pilot.press("y")
            await until(pilot, lambda: app.answers)
            assert app.answers == [Answer(allow=True)]


async def test_keys_of_the_first_moments_answer_nothing() -> None:
    async with asking(COMMAND) as (app, pilot, clock):
        for key in ("y", "c", "n", "r", "enter", "space", "tab", "right"):
            await app.ask(COMMAND)
            clock.now += 0.79
            await pilot.press(key)
            assert app.answers == []
            assert app.typed == ([] if key in "ycnr" else [key])
            assert not app.question.query_one(Input).display

        # An answer needs a pause after the last key.
        await app.ask(COMMAND)
        for key in ("s", "a", "y", "j", "y"):
            clock.now += 0.7
            await pilot.press(key)
        assert app.answers == []
        assert app.typed == ["s", "a", "y", "j", "y"]
        clock.now += 0.9
        await pilot.press("y")
        await until(pilot, lambda: app.answers == [Answer(allow=True)])


async def test_an_early_answer_is_no_text_unless_another_key_follows() -> None:
    async with asking(COMMAND) as (app, pilot, clock):
        for keys, typed in (("yyy", ""), ("yes", "yes"), ("can", ""), ("cans", "cans")):
            await app.ask(COMMAND)
            await pilot.press(*keys)
            assert app.typed == [*typed], keys

        await app.ask(COMMAND)
        await pilot.press("y")
        clock.now += 1
        await until(pilot, lambda: not app.question.query_one(Answers).deaf)
        await pilot.press("s", "o")
        assert app.typed == ["s", "o"]
        assert app.answers == []


async def test_the_keys_of_a_question_are_known_before_it_is_composed() -> None:
    async with asking(COMMAND) as (app, _pilot, _clock):
        panel = QuestionPanel(COMMAND, Hands(app.answers.append))
        app.screen.mount(panel)
        app.screen.set_focus(panel)
        assert not app.screen.active_bindings["y"].enabled


async def test_a_key_that_is_not_offered_says_so_and_swallows_no_later_answer() -> None:
    async with asking(NARROW) as (app, pilot, clock):
        for key, allow in (("y", True), ("n", False)):
            await app.ask(NARROW)
            clock.now += 1
            await pilot.press("a")
            assert remark_of(app) == "a is not offered"
            # In one go they may be a text.
            await pilot.press(key)
            assert remark_of(app) == f"{key} was too early"
            assert (app.typed, app.answers) == ([], [])
            clock.now += GAP + 0.1
            await pilot.press(key)
            await until(pilot, lambda allow=allow: app.answers == [Answer(allow=allow)])

        # The key that a habit has after it approves nothing either; with a letter it is a text.
        for keys in (["a", "enter"], [*"also"]):
            await app.ask(NARROW)
            clock.now += 1
            await pilot.press(*keys)
            assert (app.typed, app.answers) == (keys, [])


def remark_of(app: Asking) -> str:
    """What is said behind the answers about the last key."""
    return shown(app.question.query_one(Answers)).rpartition("Esc Stop")[2].strip()


async def test_edits_are_answered_in_a_rhythm_and_not_by_a_key_that_repeats() -> None:
    async with asking(EDIT) as (app, pilot, clock):
        clock.now += 1
        await pilot.press("y")
        app.follows = True
        for _edit in range(4):
            await until(pilot, lambda: app.answers == [Answer(allow=True)])
            await app.ask(EDIT)
            await until(pilot, lambda: app.question.query_one(QuestionBody).is_seen)
            await pilot.pause()
            clock.now += 0.2
            await pilot.press("y")
        await until(pilot, lambda: app.answers == [Answer(allow=True)])
        await app.ask(EDIT)
        for _repeat in range(40):
            clock.now += 0.03
            await pilot.press("y")
        assert remark_of(app) == "y was too early"
        assert (app.typed, app.answers) == ([], [])


async def test_no_rhythm_answers_a_question_about_a_loss() -> None:
    lost = replace(NARROW, losses=(Loss("directory", (LostPath("docs", 7),)),))
    async with asking(EDIT) as (app, pilot, clock):
        clock.now += 1
        await pilot.press("y")
        app.follows = True
        await app.ask(lost)
        for _key in range(10):
            clock.now += 0.5
            await pilot.press("y")
        assert remark_of(app) == "wait, then press y"
        assert (app.typed, app.answers) == ([], [])
        clock.now += 1
        await pilot.press("y")
        await until(pilot, lambda: app.answers == [Answer(allow=True)])


async def test_an_early_answer_does_not_begin_the_pause_again_unless_a_text_may_follow() -> None:
    async with asking(COMMAND) as (app, pilot, clock):
        for keys, answers in (("yy", [Answer(allow=True)]), ("ca", []), ("any", [])):
            await app.ask(COMMAND)
            for key in keys:
                clock.now += 0.45
                await pilot.press(key)
            await until(pilot, lambda answers=answers: app.answers == answers)
            assert remark_of(app) == ("" if answers else f"wait, then press {keys[-1]}")


@pytest.mark.parametrize("key", ["enter", "tab", "right", "backspace"])
async def test_a_key_in_the_same_burst_does_not_confirm_an_answer(key: str) -> None:
    async with asking(COMMAND) as (app, pilot, clock):
        clock.now += 1
        await until(pilot, lambda: app.question.check_action("answer", (True, "once")))
        for each in ("y", key):
            app.question.post_message(events.Key(each, each if len(each) == 1 else None))
        await until(pilot, lambda: "y was too early" in remark_of(app))
        assert app.answers == []
        clock.now += 1
        await pilot.press("y")
        await until(pilot, lambda: app.answers == [Answer(allow=True)])


async def test_clicks_in_a_rhythm_allow_no_loss() -> None:
    lost = replace(NARROW, losses=(Loss("directory", (LostPath("docs", 7),)),))
    async with asking(lost) as (app, pilot, clock):
        answers = app.question.query_one(Answers)
        for _click in range(10):
            clock.now += 0.5
            await pilot.click(answers, offset=(3, 0))
        assert app.answers == []
        clock.now += 1
        await until(pilot, lambda: not answers.deaf)
        await pilot.click(answers, offset=(3, 0))
        await until(pilot, lambda: app.answers == [Answer(allow=True)])


async def test_a_remark_covers_the_last_answers_where_there_is_no_room_beside_them() -> None:
    question = replace(NARROW, losses=(Loss("directory", (LostPath("docs", 7),)),))
    async with asking(question, (60, 16)) as (app, pilot, clock):
        clock.now += 1
        await pilot.press("a")
        answers = app.question.query_one(Answers)
        await until(pilot, lambda: "a is not offered" in shown(answers))
        assert shown(answers).strip().startswith("y Yes   n No   ")


async def test_a_reason_can_be_written_at_once_for_a_question_that_follows() -> None:
    async with asking(COMMAND) as (app, pilot, _clock):
        for app.follows, shown in ((False, False), (True, True)):
            await app.ask(COMMAND)
            await pilot.press("y", "n", "r")
            assert app.question.query_one(Input).display is shown
            assert app.answers == []
        await pilot.press(*"why")
        assert app.question.query_one(Input).value == "why"
        await app.ask(COMMAND)
        await pilot.press(*"for")
        assert app.typed == [*"for"]


async def test_no_line_of_a_reason_is_lost() -> None:
    async with asking(EDIT) as (app, pilot, clock):
        clock.now += 1
        await pilot.press("r")
        app.post_message(events.Paste("too long:\n  cut it\n\nat the colon"))
        await pilot.pause()
        await pilot.press("ctrl+j", *"now", "enter")
        await until(pilot, lambda: app.answers)
        assert app.answers == [Answer(False, reason="too long: cut it at the colon now")]


async def test_enter_says_that_it_declines_while_no_reason_is_written() -> None:
    async with asking(EDIT) as (app, pilot, clock):
        clock.now += 1
        answers = app.question.query_one(Answers)
        await pilot.press("r")
        await until(pilot, lambda: "Enter Decline   " in shown(answers))
        await pilot.press("x")
        await until(pilot, lambda: "Enter Decline with this reason   " in shown(answers))
        await pilot.press("backspace")
        await until(pilot, lambda: "Enter Decline   " in shown(answers))
        await pilot.press("enter")
        await until(pilot, lambda: app.answers == [Answer(allow=False)])


async def test_a_sentence_after_a_rest_is_no_answer_to_the_next_edit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answer_timing, "HOLD", 60.0)
    async with asking(EDIT) as (app, pilot, clock):
        clock.now += 1
        app.follows = True
        await app.ask(EDIT)
        await until(pilot, lambda: app.question.query_one(QuestionBody).is_seen)
        await pilot.pause()
        clock.now += 2
        await pilot.press("y")
        # In a rhythm it would be given by now.
        await asyncio.sleep(2 * answer_timing.NEXT_EDIT_HOLD)
        await pilot.press("e", "s")
        assert app.answers == []
        assert app.typed == [*"yes"]


async def test_a_key_that_is_none_of_the_question_begins_a_text() -> None:
    async with asking(COMMAND) as (app, pilot, clock):
        # A letter that scrolls does not open the question to the next.
        for keys, typed in (("why", "why"), ("jaw", "jaw"), ("jjkjw", "w")):
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
            assert app.typed == (["tab"] if key == "tab" else [])


async def test_what_was_changed_is_kept_or_put_back() -> None:
    question = Question("c", "shell", "changed", "Keep it: changed app.py", DIFF, "it asked nobody")
    async with asking(question, (80, 24)) as (app, pilot, clock):
        for key, kept in (("y", True), ("n", False)):
            await app.ask(question)
            await until(pilot, lambda: "shell changed files" in body_of(app))
            answers = shown(app.question.query_one(Answers))
            assert answers.strip() == "y Keep   n Revert   Esc Stop"
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
        await pilot.click(Answers, offset=(4, 0))
        assert app.answers == []
        clock.now += 1
        await pilot.click(Answers, offset=(4, 0))
        await until(pilot, lambda: app.answers == [Answer(allow=True)])


async def test_a_click_that_does_nothing_says_why() -> None:
    async with asking(COMMAND, (60, 16)) as (app, pilot, clock):
        answers = app.question.query_one(Answers)
        clock.now += 1
        await until(pilot, lambda: not answers.deaf)
        app.post_message(events.Resize(Size(61, 16), Size(61, 16)))
        await until(pilot, lambda: app.screen.size.width == 61 and answers.deaf)
        await pilot.click(answers, offset=(4, 0))
        await until(pilot, lambda: "y was too early" in shown(answers))
        assert app.answers == []
        clock.now += 1
        await until(pilot, lambda: not answers.deaf)
        await pilot.click(answers, offset=(4, 0))
        await until(pilot, lambda: app.answers == [Answer(allow=True)])


@pytest.mark.usefixtures("short_pause")
async def test_a_click_while_the_prompt_has_text_says_what_to_press(project: Path) -> None:
    agent = ScriptedAgent(project, [call("c", "shell", command="ls"), execute(), asks(COMMAND), paused])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        question = await asked(pilot)
        prompt_of(pilot).replace_text("later")
        answers = question.query_one(Answers)
        await until(pilot, lambda: "y Yes" in shown(answers))
        await pilot.click(answers, offset=(4, 0))
        await until(pilot, lambda: "press Tab, then y" in shown(answers))
        assert agent.answers == []


async def test_a_command_is_shown_with_what_it_hides_and_answers_say_how_far_they_reach() -> None:
    async with asking(COMMAND) as (app, pilot, _clock):
        assert "$ ls ⟨U+202E⟩␛[2J" in body_of(app)
        assert "Reason: it runs a command." in body_of(app)
        # The rule is shown as it is stored.
        answers = shown(app.question.query_one(Answers))
        assert "c This very command in this conversation" in answers
        assert "A Always allow running ls …" in answers
        assert answers.strip().startswith("y Yes   c ")

        await app.ask(replace(COMMAND, reason="", asker="the sub-agent writer"))
        await until(pilot, lambda: "Requested by the sub-agent writer." in body_of(app))
        assert "Reason" not in body_of(app)

        # One that looks like a diff is shown as a command.
        await app.ask(replace(COMMAND, detail="--- a/x || rm -r y\n+++ b/x\n@@ -1 +1 @@\n+rm -r z"))
        await pilot.pause()
        assert "$ --- a/x || rm -r y" in body_of(app)
        assert len(grounds_of(app)) == 1

        await app.ask(EDIT)
        await pilot.pause()
        assert "? Edit app.py  +1 −1" in body_of(app)
        assert "Reason" not in body_of(app)
        assert "+ x = 2␛[2J" in body_of(app)
        assert len(grounds_of(app)) == 3
        assert "a All edits this turn   c All edits this conversation" in shown(
            app.question.query_one(Answers)
        )

        # What a yes covers is not cut, nor a long rule.
        covers = "every command, until content from elsewhere is read"
        await app.ask(replace(COMMAND, grant=covers), (60, 16))
        reach = "c: every command in this conversation, until content from elsewhere is read"
        await until(pilot, lambda: reach in words_of_answers(app))
        await app.ask(replace(COMMAND, pattern=" ".join(["word"] * 12)), (60, 16))
        await until(pilot, lambda: " ".join(["word"] * 12) in words_of_answers(app))
        # Where that leaves too little of the question, it is above that.
        await app.ask(replace(COMMAND, grant=covers, pattern=" ".join(["word"] * 30)))
        await until(pilot, lambda: "c: every command in this conversation" in body_of(app))
        assert "every command" not in words_of_answers(app)


def words_of_answers(app: Asking) -> str:
    return " ".join(shown(app.question.query_one(Answers)).split())


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
            assert "more lines, shown in full below …" in text
            assert "rm -r x" in text
            app.question.query_one(DialogBody).jump(1000)
            await pilot.pause()
            assert body_of(app).count("echo nothing") > 2
            assert body_of(app).rstrip().endswith("rm -r x")

            # Command and all answers are seen at once.
            await app.ask(COMMAND)
            await pilot.pause()
            answers = app.question.query_one(Answers)
            words = " ".join(shown(answers).split())
            assert all(f"{key} " in words for key in ("y", "c", "A", "n", "r", "Esc"))
            assert answers.region.bottom <= size[1]
            assert "$ ls" in body_of(app)


async def test_a_long_diff_scrolls_and_the_answers_stay_in_sight() -> None:
    question = Question(
        *("c", "write", "write", "Write big.py", DIFF + "+line\n" * 500 + "+the end\n", "it changes files"),
        counts=LineCounts(502, 1),
    )
    async with asking(question, (80, 24)) as (app, pilot, clock):
        assert app.question.query_one(Answers).region.bottom <= 24
        assert "the end" not in body_of(app)
        await pilot.press("pagedown")
        app.question.query_one(DialogBody).jump(1000)
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
    others = [1]
    async with asking(replace(COMMAND, round=lambda: Round(1, others[0]))) as (app, pilot, clock):
        answers = app.question.query_one(Answers)
        assert answers.deaf
        assert "1 of" not in body_of(app)
        others[0] = 3
        clock.now += 0.8
        await until(pilot, lambda: not answers.deaf)
        await until(pilot, lambda: "1 of 3" in body_of(app))


def asks(question: Question) -> Any:
    async def ask(agent: ScriptedAgent) -> None:
        assert agent.ask is not None
        agent.answers.append(await agent.ask(question))

    return ask


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
        await asked(pilot)
        assert "waiting" in shown(calls_of(pilot))
        assert pilot.app.screen is main_of(pilot)
        await answer(pilot, "y")
        await until(pilot, lambda: agent.answers == [Answer(allow=True)])
        await until(pilot, lambda: "done" in shown(conversation_of(pilot)))
        assert "waiting" not in shown(calls_of(pilot))
        await until(pilot, lambda: not main_of(pilot).query(QuestionPanel))
        assert prompt_of(pilot).has_focus

        # A question that nobody waits for goes away.
        agent.answers.clear()
        await send(pilot, "go")
        await asked(pilot)
        agent.interrupt()
        await until(pilot, lambda: not main_of(pilot).query(QuestionPanel))
        assert agent.answers == []
        await finished(pilot)

        # One follows the other, each with its own grace.
        await send(pilot, "go")
        first = await asked(pilot)
        await answer(pilot, "y")
        await until(pilot, lambda: question_of(pilot) not in (None, first))
        (await asked(pilot)).clock = Clock()
        # The answer to the first, still on its way, is none to the second.
        pilot.app.post_message(events.Key("y", "y"))
        await pilot.pause()
        assert agent.answers == [Answer(allow=True)]
        assert prompt_of(pilot).text == ""
        await answer(pilot, "n")
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
        assert question_of(pilot) is not None


async def test_letters_belong_to_a_text_in_the_prompt_until_the_question_is_entered(project: Path) -> None:
    agent = ScriptedAgent(project, [paused, asks(COMMAND), respond("on")])
    async with app_over(agent).run_test(size=(160, 40)) as pilot:
        await send(pilot, "go")
        await pilot.press(*"may")
        agent.gate.set()
        panel = await asked(pilot)
        clock = panel.clock = Clock()
        answers = panel.query_one(Answers)
        for letter in "yan":
            clock.now += 10 * PAUSE
            await until(pilot, lambda: "Tab to answer" in shown(answers))
            await pilot.press(letter)
        await until(pilot, lambda: prompt_of(pilot).text == "mayyan")
        assert agent.answers == []

        clock.now += 10 * PAUSE
        await pilot.press("tab")
        await until(pilot, lambda: "to answer" not in shown(answers))
        await pilot.press("y")
        await until(pilot, lambda: [answer.allow for answer in agent.answers] == [True])
        assert prompt_of(pilot).text == "mayyan"


async def test_a_text_in_the_prompt_is_corrected_without_entering_the_question(project: Path) -> None:
    agent = ScriptedAgent(project, [paused, asks(EDIT), respond("on")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "go")
        await pilot.press(*"hello teh")
        agent.gate.set()
        panel = await asked(pilot)
        clock = panel.clock = Clock()
        for key in ("left", "a", "right", "n", "home", "r", "pageup", "y"):
            clock.now += 10 * PAUSE
            await until(pilot, lambda: "Tab to answer" in shown(panel.query_one(Answers)))
            await pilot.press(key)
        await until(pilot, lambda: prompt_of(pilot).text == "ryhello teahn")
        assert agent.answers == []


@pytest.mark.usefixtures("short_pause")
async def test_a_question_after_one_that_was_entered_needs_no_entering(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_timing, "GAP", 0.0)
    agent = ScriptedAgent(project, [paused, asks(EDIT), asks(COMMAND), asks(EDIT), respond("on")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "go")
        await pilot.press(*"hello")
        agent.gate.set()
        for number in range(1, 4):
            panel = await asked(pilot)
            answers = panel.query_one(Answers)
            if number == 1:
                await until(pilot, lambda: "Tab to answer" in shown(answers))  # noqa: B023
                await pilot.press("tab")
            await until(pilot, lambda: not answers.deaf)  # noqa: B023
            assert "to answer" not in shown(answers)
            await pilot.press("y")
            await until(pilot, lambda: len(agent.answers) == number)  # noqa: B023
        assert prompt_of(pilot).text == "hello"


async def test_a_question_that_follows_an_answer_accepts_keys_sooner(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = ScriptedAgent(project, [asks(COMMAND), asks(EDIT), respond("on")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        first = await asked(pilot)
        await until(pilot, lambda: not first.query_one(Answers).deaf)
        monkeypatch.setattr(answer_timing, "PAUSE", 1_000)
        await pilot.press("y")
        await until(pilot, lambda: question_of(pilot) not in (None, first))
        second = await asked(pilot)
        await until(pilot, lambda: second.check_action("answer", (False, "once")))
        await pilot.press("n")
        await until(pilot, lambda: [answer.allow for answer in agent.answers] == [True, False])


@pytest.mark.parametrize("text", ["actually", "continue", "yes", "no", "A"])
async def test_a_text_that_begins_with_the_letter_of_an_answer_is_none(
    project: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    # As if it were typed as fast as a person types.
    monkeypatch.setattr(answer_timing, "HOLD", 600)
    monkeypatch.setattr(answer_timing, "WIDE_HOLD", 600)
    agent = ScriptedAgent(project, [asks(replace(EDIT, pattern="src/**")), respond("on")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        panel = await asked(pilot)
        await until(pilot, lambda: panel.check_action("answer", (False, "once")))
        await pilot.press(*text)
        if len(text) > 1:
            await until(pilot, lambda: prompt_of(pilot).text == text)
            assert agent.answers == []
        else:
            # Any other key confirms it.
            await pilot.press("enter")
            await until(pilot, lambda: [answer.scope for answer in agent.answers] == ["always"])


async def test_how_far_answers_reach_stays_in_sight_while_a_long_diff_is_scrolled() -> None:
    edit = replace(EDIT, detail=DIFF + "+line\n" * 100, pattern="src/catalog/importers/spreadsheets/**")
    async with asking(edit, (60, 16)) as (app, pilot, clock):
        answers = app.question.query_one(Answers)
        await until(pilot, lambda: "A Always: src/catalog/importers/spreadsheets/**" in shown(answers))
        assert answers.region.height == 3
        assert sum("line" in line for line in body_of(app).splitlines()) >= 2

        await app.ask(replace(edit, pattern=f"src/catalog/importers/{'deep/' * 7}**"))
        answers = app.question.query_one(Answers)
        await until(pilot, lambda: "A: Always allow writing to" in shown(answers))
        assert " c This conversation" in shown(answers)
        assert "deep/**" in shown(answers)
        app.question.query_one(DialogBody).jump(1000)
        await pilot.pause()
        assert "deep/**" in shown(answers)
        # A row of answers below it is clicked where it is drawn.
        lines = shown(answers).splitlines()
        y = next(at for at, line in enumerate(lines) if " n No" in line)
        clock.now += 1
        await until(pilot, lambda: app.question.check_action("answer", (False, "once")))
        await pilot.click(Answers, offset=(lines[y].index("n No") + 1, y))
        await until(pilot, lambda: app.answers == [Answer(allow=False)])


async def test_a_low_window_says_how_far_answers_reach_if_they_fit_into_a_row() -> None:
    edit = replace(EDIT, pattern="src/**")
    async with asking(edit, (100, 12)) as (app, pilot, _clock):
        await until(pilot, lambda: "A Always  n No" in shown(app.question.query_one(Answers)))
        assert "A: Always allow writing to src/**" in body_of(app)


async def test_how_to_answer_is_said_from_the_first_letter_of_a_text_on(project: Path) -> None:
    agent = ScriptedAgent(project, [asks(replace(EDIT, pattern="src/**")), respond("on")])
    async with app_over(agent).run_test(size=(60, 16)) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        panel = await asked(pilot)
        clock = panel.clock = Clock(monotonic())
        clock.now += 10 * PAUSE
        answers = panel.query_one(Answers)
        await until(pilot, lambda: not answers.deaf)
        rows = shown(answers)
        await pilot.press("w")
        await until(pilot, lambda: shown(answers).endswith("Tab to answer"))
        assert "A Always: src/**" in shown(answers)
        assert "Esc Stop" in shown(answers)
        await pilot.press("tab")
        await until(pilot, lambda: shown(answers).endswith("wait, then press Tab"))
        assert "Esc Stop" in shown(answers)
        await pilot.press("backspace")
        clock.now += 10 * PAUSE
        await until(pilot, lambda: shown(answers) == rows)


async def test_the_prompt_has_the_cursor_as_long_as_letters_go_there(project: Path) -> None:
    agent = ScriptedAgent(project, [asks(COMMAND), respond("on")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        panel = await asked(pilot)
        clock = panel.clock = Clock(monotonic())
        answers = panel.query_one(Answers)
        await until(pilot, lambda: answers.deaf and has_cursor(pilot))
        clock.now += 10 * PAUSE
        await until(pilot, lambda: not answers.deaf and not has_cursor(pilot))
        await pilot.press("w")
        await until(pilot, lambda: prompt_of(pilot).text == "w" and has_cursor(pilot))
        clock.now += 10 * PAUSE
        await until(pilot, lambda: "Tab to answer" in shown(answers))
        assert has_cursor(pilot)
        await pilot.press("tab")
        await until(pilot, lambda: not has_cursor(pilot))


def has_cursor(pilot: Pilot[Any]) -> bool:
    """Whether a cell of the prompt is drawn as the cursor."""
    prompt = prompt_of(pilot)
    text = prompt.styles.color.hex.lower()
    strips = prompt.render_lines(Region(0, 0, *prompt.size))
    styles = [segment.style for strip in strips for segment in strip if segment.style]
    return any(style.reverse or (style.bgcolor and style.bgcolor.name == text) for style in styles)


async def test_escape_closes_the_suggestions_for_a_text_beside_a_question(project: Path) -> None:
    agent = ScriptedAgent(project, [asks(COMMAND), respond("on")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        panel = await asked(pilot)
        await pilot.press(*"/mod")
        completion = main_of(pilot).query_one(Completion)
        await until(pilot, lambda: completion.display)
        await pilot.press("escape")
        await until(pilot, lambda: not completion.display)
        assert question_of(pilot) is panel
        await pilot.press("escape")
        await finished(pilot)


@pytest.mark.parametrize("size", [(40, 12), (30, 8)])
async def test_a_low_window_shows_the_prompt_below_the_question_and_the_nearest_answers(
    project: Path, size: tuple[int, int]
) -> None:
    agent = ScriptedAgent(project, [asks(replace(EDIT, pattern="src/**"))])
    async with app_over(agent).run_test(size=size) as pilot:
        await send(pilot, "go")
        panel = await asked(pilot)
        clock = panel.clock = Clock(monotonic())
        clock.now += 10 * PAUSE
        answers = panel.query_one(Answers)
        await until(pilot, lambda: not answers.deaf)
        assert prompt_of(pilot).region.bottom == size[1]
        assert answers.region.height == 1
        lines = shown(panel.query_one(DialogBody)).splitlines()
        assert lines[0].strip() == "? Edit app.py  +1 −1"
        assert sum("x = " in line for line in lines) == 2
        words = shown(answers)
        assert words.strip().startswith("y Yes  n No  ")
        assert words.endswith("? more")

        # Only an answer that is shown can be given.
        await pilot.press("A")
        assert agent.answers == []
        clock.now += 10 * PAUSE
        await until(pilot, lambda: not answers.deaf)
        await pilot.press("question_mark")
        await until(pilot, lambda: "A Always" in shown(answers))
        assert "Always allow writing" in " ".join(shown(panel.query_one(DialogBody)).split())
        await pilot.press("y")
        assert agent.answers == []
        clock.now += 10 * PAUSE
        await until(pilot, lambda: not answers.deaf)
        await pilot.press("A")
        await until(pilot, lambda: agent.answers == [Answer(allow=True, scope="always")])


async def test_escape_at_a_question_interrupts_the_turn(project: Path) -> None:
    agent = ScriptedAgent(
        project, [call("c", "shell", command="ls"), execute(), asks(COMMAND), respond("on")]
    )
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "go")
        await asked(pilot)
        await pilot.press("escape")
        await finished(pilot)
        await until(pilot, lambda: not main_of(pilot).query(QuestionPanel))
        assert agent.answers == []
        assert "Interrupted" in shown(conversation_of(pilot))


async def test_quitting_with_a_question_open_is_confirmed(project: Path) -> None:
    agent = ScriptedAgent(project, [asks(COMMAND)])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "go")
        await asked(pilot)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        assert pilot.app.is_running
        await pilot.press("n")
        await until(pilot, lambda: question_of(pilot) is not None)
        assert agent.answers == []


async def test_a_question_is_on_whatever_screen_is_on_top(project: Path) -> None:
    agent = ScriptedAgent(project, [paused, asks(COMMAND)], [asks(COMMAND)])
    async with app_over(agent).run_test(size=(100, 30), notifications=True) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(pilot.app.screen, RecallScreen))
        agent.gate.set()
        question = await asked(pilot)
        # It takes no focus from a screen on which letters mean something else, and one line.
        assert not question.has_focus
        line = question.query_one(Announcement)
        await until(pilot, lambda: shown(line).strip().startswith("? Run this command? ls"))
        assert shown(line).endswith("F6 to answer")
        assert question.region.height == 1
        await pilot.press("y")
        assert agent.answers == []
        # Entered, only its keys are live, and shown.
        focused = pilot.app.screen.focused
        await pilot.press("f6")
        await until(pilot, lambda: question.has_focus and "y Yes" in seen(pilot))
        assert shown(pilot.app.screen.query_one(Footer)).split() == ["F6", "back"]
        await pilot.press("f6")
        await until(pilot, lambda: question.region.height == 1 and "y Yes" not in seen(pilot))
        assert pilot.app.screen.focused is focused
        await pilot.press("f6")
        await answer(pilot, "y")
        await until(pilot, lambda: agent.answers == [Answer(allow=True)])
        await until(pilot, lambda: not pilot.app.screen.query(QuestionPanel))
        assert isinstance(pilot.app.screen, RecallScreen)
        await finished(pilot)


async def test_a_question_goes_along_from_screen_to_screen_and_waits_below_a_dialog(project: Path) -> None:
    agent = ScriptedAgent(project, [paused, asks(COMMAND)])
    async with app_over(agent).run_test(size=(100, 30), notifications=True) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        agent.gate.set()
        await until(pilot, lambda: "Close this to answer" in shown(pilot.app.screen.query_one(Announcement)))
        assert question_of(pilot) is None
        await pilot.press("escape")
        first = await asked(pilot)
        assert pilot.app.screen is main_of(pilot)
        assert first.has_focus
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(pilot.app.screen, RecallScreen) and question_of(pilot))
        await until(pilot, lambda: not main_of(pilot).query(QuestionPanel))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot) and question_of(pilot))
        await answer(pilot, "n")
        await until(pilot, lambda: agent.answers == [Answer(allow=False)])
        await until(pilot, lambda: prompt_of(pilot).has_focus)


@pytest.mark.parametrize("pause", [True, False])
async def test_the_help_lists_all_keys_of_a_question(project: Path, pause: bool) -> None:
    agent = ScriptedAgent(project, [asks(NARROW)])
    async with app_over(agent).run_test(size=(100, 60)) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        question = await asked(pilot)
        question.clock = clock = Clock()
        if not pause:
            clock.now += 10_000_000
            await until(pilot, lambda: question.check_action("answer", (True, "once")))
        assert not question.check_action("answer", (True, "turn"))
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        listed = " ".join(shown(pilot.app.screen.query_one("#help-body")).split())
        for binding in QuestionPanel.BINDINGS:
            assert isinstance(binding, Binding)
            assert (binding.tooltip or binding.description) in listed
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await pilot.press("o")
        await until(pilot, lambda: prompt_of(pilot).text == "o")


async def test_a_question_under_a_dialog_appears_when_that_is_closed(project: Path) -> None:
    agent = ScriptedAgent(project, [paused, asks(COMMAND)])
    async with app_over(agent).run_test(size=(60, 16), notifications=True) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        await send(pilot, "/settings")
        await until(pilot, lambda: pilot.app.screen is not main_of(pilot))
        agent.gate.set()
        await until(pilot, lambda: pilot.app.screen.query(Announcement))
        line = pilot.app.screen.query_one(Announcement)
        await until(pilot, lambda: shown(line).endswith("   Close this to answer"))
        assert "? Run this command? ls" in shown(line)
        assert line.region.bottom == 16
        # It goes along with the dialogs, whatever is over which.
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(pilot.app.screen, SettingsScreen))
        await until(pilot, lambda: pilot.app.screen.query_one(Announcement).region.bottom == 16)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
        await until(pilot, lambda: pilot.app.screen.query_one(Announcement).region)
        await pilot.press("escape")
        await asked(pilot)
        await answer(pilot, "n")
        await until(pilot, lambda: agent.answers == [Answer(allow=False)])


async def test_what_a_dialog_has_covered_is_seen_again_before_it_is_answered(project: Path) -> None:
    agent = ScriptedAgent(project, [asks(COMMAND)])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        question = await asked(pilot)
        question.clock = clock = Clock()
        clock.now += 10_000_000
        await until(pilot, lambda: question.check_action("answer", (True, "once")))
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await until(pilot, lambda: not question.check_action("answer", (True, "once")))
        await pilot.press("y")
        assert agent.answers == []


async def test_the_sentence_above_the_call_stays_in_sight_and_the_end_is_followed_after(
    project: Path,
) -> None:
    calls = [call(f"c{number}", "shell", command=f"echo {number}") for number in range(25)]
    agent = ScriptedAgent(
        project,
        [respond("First I look at it."), *calls, execute(), asks(replace(COMMAND, call_id="c0")), paused],
    )
    async with app_over(agent).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        await asked(pilot)
        await until(pilot, lambda: "First I look at it." in shown(conversation_of(pilot)))
        assert "echo 0" in shown(conversation_of(pilot))
        assert "echo 24" not in shown(conversation_of(pilot))
        await answer(pilot, "y")
        await until(pilot, lambda: "echo 24" in shown(conversation_of(pilot)))
        agent.gate.set()
        await finished(pilot)


async def test_the_wait_for_an_answer_is_not_that_of_the_turn(project: Path) -> None:
    agent = ScriptedAgent(project, [call("c", "shell", command="ls"), execute(), asks(COMMAND)])
    async with app_over(agent).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        bridge = main_of(pilot).bridge
        await asked(pilot)
        assert bridge.started is not None
        bridge.started -= 500
        await until(pilot, lambda: "Waiting for your answer  " in shown(live_line_of(pilot)))
        assert "min" not in shown(live_line_of(pilot))


async def test_a_click_in_the_conversation_leaves_the_keys_to_the_question(project: Path) -> None:
    agent = ScriptedAgent(project, [call("c", "shell", command="ls"), execute(), asks(COMMAND), paused])
    async with app_over(agent).run_test(size=(60, 16)) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        question = await asked(pilot)
        question.clock = lambda: monotonic() + 60
        await until(pilot, lambda: question.check_action("answer", (True, "once")))
        await pilot.mouse_down("#conversation", offset=(2, 0))
        await pilot.hover("#conversation", offset=(5, 0))
        await pilot.mouse_up("#conversation", offset=(5, 0))
        await until(pilot, lambda: pilot.app.screen.get_selected_text())
        assert question.has_focus
        await pilot.press("y")
        await until(pilot, lambda: agent.answers == [Answer(allow=True)])
        # Without a question it has the focus as ever.
        await until(pilot, lambda: not pilot.app.screen.query(QuestionPanel))
        await pilot.click("#conversation", offset=(2, 0))
        assert conversation_of(pilot).has_focus


async def test_a_click_in_the_conversation_focuses_it_where_the_user_has_left_the_question(
    project: Path,
) -> None:
    agent = ScriptedAgent(project, [call("c", "shell", command="ls"), execute(), asks(COMMAND), paused])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        question = await asked(pilot)
        await pilot.press("f6")
        await until(pilot, lambda: not question.has_focus)
        await pilot.click("#conversation", offset=(2, 0))
        assert conversation_of(pilot).has_focus
        assert "F6 to answer" in shown(question.query_one(Answers))
