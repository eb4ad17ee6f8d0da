"""Commands defined in files: offered like the built-in ones, and sent as the messages that they define."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from textual.screen import Screen

from cogency_tui.errors import UsageError
from cogency_tui.protocol.image import Image
from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands import COMMANDS, SlashCommand, parse_command, with_custom
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.prompt.completion import Completion


class CustomCommands(FeatureCommands):
    """Provides the commands of `screen`; the messages of those defined in files go to `send`."""

    def __init__(self, screen: Screen[Any], bridge: Bridge, send: Callable[[Written], None]) -> None:
        super().__init__(screen, bridge)
        self.known: tuple[SlashCommand, ...] = COMMANDS
        self._send = send

    def handlers(self) -> dict[str, Handler]:
        return {"custom": self.carry_out}

    def refresh(self) -> None:
        """Refresh the list of commands in the background."""
        self._screen.run_worker(self.read, group="custom", exclusive=True)

    async def read(self) -> None:
        """Read the files again, and offer the commands in them."""
        settings = self._bridge.agent.project_settings
        await asyncio.to_thread(settings.refresh)
        self.known = with_custom(settings.now.commands.values())
        for completion in self._screen.query(Completion):
            completion.know(self.known)

    async def parse(self, text: str) -> tuple[SlashCommand, str]:
        """The command that `text` names, and its argument; reads the files again for an unknown name.

        Raises:
            UsageError: as `parse_command`.
        """
        try:
            return parse_command(text, self.known)
        except UsageError:
            await self.read()
            if unusable := self._unusable_skill(text):
                raise UsageError(f"{unusable}.", "Review it with /trust, or see /skills.") from None
            return parse_command(text, self.known)

    def _unusable_skill(self, text: str) -> str:
        """Why the skill that `text` names cannot be started; empty if it names a command, or no skill."""
        name = text.removeprefix("/").split(maxsplit=1)[0]
        listed = self._bridge.agent.project_settings.skills
        if not listed or any(name in command.names for command in self.known):
            return ""
        # Loaded where there are skills.
        from cogency_tui.agent.project.skills import describe_unusable

        return describe_unusable(name, listed)

    def carry_out(self, named: str, images: Mapping[str, Image] | None = None) -> None:
        """Send the message of a command; `named` is its name and the text after it, which may have the chips
        of these `images`."""
        name, _space, argument = named.partition(" ")
        command = self._bridge.agent.project_settings.now.commands.get(name)
        if command is None:
            self.warn(f"/{name} no longer exists.")
        elif not argument and command.takes and not command.takes.startswith("["):
            self.warn(f"/{name} takes {command.takes}.")
        else:
            self._send(Written(command.message(argument), own=False, images=images or {}))
