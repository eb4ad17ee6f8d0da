"""Esc Esc: rewind to one of the user's messages, with the conversation, the files, or both."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.tui.conversation.fork_dialog import ForkDialog
from cogency_tui.tui.conversation.rewind import RewindScreen
from cogency_tui.tui.kit.dialogs import DialogBody
from cogency_tui.tui.main.screen import MainScreen
from cogency_tui.tui.undo.screen import UndoScreen
from tests.pictures import picture
from tests.tui.driving import (
    app_over,
    conversation_of,
    finished,
    main_of,
    prompt_of,
    send,
    shown,
    told,
    type_text,
    until,
)
from tests.tui.review.stage import edit, working, write
from tests.tui.scripted import ScriptedAgent, paused, respond


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """On a loaded machine two keys in a row may be far apart."""
    monkeypatch.setattr(MainScreen, "TWICE", 60.0)


@asynccontextmanager
async def talked(project: Path, size: tuple[int, int] = (110, 30)) -> AsyncGenerator[Pilot[Any]]:
    """Three turns, of which the second and the third change files."""
    (project / "a.py").write_text("x = 1\n")
    replies = ["Hello.", edit("a.py", "x = 1", "x = 2"), "Changed.", write("b.py", "y = 1\n"), "Written."]
    agent = working(project, *replies)
    async with app_over(agent).run_test(size=size, notifications=True) as pilot:
        for message in ("greet me", "change a", "write b"):
            await send(pilot, message)
            await finished(pilot)
        await until(pilot, lambda: "Written." in shown(conversation_of(pilot)))
        yield pilot
    await agent.close()


async def opened(pilot: Pilot[Any]) -> RewindScreen:
    await pilot.press("escape", "escape")
    await until(pilot, lambda: isinstance(pilot.app.screen, RewindScreen) and pilot.app.screen.rows.row)
    screen = pilot.app.screen
    assert isinstance(screen, RewindScreen)
    return screen


async def test_a_mentioned_image_returns_as_it_was_sent(project: Path) -> None:
    (project / "logo.png").write_bytes(picture())
    agent = working(project, "Seen.", "Seen.")
    async with app_over(agent).run_test(size=(110, 30)) as pilot:
        await send(pilot, "see @logo.png")
        await finished(pilot)
        (project / "logo.png").unlink()
        await opened(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: prompt_of(pilot).text == "see @logo.png")
        assert [each["name"] for each in prompt_of(pilot).written.attached] == ["logo.png"]
        await pilot.press("enter")
        await until(pilot, lambda: main_of(pilot).bridge.conversation_id is not None)
        await finished(pilot)
        id = main_of(pilot).bridge.conversation_id
        assert id is not None
        events = await (await agent.store()).events(id)
        assert [len(event.get("images", [])) for event in events if event["type"] == "user"] == [1]
    await agent.close()


async def noted(pilot: Pilot[Any], screen: RewindScreen, text: str) -> None:
    await until(pilot, lambda: screen.note is not None and text in shown(screen.note))


async def previewed(pilot: Pilot[Any]) -> UndoScreen:
    await until(pilot, lambda: isinstance(pilot.app.screen, UndoScreen))
    screen = pilot.app.screen
    assert isinstance(screen, UndoScreen)
    return screen


async def test_the_conversation_goes_back_and_the_message_is_in_the_prompt(project: Path) -> None:
    async with talked(project) as pilot:
        before = main_of(pilot).bridge.conversation_id
        screen = await opened(pilot)
        assert screen.rows.row is not None
        assert screen.rows.row.text == "write b", "the newest is selected"
        assert [turn.text for turn in screen.rows.rows] == ["greet me", "change a", "write b"]
        assert ("enter", "fork here", "open") in screen.choices()
        await pilot.press("up", "enter")
        await until(pilot, lambda: prompt_of(pilot).text == "change a")
        await until(pilot, lambda: main_of(pilot).bridge.conversation_id not in (before, None))
        await until(pilot, lambda: "change a" not in shown(conversation_of(pilot)))
        assert "Hello." in shown(conversation_of(pilot))
        assert prompt_of(pilot).has_focus
        assert (project / "a.py").read_text() == "x = 2\n"


async def test_typing_filters_the_messages_and_enter_does_what_is_shown(project: Path) -> None:
    async with talked(project) as pilot:
        before = main_of(pilot).bridge.conversation_id
        screen = await opened(pilot)
        await type_text(pilot, "think")
        await pilot.press("enter")
        await until(pilot, lambda: "No matching turns." in shown(screen.rows))
        await pilot.pause()
        assert pilot.app.screen is screen
        assert main_of(pilot).bridge.conversation_id == before
        assert [label for _key, label, _action in screen.choices()] == ["clear filter"]

        await pilot.press("escape")
        await until(pilot, lambda: len(screen.rows.rows) == 3)
        await type_text(pilot, "k")
        await pilot.press("backspace")
        await type_text(pilot, "change")
        await until(pilot, lambda: [turn.text for turn in screen.rows.rows] == ["change a"])
        await noted(pilot, screen, "Enter forks before this message; F2 previews 2 files")
        await pilot.press("enter")
        await until(pilot, lambda: prompt_of(pilot).text == "change a")


async def test_the_files_go_back_and_redo_brings_them_again(project: Path) -> None:
    async with talked(project) as pilot:
        screen = await opened(pilot)
        await pilot.press("up")
        await noted(
            pilot,
            screen,
            "Enter forks before this message; F2 previews 2 files: a.py, b.py (deleted)",
        )
        await pilot.press("f2")
        preview = await previewed(pilot)
        await until(pilot, lambda: "b.py" in shown(preview.query_one(DialogBody)))
        assert (project / "a.py").read_text() == "x = 2\n", "it is shown before it is done"
        assert (project / "b.py").exists()
        await pilot.press("y")
        await until(pilot, lambda: told(pilot) == "Restored 2 files (/redo reapplies)")
        await until(pilot, lambda: "↶ Restored 2 files" in shown(conversation_of(pilot)))
        assert (project / "a.py").read_text() == "x = 1\n"
        assert not (project / "b.py").exists()
        assert "Written." in shown(conversation_of(pilot))

        await send(pilot, "/redo")
        await until(pilot, lambda: pilot.app.screen is not main_of(pilot))
        await pilot.press("y")
        await until(pilot, lambda: (project / "b.py").exists())
        assert (project / "a.py").read_text() == "x = 2\n"


async def test_a_turn_whose_changes_are_all_reverted_says_so(project: Path) -> None:
    async with talked(project) as pilot:
        view = conversation_of(pilot)
        await send(pilot, "/undo")
        await until(pilot, lambda: isinstance(pilot.app.screen, UndoScreen))
        await pilot.press("y")
        await until(pilot, lambda: "1 file +1, reverted" in shown(view))
        assert "1 file +1 −1, reverted" not in shown(view)

        await send(pilot, "/redo")
        await until(pilot, lambda: isinstance(pilot.app.screen, UndoScreen))
        await pilot.press("y")
        await until(pilot, lambda: "reverted" not in shown(view))
        assert "1 file +1" in shown(view)


async def test_what_was_undone_before_a_message_stays_undone(project: Path) -> None:
    (project / "a.py").write_text("x = 1\n")
    agent = working(project, edit("a.py", "x = 1", "x = 2"), "Changed.", "Fine.", "Thanks.")
    async with app_over(agent).run_test(size=(110, 30), notifications=True) as pilot:
        for message in ("change a", "is it right?"):
            await send(pilot, message)
            await finished(pilot)
        await send(pilot, "/undo")
        await until(pilot, lambda: isinstance(pilot.app.screen, UndoScreen))
        await pilot.press("y")
        await until(pilot, lambda: (project / "a.py").read_text() == "x = 1\n")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await send(pilot, "thanks")
        await finished(pilot)

        screen = await opened(pilot)
        assert screen.rows.rows[0].changes == "1 file +1 −1, reverted"
        await noted(pilot, screen, "no files to restore")
        assert [label for _key, label, _action in screen.choices()] == ["fork here", "close"]
        await pilot.press("f2")
        assert (project / "a.py").read_text() == "x = 1\n"
    await agent.close()


async def test_both_go_back(project: Path) -> None:
    async with talked(project) as pilot:
        screen = await opened(pilot)
        await noted(pilot, screen, "F2 previews 1 file: b.py (deleted)")
        await pilot.press("f3")
        await previewed(pilot)
        await pilot.press("y")
        await until(pilot, lambda: prompt_of(pilot).text == "write b")
        assert not (project / "b.py").exists()
        await until(
            pilot, lambda: "Forked. Reverted turn 3: 1 file (/redo in the original reapplies)" in told(pilot)
        )
        await until(pilot, lambda: "Changed." in shown(conversation_of(pilot)))


async def test_as_many_files_are_named_as_there_is_room_for(project: Path) -> None:
    many = [write(f"src/shop/handlers/page_{number}.py", "y = 1\n") for number in range(9)]
    agent = working(project, *many, "Written.")
    async with app_over(agent).run_test(size=(60, 16)) as pilot:
        await send(pilot, "write them")
        await finished(pilot)
        screen = await opened(pilot)
        await noted(pilot, screen, "F2 previews 9")
        note = " ".join(shown(screen.note).split()) if screen.note else ""
        assert note.endswith("page_1.py (deleted) and 7 more")
    await agent.close()


async def test_a_file_changed_since_is_previewed_and_does_not_block_the_others(project: Path) -> None:
    async with talked(project) as pilot:
        (project / "b.py").write_text("y = 3\nmine = 1\n")
        screen = await opened(pilot)
        await noted(pilot, screen, "F2 previews 1 file: b.py (changed since)")
        await pilot.press("up")
        await noted(pilot, screen, "F2 previews 2 files: a.py, b.py (changed since)")
        await pilot.press("f2")
        preview = await previewed(pilot)
        await until(pilot, lambda: "✗ b.py" in shown(preview.query_one(DialogBody)))
        await pilot.press("y")
        await until(pilot, lambda: told(pilot) == "Reverted turn 2: 1 file (/redo reapplies)")
        assert (project / "a.py").read_text() == "x = 1\n"
        assert (project / "b.py").read_text() == "y = 3\nmine = 1\n"


async def test_nothing_goes_back_if_the_preview_is_canceled(project: Path) -> None:
    async with talked(project) as pilot:
        before = main_of(pilot).bridge.conversation_id
        (project / "b.py").write_text("mine = 1\n")
        screen = await opened(pilot)
        await noted(pilot, screen, "F2 previews 1 file")
        await pilot.press("f3")
        await previewed(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        assert main_of(pilot).bridge.conversation_id == before
        assert (project / "b.py").read_text() == "mine = 1\n"


async def test_files_that_cannot_go_back_are_not_offered(project: Path) -> None:
    async with talked(project) as pilot:
        for name in ("a.py", "b.py"):
            (project / name).unlink()
        (project / "a.py").mkdir()
        (project / "a.py/mine").touch()
        screen = await opened(pilot)
        await pilot.press("up")
        await noted(pilot, screen, "files cannot be restored: a.py: ")
        assert [label for _key, label, _action in screen.choices()] == ["fork here", "close"]
        await pilot.press("f2", "f3")
        assert pilot.app.screen is screen


async def test_the_first_message_leaves_a_new_conversation(project: Path) -> None:
    async with talked(project) as pilot:
        await opened(pilot)
        await pilot.press("up", "up", "enter")
        await until(pilot, lambda: prompt_of(pilot).text == "greet me")
        assert "Your coding agent" in shown(conversation_of(pilot))


async def test_e_edits_the_message_at_the_cursor(project: Path) -> None:
    async with talked(project) as pilot:
        view = conversation_of(pilot)
        view.focus()
        view.go_to_unit(next(at for at, unit in enumerate(view.transcript.units) if "change a" in str(unit)))
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, ForkDialog))
        await pilot.press("enter")
        await until(pilot, lambda: prompt_of(pilot).text == "change a")
        await until(pilot, lambda: "change a" not in shown(view))


async def test_escape_first_interrupts_and_clears_and_two_slow_ones_do_nothing(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = ScriptedAgent(project, [respond("ok")], [paused])
    async with app_over(agent).run_test(size=(110, 30)) as pilot:
        await pilot.press("escape", "escape")
        assert pilot.app.screen is main_of(pilot), "nothing to go back to"
        await send(pilot, "one")
        await finished(pilot)
        await send(pilot, "two")
        await pilot.press("escape")
        await finished(pilot)
        monkeypatch.setattr(MainScreen, "TWICE", 0.0)
        prompt_of(pilot).replace_text("draft")
        await pilot.press("escape")
        assert prompt_of(pilot).text == ""
        await pilot.press("escape", "escape")
        assert pilot.app.screen is main_of(pilot), "too slow to be one gesture"
