"""Our side of a command's supervision: starts it, receives reports of its end, and requests it.

Invariant: when `stop` has returned, no process of the command runs, or `stuck` names those that do.
"""

import asyncio
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from cogency_tui.process_identity import start_of
from cogency_tui.tools.shell import orphans
from cogency_tui.tools.supervision.process_tree import descendants
from cogency_tui.tools.supervision.supervisor import GUARD_PATIENCE, command_line, packed
from cogency_tui.tools.worker_threads import in_thread

TREE = sys.platform == "linux"
"""True if all descendants of a command can be ended; else only the process group."""

_PATIENCE = 1.0
_STARTING = 5.0
_MOST = 4096
_HIGHEST_STATUS = 0xFFFF
_ROUNDS = 50
_PAUSE = 0.01


class Supervised:
    """A command under supervision. `status` is as `waitpid` gives it, None while or where it is not known.

    `started`: there was a supervisor. `left`: the shell had ended, and processes that it had started had to
    be ended. `stuck`: those that did not end, each with its pid and name.
    """

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        control: socket.socket,
        leash: socket.socket,
        mark: str,
        *,
        tree: bool,
    ) -> None:
        self.status: int | None = None
        self.started = False
        self.left = False
        self.stuck: list[str] = []
        self._process = process
        self._control = control
        self._leash = leash
        self._mark = mark
        self._tree = tree
        self._group = 0
        self._began = orphans.started_at(process.pid)
        self._problem = 0
        self._complete = False
        self._unfinished = b""
        self._unsent = bytearray()
        self._ready = asyncio.Event()
        self._exited = asyncio.Event()
        self._over = asyncio.Event()
        self._gone = asyncio.Event()
        control.setblocking(False)
        loop = asyncio.get_running_loop()
        loop.add_reader(control, self._read_control)
        # Nothing is sent on it: it becomes readable when the process at its other end is gone.
        loop.add_reader(leash, self._note_end)

    @classmethod
    def start(
        cls,
        shell: Sequence[str],
        cwd: Path,
        environ: Mapping[str, str],
        sink: int,
        wrapper: Sequence[str] = (),
        *,
        source: int = subprocess.DEVNULL,
        errors: int | None = None,
        signs: Path | None = None,
        tree: bool = TREE,
    ) -> "Supervised":
        """Start a shell whose output goes to the handle `sink`, through a `wrapper` that is a sandbox. Its
        input comes from `source`, and its standard error goes to `errors` if given. The guard sets the time
        of the file `signs` when all processes have ended, also when our program is gone.

        Raises:
            OSError, ValueError: it could not be started.
        """
        mark = secrets.token_hex(8)
        line = packed(shell)
        if tree:
            orphans.adopt()
        (ours, theirs), (leash, held) = socket.socketpair(), socket.socketpair()
        try:
            with theirs, held, _opened(signs) as handles:
                handles = (theirs.fileno(), held.fileno(), *handles)
                process = orphans.start_guard(
                    command_line("guard" if tree else "group", handles, wrapper),
                    source=source,
                    sink=sink,
                    errors=sink if errors is None else errors,
                    cwd=cwd,
                    environ={**environ, orphans.MARK: mark},
                    handles=handles,
                )
        except BaseException:
            ours.close()
            leash.close()
            raise
        supervised = cls(process, ours, leash, mark, tree=tree)
        supervised._send(line)
        return supervised

    @property
    def pid(self) -> int:
        """Topmost process of the command."""
        return self._process.pid

    async def ready(self) -> None:
        """Wait until the shell has started, or the supervision is lost. If neither is reported in time,
        because a command was fast enough to stop its supervision, the shell counts as started.

        Raises:
            OSError: the shell could not be started.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(_STARTING):
                await self._ready.wait()
        if self._problem:
            raise OSError(self._problem, os.strerror(self._problem))

    async def exited(self) -> None:
        """Wait until the shell has ended, or the supervision is lost."""
        await self._exited.wait()

    async def over(self) -> None:
        """Wait until all processes have ended, or the supervision is lost."""
        await self._over.wait()

    async def stop(self, grace: float) -> None:
        """End running processes: TERM, and KILL after `grace` seconds."""
        if not self._over.is_set():
            self._send(f"stop {grace}\n".encode())
        await _within(grace + _PATIENCE, self._over)
        # The supervisor is done, is stopped, or cannot end something. Now the guard begins to work.
        for link in (self._control, self._leash):
            with suppress(OSError):
                link.shutdown(socket.SHUT_WR)
        below: list[int] = []
        if not await _within(GUARD_PATIENCE + _PATIENCE, self._gone):
            # The guard is stopped, or cannot end it either. At its end a stopped supervisor continues.
            below = await in_thread(descendants, self._process.pid) if TREE else []
            self._process.kill()
            await _within(_PATIENCE, self._over)
        self.stuck = await in_thread(self._end_strays, below)

    def close(self) -> None:
        """Close the connection, after `stop`."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._control)
        loop.remove_writer(self._control)
        loop.remove_reader(self._leash)
        self._control.close()
        self._leash.close()

    def _end_strays(self, below: Sequence[int]) -> list[str]:
        """Kill escaped processes; return those of `below` and of them that still run. Blocks."""
        # A guard that ends by itself has seen the end of all processes below it.
        lost = orphans.release(self._process) != 0
        if self._group and not self._complete:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._group, signal.SIGKILL)
        left = orphans.sweep(self._began, self._mark) if TREE and lost else []
        return [*dict.fromkeys((*map(orphans.named, _running(below)), *left))]

    def _send(self, data: bytes) -> None:
        """Send data after what did not fit into the socket before."""
        self._unsent += data
        self._flush()

    def _flush(self) -> None:
        try:
            del self._unsent[: self._control.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError:
            # The other end no longer reads: `_read_control` notices the end.
            self._unsent.clear()
        loop = asyncio.get_running_loop()
        if self._unsent:
            loop.add_writer(self._control, self._flush)
        else:
            loop.remove_writer(self._control)

    def _note_end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._leash)
        self._gone.set()

    def _read_control(self) -> None:
        try:
            data = self._control.recv(_MOST)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._control)
            for event in (self._over, self._exited, self._ready):
                event.set()
            return
        *lines, rest = (self._unfinished + data).split(b"\n")
        self._unfinished = rest[:_MOST]
        for line in lines:
            self._take(line)

    def _take(self, line: bytes) -> None:
        """Process a report; a command that got hold of the socket can send anything."""
        match line.split():
            case [b"here"]:
                self.started = True
            case [b"started"]:
                self._ready.set()
            case [b"group", group] if group.isdigit() and not (self._tree or self._ready.is_set()):
                self._group = _other_group(int(group))
            case [b"failed", number] if number.isdigit():
                self._problem = int(number)
                self._ready.set()
            case [b"exited", status] if status.isdigit() and _is_end(int(status)):
                self.status = int(status)
                self._exited.set()
            case [b"over", left]:
                self._complete = True
                self.left = left == b"1"
            case _:
                pass


@contextmanager
def _opened(path: Path | None) -> Generator[tuple[int, ...]]:
    """Return the handle of a file, if it can be opened."""
    handle = None
    if path is not None:
        with suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        yield () if handle is None else (handle,)
    finally:
        if handle is not None:
            os.close(handle)


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Return whether the event comes within `seconds`."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


def _is_end(status: int) -> bool:
    return status <= _HIGHEST_STATUS and (os.WIFEXITED(status) or os.WIFSIGNALED(status))


def _other_group(group: int) -> int:
    """Return `group`, if it can be one of a command; 0 otherwise."""
    return group if group > 1 and group != os.getpgrp() else 0


def _running(pids: Collection[int]) -> list[int]:
    """Return the processes that still run after a moment. Blocks."""
    for _ in range(_ROUNDS):
        pids = sorted(pid for pid in pids if start_of(pid) is not None)
        if not pids:
            break
        # A process that is not our child cannot be waited for. Run in a thread.
        time.sleep(_PAUSE)
    return sorted(pids)
