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
    """See that what is typed is drawn, and that the application is left as it should be."""
    # What came before may hold keys back for the moment in which a sequence may go on.
    terminal.press_until(word, word)
    terminal.send("\x11")
    assert terminal.process.wait(60) == 0
    assert b"Traceback" not in terminal.raw


@pytest.mark.exhaustive
def test_what_is_no_input_ends_nothing(project: Path) -> None:
    with started(project) as terminal:
        terminal.wait_for(READY)
        for data in (*DROPPED.values(), *OPEN.values(), b"\xff\xfe", b"\xed\xa0\x80"):
            terminal.send_bytes(data)
        expect_alive(terminal, "marmalade")


@pytest.mark.exhaustive
def test_no_input_ends_the_application(project: Path) -> None:
    chance = random.Random(16)
    pieces = [piece for piece in PIECES if piece not in _LEAVING]
    with started(project) as terminal:
        terminal.wait_for(READY)
        for _ in range(300):
            terminal.send_bytes(b"".join(chance.choices(pieces, k=chance.randint(1, 6))))
        terminal.send_bytes(b"\x1b[201~")
        expect_alive(terminal, "marmalade")


@pytest.mark.exhaustive
def test_a_paste_of_a_megabyte_arrives(project: Path) -> None:
    with started(project) as terminal:
        terminal.wait_for(READY)
        terminal.send_bytes(b"\x1b[200~" + b"0123456789abcde\n" * 65_536 + b"\x1b[201~")
        expect_alive(terminal, "marmalade")
