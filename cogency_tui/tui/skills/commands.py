"""The command `/skills`: lists the skills, and starts the chosen one in the prompt."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands import COMMANDS
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.kit.typed_app import app_of

if TYPE_CHECKING:
    from cogency_tui.tui.skills.screen import SkillAction


class SkillCommands(FeatureCommands):
    """Lists skills over `screen`; `suggest` puts a message into the prompt."""

    def __init__(self, screen: Screen[Any], bridge: Bridge, suggest: Callable[[str], None]) -> None:
        super().__init__(screen, bridge)
        self._suggest = suggest

    def handlers(self) -> dict[str, Handler]:
        return {"skills": self.show}

    async def show(self, _argument: str = "") -> None:
        from cogency_tui.tui.skills.screen import SkillsScreen

        settings = self._bridge.agent.project_settings
        await asyncio.to_thread(settings.refresh)
        app_of(self._screen).push_screen(SkillsScreen(settings.skills, settings.project), self._carry_out)

    def _start_of(self, name: str) -> str:
        """The beginning of a message that starts a skill: its command, unless another has the name."""
        from cogency_tui.agent.project.skills import lead_of_request, request_for

        command = self._bridge.agent.project_settings.now.commands.get(name)
        taken = command is None or command.text != request_for(name)
        if taken or any(name in each.names for each in COMMANDS):
            return lead_of_request(name)
        return f"/{name} "

    async def _carry_out(self, action: "SkillAction | None") -> None:
        if action is None:
            return
        if action.kind == "use":
            self._suggest(self._start_of(action.name))
        else:
            await self._screen.run_action("command('trust', '')")
