"""What concerns the interface itself: its colours, its keys, and help."""

from collections.abc import Callable, Sequence
from typing import Any

from textual.screen import Screen

from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands import Command
from cogency_tui.tui.host import app_of
from cogency_tui.tui.screens.collaborator import Collaborator, Handler


class Orientation(Collaborator):
    """Shows dialogs over `screen`; `commands` are those that there are."""

    def __init__(
        self, screen: Screen[Any], bridge: Bridge, commands: Callable[[], Sequence[Command]]
    ) -> None:
        super().__init__(screen, bridge)
        self._commands = commands

    def handlers(self) -> dict[str, Handler]:
        return {"help": self.show_help, "show_keys": self.show_keys, "set_theme": self.choose_theme}

    def show_help(self, _argument: str = "") -> None:
        """The keys that work where one is, and the commands."""
        from cogency_tui.tui.screens.help import HelpScreen, collect_keys, command_rows

        groups = [*collect_keys(self._screen), command_rows(self._commands())]
        app_of(self._screen).push_screen(HelpScreen("Help", groups))

    def show_keys(self, _argument: str = "") -> None:
        """Every key there is, with the id that it can be changed by."""
        from cogency_tui.tui.key_table import describe_problems, key_rows
        from cogency_tui.tui.screens.help import HelpScreen

        keys = self._bridge.agent.settings.keys
        app_of(self._screen).push_screen(HelpScreen("Keys", key_rows(keys), describe_problems(keys)))

    async def choose_theme(self, name: str) -> None:
        """Show this theme, or one that is picked."""
        from cogency_tui.tui.screens.theme_picker import ThemePicker

        app = app_of(self._screen)
        if name:
            await self._screen.run_action(f"app.set_theme({name!r})")
        elif app.no_color:
            from cogency_tui.tui.appearance import NO_COLOURS

            self.warn(NO_COLOURS)
        else:
            app.push_screen(ThemePicker())
