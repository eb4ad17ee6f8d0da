"""Nothing of the program stays in a tmux pane once it is left, even if the pane was resized meanwhile."""

import fcntl
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

pytestmark = [pytest.mark.pty, pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")]

READY = "offline/offline-1"


class Tmux:
    """A server of its own, in whose one pane a shell runs, and a client in a terminal that can be resized."""

    def __init__(self, directory: Path, *settings: str, environ: Mapping[str, str] | None = None) -> None:
        self._command = ("tmux", "-S", str(directory / "socket"), "-f", str(directory / "tmux.conf"))
        self._environ = {
            **{name: value for name, value in os.environ.items() if name != "TMUX"},
            "COGENCY_DATA": str(directory / "data"),
            "COGENCY_CONFIG": str(directory / "config.toml"),
            "TERM": "xterm-256color",
            # Without a background of their own tmux drops cells at the end of a line.
            "COLORTERM": "truecolor",
            "PS1": "$ ",
            **(environ or {}),
        }
        self.raw = bytearray()
        """Everything that was written to the client's terminal."""
        lines = ['set -g default-terminal "tmux-256color"', *settings]
        (directory / "tmux.conf").write_text("\n".join(lines))
        self._primary, secondary = pty.openpty()
        self.resize(80, 24)
        self.client = subprocess.Popen(
            (*self._command, "new-session", "bash --norc"),
            cwd=directory,
            env=self._environ,
            stdin=secondary,
            stdout=secondary,
            stderr=secondary,
            start_new_session=True,
            # Only the client's own terminal sends it SIGWINCH.
            preexec_fn=lambda: fcntl.ioctl(secondary, termios.TIOCSCTTY, 0),
        )
        os.close(secondary)
        threading.Thread(target=self._read, daemon=True).start()

    def run(self, *arguments: str) -> str:
        """What this command of tmux prints."""
        command = (*self._command, *arguments)
        return subprocess.run(command, env=self._environ, capture_output=True, text=True).stdout

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._primary, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def close(self) -> None:
        self.run("kill-server")
        self.client.wait()
        os.close(self._primary)

    def _read(self) -> None:
        with suppress(OSError):
            while data := os.read(self._primary, 65536):
                self.raw += data

    @property
    def text(self) -> str:
        """What can be seen in the pane, also by scrolling."""
        return self.run("capture-pane", "-p", "-S", "-")

    def wait_for(self, wanted: Callable[[str], object]) -> None:
        deadline = time.monotonic() + 60
        while not wanted(self.text):
            assert time.monotonic() < deadline, self.text
            time.sleep(0.05)


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    server = Tmux(tmp_path)
    yield server
    server.close()


def fills(text: str, columns: int, rows: int) -> bool:
    """Whether the heading has been drawn for a pane of this size."""
    lines = text.splitlines()
    # One row is tmux's own.
    return len(lines) == rows - 1 and columns - 2 <= len(lines[0]) <= columns


def test_the_shell_is_as_it_was_after_a_pane_was_resized(tmux: Tmux) -> None:
    tmux.wait_for(lambda text: "$" in text or "#" in text)
    tmux.resize(120, 35)
    tmux.run("send-keys", f"{sys.executable} -m cogency_tui; echo le''ft", "Enter")
    tmux.wait_for(lambda text: READY in text)
    tmux.run("send-keys", "hello", "Enter")
    tmux.wait_for(lambda text: "Three things to try" in text and "interrupt" not in text)
    for columns, rows in ((100, 30), (130, 40), (80, 24)):
        tmux.resize(columns, rows)
        tmux.wait_for(lambda text, columns=columns, rows=rows: fills(text, columns, rows))
    tmux.run("send-keys", "C-q")
    tmux.wait_for(lambda text: "left" in text)

    shown = [line for line in tmux.text.splitlines() if line.strip()]
    assert "le''ft" in shown[0] + shown[1], shown
