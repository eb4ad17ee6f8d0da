"""`/undo` and `/redo` over the real engine, journal and files."""

import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from cogency_tui.tui.kit.dialogs import Choices, Confirmation, DialogBody, QuestionBody
from cogency_tui.tui.undo.screen import UndoScreen
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import (
    app_over,
    at_work,
    conversation_of,
    files_of,
    finished,
    main_of,
    send,
    shown,
    told,
    until,
)

pytestmark = pytest.mark.exhaustive


def block(name: str, **args: Any) -> str:
    return f"<execute>{json.dumps([{'name': name, 'args': args}])}</execute>"


def working(project: Path, *replies: str) -> AbstractAsyncContextManager[Pilot[Any]]:
    agent = Agent(
        ScriptedProvider(*replies, size=1000),
        project=project,
        data=project.parent / "data",
        permissions="auto",
        settings=Settings(),
    )
    return at_work(agent, (120, 36))


async def undo_screen(pilot: Pilot[Any], command: str) -> UndoScreen:
    await send(pilot, command)
    await until(pilot, lambda: isinstance(pilot.app.screen, UndoScreen))
    screen = pilot.app.screen
    assert isinstance(screen, UndoScreen)
    await until(pilot, lambda: shown(screen.query_one(DialogBody)).strip())
    return screen


async def test_a_turn_is_taken_back_and_brought_back(project: Path) -> None:
    (project / "notes.txt").write_text("one\ntwo\nthree\nfour\nfive\n")
    edit = block("edit", file="notes.txt", old="two", new="TWO")
    shell = block("shell", command="echo made > made.txt")
    async with working(project, edit, shell, "Done.") as pilot:
        # Nothing to take back.
        await send(pilot, "/undo")
        await until(pilot, lambda: "This conversation is empty." in told(pilot))

        await send(pilot, "go")
        await finished(pilot)
        # The person's own change of the same file, which stays.
        text = (project / "notes.txt").read_text().replace("five", "5")
        (project / "notes.txt").write_text(text)
        screen = await undo_screen(pilot, "/undo")
        body = shown(screen.query_one(DialogBody))
        title = shown(screen.query_one("#undo-title"))
        assert "Revert the changes from turn 1  2 files · go" in title
        assert "notes.txt" in body
        await pilot.press("y")
        await until(pilot, lambda: "Reverted" in told(pilot))
        assert (project / "notes.txt").read_text() == "one\ntwo\nthree\nfour\n5\n"
        assert not (project / "made.txt").exists()
        assert told(pilot) == "Reverted turn 1: 2 files (/redo reapplies)"
        screen = await undo_screen(pilot, "/redo")
        assert "Reapply the changes from turn 1  2 files · go" in shown(screen.query_one("#undo-title"))
        await pilot.press("y")
        await until(pilot, lambda: told(pilot) == "Reapplied turn 1: 2 files (/undo reverts)")
    assert (project / "notes.txt").read_text() == "one\nTWO\nthree\nfour\n5\n"
    assert (project / "made.txt").read_text() == "made\n"


async def test_the_file_tree_marks_what_is_applied_and_what_both_changed_is_left(project: Path) -> None:
    (project / "notes.txt").write_text("one\ntwo\n")
    edit = block("edit", file="notes.txt", old="two", new="TWO")
    async with working(project, "Hello.", edit, "Done.") as pilot:
        await send(pilot, "hi")
        await finished(pilot)
        await send(pilot, "/undo")
        await until(pilot, lambda: "othing" in told(pilot))

        await send(pilot, "go")
        await finished(pilot)
        tree, title = files_of(pilot), main_of(pilot).query_one("#files-title")
        await until(pilot, lambda: "● notes.txt" in shown(tree) and "1 changed" in shown(title))
        await undo_screen(pilot, "/undo")
        await pilot.press("y")
        await until(pilot, lambda: "●" not in shown(tree) and "changed" not in shown(title))
        await undo_screen(pilot, "/redo")
        await pilot.press("y")
        await until(pilot, lambda: "● notes.txt" in shown(tree) and "1 changed" in shown(title))

        # Where both changed the same line nothing is done without a further question.
        (project / "notes.txt").write_text("one\nmine\n")
        screen = await undo_screen(pilot, "/undo")
        body = " ".join(shown(screen.query_one(DialogBody)).split())
        assert "✗ notes.txt: the same lines have changed since (line 2). Overwriting loses +1 −1." in body
        assert "…" not in body
        assert "apply" not in shown(screen.query_one(Choices))
        await pilot.press("y")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, UndoScreen))
    assert (project / "notes.txt").read_text() == "one\nmine\n"


async def test_a_conflict_does_not_block_the_other_files_and_can_be_overwritten(project: Path) -> None:
    (project / "notes.txt").write_text("one\ntwo\n")
    edit = block("edit", file="notes.txt", old="two", new="TWO")
    async with working(project, edit, block("write", file="new.txt", content="new\n"), "Done.") as pilot:
        await send(pilot, "go")
        await finished(pilot)
        (project / "notes.txt").write_text("one\nmine\n")
        screen = await undo_screen(pilot, "/undo")
        choices = " ".join(shown(screen.query_one(Choices)).split())
        assert choices == "y revert 1 file o also overwrite 1 file n cancel"
        await pilot.press("y")
        await until(pilot, lambda: not (project / "new.txt").exists())
        assert (project / "notes.txt").read_text() == "one\nmine\n"

        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        screen = await undo_screen(pilot, "/undo")
        await pilot.press("o")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        question = pilot.app.screen
        await until(pilot, lambda: "Overwrite notes.txt (+1 −1)?" in shown(question.query_one(DialogBody)))
        await pilot.press("n")
        await until(pilot, lambda: pilot.app.screen is screen)
        await pilot.press("o")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        again = pilot.app.screen.query_one(QuestionBody)
        await until(pilot, lambda: again.is_seen)
        # Typed ahead: Enter confirms nothing.
        await pilot.press(*"/redo", "enter")
        assert isinstance(pilot.app.screen, Confirmation)
        await pilot.press("y")
        await until(pilot, lambda: (project / "notes.txt").read_text() == "one\ntwo\n")

        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await undo_screen(pilot, "/redo")
        await pilot.press("y")
        await until(pilot, lambda: (project / "notes.txt").read_text() == "one\nmine\n")


async def test_only_what_can_be_done_is_offered(project: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (project / name).write_text("one\ntwo\n")
    edits = [block("edit", file=name, old="two", new="TWO") for name in ("a.txt", "b.txt")]
    async with working(project, *edits, "Done.") as pilot:
        await send(pilot, "go")
        await finished(pilot)
        (project / "a.txt").write_text("one\ntwo\n")
        (project / "b.txt").unlink()
        screen = await undo_screen(pilot, "/undo")
        body = shown(screen.query_one(DialogBody))
        assert "✗ b.txt: it has been deleted or renamed since. Overwriting creates it again." in body
        assert "Nothing to revert in a.txt" in body
        assert "1 conflict · go" in shown(screen.query_one("#undo-title"))
        assert shown(screen.query_one(Choices)).split() == ["o", "overwrite", "1", "file", "n", "cancel"]
        await pilot.press("y", "escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))

        (project / "b.txt").mkdir()
        (project / "b.txt/mine").touch()
        screen = await undo_screen(pilot, "/undo")
        assert "✗ b.txt: a directory is there now." in shown(screen.query_one(DialogBody))
        assert shown(screen.query_one(Choices)).split() == ["Esc", "close"]


async def test_a_change_that_is_gone_is_said_to_be(project: Path) -> None:
    (project / "notes.txt").write_text("one\ntwo\n")
    edit = block("edit", file="notes.txt", old="two", new="TWO")
    async with working(project, edit, "Done.") as pilot:
        await send(pilot, "go")
        await finished(pilot)
        (project / "notes.txt").write_text("one\ntwo\n")
        screen = await undo_screen(pilot, "/undo")
        body = shown(screen.query_one(DialogBody))
        assert "Nothing to revert in notes.txt: the changes are no longer there." in body
        assert "y mark as reverted" in shown(screen.query_one(Choices))
        await pilot.press("y")
        await until(pilot, lambda: "↶ Reverted turn 1: no files changed" in shown(conversation_of(pilot)))


async def test_the_title_names_the_turn_also_if_later_ones_changed_nothing(project: Path) -> None:
    (project / "notes.txt").write_text("one\ntwo\n")
    edits = [block("edit", file="notes.txt", old=old, new=old.upper()) for old in ("one", "two")]
    async with working(project, edits[0], "Done.", edits[1], "Done.", "Hello.") as pilot:
        for prompt in ("Shout the first", "Shout the\nsecond", "hi"):
            await send(pilot, prompt)
            await finished(pilot)
        for title in ("turn 2  1 file · Shout the⏎second", "turn 1  1 file · Shout the first"):
            screen = await undo_screen(pilot, "/undo")
            assert f"Revert the changes from {title}" in shown(screen.query_one("#undo-title"))
            await pilot.press("y")
            await until(pilot, lambda turn=title[:6]: f"Reverted {turn}: 1 file (" in told(pilot))
    assert (project / "notes.txt").read_text() == "one\ntwo\n"


async def test_enter_applies_a_plan_once_its_end_is_visible_and_closes_one_that_cannot_be_applied(
    project: Path,
) -> None:
    text = "".join(f"line {number}\n" for number in range(60))
    (project / "notes.txt").write_text(text)
    edit = block("shell", command="sed -i s/line/LINE/ notes.txt")
    async with working(project, edit, "Done.") as pilot:
        await send(pilot, "go")
        await finished(pilot)
        screen = await undo_screen(pilot, "/undo")
        body = screen.query_one(DialogBody)
        assert body.max_scroll_y > 0
        await pilot.press("enter")
        assert 0 < body.scroll_offset.y < body.max_scroll_y
        assert (project / "notes.txt").read_text() == text.upper()
        await pilot.press("end", "enter")
        await until(pilot, lambda: "Reverted" in told(pilot))
        assert (project / "notes.txt").read_text() == text

        (project / "notes.txt").write_text("mine\n")
        await undo_screen(pilot, "/redo")
        await pilot.press("end", "enter")
        await until(pilot, lambda: not isinstance(pilot.app.screen, UndoScreen))
        assert (project / "notes.txt").read_text() == "mine\n"


async def test_enter_does_not_apply_a_plan_that_loses_content_for_good(project: Path) -> None:
    command = block("shell", command="truncate -s 67108865 pad.bin")
    async with working(project, command, "Done.") as pilot:
        await send(pilot, "go")
        await finished(pilot)
        screen = await undo_screen(pilot, "/undo")
        assert "its current content will be lost." in shown(screen.query_one(DialogBody))
        await pilot.press("end", "enter")
        assert pilot.app.screen is screen
        assert (project / "pad.bin").exists()
        await pilot.press("y")
        await until(pilot, lambda: not (project / "pad.bin").exists())


async def test_what_was_undone_and_redone_is_in_the_conversation_also_when_it_is_reopened(
    project: Path,
) -> None:
    (project / "notes.txt").write_text("one\ntwo\n")
    replies = [block("edit", file="notes.txt", old="two", new="TWO"), "Done.", "Fine.", "Bye."]
    undone, redone = "↶ Reverted turn 1: 1 file", "↷ Reapplied turn 1: 1 file"
    async with working(project, *replies) as pilot:
        view = conversation_of(pilot)
        for prompt in ("go", "and?"):
            await send(pilot, prompt)
            await finished(pilot)
        await undo_screen(pilot, "/undo")
        await pilot.press("y")
        await until(pilot, lambda: undone in shown(view))
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await send(pilot, "bye")
        await finished(pilot)
        await undo_screen(pilot, "/redo")
        await pilot.press("y")
        await until(pilot, lambda: redone in shown(view))
        text = shown(view)
        assert text.index("Fine.") < text.index(undone) < text.index("Bye.") < text.index(redone)
        id = main_of(pilot).bridge.conversation_id

    agent = Agent(ScriptedProvider(), project=project, data=project.parent / "data", settings=Settings())
    async with app_over(agent, conversation_id=id).run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: redone in shown(conversation_of(pilot)))
        again = shown(conversation_of(pilot))
        assert again.index("Fine.") < again.index(undone) < again.index("Bye.")
    await agent.close()
