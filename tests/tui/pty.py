"""A real terminal for the real application: a pty, and pyte to read what stands on the screen."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import pyte

from tests import forkserver

IDLE_TITLE = re.compile(r"^(?!… |\? ).* · cogency$")
"""The title of a window whose program neither works nor waits for the user."""


class Terminal:
    """`cogency-tui`, or an interpreter that runs `module`, in a pseudo-terminal of `columns` × `rows`.

    Leaving it kills what still runs.
    """

    def __init__(
        self,
        *arguments: str,
        cwd: Path,
        data: Path,
        columns: int = 120,
        rows: int = 40,
        environ: dict[str, str] | None = None,
        module: str | None = None,
    ) -> None:
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self.raw = bytearray()
        """Everything that was written to it."""
        self._thawed = threading.Event()
        self._thawed.set()
        self._primary, secondary = pty.openpty()
        self.attributes_before = self.attributes()
        """How lines are treated where nothing runs yet."""
        self._resize(secondary, columns, rows)
        environ = {
            **os.environ,
            "COGENCY_DATA": str(data),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            **(environ or {}),
        }
        self.process: subprocess.Popen[bytes] | forkserver.Program
        if module:
            self.process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                cwd=cwd,
                env=environ,
                stdin=secondary,
                stdout=secondary,
                stderr=secondary,
                start_new_session=True,
            )
        else:
            self.process = forkserver.start(
                arguments,
                cwd,
                environ,
                stdin=secondary,
                stdout=secondary,
                stderr=secondary,
                session=True,
            )
        os.close(secondary)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _exc: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.thaw()
        self._reader.join(5)
        with suppress(OSError):
            os.close(self._primary)

    def attributes(self) -> list[Any]:
        """How the terminal treats lines now, as of `tcgetattr`."""
        return termios.tcgetattr(self._primary)

    def freeze(self) -> None:
        """Read nothing any more, as a connection that hangs."""
        self._thawed.clear()

    def thaw(self) -> None:
        """Read again."""
        self._thawed.set()

    def close(self) -> None:
        """Go away, as a window that is closed; only while frozen, or the reader would be at it."""
        os.close(self._primary)

    @property
    def text(self) -> str:
        """What stands on the screen now."""
        with self._lock:
            return "\n".join(line.rstrip() for line in self.screen.display)

    @property
    def title(self) -> str:
        """The window's title; pyte's also takes the shapes of the pointer for one."""
        with self._lock:
            start = self.raw.rfind(b"\x1b]2;") + 4
            return self.raw[start : self.raw.find(b"\x07", start)].decode() if start > 3 else ""

    def clear(self) -> None:
        """Lose what stands on the screen, as a terminal that is torn."""
        with self._lock:
            self.screen.reset()

    def send(self, keys: str) -> None:
        """Type."""
        self.send_bytes(keys.encode())

    def send_bytes(self, data: bytes) -> None:
        """Send what no keyboard has."""
        while data:
            data = data[os.write(self._primary, data) :]

    def wait_for(self, wanted: str | Callable[[str], object], timeout: float = 60.0) -> str:
        """Wait until a text stands on the screen, or the screen is as wanted; the screen then."""
        deadline = time.monotonic() + timeout
        while True:
            self._changed.clear()
            text = self.text
            if wanted in text if isinstance(wanted, str) else wanted(text):
                return text
            left = deadline - time.monotonic()
            if left <= 0 or not self._changed.wait(left):
                raise AssertionError(f"{wanted!r} did not come; {self.title!r} shows\n{self.text}")

    def press_until(self, key: str, wanted: str | Callable[[str], object], timeout: float = 60.0) -> str:
        """Press a key again and again until the screen is as wanted; the screen then."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            self.send(key)
            with suppress(AssertionError):
                return self.wait_for(wanted, timeout=1.5)
        return self.wait_for(wanted, timeout=1.5)

    def leave(self, timeout: float = 60.0) -> int:
        """Press Ctrl+Q once no turn runs, when the program leaves without asking; its exit status."""
        self.wait_for(lambda _text: IDLE_TITLE.search(self.title))
        self.send("\x11")
        return self.process.wait(timeout)

    def resize(self, columns: int, rows: int) -> None:
        """As a person who pulls at the window's corner."""
        with self._lock:
            self.screen.resize(rows, columns)
        self._resize(self._primary, columns, rows)
        os.killpg(self.process.pid, signal.SIGWINCH)

    def kill(self) -> None:
        """`kill -9`."""
        self.process.kill()
        self.process.wait()

    @staticmethod
    def _resize(handle: int, columns: int, rows: int) -> None:
        fcntl.ioctl(handle, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self) -> None:
        while self._thawed.wait():
            try:
                data = os.read(self._primary, 65536)
            except OSError:
                return
            if not data:
                return
            with self._lock:
                self.raw += data
                self._stream.feed(data)
            self._changed.set()
