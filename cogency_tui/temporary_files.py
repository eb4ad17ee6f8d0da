"""Temporary files and directories whose names identify their owner, so that those of a killed process can
be removed.

Invariant: only entries are removed that have such a name, belong to this user, and whose process is gone.
"""

import hashlib
import os
import re
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from cogency_tui.process_identity import own_start, start_of

_OWNED = re.compile(r"\.?cogency-(?:[a-z]+-)?(?P<owner>\d+-[0-9a-f]{12})-[0-9a-z_]+(?:\.[a-z]+)?")


def owner() -> str:
    """This process, as a part of a name: its pid, and a digest of its start."""
    pid = os.getpid()
    return _named(pid, own_start(pid))


def is_gone(owner: str) -> bool:
    """Return whether the process with this `owner` no longer runs."""
    pid = int(owner.partition("-")[0])
    start = start_of(pid)
    return start is None or _named(pid, start) != owner


def prefix(kind: str) -> str:
    """The prefix of a temporary directory's name in this process."""
    return f"cogency-{kind}-{owner()}-"


def make_directory(kind: str, inside: Path | None = None) -> Path:
    """Create a directory for the user alone, by default in the system's temporary directory.

    Raises:
        OSError: it cannot be created.
    """
    return Path(tempfile.mkdtemp(prefix=prefix(kind), dir=inside))


def is_in_one(path: Path, kind: str) -> bool:
    """Return whether `path` is directly in a temporary directory of this kind, of any process."""
    name = path.parent.name
    return name.startswith(f"cogency-{kind}-") and _OWNED.fullmatch(name) is not None


def is_abandoned(name: str, status: os.stat_result, over: str = "") -> bool:
    """Return whether an entry with this name is ours, and its process is gone, or has the owner `over`."""
    found = _OWNED.fullmatch(name)
    plain = any(test(status.st_mode) for test in (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK))
    return bool(
        found
        and plain
        and status.st_uid == os.getuid()
        and (found["owner"] == over or is_gone(found["owner"]))
    )


def sweep(inside: Path | None = None) -> None:
    """Remove the temporary directories of processes that are gone, by default from the system's temporary
    directory. Blocks.
    """
    with suppress(OSError), os.scandir(inside or tempfile.gettempdir()) as entries:
        for entry in entries:
            with suppress(OSError):
                if (
                    _OWNED.fullmatch(entry.name)
                    and entry.is_dir(follow_symlinks=False)
                    and is_abandoned(entry.name, entry.stat(follow_symlinks=False))
                ):
                    shutil.rmtree(entry.path, ignore_errors=True)


def _named(pid: int, start: str) -> str:
    return f"{pid}-{hashlib.sha256(start.encode()).hexdigest()[:12]}"
