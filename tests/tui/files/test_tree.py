"""The file tree: listed when opened, marked where the agent changed something, true to the disk."""

from pathlib import Path

import pytest

from tests.tui.driving import app_over, files_of, main_of, send, shown, until
from tests.tui.scripted import ScriptedAgent, call, respond, result

DIFF = "--- a/src/app.py\n+++ b/src/app.py\n@@ -1 +1,2 @@\n-x\n+y\n+z\n"


@pytest.mark.exhaustive
async def test_directories_are_listed_when_they_are_opened_and_follow_the_disk(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 30)) as pilot:
        tree = files_of(pilot)
        await until(pilot, lambda: "▸ src" in shown(tree))
        assert "app.py" not in shown(tree)
        tree.focus()

        await pilot.press("enter")
        await until(pilot, lambda: "app.py" in shown(tree))
        await pilot.press("down", "right")
        await until(pilot, lambda: "views.py" in shown(tree))
        await pilot.press("left", "left", "left")
        assert "app.py" not in shown(tree)

        # A click does the same.
        await pilot.click(tree, offset=(4, 1))
        await until(pilot, lambda: "test_app.py" in shown(tree))
        await pilot.click(tree, offset=(4, 1))
        assert "test_app.py" not in shown(tree)

        number = 0

        def appears() -> bool:
            # Written again and again: watching begins some time after the first frame.
            nonlocal number
            number += 1
            (project / f"new_{number % 3}.txt").write_text(str(number))
            return "new_0.txt" in shown(tree)

        await until(pilot, appears)


@pytest.mark.exhaustive
async def test_what_the_agent_changed_is_opened_and_marked(project: Path) -> None:
    agent = ScriptedAgent(
        project, [call("c", "edit", file="src/app.py"), result("c", "edit", content=DIFF), respond("done")]
    )
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await send(pilot, "change it")
        tree = files_of(pilot)
        await until(pilot, lambda: "● app.py" in shown(tree))
        assert "+2 −1" in shown(tree)
        assert "1 changed" in shown(main_of(pilot).query_one("#files-title"))


async def test_ignored_files_are_not_listed_and_a_name_made_to_deceive_is_shown_for_what_it_is(
    project: Path,
) -> None:
    (project / ".gitignore").write_text("*.log\n")
    (project / "debug.log").write_text("")
    (project / "node_modules").mkdir()
    (project / "a\u202etxt.exe").write_text("")
    (project / "[b]x \x1b[2J").write_text("")
    async with app_over(ScriptedAgent(project)).run_test(size=(160, 30)) as pilot:
        await until(pilot, lambda: "README.md" in shown(files_of(pilot)))
        assert "debug.log" not in shown(files_of(pilot))
        assert "node_modules" not in shown(files_of(pilot))
        await until(pilot, lambda: "⟨U+202E⟩" in shown(files_of(pilot)))
        assert "[b]x ␛[2J" in shown(files_of(pilot))
