"""Commands for the cost and the context of the conversation: the dialogs, and the summary."""

from functools import partial
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.cost.context_usage import ContextFacts
from cogency_tui.tui.display_protocol import Display
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.transcript.units import unit_of

if TYPE_CHECKING:
    from cogency_tui.agent.timeline.model import Point
    from cogency_tui.store.summaries import Summary


class CostCommands(FeatureCommands):
    """Shows dialogs over `screen` about the conversation of `bridge`."""

    def __init__(self, screen: Screen[Any], bridge: Bridge, inquiry: ContextFacts, display: Display) -> None:
        super().__init__(screen, bridge)
        self._display = display
        self._inquiry = inquiry

    def handlers(self) -> dict[str, Handler]:
        return {
            "show_context": self.show_context,
            "show_costs": self.show_costs,
            "compact": self.compact,
        }

    async def show_context(self, _argument: str = "") -> None:
        """Show the contents of the context."""
        from cogency_tui.tui.cost.context_screen import ContextScreen

        if (conversation_id := self.begun()) is None:
            return
        try:
            contents = await self._inquiry.contents(conversation_id)
        except CogencyError as exc:
            self.complain(exc)
            return
        edit = partial(self._edit, conversation_id)
        app_of(self._screen).push_screen(ContextScreen(contents), edit)

    def _edit(self, conversation_id: str, summary: "Summary | None") -> None:
        from cogency_tui.tui.cost.context_screen import SummaryScreen

        if summary is None:
            return
        save = partial(self._inquiry.edit_summary, conversation_id, summary)
        app_of(self._screen).push_screen(SummaryScreen(summary, save), self._edited)

    async def _edited(self, saved: bool | None) -> None:
        if saved:
            self.say("Summary saved. The next request uses it.")
            await self.remeasure()

    async def show_costs(self, argument: str = "") -> None:
        """Show the tokens sent and billed, and the cost; with `why`, the parts that it consists of."""
        if argument == "why":
            await self._show_why()
            return
        from cogency_tui.tui.cost.screen import CostScreen

        if (conversation_id := self.begun()) is None:
            return
        try:
            spent = await self._inquiry.spent(conversation_id)
        except CogencyError as exc:
            self.complain(exc)
            return
        if spent.own or spent.delegated:
            app_of(self._screen).push_screen(CostScreen(spent))
        else:
            self.say("No usage yet.")

    async def _show_why(self) -> None:
        from cogency_tui.agent.timeline.costs import report_costs
        from cogency_tui.tools.worker_threads import in_thread
        from cogency_tui.tui.cost.why_screen import WhyScreen

        if (conversation_id := self.begun()) is None:
            return
        agent = self._bridge.agent
        try:
            past = await agent.timeline(conversation_id).read()
        except CogencyError as exc:
            self.complain(exc)
            return
        report = await in_thread(report_costs, past, agent.prices)
        app_of(self._screen).push_screen(WhyScreen(report, self._subject_of), self._go_to)

    def _subject_of(self, call_id: str) -> str:
        found = self._display.transcript.call_with(call_id)
        return found[1].subject.text if found else ""

    def _go_to(self, point: "Point | None") -> None:
        """Show where a part of the cost stands in the conversation."""
        if point is None:
            return
        unit = unit_of(self._display.transcript, point.event)
        if unit is not None:
            self._display.go_to_unit(unit)

    def compact(self, _argument: str = "") -> None:
        """Summarize the conversation; requires that no work is running."""
        if self.idle() and (conversation_id := self.begun()) is not None:
            self._bridge.compact(conversation_id)

    async def remeasure(self) -> None:
        """Refresh the figures after a summary was made or changed."""
        if (conversation_id := self._bridge.conversation_id) is None:
            return
        try:
            total, context = await self._inquiry.figures(conversation_id)
        except CogencyError as exc:
            self.complain(exc)
            return
        if conversation_id == self._bridge.conversation_id:
            self._display.measure(total, context)
