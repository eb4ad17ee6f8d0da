"""Going through what was changed: list, diff, folds, sides, and back to the conversation."""

import os
from pathlib import Path

import pytest

from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.main.screen import MainScreen
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import at_work, conversation_of, finished, main_of, opened, send, shown, told
from tests.tui.review.stage import LINES, Reviewer, agent_of, edit, reviewing, shell, working, write
from tests.tui.review.test_background_decisions import changed, edits


@pytest.mark.exhaustive
async def test_files_stand_under_their_turns_with_what_they_came_to(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    (project / "old.py").write_text("x = 1\n" * 5)
    agent = working(
        project, *edits(5, 20), "Done.", shell("mv old.py new.py"), write("a.py", "a\nb\n"), "Done."
    )
    async with reviewing(agent, turns=2) as reviewer:
        rows = [" ".join(line.split()) for line in shown(reviewer.files).splitlines() if line]
        assert rows == ["Turn 2 go", "● A a.py +2", "● R new.py", "Turn 1 go", "● M notes.py +2 −2"]
        assert (reviewer.path, "created" in shown(reviewer.title)) == ("a.py", True)
        await reviewer.press("J")
        assert "renamed from old.py" in shown(reviewer.title)
        await reviewer.press("J")
        assert reviewer.path == "notes.py"
        await reviewer.press("K", "K")
        assert reviewer.path == "a.py"


@pytest.mark.exhaustive
async def test_a_file_that_was_changed_in_several_turns_is_found_by_file(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, *edits(5), write("a.py", "a\n"), "Done.", *edits(20), "Done.")
    async with reviewing(agent, turns=2) as reviewer:
        await reviewer.press("b")
        rows = [" ".join(line.split()) for line in shown(reviewer.files).splitlines() if line]
        assert rows == ["● A a.py +1", "notes.py 2 turns", "● M turn 2 +1 −1", "● M turn 1 +1 −1"]
        # The file that was selected still is.
        assert (reviewer.path, reviewer.files.selected) == ("notes.py", 2)


@pytest.mark.exhaustive
async def test_the_list_is_filtered_by_path_state_and_kind(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, *edits(5), write("a.py", "a\n"), write("b.txt", "b\n"), "Done.")
    async with reviewing(agent) as reviewer:
        await reviewer.press("y", "slash", "c", "r", "e", "a", "t", "e", "d", "space", "t", "x", "t", "enter")
        assert "b.txt" in shown(reviewer.files)
        assert "a.py" not in shown(reviewer.files)
        assert reviewer.path == "b.txt"
        await reviewer.press("slash", "x", "x")
        assert "No changed file matches" in shown(reviewer.view)
        await reviewer.press("escape")
        assert "a.py" in shown(reviewer.files)
        await reviewer.press("slash", *"kept", "enter")
        assert reviewer.path == "a.py"


async def test_unchanged_lines_are_folded_and_opened(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    async with reviewing(working(project, *edits(5, 30), "Done.")) as reviewer:
        assert "⋯ 18 unchanged lines" in shown(reviewer.view)
        assert "line_15" not in shown(reviewer.view)
        while reviewer.view.fold is None:
            await reviewer.press("down")
        await reviewer.press("enter")
        assert "line_15 = 15" in shown(reviewer.view)
        assert isinstance(reviewer.app.screen, type(reviewer.screen))
        await reviewer.press("f")
        assert "unchanged" not in shown(reviewer.view)
        await reviewer.press("f")
        assert shown(reviewer.view).count("unchanged") == 2


@pytest.mark.exhaustive
async def test_sides_are_beside_each_other_where_there_is_room_or_one_wants_it(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    async with reviewing(working(project, *edits(5), "Done."), size=(120, 30)) as reviewer:
        assert shown(reviewer.view).count("line_5 = ") == 2
        assert not any("│" in line for line in shown(reviewer.view).splitlines())
        await reviewer.press("s")
        line = next(line for line in shown(reviewer.view).splitlines() if "line_5 = 5" in line)
        assert "− line_5 = 5" in line
        assert "│ 5 + line_5 = 'agent'" in " ".join(line.split())
        assert "side by side" in shown(reviewer.title)
        await reviewer.press("s", "s")
        assert not reviewer.view.is_split
        await reviewer.pilot.resize_terminal(170, 30)
        await reviewer.until(lambda: reviewer.view.is_split)


@pytest.mark.exhaustive
async def test_enter_goes_to_the_call_that_made_the_hunk(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, *edits(5, 20), "Done.", "Nothing.")
    async with reviewing(agent, turns=2) as reviewer:
        await reviewer.press("j", "enter")
        assert isinstance(reviewer.app.screen, MainScreen)
        conversation = conversation_of(reviewer.pilot)
        cursor = conversation.cursor.place
        assert cursor is not None
        assert "line_20" in str(conversation.transcript.call(cursor.unit).args)
        assert conversation.has_focus


@pytest.mark.exhaustive
async def test_the_review_is_opened_from_the_card_of_an_edit_at_its_hunk(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, *edits(5, 30), write("z.py", "z\n"), "Done.", write("a.py", "a\n"), "Done.")
    async with at_work(agent) as pilot:
        for _ in range(2):
            await send(pilot, "go")
            await finished(pilot)
        conversation = conversation_of(pilot)
        unit = next(
            index
            for index in conversation.transcript.calls
            if "line_30" in str(conversation.transcript.call(index).args)
        )
        conversation.go_to_unit(unit)
        conversation.focus()
        await pilot.press("r")
        reviewer = Reviewer(pilot)
        await reviewer.until(lambda: pilot.app.screen.id == "review")
        await reviewer.settled()
        assert (reviewer.path, reviewer.view.place) == ("notes.py", 1)


@pytest.mark.exhaustive
async def test_nothing_was_changed_yet(project: Path) -> None:
    async with at_work(working(project, "Hello.")) as pilot:
        await opened(pilot)
        await pilot.press("f5")
        assert "This conversation is empty." in told(pilot)
        await send(pilot, "hi")
        await finished(pilot)
        await send(pilot, "/review")
        reviewer = Reviewer(pilot)
        await reviewer.until(lambda: pilot.app.screen.id == "review")
        await reviewer.settled()
        assert "No changes in this conversation yet" in " ".join(shown(reviewer.view).split())
        await reviewer.press("j", "y", "n", "N", "T", "e", "c", "x", "v", "enter", "o", "Y", "s", "f", "b")
        await reviewer.press("escape")
        assert isinstance(pilot.app.screen, MainScreen)


@pytest.mark.exhaustive
async def test_what_the_agent_changes_meanwhile_comes_in_and_nothing_moves(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    provider = ScriptedProvider(*edits(5, 20), "Done.", write("a.py", "a\n"), "and<<hang>>")
    async with reviewing(agent_of(project, provider)) as reviewer:
        await reviewer.press("j", "down", "down")
        before, top = shown(reviewer.view), reviewer.view.scroll_offset.y
        main_of(reviewer.pilot).bridge.send(Written("go on"))
        await reviewer.until(lambda: "a.py" in shown(reviewer.files))
        await reviewer.until(provider.hanging.is_set)
        await reviewer.settled()
        assert "the agent is working" in shown(reviewer.header)
        assert (reviewer.path, shown(reviewer.view), reviewer.view.scroll_offset.y) == (
            "notes.py",
            before,
            top,
        )
        # It can be decided about while the agent works.
        await reviewer.press("n")
        assert reviewer.states == ("new", "reverted")
        assert (project / "notes.py").read_text() == changed(5)
        main_of(reviewer.pilot).bridge.interrupt()
        await finished(reviewer.pilot)
        await reviewer.until(lambda: "the agent is working" not in shown(reviewer.header))


@pytest.mark.exhaustive
async def test_an_edit_of_the_open_file_comes_in_and_the_cursor_stays_on_its_line(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    provider = ScriptedProvider(
        *edits(20), "Done.", edit("notes.py", "line_19 = 19\n", "line_19 = 'too'\n"), *edits(5), "Done."
    )
    async with reviewing(agent_of(project, provider)) as reviewer:
        await reviewer.press("x", "down", "down")
        main_of(reviewer.pilot).bridge.send(Written("go on"))
        await reviewer.until(lambda: "Turn 2" in shown(reviewer.files))
        await finished(reviewer.pilot)
        await reviewer.settled()
        # What another turn did to it is another change.
        assert (reviewer.files.file or reviewer.files).key.turn == 1  # pyright: ignore
        assert "1 selected" in shown(reviewer.title)


@pytest.mark.exhaustive
async def test_the_fates_of_hunks_are_said(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    async with reviewing(working(project, *edits(5, 20, 35), "Done.")) as reviewer:
        assert shown(reviewer.view).count("applied") == 3
        (project / "notes.py").write_text(
            "new\n" + changed(5, 20, 35).replace("line_5 = 'agent'", "line_5 = 'me'")
        )
        await reviewer.press("y")
        heads = [line for line in shown(reviewer.view).splitlines() if "hunk" in line]
        assert ["edited later" in line for line in heads] == [True, False, False]
        assert ["applied" in line for line in heads] == [False, True, True]
        assert "partly edited later" in shown(reviewer.title)


@pytest.mark.exhaustive
async def test_a_narrow_terminal_shows_the_list_or_the_diff(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    async with reviewing(
        working(project, *edits(5), write("a.py", "a\n"), "Done."), size=(60, 16)
    ) as reviewer:
        assert reviewer.files.has_focus
        assert reviewer.files.size.width > 50
        await reviewer.press("down", "enter")
        assert reviewer.view.has_focus
        assert (reviewer.path, reviewer.files.size.width) == ("notes.py", 0)
        # Laid anew for the width that the list has left.
        await reviewer.until(lambda: "line_5 = 'agent'" in shown(reviewer.view))
        await reviewer.press("escape")
        assert reviewer.files.has_focus
        await reviewer.press("escape")
        assert isinstance(reviewer.app.screen, MainScreen)


@pytest.mark.exhaustive
async def test_help_has_every_key(project: Path) -> None:
    from cogency_tui.tui.help.screen import collect_keys
    from cogency_tui.tui.review.keys import REVIEW_KEYS

    (project / "notes.py").write_text(LINES)
    async with reviewing(working(project, *edits(5), "Done."), size=(120, 60)) as reviewer:
        told_keys = str(collect_keys(reviewer.screen))
        for binding in REVIEW_KEYS:
            assert (binding.tooltip or binding.description) in told_keys  # pyright: ignore
        await reviewer.press("question_mark")
        assert reviewer.app.screen.query("#help")
        await reviewer.press("escape")
        assert reviewer.app.screen is reviewer.screen


@pytest.mark.exhaustive
async def test_text_with_control_characters_is_shown_and_not_edited_in_place(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, edit("notes.py", "line_5 = 5\n", "line_5 = '\x1b[31m\t|'\n"), "Done.")
    async with reviewing(agent) as reviewer:
        assert "␛[31m" in shown(reviewer.view)
        await reviewer.press("e")
        assert "o opens the file" in told(reviewer.pilot)


@pytest.mark.exhaustive
async def test_no_file_is_passed_by_before_it_was_seen(project: Path) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (project / name).write_text(LINES)
    replies = [each for name in ("a.py", "b.py", "c.py") for each in edits(5, file=name)]
    async with reviewing(working(project, *replies, "Done.")) as reviewer:
        # As fast as keys can be: the diff of the next file is not there yet.
        reviewer.screen.action_hunk(1)
        reviewer.screen.action_hunk(1)
        await reviewer.settled()
        assert reviewer.path == "b.py"


@pytest.mark.exhaustive
async def test_what_is_said_in_the_place_of_a_diff_takes_the_colours_of_another_theme(project: Path) -> None:
    async with reviewing(working(project, "Done.")) as reviewer:
        assert "No changes in this" in shown(reviewer.view)

        def colour() -> object:
            line = reviewer.view.line_at(0)
            assert line is not None
            return line.segments[-1].style

        before = colour()
        await reviewer.app.run_action("app.set_theme('day')")
        await reviewer.until(lambda: colour() != before)
        assert "No changes in this" in shown(reviewer.view)


@pytest.mark.skipif(os.geteuid() == 0, reason="permission bits do not stop root")
async def test_a_file_that_may_not_be_looked_at_is_said(project: Path) -> None:
    (project / "sub").mkdir()
    (project / "sub" / "notes.py").write_text(LINES)
    async with reviewing(working(project, *edits(5, file="sub/notes.py"), "Done.")) as reviewer:
        (project / "sub").chmod(0)
        try:
            await reviewer.press("o")
            assert "cannot be opened: Permission denied" in told(reviewer.pilot)
        finally:
            (project / "sub").chmod(0o755)


@pytest.mark.exhaustive
async def test_the_state_of_a_file_is_seen_however_wide_its_old_name_was(project: Path) -> None:
    old = "語" * 30 + ".py"
    (project / old).write_text("x = 1\n" * 5)
    agent = working(project, shell(f"mv {old} new.py"), "Done.")
    async with reviewing(agent) as reviewer:
        assert "new.py" in shown(reviewer.title)
        assert "● new" in shown(reviewer.title)
