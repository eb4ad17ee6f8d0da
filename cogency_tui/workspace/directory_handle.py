"""A directory that is held open: the system says where it is now, and gives its inode to no other."""

import fcntl
import os
import sys
from contextlib import suppress
from pathlib import Path

from cogency_tui.workspace.paths import Identity

_OPEN = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_LONGEST_PATH = 1024


class DirectoryHandle:
    """Holds the directory at a path.

    Raises:
        OSError: there is none, or the system refuses.
    """

    def __init__(self, path: Path | str) -> None:
        self._fd = os.open(path, _OPEN)
        self.identity = identity_of(os.fstat(self._fd))

    def path(self) -> Path | None:
        """Where the directory is now; None where it is nowhere, or the system does not say."""
        with suppress(OSError):
            if sys.platform == "darwin":
                said = fcntl.fcntl(self._fd, fcntl.F_GETPATH, bytes(_LONGEST_PATH)).rstrip(b"\0")
                path = Path(os.fsdecode(said))
            else:
                path = Path(f"/proc/self/fd/{self._fd}").readlink()
            return path if is_at(path, self.identity) else None
        return None

    def close(self) -> None:
        """Let go of the directory."""
        os.close(self._fd)


def is_at(path: Path, identity: Identity) -> bool:
    """Whether a directory or file is at a path; a link to it is not."""
    with suppress(OSError):
        return identity_of(path.lstat()) == identity
    return False


def identity_of(found: os.stat_result) -> Identity:
    """What no two files that exist share."""
    return found.st_dev, found.st_ino
