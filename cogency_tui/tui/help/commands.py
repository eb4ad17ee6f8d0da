"""The commands `/help` and `/keys`."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands import SlashCommand
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.kit.typed_app import app_of

if TYPE_CHECKING:
    from cogency_tui.agent.doctor import Finding
    from cogency_tui.tui.help.screen import HelpGroup


class HelpCommands(FeatureCommands):
    """Shows dialogs over `screen`; `commands` are the available ones, `further` the keys and texts without
    bindings."""

    def __init__(
        self,
        screen: Screen[Any],
        bridge: Bridge,
        commands: Callable[[], Sequence[SlashCommand]],
        further: "Callable[[], list[HelpGroup]]",
    ) -> None:
        super().__init__(screen, bridge)
        self._commands = commands
        self._further = further

    def handlers(self) -> dict[str, Handler]:
        return {"help": self.show_help, "show_keys": self.show_keys, "doctor": self.examine}

    def examine(self, _argument: str = "") -> None:
        """Check the installation, and show what is found."""
        from cogency_tui.tui.help.doctor_screen import DoctorScreen

        app_of(self._screen).push_screen(DoctorScreen(self._findings))

    async def _findings(self) -> "AsyncIterator[Finding]":
        """Run the checks in a thread, which they block. The servers have a screen of their own."""
        from cogency_tui.agent.doctor import check_installation, check_machine
        from cogency_tui.tui.doctor_checks import examine_interface

        agent = self._bridge.agent
        for check in (
            partial(asyncio.run, check_installation(agent.project, agent.data)),
            partial(examine_interface, agent.settings),
            partial(asyncio.run, check_machine(agent.project, agent.settings)),
        ):
            for finding in await asyncio.to_thread(check):
                yield finding

    def show_help(self, _argument: str = "") -> None:
        """Show the keys that work at the focus, and the commands."""
        from cogency_tui.tui.help.screen import HelpScreen, add_rows, collect_keys

        groups = add_rows(collect_keys(self._screen, self._commands()), self._further())
        app_of(self._screen).push_screen(HelpScreen("Help", groups))

    def show_keys(self, _argument: str = "") -> None:
        """Show every key, with the id by which it can be remapped."""
        from cogency_tui.tui.help.key_table import describe_problems, key_rows
        from cogency_tui.tui.help.screen import HelpScreen

        keys = self._bridge.agent.settings.keys
        app_of(self._screen).push_screen(HelpScreen("Keys", key_rows(keys), describe_problems(keys)))
