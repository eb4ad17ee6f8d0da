"""A command of the shell, from start to end.

Invariant: no terminal, a session of its own, bounded memory; and when `run_command` has returned or raised,
nothing that the command started runs any more, whatever it did to get away (Linux; elsewhere its process
group), but for what `Ended` says of that.
"""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from cogency_tui.tools.blocking import completed
from cogency_tui.tools.output import Output
from cogency_tui.tools.supervised import TREE, Supervised

Result = TypeVar("Result")

_CHUNK = 1 << 16
_PIPE_PATIENCE = 0.5
_END_PATIENCE = 0.1
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: `status` is negative for a signal, and None where that is not known.

    `timed_out`: its time was over. `stopped`: the program ended it, and the shell had not ended by itself.
    `left_behind`: the shell had ended, and processes that it had started were still running. `started` is
    False where the sandbox, or what supervises the command, did not come that far. `stuck`: processes that
    could not be ended, as they belong to another user or hang in the kernel, each with its pid and name.
    """

    status: int | None
    output: str
    seconds: float
    timed_out: bool = False
    left_behind: bool = False
    started: bool = True
    stuck: Sequence[str] = ()
    stopped: bool = False

    @property
    def told(self) -> str:
        """How the shell ended, in words."""
        if not self.started:
            return "could not be started"
        if self.stopped:
            return "stopped"
        if self.status is None:
            return "how it ended is not known: the process that watches over it was killed"
        if self.status < 0:
            return f"killed by {_signal_name(-self.status)}"
        # What a shell makes of a command of its own that a signal killed.
        name = _signal_name(self.status - 128) if self.status > 128 else ""
        return f"exit {self.status} ({name})" if name else f"exit {self.status}"

    @property
    def notes(self) -> list[str]:
        """What is to be said of processes of it that had not ended by themselves."""
        return [
            *(["[processes that it left in the background were stopped]"] if self.left_behind else []),
            *([f"[{_unended(self.stuck)}]"] if self.stuck else []),
        ]


class Command:
    """A command that runs. `sources` are the pipes that it writes to, each with what is given its output;
    `stop` and `close` it in any case."""

    def __init__(self, supervised: Supervised, sources: Mapping[int, Callable[[bytes], None]]) -> None:
        self._supervised = supervised
        self._sources = sources
        self._open = set(sources)
        self._end = asyncio.Event()
        self._began = time.monotonic()
        for source in sources:
            os.set_blocking(source, False)
            asyncio.get_running_loop().add_reader(source, self._drain, source)

    @classmethod
    async def start(
        cls,
        command: str,
        cwd: Path,
        environ: Mapping[str, str],
        feed: Callable[[bytes], None],
        wrapper: Sequence[str] = (),
        *,
        errors: Callable[[bytes], None] | None = None,
        signs: Path | None = None,
        tree: bool = TREE,
    ) -> "Command":
        """Start a command; a sandbox is what it is started through (`wrapper`). Where `errors` is given, it
        takes the standard error, and `feed` the standard output alone. `signs` is as in `Supervised.start`.

        Raises:
            OSError, ValueError: it could not be started.
        """
        # Pipes of our own: asyncio's would have to be closed by every grandchild before the wait is over.
        feeds = [feed] if errors is None else [feed, errors]
        pipes = [os.pipe() for _ in feeds]
        sources = {source: each for (source, _), each in zip(pipes, feeds, strict=True)}
        sinks = [sink for _, sink in pipes]
        try:
            supervised = Supervised.start(
                *([shell_path(), "-c", command], cwd, environ, sinks[0], wrapper),
                errors=sinks[-1],
                signs=signs,
                tree=tree,
            )
        except BaseException:
            for source in sources:
                os.close(source)
            raise
        finally:
            for sink in sinks:
                os.close(sink)
        running = cls(supervised, sources)
        try:
            await supervised.ready()
        except BaseException:
            try:
                await completed(running.stop(0))
            finally:
                running.close()
            raise
        return running

    @property
    def pid(self) -> int:
        """The process above all that the command starts."""
        return self._supervised.pid

    @property
    def status(self) -> int | None:
        """How the shell ended, negative for a signal; None while or where that is not known."""
        status = self._supervised.status
        return None if status is None else os.waitstatus_to_exitcode(status)

    async def exited(self) -> None:
        """Wait until the shell has ended."""
        await self._supervised.exited()

    async def over(self) -> None:
        """Wait until everything that the command started has ended."""
        await self._supervised.over()

    async def settled(self) -> None:
        """Wait, but not for long, until nobody can write any more, and until who could has ended."""
        await self._drained()
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_PATIENCE):
                await self._supervised.over()

    async def stop(self, grace: float) -> None:
        """End what still runs: TERM, and KILL after `grace` seconds."""
        await self._supervised.stop(grace)
        await self._drained()

    def ended(self, output: str, *, timed_out: bool = False, stopped: bool = False) -> Ended:
        """How it ended, after `stop`."""
        supervised = self._supervised
        return Ended(
            self.status,
            output,
            time.monotonic() - self._began,
            timed_out,
            supervised.left and not timed_out,
            supervised.started,
            supervised.stuck,
            stopped and not supervised.left,
        )

    def close(self) -> None:
        """Let go of it; nothing more is fed."""
        self._supervised.close()
        for source in self._sources:
            asyncio.get_running_loop().remove_reader(source)
            os.close(source)

    async def _drained(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_PIPE_PATIENCE):
                await self._end.wait()

    def _drain(self, source: int) -> None:
        try:
            data = os.read(source, _CHUNK)
        except BlockingIOError:
            return
        if data:
            self._sources[source](data)
            return
        asyncio.get_running_loop().remove_reader(source)
        self._open.discard(source)
        if not self._open:
            self._end.set()


async def run_command(
    command: str,
    cwd: Path,
    environ: Mapping[str, str],
    timeout: float,
    report: Callable[[str], None],
    grace: float = 2.0,
    wrapper: Sequence[str] = (),
    *,
    produced: Callable[[bytes], None] | None = None,
    signs: Path | None = None,
    tree: bool = TREE,
) -> Ended:
    """Run a command until it ends, or `timeout` seconds; its processes have `grace` seconds after TERM.
    `produced` is given what it writes to its standard output, which `report` has together with its errors.
    `signs` is as in `Supervised.start`.

    Raises:
        OSError, ValueError: it could not be started.
    """
    output = Output(report)

    def feed(data: bytes) -> None:
        output.feed(data)
        if produced is not None:
            produced(data)

    errors = None if produced is None else output.feed
    try:
        running = await Command.start(
            command, cwd, environ, feed, wrapper, errors=errors, signs=signs, tree=tree
        )
        timed_out = False
        try:
            try:
                async with asyncio.timeout(timeout):
                    await running.exited()
                await running.settled()
            except TimeoutError:
                timed_out = True
            finally:
                await completed(running.stop(grace))
            return running.ended(output.close(), timed_out=timed_out)
        finally:
            running.close()
    finally:
        output.cancel()


def _unended(processes: Sequence[str]) -> str:
    some = "1 process" if len(processes) == 1 else f"{len(processes)} processes"
    named = ", ".join(processes[:_NAMED])
    more = len(processes) - _NAMED
    return f"{some} could not be ended: {named}{f' and {more} more' if more > 0 else ''}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        # A real-time signal has no name of its own.
        return f"signal {number}" if 0 < number <= signal.SIGRTMAX else ""


def shell_path() -> str:
    """The shell that commands run with."""
    return next((path for path in ("/bin/bash", "/usr/bin/bash") if os.access(path, os.X_OK)), "/bin/sh")
