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
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from cogency_tui import child_processes
from cogency_tui.process_identity import start_of
from cogency_tui.safe_text import one_line
from cogency_tui.tools.supervision.process_tree import (
    children_by_parent,
    children_of,
    descendants,
    read_file,
)
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

_OWN_MARK = "=".join(child_processes.MARK).encode()

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


def sweep(since: int, mark: str) -> list[str]:
    """Kill the strays that started at `since` or later, and the processes with this `mark` of a command.
    Return those that do not end, as `named`. Blocks."""
    deadline = time.monotonic() + _PATIENCE
    ended = set[int]()
    while True:
        # The system's lists of children are quick, but may skip one when another ends (proc(5)).
        children, found, waiting = _kill_strays(children_of, since)
        if not any(found.values()):
            children, found, waiting = _kill_strays(lambda pid: children_by_parent()(pid), since)
        # The children of those that cannot be killed, too; all others become ours.
        roots = [pid for pid, killed in found.items() if not killed] if found else _marked(mark)
        found |= {pid: _killed(pid) for root in roots for pid in (root, *descendants(root))}
        # The children of one that ends become ours before it counts as ended, and perhaps after the list.
        stats = {pid: _stat(pid) for pid in children if pid not in ended}
        ending = {pid: stat for pid, stat in stats.items() if not _runs(stat)}
        ended.update(pid for pid, stat in ending.items() if not stat or _has_ended(stat))
        _bury()
        if not waiting and not ending and not any(found.values()):
            return [named(pid) for pid in sorted(found) if start_of(pid) is not None]
        # A stray that forks during the search is found in the next one. Run in a thread.
        time.sleep(_PAUSE)
        if time.monotonic() >= deadline:
            return [named(pid) for pid in children_of(os.getpid()) if _is_stray(pid, since)]


def named(pid: int) -> str:
    """Format a process by its pid and, where that is known, its name, on one line."""
    name = read_file(f"/proc/{pid}/comm").decode(errors="replace")
    return one_line(f"{pid} {name}".strip())


def _kill_strays(
    lister: Callable[[int], list[int]], since: int
) -> tuple[Sequence[int], dict[int, bool], bool]:
    """Kill the strays among our children, which `lister` lists. Return all children, the strays with whether
    each could be killed, and whether none was looked for since a process of ours starts."""
    with _lock:
        children = lister(os.getpid())
    # Only now: a child whose start is complete has the environment that it was given.
    if child_processes.is_session_starting():
        return children, {}, True
    # Each at once: it may fork, and end, while others are examined.
    return children, {pid: _kill_stray(pid) for pid in children if _is_stray(pid, since)}, False


def _is_stray(pid: int, since: int) -> bool:
    """Return whether this child of ours runs, and is a stray."""
    bears_mark = _OWN_MARK in _environment(pid)
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
    # The name in brackets may itself contain spaces and brackets.
    return read_file(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def _environment(pid: int) -> Collection[bytes]:
    # Empty if it has ended, or belongs to another user.
    return read_file(f"/proc/{pid}/environ").split(b"\0")
