"""However the program is left, the terminal is what it was before."""

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tui.pty import Terminal
from tests.tui.terminal.test_pty import READY, started, wait_until_stopped

pytestmark = pytest.mark.pty

CTRL_C, CTRL_Q, CTRL_Z = "\x03", "\x11", "\x1a"
IN_BAND_SIZE, FOCUS_IN = "\x1b[?2048;2$y", "\x1b[I"
HIDDEN = {7, 25}
"""Modes that are on by default."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "shop"
    directory.mkdir()
    return directory


def signals(*numbers: int) -> Callable[[Terminal], None]:
    def send(terminal: Terminal) -> None:
        for number in numbers:
            terminal.process.send_signal(number)

    return send


def keys(text: str) -> Callable[[Terminal], None]:
    return lambda terminal: terminal.send(text)


def modes_of(raw: bytes) -> set[int]:
    """The private modes that differ from their default."""
    last = {int(mode): sign == b"h" for mode, sign in re.findall(rb"\x1b\[\?(\d+)([hl])", raw)}
    return {mode for mode, on in last.items() if on is not (mode in HIDDEN)}


def expect_restored(terminal: Terminal, before: list[Any]) -> None:
    """Check what was written to the terminal, and how its lines are treated."""
    terminal.wait_for(lambda _text: b"\x1b[?1049l" in terminal.raw[terminal.raw.rindex(b"\x1b[?1049") :])
    terminal.wait_for(lambda _text: not modes_of(bytes(terminal.raw)))
    assert terminal.raw.count(b"\x1b[<u") == len(re.findall(rb"\x1b\[>\d+u", terminal.raw))
    assert terminal.raw.count(b"\x1b[22;2t") == terminal.raw.count(b"\x1b[23;2t")
    assert terminal.attributes() == before


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("leave", "status"),
    [
        (keys(CTRL_C + CTRL_C), 0),
        (signals(signal.SIGINT, signal.SIGINT), 130),
        (signals(signal.SIGTERM, signal.SIGTERM, signal.SIGHUP), None),
        (signals(signal.SIGHUP), 129),
        (signals(signal.SIGQUIT), 131),
    ],
    ids=["Ctrl+C twice", "INT twice", "several", "HUP", "QUIT"],
)
def test_the_terminal_is_restored(
    project: Path, leave: Callable[[Terminal], None], status: int | None
) -> None:
    with started(project) as terminal:
        before = terminal.attributes_before
        terminal.wait_for(READY)
        terminal.send(IN_BAND_SIZE + FOCUS_IN)
        terminal.wait_for(lambda _text: b"\x1b[?1016h" in terminal.raw)
        leave(terminal)
        ended = terminal.process.wait(60)
        assert ended == status if status is not None else ended > 128
        expect_restored(terminal, before)


@pytest.mark.exhaustive
def test_signals_that_come_while_it_starts_leave_the_terminal_as_it_was(project: Path) -> None:
    with started(project) as terminal:
        before = terminal.attributes_before
        terminal.wait_for(lambda _text: b"\x1b[?1049h" in terminal.raw)
        signals(signal.SIGINT, signal.SIGINT)(terminal)
        assert terminal.process.wait(60) == 130
        expect_restored(terminal, before)


@pytest.mark.exhaustive
def test_the_terminal_is_the_shells_while_the_program_is_stopped_and_after_it_is_left(project: Path) -> None:
    with started(project) as terminal:
        before = terminal.attributes_before
        terminal.wait_for(lambda _text: terminal.raw.count(b"\x1b]2;shop") == 1)
        terminal.wait_for(READY)
        for time, how in enumerate(("Ctrl+Z", "Ctrl+Z", "SIGSTOP", "SIGSTOP", "Ctrl+Z")):
            if how == "SIGSTOP":
                terminal.process.send_signal(signal.SIGSTOP)
            else:
                terminal.send(CTRL_Z)
            wait_until_stopped(terminal.process.pid)
            if how == "Ctrl+Z":
                expect_restored(terminal, before)
            shown = terminal.raw.count(b"\x1b[?1049h")
            os.kill(terminal.process.pid, signal.SIGCONT)
            terminal.wait_for(lambda _text, shown=shown: terminal.raw.count(b"\x1b[?1049h") > shown)
            if not time:
                terminal.wait_for(lambda _text: terminal.raw.count(b"\x1b]2;shop") == 2)
            terminal.send(str(time))
            terminal.wait_for("01234"[: time + 1])
        terminal.send(CTRL_Q)
        assert terminal.process.wait(60) == 0
        expect_restored(terminal, before)
