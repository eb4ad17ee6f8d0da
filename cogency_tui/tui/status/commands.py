"""The command `/status`: all figures and the settings in force."""

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.safe_text import one_line
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.status.status_bar import StatusBar

if TYPE_CHECKING:
    from cogency_tui.tui.cost.context_usage import ContextFacts
    from cogency_tui.tui.status.screen import Fact


class StatusCommands(FeatureCommands):
    """Shows the status that the bar of the screen summarizes, with the usage that `facts` reads."""

    def __init__(self, screen: Screen[Any], bridge: Bridge, facts: "ContextFacts") -> None:
        super().__init__(screen, bridge)
        self._facts = facts

    def handlers(self) -> dict[str, Handler]:
        return {"show_status": self.show_status}

    async def show_status(self, _argument: str = "") -> None:
        """Show the status, with the same total as the costs."""
        from cogency_tui.tui.status.screen import StatusScreen

        status, conversation_id = self._screen.query_one(StatusBar).status, self._bridge.conversation_id
        if conversation_id is not None:
            try:
                spent = await self._facts.spent(conversation_id)
            except CogencyError as exc:
                self.complain(exc)
                return
            status = msgspec.structs.replace(status, total=spent.total or status.total)
        app_of(self._screen).push_screen(StatusScreen(status, await self._team()))

    async def _team(self) -> "list[Fact]":
        """The facts about sharing with a team, where there may be any."""
        agent, settings = self._bridge.agent, self._bridge.agent.settings.history
        if not (settings.url or settings.private):
            return []
        from cogency_tui.team.address import address_of
        from cogency_tui.team.sharing import (
            count_conversations,
            count_waiting,
            main_project_of,
            read_sharing,
        )
        from cogency_tui.tui.status.screen import Fact, facts_of_team

        try:
            main = await main_project_of(await agent.store(), agent.project)
            given = agent.data, settings, main, str(agent.project), self._bridge.conversation_id
            found = await asyncio.to_thread(read_sharing, *given)
            database = address_of(settings).name if settings.url else ""
            waits = database and found.has_work
            waiting = await asyncio.to_thread(count_waiting, agent.data, settings) if waits else 0
            facts = [*facts_of_team(found, one_line(database), waiting)]
            if database and found.share and not found.is_private:
                counts = await asyncio.to_thread(count_conversations, agent.data, main, is_shared=True)
                facts += [Fact("Not shared", counts.staying.words)] if counts.staying.words else []
            return facts
        except CogencyError as exc:
            return [Fact("Team's database", one_line(exc.advice))]
