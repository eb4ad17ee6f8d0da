"""A command of the shell, from start to end.

Invariant: no terminal, a process group of its own, bounded memory; and when `run_command` has returned or
raised, no process of that group is left. A process that left the group by itself (setsid) is not followed.
"""

import asyncio
import codecs
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")

HEAD = TAIL = 500_000
"""Bytes of output that are kept from the beginning and from the end."""

_CHUNK = 1 << 16
_LIVE = 1 << 14
"""The most bytes that are reported at once while a command runs; what is written faster is not shown."""

_LIVE_INTERVAL = 0.05
_PIPE_PATIENCE = 0.5
_POLL = 0.02


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: `status` is negative for a signal.

    `left_behind`: the shell had ended, and processes that it had started were still running.
    """

    status: int
    output: str
    seconds: float
    timed_out: bool
    left_behind: bool


class Output:
    """Output as it comes, kept in bounded memory and reported at a bounded rate."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._cut = 0
        self._pending = bytearray()
        self._skipped = 0
        self._reported = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, data: bytes) -> None:
        """Take what was written."""
        room = HEAD - len(self._head)
        if room > 0:
            self._head += data[:room]
        if len(data) > room:
            rest = data[max(0, room) :]
            self._tail.append(rest)
            self._tail_size += len(rest)
            while self._tail_size - len(self._tail[0]) >= TAIL:
                first = self._tail.popleft()
                self._tail_size -= len(first)
                self._cut += len(first)
        self._pending += data
        if len(self._pending) > _LIVE:
            self._skipped += len(self._pending) - _LIVE
            del self._pending[:-_LIVE]
        if self._timer is None:
            loop = asyncio.get_running_loop()
            wait = self._reported + _LIVE_INTERVAL - loop.time()
            if wait <= 0:
                self._publish()
            else:
                self._timer = loop.call_later(wait, self._publish)

    def close(self) -> str:
        """Report what is still unreported; all that was kept, as text."""
        self.cancel()
        self._publish(final=True)
        tail = b"".join(self._tail)
        cut = self._cut + max(0, len(tail) - TAIL)
        tail = tail[-TAIL:]
        if not cut:
            return (self._head + tail).decode("utf-8", "replace")
        mark = f"\n[… {cut:,} bytes of output were cut here …]\n"
        return f"{self._head.decode('utf-8', 'replace')}{mark}{tail.decode('utf-8', 'replace')}"

    def cancel(self) -> None:
        """Report nothing more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _publish(self, *, final: bool = False) -> None:
        self._timer = None
        self._reported = asyncio.get_running_loop().time()
        note = ""
        if self._skipped:
            note = f"\n[… {self._skipped:,} bytes are not shown live …]\n"
            self._skipped = 0
            self._decoder.reset()
        text = note + self._decoder.decode(bytes(self._pending), final)
        self._pending.clear()
        if text:
            self._report(text)


async def run_command(
    command: str,
    cwd: Path,
    environ: Mapping[str, str],
    timeout: float,
    report: Callable[[str], None],
    grace: float = 2.0,
) -> Ended:
    """Run a command until it ends, or `timeout` seconds; its processes have `grace` seconds after TERM.

    Raises:
        OSError, ValueError: it could not be started.
    """
    started = time.monotonic()
    output = Output(report)
    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    # A pipe of our own: asyncio's would have to be closed by every grandchild before the wait is over.
    source, sink = os.pipe()
    try:
        try:
            process = await asyncio.create_subprocess_exec(
                _shell(),
                "-c",
                command,
                cwd=cwd,
                env=environ,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )
        finally:
            os.close(sink)
        os.set_blocking(source, False)
        loop.add_reader(source, _drain, source, output, end)
        timed_out = left_behind = False
        try:
            async with asyncio.timeout(timeout):
                await process.wait()
            with suppress(TimeoutError):
                await asyncio.wait_for(end.wait(), _PIPE_PATIENCE)
        except TimeoutError:
            timed_out = True
        finally:
            left_behind = await _finished(asyncio.ensure_future(_stop(process, grace)))
        if timed_out or left_behind:
            # Now it ends, unless a process that left the group holds it.
            with suppress(TimeoutError):
                await asyncio.wait_for(end.wait(), _PIPE_PATIENCE)
        seconds = time.monotonic() - started
        return Ended(
            process.returncode or 0, output.close(), seconds, timed_out, left_behind and not timed_out
        )
    finally:
        output.cancel()
        loop.remove_reader(source)
        os.close(source)


def _shell() -> str:
    return next((path for path in ("/bin/bash", "/usr/bin/bash") if os.access(path, os.X_OK)), "/bin/sh")


def _drain(source: int, output: Output, end: asyncio.Event) -> None:
    try:
        data = os.read(source, _CHUNK)
    except BlockingIOError:
        return
    if data:
        output.feed(data)
    else:
        asyncio.get_running_loop().remove_reader(source)
        end.set()


async def _stop(process: asyncio.subprocess.Process, grace: float) -> bool:
    """End what still runs of the command: TERM, and KILL after `grace`. Whether there was anything."""
    group = process.pid
    if not _there(group) or not await asyncio.to_thread(_runs, group):
        await process.wait()
        return False
    try:
        _signal(group, signal.SIGTERM)
        # A stopped process takes the signal only when it goes on.
        _signal(group, signal.SIGCONT)
        deadline = time.monotonic() + grace
        # Nothing tells when the last process of a group has gone, so it has to be asked for.
        while time.monotonic() < deadline and await asyncio.to_thread(_runs, group):  # noqa: ASYNC110
            await asyncio.sleep(_POLL)
    finally:
        _signal(group, signal.SIGKILL)
    await process.wait()
    return True


async def _finished(work: asyncio.Future[Result]) -> Result:
    """Wait for it, also through a cancellation, which takes effect after it."""
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return work.result()


def _there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        # macOS answers EPERM when all that is left are processes that have ended.
        return False
    return True


def _runs(group: int) -> bool:
    """Whether a process of the group still runs. One that has ended and was not waited for does not."""
    if not _there(group):
        return False
    try:
        with os.scandir("/proc") as entries:
            return any(_in_group(entry.path, group) for entry in entries if entry.name.isdecimal())
    except FileNotFoundError:
        return True


def _in_group(process: str, group: int) -> bool:
    try:
        fields = Path(process, "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return False
    return int(fields[2]) == group and fields[0] not in (b"Z", b"X")


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
