"""Conflicts that are no matter of lines, and one with several places: how they are shown and settled."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.tui.driving import shown, told
from tests.tui.review.stage import LINES, Reviewer, edit, reviewing, shell, working

pytestmark = pytest.mark.exhaustive

AGENT = bytes(range(256)) + b"x"
MINE = bytes(range(256)) + b"mine"


@pytest.fixture
async def logo(project: Path) -> AsyncIterator[Reviewer]:
    """The review of a change of a binary file that the person has changed since."""
    (project / "logo").write_bytes(bytes(range(256)))
    async with reviewing(working(project, shell("printf x >> logo"), "Done.")) as reviewer:
        (project / "logo").write_bytes(MINE)
        await reviewer.press("n")
        assert reviewer.states == ("conflict",)
        yield reviewer


async def test_what_is_there_now_is_left(logo: Reviewer, project: Path) -> None:
    await logo.press("1")
    assert (project / "logo").read_bytes() == MINE
    assert logo.states != ("conflict",)


async def test_what_was_before_the_agent_is_put_back_and_that_is_undone(
    logo: Reviewer, project: Path
) -> None:
    await logo.press("2")
    assert (project / "logo").read_bytes() == bytes(range(256))
    assert logo.states == ("reverted",)
    await logo.press("u")
    assert (project / "logo").read_bytes() == MINE
    assert logo.states == ("conflict",)


async def test_lines_that_are_no_utf_8_are_not_written_anew(project: Path) -> None:
    (project / "notes.py").write_bytes(b"one\ntwo\n")
    agent = working(project, edit("notes.py", "one\n", "agent\n"), "Done.")
    async with reviewing(agent) as reviewer:
        (project / "notes.py").write_bytes(b"caf\xe9\ntwo\n")
        await reviewer.press("n", "e")
        await reviewer.until(lambda: "not UTF-8" in told(reviewer.pilot))
        await reviewer.press("1")
        assert (project / "notes.py").read_bytes() == b"caf\xe9\ntwo\n"


async def test_a_file_that_became_a_link_is_left_or_put_back(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, edit("notes.py", "line_5 = 5\n", "line_5 = 'agent'\n"), "Done.")
    async with reviewing(agent) as reviewer:
        (project / "notes.py").unlink()
        (project / "notes.py").symlink_to("src/app.py")
        await reviewer.press("n")
        assert reviewer.states == ("conflict",)
        assert "Cannot be reverted" in shown(reviewer.view)
        assert "use the current version" in shown(reviewer.view)
        await reviewer.press("1")
        assert (project / "notes.py").is_symlink()
        await reviewer.press("u", "2")
        assert not (project / "notes.py").is_symlink()
        assert (project / "notes.py").read_text() == LINES
        assert reviewer.states == ("reverted",)


async def test_a_side_without_lines_and_one_with_very_many_can_be_read(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    many = "".join(f"line_5 = {number}\n" for number in range(100))
    agent = working(project, edit("notes.py", "line_5 = 5\n", "line_5 = 'agent'\n"), "Done.")
    async with reviewing(agent) as reviewer:
        (project / "notes.py").write_text(LINES.replace("line_5 = 5\n", ""))
        await reviewer.press("n")
        assert reviewer.states == ("conflict",)
        assert "nothing" in shown(reviewer.view)
        (project / "notes.py").write_text(LINES.replace("line_5 = 5\n", many))
        await reviewer.press("q")
        await reviewer.open()
        assert reviewer.states == ("conflict",)
        assert "line_5 = 0" in shown(reviewer.view)
        assert "line_5 = 99" not in shown(reviewer.view)
        await reviewer.press("end")
        assert "more lines" in shown(reviewer.view)
        await reviewer.press("2")
        assert (project / "notes.py").read_text() == LINES
