"""`/permissions`: what runs without a question."""

from collections.abc import Callable
from typing import Any

from textual.screen import Screen

from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.host import app_of
from cogency_tui.tui.screens.collaborator import Collaborator, Handler


class Allowing(Collaborator):
    """Shows what is allowed in the conversation of the bridge; `choose` sets the mode."""

    def __init__(self, screen: Screen[Any], bridge: Bridge, choose: Callable[[str], None]) -> None:
        super().__init__(screen, bridge)
        self._choose = choose

    def handlers(self) -> dict[str, Handler]:
        return {"permissions": self.permissions}

    def permissions(self, mode: str = "") -> None:
        """Go on with this mode, or show what there is."""
        from cogency_tui.tui.permission_ledger import Ledger
        from cogency_tui.tui.screens.permissions import PermissionsScreen

        if mode:
            self._choose(mode)
            return
        ledger = Ledger(self._bridge.agent, self._bridge.conversation_id)
        app_of(self._screen).push_screen(PermissionsScreen(ledger, self._choose))
