"""`/settings`: options are shown and changed; what is seen of them on the main screen follows at once."""

from typing import Any

from textual.screen import Screen

from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.host import app_of
from cogency_tui.tui.screens.collaborator import Collaborator, Handler
from cogency_tui.tui.screens.display import Display
from cogency_tui.workspace.names import short_path


class Configuring(Collaborator):
    """The options of the agent behind `bridge`; what is shown of them stands in `display`."""

    def __init__(self, screen: Screen[Any], bridge: Bridge, display: Display) -> None:
        super().__init__(screen, bridge)
        self._agent = bridge.agent
        self._display = display

    def handlers(self) -> dict[str, Handler]:
        return {"settings": self.show_settings}

    def show_settings(self, _argument: str = "") -> None:
        """Every option; from there to the screens where the rest is set."""
        from cogency_tui.tui.screens.settings import SettingsScreen
        from cogency_tui.tui.settings_desk import SettingsDesk

        async def go_on(handler: str | None) -> None:
            if handler:
                await self._screen.run_action(f"command({handler!r})")

        desk = SettingsDesk(self._agent, self._follow)
        app_of(self._screen).push_screen(SettingsScreen(desk, short_path(desk.own.path)), go_on)

    async def _follow(self, key: str) -> None:
        """Show what has changed."""
        settings, app = self._agent.settings, app_of(self._screen)
        if key == "theme":
            await self._screen.run_action(f"app.set_theme({settings.theme!r})")
        elif key == "footer":
            self._screen.set_class(not settings.footer, "-no-footer")
        elif key == "animation":
            app.animation_level = "full" if settings.animation else "none"
        self._display.show_state()
