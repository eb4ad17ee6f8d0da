"""The application lives on whatever its terminal sends."""

import random
from pathlib import Path

import pytest

from tests.tui.pty import Terminal
from tests.tui.terminal.test_input import DROPPED, OPEN, PIECES
from tests.tui.terminal.test_pty import READY, started

pytestmark = pytest.mark.pty

_LEAVING = {b"\x03", b"\x1a", b"\r", b"\x1b"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "shop"
    directory.mkdir()
    return directory


def expect_alive(terminal: Terminal, word: str) -> None:
    """See that what is typed is drawn."""
    # What came before may hold keys back for the moment in which a sequence may go on.
    terminal.press_until(word, word)


@pytest.mark.exhaustive
def test_no_input_ends_the_application(project: Path) -> None:
    chance = random.Random(16)
    pieces = [piece for piece in PIECES if piece not in _LEAVING]
    # Ctrl+G would open vi, which draws what the emulator does not know.
    with started(project, EDITOR="true") as terminal:
        terminal.wait_for(READY)
        for data in (*DROPPED.values(), *OPEN.values(), b"\xff\xfe", b"\xed\xa0\x80"):
            terminal.send_bytes(data)
        expect_alive(terminal, "marmalade")

        # A paste of a megabyte arrives.
        terminal.send_bytes(b"\x1b[200~" + b"0123456789abcde\n" * 65_536 + b"\x1b[201~")
        expect_alive(terminal, "jam")

        for _ in range(200):
            terminal.send_bytes(b"".join(chance.choices(pieces, k=chance.randint(1, 6))))
        terminal.send_bytes(b"\x1b[201~")
        expect_alive(terminal, "honey")

        terminal.send("\x11")
        assert terminal.process.wait(60) == 0
        assert b"Traceback" not in terminal.raw
