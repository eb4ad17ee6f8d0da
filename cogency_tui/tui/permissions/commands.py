"""The permission mode by key and command, and the list of calls that run without a question."""

from collections.abc import Callable
from typing import Any

from textual.screen import Screen

from cogency_tui.config.schema import PERMISSIONS, Permissions
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.kit.typed_app import app_of


class PermissionCommands(FeatureCommands):
    """Shows the permissions of the bridge's conversation; `choose` sets the mode."""

    def __init__(self, screen: Screen[Any], bridge: Bridge, choose: Callable[[str], None]) -> None:
        super().__init__(screen, bridge)
        self._choose = choose

    def handlers(self) -> dict[str, Handler]:
        return {"permissions": self.permissions, "cycle_permissions": self.cycle_permissions}

    def cycle_permissions(self, _argument: str = "") -> None:
        """Switch to the next mode, and say what it means; where all edits were allowed, ask about them again
        first. Open questions stay: the mode that is wanted may be further on.
        """
        mode = self._bridge.agent.permissions
        asks_again = mode == "ask" and self._bridge.allows_edits
        step = 0 if asks_again else 1
        self._switch(PERMISSIONS[(PERMISSIONS.index(mode) + step) % len(PERMISSIONS)])
        self._describe()

    def _describe(self) -> None:
        """Say what the mode means."""
        from cogency_tui.config.options import options

        now: Permissions = self._bridge.agent.permissions
        report = self.warn if now == "auto" else self.say
        report(f"{now}: {options()['permissions'].means[now]}")

    def _switch(self, mode: str) -> None:
        """Switch to the mode. `ask` asks about edits again where all were allowed."""
        if mode == "ask" and self._bridge.allows_edits:
            self._bridge.ask_about_edits()
        self._choose(mode)

    async def _settle_by(self, mode: str) -> bool:
        """Switch to the mode; return whether it approves open questions."""
        self._switch(mode)
        return await self.approve_by_mode()

    async def permissions(self, mode: str = "") -> None:
        """Switch to this mode, or show the permissions."""
        from cogency_tui.tui.permissions.model import Ledger
        from cogency_tui.tui.permissions.screen import PermissionsScreen

        if mode:
            if not await self._settle_by(mode):
                self._describe()
            return
        bridge = self._bridge
        ledger = Ledger(bridge.agent, bridge.conversation_id, lambda: bridge.working)
        app_of(self._screen).push_screen(PermissionsScreen(ledger, self._settle_by), self._closed)

    def _closed(self, _answer: None) -> None:
        """Show the mode again: the permission for all edits may have been revoked or restored."""
        self._choose(self._bridge.agent.permissions)
