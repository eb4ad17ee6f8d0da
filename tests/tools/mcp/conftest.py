"""Servers as they are configured, over real processes, pipes and sockets."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from cogency_tui.config.mcp import McpSettings
from cogency_tui.tools.base import Intent, Outcome, ToolContext
from cogency_tui.tools.mcp import host_protocol, server
from cogency_tui.tools.mcp.host_process import Host
from cogency_tui.tools.mcp.server import ServerState, Surroundings
from cogency_tui.tools.mcp.servers import ListedServer, Servers
from cogency_tui.tools.registry import Registry
from cogency_tui.tools.shell.hosted_process import Hosted
from cogency_tui.workspace.paths import Workspace
from tests import ROOT
from tests.peers import mcp_host
from tests.pictures import add_image

PEER = ROOT / "tests" / "peers" / "mcp_server.py"
NUISANCE = PEER.with_name("mcp_nuisance.py")
PATIENCE = 90.0
"""Seconds after which something hangs."""


def command(**more: Any) -> McpSettings:
    """The peer as a command, without the SDK."""
    return McpSettings(command=sys.executable, args=["-W", "ignore", str(PEER), "plain"], **more)


def sdk_command(**more: Any) -> McpSettings:
    """The peer as a command, with the SDK's own classes."""
    return McpSettings(command=sys.executable, args=["-W", "ignore", str(PEER)], **more)


def nuisance(how: str, **more: Any) -> McpSettings:
    """A command that is no MCP server."""
    return McpSettings(command=sys.executable, args=[str(NUISANCE), how], **more)


class Bench:
    """Servers in a project, and a way to call their tools as the scheduler does."""

    def __init__(self, root: Path, environ: Mapping[str, str] | None = None) -> None:
        self.root = root
        self.servers = Servers(
            Surroundings(root, os.environ | dict(environ or {}), {"MY_KEY": "sekret-value"})
        )
        self.context = ToolContext(Workspace(root), add_image=add_image)
        self.reported: list[str] = []

    async def start(self, **wanted: McpSettings) -> None:
        """Have these, and wait until it is known how they stand."""
        self.servers.configure(wanted)
        async with asyncio.timeout(PATIENCE):
            await self.servers.settle(None)

    def listed(self, name: str) -> ListedServer:
        return next(each for each in self.servers.listed() if each.name == name)

    async def plan(self, tool: str, **args: Any) -> Intent:
        return await Registry(self.servers.tools).bind(tool, args, self.context).plan()

    async def run(self, tool: str, **args: Any) -> Outcome:
        async with asyncio.timeout(PATIENCE):
            return await Registry(self.servers.tools).bind(tool, args, self.context).run(self.reported.append)

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():  # noqa: ASYNC110 (nobody tells)
                await asyncio.sleep(0.02)

    async def until_state(self, name: str, state: ServerState) -> None:
        await self.until(lambda: self.listed(name).state is state)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def demo(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Bench]:
    """The peer, once for all tests that leave it as it is: its interpreter starts slowly."""
    # It starts before the home of a test is there.
    bench = Bench(
        tmp_path_factory.mktemp("demo"),
        {
            "HOME": str(tmp_path_factory.mktemp("home-of-demo")),
            "MY_KEY": "sekret-value",
            "A_TOKEN": "other-sekret",
            "PLAIN": "plain",
            "ODD": os.fsdecode(b"caf\xe9"),
        },
    )
    (bench.root / "sub").mkdir()
    await bench.start(
        demo=sdk_command(
            denied=["die", "stuck"],
            env={"SET": "here", "MY_TOKEN": "another-secret"},
            env_from=["A_TOKEN"],
            cwd="sub",
        )
    )
    yield bench
    await bench.servers.close()


@pytest.fixture
def plain_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts without the SDK: for tests of what our program does with a server, whatever its host is."""
    monkeypatch.setattr(server, "_HOST", mcp_host.CODE)


@pytest.fixture
def hosts_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts in threads of this process, which import the SDK once: for tests of servers at addresses, which start
    no process."""
    monkeypatch.setattr(server, "hosted", _hosted_here)


@asynccontextmanager
async def _hosted_here(*_: object, limit: int) -> AsyncGenerator[Hosted]:
    ours, theirs = socket.socketpair()
    hosting = asyncio.create_task(asyncio.to_thread(asyncio.run, _host(theirs)))
    reader, writer = await asyncio.open_connection(sock=ours, limit=limit)
    try:
        yield Hosted(reader, writer, 0)
    finally:
        writer.close()
        await hosting


async def _host(channel: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=channel, limit=host_protocol.LONGEST)
    await Host(reader, writer).run()
    writer.close()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncGenerator[Bench]:
    root = tmp_path / "proj"
    root.mkdir()
    bench = Bench(root)
    yield bench
    await bench.servers.close()
