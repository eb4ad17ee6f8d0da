"""The counts of the file tree are the difference on the disk, also after changes from outside."""

from pathlib import Path

import pytest

from tests.tui.driving import files_of, finished, main_of, send, shown, until
from tests.tui.review.stage import app_over, edit, working

pytestmark = pytest.mark.exhaustive


async def test_the_tree_counts_what_is_there_now(project: Path) -> None:
    (project / "notes.txt").write_text("one\ntwo\nthree\n")
    replies = [edit("notes.txt", "two", "TWO"), "Done.", edit("notes.txt", "TWO", "2"), "Done."]
    agent = working(project, *replies)
    async with app_over(agent).run_test(size=(120, 36)) as pilot:
        tree, title = files_of(pilot), main_of(pilot).query_one("#files-title")

        def row() -> str:
            lines = [line for line in shown(tree).splitlines() if "notes.txt" in line]
            return " ".join(lines[0].split()) if lines else ""

        for _ in range(2):
            await send(pilot, "go")
            await finished(pilot)
            await until(pilot, lambda: row() == "● notes.txt +1 −1")

        (project / "notes.txt").write_text("one\n2\nthree\nmine\n")
        await until(pilot, lambda: row() == "● notes.txt +2 −1")
        # As by `git checkout`.
        (project / "notes.txt").write_text("one\ntwo\nthree\n")
        await until(pilot, lambda: row() == "notes.txt" and "changed" not in shown(title))
        (project / "notes.txt").write_text("one\n2\nthree\n")
        await until(pilot, lambda: row() == "● notes.txt +1 −1" and "1 changed" in shown(title))
    await agent.close()
