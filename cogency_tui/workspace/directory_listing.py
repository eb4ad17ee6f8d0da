"""Directory listings, complete or not at all: an old file never appears as new because others beside it
were added or removed.

Invariant: a directory with too many entries is not listed in part. It is `unseen`, as is one that is
closed: its content is assumed to be unchanged. The calls block.
"""

import os
import stat
from collections.abc import Collection
from itertools import islice
from pathlib import Path

MOST_ENTRIES = 20_000
"""Most entries of one directory that are listed, and of all that are entered below one."""


class Listing:
    """One pass over directories; `listed` are those that were read, `unseen` those that could not be listed,
    with a slash at the end where files are checked by fixed names instead."""

    def __init__(self) -> None:
        self.listed: set[str] = set()
        self.unseen: set[str] = set()

    def entries(self, directory: Path) -> list[os.DirEntry[str]]:
        """List all entries of a directory; none where it is unseen."""
        found = self._entries(str(directory), MOST_ENTRIES)
        if found is None:
            self.unseen.add(str(directory))
        return found or []

    def entries_unless_named(self, directory: Path) -> list[os.DirEntry[str]] | None:
        """List all entries of a directory; None where its files are to be checked by fixed names."""
        found = self._entries(str(directory), MOST_ENTRIES)
        if found is None:
            self.unseen.add(f"{directory}/")
        return found

    def files(self, path: Path, depth: int) -> list[Path]:
        """Return the file or link at a path, or all files in a directory and `depth` levels of it."""
        try:
            if not stat.S_ISDIR(path.lstat().st_mode):
                return [path]
        except OSError:
            return []
        found: list[Path] = []
        left = [(str(path), depth)]
        count = 0
        while left:
            above, levels = left.pop()
            entries = self._entries(above, MOST_ENTRIES - count)
            if entries is None:
                self.unseen.add(str(path))
                return []
            count += len(entries)
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    found.append(Path(entry.path))
                elif levels > 1:
                    left.append((entry.path, levels - 1))
        return found

    def _entries(self, directory: str, most: int) -> list[os.DirEntry[str]] | None:
        """List the entries of a directory; None where there are more than `most`."""
        try:
            with os.scandir(directory) as entries:
                found = list(islice(entries, most + 1))
                self.listed.add(directory)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError:
            self.unseen.add(directory)
            return []
        return found if len(found) <= most else None


def is_unseen(path: str, unseen: Collection[str], names: Collection[str]) -> bool:
    """Return whether a file is in an unseen directory, and was not checked by its name, one of `names`."""
    above, _, name = path.rpartition("/")
    if f"{above}/" in unseen and name not in names:
        return True
    return any(path.startswith(f"{each}/") for each in unseen if not each.endswith("/"))
