"""`/profile`: what is known of the person; and the one time when they are asked whether anything may be."""

from time import time
from typing import Any

from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.protocol.events import notice_event
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.host import app_of
from cogency_tui.tui.screens.collaborator import Collaborator, Handler
from cogency_tui.tui.screens.display import Display


class Profiling(Collaborator):
    """Shows the profile over `screen`, and offers one in `display`."""

    def __init__(self, screen: Screen[Any], bridge: Bridge, display: Display) -> None:
        super().__init__(screen, bridge)
        self._display = display

    def handlers(self) -> dict[str, Handler]:
        return {"profile": self.profile}

    def look(self) -> None:
        """A turn has ended: offer a profile if it is time to."""
        self._screen.run_worker(self._offer, group="profile")

    async def profile(self, choice: str = "") -> None:
        """Turn it on or off, clear it, or show it."""
        if choice == "clear":
            self._ask_to_clear()
            return
        try:
            if choice == "on":
                await self._bridge.agent.remember(self._bridge.conversation_id)
                self.say("It learns from this conversation, and from what you write now. /profile shows it.")
            elif choice == "off":
                await self._bridge.agent.profile.turn_off()
                self.say("The profile is off. What is known stays until /profile clear.")
            else:
                await self._show()
        except CogencyError as exc:
            self.complain(exc)

    async def _show(self) -> None:
        from cogency_tui.tui.profile_book import ProfileBook
        from cogency_tui.tui.screens.profile import ProfileScreen

        book = ProfileBook(self._bridge.agent, self._bridge.conversation_id)
        app_of(self._screen).push_screen(ProfileScreen(book, await book.shown()))

    def _ask_to_clear(self) -> None:
        from cogency_tui.tui.screens.dialogs import Confirmation
        from cogency_tui.tui.screens.profile import CLEARING

        app_of(self._screen).push_screen(Confirmation(CLEARING), self._clear)

    async def _clear(self, yes: bool | None) -> None:
        if not yes:
            return
        try:
            count = await self._bridge.agent.profile.clear()
        except CogencyError as exc:
            self.complain(exc)
        else:
            self.say(f"Forgotten: {count} facts." if count != 1 else "Forgotten: 1 fact.")

    async def _offer(self) -> None:
        conversation_id = self._bridge.conversation_id
        if conversation_id is None:
            return
        profile = self._bridge.agent.profile
        try:
            offered = await profile.offers(conversation_id)
        except CogencyError:
            # What is wrong with the store is told by who needs it; this can wait for another turn.
            return
        if offered:
            from cogency_tui.agent.profile import OFFER

            self._display.take([notice_event(OFFER, time())])
