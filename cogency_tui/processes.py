"""Who wrote a row, and whether that process still runs: a pid alone may have been given out again.

A process is named by its pid together with the time of its start, which includes the machine's.
"""

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

_PROC = Path("/proc")


def start_of(pid: int, proc: Path = _PROC) -> str | None:
    """When process `pid` started, in a form to compare; None when it runs no more.

    The start is empty where there is no `proc`: then a pid is all that can be asked for.
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
    """Whether process `above` has started `pid`, or has adopted it, itself or through others; False where
    the system does not say."""
    with suppress(OSError):
        while pid > 1:
            pid = int(_fields((_PROC / str(pid) / "stat").read_bytes())[1])
            if pid == above:
                return True
    return False


def command_line(pid: int) -> bytes:
    """The program that a process runs and its arguments, each ended by NUL; empty where nobody says."""
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
    # proc(5): the second field, the command in brackets, may itself hold spaces and brackets.
    return stat.rpartition(b")")[2].split()


def _responds(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
