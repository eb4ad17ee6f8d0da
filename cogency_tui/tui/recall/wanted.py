"""What the person wants to go on with, and the timeline as a way to say where."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.tui.host import app_of

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.tui.timeline.screen import Command, Place


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to go on with: the conversation `id`, or a `fork` of it, at the event numbered `event` of `within`
    (it or a sub-agent of it), where one of `terms` stands; 0 for its end."""

    id: str
    within: str
    event: int
    terms: tuple[str, ...]
    fork: bool = False


def travel(
    screen: Screen[Any],
    agent: "Agent",
    id: str,
    ready: Callable[[], bool],
    chosen: Callable[[Wanted], object],
) -> None:
    """Show the timeline of a conversation over `screen`; `chosen` is told where one goes on from there."""
    from cogency_tui.tui.timeline.screen import Place, TimelineScreen

    async def closed(answer: "Place | Command | None") -> None:
        if isinstance(answer, Place):
            if answer.fork or ready():
                chosen(Wanted(id, id, answer.point.number, (), answer.fork))
        elif answer is not None:
            await screen.run_action(f"command({answer.handler!r}, {answer.argument!r})")

    app_of(screen).push_screen(TimelineScreen(agent.timeline(id), ready), closed)
