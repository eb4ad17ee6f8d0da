"""The command `/profile`: the facts known of the user; and the single offer to start learning."""

from time import time
from typing import Any

from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.protocol.events import notice_event
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.display_protocol import Display
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.typed_app import app_of


class ProfileCommands(FeatureCommands):
    """Shows the profile over `screen`, and offers one in `display`."""

    def __init__(self, screen: Screen[Any], bridge: Bridge, display: Display) -> None:
        super().__init__(screen, bridge)
        self._display = display

    def handlers(self) -> dict[str, Handler]:
        return {"profile": self.profile}

    def refresh(self) -> None:
        """Offer a profile after a turn that has not failed, if one is due and no other turn has begun."""
        self._screen.run_worker(self._offer, group="profile")

    async def profile(self, choice: str = "") -> None:
        """Turn the profile on or off, clear it, or show it."""
        if choice == "clear":
            self._ask_to_clear()
            return
        try:
            if choice == "on":
                await self._bridge.agent.remember(self._bridge.conversation_id)
                self.say(
                    "Profile on: learning from this conversation and new messages. View it with /profile."
                )
            elif choice == "off":
                await self._bridge.agent.profile.turn_off()
                self.say("Profile off. Saved facts remain until /profile clear.")
            else:
                await self._show()
        except CogencyError as exc:
            self.complain(exc)

    async def _show(self) -> None:
        from cogency_tui.tui.profile.model import ProfileData
        from cogency_tui.tui.profile.screen import ProfileScreen

        data = ProfileData(self._bridge.agent, self._bridge.conversation_id)
        app_of(self._screen).push_screen(ProfileScreen(data, await data.shown()))

    def _ask_to_clear(self) -> None:
        from cogency_tui.tui.kit.dialogs import Confirmation
        from cogency_tui.tui.profile.screen import CLEARING

        app_of(self._screen).push_screen(Confirmation(CLEARING), self._clear)

    async def _clear(self, yes: bool | None) -> None:
        if not yes:
            return
        try:
            count = await self._bridge.agent.profile.clear()
        except CogencyError as exc:
            self.complain(exc)
        else:
            self.say(f"Forgot {plural(count, 'fact')}.")

    async def _offer(self) -> None:
        conversation_id = self._bridge.conversation_id
        if conversation_id is None or self._bridge.working or self._display.transcript.failure is not None:
            return
        profile = self._bridge.agent.profile
        try:
            offered = await profile.offers(conversation_id)
        except CogencyError:
            # Store errors are reported where they matter; the offer can wait for another turn.
            return
        if offered:
            from cogency_tui.agent.profile.profile import OFFER

            self._display.take([notice_event(OFFER, time())])
