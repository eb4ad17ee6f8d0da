"""The process in which the SDK speaks with a server: its start, what it says, its end.

Invariant: when the block of `hosted` is left, nothing runs of it or of what it has started.
"""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from cogency_tui.child_processes import interpreter
from cogency_tui.tools.blocking import completed, in_thread
from cogency_tui.tools.mcp import wire
from cogency_tui.tools.own_environment import conceal
from cogency_tui.tools.supervised import Supervised

_LEAVE = 1.0
"""Seconds that a server has to end by itself when its input has ended."""

_GRACE = 1.0
"""Seconds between TERM and KILL for one that has not."""

_HOST = "from cogency_tui.tools.mcp.host import main; main()"


class Gone(Exception):
    """A server cannot be used any more, or not at all; why, in one line. `words` are a stranger's."""

    def __init__(self, why: str, words: str = "") -> None:
        super().__init__(why)
        self.words = words


@asynccontextmanager
async def hosted(
    cwd: Path, environ: Mapping[str, str], errors: Callable[[bytes], None]
) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A host that was started in `cwd`; `errors` is given what it, and the server, write to stderr.

    Raises:
        OSError, ValueError: it could not be started.
    """
    await in_thread(conceal, os.environ.keys() - environ.keys())
    ours, theirs = socket.socketpair()
    source, sink = os.pipe()
    try:
        host = Supervised.start(
            interpreter(_HOST), cwd, environ, theirs.fileno(), source=theirs.fileno(), errors=sink
        )
    except BaseException:
        ours.close()
        os.close(source)
        raise
    finally:
        theirs.close()
        os.close(sink)
    loop = asyncio.get_running_loop()
    os.set_blocking(source, False)
    loop.add_reader(source, _hear, source, errors)
    writer: asyncio.StreamWriter | None = None
    try:
        await host.ready()
        reader, writer = await asyncio.open_connection(sock=ours, limit=wire.LONGEST)
        yield reader, writer
    finally:
        # Its input ends first, so that a server may end by itself.
        (writer or ours).close()
        try:
            await completed(_end(host, _LEAVE if writer is not None else 0))
        finally:
            _hear(source, errors)
            loop.remove_reader(source)
            os.close(source)


async def _end(host: Supervised, leave: float) -> None:
    """End it, which has `leave` seconds to do so by itself."""
    with suppress(TimeoutError):
        async with asyncio.timeout(leave):
            await host.over()
    try:
        await host.stop(_GRACE)
    finally:
        host.close()


async def next_report(reader: asyncio.StreamReader) -> wire.Report:
    """The next thing that a host says.

    Raises:
        Gone: it has ended, or says what it should not.
    """
    try:
        line = await reader.readline()
    except ValueError:
        raise Gone("it answers more than can be taken") from None
    except ConnectionError:
        line = b""
    if not line:
        raise Gone("it has ended")
    try:
        return wire.read_report(line)
    except msgspec.DecodeError:
        raise Gone("what came from it cannot be read") from None


def _hear(source: int, errors: Callable[[bytes], None]) -> None:
    try:
        data = os.read(source, 1 << 16)
    except BlockingIOError:
        return
    if data:
        errors(data)
    else:
        asyncio.get_running_loop().remove_reader(source)
