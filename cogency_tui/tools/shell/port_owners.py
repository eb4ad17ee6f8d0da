"""The processes that listen on ports of this machine, and whether this conversation started them.

On Linux the system's table of sockets leads to the processes that hold them. Where the process cannot be
determined, a used port counts as one of a process that the conversation did not start.
"""

import os
import re
import socket
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from cogency_tui.child_processes import run_helper
from cogency_tui.tools.supervision.process_tree import descendants
from cogency_tui.workspace.protected_names import shown

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LISTENING = "0A"
_STATE, _INODE = 3, 9
_SOCKET = re.compile(r"socket:\[(\d+)\]")
_LSOF = ("/usr/sbin/lsof", "/usr/bin/lsof")
_LSOF_SECONDS = 5.0

STRANGER = "a process that this conversation did not start"


class ListeningPorts:
    """The TCP ports in use; `roots` returns the topmost processes that the conversation started."""

    def __init__(self, roots: Callable[[], Sequence[int]] = lambda: ()) -> None:
        self._roots = roots

    def stranger(self, port: int) -> str:
        """Describe the process that listens on `port` and that the conversation did not start. Empty where
        there is no listener, or only one that the conversation started. Blocks."""
        if sys.platform == "linux":
            return self._stranger_by_proc(port)
        return "" if _is_free(port) else _described(_names_by_lsof(port))

    def are_of(self, port: int, directories: Collection[Path]) -> bool:
        """Return whether only programs of this user that work in these directories (resolved) listen on
        `port`, and none that contacts other machines itself; False where that cannot be known. Blocks."""
        try:
            foreign = self._foreign(port)
        except OSError:
            return False
        holders = {pid: found for pid in _processes() if (found := foreign & _sockets_of(pid))}
        held = {inode for inodes in holders.values() for inode in inodes}
        return bool(foreign) and held == foreign and all(_works_in(pid, directories) for pid in holders)

    def _stranger_by_proc(self, port: int) -> str:
        try:
            foreign = self._foreign(port)
        except OSError:
            return "" if _is_free(port) else _described([])
        if not foreign:
            return ""
        holders = (pid for pid in _processes() if not foreign.isdisjoint(_sockets_of(pid)))
        return _described(name for pid in holders if (name := _name_of(pid)))

    def _foreign(self, port: int) -> set[int]:
        """Return the sockets that listen on `port`, except those of processes that the conversation
        started.

        Raises:
            OSError: the system's table cannot be read.
        """
        inodes = {inode for table in _TABLES if table.exists() for inode in inodes_in(_read(table), port)}
        roots = self._roots()
        own = {*roots, *(below for root in roots for below in descendants(root))}
        return inodes - {inode for pid in own for inode in _sockets_of(pid)}


def inodes_in(table: str, port: int) -> set[int]:
    """Return the inodes of the sockets that listen on `port`, from the text of `/proc/net/tcp` or `tcp6`."""
    found: set[int] = set()
    for line in table.splitlines()[1:]:
        fields = line.split()
        if len(fields) <= _INODE or fields[_STATE] != _LISTENING:
            continue
        if int(fields[1].rpartition(":")[2], 16) == port:
            found.add(int(fields[_INODE]))
    return found


def _described(names: Iterable[str]) -> str:
    name = next(iter(names), "")
    return f"{shown(name)}, {STRANGER}" if name else STRANGER


def _read(path: Path) -> str:
    return path.read_text("utf-8", "replace")


def _processes() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())


def _sockets_of(pid: int) -> set[int]:
    """Return the inodes of a process's sockets; none where it has ended or belongs to another user."""
    found: set[int] = set()
    with suppress(OSError):
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if socket_named := _SOCKET.fullmatch(str(handle.readlink())):
                    found.add(int(socket_named[1]))
    return found


def _works_in(pid: int, directories: Collection[Path]) -> bool:
    """Return whether a process is another program of this user, and its working directory is in one of
    these."""
    process = Path(f"/proc/{pid}")
    try:
        place, owner = (process / "cwd").readlink(), process.stat().st_uid
    except OSError:
        return False
    from cogency_tui.tools.shell.programs import facts

    if pid == os.getpid() or "network" in facts(_name_of(pid)):
        return False
    return owner == os.getuid() and any(map(place.is_relative_to, directories))


def _name_of(pid: int) -> str:
    try:
        return _read(Path(f"/proc/{pid}/comm")).strip()
    except OSError:
        return ""


def _is_free(port: int) -> bool:
    """Return whether the port is free."""
    try:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


def _names_by_lsof(port: int) -> list[str]:
    program = next((path for path in _LSOF if os.access(path, os.X_OK)), "")
    if not program:
        return []
    command = [program, "-nP", f"-iTCP:{port}", "-sTCP:LISTEN", "-Fc"]
    try:
        _status, answer = run_helper(command, seconds=_LSOF_SECONDS, environ={})
    except OSError:
        return []
    lines = answer.decode(errors="replace").splitlines()
    return [line[1:] for line in lines if line.startswith("c")]
