"""The user's choice of a conversation and a position in it, and the timeline as a way to choose it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.tui.kit.typed_app import app_of

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.tui.timeline.screen import ChosenMoment, TimelineCommand, TurnAgain


@dataclass(frozen=True, slots=True)
class Destination:
    """The destination: the conversation `id`, or a `fork` of it, at the event numbered `event` of `within`
    (the conversation or a sub-agent of it), where one of `terms` occurs; 0 means its end. `trashed` means
    that the conversation is in the trash. With `again` the turn of that number is to be run again."""

    id: str
    within: str
    event: int
    terms: tuple[str, ...]
    fork: bool = False
    trashed: bool = False
    again: int = 0


def travel(
    screen: Screen[Any],
    agent: "Agent",
    id: str,
    ready: Callable[[], bool],
    chosen: Callable[[Destination], object],
) -> None:
    """Show the timeline of a conversation over `screen`; `chosen` receives the position to continue from."""
    from cogency_tui.tui.images.commands import view_images
    from cogency_tui.tui.timeline.screen import ChosenMoment, TimelineScreen, TurnAgain

    async def closed(answer: "ChosenMoment | TurnAgain | TimelineCommand | None") -> None:
        if isinstance(answer, TurnAgain):
            chosen(Destination(id, id, 0, (), again=answer.turn))
        elif isinstance(answer, ChosenMoment):
            chosen(Destination(id, id, answer.point.number, (), answer.fork))
        elif answer is not None:
            await screen.run_action(f"command({answer.handler!r}, {answer.argument!r})")

    view = partial(view_images, screen, agent)
    app_of(screen).push_screen(TimelineScreen(agent.timeline(id), ready, view), closed)
