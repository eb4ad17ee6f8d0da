"""The command `/lsp`: shows the language servers."""

from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.kit.typed_app import app_of


class LanguageServerCommands(FeatureCommands):
    """Runs `/lsp` on `screen`."""

    def handlers(self) -> dict[str, Handler]:
        return {"lsp": self.show}

    def show(self, _arguments: str = "") -> None:
        """Show the servers."""
        from cogency_tui.tui.language_servers.screen import LanguageServersScreen

        app_of(self._screen).push_screen(LanguageServersScreen(self._bridge.agent.language_servers))
