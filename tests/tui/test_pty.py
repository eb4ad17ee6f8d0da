"""The real application in a real terminal, as a person uses it."""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tui.terminal import Terminal

pytestmark = pytest.mark.pty

REPLACE = "replace 'hello' with 'goodbye' in greet.py"
CTRL_N, CTRL_O, CTRL_Q, CTRL_R, ESCAPE, ENTER = "\x0e", "\x0f", "\x11", "\x12", "\x1b", "\r"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "shop"
    directory.mkdir()
    (directory / "greet.py").write_text('print("hello")\n')
    return directory


@pytest.fixture(params=[(160, 45), (100, 30), (80, 24)], ids=lambda size: f"{size[0]}x{size[1]}")
def size(request: pytest.FixtureRequest) -> tuple[int, int]:
    return request.param


def test_a_change_is_asked_for_made_and_answered(
    project: Path, tmp_path: Path, size: tuple[int, int]
) -> None:
    with Terminal(cwd=project, data=tmp_path / "data", columns=size[0], rows=size[1]) as terminal:
        terminal.wait_for("offline")
        terminal.send(REPLACE)
        terminal.wait_for(REPLACE)
        terminal.send(ENTER)
        terminal.wait_for("once")
        assert 'print("goodbye")' in terminal.text
        assert (project / "greet.py").read_text() == 'print("hello")\n'
        # A question takes no answer in its first moments: keys typed into it by chance do not count.
        _press_until(terminal, "y", lambda text: "Replaced" in text)
        assert (project / "greet.py").read_text() == 'print("goodbye")\n'
        terminal.send(CTRL_Q)
        assert terminal.process.wait(10) == 0


def test_a_prompt_on_the_command_line_is_sent(project: Path, tmp_path: Path) -> None:
    with Terminal("list files", cwd=project, data=tmp_path / "data") as terminal:
        terminal.wait_for(lambda text: text.count("greet.py") >= 2)


def test_keys_typed_while_it_starts_are_not_lost(project: Path, tmp_path: Path) -> None:
    with Terminal(cwd=project, data=tmp_path / "data") as terminal:
        terminal.send("list files please")
        terminal.wait_for("list files please")


def test_escape_interrupts_and_the_next_message_goes_on(project: Path, tmp_path: Path) -> None:
    arguments = ("--permissions", "auto")
    with Terminal(*arguments, cwd=project, data=tmp_path / "data") as terminal:
        terminal.wait_for("offline")
        terminal.send("run `printf sta%s rted; sleep 60`" + ENTER)
        terminal.wait_for("started")
        terminal.send(ESCAPE)
        terminal.wait_for(lambda text: "nterrupted" in text, timeout=5)
        terminal.send("list files" + ENTER)
        terminal.wait_for("These are the files")


def test_after_a_kill_the_conversation_is_found_with_all_that_was_shown(
    project: Path, tmp_path: Path
) -> None:
    (project / "long.md").write_text(
        "# Title\n\n" + "".join(f"## Section {n}\n\ntext\n\n" for n in range(200))
    )
    data = tmp_path / "data"
    slow = {"COGENCY_OFFLINE_DELAY": "0.05"}
    with Terminal(cwd=project, data=data, environ=slow) as terminal:
        terminal.wait_for("offline")
        terminal.send("explain long.md" + ENTER)
        terminal.wait_for("long.md has")
        _wait_for_draft(data, "respond")
        shown = terminal.text
        terminal.kill()
    with Terminal(cwd=project, data=data) as terminal:
        terminal.wait_for("offline")
        terminal.send(CTRL_R)
        terminal.wait_for("explain long.md")
        terminal.send(ENTER)
        text = terminal.wait_for("long.md has")
        assert "explain long.md" in shown
        assert "read" in text


def test_a_resize_in_mid_stream_leaves_a_whole_screen(project: Path, tmp_path: Path) -> None:
    slow = {"COGENCY_OFFLINE_DELAY": "0.02"}
    with Terminal(
        "explain greet.py", cwd=project, data=tmp_path / "data", columns=160, environ=slow
    ) as terminal:
        terminal.wait_for("greet.py")
        for columns, rows in ((80, 24), (60, 16), (140, 40), (100, 30)):
            terminal.resize(columns, rows)
        terminal.wait_for(lambda text: "offline" in text and "greet.py" in text)


def _press_until(terminal: Terminal, key: str, done: Callable[[str], bool]) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        terminal.send(key)
        try:
            terminal.wait_for(done, timeout=0.5)
        except AssertionError:
            continue
        return
    terminal.wait_for(done, timeout=0.1)


def _wait_for_draft(data: Path, kind: str) -> None:
    connection = sqlite3.connect(f"file:{data / 'cogency.db'}?mode=ro", uri=True)
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if connection.execute("SELECT count(*) FROM drafts WHERE type = ?", (kind,)).fetchone()[0]:
                return
    finally:
        connection.close()
    raise AssertionError("no draft was saved")
