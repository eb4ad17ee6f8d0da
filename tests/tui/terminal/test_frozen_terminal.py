"""A terminal that nobody reads, such as a frozen SSH connection, holds nothing up."""

import asyncio
import json
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.peers.chat import ChatPeer
from tests.tui.pty import Terminal

pytestmark = pytest.mark.pty

ROUNDS = 4
SOME = 2
"""Rounds of which each fills what the terminal takes without being read."""

ENTERED_YES = "\ty"
"""Enters the question before the answer: a letter typed before the question came is a text in the prompt."""

LONG = "\n".join(f"- point {number}: " + "word " * 30 for number in range(60))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "shop"
    directory.mkdir()
    return directory


def rounds() -> list[str]:
    """Answers, each long and with a call, which notes its number in `ran`."""
    answers: list[str] = []
    for number in range(ROUNDS):
        call = [{"name": "shell", "args": {"command": f"echo {number} >> ran"}}]
        answers.append(f"<respond>\n{LONG}\n</respond>\n<execute>\n{json.dumps(call)}\n</execute>")
    end = "<respond>\nThat was all of it.\n</respond>"
    return [*answers, end, *answers, end]


async def freeze(project: Path, then: Callable[[Terminal, Path], None], permissions: str = "auto") -> None:
    """Have the model do its rounds at a terminal that is frozen when they begin; `then` goes on."""
    async with ChatPeer(rounds(), model="m") as peer:
        config = project.parent / "config.toml"
        config.write_text(
            f'provider = "mine"\ntitles = false\n[providers.mine]\nbase_url = "{peer.base_url}"\nmodel = "m"\n'
        )
        data = project.parent / "data"

        def drive() -> None:
            with Terminal(
                "--permissions",
                permissions,
                cwd=project,
                data=data,
                columns=200,
                rows=60,
                environ={"COGENCY_CONFIG": str(config)},
            ) as terminal:
                terminal.wait_for("mine/m")
                terminal.freeze()
                terminal.send("go on\r")
                then(terminal, data)

        await asyncio.to_thread(drive)


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not come about"
        time.sleep(0.05)


def ran(project: Path) -> list[str]:
    path = project / "ran"
    return path.read_text().split() if path.exists() else []


def stored(data: Path, kind: str) -> int:
    """Events of this type in the store, which may not be there yet."""
    uri = f"file:{data / 'cogency.db'}?mode=ro"
    with suppress(sqlite3.OperationalError), closing(sqlite3.connect(uri, uri=True)) as connection:
        return connection.execute("SELECT count(*) FROM events WHERE type = ?", (kind,)).fetchone()[0]
    return 0


@pytest.mark.exhaustive
async def test_events_and_calls_go_on_the_screen_is_whole_once_it_is_read_and_a_signal_ends_it(
    project: Path,
) -> None:
    def then(terminal: Terminal, data: Path) -> None:
        until(lambda: len(ran(project)) == ROUNDS and stored(data, "respond") == ROUNDS + 1)
        read = len(terminal.raw)
        terminal.thaw()
        terminal.wait_for(
            lambda text: (
                "That was all of it." in text
                and "mine/m" in text
                and text.startswith(" cogency")
                and terminal.title == "shop · cogency"
            )
        )
        assert len(terminal.raw) - read < 400_000
        terminal.send("still here")
        terminal.wait_for("still here")

        # Each signal that ends it has the same handler; `test_leaving_pty` sends the others.
        terminal.freeze()
        terminal.send("\r")
        until(lambda: len(ran(project)) > ROUNDS + SOME)
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.process.wait(60) == 128 + signal.SIGTERM
        terminal.thaw()
        until(lambda: b"\x1b[?1049l" in terminal.raw)

    await freeze(project, then)


@pytest.mark.exhaustive
async def test_a_question_that_was_never_shown_is_not_answered(project: Path) -> None:
    def then(terminal: Terminal, data: Path) -> None:
        until(lambda: stored(data, "call"))
        for _ in range(4):
            terminal.send(ENTERED_YES)
            # Longer than the pause after which a question takes a key.
            time.sleep(1)
        assert not ran(project)
        # The emulator reads a small screen faster than a large one is drawn.
        terminal.resize(80, 24)
        terminal.thaw()
        terminal.wait_for("Run this command")

        def answered() -> bool:
            time.sleep(1)
            terminal.send(ENTERED_YES)
            return bool(ran(project))

        until(answered)

    await freeze(project, then, permissions="ask")


@pytest.mark.exhaustive
async def test_a_terminal_that_is_closed_when_frozen_takes_the_program_with_it(project: Path) -> None:
    def then(terminal: Terminal, _data: Path) -> None:
        until(lambda: len(ran(project)) > SOME)
        terminal.close()
        assert terminal.process.wait(60) == 128 + signal.SIGHUP

    await freeze(project, then)


async def test_esc_and_ctrl_q_at_a_frozen_terminal_that_is_then_closed_leave_no_process(
    project: Path,
) -> None:
    def then(terminal: Terminal, _data: Path) -> None:
        until(lambda: len(ran(project)) > SOME)
        terminal.send("\x1b")
        terminal.send("\x11")
        terminal.close()
        # It may have left by itself before the terminal went.
        assert terminal.process.wait(60) in (0, 128 + signal.SIGHUP)

    await freeze(project, then)
