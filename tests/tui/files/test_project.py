"""Watching: only what is followed, and what git keeps, whatever changes beside it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cogency_tui.tui.files.project import Changed, ProjectFiles
from cogency_tui.workspace.paths import Workspace

PATIENCE = 20.0


class Watched:
    """What has been told so far."""

    def __init__(self, files: ProjectFiles) -> None:
        self.files = files
        self.directories: set[str] = set()
        self.rules: set[str] = set()
        self.git = False

    def take(self, changed: Changed) -> None:
        self.directories |= changed.directories
        self.rules |= changed.rules
        self.git = self.git or changed.git


@asynccontextmanager
async def watching(project: Path, *directories: str) -> AsyncGenerator[Watched]:
    watched = Watched(ProjectFiles(Workspace(project)))

    async def listen() -> None:
        async for changed in watched.files.changes():
            watched.take(changed)

    watched.files.follow(directories)
    task = asyncio.create_task(listen())
    try:
        yield watched
    finally:
        task.cancel()
        await asyncio.wait([task])


async def touch_until(path: Path, condition: object) -> None:
    """Write a file until the change has been told: when watching begins nobody says."""
    assert callable(condition)
    async with asyncio.timeout(PATIENCE):
        number = 0
        while not condition():
            number += 1
            path.write_text(str(number))
            await asyncio.sleep(0.05)


async def test_changes_are_told_by_directory(project: Path) -> None:
    async with watching(project, ".", "src") as watched:
        await touch_until(project / "src/app.py", lambda: "src" in watched.directories)
        (project / "tests/test_app.py").write_text("not followed")
        await touch_until(project / "README.md", lambda: "." in watched.directories)
        assert watched.directories == {".", "src"}


async def test_what_is_followed_can_change_without_a_gap(project: Path) -> None:
    async with watching(project, ".") as watched:
        await touch_until(project / "README.md", lambda: "." in watched.directories)
        watched.files.follow([".", "src/api"])
        await touch_until(project / "src/api/views.py", lambda: "src/api" in watched.directories)
        watched.directories.clear()
        await touch_until(project / "README.md", lambda: "." in watched.directories)


async def test_rules_and_git_are_told_apart(project: Path) -> None:
    (project / ".git").mkdir()
    async with watching(project, ".") as watched:
        await touch_until(project / ".git/index", lambda: watched.git)
        await touch_until(project / ".gitignore", lambda: "." in watched.rules)


async def test_a_directory_that_is_not_there_does_no_harm(project: Path) -> None:
    async with watching(project, ".", "gone") as watched:
        await touch_until(project / "README.md", lambda: "." in watched.directories)


@pytest.mark.parametrize("path", ["gone", "README.md", "../outside"])
async def test_what_is_no_directory_of_the_project_lists_as_nothing(project: Path, path: str) -> None:
    assert await ProjectFiles(Workspace(project)).list_directory(path) is None
