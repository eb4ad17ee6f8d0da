"""Commands for the cost and the context of the conversation: the dialogs, and the summary."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.store.pins import Place
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.cost.context_usage import ContextFacts
from cogency_tui.tui.display_protocol import Display
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.transcript.units import place_of, unit_at, unit_of

if TYPE_CHECKING:
    from cogency_tui.agent.compaction import Compaction, CompactionPlan, Part
    from cogency_tui.agent.timeline.costs import RequestCost, ResultCost
    from cogency_tui.store.summaries import Summary
    from cogency_tui.tui.cost.context_screen import Opened


class CostCommands(FeatureCommands):
    """Shows dialogs over `screen` about the conversation of `bridge`. `show_agent` shows the sub-agent that a
    call started."""

    def __init__(
        self,
        screen: Screen[Any],
        bridge: Bridge,
        inquiry: ContextFacts,
        display: Display,
        show_agent: Callable[[str], None],
    ) -> None:
        super().__init__(screen, bridge)
        self._display = display
        self._inquiry = inquiry
        self._show_agent = show_agent

    @property
    def _root(self) -> str:
        return str(self._bridge.agent.workspace.root)

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
        follow = partial(self._follow_context, conversation_id)
        app_of(self._screen).push_screen(ContextScreen(contents), follow)

    async def _follow_context(self, conversation_id: str, chosen: "Summary | Opened | None") -> None:
        if chosen == "compactions":
            await self.show_compactions()
        else:
            self._edit(conversation_id, chosen)

    def _edit(self, conversation_id: str, summary: "Summary | None") -> None:
        from cogency_tui.tui.cost.context_screen import SummaryScreen

        if summary is None:
            return
        save = partial(self._inquiry.edit_summary, conversation_id, summary)
        app_of(self._screen).push_screen(SummaryScreen(summary, save), self._edited)

    async def show_compactions(self, opened: int | None = None) -> None:
        """Show the summaries and what they replaced, from the one with the id `opened`."""
        from cogency_tui.tui.cost.compaction_screen import CompactionScreen

        if (conversation_id := self.begun()) is None:
            return
        try:
            compactions = await self._inquiry.compactions(conversation_id)
        except CogencyError as exc:
            self.complain(exc)
            return
        if compactions:
            pin = partial(self._pin_part, conversation_id)
            screen = CompactionScreen(compactions, pin, opened, root=self._root)
            app_of(self._screen).push_screen(screen, partial(self._follow_compaction, conversation_id))

    def _follow_compaction(self, conversation_id: str, chosen: "Part | Summary | None") -> None:
        from cogency_tui.agent.compaction import Part

        if not isinstance(chosen, Part):
            self._edit(conversation_id, chosen)
        elif (unit := unit_at(self._display.transcript, _place(chosen))) is not None:
            self._display.go_to_unit(unit)

    async def _pin_part(self, conversation_id: str, part: "Part") -> "Sequence[Compaction]":
        """Pin a part or pin it no longer; return the compactions as they are then."""
        await self._set_pin(conversation_id, _place(part), pinned=not part.pinned)
        return await self._inquiry.compactions(conversation_id)

    async def _pin_planned(self, conversation_id: str, part: "Part") -> "CompactionPlan":
        """Pin a part or pin it no longer; return the plan of a summary as it is then."""
        await self._set_pin(conversation_id, _place(part), pinned=not part.pinned)
        return await self._inquiry.plan(conversation_id)

    async def pin(self, unit: int) -> None:
        """Pin a unit, or pin it no longer."""
        transcript = self._display.transcript
        place = place_of(transcript, unit)
        if place is None or (conversation_id := self.begun()) is None:
            return
        pinned = unit not in transcript.pinned
        try:
            summarised = await self._set_pin(conversation_id, place, pinned=pinned)
        except CogencyError as exc:
            self.complain(exc)
        else:
            self.say(self._describe_pin(pinned, summarised))

    async def _set_pin(self, conversation_id: str, place: Place, *, pinned: bool) -> bool:
        """Pin a part, or pin it no longer; return whether it is summarized."""
        transcript = self._display.transcript
        summarised = await self._inquiry.pin(conversation_id, place, pinned=pinned)
        if (unit := unit_at(transcript, place)) is not None:
            (transcript.pinned.add if pinned else transcript.pinned.discard)(unit)
            if transcript is self._display.transcript:
                self._display.touch({unit})
        await self.remeasure()
        return summarised

    def _describe_pin(self, pinned: bool, summarised: bool) -> str:
        if not summarised:
            return "Pinned. It stays verbatim when the conversation is summarized." if pinned else "Unpinned."
        what = "Pinned. Included again" if pinned else "Unpinned. Only in the summary"
        return f"{what} from the next request on{', in a new session' if self._resumes() else ''}."

    def _resumes(self) -> bool:
        """Return whether the next request continues a session, which has to begin anew."""
        agent = self._bridge.agent
        last = self._display.transcript.step.get("mode") or ("resume" if agent.provider.resumes else "replay")
        return (last if agent.mode == "auto" else agent.mode) == "resume"

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
        from cogency_tui.tui.cost.why_screen import WhyScreen

        if (conversation_id := self.begun()) is None:
            return
        try:
            report = await self._inquiry.costs(conversation_id)
        except CogencyError as exc:
            self.complain(exc)
            return
        app_of(self._screen).push_screen(WhyScreen(report, self._subject_of), self._go_to)

    def _subject_of(self, call_id: str) -> str:
        found = self._display.transcript.call_with(call_id)
        return found[1].subject.text if found else ""

    def _go_to(self, cost: "RequestCost | ResultCost | None") -> None:
        """Show what a part of the cost is for: its place in the conversation, or the sub-agent."""
        if cost is None:
            return
        if cost.agent is not None:
            self._show_agent(cost.agent.call)
        elif (unit := unit_of(self._display.transcript, cost.point.event)) is not None:
            self._display.go_to_unit(unit)

    async def compact(self, _argument: str = "") -> None:
        """Show what a summary would replace, and summarize the conversation if the user confirms it; requires
        that no work is running."""
        from cogency_tui.tui.cost.compaction_screen import CompactDialog

        if not self.idle() or (conversation_id := self.begun()) is None:
            return
        try:
            plan = await self._inquiry.plan(conversation_id)
        except CogencyError as exc:
            self.complain(exc)
            return

        def answered(yes: bool | None) -> None:
            if yes and self.idle():
                self._bridge.compact(conversation_id)

        dialog = CompactDialog(plan, partial(self._pin_planned, conversation_id), root=self._root)
        app_of(self._screen).push_screen(dialog, answered)

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


def _place(part: "Part") -> Place:
    """The place of a part in the conversation."""
    event = part.event
    return Place(unit=event["id"]) if "id" in event else Place(nth=part.nth)
