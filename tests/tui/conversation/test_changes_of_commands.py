"""Files that a command changed, at the end of the turn and in the file tree: no result reports them."""

from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from cogency_tui.tui.conversation.turns import turns_of
from cogency_tui.tui.review.diff_view import DiffView
from cogency_tui.tui.review.screen import ReviewScreen
from tests.tui.driving import at_work, conversation_of, files_of, finished, send, shown, until
from tests.tui.review.stage import edit, going_on, shell, working

COMMAND = "mv docs.md notes.md; echo new > new.txt; echo more >> more.txt"
REPLIES = (edit("app.py", "x = 1", "x = 2"), shell(COMMAND), "Done.")
CHANGES = "4 files +3 −1"
"""The edited file, the renamed one, and two more."""


def files(project: Path) -> None:
    (project / "app.py").write_text("x = 1\n")
    (project / "docs.md").write_text("text\n" * 9)
    (project / "more.txt").write_text("some\n")


def shows_all(pilot: Pilot[Any]) -> bool:
    conversation = conversation_of(pilot)
    listed = [turn.changes for turn in turns_of(conversation.transcript)]
    return f"{CHANGES} " in shown(conversation) and listed == [CHANGES]


async def test_they_are_shown_when_the_turn_has_ended(project: Path) -> None:
    files(project)
    async with at_work(working(project, *REPLIES)) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        await until(pilot, lambda: shows_all(pilot))
        assert "new.txt" in conversation_of(pilot).transcript.changes()
        await until(pilot, lambda: "● new.txt" in shown(files_of(pilot)))


async def test_they_are_shown_when_the_conversation_is_reopened(project: Path) -> None:
    files(project)
    async with going_on(working(project, *REPLIES), "go") as pilot:
        await until(pilot, lambda: shows_all(pilot))


async def test_the_end_of_a_turn_leads_to_what_its_command_changed(project: Path) -> None:
    async with at_work(working(project, shell("echo new > new.txt"), "Done.")) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: "1 file +1 " in shown(conversation_of(pilot)))
        conversation_of(pilot).focus()
        await pilot.press("end", "up", "down", "r")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        await until(pilot, lambda: pilot.app.screen.query_one(DiffView).file)
        assert "new" in shown(pilot.app.screen.query_one(DiffView))


async def test_what_a_command_of_the_same_turn_reverts_is_not_marked(project: Path) -> None:
    files(project)
    replies = (edit("app.py", "x = 1", "x = 2"), shell("sed -i s/2/1/ app.py"), "Done.")
    async with at_work(working(project, *replies)) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        await until(pilot, lambda: "app.py" in shown(files_of(pilot)))
        await until(pilot, lambda: "●" not in shown(files_of(pilot)))
        assert not conversation_of(pilot).transcript.changes()


async def test_a_turn_of_commands_alone_is_marked(project: Path) -> None:
    files(project)
    replies = (shell("echo new > new.txt; mkdir deep; echo 1 > deep/a.txt"), "Done.")
    async with at_work(working(project, *replies)) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        await until(pilot, lambda: "● new.txt" in shown(files_of(pilot)))
        await until(pilot, lambda: "● a.txt" in shown(files_of(pilot)))
