"""How the files pane and the preview look in every state."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.tui.files.git_marks import GitMarks
from cogency_tui.tui.files.pane import FilesPane
from cogency_tui.tui.files.preview import FilePreview, PreviewLines
from cogency_tui.tui.files.rows import Node
from cogency_tui.tui.files.tree import FileTree
from cogency_tui.tui.kit.command_output import OutputLines
from cogency_tui.tui.kit.file_text import Preview
from cogency_tui.tui.transcript.call_unit import FileChange
from tests.tui.driving import app_over, files_of, main_of, shown, until
from tests.tui.looks import check_looks
from tests.tui.scripted import ScriptedAgent
from tests.tui.stand import Stand

SIZES = ((32, 16), (26, 10))
LETTERS = {
    "src/app.py": "M",
    "src/old.py": "D",
    "src/new.py": "A",
    "src/was.py": "R",
    "src/both.py": "!",
    "x": "?",
}
CODE = 'import os\n\n\ndef main(argv: list[str]) -> int:\n    """漢字"""\n    return len(argv)  # ⟨U+202E⟩\n'


def nodes(*paths: str) -> list[Node]:
    return [Node(path.rstrip("/").rpartition("/")[2], path.rstrip("/"), path.endswith("/")) for path in paths]


def listed(tree: FileTree) -> None:
    tree.list_directory(".", nodes("src/", "tests/", "x/", "README.md", "a very long name of a file.txt"))
    inside = ("src/api/", "src/app.py", "src/both.py", "src/cart.py", "src/new.py", "src/was.py")
    tree.list_directory("src", nodes(*inside))


def pane() -> Stand:
    return Stand(FilesPane(id="files"))


async def test_the_tree_with_what_agent_and_git_changed() -> None:
    async def prepare(pilot: Pilot[Any]) -> None:
        tree = pilot.app.screen.query_one(FileTree)
        listed(tree)
        changes = {path: FileChange(path, 12, 3) for path in ("src/app.py", "src/cart.py", "tests/a/b.py")}
        tree.mark(changes)
        tree.mark_git(GitMarks(LETTERS, {"src": "!", "tests": "M"}, {"src": ("old.py",)}))
        tree.focus()
        await pilot.press("down")

    await check_looks("files-marks", pane, prepare, sizes=SIZES)


async def test_a_filter_being_written() -> None:
    async def prepare(pilot: Pilot[Any]) -> None:
        await write(
            pilot, {"src/app.py": [4, 5], "src/deep/down/in/the/tree/applause.txt": [26, 27], "src/api": []}
        )

    await check_looks("files-filtering", pane, prepare, sizes=SIZES)


async def test_a_filter_that_nothing_fits() -> None:
    async def prepare(pilot: Pilot[Any]) -> None:
        await write(pilot, {})

    await check_looks("files-nothing", pane, prepare, sizes=SIZES)


async def write(pilot: Pilot[Any], found: dict[str, Sequence[int]]) -> None:
    """Write a filter, by which these are found."""
    tree = pilot.app.screen.query_one(FileTree)
    listed(tree)
    tree.focus()
    await pilot.press("slash", "a", "p")
    pilot.app.screen.query_one(FilesPane).show_found("ap", found)


def preview_of(preview: Preview) -> Any:
    async def prepare(pilot: Pilot[Any]) -> None:
        pilot.app.screen.query_one(FilePreview).show(preview)
        pilot.app.screen.query_one(PreviewLines).focus()

    return prepare


async def test_a_preview() -> None:
    lines = OutputLines()
    lines.write(CODE)
    preview = Preview("src/app.py", lines, "python", 120, "ISO-8859-1")
    await check_looks(
        "preview-code", lambda: Stand(FilePreview()), preview_of(preview), sizes=((60, 12), (30, 10))
    )


async def test_a_preview_of_what_cannot_be_shown() -> None:
    preview = Preview("image.png", OutputLines(), problem="image.png is not text (6 bytes, binary).")
    await check_looks("preview-problem", lambda: Stand(FilePreview()), preview_of(preview), sizes=((60, 6),))


@pytest.mark.exhaustive
async def test_the_whole_screen_with_a_preview(project: Path) -> None:
    (project / "src/app.py").write_text(CODE.replace("  # ⟨U+202E⟩", ""))

    async def prepare(pilot: Pilot[Any]) -> None:
        if pilot.app.size.width < 80:
            await pilot.press("f3")
        await until(pilot, lambda: "README.md" in shown(files_of(pilot)))
        files_of(pilot).focus()
        files_of(pilot).reveal_path("src/app.py")
        await until(pilot, lambda: (node := files_of(pilot).node) is not None and node.path == "src/app.py")
        await pilot.press("enter")
        await until(pilot, lambda: (found := main_of(pilot).query(PreviewLines)) and found.first().has_focus)

    await check_looks("main-preview", lambda: app_over(ScriptedAgent(project)), prepare)
