"""Files that commands took out of sight since the session began, and of which no copy is kept.

They may lie where nothing is looked at, in a directory that builds make again: it is not theirs alone then. A
file is known by its inode, and one that was copied to another place before it was removed by its size.
"""

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from cogency_tui.workspace.place import Stamp

_LEAST = 1 << 16
"""Bytes of a file that is known by its size."""

_MOST_FILES = 200_000


class MovedFiles:
    """The files, by what the system says of them."""

    def __init__(self) -> None:
        self._by_inode: dict[tuple[int, int, int], str] = {}
        self._by_size: dict[int, str] = {}

    def add(self, path: str, stamp: Stamp) -> None:
        """Note a file that is not at its path any more."""
        self._by_inode[stamp.device, stamp.inode, stamp.size] = path
        if stamp.size >= _LEAST:
            self._by_size[stamp.size] = path

    def below(self, directory: Path) -> Iterator[tuple[Path, str]]:
        """Those in a directory, each with the path that it had."""
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
