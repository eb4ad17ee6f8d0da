"""Locks of open conversations, and of their background commands: a locked file each, which the system unlocks
however its process ends.

Invariant: a mark exists exactly as long as its process holds the lock; the mark of a killed process is
ignored, and removed by the next reader.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from cogency_tui import private_files

DIRECTORY = "open"


@dataclass(frozen=True, slots=True)
class Mark:
    """A conversation that the process `pid` has open, since `since` (Unix seconds), in these `uses`; or a
    background `command` of one, which need not be open."""

    conversation: str
    pid: int
    since: float
    uses: Sequence[str] = ()
    command: str = ""


def command_key(conversation: str, command: str) -> str:
    """What a background command of a conversation is entered as."""
    return f"{conversation}\n{command}"


_SIZE = 512
"""Bytes to which a mark is filled: it is replaced at once, for whoever reads it meanwhile."""

_RETRIES = 3
_PAUSE = 0.005
"""Seconds."""


class Presence:
    """The marks in the data directory `data`. Blocks briefly; on a disk error there are no marks."""

    def __init__(self, data: Path) -> None:
        self._directory = data / DIRECTORY
        self._held: dict[str, int] = {}
        self._since: dict[str, float] = {}
        self._uses: dict[str, set[str]] = {}

    def enter(self, conversation: str, now: float, use: str = "open") -> bool:
        """Mark a conversation as in `use` here; False where another process has it, or no mark can be set."""
        if conversation in self._held:
            self._uses[conversation].add(use)
            with suppress(OSError):
                self._write(conversation)
            return True
        path = self._path(conversation)
        try:
            private_files.make_directory(self._directory)
            handle = _locked(path)
        except OSError:
            return False
        if handle is None:
            return False
        self._held[conversation], self._since[conversation] = handle, now
        self._uses[conversation] = {use}
        try:
            self._write(conversation)
        except OSError:
            self._forget(conversation)
            os.close(handle)
            return False
        return True

    def _write(self, conversation: str) -> None:
        """Write the mark of a conversation.

        Raises:
            OSError: it cannot be written.
        """
        mark = {
            "conversation": conversation,
            "pid": os.getpid(),
            "since": self._since[conversation],
            "uses": sorted(self._uses[conversation]),
        }
        os.pwrite(self._held[conversation], json.dumps(mark).encode().ljust(_SIZE), 0)

    def _forget(self, conversation: str) -> int | None:
        """Return the handle of a conversation, which is no longer held here."""
        self._uses.pop(conversation, None)
        self._since.pop(conversation, None)
        return self._held.pop(conversation, None)

    def leave(self, conversation: str | None = None, use: str = "open") -> None:
        """End this use here; the mark is removed with the last use. Without an id, all marks are."""
        for each in [conversation] if conversation is not None else list(self._held):
            uses = self._uses.get(each, set())
            uses.discard(use)
            if conversation is not None and uses:
                with suppress(OSError):
                    self._write(each)
                continue
            handle = self._forget(each)
            if handle is not None:
                with suppress(OSError):
                    # Removed while it is locked, so that no process locks a file without a name.
                    self._path(each).unlink()
                os.close(handle)

    def elsewhere(self) -> list[Mark]:
        """Return the conversations that other processes have open now."""
        return [mark for key, mark in self._marks() if key not in self._held and not mark.command]

    def commands_elsewhere(self) -> list[Mark]:
        """Return the background commands that other processes run now."""
        return [mark for key, mark in self._marks() if key not in self._held and mark.command]

    def _path(self, conversation: str) -> Path:
        return self._directory / sha256(conversation.encode("utf-8", "surrogatepass")).hexdigest()[:40]

    def _marks(self) -> Iterator[tuple[str, Mark]]:
        """The marks, each with what it was entered as."""
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
                key, uses = str(known["conversation"]), tuple(known.get("uses", ()))
                conversation, _, command = key.partition("\n")
                yield key, Mark(conversation, int(known["pid"]), float(known["since"]), uses, command)
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
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
