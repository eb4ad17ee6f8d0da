"""The real application in a real terminal, as a person uses it."""

import asyncio
import re
import sqlite3
import time
from pathlib import Path

import pytest

from tests.peers.chat import ChatPeer
from tests.peers.server import Fault
from tests.tui.pty import IDLE_TITLE, Terminal

pytestmark = pytest.mark.pty

REPLACE = "replace 'hello' with 'goodbye' in greet.py"
CTRL_DOWN, CTRL_HOME = "\x1b[1;5B", "\x1b[1;5H"
CTRL_L, CTRL_N, CTRL_O, CTRL_R, CTRL_S = "\x0c", "\x0e", "\x0f", "\x12", "\x13"
ESCAPE, ENTER, F1, F2 = "\x1b", "\r", "\x1bOP", "\x1bOQ"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "shop"
    directory.mkdir()
    (directory / "greet.py").write_text('print("hello")\n')
    return directory


@pytest.mark.exhaustive
def test_a_change_is_asked_for_made_and_answered(project: Path, tmp_path: Path) -> None:
    with Terminal(cwd=project, data=tmp_path / "data", columns=80, rows=24) as terminal:
        terminal.wait_for("offline")
        terminal.send(REPLACE)
        terminal.wait_for(REPLACE)
        terminal.send(ENTER)
        terminal.wait_for("? Edit greet.py")
        terminal.wait_for('print("goodbye")')
        assert (project / "greet.py").read_text() == 'print("hello")\n'
        # A question takes no answer in its first moments: keys typed into it by chance do not count.
        terminal.press_until("y", lambda text: "Replaced" in text)
        assert (project / "greet.py").read_text() == 'print("goodbye")\n'
        assert terminal.leave() == 0


def test_keys_typed_while_it_starts_are_not_lost(project: Path, tmp_path: Path) -> None:
    with Terminal(cwd=project, data=tmp_path / "data") as terminal:
        terminal.send("list files please")
        terminal.wait_for("list files please")


@pytest.mark.exhaustive
def test_escape_interrupts_and_the_next_message_goes_on(project: Path, tmp_path: Path) -> None:
    arguments = ("--permissions", "auto")
    with Terminal(*arguments, cwd=project, data=tmp_path / "data", columns=170) as terminal:
        terminal.wait_for("offline")
        terminal.send("run `printf sta%s rted; sleep 60`" + ENTER)
        terminal.wait_for("started")
        terminal.send(ESCAPE)
        terminal.wait_for("nterrupted")
        terminal.send("list files" + ENTER)
        terminal.wait_for("These are the files")


@pytest.mark.exhaustive
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
        shown = terminal.wait_for(lambda text: "long.md has" in text and "explain long.md" in text)
        _wait_for_draft(data, "long.md` has")
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
        terminal.wait_for("explain greet.py")
        for columns, rows in ((80, 24), (60, 16), (140, 40), (100, 30)):
            terminal.resize(columns, rows)
        terminal.wait_for(lambda text: "offline" in text and "greet.py has" in text)


@pytest.mark.exhaustive
async def test_a_wait_counts_down_until_escape_and_another_model_is_picked(
    project: Path, tmp_path: Path
) -> None:
    limited = Fault(status=429, headers={"retry-after": "60"}, body='{"error": {"message": "Slow down."}}')
    async with ChatPeer(["Hello there."], faults=[limited], model="served") as peer:

        def drive() -> None:
            with _at_a_server(peer, project, tmp_path, (160, 45)) as terminal:
                terminal.send("hi" + ENTER)
                first = _seconds(terminal.wait_for(_seconds))
                terminal.wait_for(lambda text: 0 < _seconds(text) < first and "(2 of 5)" in text)
                terminal.send(ESCAPE)
                terminal.wait_for(lambda text: "Enter retry" in text and not _seconds(text))
                terminal.send(F2)
                terminal.wait_for("no key needed")
                terminal.send("mine" + ENTER)
                terminal.wait_for("served")
                terminal.send(ENTER)
                terminal.wait_for("mine/served")
                terminal.send("again" + ENTER)
                terminal.wait_for("Hello there.")

        await asyncio.to_thread(drive)
        posted = [request.body["model"] for request in peer.requests if request.method == "POST"]
    assert posted == ["m", "served"]


@pytest.mark.exhaustive
async def test_a_conversation_is_summarised_and_the_summary_seen(project: Path, tmp_path: Path) -> None:
    async with ChatPeer(["Hello there.", "We greeted each other."]) as peer:

        def drive() -> None:
            with _at_a_server(peer, project, tmp_path, (100, 30)) as terminal:
                terminal.send("hi" + ENTER)
                idle = f"{project.name} · cogency"
                terminal.wait_for(lambda text: "Hello there." in text and terminal.title == idle)
                _command(terminal, "/compact")
                terminal.wait_for("Summarizes 2 messages, of which 1 stays verbatim.")
                terminal.send(ENTER)
                terminal.wait_for("Summarized ")
                _command(terminal, "/context")
                terminal.wait_for("Older messages are replaced by a summary: 4 words")
                terminal.send("e")
                terminal.wait_for("We greeted each other.")
                terminal.send(" Twice." + CTRL_S)
                terminal.wait_for("Summary saved.")
                _command(terminal, "/cost")
                terminal.wait_for("generated")

        await asyncio.to_thread(drive)


def _at_a_server(peer: ChatPeer, project: Path, tmp_path: Path, size: tuple[int, int]) -> Terminal:
    """The application with `mine`, which is the peer, ready for the first key."""
    config = tmp_path / "config.toml"
    config.write_text(
        f'provider = "mine"\ntitles = false\n[providers.mine]\nbase_url = "{peer.base_url}"\nmodel = "m"\n'
    )
    environ = {"COGENCY_CONFIG": str(config)}
    return Terminal(cwd=project, data=tmp_path / "data", columns=size[0], rows=size[1], environ=environ)


def _command(terminal: Terminal, command: str) -> None:
    """Type a command where the prompt is empty."""
    terminal.wait_for("Ask, @file")
    terminal.send(command + ENTER)


def _seconds(text: str) -> int:
    """What is left of the wait that is counted down; 0 where none is."""
    found = re.search(r"Retrying in (\d+) s \(", text)
    return int(found[1]) if found else 0


def _wait_for_draft(data: Path, wanted: str) -> None:
    """Wait until this text of an answer is stored, which follows the screen by a moment."""
    connection = sqlite3.connect(f"file:{data / 'cogency.db'}?mode=ro", uri=True)
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            pieces = connection.execute("SELECT text FROM drafts WHERE type = 'respond' ORDER BY seq")
            if wanted in "".join(text for (text,) in pieces):
                return
            time.sleep(0.02)
    finally:
        connection.close()
    raise AssertionError(f"no draft with {wanted!r} was saved")


def test_ctrl_l_draws_every_cell_again(project: Path, tmp_path: Path) -> None:
    with Terminal(cwd=project, data=tmp_path / "data") as terminal:
        of_each_part = ("cogency", "greet.py", "half a message", project.name, "F1 help")
        terminal.send("half a message")
        terminal.wait_for(lambda text: all(part in text for part in of_each_part))
        terminal.clear()
        terminal.send(CTRL_L)
        terminal.wait_for(lambda text: all(part in text for part in of_each_part))
        terminal.send(F1)
        terminal.wait_for("Type to filter")
        terminal.send("redraw")
        terminal.wait_for("Redraw the whole screen")
        terminal.clear()
        terminal.send(CTRL_L)
        terminal.wait_for("Redraw the whole screen")


def test_keys_reach_the_messages_before_and_two_escapes_go_back_to_one(project: Path, tmp_path: Path) -> None:
    (project / "long.md").write_text("".join(f"line {number}\n" for number in range(60)))
    with Terminal(cwd=project, data=tmp_path / "data", rows=24) as terminal:
        terminal.wait_for("offline")
        for number in range(3):
            terminal.send(f"list files {number}" + ENTER)
            terminal.wait_for(lambda text, turns=f"{number + 1} turn": turns in text and "● " not in text)
            terminal.wait_for(lambda _text: IDLE_TITLE.match(terminal.title))
        terminal.send(CTRL_HOME)
        terminal.wait_for("list files 0")
        terminal.send(CTRL_DOWN)
        terminal.wait_for(
            lambda text: "list files 1" in text and "list files 0" not in text.split("\n", 1)[1]
        )
        terminal.send(ESCAPE + ESCAPE)
        terminal.wait_for("Enter forks before this message")
        terminal.send(ENTER)
        terminal.wait_for(lambda text: "list files 2" in text and "2 turns" in text)
