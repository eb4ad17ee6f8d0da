"""Processes of commands that have lost their supervision: adopted by us, found, and killed.

A command can kill its supervisor and its guard at once. What it started then has us as its parent, because we
adopt orphans (Linux). Other orphans come to us as well, of editors and clipboard programs: these are in our
session, or in one that is spared. A process can leave a session but not join one: no command hides there.
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

from cogency_tui.processes import start_of
from cogency_tui.tools.supervision.family import children_of, descendants
from cogency_tui.tools.supervision.system import adopt_orphans

MARK = "COGENCY_COMMAND"
"""A variable in the environment of everything that a command starts, by which it is found again."""

UNCLAIMED = 60.0
"""Seconds after which nobody is expected to wait for a child that has ended."""

_PATIENCE = 5.0
_PAUSE = 0.001
_SESSION, _START = 3, 19
"""Fields of `/proc/PID/stat`, counted from the third."""

_lock = threading.Lock()
"""Held while a guard is started, so that it is not taken for a stray, and while strays are looked for."""

_guards = set[int]()
_spared = set[int]()
_ended: dict[int, float] = {}


@cache
def adopt() -> None:
    """Become the parent of what commands lose on the way."""
    adopt_orphans()


def start_guard(
    argv: Sequence[str],
    *,
    source: int,
    sink: int,
    errors: int,
    cwd: Path,
    environ: Mapping[str, str],
    control: int,
) -> "subprocess.Popen[bytes]":
    """Start what stands above a command, in a session of its own; `release` it when it has ended.

    Raises:
        OSError, ValueError: it could not be started.
    """
    with _lock:
        process = subprocess.Popen(
            argv,
            stdin=source,
            stdout=sink,
            stderr=errors,
            cwd=cwd,
            env=environ,
            pass_fds=(control,),
            start_new_session=True,
        )
        _guards.add(process.pid)
    return process


def release(process: "subprocess.Popen[bytes]") -> None:
    """Wait for the end of what `start_guard` has started. Blocks."""
    process.wait()
    with _lock:
        _guards.discard(process.pid)


def spare(session: int) -> None:
    """Leave alone what runs in this session, which is none of a command."""
    _spared.add(session)


def started_at(pid: int) -> int:
    """When a process started, in the system's ticks; 0 where that cannot be known."""
    fields = _stat(pid)
    return int(fields[_START]) if fields else 0


def sweep(since: int, mark: str | None = None) -> list[int]:
    """Kill the strays that started at `since` or later, and where a `mark` is given what bears it. Return
    those that do not end. Blocks."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        with _lock:
            roots = _strays(since) or ([] if mark is None else _marked(mark))
            found = {*roots, *(below for root in roots for below in descendants(root))}
            denied = {pid for pid in found if not _killed(pid)}
            for pid in roots:
                _reap(pid)
            _bury_unclaimed()
        left = sorted(pid for pid in found if start_of(pid) is not None)
        if not found or denied.issuperset(found) or time.monotonic() >= deadline:
            return left
        # A stray that forks while it is looked for is found the next time. Run in a thread.
        time.sleep(_PAUSE)


def _strays(since: int) -> list[int]:
    """Our children that are none of ours."""
    others = {os.getsid(0), *_spared}
    found: list[int] = []
    for pid in children_of(os.getpid()):
        fields = _stat(pid)
        late = bool(fields) and int(fields[_START]) >= since
        if late and pid not in _guards and int(fields[_SESSION]) not in others:
            found.append(pid)
    return found


def _marked(mark: str) -> list[int]:
    wanted = f"{MARK}={mark}".encode()
    names = os.listdir("/proc")  # noqa: PTH208 (names, not paths)
    return [int(name) for name in names if name.isdecimal() and wanted in _environment(name)]


def _killed(pid: int) -> bool:
    """Send KILL; whether that is allowed."""
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


def _bury_unclaimed() -> None:
    """Reap the adopted children that nobody waits for. Who waits for a child of ours does so at once."""
    now = time.monotonic()
    ended = {pid for pid in children_of(os.getpid()) if pid not in _guards and _has_ended(pid)}
    for pid in _ended.keys() - ended:
        del _ended[pid]
    for pid in ended:
        if now - _ended.setdefault(pid, now) >= UNCLAIMED:
            _reap(pid)
            del _ended[pid]


def _has_ended(pid: int) -> bool:
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False


def _stat(pid: int) -> list[bytes]:
    """What the system says of a process after its name (proc(5)); nothing where it is gone."""
    try:
        # The name in brackets may itself hold spaces and brackets.
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []


def _environment(pid: str) -> Collection[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        # It has ended, or is not ours.
        return []
