"""SHA-256 digests of files that are asked for often."""

import hashlib
import os
import re
import time
from dataclasses import dataclass
from itertools import islice

from cogency_tui.workspace.nofollow_access import Directory

_SETTLED = 2_000_000_000
"""Nanoseconds after which a file's times tell whether it has changed."""


_REFERENCE = re.compile(
    rb"""['"`]((?:\./)?\.\./[\w@.][\w@./ -]{0,200})['"`]"""
    rb"""|(?:\b(?:do|dofile|from|import|include|include_once|load|require|require_once)[\s(]{0,9}|\)\()"""
    rb"""['"`](\./[\w@.][\w@./ -]{0,200})['"`]"""
)
"""A path above the directory of a file, or one in it that is loaded, whatever its ending."""

_MOST_REFERENCES = 2_000


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file with the relative paths that it names outside its directory, or loads in it."""

    size: int
    digest: str
    references: tuple[str, ...] = ()


class FileDigests:
    """SHA-256 digests of files; a file whose status is the same is not read again."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], str] = {}
        self._sources: dict[tuple[int, ...], SourceFile] = {}

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

    def source(self, directory: Directory, name: str, status: os.stat_result) -> SourceFile:
        """A regular file that has not grown since its status was read.

        Raises:
            OSError, WorkspaceError: as `Directory.read`.
        """
        before = identity_of(status)
        if (known := self._sources.get(before)) is not None:
            return known
        data = directory.read(name, status.st_size)
        found = _REFERENCE.finditer(data) if b"./" in data else ()
        references = dict.fromkeys(
            os.fsdecode(each[1] or each[2]) for each in islice(found, _MOST_REFERENCES)
        )
        source = SourceFile(len(data), hashlib.sha256(data).hexdigest(), tuple(references))
        if before == identity_of(directory.status(name)) and is_settled(before):
            self._sources[before] = source
        return source


def identity_of(status: os.stat_result) -> tuple[int, ...]:
    """What tells whether a file is another one, or has changed."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def is_settled(identity: tuple[int, ...]) -> bool:
    """Return whether it does: a file that changed just now may change again within the resolution of its
    times.
    """
    return time.time_ns() - max(identity[-2:]) > _SETTLED
