"""Text in a box that is open: no way of quitting loses it without a question that names it."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from time import time
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.store.summaries import Summary
from cogency_tui.tui.cost.context_screen import SummaryScreen
from cogency_tui.tui.kit.dialogs import Confirmation, QuestionBody
from cogency_tui.tui.palette import Palette
from cogency_tui.tui.recall.rename_export_dialogs import RenameScreen
from cogency_tui.tui.review.screen import ReviewScreen
from cogency_tui.tui.review.text_editor import ReviewText
from cogency_tui.tui.switcher.rows import OpenConversation, describe_closing, describe_quit
from tests.tui.driving import at_work, shown, type_text, until
from tests.tui.profile.test_screen import profile
from tests.tui.review.stage import LINES, edit, going_on, working
from tests.tui.settings.test_screen import agent_in, select, settings


async def question(pilot: Pilot[Any]) -> str:
    """The text of the confirmation, once it is shown whole."""
    await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
    body = pilot.app.screen.query_one(QuestionBody)
    await until(pilot, lambda: body.is_seen)
    return " ".join(shown(body).split())


async def commenting(pilot: Pilot[Any]) -> ReviewText:
    """A comment that is half written, in the review."""
    await pilot.press("f5")
    await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
    await pilot.press("c", *"why")
    area = pilot.app.screen.query_one(ReviewText)
    await until(pilot, lambda: area.text == "why")
    return area


async def quit_by_palette(pilot: Pilot[Any]) -> None:
    await pilot.press("ctrl+p")
    await until(pilot, lambda: isinstance(pilot.app.screen, Palette))
    await type_text(pilot, "quit")
    await pilot.press("enter")


async def test_a_comment_is_not_lost_by_quitting(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, edit("notes.py", "line_5 = 5\n", "line_5 = 'agent'\n"), "Done.")
    async with going_on(agent, "go") as pilot:
        area = await commenting(pilot)
        for way in (lambda: pilot.press("ctrl+q"), lambda: pilot.press("ctrl+c", "ctrl+c")):
            await way()
            assert await question(pilot) == "Your comment is not saved. Discard it and quit?"
            # Neither what may be typed ahead nor the same key again answers it.
            await pilot.press("enter", "ctrl+q", "n")
            await until(pilot, lambda: area.has_focus)
            assert area.text == "why"
        await quit_by_palette(pilot)
        assert await question(pilot) == "Discard your comment?"
        await pilot.press("y")
        await until(pilot, lambda: not pilot.app.is_running)


async def test_a_saved_comment_asks_nothing(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, edit("notes.py", "line_5 = 5\n", "line_5 = 'agent'\n"), "Done.")
    async with going_on(agent, "go") as pilot:
        await commenting(pilot)
        await pilot.press("enter", "ctrl+q")
        await until(pilot, lambda: not pilot.app.is_running)


async def rename(pilot: Pilot[Any]) -> None:
    pilot.app.push_screen(RenameScreen("markdown"))
    await until(pilot, lambda: isinstance(pilot.app.screen, RenameScreen))
    await pilot.press("end", "s")


async def set_value(pilot: Pilot[Any]) -> None:
    await select(pilot, await settings(pilot), "max_iterations")
    await pilot.press("enter", "1")


async def note_fact(pilot: Pilot[Any]) -> None:
    await profile(pilot)
    await pilot.press("a", "x")


async def edit_summary(pilot: Pilot[Any]) -> None:
    async def save(_text: str) -> None:
        raise AssertionError

    summary = Summary(1, 1, "what was", "scripted/scripted-1", time(), edited=False)
    pilot.app.push_screen(SummaryScreen(summary, save))
    await until(pilot, lambda: isinstance(pilot.app.screen, SummaryScreen))
    await pilot.press("end", "s")


@pytest.mark.parametrize(
    ("write", "lost"),
    [
        (rename, "The new title"),
        (set_value, "The value of “Maximum steps per turn”"),
        (note_fact, "Your fact"),
        (edit_summary, "Your edit of the summary"),
    ],
)
async def test_no_box_loses_what_is_typed(
    project: Path, write: Callable[[Pilot[Any]], Awaitable[None]], lost: str
) -> None:
    async with at_work(agent_in(project)) as pilot:
        await write(pilot)
        screen = pilot.app.screen
        await pilot.press("ctrl+q")
        assert await question(pilot) == f"{lost} is not saved. Discard it and quit?"
        await pilot.press("n")
        await until(pilot, lambda: pilot.app.screen is screen)
        await pilot.press("ctrl+q")
        await question(pilot)
        await pilot.press("y")
        await until(pilot, lambda: not pilot.app.is_running)


def test_one_question_names_all_that_would_be_lost() -> None:
    here = OpenConversation("a", "first", "working", current=True, unsaved=["your comment"])
    there = OpenConversation("b", "second", "idle", unsaved=["the new title"])
    assert describe_quit([here, there], 0) == (
        "Your comment and the new title in “second” are not saved.\n\n"
        "The agent is working. Interrupt it and quit?"
    )
    assert describe_quit([OpenConversation("a", "first", "done")], 0) == ""
    rerun = OpenConversation("a", "first", "working", is_rerun=True)
    assert describe_quit([rerun], 0) == "Rerun of “first” is still running. Interrupt it and quit?"
    now = OpenConversation("a", "first", "working", current=True, is_rerun=True)
    assert describe_quit([now], 0) == "The rerun is working. Interrupt it and quit?"
    assert describe_closing(there) == "The new title is not saved. Discard it and close the conversation?"


def test_the_questions_name_what_a_conversation_does() -> None:
    waiting = OpenConversation("a", "five", "waiting")
    working = OpenConversation("b", "six", "working")
    assert describe_quit([waiting], 0) == "“five” is waiting for you. Interrupt it and quit?"
    assert describe_quit([working], 0) == "“six” is still running. Interrupt it and quit?"
    assert describe_quit([waiting, working], 0) == (
        "2 conversations are in progress:\n\n  “five”, waiting for you\n  “six”\n\nInterrupt them and quit?"
    )
    assert describe_closing(waiting) == "“five” is waiting for you. Interrupt and close it?"
    assert describe_closing(working) == "“six” is still running. Interrupt and close it?"


def test_the_questions_name_the_background_commands_that_would_end() -> None:
    one = OpenConversation("a", "five", "idle", current=True, background=["p1  npm run dev"])
    two = OpenConversation("b", "six", "working", background=["p2  make"])
    assert describe_quit([one], 0) == (
        "A background command is running:\n\n  p1  npm run dev\n\nStop it and quit?"
    )
    assert describe_closing(one) == (
        "A background command is running:\n\n  p1  npm run dev\n\nStop it and close the conversation?"
    )
    assert describe_quit([one, two], 0) == (
        "2 background commands are running:\n\n  p1  npm run dev\n  p2  make\n\n"
        "“six” is still running. Interrupt it and quit?"
    )
