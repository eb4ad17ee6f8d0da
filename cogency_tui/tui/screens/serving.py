"""`/mcp`: the servers shown, or one started again."""

from cogency_tui.errors import CogencyError
from cogency_tui.tui.host import app_of
from cogency_tui.tui.screens.collaborator import Collaborator, Handler


class Serving(Collaborator):
    """Carries `/mcp` out on `screen`."""

    def handlers(self) -> dict[str, Handler]:
        return {"mcp": self.show}

    async def show(self, name: str = "") -> None:
        """Show the servers, or start the one named again."""
        from cogency_tui.tui.screens.servers import ServersScreen

        servers = await self._bridge.agent.start_servers()
        if not name:
            app_of(self._screen).push_screen(ServersScreen(servers))
            return
        try:
            await servers.restart(name)
        except CogencyError as exc:
            self.complain(exc)
        else:
            self.say(f"The MCP server {name} is starting again.")
