"""A TCP proxy before the server, for the faults of a network."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Literal

Fault = Literal["", "delay", "half", "drop", "refuse"]


class Proxy:
    """Forwards bytes; `fault` counts for all connections from now on: each chunk is delayed, half of one is
    delivered before the connection ends, all are swallowed, or new connections are refused."""

    def __init__(self, target: int) -> None:
        self.fault: Fault = ""
        self.port = 0
        self._target = target
        self._tasks = set[asyncio.Task[None]]()
        self._writers = set[asyncio.StreamWriter]()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.fault == "refuse":
            writer.transport.abort()
            return
        try:
            other_reader, other_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        for source, target in ((reader, other_writer), (other_reader, writer)):
            task = asyncio.create_task(self._pump(source, target))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._writers |= {writer, other_writer}

    def cut(self) -> None:
        """End all connections."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def close(self) -> None:
        self.cut()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _pump(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await source.read(16384):
                match self.fault:
                    case "drop":
                        continue
                    case "delay":
                        await asyncio.sleep(random.uniform(0, 0.05))
                    case "half":
                        target.write(chunk[: random.randrange(len(chunk))])
                        await target.drain()
                        break
                    case _:
                        pass
                target.write(chunk)
                await target.drain()
        target.transport.abort()


@asynccontextmanager
async def running_proxy(target: int) -> AsyncGenerator[Proxy]:
    proxy = Proxy(target)
    listening = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    proxy.port = listening.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listening.close()
        await proxy.close()
