"""All configured MCP servers.

Invariant: `tools` is the same object until the tools change, so that values derived from it can be cached.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from cogency_tui.config.mcp import McpSettings
from cogency_tui.errors import UsageError
from cogency_tui.tools.mcp.host_protocol import Offer
from cogency_tui.tools.mcp.mcp_tool import McpTool
from cogency_tui.tools.mcp.server import Server, ServerState, Surroundings

NONE: Mapping[str, McpSettings] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ListedServer:
    """A server's state; `address` is the command or the address, `stderr` its stderr."""

    name: str
    state: ServerState
    address: str
    title: str
    problem: str
    tools: tuple[str, ...]
    left_out: tuple[str, ...]
    stderr: str


class Servers:
    """The servers that `configure` names, each with its own process, and the `given` ones, which are always
    there."""

    def __init__(self, around: Surroundings, given: Mapping[str, McpSettings] = NONE) -> None:
        self._around = around
        self._given = given
        self._servers: dict[str, Server] = {}
        self._tools: tuple[McpTool, ...] | None = ()
        self._offers: dict[str, tuple[Offer, ...]] = {}
        self._reported: dict[str, ServerState] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._gone: set[str] = set()
        """Names that were configured before."""

    @property
    def tools(self) -> Sequence[McpTool]:
        """Known tools of all servers, in the order of the configuration."""
        if self._tools is None:
            self._tools = tuple(
                McpTool(server, offer) for server in self._servers.values() for offer in server.offers
            )
        return self._tools

    def configure(self, settings_by_name: Mapping[str, McpSettings]) -> None:
        """Apply a configuration: begin to start new servers. Servers that are missing or have changed are
        forgotten at once, and end soon."""
        settings_by_name = {**settings_by_name, **self._given}
        for name, server in list(self._servers.items()):
            if settings_by_name.get(name) != server.settings:
                del self._servers[name]
                self._gone.add(name)
                self._offers.pop(name, None)
                self._end(server)
                self._tools = None
        self._gone.difference_update(settings_by_name)
        for name, settings in settings_by_name.items():
            if name not in self._servers:
                self._servers[name] = Server(name, settings, self._around, self._note_change(name))
            if self._servers[name].state is ServerState.IDLE:
                self._servers[name].start()

    async def settle(self, seconds: float | None) -> None:
        """Wait until no server is starting, at most `seconds` if given."""
        starting = [asyncio.ensure_future(each.settle()) for each in self._servers.values()]
        if not starting:
            return
        try:
            await asyncio.wait(starting, timeout=seconds)
        finally:
            for waiting in starting:
                waiting.cancel()

    def listed(self) -> list[ListedServer]:
        """List all servers, in the order of the configuration."""
        return [
            ListedServer(
                server.name,
                server.state,
                server.settings.address,
                f"{server.title} {server.version}".strip(),
                server.problem,
                tuple(offer.name for offer in server.offers),
                server.left_out,
                server.stderr,
            )
            for server in self._servers.values()
        ]

    def new_notices(self) -> list[str]:
        """Return a line for each server that does not answer, unless that state was reported before."""
        lines: list[str] = []
        for server in self._servers.values():
            reported = self._reported.get(server.name)
            self._reported[server.name] = server.state
            if server.state is reported:
                continue
            if server.state is ServerState.FAILED:
                lines.append(
                    f"The MCP server {server.name} cannot be used: {server.problem}. Check it with /mcp."
                )
            elif server.state is ServerState.STARTING:
                status = "is still starting; its tools will be available with a later message"
                lines.append(f"The MCP server {server.name} {status}.")
        return lines

    async def restart(self, name: str) -> None:
        """End a server, and begin to start it, if it may still run.

        Raises:
            UsageError: there is none of this name, or no longer.
        """
        await self._around.refresh()
        if name in self._gone and (why := await self._around.why_gone()):
            raise UsageError(f"MCP server {name} not started: {why}.")
        if name not in self._servers:
            there = ", ".join(self._servers) or "none"
            raise UsageError(f"Unknown MCP server {name!r}.", f"Configured: {there}.")
        await self._servers[name].restart()

    async def close(self) -> None:
        """End all servers; the next `configure` starts them again."""
        servers, self._servers = list(self._servers.values()), {}
        self._tools = None
        self._offers.clear()
        self._reported.clear()
        await asyncio.gather(*(server.close() for server in servers))
        if self._ending:
            await asyncio.wait(self._ending)

    def _note_change(self, name: str) -> Callable[[], None]:
        def changed() -> None:
            server = self._servers.get(name)
            if server is not None and server.offers != self._offers.get(name, ()):
                self._offers[name] = server.offers
                self._tools = None

        return changed

    def _end(self, server: Server) -> None:
        task = asyncio.create_task(server.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
