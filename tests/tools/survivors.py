"""What is left of commands: processes found by a mark, in their environment or their command line.

A command that empties its environment puts the mark into an argument, as in `sleep 1000.MARK`.
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

MARK = "TEST_MARK"


def survivors(mark: str) -> list[str]:
    """The command lines of the processes with this mark that run; those that have ended have none."""
    found: list[str] = []
    for directory in Path("/proc").iterdir():
        if directory.name.isdecimal():
            try:
                line = (directory / "cmdline").read_bytes()
                environment = (directory / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if line and (mark.encode() in line or f"{MARK}={mark}".encode() in environment):
                found.append(f"{directory.name}: {line.replace(bytes(1), b' ').decode(errors='replace')}")
    return found


async def none_survives(mark: str, seconds: float = 60.0) -> None:
    """Fail if a marked process is still there after so long."""
    deadline = time.monotonic() + seconds
    while left := survivors(mark):
        assert time.monotonic() < deadline, left
        await asyncio.sleep(0.01)


async def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait for something, and fail when it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)
