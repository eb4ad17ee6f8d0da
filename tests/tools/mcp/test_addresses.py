"""MCP servers at addresses: over HTTP, where somebody answers, nobody, or somebody else."""

import asyncio
import socket
import threading
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from cogency_tui.config.mcp import McpSettings
from cogency_tui.errors import ToolError
from cogency_tui.tools.mcp.server import ServerState
from tests.peers.mcp_server import with_sdk
from tests.tools.mcp.conftest import Bench


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _url(port: int) -> str:
    return f"http://127.0.0.1:{port}/mcp"


class Http:
    """The peer at an address, in a thread of this process. It drops its connections when it stops."""

    def __init__(self) -> None:
        self.port = _free_port()
        self.url = _url(self.port)

    def start(self) -> None:
        import uvicorn

        app = with_sdk().streamable_http_app()
        self._server = uvicorn.Server(uvicorn.Config(app, port=self.port, log_config=None))
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()

    async def answers(self) -> None:
        async with asyncio.timeout(60):
            while not self._server.started:  # noqa: ASYNC110 (it does not tell)
                await asyncio.sleep(0.01)

    def stop(self) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join()


@pytest.mark.exhaustive
async def test_one_at_an_address_that_dies_and_comes_back(bench: Bench) -> None:
    http = Http()
    http.start()
    try:
        await http.answers()
        await bench.start(far=McpSettings(url=http.url))
        assert bench.listed("far").state is ServerState.READY
        assert (await bench.run("far.add", a=1)).content == "3"
        intent = await bench.plan("far.add", a=1)
        assert intent.goes_to == f"127.0.0.1:{http.port}"
        http.stop()
        with pytest.raises(ToolError, match="The MCP server far is unavailable"):
            await bench.run("far.add", a=1)
        http.start()
        await http.answers()
        await bench.until_state("far", ServerState.ENDED)
        assert (await bench.run("far.add", a=2)).content == "4"
    finally:
        http.stop()


@asynccontextmanager
async def _answering(status: str) -> AsyncGenerator[int]:
    """A server of something else, which answers everything so; its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: 2\r\nConnection: close"
        writer.write(f"{head}\r\n\r\nno".encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as other:
        yield other.sockets[0].getsockname()[1]


@pytest.mark.exhaustive
@pytest.mark.usefixtures("hosts_here")
async def test_an_address_where_nobody_is_or_something_else(bench: Bench) -> None:
    async with AsyncExitStack() as stack:
        refusing, page = [
            await stack.enter_async_context(_answering(each)) for each in ("401 Unauthorized", "200 OK")
        ]
        await bench.start(
            nobody=McpSettings(url=_url(_free_port()), start_timeout=20.0),
            refusing=McpSettings(url=_url(refusing)),
            page=McpSettings(url=_url(page)),
        )
        assert {each.state for each in bench.servers.listed()} == {ServerState.FAILED}
        refused = "it answers with HTTP status 401 (Server returned an error response)"
        assert bench.listed("refusing").problem == refused
        no_mcp = "connecting to it failed (Unexpected content type: text/html)"
        assert bench.listed("page").problem == no_mcp


async def test_a_header_without_its_variable(bench: Bench) -> None:
    await bench.start(
        far=McpSettings(url="http://127.0.0.1:1/mcp", headers_env={"Authorization": "NOT_SET_X"})
    )
    assert bench.listed("far").problem == "the variable NOT_SET_X, which headers_env refers to, is not set"
