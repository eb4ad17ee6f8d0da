"""MCP servers at addresses: over HTTP, where somebody answers, nobody, or somebody else."""

import asyncio
import socket
import subprocess
import sys

import pytest

from cogency_tui.config.mcp import McpSettings
from cogency_tui.errors import ToolError
from cogency_tui.tools.mcp.server import ServerState
from tests.tools.mcp.conftest import PEER, Bench


class Http:
    """The peer at an address."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        self.process = subprocess.Popen(  # noqa: ASYNC220 (it only starts)
            [sys.executable, "-W", "ignore", str(PEER), "http", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        async with asyncio.timeout(60):
            while True:
                try:
                    _reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                except OSError:
                    await asyncio.sleep(0.05)
                    continue
                writer.close()
                return

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@pytest.mark.exhaustive
async def test_one_at_an_address_that_dies_and_comes_back(bench: Bench) -> None:
    http = Http()
    await http.start()
    try:
        await bench.start(far=McpSettings(url=http.url))
        assert bench.listed("far").state is ServerState.READY
        assert (await bench.run("far.add", a=1)).content == "3"
        intent = await bench.plan("far.add", a=1)
        assert intent.goes_to == f"127.0.0.1:{http.port}"
        http.stop()
        with pytest.raises(ToolError, match="The MCP server far is unavailable"):
            await bench.run("far.add", a=1)
        await http.start()
        await bench.until_state("far", ServerState.ENDED)
        assert (await bench.run("far.add", a=2)).content == "4"
    finally:
        http.stop()


@pytest.mark.exhaustive
async def test_an_address_where_nobody_is(bench: Bench) -> None:
    await bench.start(far=McpSettings(url=Http().url, start_timeout=20.0))
    assert bench.listed("far").state is ServerState.FAILED


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("status", "problem"),
    [
        ("401 Unauthorized", "it answers with HTTP status 401 (Server returned an error response)"),
        ("200 OK", "connecting to it failed (Unexpected content type: text/html)"),
    ],
)
async def test_an_address_of_something_else(bench: Bench, status: str, problem: str) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: 2\r\nConnection: close"
        writer.write(f"{head}\r\n\r\nno".encode())
        await writer.drain()
        writer.close()

    other = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with other:
        await bench.start(far=McpSettings(url=f"http://127.0.0.1:{other.sockets[0].getsockname()[1]}/mcp"))
        assert bench.listed("far").state is ServerState.FAILED
        assert bench.listed("far").problem == problem


async def test_a_header_without_its_variable(bench: Bench) -> None:
    await bench.start(
        far=McpSettings(url="http://127.0.0.1:1/mcp", headers_env={"Authorization": "NOT_SET_X"})
    )
    assert bench.listed("far").problem == "the variable NOT_SET_X, which headers_env refers to, is not set"
