"""Changes of which nothing is left are at the end of the list, and not counted."""

from pathlib import Path

import pytest

from tests.tui.driving import shown, told
from tests.tui.review.stage import LINES, Reviewer, edit, going_on, reviewing, working, write
from tests.tui.review.test_looking import rows_of


async def test_overwritten_changes_come_last_and_do_not_count(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(
        project,
        *[write("a.py", "first\n"), edit("notes.py", "_5 = 5", "_5 = 0"), "Done."],
        *[edit("a.py", "first", "second"), edit("notes.py", "_5 = 0", "_5 = 5"), "Done."],
    )
    async with reviewing(agent, turns=2) as reviewer:
        assert rows_of(reviewer) == [
            *["Turn 2 go", "● M a.py +1 −1 new", "● M notes.py +1 −1 new"],
            *["No longer in the files", "∅ A a.py +1 gone", "∅ M notes.py +1 −1 gone"],
        ]
        assert "2 hunks  ● 2 new  ∅ 2 gone" in shown(reviewer.header)
        # They are neither the first to decide about, nor the next.
        await reviewer.press("y", "y")
        assert (reviewer.path, reviewer.states) == ("notes.py", ("kept",))
        await reviewer.press("J")
        assert "∅ gone  hunk 1 of 1" in shown(reviewer.view)
        assert "gone" in shown(reviewer.title)


async def test_a_file_is_new_while_any_of_its_lines_are_left(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    first = [edit("notes.py", "_5 = 5", "_5 = 0"), edit("notes.py", "_30 = 30", "_30 = 0"), "Done."]
    agent = working(project, *first, edit("notes.py", "_5 = 0", "_5 = 1"), "Done.")
    async with reviewing(agent, turns=2) as reviewer:
        assert rows_of(reviewer)[-2:] == ["Turn 1 go", "● M notes.py +2 −2 new"]
        await reviewer.press("J")
        assert reviewer.states == ("gone", "new")
        assert reviewer.view.place == 1
        await reviewer.press("y")
        assert "2✓" not in rows_of(reviewer)[-1]
        assert rows_of(reviewer)[-1] == "✓ M notes.py +2 −2 kept"


@pytest.mark.parametrize("size", [(100, 30), (80, 24), (60, 16)])
async def test_keeping_what_the_user_discarded_restores_it(project: Path, size: tuple[int, int]) -> None:
    (project / "app.py").write_text(LINES)
    agent = working(project, edit("app.py", "_5 = 5", "_5 = 0"), write("NOTES.md", "a\nb\nc\n"), "Done.")
    async with going_on(agent, "go", size=size) as pilot:
        (project / "app.py").write_text(LINES)
        (project / "NOTES.md").unlink()
        reviewer = Reviewer(pilot)
        await reviewer.open()
        assert rows_of(reviewer)[0] == "No longer in the files"
        for path, text in (("NOTES.md", "a\nb\nc\n"), ("app.py", LINES.replace("_5 = 5", "_5 = 0"))):
            while reviewer.path != path:
                await reviewer.press("J")
            await reviewer.press("y")
            assert "Agent's version restored and kept (u undo)" in told(pilot)
            assert (project / path).read_text() == text
            assert (reviewer.path, reviewer.states) == (path, ("kept",))
            assert size[0] < 100 or "applied" in shown(reviewer.view)
        await reviewer.press("u", "u")
        assert (project / "app.py").read_text() == LINES
        assert not (project / "NOTES.md").exists()
        assert rows_of(reviewer)[0] == "No longer in the files"


async def test_reverting_what_the_user_discarded_changes_nothing_and_says_so(project: Path) -> None:
    agent = working(project, write("NOTES.md", "a\nb\nc\n"), "Done.")
    async with going_on(agent, "go", size=(80, 24)) as pilot:
        (project / "NOTES.md").unlink()
        reviewer = Reviewer(pilot)
        await reviewer.open()
        for key in "nN":
            await reviewer.press(key)
            assert told(pilot) == "Nothing to revert: no longer in the file."
            assert reviewer.states == ("gone",)
