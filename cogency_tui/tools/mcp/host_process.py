"""The process in which the SDK speaks with one MCP server.

Invariant: the server's messages are parsed here and nowhere else, within bounded memory; our program
receives only text of bounded length. The process ends with its input, and ends the server with it. It gives
up a server that floods it with unrequested messages or with lines that are not MCP.
"""

import asyncio
import base64
import logging
import os
import resource
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from http import HTTPStatus
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

import msgspec

from cogency_tui.tools.mcp import host_protocol
from cogency_tui.tools.mcp.stdio import LONGEST_LINE, LineTooLongError, stdio_streams

if TYPE_CHECKING:
    import mcp_types as types
    from mcp import Client


_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/")
_LONGEST_NAME = 128


def why_unusable(tool: "types.Tool") -> str:
    """Explain why a tool cannot be offered; empty where it can."""
    if not 0 < len(tool.name) <= _LONGEST_NAME:
        return f"its name has {len(tool.name):,} characters; allowed are 1 to {_LONGEST_NAME}"
    if not set(tool.name) <= _NAME:
        return "its name has characters that are not allowed"
    if len(msgspec.json.encode(tool.input_schema)) > host_protocol.LARGEST_SCHEMA:
        return "its schema is too long"
    return ""


def read_result(result: "types.CallToolResult") -> tuple[str, list[bytes]]:
    """Convert a result to text and images; a long text is cut to its beginning and end, and content that is
    neither is named by type and size."""
    parts: list[str] = []
    images: list[bytes] = []
    for block in result.content:
        match block.type:
            case "text":
                parts.append(block.text)
            case "image" if (image := _decoded(block.data)) and _fits(image, images):
                images.append(image)
                parts.append(f"[image {len(images)}: {block.mime_type}, {len(image):,} bytes]")
            case "image" | "audio":
                size = len(block.data.rstrip("=")) * 3 // 4
                parts.append(f"[{block.type}, {block.mime_type}, {size:,} bytes: not shown]")
            case "resource":
                text: str | None = getattr(block.resource, "text", None)
                parts.append(f"[{block.resource.uri}]" + ("" if text is None else f"\n{text}"))
            case "resource_link":
                parts.append(f"[{block.uri}] {block.description or block.name}")
    if not parts and result.structured_content is not None:
        parts.append(msgspec.json.encode(result.structured_content).decode())
    return _cut("\n".join(parts)), images


def _decoded(data: str) -> bytes:
    """Return the bytes of base64; none where it is malformed."""
    try:
        return base64.b64decode(data)
    except ValueError:
        return b""


def _fits(image: bytes, others: Sequence[bytes]) -> bool:
    return len(image) + sum(map(len, others)) <= host_protocol.LARGEST_IMAGES


def _cut(text: str) -> str:
    """Cut a text to its beginning and its end, with a mark where text is missing."""
    text = text.encode("utf-8", "replace").decode()
    if len(text) <= host_protocol.LARGEST_RESULT:
        return text
    half = host_protocol.LARGEST_RESULT // 2
    missing = len(text) - 2 * half
    return f"{text[:half]}\n[… {missing:,} characters were cut here …]\n{text[-half:]}"


MEMORY = 2 << 30
"""Bytes of address space for this process; the server has the original limit."""

MOST = 1_000
"""Messages that a server may send in `SPAN` seconds."""

SPAN = 5.0
_PAGES = 20
_UNLIMITED = 'ulimit -S -v "$(ulimit -H -v)"; exec "$@"'
_ENDED = "the server exited"
_LONGEST_REASON = 400
_LONGEST_NOTE = 500


class Host:
    """The SDK's client of the server; it reports to our program on `reader` and `writer`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._lost: asyncio.Future[host_protocol.Lost] = asyncio.get_running_loop().create_future()
        self._changed = asyncio.Event()
        self._open: Client | None = None
        self._refused = 0
        """HTTP status of the server's last refusal; 0 for none."""

    async def run(self) -> None:
        """Return when our program closes its side or the server is gone; the supervisor ends what is left."""
        connect = host_protocol.read_order(await self._reader.readline())
        assert isinstance(connect, host_protocol.Connect)
        serving = asyncio.create_task(self._serve(connect))
        await asyncio.wait({serving, self._lost}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done() and (failure := serving.exception()) is not None:
            why = self._why(failure)
            self._lose(why, "" if why == _ENDED else _message(failure))
        if self._lost.done():
            self._send(self._lost.result())
        with suppress(ConnectionError):
            await self._writer.drain()

    async def _serve(self, connect: host_protocol.Connect) -> None:
        """Return when our program closes its side."""
        async with AsyncExitStack() as stack:
            client = self._open = await self._connect(connect, stack)
            self._send(await self._offers(client))
            following = asyncio.create_task(self._follow(client))
            await self._listen()
            for task in (following, *self._calls.values()):
                task.cancel()

    async def _connect(self, connect: host_protocol.Connect, stack: AsyncExitStack) -> "Client":
        from mcp import Client, Implementation
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared._httpx_utils import create_mcp_http_client

        if connect.url:
            http = await stack.enter_async_context(create_mcp_http_client(connect.headers))
            http.event_hooks = {"response": [self._note_status]}
            streams = streamable_http_client(
                connect.url, http_client=http, max_sse_event_size=host_protocol.LONGEST_REPORT
            )
        else:
            # The memory limit is for this process only.
            command = ["-c", _UNLIMITED, "sh", *connect.command]
            environ = {**_environment(), **connect.environ}
            streams = stdio_streams(["/bin/sh", *command], environ, connect.cwd)
        client = Client(
            cast("Any", self._watched(streams)),
            client_info=Implementation(name="cogency-tui", version=version("cogency-tui")),
            message_handler=self._handle,
            cache=None,
        )
        return await stack.enter_async_context(client)

    @asynccontextmanager
    async def _watched(self, inner: Any) -> AsyncGenerator[tuple[Any, Any]]:
        """Wrap the streams of a transport: report their end, and a flood of messages."""
        import anyio

        async with inner as (read, write), anyio.create_task_group() as group:
            into, out = anyio.create_memory_object_stream[Any](0)

            async def pump() -> None:
                flood = _Flood()
                async with into:
                    async for message in read:
                        if problem := flood.problem_with(message):
                            self._lose(problem)
                            return
                        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                            await into.send(message)
                # Before the connection is established, the error there explains more.
                if self._open is not None:
                    self._lose(_ENDED)

            group.start_soon(pump)
            try:
                yield out, write
            finally:
                group.cancel_scope.cancel()

    async def _note_status(self, response: Any) -> None:
        # A refused GET only means that the server offers no stream of its own.
        if response.request.method == "POST":
            self._refused = response.status_code if response.status_code >= HTTPStatus.BAD_REQUEST else 0

    def _why(self, failure: BaseException) -> str:
        """Explain a failed connection in our own words."""
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED

        first = _first(failure)
        if isinstance(first, MCPError) and first.error.code == CONNECTION_CLOSED:
            return _ENDED
        return f"it answers with HTTP status {self._refused}" if self._refused else "connecting to it failed"

    async def _handle(self, message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            self._changed.set()

    async def _follow(self, client: "Client") -> None:
        """Report the tools whenever they have changed."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            # If the request fails, the known tools stay.
            with suppress(*_FAILURES):
                self._send(await self._offers(client))

    async def _offers(self, client: "Client") -> host_protocol.Ready:
        offers: dict[str, host_protocol.Offer] = {}
        left_out: list[str] = []
        cursor: str | None = None
        for _ in range(_PAGES):
            page = await client.list_tools(cursor=cursor)
            for tool in page.tools:
                if problem := why_unusable(tool):
                    left_out.append(f"{tool.name[:64]}: {problem}"[:200])
                elif len(offers) >= host_protocol.MOST_TOOLS:
                    left_out.append(f"{tool.name[:64]}: the server has {host_protocol.MOST_TOOLS} others")
                else:
                    text = (tool.description or tool.title or "")[: host_protocol.LONGEST_DESCRIPTION]
                    offers[tool.name] = host_protocol.Offer(tool.name, text, tool.input_schema)
            cursor = page.next_cursor
            if cursor is None or len(left_out) > host_protocol.MOST_TOOLS:
                break
        info = client.server_info
        title = (info.title or info.name)[:80] if info else ""
        known = info.version[:40] if info else ""
        return host_protocol.Ready(title, known, list(offers.values()), left_out[: host_protocol.MOST_TOOLS])

    async def _listen(self) -> None:
        while line := await self._reader.readline():
            order = host_protocol.read_order(line)
            if isinstance(order, host_protocol.Call):
                self._calls[order.id] = asyncio.create_task(self._call(order))
            elif isinstance(order, host_protocol.Cancel) and order.id in self._calls:
                self._calls[order.id].cancel()

    async def _call(self, call: host_protocol.Call) -> None:
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED

        async def report_progress(progress: float, total: float | None, message: str | None) -> None:
            share = f"{progress:g} of {total:g}" if total else f"{progress:g}"
            text = f"{share} {message or ''}".strip()[:_LONGEST_NOTE]
            self._send(host_protocol.Progress(call.id, f"{text}\n"))

        assert self._open is not None
        try:
            result = await self._open.call_tool(call.tool, call.args, progress_callback=report_progress)
            text, images = read_result(result)
            self._send(host_protocol.Done(call.id, text, result.is_error, images))
        except MCPError as exc:
            if exc.error.code == CONNECTION_CLOSED or "session terminated" in str(exc).lower():
                # Every pending call fails with this error. A server that lost its session has been
                # restarted.
                self._lose(_ENDED)
            else:
                self._send(host_protocol.Done(call.id, f"The server says: {_message(exc)}", True))
        except _FAILURES as exc:
            self._send(host_protocol.Done(call.id, f"The call failed: {_message(exc)}", True))
        finally:
            del self._calls[call.id]

    def _lose(self, why: str, words: str = "") -> None:
        if not self._lost.done():
            self._lost.set_result(host_protocol.Lost(why, words))

    def _send(self, report: host_protocol.Report) -> None:
        try:
            line = host_protocol.encode(report)
        except UnicodeEncodeError:
            # A lone surrogate, which JSON can express and UTF-8 cannot.
            line = host_protocol.encode(
                host_protocol.Lost("the server writes text that is not valid Unicode")
            )
        self._writer.write(line)


_FAILURES = (Exception, BaseExceptionGroup)
"""Exceptions of the SDK for a server's behaviour, which cannot be listed; they end in this process."""


class _Flood:
    """Detects a flood of messages by their number and size: answers to our requests are few."""

    def __init__(self) -> None:
        self._since = 0.0
        self._count = 0

    def problem_with(self, message: Any) -> str:
        """Describe what is wrong with the server after this message; empty if nothing is."""
        if isinstance(message, LineTooLongError):
            return f"the server sends a line of more than {LONGEST_LINE >> 20} MiB"
        now = time.monotonic()
        if now - self._since > SPAN:
            self._since, self._count = now, 0
        self._count += 1
        if self._count <= MOST:
            return ""
        what = "lines that are not MCP" if isinstance(message, Exception) else "unsolicited messages"
        return f"the server sent too many {what}"


def _environment() -> dict[str, str]:
    """Return our environment without values that are not valid text."""
    return {name: value for name, value in os.environ.items() if _is_text(name) and _is_text(value)}


def _is_text(value: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _first(error: BaseException) -> BaseException:
    """Return the first cause of a group."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _message(error: BaseException) -> str:
    """Describe the error in one line."""
    first = _first(error)
    text = " ".join(str(first).split()) or type(first).__name__
    return text[:_LONGEST_REASON].encode("utf-8", "replace").decode()


async def _main(handle: int) -> None:
    import socket

    reader, writer = await asyncio.open_connection(
        sock=socket.socket(fileno=handle), limit=host_protocol.LONGEST
    )
    await Host(reader, writer).run()
    writer.close()


def main() -> None:
    """Serve our program on the socket that is standard input."""
    # Stray prints must not reach our program.
    handle = os.dup(0)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    # Library warnings about a server are reported in results and in `Lost`.
    logging.disable(logging.CRITICAL)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    asyncio.run(_main(handle))
    sys.stderr.flush()
    # Threads and tasks that a library left behind must not delay the exit.
    os._exit(0)
