"""Output to a terminal that is not read: nobody waits for it, and little of it is held."""

import os
import pty
import threading
import tty
from collections.abc import Iterator
from contextlib import suppress

import pytest

from cogency_tui.tui.terminal.output import PENDING, TerminalOutput

FRAME = "x" * 50_000
FAREWELL = "\x1b[?1049l\x1b[?25h"


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    primary, secondary = pty.openpty()
    tty.setraw(secondary)
    yield primary, secondary
    for handle in (primary, secondary):
        with suppress(OSError):
            os.close(handle)


def fill(output: TerminalOutput) -> int:
    """Write frames until none is taken any more; how many were."""
    count = 0
    while output.takes_frame():
        output.write(FRAME)
        count += 1
    return count


def test_frames_are_dropped_while_nobody_reads_and_a_whole_one_is_due_afterwards(
    terminal: tuple[int, int],
) -> None:
    primary, secondary = terminal
    read_again = threading.Event()
    output = TerminalOutput(secondary, read_again.set)
    sent = fill(output)
    assert sent * len(FRAME) < PENDING + 8 * len(FRAME)
    assert not any(output.takes_frame() for _ in range(100))
    got = 0
    while got < sent * len(FRAME):
        got += len(os.read(primary, 65_536))
    assert read_again.wait(60)
    assert output.takes_frame()
    output.close()


@pytest.mark.parametrize("frozen", [False, True])
def test_a_farewell_is_the_last_that_the_terminal_reads(terminal: tuple[int, int], frozen: bool) -> None:
    primary, secondary = terminal
    output = TerminalOutput(secondary, lambda: None)
    if frozen:
        fill(output)
    output.settle()
    output.write(FAREWELL)
    output.close()
    os.close(secondary)
    got = b""
    with suppress(OSError):
        while data := os.read(primary, 65_536):
            got += data
    assert got.endswith(FAREWELL.encode())
    assert len(got) < PENDING


def test_a_terminal_that_is_gone_takes_everything(terminal: tuple[int, int]) -> None:
    primary, secondary = terminal
    output = TerminalOutput(secondary, lambda: None)
    fill(output)
    os.close(primary)
    output.settle()
    output.write(FAREWELL)
    output.close()
    assert not [each for each in threading.enumerate() if each.name == "terminal-output"]


def test_a_lone_surrogate_does_not_end_the_output(terminal: tuple[int, int]) -> None:
    primary, secondary = terminal
    output = TerminalOutput(secondary, lambda: None)
    output.write("a\udc80b")
    assert os.read(primary, 10) == b"a?b"
    output.close()
