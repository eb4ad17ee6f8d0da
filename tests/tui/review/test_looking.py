"""Going through what was changed: list, diff, folds, sides, and back to the conversation."""

import os
from pathlib import Path

import pytest

from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.help.screen import HelpScreen, collect_keys
from cogency_tui.tui.main.screen import MainScreen
from cogency_tui.tui.review.keys import REVIEW_KEYS
from cogency_tui.tui.review.screen import ReviewScreen
from cogency_tui.workspace.diff_rows import Row
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import (
    at_work,
    conversation_of,
    finished,
    main_of,
    opened,
    send,
    shown,
    told,
)
from tests.tui.review.stage import LINES, Reviewer, agent_of, edit, going_on, reviewing, shell, working, write
from tests.tui.review.test_background_decisions import changed, edits
from tests.tui.review.test_moving import row_of


def rows_of(reviewer: Reviewer) -> list[str]:
    return [" ".join(line.split()) for line in shown(reviewer.files).splitlines() if line]


@pytest.mark.exhaustive
async def test_files_stand_under_their_turns_or_by_file_and_lead_to_their_calls_and_back(
    project: Path,
) -> None:
    (project / "notes.py").write_text(LINES)
    (project / "old.py").write_text("x = 1\n" * 5)
    agent = working(
        project,
        *[*edits(5, 20), "Done."],
        *[shell("mv old.py new.py"), write("a.py", "a\nb\n"), *edits(30), "Done."],
    )
    async with reviewing(agent, turns=2) as reviewer:
        turn_2 = ["Turn 2 go", "● A a.py +2 new", "● R new.py new", "● M notes.py +1 −1 new"]
        assert rows_of(reviewer) == [*turn_2, "Turn 1 go", "● M notes.py +2 −2 new"]
        assert (reviewer.path, "created" in shown(reviewer.title)) == ("a.py", True)
        await reviewer.press("J")
        assert "renamed from old.py" in shown(reviewer.title)
        await reviewer.press("J", "J")
        assert reviewer.path == "notes.py"
        await reviewer.press("K", "K", "K")
        assert reviewer.path == "a.py"

        await reviewer.press("J", "J", "J", "b")
        turns = ["notes.py 2 turns", "● M turn 2 +1 −1 new", "● M turn 1 +2 −2 new"]
        assert rows_of(reviewer) == ["● A a.py +2 new", "● R new.py new", *turns]
        # The file that was selected still is.
        assert (reviewer.path, reviewer.files.selected) == ("notes.py", 4)

        # Enter goes to the call that made the hunk; from its card the review is opened at the hunk.
        await reviewer.press("j", "enter")
        assert isinstance(reviewer.app.screen, MainScreen)
        conversation = conversation_of(reviewer.pilot)
        cursor = conversation.cursor.place
        assert cursor is not None
        assert "line_20" in str(conversation.transcript.call(cursor.unit).args)
        assert conversation.has_focus
        await reviewer.pilot.press("r")
        await reviewer.until(lambda: isinstance(reviewer.app.screen, ReviewScreen))
        await reviewer.settled()
        assert (reviewer.path, len(reviewer.states), reviewer.view.place) == ("notes.py", 2, 1)


@pytest.mark.exhaustive
async def test_changes_that_cancel_out_are_there_once_one_of_them_is_reverted(project: Path) -> None:
    (project / "old.py").write_text("x = 1\n")
    agent = working(project, shell("mv old.py new.py"), shell("mv new.py old.py"), "Done.")
    async with going_on(agent, "go") as pilot:
        undo = await agent.undo(main_of(pilot).bridge.conversation_id or "")
        await undo.apply(await undo.of_edits([2]))
        reviewer = Reviewer(pilot)
        await reviewer.open()
        assert rows_of(reviewer) == ["Turn 1 go", "● M old.py new"]
        assert "no net change" in shown(reviewer.title)
        assert "No net change: some or all" in shown(reviewer.view)
        await reviewer.press("n")
        assert (project / "old.py").exists()
        assert rows_of(reviewer) == ["Turn 1 go", "↺ M old.py reverted"]


async def test_unchanged_lines_are_folded_and_opened(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    async with reviewing(working(project, *edits(5, 30), "Done.")) as reviewer:
        view = reviewer.view
        assert "⋯ 18 unchanged lines" in shown(view)
        assert "line_15" not in shown(view)
        while view.fold is None:
            await reviewer.press("down")
        await reviewer.press("enter")
        assert "line_15 = 15" in shown(view)
        assert isinstance(reviewer.app.screen, type(reviewer.screen))
        await reviewer.press("f")
        assert "unchanged" not in shown(view)
        await reviewer.press("f")
        assert shown(view).count("unchanged") == 2


@pytest.mark.exhaustive
async def test_sides_are_beside_each_other_where_there_is_room_or_one_wants_it(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    async with reviewing(working(project, *edits(5, 30), "Done."), size=(120, 40)) as reviewer:
        view = reviewer.view
        assert shown(view).count("line_5 = ") == 2
        assert not any("│" in line for line in shown(view).splitlines())
        await click_hunk_and_fold(reviewer)
        await reviewer.press("f", "f", "home", "s")
        line = next(line for line in shown(view).splitlines() if "line_5 = 5" in line)
        assert "− line_5 = 5" in line
        assert "│ 5 + line_5 = 'agent'" in " ".join(line.split())
        assert "side by side" in shown(reviewer.title)
        await reviewer.press("s")
        assert (view.is_split, view.way) == (False, "auto")
        await reviewer.pilot.resize_terminal(170, 40)
        await reviewer.until(lambda: view.is_split)
        await reviewer.settled()
        await click_hunk_and_fold(reviewer)
        # The key changes what is shown each time, also the first.
        await reviewer.press("s")
        assert (view.is_split, view.way) == (False, "unified")
        await reviewer.press("s")
        assert (view.is_split, view.way) == (True, "auto")


async def click_hunk_and_fold(reviewer: Reviewer) -> None:
    """A click goes to a hunk, and opens what is folded."""
    view = reviewer.view
    assert view.place == 0
    assert await reviewer.pilot.click(view, offset=(10, row_of(shown(view), "line_30 = 'agent'")))
    await reviewer.until(lambda: view.place == 1)
    before = view.virtual_size.height
    assert "line_17 = 17" not in shown(view)
    assert await reviewer.pilot.click(view, offset=(10, row_of(shown(view), "unchanged")))
    await reviewer.until(lambda: "line_17 = 17" in shown(view))
    assert view.virtual_size.height > before
    # Beside the lines there is nothing to go to.
    assert await reviewer.pilot.click(view, offset=(10, view.size.height - 1))
    await reviewer.settled()


@pytest.mark.exhaustive
async def test_where_nothing_was_changed_it_is_said_in_the_colours_of_the_theme(project: Path) -> None:
    async with at_work(working(project, "Hello.")) as pilot:
        await opened(pilot)
        await pilot.press("f5")
        assert "This conversation is empty." in told(pilot)
        await send(pilot, "hi")
        await finished(pilot)
        await send(pilot, "/review")
        reviewer = Reviewer(pilot)
        await reviewer.until(lambda: isinstance(pilot.app.screen, ReviewScreen))
        await reviewer.settled()
        assert "No changes in this conversation yet" in " ".join(shown(reviewer.view).split())

        def colour() -> object:
            line = reviewer.view.line_at(0)
            assert line is not None
            return line.segments[-1].style

        before = colour()
        await pilot.app.run_action("app.set_theme('day')")
        await reviewer.until(lambda: colour() != before)
        assert "No changes in this" in shown(reviewer.view)

        await pilot.press("j", "y", "n", "N", "T", "e", "c", "x", "v", "enter", "o", "Y", "s", "f", "b")
        await reviewer.press("escape")
        assert isinstance(pilot.app.screen, MainScreen)


@pytest.mark.exhaustive
async def test_what_the_agent_changes_meanwhile_comes_in_and_nothing_moves(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    third = [edit("notes.py", "line_19 = 19\n", "line_19 = 'too'\n"), *edits(35), "Done."]
    provider = ScriptedProvider(*edits(5, 20), "Done.", write("a.py", "a\n"), "and<<hang>>", *third)
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

        await reviewer.press("x", "down", "down")
        main_of(reviewer.pilot).bridge.send(Written("go on"))
        await reviewer.until(lambda: "Turn 3" in shown(reviewer.files))
        await finished(reviewer.pilot)
        await reviewer.settled()
        # What another turn did to it is another change.
        assert (reviewer.files.file or reviewer.files).key.turn == 1  # pyright: ignore
        assert "1 selected" in shown(reviewer.title)


@pytest.mark.exhaustive
async def test_the_fates_of_hunks_are_said_and_help_has_every_key(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    async with reviewing(working(project, *edits(5, 20, 35), "Done."), size=(120, 60)) as reviewer:
        assert shown(reviewer.view).count("applied") == 3
        (project / "notes.py").write_text(
            "new\n" + changed(5, 20, 35).replace("line_5 = 'agent'", "line_5 = 'me'")
        )
        await reviewer.press("y")
        heads = [line for line in shown(reviewer.view).splitlines() if "hunk" in line]
        assert ["edited since" in line for line in heads] == [True, False, False]
        assert ["applied" in line for line in heads] == [False, True, True]
        assert "partly edited since" in shown(reviewer.title)

        told_keys = str(collect_keys(reviewer.screen))
        for binding in REVIEW_KEYS:
            assert (binding.tooltip or binding.description) in told_keys  # pyright: ignore
        await reviewer.press("question_mark")
        assert reviewer.app.screen.query("#help")
        await reviewer.press("escape")
        assert reviewer.app.screen is reviewer.screen


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
async def test_control_characters_wide_names_and_long_files_are_shown(project: Path) -> None:
    wide = "語" * 30 + ".py"
    (project / wide).write_text("x = 1\n" * 5)
    (project / "long.py").write_text(LINES + "# so many characters\n" * 3000)
    (project / "notes.py").write_text(LINES)
    hostile = edit("notes.py", "line_5 = 5\n", "line_5 = '\x1b[31m\t|'\n")
    agent = working(project, *edits(5, file="long.py"), shell(f"mv {wide} new.py"), hostile, "Done.")
    async with reviewing(agent) as reviewer:
        # A long file is coloured, too.
        assert reviewer.path == "long.py"
        file = reviewer.view.file
        assert file is not None
        pieces = file.coloring.pieces(Row("added", None, 5, "line_5 = 'agent'"))
        assert "".join(text for text, _ in pieces) == "line_5 = 'agent'"
        assert len({role for _, role in pieces}) > 1
        assert "line_5 = 'agent'" in shown(reviewer.view)

        # The state of a file is seen however wide its old name was.
        await reviewer.press("J")
        assert "new.py" in shown(reviewer.title)
        assert "● new" in shown(reviewer.title)

        await reviewer.press("J")
        assert "␛[31m" in shown(reviewer.view)
        await reviewer.press("e")
        assert "o opens the file" in told(reviewer.pilot)


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


async def test_help_begins_with_the_keys_of_the_review(project: Path) -> None:
    async with reviewing(working(project, write("a.py", "a\n"), "Done."), size=(80, 24)) as reviewer:
        await reviewer.press("right", "f1")
        await reviewer.until(lambda: isinstance(reviewer.app.screen, HelpScreen))
        seen = shown(reviewer.app.screen.query_one("#help-body")).strip()
        assert seen.startswith("Reviewing")
        for meaning in ("Keep the hunk", "Revert the hunk", "Edit hunk", "Comment on", "Undo the last"):
            assert meaning in seen


@pytest.mark.parametrize(("width", "beside"), [(80, False), (90, False), (96, True), (100, True)])
async def test_the_list_is_beside_the_diff_only_where_that_leaves_it_room(
    project: Path, width: int, beside: bool
) -> None:
    (project / "notes.py").write_text(LINES)
    line = "line_5 = compute_the_answer(of='everything')  # 49"
    agent = working(project, edit("notes.py", "line_5 = 5", line), "Done.")
    async with reviewing(agent, size=(width, 24)) as reviewer:
        await reviewer.press("right")
        assert reviewer.files.region.width > 0 if beside else not reviewer.files.region.width
        assert line in shown(reviewer.view)
        assert "applied" in shown(reviewer.view)
        await reviewer.press("left")
        assert reviewer.files.has_focus
        assert bool(reviewer.view.region.width) == beside


async def test_what_is_open_stays_in_the_head_of_a_narrow_screen(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, *edits(5, 12, 20, 27, 35), "Done.")
    async with reviewing(agent, size=(160, 16)) as reviewer:
        await reviewer.press("y", "n")
        for width in (160, 100, 60, 40, 30):
            await reviewer.pilot.resize_terminal(width, 16)
            await reviewer.until(lambda width=width: reviewer.header.size.width == width)
            assert "● 3" in shown(reviewer.header)
        await reviewer.pilot.resize_terminal(60, 16)
        reviewer.header.entitle("My very long conversation name, which goes on")
        await reviewer.until(lambda: "My very long" in shown(reviewer.header))
        assert shown(reviewer.header).endswith("● 3  ✓ 1  ↺ 1")
        await reviewer.pilot.resize_terminal(48, 16)
        await reviewer.until(lambda: shown(reviewer.header).endswith("● 3"))
