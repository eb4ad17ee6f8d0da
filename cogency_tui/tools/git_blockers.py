"""Files that keep git waiting for ever: a FIFO, a socket or a device in place of a file that it reads.

Git opens such a file by its name and waits for somebody to write. Nothing is opened here.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

_READ_BY_GIT = (".gitignore", ".gitattributes", ".gitmodules", ".mailmap")
_OWN_FILES = ("HEAD", "config", "config.worktree", "index", "packed-refs", "info/exclude", "info/attributes")
_MOST_ENTRIES = 50_000
"""Entries of directories in which such files are looked for."""


def blocked(directory: Path, paths: Sequence[Path] = (), *, below: bool = False) -> bool:
    """Whether git would wait if it was asked in `directory` about `paths`; with `below` about all in them."""
    tops = paths or (directory,)
    places = dict.fromkeys(place for top in (directory, *tops) for place in (top, *top.parents))
    if any(_waits(place / name) for place in places for name in _READ_BY_GIT):
        return True
    own = next(
        (place / ".git" for place in (directory, *directory.parents) if (place / ".git").exists()), None
    )
    if own is not None and (_waits(own) or any(_waits(own / name) for name in _OWN_FILES)):
        return True
    return below and any(_waits(path) for path in _ignore_files(tops))


def _ignore_files(tops: Iterable[Path]) -> Iterator[Path]:
    """The files below some directories that git reads, as far as they are looked for."""
    pending = [top for top in tops if top.is_dir() and not top.is_symlink()]
    left = _MOST_ENTRIES
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return
                    if entry.name in _READ_BY_GIT:
                        yield Path(entry.path)
                    elif entry.name != ".git" and entry.is_dir(follow_symlinks=False):
                        pending.append(Path(entry.path))
        except OSError:
            continue


def _waits(path: Path) -> bool:
    """Whether to open it may wait."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
