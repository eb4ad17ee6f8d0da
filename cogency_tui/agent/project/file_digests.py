"""SHA-256 digests of files that are asked for often."""

import hashlib
import os
import time

from cogency_tui.workspace.nofollow_access import Directory

_SETTLED = 2_000_000_000
"""Nanoseconds after which a file's times tell whether it has changed."""


class FileDigests:
    """SHA-256 digests of files; a file whose status is the same is not read again."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], str] = {}

    def of(self, directory: Directory, name: str, status: os.stat_result, limit: int) -> str:
        """The digest of a regular file of at most `limit` bytes, whose status was just read.

        Raises:
            OSError, WorkspaceError: as `Directory.read`.
        """
        before = identity_of(status)
        if (known := self._known.get(before)) is not None:
            return known
        digest = hashlib.sha256(directory.read(name, limit)).hexdigest()
        if before == identity_of(directory.status(name)) and is_settled(before):
            self._known[before] = digest
        return digest


def identity_of(status: os.stat_result) -> tuple[int, ...]:
    """What tells whether a file is another one, or has changed."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def is_settled(identity: tuple[int, ...]) -> bool:
    """Return whether it does: a file that changed just now may change again within the resolution of its
    times.
    """
    return time.time_ns() - max(identity[-2:]) > _SETTLED
