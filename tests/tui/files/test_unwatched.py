"""Where files cannot be watched, what the program itself writes is seen at once: in the tree, and in the header."""

import subprocess
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.errors import WorkspaceError
from cogency_tui.tui.main.screen import MainScreen
from cogency_tui.tui.review.screen import ReviewScreen
from cogency_tui.tui.undo.screen import UndoScreen
from tests.tui.driving import at_work, files_of, finished, header_of, main_of, send, shown, until
from tests.tui.review.stage import edit, working, write

pytestmark = pytest.mark.exhaustive


async def unwatched(directories: Iterable[str], stop: Event) -> AsyncGenerator[set[str]]:
    del directories, stop
    raise WorkspaceError("Too many watches.")
    yield set()


@pytest.fixture
def repository(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one commit, whose files cannot be watched."""
    monkeypatch.setattr("cogency_tui.tui.files.project.follow_changes", unwatched)
    (project / "notes.txt").write_text("one\ntwo\n")
    person = ("-c", "user.name=a", "-c", "user.email=a@b")
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "one")):
        subprocess.run(["git", *person, *arguments], cwd=project, check=True, capture_output=True)
    return project


def is_changed(pilot: Pilot[Any]) -> bool:
    return "main*" in shown(header_of(pilot)) and "new.txt" in shown(files_of(pilot))


def is_clean(pilot: Pilot[Any]) -> bool:
    tree = shown(files_of(pilot))
    return "main*" not in shown(header_of(pilot)) and "M notes.txt" not in tree and "new.txt" not in tree


async def run(pilot: Pilot[Any], command: str) -> None:
    await until(pilot, lambda: isinstance(pilot.app.screen, MainScreen))
    await send(pilot, command)
    await until(pilot, lambda: isinstance(pilot.app.screen, UndoScreen))
    await pilot.press("y")


async def test_an_undo_and_a_decision_of_the_review_are_seen_at_once(repository: Path) -> None:
    agent = working(repository, edit("notes.txt", "two", "TWO"), write("new.txt", "new\n"), "Done.")
    async with at_work(agent) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        await until(pilot, lambda: is_changed(pilot))
        await run(pilot, "/undo")
        await until(pilot, lambda: is_clean(pilot))
        await run(pilot, "/redo")
        await until(pilot, lambda: is_changed(pilot))

        await pilot.press("f5")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        await until(pilot, lambda: "notes.txt" in shown(pilot.app.screen.query_one("#review-files")))
        await pilot.press("T")
        await until(pilot, lambda: not (repository / "new.txt").exists())
        await pilot.press("q")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await until(pilot, lambda: is_clean(pilot))
