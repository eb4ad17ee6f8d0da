"""Files that commands moved out of sight since the session began, and that have no copy.

They may be in a directory that no snapshot covers and that builds create again: it then contains more than
products of builds. A file is identified by its inode, and one that was copied before its removal by its
size.
"""

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from cogency_tui.workspace.file_or_link import Stamp

_LEAST = 1 << 16
"""Least bytes of a file that is identified by its size."""

_MOST_FILES = 200_000


class MovedFiles:
    """The files, by their stamps."""

    def __init__(self) -> None:
        self._by_inode: dict[tuple[int, int, int], str] = {}
        self._by_size: dict[int, str] = {}

    def add(self, path: str, stamp: Stamp) -> None:
        """Record a file that is no longer at its path."""
        self._by_inode[stamp.device, stamp.inode, stamp.size] = path
        if stamp.size >= _LEAST:
            self._by_size[stamp.size] = path

    def below(self, directory: Path) -> Iterator[tuple[Path, str]]:
        """Yield those in a directory, each with its former path."""
        if not self._by_inode:
            return
        files = (Path(top, name) for top, _, names in os.walk(directory) for name in names)
        for file in islice(files, _MOST_FILES):
            if path := self._earlier(file):
                yield file, path

    def _earlier(self, file: Path) -> str:
        try:
            found = file.lstat()
        except OSError:
            return ""
        if not stat.S_ISREG(found.st_mode):
            return ""
        known = self._by_inode.get((found.st_dev, found.st_ino, found.st_size))
        return known or self._by_size.get(found.st_size, "")
