"""An exclusive lock between processes, on a file of its own. It ends with its owner, however that ends."""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

_PAUSE = 0.005


@contextmanager
def file_lock(path: Path, patience: float = 0.0) -> Generator[bool]:
    """Hold the lock on the file at `path`, created if missing; wait `patience` seconds for other owners.

    Yields whether the lock is held. Blocks: run it in a thread.

    Raises:
        OSError: the file cannot be created or opened.
    """
    handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + patience
    try:
        while not (held := _locked(handle)) and time.monotonic() < deadline:
            # A wait in flock itself could not be abandoned.
            time.sleep(_PAUSE)
        yield held
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
