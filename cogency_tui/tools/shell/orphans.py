"""Strays: processes of commands that have lost their supervision. We adopt, find and kill them.

A command can kill its supervisor and its guard at once. Its processes then have us as their parent, because
we adopt orphans (Linux). Orphans of an editor, of the desktop's opener or of git come to us as well: these
are in our session, or carry the mark of `child_processes`. A process can leave a session but not join one:
no command hides there.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from cogency_tui import child_processes
from cogency_tui.process_identity import start_of
from cogency_tui.tools.supervision.process_tree import children_by_parent, children_of, descendants
from cogency_tui.tools.supervision.system_calls import adopt_orphans

MARK = "COGENCY_COMMAND"
"""Variable in the environment of all processes of a command, by which they are found again."""

UNCLAIMED = 60.0
"""Seconds after which no waiter is expected for a child that has ended."""

_PATIENCE = 5.0
_PAUSE = 0.001
_STATE, _SESSION, _THREADS, _START, _MEMORY = 0, 3, 17, 19, 20
"""Fields of `/proc/PID/stat`, counted from the third."""

_lock = threading.Lock()
"""Held while children are listed or reaped: one that is reaped meanwhile could hide those that it left."""

_guards = set[int]()
_strays = set[int]()
_ended: dict[int, float] = {}


@cache
def adopt() -> None:
    """Become the parent of processes that commands lose."""
    adopt_orphans()


def start_guard(
    argv: Sequence[str],
    *,
    source: int,
    sink: int,
    errors: int,
    cwd: Path,
    environ: Mapping[str, str],
    handles: Collection[int],
) -> "subprocess.Popen[bytes]":
    """Start the topmost process of a command, in a session of its own, with `handles` open; always call
    `release`.

    Raises:
        OSError, ValueError: it could not be started.
    """
    with child_processes.new_session_starting():
        process = subprocess.Popen(
            argv,
            stdin=source,
            stdout=sink,
            stderr=errors,
            cwd=cwd,
            env=environ,
            pass_fds=handles,
            start_new_session=True,
        )
        _guards.add(process.pid)
    return process


def release(process: "subprocess.Popen[bytes]") -> int:
    """Wait for the end of the process from `start_guard`; return its status. Blocks."""
    status = process.wait()
    _guards.discard(process.pid)
    _bury()
    return status


def started_at(pid: int) -> int:
    """Return when a process started, in the system's ticks; 0 where that cannot be known."""
    fields = _stat(pid)
    return int(fields[_START]) if fields else 0


def sweep(since: int, mark: str) -> list[int]:
    """Kill the strays that started at `since` or later, and the processes with this `mark` of a command.
    Return those that do not end. Blocks."""
    deadline = time.monotonic() + _PATIENCE
    ended = set[int]()
    while True:
        with _lock:
            # Not the system's lists of children, which may skip one when another ends (proc(5)).
            children = children_by_parent()(os.getpid())
        # Only now: a child whose start is complete has the environment that it was given.
        waiting = child_processes.is_session_starting()
        # Each at once: it may fork, and end, while others are examined.
        found = {} if waiting else {pid: _kill_stray(pid) for pid in children if _is_stray(pid, since)}
        # The children of those that cannot be killed, too; all others become ours.
        roots = [pid for pid, killed in found.items() if not killed] if found else _marked(mark)
        found |= {pid: _killed(pid) for root in roots for pid in (root, *descendants(root))}
        # The children of one that ends become ours before it counts as ended, and perhaps after the list.
        stats = {pid: _stat(pid) for pid in children if pid not in ended}
        ending = {pid: stat for pid, stat in stats.items() if not _runs(stat)}
        ended.update(pid for pid, stat in ending.items() if not stat or _has_ended(stat))
        _bury()
        is_clear = not waiting and not ending and not any(found.values())
        if is_clear or time.monotonic() >= deadline:
            return sorted(pid for pid in found if start_of(pid) is not None)
        # A stray that forks during the search is found in the next one. Run in a thread.
        time.sleep(_PAUSE)


def _is_stray(pid: int, since: int) -> bool:
    """Return whether this child of ours runs, and is a stray."""
    bears_mark = "=".join(child_processes.MARK).encode() in _environment(pid)
    # After the environment, which is gone before the process is.
    fields = _stat(pid)
    if not _runs(fields) or int(fields[_START]) < since:
        return False
    return not bears_mark and pid not in _guards and int(fields[_SESSION]) != os.getsid(0)


def _runs(stat: Sequence[bytes]) -> bool:
    """Return whether a process has memory, or threads other than its first, which may have ended alone."""
    return bool(stat) and (int(stat[_MEMORY]) > 0 or int(stat[_THREADS]) > 1)


def _has_ended(stat: Sequence[bytes]) -> bool:
    """Return whether a process waits only to be reaped."""
    return bool(stat) and stat[_STATE] == b"Z" and not _runs(stat)


def _marked(mark: str) -> list[int]:
    marked = f"{MARK}={mark}".encode()
    pids = [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 (names, not paths)
    return [pid for pid in pids if marked in _environment(pid)]


def _kill_stray(pid: int) -> bool:
    """Send KILL to a child without a waiter; return whether that is allowed."""
    _strays.add(pid)
    return _killed(pid)


def _killed(pid: int) -> bool:
    """Send KILL; return whether that is allowed."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True


def _reap(pid: int) -> None:
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _bury() -> None:
    """Reap the adopted children that have ended."""
    now = time.monotonic()
    with _lock:
        children = {pid: _stat(pid) for pid in children_of(os.getpid()) if pid not in _guards}
        ended = {pid: int(stat[_SESSION]) for pid, stat in children.items() if _has_ended(stat)}
        _strays.intersection_update(children)
        for pid in _ended.keys() - ended.keys():
            del _ended[pid]
        for pid, session in ended.items():
            # The waiter for a child of ours waits for it at once.
            unclaimed = now - _ended.setdefault(pid, now) >= UNCLAIMED
            # Processes started here are in our session, or lead one.
            if unclaimed or pid in _strays or session not in (pid, os.getsid(0)):
                _reap(pid)
                del _ended[pid]
                _strays.discard(pid)


def _stat(pid: int) -> list[bytes]:
    """Return the fields of `/proc/PID/stat` after the name (proc(5)); empty where the process is gone."""
    try:
        # The name in brackets may itself contain spaces and brackets.
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []


def _environment(pid: int) -> Collection[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        # It has ended, or belongs to another user.
        return []
