"""The processes of a command: all descendants of this process, or where that cannot be known, a process
group.

Invariant: `over` is true only when none of them runs. A subreaper without children has no descendants.
"""

import os
import select
import signal
from collections.abc import Callable

from .system_calls import quiet, wait

_FIRST_PAUSE = 0.002
_LONGEST_PAUSE = 1.0


class Family:
    """The processes of a command. `reaped` receives each child that has ended, by its pid and its status as
    `waitpid` gives it."""

    def __init__(self, group: int | None, reaped: Callable[[int, int], None]) -> None:
        self._group = group
        self._reaped = reaped

    def over(self) -> bool:
        """Reap children that have ended. Whether no process is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return self._group is None or not _there(self._group)
            if pid == 0:
                return False
            self._reaped(pid, status)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to every process that permits it."""
        if self._group is not None:
            _send(-self._group, number)
        else:
            for pid in descendants(os.getpid()):
                _send(pid, number)

    def kill(self, awake: int) -> None:
        """Kill all, and return when they have ended. A process that forks during the search is found in the
        next one."""
        poll = select.poll()
        poll.register(awake, select.POLLIN)
        pause = _FIRST_PAUSE
        while not self.over():
            self.signal(signal.SIGKILL)
            if poll.poll(wait(pause)):
                quiet(awake)
            # A process that belongs to another user, or hangs in the kernel, may stay for long.
            pause = min(pause * 1.5, _LONGEST_PAUSE)


def descendants(root: int) -> list[int]:
    """Return all processes below one, as far as the system knows (Linux)."""
    children = _children()
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children(waiting.pop())
        found += below
        waiting += below
    return found


def children_of(pid: int) -> list[int]:
    """Return the children of a process, as far as the system knows (Linux)."""
    return _children()(pid)


def files_written_by(root: int) -> set[tuple[int, int]]:
    """Return the files, by device and inode, that a process and those below it have open for writing, as far
    as the system shows it (Linux)."""
    found: set[tuple[int, int]] = set()
    for pid in (root, *descendants(root)):
        for handle in _listed(f"/proc/{pid}/fd"):
            if _is_written(read_file(f"/proc/{pid}/fdinfo/{handle}")):
                try:
                    there = os.stat(f"/proc/{pid}/fd/{handle}")  # noqa: PTH116 (as above)
                except OSError:
                    continue
                found.add((there.st_dev, there.st_ino))
    return found


def _is_written(fdinfo: bytes) -> bool:
    """proc(5): the flags are octal, the access mode among them."""
    flags = [line.split()[1] for line in fdinfo.splitlines() if line.startswith(b"flags:")]
    return bool(flags) and int(flags[0], 8) & os.O_ACCMODE != os.O_RDONLY


def _children() -> Callable[[int], list[int]]:
    # Not every kernel is built to list the children of a process.
    listed = os.path.exists("/proc/thread-self/children")  # noqa: PTH110 (pathlib is slow to load)
    return listed_children if listed else children_by_parent()


def listed_children(pid: int) -> list[int]:
    """Return the children of a process, from the lists of its threads."""
    found: list[int] = []
    for task in _listed(f"/proc/{pid}/task"):
        found += map(int, read_file(f"/proc/{pid}/task/{task}/children").split())
    return found


def children_by_parent() -> Callable[[int], list[int]]:
    """Return a function with the same result from each process's parent: slower, but works on every
    kernel."""
    below: dict[int, list[int]] = {}
    for name in _listed("/proc"):
        # proc(5): the second field, the command in brackets, may itself contain spaces and brackets.
        fields = read_file(f"/proc/{name}/stat").rpartition(b")")[2].split() if name.isdecimal() else []
        if len(fields) > 1:
            below.setdefault(int(fields[1]), []).append(int(name))
    return lambda pid: below.get(pid, [])


def _listed(directory: str) -> list[str]:
    try:
        return os.listdir(directory)  # noqa: PTH208 (as above)
    except OSError:
        return []


def read_file(name: str) -> bytes:
    """Return the contents of a file in `/proc`; empty where the process has ended, or is not ours to see."""
    try:
        with open(name, "rb") as file:  # noqa: PTH123 (as above)
            return file.read()
    except OSError:
        return b""


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        # macOS answers EPERM when only ended processes are left.
        return False
    return True
