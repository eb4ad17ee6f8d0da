"""Our side of a command's supervision: start it, hear how the command ended, have it ended.

Invariant: when `stop` has returned, nothing of the command runs, or `stuck` says that something does.
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

from cogency_tui.processes import start_of
from cogency_tui.text import one_line
from cogency_tui.tools import strays
from cogency_tui.tools.blocking import in_thread
from cogency_tui.tools.supervision.family import descendants
from cogency_tui.tools.supervision.supervisor import GUARD_PATIENCE, command_line, packed

TREE = sys.platform == "linux"
"""Whether all that descends from a command can be ended; else it is the process group."""

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
        self._began = strays.started_at(process.pid)
        self._problem = 0
        self._complete = False
        self._heard = b""
        self._unsent = bytearray()
        self._ready = asyncio.Event()
        self._exited = asyncio.Event()
        self._over = asyncio.Event()
        self._gone = asyncio.Event()
        control.setblocking(False)
        loop = asyncio.get_running_loop()
        loop.add_reader(control, self._hear)
        # Nothing is said on it: it can be read when the process at its other end is gone.
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
        input comes from `source`, and what it has to say of errors goes to `errors` where that is given. The
        guard sets the time of the file `signs` when all has ended, also where our program is gone.

        Raises:
            OSError, ValueError: it could not be started.
        """
        mark = secrets.token_hex(8)
        line = packed(shell)
        if tree:
            strays.adopt()
        (ours, theirs), (leash, held) = socket.socketpair(), socket.socketpair()
        try:
            with theirs, held, _opened(signs) as handles:
                handles = (theirs.fileno(), held.fileno(), *handles)
                process = strays.start_guard(
                    command_line("guard" if tree else "group", handles, wrapper),
                    source=source,
                    sink=sink,
                    errors=sink if errors is None else errors,
                    cwd=cwd,
                    environ={**environ, strays.MARK: mark},
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
        """The process above all that the command starts."""
        return self._process.pid

    async def ready(self) -> None:
        """Wait until the shell has started, or the supervision is lost. Where neither is heard of in time,
        because a command was fast enough to stop its supervision, it is taken to have started.

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
        """Wait until everything has ended, or the supervision is lost."""
        await self._over.wait()

    async def stop(self, grace: float) -> None:
        """End what still runs: TERM, and KILL after `grace` seconds."""
        if not self._over.is_set():
            self._send(f"stop {grace}\n".encode())
        await _within(grace + _PATIENCE, self._over)
        # The supervisor is done, is stopped, or cannot end something. Now the guard sets to work.
        for link in (self._control, self._leash):
            with suppress(OSError):
                link.shutdown(socket.SHUT_WR)
        below: list[int] = []
        if not await _within(GUARD_PATIENCE + _PATIENCE, self._gone):
            # The guard is stopped, or cannot end it either. At its end a stopped supervisor goes on.
            below = await in_thread(descendants, self._process.pid) if TREE else []
            self._process.kill()
            await _within(_PATIENCE, self._over)
        self.stuck = await in_thread(self._end_strays, below)

    def close(self) -> None:
        """Let go of it, after `stop`."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._control)
        loop.remove_writer(self._control)
        loop.remove_reader(self._leash)
        self._control.close()
        self._leash.close()

    def _end_strays(self, below: Sequence[int]) -> list[str]:
        """Kill what has got away; what still runs of that and of `below`. Blocks."""
        # A guard that ends by itself has seen the end of all that it was above.
        lost = strays.release(self._process) != 0
        if self._group and not self._complete:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._group, signal.SIGKILL)
        left = strays.sweep(self._began, self._mark) if TREE and lost else []
        return [_named(pid) for pid in _running({*below, *left})]

    def _send(self, data: bytes) -> None:
        """Send it after what the socket had no room for yet."""
        self._unsent += data
        self._flush()

    def _flush(self) -> None:
        try:
            del self._unsent[: self._control.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError:
            # Nobody reads any more: `_hear` learns of the end, or has.
            self._unsent.clear()
        loop = asyncio.get_running_loop()
        if self._unsent:
            loop.add_writer(self._control, self._flush)
        else:
            loop.remove_writer(self._control)

    def _note_end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._leash)
        self._gone.set()

    def _hear(self) -> None:
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
        *lines, rest = (self._heard + data).split(b"\n")
        self._heard = rest[:_MOST]
        for line in lines:
            self._take(line)

    def _take(self, line: bytes) -> None:
        """Note what was said; a command that got hold of the socket can say anything."""
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
    """The handle of a file, if it can be opened."""
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
    """Whether it comes within so long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


def _is_end(status: int) -> bool:
    return status <= _HIGHEST_STATUS and (os.WIFEXITED(status) or os.WIFSIGNALED(status))


def _other_group(group: int) -> int:
    """`group`, if it can be one of a command; 0 otherwise."""
    return group if group > 1 and group != os.getpgrp() else 0


def _running(pids: Collection[int]) -> list[int]:
    """Those that are there after a moment. Blocks."""
    for _ in range(_ROUNDS):
        pids = sorted(pid for pid in pids if start_of(pid) is not None)
        if not pids:
            break
        # What is not our child cannot be waited for. Run in a thread.
        time.sleep(_PAUSE)
    return sorted(pids)


def _named(pid: int) -> str:
    """A process by its pid and, where that is known, its name, on one line."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text(errors="replace")
    except OSError:
        name = ""
    return one_line(f"{pid} {name}".strip())
