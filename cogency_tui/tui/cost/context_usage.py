"""Facts of a conversation: its place in the list, the contents of its context, and its usage.

No turn depends on this module.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cogency_tui.errors import UsageError
from cogency_tui.protocol.events import Measure
from cogency_tui.store import usage
from cogency_tui.tui.cost.usage_totals import Cost, Saving, by_model, in_all, saving

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.agent.compaction import Compaction, CompactionPlan
    from cogency_tui.agent.context_window import ContextPart, PinnedSize
    from cogency_tui.agent.project.instructions import Instructions
    from cogency_tui.agent.timeline.costs import CostReport
    from cogency_tui.store.pins import Place
    from cogency_tui.store.store import Store, StoredConversation
    from cogency_tui.store.summaries import Summary


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of the context of `model`: parts with their estimated tokens, the context's `size` in
    tokens (0 if unknown), the summaries, the newest first, the pins, and the instruction files."""

    model: str
    parts: "list[ContextPart]"
    size: int
    summaries: "Sequence[tuple[Summary, int]]" = ()
    """Each with the number of messages and calls that it replaced."""
    pinned: "PinnedSize | None" = None
    instructions: "Instructions | None" = None

    @property
    def summary(self) -> "Summary | None":
        """The summary in force."""
        return self.summaries[0][0] if self.summaries else None

    @property
    def used(self) -> int:
        return sum(part.tokens for part in self.parts)


@dataclass(frozen=True, slots=True)
class ConversationUsage:
    """The usage of each cycle, summary and question of a conversation; sub-agents are separate."""

    own: list[Measure]
    delegated: list[Measure]

    @property
    def costs(self) -> list[Cost]:
        """The sums for each model, those of sub-agents by themselves."""
        return [*by_model(self.own), *self._delegated_costs]

    @property
    def cost(self) -> Cost:
        """The sum of all; there is at least one. Sub-agents run within the time of the others."""
        return in_all(by_model(self.own), self._delegated_costs)

    @property
    def _delegated_costs(self) -> list[Cost]:
        return by_model(self.delegated, " (sub-agents)")

    @property
    def saving(self) -> Saving:
        return saving([*self.own, *self.delegated])

    @property
    def total(self) -> Measure:
        """The figures of all requests together, as far as they are known; empty if there were none."""
        if not self.costs:
            return {}
        cost = self.cost
        known: Measure = {
            "input": cost.sent,
            "billed_input": cost.billed,
            "output": cost.generated,
            "replay_input": self.saving.replayed,
            "estimated": cost.estimated,
        }
        if cost.cached is not None:
            known["cached"] = cost.cached
        return known if cost.dollars is None else {**known, "cost": cost.dollars}


class ContextFacts:
    """Reads facts of conversations of `agent`. All methods raise `CogencyError` if the store fails."""

    def __init__(self, agent: "Agent") -> None:
        self._agent = agent

    async def count(self) -> int:
        """The number of conversations in this project; one that is not begun yet is none."""
        return await (await self._agent.store()).count(str(self._agent.project))

    async def origin(self, conversation_id: str | None) -> str | None:
        """The title of the conversation that this one was forked from; None if it is no fork."""
        store = await self._agent.store()
        fork = None if conversation_id is None else await store.conversation(conversation_id)
        if fork is None or fork.parent is None or fork.call is not None:
            return None
        parent = await store.conversation(fork.parent)
        return parent.title if parent else ""

    async def recent(self, most: int) -> "list[StoredConversation]":
        """The conversations of this project that were continued last."""
        store = await self._agent.store()
        return await store.conversations(str(self._agent.project), limit=most)

    async def first_messages(self, conversations: "Sequence[StoredConversation]") -> dict[str, str]:
        """The first message of each conversation that has the title of another, by id."""
        from cogency_tui.store.events import first_message

        titles = Counter(each.title for each in conversations)
        ids = [each.id for each in conversations if titles[each.title] > 1]
        store = await self._agent.store()
        return {id: await store.database.read(partial(first_message, conversation_id=id)) for id in ids}

    async def contents(self, conversation_id: str) -> Contents:
        """The contents of the context for the model in force."""
        history = await self._agent.history(conversation_id)
        provider = self._agent.provider
        return Contents(
            f"{provider.name}/{provider.model}",
            await history.context(),
            provider.facts.context_size,
            await history.covered(),
            await history.pinned(),
            self._agent.instructions(conversation_id),
        )

    async def compactions(self, conversation_id: str) -> "list[Compaction]":
        """The summaries with what they replaced, the newest first."""
        return await (await self._agent.history(conversation_id)).compactions()

    async def plan(self, conversation_id: str) -> "CompactionPlan":
        """What a summary would replace now.

        Raises:
            UsageError: there is nothing to summarize.
        """
        return await (await self._agent.history(conversation_id)).plan()

    async def pin(self, conversation_id: str, place: "Place", *, pinned: bool) -> bool:
        """Pin the part at a place, or pin it no longer; return whether it is summarized.

        Raises:
            UsageError: it is not stored yet, or the pins would fill too much of the context.
        """
        from cogency_tui.store.pins import Pins

        history = await self._agent.history(conversation_id)
        number = await Pins((await self._agent.store()).database).event_at(conversation_id, place)
        return await (history.pin(number or 0) if pinned else history.unpin(number or 0))

    async def edit_summary(self, conversation_id: str, shown: "Summary", text: str) -> None:
        """Replace the summary `shown` with `text`.

        Raises:
            UsageError: the text is empty, or another summary was made in the meantime.
        """
        history = await self._agent.history(conversation_id)
        now = await history.summary()
        if now is None or now.id != shown.id:
            raise UsageError(
                "Another summary was made in the meantime. Saving would replace it.",
                "Copy your text and open /context again.",
            )
        await history.edit_summary(text)

    async def spent(self, conversation_id: str) -> ConversationUsage:
        """The usage of the conversation and its sub-agents."""
        store = await self._agent.store()
        return ConversationUsage(
            await read_measures(store, conversation_id), await _delegated(store, conversation_id)
        )

    async def costs(self, conversation_id: str) -> "CostReport":
        """What the conversation and its sub-agents cost, part by part."""
        from cogency_tui.agent.timeline.costs import CostAgent, with_subagents

        own = await self._report(conversation_id)
        root = await self._agent.subagents(conversation_id).read(working=False)
        agents = [each for each in root.below() if each.measures] if root else []
        return with_subagents(
            own, [(CostAgent(each.name, each.call), await self._report(each.id)) for each in agents]
        )

    async def _report(self, conversation_id: str) -> "CostReport":
        from cogency_tui.agent.timeline.costs import report_costs
        from cogency_tui.tools.worker_threads import in_thread

        past = await self._agent.timeline(conversation_id).read()
        return await in_thread(report_costs, past, self._agent.prices)

    async def figures(self, conversation_id: str) -> tuple[Measure, int]:
        """The totals of the conversation, and the estimated tokens of its next request."""
        store = await self._agent.store()
        contents = await self.contents(conversation_id)
        return await store.usage(conversation_id), contents.used


async def read_measures(store: "Store", conversation_id: str) -> list[Measure]:
    """The figures of each cycle, the oldest first.

    Raises:
        StoreError: the store cannot be read.
    """
    rows = await store.database.read(lambda connection: usage.measures(connection, conversation_id))
    return [measure for _moment, measure in rows]


async def _delegated(store: "Store", parent: str) -> list[Measure]:
    measures: list[Measure] = []
    for child in await store.delegated(parent):
        measures += await read_measures(store, child.id)
        measures += await _delegated(store, child.id)
    return measures
