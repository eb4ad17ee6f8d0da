"""Several conversations in a real terminal: whatever runs ends with the program, and can be resumed."""

import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.tui.pty import Terminal
from tests.tui.terminal.test_pty import READY, started

pytestmark = pytest.mark.pty

CTRL_N, CTRL_Q, ENTER = "\x0e", "\x11", "\r"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "shop"
    directory.mkdir()
    return directory


def run_sleep(terminal: Terminal, seconds: int) -> None:
    """Have the agent run a command that does not end, and return when it runs."""
    terminal.send(f"run `sleep {seconds}`" + ENTER)
    terminal.wait_for(lambda _text: sleeping(seconds))


def sleeping(seconds: int) -> bool:
    """Return whether a process sleeps for so many seconds."""
    wanted = f"sleep\0{seconds}\0".encode()
    return any(wanted == _command_of(path) for path in Path("/proc").glob("[0-9]*/cmdline"))


def _command_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def keys(terminal: Terminal) -> None:
    terminal.send(CTRL_Q)
    terminal.wait_for("2 conversations are in progress")
    terminal.press_until("y", lambda _text: terminal.process.poll() is not None)


def terminate(terminal: Terminal) -> None:
    terminal.process.send_signal(signal.SIGTERM)


@pytest.mark.parametrize(("quit", "status"), [(keys, 0), (terminate, 143)])
def test_all_that_runs_ends_with_the_program_and_can_be_resumed(
    project: Path, quit: Callable[[Terminal], None], status: int
) -> None:
    # The two cases may run at the same time.
    first, second = 47_000 + status, 48_000 + status
    with started(project, "--permissions", "auto") as terminal:
        terminal.wait_for(READY)
        run_sleep(terminal, first)
        terminal.send(CTRL_N)
        terminal.wait_for("1 running")
        run_sleep(terminal, second)
        assert sleeping(first)
        terminal.send("an unsent draft")
        terminal.wait_for("an unsent draft")
        quit(terminal)
        assert terminal.process.wait(60) == status
    assert not sleeping(first)
    assert not sleeping(second)
    data = project.parent / "data"
    assert not [*(data / "open").iterdir()]
    with closing(sqlite3.connect(data / "cogency.db")) as connection:
        ids = [id for (id,) in connection.execute("SELECT id FROM conversations ORDER BY created")]
    for id, seconds in zip(reversed(ids), (second, first), strict=True):
        with started(project, "--resume", id) as terminal:
            terminal.wait_for(f"sleep {seconds}")
            terminal.wait_for("■ Interrupted")
            if seconds == second:
                terminal.wait_for("an unsent draft")
            assert terminal.leave() == 0
