"""Locks of open conversations: a locked file each, which the system unlocks however its process ends.

Invariant: a mark exists exactly as long as its process holds the lock; the mark of a killed process is
ignored, and removed by the next reader.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from cogency_tui import private_files

DIRECTORY = "open"


@dataclass(frozen=True, slots=True)
class Mark:
    """A conversation that the process `pid` has open, since `since` (Unix seconds)."""

    conversation: str
    pid: int
    since: float


_RETRIES = 3
_PAUSE = 0.005
"""Seconds."""


class Presence:
    """The marks in the data directory `data`. Blocks briefly; on a disk error there are no marks."""

    def __init__(self, data: Path) -> None:
        self._directory = data / DIRECTORY
        self._held: dict[str, int] = {}
        self._uses: dict[str, set[str]] = {}

    def enter(self, conversation: str, now: float, use: str = "open") -> bool:
        """Mark a conversation as in `use` here; False where another process has it, or no mark can be set."""
        if conversation in self._held:
            self._uses[conversation].add(use)
            return True
        path = self._path(conversation)
        try:
            private_files.make_directory(self._directory)
            handle = _locked(path)
        except OSError:
            return False
        if handle is None:
            return False
        mark = {"conversation": conversation, "pid": os.getpid(), "since": now}
        try:
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps(mark).encode(), 0)
        except OSError:
            os.close(handle)
            return False
        self._held[conversation] = handle
        self._uses[conversation] = {use}
        return True

    def leave(self, conversation: str | None = None, use: str = "open") -> None:
        """End this use here; the mark is removed with the last use. Without an id, all marks are."""
        for each in [conversation] if conversation is not None else list(self._held):
            uses = self._uses.get(each, set())
            uses.discard(use)
            if conversation is not None and uses:
                continue
            self._uses.pop(each, None)
            handle = self._held.pop(each, None)
            if handle is not None:
                with suppress(OSError):
                    # Removed while it is locked, so that no process locks a file without a name.
                    self._path(each).unlink()
                os.close(handle)

    def elsewhere(self) -> list[Mark]:
        """Return the conversations that other processes have open now."""
        return [mark for mark in self._marks() if mark.conversation not in self._held]

    def _path(self, conversation: str) -> Path:
        return self._directory / sha256(conversation.encode("utf-8", "surrogatepass")).hexdigest()[:40]

    def _marks(self) -> Iterator[Mark]:
        try:
            paths = [Path(entry.path) for entry in os.scandir(self._directory)]
        except OSError:
            return
        for path in paths:
            try:
                handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            except OSError:
                continue
            try:
                if _lock(handle):
                    path.unlink(missing_ok=True)
                    continue
                known: Any = json.loads(os.pread(handle, 1 << 16, 0))
                yield Mark(str(known["conversation"]), int(known["pid"]), float(known["since"]))
            except (OSError, ValueError, KeyError, TypeError):
                continue
            finally:
                os.close(handle)


def _locked(path: Path) -> int | None:
    """The file at `path`, locked, with its name still on it; None where another process has it.

    Raises:
        OSError: it cannot be created.
    """
    held = 0
    while True:
        handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        if not _lock(handle):
            os.close(handle)
            held += 1
            if held > _RETRIES:
                return None
            # `_marks` holds the lock for a moment to see whether anybody does, here or in another process.
            time.sleep(_PAUSE)
            continue
        with suppress(FileNotFoundError):
            if path.stat().st_ino == os.fstat(handle).st_ino:
                return handle
        os.close(handle)


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
