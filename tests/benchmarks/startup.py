"""How soon the app paints and takes a key, beside a bare Textual app in turn: `python -m tests.benchmarks.startup`.

Seconds from the start of the process to the first frame, and to a typed key's echo, as bytes on the pty.
The ratio of the medians is what counts: machines are noisy.
"""

import fcntl
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

RUNS = 9
MODULES = {"bare textual": "tests.benchmarks.bare", "cogency-tui": "cogency_tui"}
KEY = "§".encode()
PATIENCE = 30.0


def main() -> None:
    first: dict[str, list[float]] = {name: [] for name in MODULES}
    ready: dict[str, list[float]] = {name: [] for name in MODULES}
    with tempfile.TemporaryDirectory() as scratch:
        for run in range(RUNS + 1):
            for name, module in MODULES.items():
                painted, echoed = _start(module, Path(scratch))
                if run:
                    first[name].append(painted)
                    ready[name].append(echoed)
    print(f"{'':14}{'first s':>10}{'ready s':>10}   median of {RUNS}")
    for name in MODULES:
        print(f"{name:14}{statistics.median(first[name]):>10.3f}{statistics.median(ready[name]):>10.3f}")
    bare, ours = (statistics.median(ready[name]) for name in MODULES)
    print(f"ready, ours to bare: {ours / bare:.2f}")


def _start(module: str, scratch: Path) -> tuple[float, float]:
    primary, secondary = pty.openpty()
    fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    root = str(Path(__file__).resolve().parents[2])
    environ = {**os.environ, "PYTHONPATH": root, "COGENCY_DATA": str(scratch / "data")}
    environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    # As on a person's machine: the first run, which does not count, leaves bytecode for the others.
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", module],
        cwd=scratch,
        stdin=secondary,
        stdout=secondary,
        stderr=secondary,
        start_new_session=True,
        env=environ,
    )
    os.close(secondary)
    try:
        # What one can type at: the alternate screen stands, and something is drawn on it.
        _wait(primary, b"\x1b[?1049h")
        _wait(primary, b"\x1b[38;")
        painted = time.monotonic() - started
        os.write(primary, KEY)
        _wait(primary, KEY)
        return painted, time.monotonic() - started
    finally:
        process.kill()
        process.wait()
        os.close(primary)


def _wait(handle: int, wanted: bytes) -> None:
    """Read until `wanted` has come."""
    seen = b""
    deadline = time.monotonic() + PATIENCE
    while wanted not in seen:
        if not select.select([handle], [], [], deadline - time.monotonic())[0]:
            raise TimeoutError(f"{wanted!r} did not come")
        seen = seen[-len(wanted) :] + os.read(handle, 65536)


if __name__ == "__main__":
    main()
