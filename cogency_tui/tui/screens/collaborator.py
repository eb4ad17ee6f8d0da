"""The base of those who carry out commands of the main screen, each for one kind of work.

The screen asks each which commands it carries out; keys, `/` and the palette all end there.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.tui.bridge import Bridge

Handler: TypeAlias = Callable[[str], Awaitable[None] | None]
"""Carries a command out; it is given what was written after its name."""


class Collaborator:
    """Works on `screen`, with the agent behind `bridge`."""

    def __init__(self, screen: Screen[Any], bridge: Bridge) -> None:
        self._screen = screen
        self._bridge = bridge

    def handlers(self) -> dict[str, Handler]:
        """What it carries out, by the name in `Command.handler`."""
        raise NotImplementedError

    def say(self, text: str) -> None:
        """Tell in passing."""
        self._screen.notify(text, markup=False)

    def warn(self, text: str) -> None:
        """Tell in passing that this does not go."""
        self._screen.notify(text, severity="warning", markup=False)

    def complain(self, error: CogencyError) -> None:
        """Tell what could not be done, with the next step."""
        self._screen.notify(error.advice, severity="error", markup=False)

    def idle(self) -> bool:
        """Whether nothing is worked on; else it is said that this has to wait."""
        if self._bridge.working:
            self.warn("The agent is working. Interrupt it first (Esc).")
        return not self._bridge.working

    def begun(self) -> str | None:
        """The conversation; without one it is said that there is none."""
        if self._bridge.conversation_id is None:
            self.warn("This conversation has not begun yet. Send a message first.")
        return self._bridge.conversation_id
