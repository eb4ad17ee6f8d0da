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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from cogency_tui.processes import start_of
from cogency_tui.tools.blocking import in_thread
from cogency_tui.tools.supervision.family import descendants
from cogency_tui.tools.supervision.supervisor import GUARD_PATIENCE, command_line, packed

MARK = "COGENCY_COMMAND"
"""A variable in the environment of everything that a command starts, by which it is found again."""

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
    be ended. `stuck`: one would not end.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", control: socket.socket, mark: str) -> None:
        self.status: int | None = None
        self.started = False
        self.left = False
        self.stuck = False
        self._process = process
        self._control = control
        self._mark = mark
        self._problem = 0
        self._complete = False
        self._heard = b""
        self._unsent = bytearray()
        self._ready = asyncio.Event()
        self._exited = asyncio.Event()
        self._over = asyncio.Event()
        control.setblocking(False)
        asyncio.get_running_loop().add_reader(control, self._hear)

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
        tree: bool = TREE,
    ) -> "Supervised":
        """Start a shell whose output goes to the handle `sink`, through a `wrapper` that is a sandbox. Its
        input comes from `source`, and what it has to say of errors goes to `errors` where that is given.

        Raises:
            OSError, ValueError: it could not be started.
        """
        mark = secrets.token_hex(8)
        line = packed(shell)
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = subprocess.Popen(
                    command_line("guard" if tree else "group", theirs.fileno(), wrapper),
                    stdin=source,
                    stdout=sink,
                    stderr=sink if errors is None else errors,
                    cwd=cwd,
                    env={**environ, MARK: mark},
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
        except BaseException:
            ours.close()
            raise
        supervised = cls(process, ours, mark)
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
        if not await self._ends_within(grace + _PATIENCE) and not self._complete:
            # The supervisor is stopped, or cannot end something. Now the guard sets to work.
            with suppress(OSError):
                self._control.shutdown(socket.SHUT_WR)
            await self._ends_within(GUARD_PATIENCE + _PATIENCE)
        below: list[int] = []
        if not self._over.is_set():
            # The guard is stopped, or cannot end it either. At its end a stopped supervisor goes on.
            below = await in_thread(descendants, self._process.pid) if TREE else []
            self._process.kill()
            await self._ends_within(_PATIENCE)
        if not self._complete and TREE:
            await in_thread(_sweep, self._mark)
        self.stuck = await in_thread(_any_runs, below)
        await in_thread(self._process.wait)

    def close(self) -> None:
        """Let go of it, after `stop`."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._control)
        loop.remove_writer(self._control)
        self._control.close()

    async def _ends_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._over.wait()
        return self._over.is_set()

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


def _is_end(status: int) -> bool:
    return status <= _HIGHEST_STATUS and (os.WIFEXITED(status) or os.WIFSIGNALED(status))


def _sweep(mark: str) -> None:
    """Kill what can still be found of a command, by its mark."""
    wanted = f"{MARK}={mark}".encode()
    for _ in range(_ROUNDS):
        found = [pid for pid in _processes() if wanted in _environment(pid)]
        if not found:
            return
        for pid in {*found, *(below for root in found for below in descendants(root))}:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        # What is not our child cannot be waited for. Run in a thread.
        time.sleep(_PAUSE)


def _any_runs(pids: Sequence[int]) -> bool:
    """Whether one of them is there after a moment."""
    for _ in range(_ROUNDS):
        if all(start_of(pid) is None for pid in pids):
            return False
        # As in `_sweep`.
        time.sleep(_PAUSE)
    return True


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 (names, not paths)


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        # It has ended, or is not ours.
        return []
