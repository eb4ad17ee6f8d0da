"""What the conversation takes and what it costs: the dialogs about it, and the summary that makes it less."""

from functools import partial
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.host import app_of
from cogency_tui.tui.inquiry import Inquiry
from cogency_tui.tui.screens.collaborator import Collaborator, Handler
from cogency_tui.tui.screens.display import Display

if TYPE_CHECKING:
    from cogency_tui.store.summaries import Summary


class Insights(Collaborator):
    """Shows dialogs over `screen` about the conversation that `bridge` is in."""

    def __init__(self, screen: Screen[Any], bridge: Bridge, inquiry: Inquiry, display: Display) -> None:
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
        """What fills the context."""
        from cogency_tui.tui.screens.context import ContextScreen

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
        from cogency_tui.tui.screens.context import SummaryScreen

        if summary is None:
            return
        save = partial(self._inquiry.edit_summary, conversation_id, summary)
        app_of(self._screen).push_screen(SummaryScreen(summary, save), self._edited)

    async def _edited(self, saved: bool | None) -> None:
        if saved:
            self.say("The summary is saved; the next request has it.")
            await self.remeasure()

    async def show_costs(self, _argument: str = "") -> None:
        """What was sent, billed and paid."""
        from cogency_tui.tui.screens.costs import CostScreen

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
            self.say("Nothing was taken yet: no request has come to its end.")

    def compact(self, _argument: str = "") -> None:
        """Have the conversation summarised, while nothing else is worked on."""
        if self.idle() and (conversation_id := self.begun()) is not None:
            self._bridge.compact(conversation_id)

    async def remeasure(self) -> None:
        """Show the figures as they are after a summary was made or changed."""
        if (conversation_id := self._bridge.conversation_id) is None:
            return
        try:
            total, context = await self._inquiry.figures(conversation_id)
        except CogencyError as exc:
            self.complain(exc)
            return
        if conversation_id == self._bridge.conversation_id:
            self._display.measure(total, context)
