"""Files for which git would wait forever: a FIFO, a socket or a device in place of a file that git reads."""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from cogency_tui.workspace.git.configured_paths import configurations, directories, named

_READ_BY_GIT = (".gitignore", ".gitattributes", ".gitmodules", ".mailmap")
_OWN_FILES = (
    *("HEAD", "config", "config.worktree", "commondir", "index", "packed-refs", "shallow"),
    *("info/exclude", "info/attributes", "info/sparse-checkout", "objects/info/alternates"),
)
_MOST_ENTRIES = 50_000
"""Most entries of directories in which such files are searched."""


def blocked(directory: Path, paths: Sequence[Path] = (), *, below: bool = False) -> bool:
    """Return whether git would wait forever for a FIFO, a socket or a device if it was asked in `directory`
    about `paths`; with `below`, about everything in them. Opens none of these files."""
    tops = paths or (directory,)
    places = dict.fromkeys(place for top in (directory, *tops) for place in (top, *top.parents))
    if any(_waits(place / name) for place in places for name in _READ_BY_GIT):
        return True
    if waits_for_configuration(directory):
        return True
    return below and any(_waits(path) for path in _ignore_files(tops))


def waits_for_configuration(directory: Path) -> bool:
    """Return whether git would wait forever in `directory` for a file of the repository itself, or for one
    that its configuration names."""
    return any(
        _waits_in(place / ".git")
        for place in (directory, *directory.parents)
        if os.path.lexists(place / ".git")
    )


def _waits_in(git: Path) -> bool:
    # Before every question to git: paths would take longer than what they are for.
    if _waits(git) or any(_waits(f"{each}/{name}") for each in directories(git) for name in _OWN_FILES):
        return True
    found = named(configurations(git))
    return any(_waits(path) for path in (*found.includes, *(git.parent / each for each in found.read)))


def is_unreadable(path: Path) -> bool:
    """Return whether a path is no file that ends."""
    return _waits(path) or path.is_dir()


def _ignore_files(tops: Iterable[Path]) -> Iterator[Path]:
    """Yield the files below some directories that git reads, up to a number of entries."""
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


def _waits(path: Path | str) -> bool:
    """Return whether opening it may wait."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 (also text)
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


def read_regular(path: Path, most: int) -> bytes:
    """Return the first bytes of a regular file; none of anything else, or of an unreadable file."""
    try:
        with open(os.open(path, _READ), "rb") as file:  # noqa: PTH123 (a descriptor)
            return file.read(most) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except OSError:
        return b""
