"""Files outside the project that need no question: public files of the system, and the user's own temporary
files.

Invariant: a path is judged by its target, with all links resolved. A public file belongs to the system, is
in one of the places listed here, and is readable by all; it can contain no text of anyone who could not run
programs on this machine already. A temporary file is the user's own: no other user may have written it, it
belongs to no other project, and it was created or changed since this program started. The calls block.
"""

import os
import re
import stat
import tempfile
import time
from pathlib import Path

_PLACES = re.compile(
    r"/(?:usr|lib|lib32|lib64|bin|sbin|nix/store|System/Library|Library/Developer/CommandLineTools)(?:/.*)?"
    r"|/etc/(?:[\w-]*release|debian_version|issue(?:\.net)?|shells|services|protocols|mime\.types|magic"
    r"|nsswitch\.conf|host\.conf|inputrc|locale(?:\.gen|\.conf|\.alias)?|localtime|timezone|login\.defs"
    r"|ld\.so\.conf(?:\.d(?:/.*)?)?|alternatives(?:/.*)?|ca-certificates\.conf|ssl/openssl\.cnf"
    r"|ssl/certs(?:/.*)?|python[\d.]*(?:/.*)?|skel(?:/.*)?)"
    r"|/proc/(?:cpuinfo|meminfo|version|loadavg|uptime|stat|filesystems|devices|swaps|vmstat|diskstats"
    r"|sys/kernel/(?:osrelease|ostype|version|pid_max|threads-max)|sys/fs/(?:file-max|inotify/\w+)"
    r"|sys/vm/(?:overcommit_memory|swappiness|max_map_count)|sys/net/core/somaxconn)"
    r"|/sys/(?:devices/system/cpu|fs/cgroup)(?:/.*)?"
)
"""Places of the system's public files."""

_SECRET = re.compile(
    r"(?:^|[/._-])(?:private|shadow|secrets?|credentials?|passwords?|tokens?|id_[a-z0-9]+|\.?netrc|\.env)(?:$|[/._-])"
    r"|\.(?:key|p12|pfx|jks|kdbx)$",
    re.IGNORECASE,
)
"""Names of files that should be private, whatever their mode."""

_PROGRAMS = re.compile(r"/(?:s?bin|libexec)(?:/|$)")

_REPOSITORIES = (".git", ".hg", ".svn", ".jj", ".cogency")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_MOST_ENTRIES = 200
"""Most entries of a temporary directory that are examined."""

_STARTED = time.time()


def is_public(path: Path, program: str = "") -> bool:
    """Return whether a resolved path is a public one of the system's.

    The programs of the system are public only where `program` does not read their content: a copy of one
    could run under another name.
    """
    text = str(path)
    if not _PLACES.fullmatch(text) or _SECRET.search(text):
        return False
    try:
        status = path.lstat()
    except OSError:
        return False
    directory = stat.S_ISDIR(status.st_mode)
    if status.st_uid or not (directory or stat.S_ISREG(status.st_mode)):
        return False
    if not status.st_mode & stat.S_IROTH or status.st_mode & stat.S_IWOTH:
        return False
    if program and _only_lists(program):
        return True
    executable = not directory and bool(status.st_mode & stat.S_IXUSR)
    return not (executable or _PROGRAMS.search(text))


def _only_lists(program: str) -> bool:
    from cogency_tui.tools.shell.programs import programs_with

    return program in programs_with("status")


def is_own_temporary(path: Path, project: Path) -> bool:
    """Return whether a resolved path is a temporary file of the user's own, or may become one.

    Files beside a project that is in the temporary directory itself are none.
    """
    place = max((each for each in _temporary_places() if path.is_relative_to(each)), default=None)
    if place is None or path == place or project == place:
        return False
    parts = path.relative_to(place).parts
    if project.is_relative_to(place) and project.relative_to(place).parts[0] == parts[0]:
        return False
    here = place
    for part in parts:
        here = here / part
        try:
            status = here.lstat()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        if not _is_own(status) or any(os.path.lexists(here / name) for name in _REPOSITORIES):
            return False
    return not here.is_dir() or _holds_own(here)


def is_home(path: Path) -> bool:
    try:
        return path == Path.home().resolve()
    except RuntimeError:
        return False


def _holds_own(directory: Path) -> bool:
    """Return whether all files in a directory are the user's own, and new; False where there are too many."""
    left = _MOST_ENTRIES
    pending = [directory]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    left -= 1
                    if (
                        left < 0
                        or entry.name in _REPOSITORIES
                        or not _is_own(entry.stat(follow_symlinks=False))
                    ):
                        return False
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(Path(entry.path))
        except OSError:
            return False
    return True


def _is_own(status: os.stat_result) -> bool:
    if status.st_uid != os.geteuid() or status.st_mode & _OTHERS_WRITE or status.st_ctime < _STARTED:
        return False
    return stat.S_ISDIR(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_nlink == 1)


def _temporary_places() -> list[Path]:
    """Return the directories for temporary files, if the system protects users' files there from each
    other."""
    found = dict.fromkeys(Path(os.path.realpath(each)) for each in ("/tmp", tempfile.gettempdir()))
    return [each for each in found if _is_safe(each)]


def _is_safe(directory: Path) -> bool:
    try:
        status = directory.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (0, os.geteuid()):
        return False
    return bool(status.st_mode & stat.S_ISVTX) or not status.st_mode & _OTHERS_WRITE
