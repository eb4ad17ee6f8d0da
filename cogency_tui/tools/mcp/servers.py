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
from cogency_tui.tools.mcp.server import Server, State, Surroundings

NONE: Mapping[str, McpSettings] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Listed:
    """A server's state; `told` is the command or the address, `said` its stderr."""

    name: str
    state: State
    told: str
    title: str
    problem: str
    tools: tuple[str, ...]
    left_out: tuple[str, ...]
    said: str


class Servers:
    """The servers that `configure` names, each with its own process, and the `given` ones, which are always
    there."""

    def __init__(self, around: Surroundings, given: Mapping[str, McpSettings] = NONE) -> None:
        self._around = around
        self._given = given
        self._servers: dict[str, Server] = {}
        self._tools: tuple[McpTool, ...] | None = ()
        self._offers: dict[str, tuple[Offer, ...]] = {}
        self._said: dict[str, State] = {}
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def tools(self) -> Sequence[McpTool]:
        """Known tools of all servers, in the order of the configuration."""
        if self._tools is None:
            self._tools = tuple(
                McpTool(server, offer) for server in self._servers.values() for offer in server.offers
            )
        return self._tools

    def configure(self, wanted: Mapping[str, McpSettings]) -> None:
        """Apply a configuration: begin to start new servers. Servers that are missing or have changed are
        forgotten at once, and end soon."""
        wanted = {**wanted, **self._given}
        for name, server in list(self._servers.items()):
            if wanted.get(name) != server.settings:
                del self._servers[name]
                self._offers.pop(name, None)
                self._end(server)
                self._tools = None
        for name, settings in wanted.items():
            if name not in self._servers:
                self._servers[name] = Server(name, settings, self._around, self._note_change(name))
            if self._servers[name].state is State.IDLE:
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

    def listed(self) -> list[Listed]:
        """List all servers, in the order of the configuration."""
        return [
            Listed(
                server.name,
                server.state,
                server.settings.told,
                f"{server.title} {server.version}".strip(),
                server.problem,
                tuple(offer.name for offer in server.offers),
                server.left_out,
                server.said,
            )
            for server in self._servers.values()
        ]

    def untold(self) -> list[str]:
        """Return a line for each server that does not answer, unless that state was reported before."""
        lines: list[str] = []
        for server in self._servers.values():
            said = self._said.get(server.name)
            self._said[server.name] = server.state
            if server.state is said:
                continue
            if server.state is State.FAILED:
                lines.append(
                    f"The MCP server {server.name} cannot be used: {server.problem}. Check it with /mcp."
                )
            elif server.state is State.STARTING:
                told = "is still starting; its tools will be available with a later message"
                lines.append(f"The MCP server {server.name} {told}.")
        return lines

    async def restart(self, name: str) -> None:
        """End a server, and begin to start it.

        Raises:
            UsageError: there is none of this name.
        """
        if name not in self._servers:
            there = ", ".join(self._servers) or "none"
            raise UsageError(f"Unknown MCP server {name!r}.", f"Configured: {there}.")
        await self._servers[name].restart()

    async def close(self) -> None:
        """End all servers; the next `configure` starts them again."""
        servers, self._servers = list(self._servers.values()), {}
        self._tools = None
        self._offers.clear()
        self._said.clear()
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
