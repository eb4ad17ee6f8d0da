"""The identity of a process, and whether it still runs: a pid alone may have been reused.

A process is identified by its pid and its start time, which includes the machine's boot.
"""

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

_PROC = Path("/proc")


def start_of(pid: int, proc: Path = _PROC) -> str | None:
    """The start time of process `pid`, in a form to compare; None if it no longer runs.

    The start is empty if there is no `proc`: then only the pid can be checked.
    """
    if not (proc / "self/stat").exists():
        return "" if _responds(pid) else None
    try:
        stat = (proc / str(pid) / "stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = _fields(stat)
    state, ticks = fields[0], fields[19].decode()
    return None if state in (b"Z", b"X") else f"{_boot()}/{ticks}"


def is_below(pid: int, above: int) -> bool:
    """Return whether process `above` has started `pid`, or has adopted it, directly or through others; False
    if that cannot be determined.
    """
    with suppress(OSError):
        while pid > 1:
            pid = int(_fields((_PROC / str(pid) / "stat").read_bytes())[1])
            if pid == above:
                return True
    return False


def command_line(pid: int) -> bytes:
    """The program of a process and its arguments, each ended by NUL; empty if they cannot be read."""
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return b""


@cache
def own_start(pid: int) -> str:
    """`start_of` this process, whose pid is `pid` (a fork has another)."""
    return start_of(pid) or ""


@cache
def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _fields(stat: bytes) -> list[bytes]:
    """The fields of a process's status from the third on."""
    # proc(5): the second field, the command in brackets, may itself contain spaces and brackets.
    return stat.rpartition(b")")[2].split()


def _responds(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
