"""Deciding with the keys of the review, over the real engine, journal and files."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from textual import events

from cogency_tui.tui.kit.dialogs import Confirmation
from cogency_tui.tui.kit.footer import Footer
from cogency_tui.tui.main.screen import MainScreen
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import finished, send, shown, told
from tests.tui.review.stage import (
    LINES,
    Reviewer,
    agent_of,
    edit,
    reviewing,
    shell,
    working,
    write,
    write_text,
)


def changed(*numbers: int) -> str:
    text = LINES
    for number in numbers:
        text = text.replace(f"line_{number} = {number}\n", f"line_{number} = 'agent'\n")
    return text


def edits(*numbers: int, file: str = "notes.py") -> list[str]:
    return [edit(file, f"line_{number} = {number}\n", f"line_{number} = 'agent'\n") for number in numbers]


@pytest.fixture
async def three(project: Path) -> AsyncIterator[Reviewer]:
    """The review of one turn with three hunks in one file, and a new file."""
    (project / "notes.py").write_text(LINES)
    agent = working(project, *edits(5, 20, 35), write("pad.py", "pad = 1\n"), "Done.")
    async with reviewing(agent) as reviewer:
        yield reviewer


def read(project: Path, name: str = "notes.py") -> str:
    return (project / name).read_text()


async def test_a_hunk_is_reverted_and_comes_back_and_kept_and_the_next_one_comes(
    three: Reviewer, project: Path
) -> None:
    assert (three.path, three.view.place) == ("notes.py", 0)
    # What cannot be done is said.
    await three.press("u")
    assert "Nothing to undo" in told(three.pilot)
    await three.press("1")
    assert "No conflict here" in told(three.pilot)

    await three.press("j", "n")
    assert read(project) == changed(5, 35)
    assert three.states == ("new", "reverted", "new")
    assert "↺ reverted" in shown(three.view)
    await three.press("u")
    assert read(project) == changed(5, 20, 35)
    assert three.states == ("new", "new", "new")
    assert "Restored (U redo)" in told(three.pilot)
    await three.press("U")
    assert read(project) == changed(5, 35)
    await three.press("k", "y")
    assert read(project) == changed(5, 20, 35)
    assert three.states == ("new", "kept", "new")

    await three.press("u", "u", "k", "k")
    assert (three.states, three.view.place) == (("new", "new", "new"), 0)
    await three.press("y")
    assert (three.states, three.view.place) == (("kept", "new", "new"), 1)
    await three.press("space")
    assert (three.states, three.view.place) == (("kept", "kept", "new"), 2)
    assert "● 2 new  ✓ 2 kept" in shown(three.header)
    await three.press("k", "y")
    assert "Already kept." in told(three.pilot)


async def test_keeping_what_is_reverted_restores_it_and_says_so(three: Reviewer, project: Path) -> None:
    footer = three.screen.query_one(Footer)
    await three.press("n")
    assert "y keep" in shown(footer)
    await three.press("k")
    assert "y restore" in shown(footer)
    await three.press("y")
    assert (read(project), three.states) == (changed(5, 20, 35), ("kept", "new", "new"))
    assert told(three.pilot) == "Agent's version restored and kept (u undo)"
    await three.press("u")
    assert (read(project), three.states) == (changed(20, 35), ("reverted", "new", "new"))
    assert told(three.pilot) == "Reverted again (U redo)"
    await three.press("U")
    assert read(project) == changed(5, 20, 35)
    assert told(three.pilot) == "Restored again (u undo)"


async def test_keeping_an_edited_hunk_keeps_the_edit_and_goes_on(three: Reviewer, project: Path) -> None:
    await three.press("e")
    await write_text(three, "line_5 = 'mine'", "ctrl+s")
    mine = changed(5, 20, 35).replace("line_5 = 'agent'", "line_5 = 'mine'")
    assert (read(project), three.states) == (mine, ("edited", "new", "new"))
    await three.press("k", "y")
    assert (read(project), three.states) == (mine, ("edited", "new", "new"))
    assert three.view.place == 1
    await three.press("u")
    assert (read(project), three.states) == (changed(5, 20, 35), ("new", "new", "new"))


async def test_a_file_reverted_as_a_whole_is_restored_by_keeping_it(three: Reviewer, project: Path) -> None:
    await three.press("N")
    assert read(project) == LINES
    await three.press("tab", "y")
    assert (read(project), three.states) == (changed(5, 20, 35), ("kept",) * 3)
    await three.press("u")
    assert (read(project), three.states) == (LINES, ("reverted",) * 3)

    # A new file, by its hunk and from the list.
    await three.press("tab", "J", "n")
    assert (three.path, (project / "pad.py").exists()) == ("pad.py", False)
    await three.press("y")
    assert read(project, "pad.py") == "pad = 1\n"
    assert told(three.pilot) == "Agent's version restored and kept (u undo)"
    await three.press("u")
    assert not (project / "pad.py").exists()
    await three.press("tab", "y")
    assert read(project, "pad.py") == "pad = 1\n"


async def test_a_deleted_file_is_said_to_be_deleted_again(project: Path) -> None:
    (project / "old.py").write_text("old = 1\n")
    agent = working(project, shell("python3 -c 'import os; os.remove(\"old.py\")'"), "Done.")
    async with reviewing(agent) as reviewer:
        await reviewer.press("n")
        assert (project / "old.py").exists()
        await reviewer.press("u")
        assert not (project / "old.py").exists()
        assert told(reviewer.pilot) == "Deleted again (U redo)"
        await reviewer.press("U", "y")
        assert not (project / "old.py").exists()
        assert told(reviewer.pilot) == "Deleted again, deletion kept (u undo)"


@pytest.mark.exhaustive
async def test_a_file_a_turn_and_picked_hunks_are_reverted(three: Reviewer, project: Path) -> None:
    await three.press("N")
    assert read(project) == LINES
    assert (project / "pad.py").exists()
    assert three.states == ("reverted",) * 3
    await three.press("u", "T")
    assert read(project) == LINES
    assert not (project / "pad.py").exists()
    assert told(three.pilot) == "Reverted 2 files (u undo)"
    await three.press("u")
    assert told(three.pilot) == "Restored 2 files (U redo)"
    await three.press("U")
    assert told(three.pilot) == "Reverted 2 files (u undo)"
    await three.press("u")
    assert read(project) == changed(5, 20, 35)
    assert read(project, "pad.py") == "pad = 1\n"

    assert (three.path, three.view.place) == ("notes.py", 0)
    await three.press("x", "j", "j", "x")
    assert "2 selected" in shown(three.title)
    await three.press("n")
    assert read(project) == changed(20)
    assert three.states == ("reverted", "new", "reverted")
    assert "selected" not in shown(three.title)


@pytest.mark.exhaustive
async def test_picked_hunks_are_copied_and_a_range_goes_from_where_it_begins(three: Reviewer) -> None:
    await three.press("x", "j", "x", "Y")
    assert three.app.clipboard == ("-line_5 = 5\n+line_5 = 'agent'\n-line_20 = 20\n+line_20 = 'agent'\n")
    await three.press("escape")
    assert "selected" not in shown(three.title)

    await three.press("v", "j")
    assert "2 selected" in shown(three.title)
    await three.press("v", "k", "k", "escape")
    assert "selected" not in shown(three.title)
    await three.press("v", "j", "c")
    await write_text(three, "Both.", "enter")
    assert three.view.file is not None
    # It is one comment, which stands with the first hunk that it is about.
    assert [len(hunk.comments) for hunk in three.view.file.hunks] == [1, 0, 0]


@pytest.mark.exhaustive
async def test_in_the_list_the_file_is_decided_about_and_no_other_one(three: Reviewer, project: Path) -> None:
    # As fast as keys can be: the diff of the other file is not there yet.
    three.screen.action_file(1)
    three.screen.action_do("revert")
    three.screen.action_do("edit")
    await three.settled()
    assert read(project) == changed(5, 20, 35)
    assert read(project, "pad.py") == "pad = 1\n"
    assert not three.editor.is_open

    await three.press("K", "tab", "y")
    assert (three.path, three.states) == ("notes.py", ("kept",) * 3)
    await three.press("down", "n")
    assert not (project / "pad.py").exists()
    assert three.path == "pad.py"


@pytest.mark.exhaustive
async def test_a_hunk_is_edited_and_what_is_written_is_left_only_when_one_says_so(
    three: Reviewer, project: Path
) -> None:
    await three.press("e")
    await write_text(three, "mine", "escape", "n")
    assert three.editor.is_open
    assert three.area.has_focus
    await three.press("escape", "y")
    assert three.states == ("new",) * 3
    assert read(project) == changed(5, 20, 35)

    await three.press("j", "e")
    await write_text(three, "line_20 = 'mine'\nmore = True", "ctrl+s")
    assert read(project) == changed(5, 35).replace("line_20 = 20\n", "line_20 = 'mine'\nmore = True\n")
    assert three.states == ("new", "edited", "new")


@pytest.mark.exhaustive
async def test_a_rejection_and_a_comment_reach_the_model_with_the_next_message(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    provider = ScriptedProvider(*edits(5, 20), "Done.", "I see.")
    async with reviewing(agent_of(project, provider)) as reviewer:
        await reviewer.press("n", "c")
        await write_text(reviewer, "Not in this way.", "enter")
        assert "¶ Not in this way." in shown(reviewer.view)
        assert "sent with your next message" in shown(reviewer.view)
        await reviewer.press("q")
        await send(reviewer.pilot, "go on")
        await finished(reviewer.pilot)
        sent = provider.sent[-1][-1]["content"]
        assert "line_5 = 'agent'" in sent
        assert "Not in this way." in sent
        await reviewer.open()
        await reviewer.press("j")
        assert "Not in this way.  sent" in shown(reviewer.view)


@pytest.mark.exhaustive
async def test_what_was_decided_is_done_though_one_leaves_at_once(three: Reviewer, project: Path) -> None:
    # As fast as keys can be.
    for key in "ynyq":
        three.app.post_message(events.Key(key, key))
    await three.until(lambda: isinstance(three.app.screen, MainScreen))
    await three.settled()
    assert read(project) == changed(5, 35)
    await three.open()
    await three.press("J", "K")
    assert three.states == ("kept", "reverted", "kept")


@pytest.mark.exhaustive
async def test_a_conflict_is_shown_with_both_sides_and_settled_in_place(
    three: Reviewer, project: Path
) -> None:
    mine = changed(5, 20, 35).replace("line_5 = 'agent'", "line_5 = 'me'")
    (project / "notes.py").write_text(mine)
    await three.press("n")
    assert three.states == ("conflict", "new", "new")
    assert three.view.place == 0
    body = shown(three.view)
    assert "line_5 = 'me'" in body
    assert "line_5 = 5" in body
    assert "≠ 1 conflict" in shown(three.header)
    await three.press("2")
    assert read(project) == changed(20, 35)
    assert three.states == ("reverted", "new", "new")
    await three.press("u")
    assert read(project) == mine
    assert three.states == ("conflict", "new", "new")
    await three.press("1")
    assert read(project) == mine
    assert three.states == ("edited", "new", "new")
    await three.press("u", "e")
    await write_text(three, "line_5 = 'both'", "ctrl+s")
    assert read(project) == mine.replace("'me'", "'both'")
    assert "These lines were changed" not in shown(three.view)


@pytest.mark.exhaustive
async def test_what_a_command_changed_is_decided_about_though_it_has_no_lines_or_cannot_be_brought_back(
    project: Path,
) -> None:
    (project / "logo").write_bytes(bytes(range(256)))
    agent = working(project, shell("printf x >> logo"), shell("truncate -s 67108865 pad.bin"), "Done.")
    async with reviewing(agent) as reviewer:
        assert "Binary file" in shown(reviewer.view)
        await reviewer.press("e")
        assert "No editable lines here" in told(reviewer.pilot)
        await reviewer.press("n")
        assert (project / "logo").read_bytes() == bytes(range(256))
        assert reviewer.states == ("reverted",)
        await reviewer.press("u")
        assert (project / "logo").read_bytes() == bytes(range(256)) + b"x"

        # What cannot be brought back is asked about first.
        await reviewer.press("J")
        for answer in "ny":
            await reviewer.pilot.press("N")
            await reviewer.until(lambda: isinstance(reviewer.app.screen, Confirmation))
            assert (project / "pad.bin").exists()
            await reviewer.press(answer)
        await reviewer.until(lambda: not (project / "pad.bin").exists())


@pytest.mark.exhaustive
async def test_a_range_ends_with_its_file(project: Path) -> None:
    names = ("a.py", "b.py", "c.py", "d.py")
    for name in names:
        (project / name).write_text(LINES)
    replies = [each for name in names for each in edits(*((5, 20, 35) if name < "c" else (5,)), file=name)]
    async with reviewing(working(project, *replies, "Done.")) as reviewer:
        await reviewer.press("j", "v", "J", "j")
        assert (reviewer.path, reviewer.view.place) == ("b.py", 1)
        assert "1 selected in 1 file" in shown(reviewer.title)
        await reviewer.press("v", "j")
        assert "3 selected in 2 files" in shown(reviewer.title)

        await reviewer.press("escape")
        assert (reviewer.path, reviewer.view.place) == ("b.py", 2)
        await reviewer.press("j")
        assert reviewer.path == "c.py"


async def test_the_last_of_several_edits_of_a_hunk_is_reverted_alone(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    again = edit("notes.py", "line_5 = 'agent'\n", "line_5 = 'again'\n")
    agent = working(project, *edits(5, 20), again, "Done.")
    async with reviewing(agent, size=(160, 40)) as reviewer:
        footer = reviewer.screen.query_one(Footer)
        assert "L revert last edit" in shown(footer)
        await reviewer.press("j")
        assert "revert last edit" not in shown(footer)
        await reviewer.press("L")
        assert "No hunk of several edits here. n reverts it." in told(reviewer.pilot)

        await reviewer.press("k", "L")

        assert read(project) == changed(5, 20)
        assert "Reverted the last edit (u undo)" in told(reviewer.pilot)
        assert reviewer.states == ("new", "new")
        assert "revert last edit" not in shown(footer)
        await reviewer.press("u")
        assert "line_5 = 'again'" in read(project)
        await reviewer.press("tab")
        assert "revert last edit" not in shown(footer)
