"""Conflicts that are no matter of lines, and those with the sides empty, long or gone: shown and settled."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.tui.driving import shown, told
from tests.tui.review.stage import LINES, Reviewer, edit, reviewing, shell, working, write, write_text

pytestmark = pytest.mark.exhaustive

BEFORE = bytes(range(256))
MINE = BEFORE + b"mine"
NAMES = ("deleted.py", "latin.py", "link.py", "lines.py", "logo")


@pytest.fixture
async def changed(project: Path) -> AsyncIterator[Reviewer]:
    """The review of a turn that changed five files."""
    (project / "logo").write_bytes(BEFORE)
    for name in NAMES[:-1]:
        (project / name).write_text(LINES)
    edits = [edit(name, "line_5 = 5\n", "line_5 = 'agent'\n") for name in NAMES[:-1]]
    async with reviewing(working(project, *edits, shell("printf x >> logo"), "Done.")) as reviewer:
        yield reviewer


async def revert(reviewer: Reviewer, name: str) -> None:
    """Press the key for the file `name`, in which there is a conflict."""
    for _ in NAMES:
        if reviewer.path != name:
            await reviewer.press("J")
    assert reviewer.path == name
    await reviewer.press("n")
    assert reviewer.states == ("conflict",)


async def test_what_is_there_is_left_or_what_was_before_the_agent_is_put_back(
    changed: Reviewer, project: Path
) -> None:
    (project / "deleted.py").unlink()
    await revert(changed, "deleted.py")
    assert told(changed.pilot) == "Not reverted: deleted.py. Resolve at ≠."
    assert "it has been deleted or renamed since" in shown(changed.view)
    await changed.press("e")
    assert "1 current version" in told(changed.pilot)

    (project / "link.py").unlink()
    (project / "link.py").symlink_to("src/app.py")
    await revert(changed, "link.py")
    assert "Cannot be reverted" in shown(changed.view)
    assert "use the current version" in shown(changed.view)
    await changed.press("1")
    assert (project / "link.py").is_symlink()
    await changed.press("u", "2")
    assert not (project / "link.py").is_symlink()
    assert (project / "link.py").read_text() == LINES
    assert changed.states == ("reverted",)

    (project / "logo").write_bytes(MINE)
    await revert(changed, "logo")
    await changed.press("2")
    assert (project / "logo").read_bytes() == BEFORE
    assert changed.states == ("reverted",)
    await changed.press("u")
    assert (project / "logo").read_bytes() == MINE
    assert changed.states == ("conflict",)
    await changed.press("1")
    assert (project / "logo").read_bytes() == MINE
    assert changed.states != ("conflict",)


async def test_lines_that_are_none_very_many_or_no_utf_8(changed: Reviewer, project: Path) -> None:
    latin = LINES.encode().replace(b"line_5 = 5\n", b"caf\xe9\n")
    (project / "latin.py").write_bytes(latin)
    await revert(changed, "latin.py")
    await changed.press("e")
    await changed.until(lambda: "not UTF-8" in told(changed.pilot))
    await changed.press("1")
    assert (project / "latin.py").read_bytes() == latin

    (project / "lines.py").write_text(LINES.replace("line_5 = 5\n", ""))
    await revert(changed, "lines.py")
    assert "nothing" in shown(changed.view)
    many = "".join(f"line_5 = {number}\n" for number in range(100))
    (project / "lines.py").write_text(LINES.replace("line_5 = 5\n", many))
    await changed.press("K", "J")
    assert changed.states == ("conflict",)
    assert "line_5 = 0" in shown(changed.view)
    assert "line_5 = 99" not in shown(changed.view)
    await changed.press("end")
    assert "more lines" in shown(changed.view)
    await changed.press("2")
    assert (project / "lines.py").read_text() == LINES


@pytest.mark.parametrize("by_review", [True, False])
async def test_a_created_file_that_the_user_edited_is_deleted_only_once_one_says_so(
    project: Path, by_review: bool
) -> None:
    path = project / "new.py"
    async with reviewing(working(project, write("new.py", "a = 1\nb = 2\n"), "Done.")) as reviewer:
        if by_review:
            await reviewer.press("e")
            await write_text(reviewer, "a = 1\nb = 'mine'\n", "ctrl+s")
        else:
            path.write_text("a = 1\nb = 'mine'\n")
        await reviewer.press("n")
        assert (reviewer.states, path.read_text()) == (("conflict",), "a = 1\nb = 'mine'\n")
        # What would be lost is there, and what each answer does.
        lines = [line.strip(" ▌") for line in shown(reviewer.view).splitlines()]
        assert "2 ~ b = 'mine'" in lines
        assert any(line.startswith("This file has changed since the agent created it.") for line in lines)
        assert "1 use the current version" in lines
        assert "2 delete the file" in lines
        await reviewer.press("2")
        assert (reviewer.states, path.exists()) == (("reverted",), False)
        await reviewer.press("u", "1")
        assert (reviewer.states, path.read_text()) == (("edited",), "a = 1\nb = 'mine'\n")
        await reviewer.press("u", "u")
        assert reviewer.states == ("edited" if by_review else "new",)


async def test_all_of_a_conflict_can_be_read_on_a_small_screen(project: Path) -> None:
    (project / "deleted.py").write_text(LINES)
    agent = working(project, edit("deleted.py", "line_5 = 5\n", "line_5 = 'agent'\n"), "Done.")
    async with reviewing(agent, size=(40, 12)) as reviewer:
        (project / "deleted.py").unlink()
        await reviewer.press("enter", "n", "end")
        seen = " ".join(shown(reviewer.view).replace("▌", " ").split())
        assert "1 use the current version 2 restore the version before the agent's edit" in seen
