"""The command `/hooks`: lists the hooks."""

import asyncio

from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.kit.typed_app import app_of


class HookCommands(FeatureCommands):
    """Lists hooks over `screen`."""

    def handlers(self) -> dict[str, Handler]:
        return {"hooks": self.show}

    async def show(self, _argument: str = "") -> None:
        """Show the hooks; the answer leads to the review of what the project brings."""
        from cogency_tui.tui.hooks.screen import HooksScreen

        listed = await asyncio.to_thread(self._bridge.agent.list_hooks)
        app_of(self._screen).push_screen(HooksScreen(listed), self._carry_out)

    async def _carry_out(self, reviews: bool | None) -> None:
        if reviews:
            await self._screen.run_action("command('trust', '')")
