"""From the main screen to the recall screen, and from there on with a past conversation or a fork of one."""

from functools import partial
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.store.prompts import Written
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.forking import Forking
from cogency_tui.tui.host import app_of
from cogency_tui.tui.screens.collaborator import Collaborator, Handler
from cogency_tui.tui.screens.conversing import Conversing
from cogency_tui.tui.transcript import Said, Transcript
from cogency_tui.tui.widgets.conversation import Conversation
from cogency_tui.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from cogency_tui.tui.recall.wanted import Wanted


class Recalling(Collaborator):
    """Shows the recall screen over `screen`; `conversing` goes on with what was chosen there."""

    def __init__(self, screen: Screen[Any], bridge: Bridge, conversing: Conversing) -> None:
        super().__init__(screen, bridge)
        self._conversing = conversing

    def handlers(self) -> dict[str, Handler]:
        return {"recall": self.recall}

    def recall(self, query: str = "") -> None:
        """Look for `query` among past conversations, or list them."""
        from cogency_tui.tui.recall.screen import RecallScreen

        def chosen(wanted: "Wanted | None") -> None:
            if wanted is not None:
                self._screen.run_worker(partial(self._go_on, wanted), group="recall", exclusive=True)

        app_of(self._screen).push_screen(RecallScreen(self._bridge.agent, self.idle, query=query), chosen)

    def fork(self, id: str, event: int) -> None:
        """Go on in a fork of the conversation `id` from its event of this number."""
        from cogency_tui.tui.recall.wanted import Wanted

        wanted = Wanted(id, id, event, (), fork=True)
        self._screen.run_worker(partial(self._go_on, wanted), group="recall", exclusive=True)

    async def _go_on(self, wanted: "Wanted") -> None:
        from cogency_tui.tui.recall.standing import stand_for_reading

        try:
            transcript, unit = await self._locate(wanted)
            if wanted.fork:
                await self._fork(wanted.id, transcript, unit)
                return
        except CogencyError as exc:
            self.complain(exc)
            return

        def stand() -> None:
            if unit is not None:
                conversation = self._screen.query_one(Conversation)
                stand_for_reading(conversation, unit, wanted.terms)
                self._screen.set_focus(conversation)

        self._conversing.open(wanted.id, then=stand)

    async def _fork(self, id: str, transcript: Transcript, unit: int | None) -> None:
        fork = await Forking(self._bridge.agent).fork(id, transcript, unit)
        if fork is None:
            self._conversing.begin()
        else:
            self._conversing.open(fork)
        prompt = self._screen.query_one(Prompt)
        if unit is not None and isinstance(said := transcript.units[unit], Said):
            prompt.take_back([Written(said.text)])
        prompt.focus()
        self.say("This is a fork now. The conversation that it comes from stays as it is.")

    async def _locate(self, wanted: "Wanted") -> tuple[Transcript, int | None]:
        """The transcript as far as it is needed, and the unit to stand at in it."""
        from cogency_tui.tui.recall.standing import NumberedTranscript

        if not wanted.event:
            return Transcript(), None
        store = await self._bridge.agent.store()
        call: str | None = None
        id: str | None = wanted.within
        while id is not None and id != wanted.id:
            agent = await store.conversation(id)
            id, call = (agent.parent, agent.call) if agent else (None, None)
        read = NumberedTranscript()
        async for page in store.event_pages(wanted.id):
            read.feed(page)
        read.close()
        if call is None:
            return read.transcript, read.units.get(wanted.event)
        found = read.transcript.call_with(call)
        return read.transcript, found[0] if found else None
