"""Writes of two processes to one file: one waits for the other, and notices what that has written."""

import asyncio
import threading
from concurrent.futures import Future
from pathlib import Path

import pytest

from cogency_tui.agent.edits import project_lock
from cogency_tui.agent.edits.project_lock import writing_files
from cogency_tui.errors import ToolError
from cogency_tui.workspace.paths import Staged, Workspace
from tests.agent.journaling import desk_at


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Is set when somebody waits for a lock."""
    event, sleep = threading.Event(), asyncio.sleep

    async def wait(seconds: float) -> None:
        event.set()
        await sleep(seconds)

    monkeypatch.setattr(project_lock.asyncio, "sleep", wait)
    return event


async def test_no_write_is_lost_between_the_check_and_the_rename_of_another(
    tmp_path: Path, waiting: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    places, loop = (tmp_path / "project", tmp_path / "data"), asyncio.get_running_loop()
    async with desk_at(*places) as own, desk_at(*places) as other:
        own.put("a", "x\n")
        commit, writes = Workspace.commit, list[Future[None]]()

        def commit_late(workspace: Workspace, staged: Staged) -> None:
            if not writes:
                # The file was checked: now the other one writes, or waits.
                writes.append(asyncio.run_coroutine_threadsafe(other.write(("a", "other\nx\n")), loop))
                while not (waiting.wait(0.01) or writes[0].done()):
                    pass
            commit(workspace, staged)

        monkeypatch.setattr(Workspace, "commit", commit_late)
        await own.write(("a", "x\nown\n"))
        with pytest.raises(ToolError, match="a has just changed"):
            await asyncio.wrap_future(writes[0])
        assert (own.root / "a").read_text() == "x\nown\n"


async def test_a_process_that_never_lets_go_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_lock, "PATIENCE", 0.01)
    async with writing_files(tmp_path, Path("/p")), writing_files(tmp_path, Path("/p")):
        pass


async def test_another_project_and_a_place_without_locks_wait_for_nothing(
    tmp_path: Path, waiting: threading.Event
) -> None:
    (tmp_path / "file").touch()
    async with writing_files(tmp_path, Path("/p")), writing_files(tmp_path, Path("/q")):
        pass
    async with writing_files(tmp_path / "file", Path("/p")), writing_files(tmp_path / "file", Path("/p")):
        pass
    assert not waiting.is_set()
