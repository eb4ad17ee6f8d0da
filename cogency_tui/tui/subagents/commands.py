"""The command for the agents of the conversation, and what the screen shows while they work."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.protocol.events import Event
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.display_protocol import Display
from cogency_tui.tui.kit.typed_app import app_of

if TYPE_CHECKING:
    from cogency_tui.tui.subagents.screen import AgentsCommand, AgentsScreen, ShownCall


class SubagentCommands(FeatureCommands):
    """Opens the agents of the conversation on `display`. `review` opens the review at a call; `review_key` is
    the name of its key."""

    def __init__(
        self,
        screen: Screen[Any],
        bridge: Bridge,
        display: Display,
        review: Callable[[str], None],
        review_key: Callable[[], str],
    ) -> None:
        super().__init__(screen, bridge)
        self._display = display
        self._review = review
        self._review_key = review_key
        self._shown: AgentsScreen | None = None

    def handlers(self) -> dict[str, Handler]:
        return {"agents": self.open}

    def open(self, _argument: str = "", *, call: str = "") -> None:
        """Show the agents, with that of `call` selected."""
        conversation_id = self.begun()
        if conversation_id is None or self._shown is not None:
            return
        from cogency_tui.tui.subagents.screen import AgentsScreen

        agent = self._bridge.agent
        self._shown = AgentsScreen(
            agent.subagents(conversation_id),
            agent.store,
            lambda: self._bridge.working,
            self._review_key,
            self._waits,
            project=str(agent.workspace.root),
            title=self._display.transcript.title,
            call=call,
        )
        app_of(self._screen).push_screen(self._shown, self._closed)

    def _waits(self, call: str) -> bool:
        """Return whether a call waits for the user."""
        found = self._display.transcript.call_with(call)
        return found is not None and found[1].state == "waiting"

    def progress(self, conversation_id: str) -> None:
        """Show new events of a sub-agent's conversation."""
        if self._shown is not None and self._shown.is_mounted:
            self._shown.progress([conversation_id])

    def follow(self, arrived: list[Event]) -> None:
        """Show new events of the user's conversation."""
        if self._shown is None or self._bridge.conversation_id is None:
            return
        from cogency_tui.agent.subagent_progress import ends_unit

        if any(map(ends_unit, arrived)):
            self.progress(self._bridge.conversation_id)

    def refresh(self) -> None:
        """Refresh an open screen at the start or end of a turn."""
        if self._shown is not None and self._shown.is_mounted:
            self._shown.reload()

    async def _closed(self, answer: "ShownCall | AgentsCommand | None") -> None:
        from cogency_tui.tui.subagents.screen import AgentsCommand, ShownCall

        self._shown = None
        if isinstance(answer, AgentsCommand):
            await self._screen.run_action(f"command({answer.handler!r}, {answer.argument!r})")
        elif isinstance(answer, ShownCall) and answer.review:
            self._screen.call_next(partial(self._review, answer.call))
        elif isinstance(answer, ShownCall) and (found := self._display.transcript.call_with(answer.call)):
            self._display.go_to_unit(found[0])
