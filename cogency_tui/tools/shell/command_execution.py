"""A shell command, from start to end.

Invariant: the command has no terminal, a session of its own and bounded memory; when `run_command` has
returned or raised, none of its processes runs, whatever it did to escape (Linux; elsewhere its process
group), except those that `Ended` reports.
"""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from cogency_tui.tools.bounded_output import Output
from cogency_tui.tools.shell.supervised_process import TREE, Supervised
from cogency_tui.tools.worker_threads import completed

Result = TypeVar("Result")

_CHUNK = 1 << 16
_PIPE_PATIENCE = 0.5
_END_PATIENCE = 0.1
_NAMED = 5


_LEFT_BEHIND = "[background processes that it left were stopped; to keep a process, use background=true]"


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a command: `status` is negative for a signal, and None where it is not known.

    `timed_out`: it exceeded its time. `stopped`: the program ended it, and the shell had not ended by
    itself. `left_behind`: the shell had ended, and processes that it had started were still running.
    `started` is False where the sandbox or the supervision failed before the start. `stuck`: processes that
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
    def described(self) -> str:
        """Describe how the shell ended."""
        if not self.started:
            return "could not be started"
        if self.stopped:
            return "stopped"
        if self.status is None:
            return "its result is unknown: its supervisor process was killed"
        if self.status < 0:
            return f"killed by {_signal_name(-self.status)}"
        # The shell's status of a command of its own that a signal killed.
        name = _signal_name(self.status - 128) if self.status > 128 else ""
        return f"exit {self.status} ({name})" if name else f"exit {self.status}"

    @property
    def notes(self) -> list[str]:
        """Return notes on its processes that had not ended by themselves."""
        return [*([_LEFT_BEHIND] if self.left_behind else []), *self.unended]

    @property
    def unended(self) -> list[str]:
        """Return a note on its processes that could not be ended, if there are any."""
        return [f"[{_unended(self.stuck)}]"] if self.stuck else []


class RunningCommand:
    """A running command. `sources` are the pipes that it writes to, each with the consumer of its output;
    always call `stop` and `close`."""

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
        command: str | Sequence[str],
        cwd: Path,
        environ: Mapping[str, str],
        feed: Callable[[bytes], None],
        wrapper: Sequence[str] = (),
        *,
        source: int = subprocess.DEVNULL,
        errors: Callable[[bytes], None] | None = None,
        signs: Path | None = None,
        tree: bool = TREE,
    ) -> "RunningCommand":
        """Start a command, through a sandbox where `wrapper` is given: a text for a shell, or the path of a
        program and its arguments. With `errors`, that receives the standard error, and `feed` only the
        standard output. `source` and `signs` are as in `Supervised.start`.

        Raises:
            OSError, ValueError: it could not be started.
        """
        # Pipes of our own: asyncio's would have to be closed by every grandchild before the wait ends.
        feeds = [feed] if errors is None else [feed, errors]
        pipes = [os.pipe() for _ in feeds]
        sources = {source: each for (source, _), each in zip(pipes, feeds, strict=True)}
        sinks = [sink for _, sink in pipes]
        line = [shell_path(), "-c", command] if isinstance(command, str) else command
        try:
            supervised = Supervised.start(
                *(line, cwd, environ, sinks[0], wrapper),
                source=source,
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
        """Topmost process of the command."""
        return self._supervised.pid

    @property
    def status(self) -> int | None:
        """Exit status of the shell, negative for a signal; None while or where it is not known."""
        status = self._supervised.status
        return None if status is None else os.waitstatus_to_exitcode(status)

    async def exited(self) -> None:
        """Wait until the shell has ended."""
        await self._supervised.exited()

    async def over(self) -> None:
        """Wait until all processes of the command have ended."""
        await self._supervised.over()

    async def settled(self) -> None:
        """Wait briefly until no process can write any more, and until those that could have ended."""
        await self._drained()
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_PATIENCE):
                await self._supervised.over()

    async def stop(self, grace: float) -> None:
        """End running processes: TERM, and KILL after `grace` seconds."""
        await self._supervised.stop(grace)
        await self._drained()

    def ended(self, output: str, *, timed_out: bool = False, stopped: bool = False) -> Ended:
        """Describe its end, after `stop`."""
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
        """Close its pipes; no more output is delivered."""
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
    """Run a command until it ends, at most `timeout` seconds; its processes have `grace` seconds after
    TERM. `produced` receives its standard output, `report` both outputs. `signs` is as in
    `Supervised.start`.

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
        running = await RunningCommand.start(
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
    """Return the shell that runs commands."""
    return next((path for path in ("/bin/bash", "/usr/bin/bash") if os.access(path, os.X_OK)), "/bin/sh")
