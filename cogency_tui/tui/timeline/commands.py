"""Commands for the timeline of the conversation: opening, refreshing, and jumps back from it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.protocol.image import Image
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.display_protocol import Display
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.transcript.units import UserMessage, unit_of

if TYPE_CHECKING:
    from cogency_tui.tui.timeline.screen import ChosenMoment, TimelineCommand, TimelineScreen, TurnAgain


class TimelineCommands(FeatureCommands):
    """Opens the timeline of the conversation on `display`.

    `fork` forks a conversation at an event. `changed` is called when files may have been restored;
    `view_images` shows images; `rerun` runs a turn of a conversation again.
    """

    def __init__(
        self,
        screen: Screen[Any],
        bridge: Bridge,
        display: Display,
        fork: Callable[[str, int], None],
        changed: Callable[[], None],
        view_images: Callable[[Sequence[Image]], None],
        rerun: Callable[[str, int], None],
    ) -> None:
        super().__init__(screen, bridge)
        self._rerun = rerun
        self._display = display
        self._fork = fork
        self._changed = changed
        self._view_images = view_images
        self._shown: TimelineScreen | None = None

    def handlers(self) -> dict[str, Handler]:
        return {"timeline": self.open}

    def open(self, _argument: str = "") -> None:
        """Show the timeline at its end."""
        conversation_id = self.begun()
        if conversation_id is None or self._shown is not None:
            return
        from cogency_tui.tui.timeline.screen import TimelineScreen

        timeline = self._bridge.agent.timeline(conversation_id)
        self._shown = TimelineScreen(timeline, self.idle, self._view_images, self._display.transcript.title)
        app_of(self._screen).push_screen(self._shown, partial(self._closed, conversation_id))

    def refresh(self) -> None:
        """Refresh an open timeline at the start or end of a turn."""
        if self._shown is not None and self._shown.is_mounted:
            self._shown.reload()

    async def _closed(
        self, conversation_id: str, answer: "ChosenMoment | TurnAgain | TimelineCommand | None"
    ) -> None:
        from cogency_tui.tui.timeline.screen import ChosenMoment, TimelineCommand, TurnAgain

        self._shown = None
        self._changed()
        if isinstance(answer, TimelineCommand):
            await self._screen.run_action(f"command({answer.handler!r}, {answer.argument!r})")
        elif isinstance(answer, TurnAgain):
            self._rerun(conversation_id, answer.turn)
        elif isinstance(answer, ChosenMoment) and answer.fork:
            self._fork(conversation_id, answer.point.number)
        elif isinstance(answer, ChosenMoment):
            self._go_to(answer)

    def _go_to(self, place: "ChosenMoment") -> None:
        """Scroll to the event in the conversation."""
        unit = self._unit_of(place)
        if unit is None:
            self.warn("That event is not shown in the conversation.")
            return
        self._display.go_to_unit(unit)

    def _unit_of(self, place: "ChosenMoment") -> int | None:
        transcript = self._display.transcript
        if (unit := unit_of(transcript, place.point.event)) is not None:
            return unit
        messages = [at for at, unit in enumerate(transcript.units) if isinstance(unit, UserMessage)]
        return messages[place.messages - 1] if 0 < place.messages <= len(messages) else None
