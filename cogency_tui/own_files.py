"""Directories and files that are the user's alone, whatever the umask."""

import os
from pathlib import Path

_DIRECTORY = 0o700
_FILE = 0o600


def make_directory(path: Path) -> None:
    """Make a directory, and those above it that are missing; one that is there stays as it is.

    Raises:
        OSError: it cannot be made, or something else has its name.
    """
    try:
        _make(path)
    except FileNotFoundError:
        if path.parent == path:
            raise
        make_directory(path.parent)
        # Where the system has no room for it (in /proc), this fails in the same way, and once.
        _make(path)


def _make(path: Path) -> None:
    try:
        path.mkdir(_DIRECTORY)
    except FileExistsError:
        if not path.is_dir():
            raise
        return
    # A umask takes bits from what is made.
    path.chmod(_DIRECTORY)


def write_file(path: Path, data: bytes) -> None:
    """Write a file.

    Raises:
        OSError: it cannot be written.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, _FILE)
    with os.fdopen(handle, "wb") as file:
        os.fchmod(handle, _FILE)
        file.write(data)
