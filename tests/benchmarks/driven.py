"""A program in a pseudo-terminal, with the moment at which each of its bytes came, and what it takes of the machine.

Nothing here draws what it reads: a terminal emulator would take more time than what is measured.
"""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from tests import ROOT

PATIENCE = 120.0

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_KEPT = 1 << 16
"""Bytes of output that are looked through for what is waited for."""


class Driven:
    """`python -m MODULE ARGUMENTS` in a terminal of `columns` × `rows`. Leaving it kills it."""

    def __init__(
        self,
        module: str,
        *arguments: str,
        cwd: Path,
        data: Path,
        environ: Mapping[str, str] | None = None,
        columns: int = 120,
        rows: int = 40,
    ) -> None:
        self._primary, secondary = pty.openpty()
        fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._came = threading.Condition()
        self._tail = b""
        self._wanted: bytes | None = None
        self._found = 0.0
        self.last = 0.0
        """When the last byte came."""
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=cwd,
            stdin=secondary,
            stdout=secondary,
            stderr=secondary,
            start_new_session=True,
            env=_environ(data) | dict(environ or {}),
        )
        os.close(secondary)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> "Driven":
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _exc: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(5)
        os.close(self._primary)

    def send(self, keys: str) -> float:
        """Type; the moment at which it was done."""
        moment = time.monotonic()
        os.write(self._primary, keys.encode())
        return moment

    def expect(self, wanted: bytes) -> None:
        """From now on look for `wanted`, which `when` waits for."""
        with self._came:
            self._wanted, self._found, self._tail = wanted, 0.0, b""

    def when(self) -> float:
        """The moment at which what is expected came.

        Raises:
            TimeoutError: it did not.
        """
        with self._came:
            if not self._came.wait_for(lambda: self._found, PATIENCE):
                raise TimeoutError(f"{self._wanted!r} did not come")
            return self._found

    def echo(self, key: str) -> float:
        """Seconds from typing `key`, which must stand nowhere else, to seeing it."""
        self.expect(key.encode())
        return -self.send(key) + self.when()

    def settle(self, quiet: float = 0.5) -> None:
        """Return when nothing has come for a while; in the end also where a cursor blinks all the time."""
        over = time.monotonic() + 6 * quiet
        while time.monotonic() < min(over, self.last + quiet):
            time.sleep(quiet / 5)

    @property
    def cpu(self) -> float:
        """Seconds of processor time so far, children that have ended included."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / _TICKS

    @property
    def rss(self) -> float:
        """Megabytes in memory now."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * _PAGE / 1e6

    @property
    def peak(self) -> float:
        """The most megabytes that have been in memory at once."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1e3

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._primary, 1 << 16)
            except OSError:
                return
            moment = time.monotonic()
            with self._came:
                self.last = moment
                self._tail = self._tail[-_KEPT:] + data
                if self._wanted is not None and not self._found and self._wanted in self._tail:
                    self._found = moment
                    self._came.notify_all()


def _environ(data: Path) -> dict[str, str]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "COGENCY_DATA": str(data)}
    environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "HOME": str(data)}
    # As on a person's machine: the first run, which does not count, leaves bytecode for the others.
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    return environ
