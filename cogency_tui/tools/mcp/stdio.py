"""The transport of an MCP server that is a program: one message a line, of bounded length.

The SDK's own transport searches a line from its start again for each piece that arrives.
"""

import asyncio
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

LONGEST_LINE = 16 << 20
"""Most bytes of a line."""

_LEAVE = 1.0
"""Seconds in which a server should end by itself after its input has ended."""


class LineTooLongError(Exception):
    """The server sends a line that is longer than `LONGEST_LINE`; nothing after it is read."""


@asynccontextmanager
async def stdio_streams(
    command: Sequence[str], environ: Mapping[str, str], cwd: str
) -> AsyncGenerator[tuple[Any, Any]]:
    """Start a server, and yield the streams of messages from it and to it; an invalid line arrives as an
    exception. The supervisor ends a server that does not end with its input.

    Raises:
        OSError, ValueError: it cannot be started.
    """
    import anyio

    process = await asyncio.create_subprocess_exec(
        *command, stdin=PIPE, stdout=PIPE, env=environ, cwd=cwd, limit=LONGEST_LINE, start_new_session=True
    )
    into, read = anyio.create_memory_object_stream[Any](0)
    write, out = anyio.create_memory_object_stream[Any](0)

    async def receive() -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with into:
                while (message := await _next_message(process)) is not None:
                    await into.send(message)

    async def send() -> None:
        assert process.stdin is not None
        with suppress(ConnectionError):
            async with out:
                async for message in out:
                    process.stdin.write(_encoded(message))
                    await process.stdin.drain()

    tasks = [asyncio.create_task(receive()), asyncio.create_task(send())]
    try:
        yield read, write
    finally:
        for task in tasks:
            task.cancel()
        assert process.stdin is not None
        process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_LEAVE):
                await process.wait()


async def _next_message(process: Process) -> "SessionMessage | Exception | None":
    """Parse the next line: its message, or its error; None at the end."""
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    assert process.stdout is not None
    try:
        line = await process.stdout.readuntil()
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError:
        return LineTooLongError()
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as exc:
        return exc


def _encoded(message: "SessionMessage") -> bytes:
    return f"{message.message.model_dump_json(by_alias=True, exclude_unset=True)}\n".encode()
