"""The selection of hunks spans files, and every action says what it was about."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.tui.driving import shown, told
from tests.tui.review.stage import LINES, Reviewer, reviewing, working, write_text
from tests.tui.review.test_background_decisions import changed, edits, read


@pytest.fixture
async def two(project: Path) -> AsyncIterator[Reviewer]:
    """Two files on a small screen, with two hunks in the first and one in the second, in the diff."""
    for name in ("a.py", "b.py"):
        (project / name).write_text(LINES)
    replies = [*edits(5, 20, file="a.py"), *edits(5, file="b.py")]
    async with reviewing(working(project, *replies, "Done."), size=(60, 16)) as reviewer:
        await reviewer.press("right")
        yield reviewer


async def test_a_selection_spans_files(two: Reviewer, project: Path) -> None:
    await two.press("x", "J", "x")
    assert "2 selected in 2 files" in shown(two.title)
    await two.press("K")
    assert "2 selected in 2 files" in shown(two.title)
    assert "◆" in shown(two.view)
    await two.press("n")
    assert (read(project, "a.py"), read(project, "b.py")) == (changed(20), LINES)
    assert told(two.pilot) == "Reverted 2 hunks in 2 files (u undo)"
    assert "selected" not in shown(two.title)
    await two.press("u")
    assert (read(project, "a.py"), read(project, "b.py")) == (changed(5, 20), changed(5))


async def test_a_selection_is_kept_at_once_and_undone_at_once(two: Reviewer) -> None:
    await two.press("x", "J", "x", "y")
    assert told(two.pilot) == "Kept 2 hunks in 2 files (u undo)"
    assert two.states == ("kept",)
    await two.press("u")
    assert two.states == ("new",)
    await two.press("K")
    assert two.states == ("new", "new")


async def test_what_is_done_to_another_file_than_the_shown_one_is_reported(two: Reviewer) -> None:
    await two.press("x", "J")
    assert "1 selected in 1 file" in shown(two.title)
    await two.press("y")
    assert told(two.pilot) == "Kept 1 hunk in 1 file (u undo)"
    assert two.states == ("new",)
    await two.press("K")
    assert two.states == ("kept", "new")


async def test_a_comment_is_about_the_selection(two: Reviewer) -> None:
    await two.press("x", "J", "x", "c")
    await write_text(two, "Why?", "enter")
    assert "Comment saved in 2 files" in told(two.pilot)
    for path in ("b.py", "a.py"):
        assert two.view.file is not None
        assert (two.path, len(two.view.file.hunks[0].comments)) == (path, 1)
        await two.press("K")


async def test_a_whole_file_is_not_called_a_hunk(two: Reviewer) -> None:
    await two.press("N")
    assert told(two.pilot) == "Reverted (u undo)"


async def test_the_selection_in_the_shown_file_is_copied(two: Reviewer) -> None:
    await two.press("x", "J", "x", "Y")
    assert two.app.clipboard == "-line_5 = 5\n+line_5 = 'agent'\n"


async def test_esc_clears_the_selection_in_all_files(two: Reviewer) -> None:
    await two.press("x", "J", "escape")
    assert two.is_open
    assert "selected" not in shown(two.title)
    await two.press("K")
    assert "◆" not in shown(two.view)


async def test_in_the_list_a_whole_file_is_selected(two: Reviewer, project: Path) -> None:
    await two.press("escape", "x")
    title = two.screen.query_one("#review-files-title")
    assert "2 selected" in str(title.render_line(0).text)
    assert "◆ a.py" in shown(two.files)
    await two.press("x")
    assert "selected" not in str(title.render_line(0).text)
    await two.press("x", "J", "x", "slash", *"b.py", "enter", "n")
    # Also what the filter hides.
    assert (read(project, "a.py"), read(project, "b.py")) == (LINES, LINES)
