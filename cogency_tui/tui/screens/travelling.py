"""The timeline of the conversation: opened, kept in step with what the agent does, left for a place in it."""

from functools import partial
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.host import app_of
from cogency_tui.tui.recall.recalling import Recalling
from cogency_tui.tui.screens.collaborator import Collaborator, Handler
from cogency_tui.tui.screens.display import Display
from cogency_tui.tui.screens.panes import Panes
from cogency_tui.tui.transcript import Prose, Said
from cogency_tui.tui.widgets.conversation import Conversation

if TYPE_CHECKING:
    from cogency_tui.tui.timeline.screen import Command, Place, TimelineScreen


class Travelling(Collaborator):
    """Opens the timeline over `screen`, whose conversation is on `display`; `recalling` goes on in forks."""

    def __init__(self, screen: Screen[Any], bridge: Bridge, display: Display, recalling: Recalling) -> None:
        super().__init__(screen, bridge)
        self._display = display
        self._recalling = recalling
        self._shown: TimelineScreen | None = None

    def handlers(self) -> dict[str, Handler]:
        return {"timeline": self.open}

    def open(self, _argument: str = "") -> None:
        """Show it, at its end."""
        conversation_id = self.begun()
        if conversation_id is None or self._shown is not None:
            return
        from cogency_tui.tui.timeline.screen import TimelineScreen

        timeline = self._bridge.agent.timeline(conversation_id)
        self._shown = TimelineScreen(timeline, self.idle, self._display.transcript.title)
        app_of(self._screen).push_screen(self._shown, partial(self._closed, conversation_id))

    def look(self) -> None:
        """A turn has begun or ended."""
        if self._shown is not None and self._shown.is_mounted:
            self._shown.look()

    async def _closed(self, conversation_id: str, answer: "Place | Command | None") -> None:
        from cogency_tui.tui.timeline.screen import Command, Place

        self._shown = None
        if isinstance(answer, Command):
            await self._screen.run_action(f"command({answer.handler!r}, {answer.argument!r})")
        elif isinstance(answer, Place) and answer.fork:
            self._recalling.fork(conversation_id, answer.point.number)
        elif isinstance(answer, Place):
            self._go_to(answer)

    def _go_to(self, place: "Place") -> None:
        """Have the event in view."""
        unit = self._unit_of(place)
        if unit is None:
            self.warn("The conversation does not show that event.")
            return
        self._screen.query_one(Panes).show_middle(self._screen.size.width)
        conversation = self._screen.query_one(Conversation)
        conversation.go_to_unit(unit)
        self._screen.set_focus(conversation)

    def _unit_of(self, place: "Place") -> int | None:
        transcript, event = self._display.transcript, place.point.event
        if event["type"] == "call" or event["type"] == "result":
            found = transcript.call_with(event["id"])
            return found[0] if found else None
        if event["type"] == "think" or event["type"] == "respond":
            units = enumerate(transcript.units)
            return next(
                (at for at, unit in units if isinstance(unit, Prose) and unit.id == event["id"]), None
            )
        said = [at for at, unit in enumerate(transcript.units) if isinstance(unit, Said)]
        return said[place.said - 1] if 0 < place.said <= len(said) else None
