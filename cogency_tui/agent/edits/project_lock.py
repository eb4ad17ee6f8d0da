"""The lock on the files of a project among all processes of the user: one of them writes at a time.

A tool checks that a file is as it was read, then replaces it; another process that did the same between the
two would lose its change. Editors and commands know nothing of this lock.

Invariant: it is never waited for longer than `PATIENCE`: a process that was suspended while it held the lock
stops no other.
"""

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

from cogency_tui import private_files

DIRECTORY = "locks"
PATIENCE = 5.0
"""Seconds."""

_PAUSE = 0.002


@asynccontextmanager
async def writing_files(data: Path, root: Path) -> AsyncGenerator[None]:
    """Hold the lock on the files below `root`, in the data directory `data`; without it where there can be
    none."""
    handle = _opened(data, root)
    try:
        if handle is not None:
            await _lock(handle)
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _opened(data: Path, root: Path) -> int | None:
    path = data / DIRECTORY / sha256(os.fsencode(root)).hexdigest()[:40]
    flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        private_files.make_directory(path.parent)
        return os.open(path, flags, 0o600)
    except OSError:
        return None


async def _lock(handle: int) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            await asyncio.sleep(_PAUSE)
        except OSError:
            # The file system has no locks.
            return
        else:
            return
