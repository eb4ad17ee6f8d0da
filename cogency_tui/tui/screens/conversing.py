"""Which conversation the main screen shows: a new one, or one of the past."""

from collections.abc import Callable
from time import time
from typing import Any

from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.protocol.events import Measure, error_event
from cogency_tui.store.prompts import Written
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.drawing.document import prepare
from cogency_tui.tui.forking import Forking
from cogency_tui.tui.host import app_of
from cogency_tui.tui.screens.collaborator import Collaborator, Handler
from cogency_tui.tui.screens.display import Display
from cogency_tui.tui.screens.surroundings import Surroundings
from cogency_tui.tui.transcript import Said, Transcript
from cogency_tui.tui.widgets.conversation_pane import ConversationPane
from cogency_tui.tui.widgets.prompt import Prompt


class Conversing(Collaborator):
    """Changes the conversation, in the bridge and on `display`."""

    def __init__(
        self,
        screen: Screen[Any],
        bridge: Bridge,
        display: Display,
        surroundings: Surroundings,
    ) -> None:
        super().__init__(screen, bridge)
        self._display = display
        self._surroundings = surroundings

    def handlers(self) -> dict[str, Handler]:
        return {"new_conversation": self.begin, "find": self.find, "fork": self.fork}

    async def fork(self, _argument: str = "", *, unit: int | None = None) -> None:
        """Go on in a fork that ends with `unit`, by default with all there is. Forked from what the person
        said, this is in the prompt again, to be said differently."""
        if not self.idle() or (conversation_id := self.begun()) is None:
            return
        transcript = self._display.transcript
        said = transcript.units[unit] if unit is not None else None
        try:
            fork = await Forking(self._bridge.agent).fork(conversation_id, transcript, unit)
        except CogencyError as exc:
            self.complain(exc)
            return
        if fork is None:
            self.begin()
        else:
            self.open(fork)
        if isinstance(said, Said):
            prompt = self._screen.query_one(Prompt)
            prompt.take_back([Written(said.text)])
            prompt.focus()
        self.say("This is a fork now. The conversation that it comes from stays as it is.")

    def find(self, _argument: str = "") -> None:
        """Find in the one that is shown."""
        self._screen.query_one(ConversationPane).begin_find()

    def show_links(self, addresses: list[str]) -> None:
        """Show addresses of it, and open one that the person chooses."""
        from cogency_tui.tui.screens.links import LinksScreen

        app_of(self._screen).push_screen(LinksScreen(addresses), self._open_link)

    async def _open_link(self, address: str | None) -> None:
        from cogency_tui.tui.opener import open_address

        if address is None:
            return
        try:
            await open_address(address)
        except CogencyError as exc:
            self.complain(exc)

    def begin(self, _argument: str = "") -> None:
        """Begin a new one."""
        if self.idle():
            self._bridge.begin()
            self._display.show(Transcript(), Measure())
            self._surroundings.look()

    def open(self, conversation_id: str, prompt: str = "", *, then: Callable[[], None] | None = None) -> None:
        """Go on with a past conversation, and send `prompt` in it; `then` is called when it is shown."""

        async def reopen() -> None:
            try:
                transcript, total = await self._bridge.reopen(conversation_id)
                imported = await self._bridge.is_imported()
                await prepare()
            except CogencyError as exc:
                transcript, total = Transcript(), Measure()
                transcript.feed([error_event(exc, time())])
                imported = False
            self._display.show(transcript, total)
            self._surroundings.look()
            if imported:
                self.say("This conversation was imported: you are asked before its edits are applied.")
            if then is not None:
                then()
            if prompt:
                self._bridge.send(Written(prompt))

        self._screen.run_worker(reopen, group="reopen", exclusive=True)
