"""The command `/status`: all figures and the settings in force."""

from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.status.status_bar import StatusBar


class StatusCommands(FeatureCommands):
    """Shows the status that the bar of the screen summarizes."""

    def handlers(self) -> dict[str, Handler]:
        return {"show_status": self.show_status}

    def show_status(self, _argument: str = "") -> None:
        """Show the status."""
        from cogency_tui.tui.status.screen import StatusScreen

        app_of(self._screen).push_screen(StatusScreen(self._screen.query_one(StatusBar).status))
