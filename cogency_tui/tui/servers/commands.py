"""The command `/mcp`: shows the servers, or restarts one."""

from cogency_tui.errors import CogencyError
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.kit.typed_app import app_of


class ServerCommands(FeatureCommands):
    """Runs `/mcp` on `screen`."""

    def handlers(self) -> dict[str, Handler]:
        return {"mcp": self.show}

    async def show(self, name: str = "") -> None:
        """Show the servers, or restart the one named."""
        from cogency_tui.tui.servers.screen import ServersScreen

        servers = await self._bridge.agent.start_servers()
        if not name:
            app_of(self._screen).push_screen(ServersScreen(servers))
            return
        try:
            await servers.restart(name)
        except CogencyError as exc:
            self.complain(exc)
        else:
            self.say(f"MCP server {name} is restarting.")
