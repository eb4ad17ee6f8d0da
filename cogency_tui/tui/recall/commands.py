"""Commands that open the recall screen, and continue a past conversation or a fork of one chosen there."""

from collections.abc import Callable
from functools import partial
from time import time
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.conversation.commands import ConversationCommands
from cogency_tui.tui.conversation.fork import Forking
from cogency_tui.tui.conversation.view import Conversation
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.transcript.units import Transcript

if TYPE_CHECKING:
    from cogency_tui.agent.recall.recall import Where
    from cogency_tui.tui.recall.conversation_management import Upkeep
    from cogency_tui.tui.recall.destination import Destination
    from cogency_tui.tui.recall.rows import RecallEntry


class RecallCommands(FeatureCommands):
    """Shows the recall screen over `screen`; `conversations` opens the conversation chosen there, and `rerun`
    runs a turn of one again."""

    def __init__(
        self,
        screen: Screen[Any],
        bridge: Bridge,
        conversations: ConversationCommands,
        rerun: Callable[[str, int], None],
    ) -> None:
        super().__init__(screen, bridge)
        self._rerun = rerun
        self._conversations = conversations

    def handlers(self) -> dict[str, Handler]:
        return {"recall": self.recall, "rename": self.rename, "export": self.export}

    def recall(self, query: str = "", where: "Where" = "project") -> None:
        """Search past conversations for `query`, or list them."""
        from cogency_tui.tui.recall.screen import RecallScreen

        def chosen(destination: "Destination | None") -> None:
            if destination is not None:
                self._screen.run_worker(partial(self._go_on, destination), group="recall", exclusive=True)

        renamed = self._conversations.show_title
        opened = self._conversations
        screen = RecallScreen(
            self._bridge.agent, self.idle, opened, query=query, where=where, renamed=renamed
        )
        app_of(self._screen).push_screen(screen, chosen)

    async def rename(self, title: str = "") -> None:
        """Give the open conversation this title, or one that the user writes."""
        if (entry := await self._open_entry()) is None:
            return
        if title:
            await self._management().set_title(entry, title)
        else:
            self._management().rename(entry)

    async def export(self, argument: str = "") -> None:
        """Export the open conversation as `[md|html|jsonl] [FILE]`, or in a format that the user chooses."""
        from cogency_tui.tui.recall.export import read_destination

        try:
            destination = read_destination(argument, self._bridge.agent.project)
        except CogencyError as exc:
            self.complain(exc)
            return
        if (entry := await self._open_entry()) is None:
            return
        if destination is None:
            self._management().export(entry)
        else:
            self._management().export_as(entry, *destination)

    async def _open_entry(self) -> "RecallEntry | None":
        from cogency_tui.tui.recall.rows import RecallEntry

        if (id := self.begun()) is None:
            return None
        conversation = await (await self._bridge.agent.store()).conversation(id)
        return RecallEntry(conversation) if conversation else None

    def _management(self) -> "Upkeep":
        from cogency_tui.tui.recall.conversation_management import Upkeep

        opened = self._conversations
        return Upkeep(self._screen, self._bridge.agent, opened, time, renamed=opened.show_title)

    def fork(self, id: str, event: int) -> None:
        """Continue in a fork of the conversation `id` from its event with this number."""
        from cogency_tui.tui.recall.destination import Destination

        destination = Destination(id, id, event, (), fork=True)
        self._screen.run_worker(partial(self._go_on, destination), group="recall", exclusive=True)

    async def _go_on(self, destination: "Destination") -> None:
        from cogency_tui.tui.transcript.scroll_to_event import read_event

        if destination.again:
            self._rerun(destination.id, destination.again)
            return
        try:
            transcript, unit = await self._locate(destination)
            if destination.fork:
                await self._fork(destination, transcript, unit)
                return
        except CogencyError as exc:
            self.complain(exc)
            return

        def show(screen: Screen[Any]) -> None:
            if unit is not None:
                conversation = screen.query_one(Conversation)
                read_event(conversation, conversation.cursor, unit, destination.terms)
                screen.set_focus(conversation)

        self._conversations.open(destination.id, then=show)
        if destination.trashed:
            text = "This conversation is in the trash. Your next message restores it."
            # Not of this screen: the conversation may be on another one.
            app_of(self._screen).notify(text, markup=False)

    async def _fork(self, destination: "Destination", transcript: Transcript, unit: int | None) -> None:
        fork = await Forking(self._bridge.agent).fork(destination.id, transcript, unit)
        message = transcript.units[unit] if unit is not None else None
        self._conversations.enter_fork(fork, message)

    async def _locate(self, destination: "Destination") -> tuple[Transcript, int | None]:
        """Read the transcript, if an event is wanted, and find the unit to show in it."""
        from cogency_tui.tui.transcript.scroll_to_event import NumberedTranscript

        if not destination.event:
            return Transcript(), None
        store = await self._bridge.agent.store()
        call: str | None = None
        id: str | None = destination.within
        while id is not None and id != destination.id:
            agent = await store.conversation(id)
            id, call = (agent.parent, agent.call) if agent else (None, None)
        read = NumberedTranscript()
        async for page in store.event_pages(destination.id):
            read.feed(page)
        read.close()
        if call is None:
            return read.transcript, read.units.get(destination.event)
        found = read.transcript.call_with(call)
        return read.transcript, found[0] if found else None
