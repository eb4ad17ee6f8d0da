"""A long-lived program under supervision, with which we speak over its input and output.

Invariant: when the block of `hosted` is left, neither the program nor anything that it started runs.
"""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cogency_tui.tools.shell.concealed_proc_environ import conceal
from cogency_tui.tools.shell.supervised_process import Supervised
from cogency_tui.tools.worker_threads import completed, in_thread

_LEAVE = 1.0
"""Seconds in which a program should end by itself after its input has ended."""

_GRACE = 1.0
"""Seconds between TERM and KILL for one that did not."""


@dataclass(frozen=True, slots=True)
class Hosted:
    """A running program: its output, its input, and the topmost process of those that belong to it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    pid: int


@asynccontextmanager
async def hosted(
    command: Sequence[str],
    cwd: Path,
    environ: Mapping[str, str],
    errors: Callable[[bytes], None],
    *,
    limit: int,
) -> AsyncGenerator[Hosted]:
    """Start a program in `cwd`; `errors` receives what it writes to
    stderr. `limit` is as for `asyncio.StreamReader`.

    Raises:
        OSError, ValueError: it could not be started.
    """
    await in_thread(conceal, os.environ.keys() - environ.keys())
    ours, theirs = socket.socketpair()
    source, sink = os.pipe()
    try:
        host = Supervised.start(command, cwd, environ, theirs.fileno(), source=theirs.fileno(), errors=sink)
    except BaseException:
        ours.close()
        os.close(source)
        raise
    finally:
        theirs.close()
        os.close(sink)
    loop = asyncio.get_running_loop()
    os.set_blocking(source, False)
    loop.add_reader(source, _read_errors, source, errors)
    writer: asyncio.StreamWriter | None = None
    try:
        await host.ready()
        reader, writer = await asyncio.open_connection(sock=ours, limit=limit)
        yield Hosted(reader, writer, host.pid)
    finally:
        # Closing its input first lets a program end by itself.
        (writer or ours).close()
        try:
            await completed(_end(host, _LEAVE if writer is not None else 0))
        finally:
            _read_errors(source, errors)
            loop.remove_reader(source)
            os.close(source)


async def _end(host: Supervised, leave: float) -> None:
    """End a program, which has `leave` seconds to do so by itself."""
    with suppress(TimeoutError):
        async with asyncio.timeout(leave):
            await host.over()
    try:
        await host.stop(_GRACE)
    finally:
        host.close()


def _read_errors(source: int, errors: Callable[[bytes], None]) -> None:
    try:
        data = os.read(source, 1 << 16)
    except BlockingIOError:
        return
    if data:
        errors(data)
    else:
        asyncio.get_running_loop().remove_reader(source)
