"""The log of slow frames says how long a frame took and where the time went."""

import asyncio
import gc
import re
import stat
from pathlib import Path
from time import perf_counter

import pytest

from cogency_tui.tui.frame_log import FrameLog
from tests.tui.pty import Terminal


def dawdle(seconds: float) -> None:
    until = perf_counter() + seconds
    while perf_counter() < until:
        pass


def watched(path: Path, *seconds: float) -> list[str]:
    """The lines of a log over a loop in which as many frames take these times."""

    async def work() -> None:
        for each in seconds:
            dawdle(each)
            await asyncio.sleep(0.001)

    log = FrameLog(path, late=0.05)
    with asyncio.Runner(loop_factory=log.loop) as runner:
        runner.run(work())
    log.close()
    return path.read_text("utf-8").splitlines()


def test_a_late_frame_is_written_down_with_what_it_did(tmp_path: Path) -> None:
    lines = watched(tmp_path / "data" / "debug.log", 0.2)

    late = [line for line in lines if "dawdle" in line]
    assert len(late) == 1
    took = re.search(r" ([\d.]+) ms, +([\d.]+) ms of them at work  \S*test_frame_log\.dawdle", late[0])
    assert took is not None
    assert float(took[1]) >= 200
    assert float(took[2]) <= float(took[1])


def test_waiting_is_no_frame(tmp_path: Path) -> None:
    async def wait() -> None:
        await asyncio.sleep(0.2)

    log = FrameLog(tmp_path / "debug.log", late=0.15)
    with asyncio.Runner(loop_factory=log.loop) as runner:
        runner.run(wait())
    log.close()

    assert not [line for line in (tmp_path / "debug.log").read_text().splitlines() if "wait" in line]


def test_nothing_of_it_stays_when_it_is_closed(tmp_path: Path) -> None:
    before = list(gc.callbacks)
    watched(tmp_path / "debug.log", 0.0)

    assert gc.callbacks == before


def test_a_log_goes_on_where_it_was_and_is_the_persons_own(tmp_path: Path) -> None:
    path = tmp_path / "debug.log"
    watched(path, 0.0)
    watched(path, 0.0)

    assert path.read_text().count("begins; frames over 50 ms") == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.exhaustive
def test_the_program_keeps_it_with_debug(tmp_path: Path) -> None:
    project, data = tmp_path / "shop", tmp_path / "data"
    project.mkdir()
    with Terminal("--debug", "--provider", "offline", cwd=project, data=data) as terminal:
        terminal.wait_for("Your coding agent for this directory")
        assert terminal.leave() == 0

    assert "begins; frames over 16 ms" in (data / "debug.log").read_text("utf-8")
