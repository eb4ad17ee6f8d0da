"""Directories and files that only the user can access, whatever the umask."""

import os
from contextlib import suppress
from pathlib import Path

_DIRECTORY = 0o700
_FILE = 0o600


def make_directory(path: Path) -> None:
    """Create a directory and its missing parents; an existing one stays as it is.

    Raises:
        OSError: it cannot be created, or something else has its name.
    """
    try:
        _make(path)
    except FileNotFoundError:
        if path.parent == path:
            raise
        make_directory(path.parent)
        # If the system does not support it there (in /proc), this fails in the same way, and once.
        _make(path)


def _make(path: Path) -> None:
    try:
        path.mkdir(_DIRECTORY)
    except FileExistsError:
        if not path.is_dir():
            raise
        return
    # The umask may have removed bits.
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


def replace_file(path: Path, data: bytes, mode: int = _FILE) -> None:
    """Replace the contents of a file in one step, synced to the disk; a missing file is created.

    Only one process at a time may do so.

    Raises:
        OSError: it cannot be written; then nothing has changed.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(temporary, flags, _FILE)
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, mode)
            file.write(data)
            file.flush()
            os.fsync(handle)
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise


def place_of(path: Path) -> tuple[int, int] | None:
    """The identity of the file at `path`: its device and inode number."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
