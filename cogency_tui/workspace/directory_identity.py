"""A handle of a directory: the system knows its present path, and does not reuse its inode."""

import fcntl
import os
import sys
from contextlib import suppress
from pathlib import Path

from cogency_tui.workspace.paths import Identity

_OPEN = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_LONGEST_PATH = 1024


class DirectoryHandle:
    """Holds the directory at a path open.

    Raises:
        OSError: there is none, or the system refuses.
    """

    def __init__(self, path: Path | str) -> None:
        self._fd = os.open(path, _OPEN)
        self.identity = identity_of(os.fstat(self._fd))

    def path(self) -> Path | None:
        """Present path of the directory; None where it has none, or the system does not know it."""
        with suppress(OSError):
            if sys.platform == "darwin":
                reported = fcntl.fcntl(self._fd, fcntl.F_GETPATH, bytes(_LONGEST_PATH)).rstrip(b"\0")
                path = Path(os.fsdecode(reported))
            else:
                path = Path(f"/proc/self/fd/{self._fd}").readlink()
            return path if is_at(path, self.identity) else None
        return None

    def close(self) -> None:
        os.close(self._fd)


def is_at(path: Path, identity: Identity) -> bool:
    """Return whether a directory or file is at a path; a link to it is not."""
    with suppress(OSError):
        return identity_of(path.lstat()) == identity
    return False


def identity_of(found: os.stat_result) -> Identity:
    """Return an identity that no two existing files share."""
    return found.st_dev, found.st_ino
