"""The base class of a feature's command handlers.

The screen asks each handler which commands it runs; keys, `/` and the palette all end there.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.kit.number_format import plural

Handler: TypeAlias = Callable[[str], Awaitable[None] | None]
"""Runs a command with the text that follows its name."""


class FeatureCommands:
    """Handles commands on `screen`, with the agent behind `bridge`."""

    def __init__(self, screen: Screen[Any], bridge: Bridge) -> None:
        self._screen = screen
        self._bridge = bridge

    def handlers(self) -> dict[str, Handler]:
        """The handlers by the name in `SlashCommand.handler`."""
        raise NotImplementedError

    def say(self, text: str) -> None:
        """Show a notification."""
        self._screen.notify(text, markup=False)

    def warn(self, text: str) -> None:
        """Show a warning."""
        self._screen.notify(text, severity="warning", markup=False)

    def complain(self, error: CogencyError) -> None:
        """Report an error, with the next step."""
        self._screen.notify(error.advice, severity="error", markup=False)

    async def approve_by_mode(self) -> bool:
        """Approve the waiting questions that the permission mode does not ask; notify the user, and return
        whether there are any.
        """
        if approved := await self._bridge.approve_by_mode():
            self.say(f"{self._bridge.agent.permissions}: {plural(approved, 'question')} approved")
        return bool(approved)

    def idle(self) -> bool:
        """Return whether no work is running, and no conversation is being opened; else notify the user that
        the command has to wait."""
        if self._bridge.working:
            self.warn("The agent is working. Interrupt it first (Esc).")
        elif self._bridge.opening is not None:
            self.warn("The conversation is still opening. Try again when it is shown.")
        return not self._bridge.working and self._bridge.opening is None

    def begun(self) -> str | None:
        """The id of the conversation; without one notify the user that there is none."""
        if self._bridge.conversation_id is None:
            self.warn("This conversation is empty. Send a message first.")
        return self._bridge.conversation_id
