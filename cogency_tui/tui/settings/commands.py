"""The commands `/settings` and `/theme`: show and change options; the main screen follows at once."""

import asyncio
from typing import Any

from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.display_protocol import Display
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.prompt.prompt import Prompt
from cogency_tui.tui.settings.active_theme import NO_COLORS, appearance_of
from cogency_tui.workspace.protected_names import short_path


class SettingsCommands(FeatureCommands):
    """Changes options of the agent behind `bridge`, and refreshes them in `display`."""

    def __init__(self, screen: Screen[Any], bridge: Bridge, display: Display) -> None:
        super().__init__(screen, bridge)
        self._agent = bridge.agent
        self._display = display

    def handlers(self) -> dict[str, Handler]:
        return {"settings": self.show_settings, "set_theme": self.choose_theme}

    def show_settings(self, option: str = "") -> None:
        """Show all options, from this one, with links to the screens of other settings."""
        from cogency_tui.tui.settings.model import SettingsDesk
        from cogency_tui.tui.settings.screen import SettingsScreen

        async def open_screen(handler: str) -> None:
            await self._screen.run_action(f"command({handler!r})")

        desk = SettingsDesk(self._agent, appearance_of(self._screen), self._follow)
        path = short_path(desk.own.path)
        app_of(self._screen).push_screen(SettingsScreen(desk, path, open_screen, option=option))

    async def _follow(self, key: str) -> None:
        """Apply the changed option to the screen."""
        settings, app = self._agent.settings, app_of(self._screen)
        if key == "theme":
            await self._screen.run_action(f"app.set_theme({settings.theme!r})")
        elif key == "footer":
            self._screen.set_class(not settings.footer, "-no-footer")
        elif key == "animation":
            app.animation_level = "full" if settings.animation else "none"
        elif key == "vim":
            self._screen.query_one(Prompt).use_vim(on=settings.vim)
        elif key == "permissions":
            await self.approve_by_mode()
        self._display.show_state()

    async def choose_theme(self, name: str) -> None:
        """Show this theme, or one that the user picks."""
        from cogency_tui.tui.settings.theme_picker import ThemePicker

        app = app_of(self._screen)
        if name:
            await self._screen.run_action(f"app.set_theme({name!r})")
            if name != self._agent.settings.theme:
                self.say(f"Theme {name} until you quit. /theme and Ctrl+S save one.")
        elif app.no_color:
            self.warn(NO_COLORS)
        else:
            app.push_screen(ThemePicker(), self._save_theme)

    async def _save_theme(self, saves: bool | None) -> None:
        """Save the theme in use in the user's configuration, if the user wants that."""
        if not saves:
            return
        from cogency_tui.agent.editable_options import Preferences

        own = Preferences()
        try:
            await asyncio.to_thread(own.set, "theme", appearance_of(self._screen).chosen)
            await asyncio.to_thread(self._agent.reload)
        except CogencyError as exc:
            self.complain(exc)
        else:
            self.say(f"Theme saved in {short_path(own.path)}.")
