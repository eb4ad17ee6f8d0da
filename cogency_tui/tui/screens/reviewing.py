"""The review of the conversation: opened, kept in step with what the agent does, left for a place in it."""

from functools import partial
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.host import app_of
from cogency_tui.tui.screens.collaborator import Collaborator, Handler
from cogency_tui.tui.screens.display import Display
from cogency_tui.tui.screens.panes import Panes
from cogency_tui.tui.transcript import Said
from cogency_tui.tui.widgets.conversation import Conversation

if TYPE_CHECKING:
    from cogency_tui.agent.review.review import Review
    from cogency_tui.tui.review.screen import Command, Jump, ReviewScreen


class Reviewing(Collaborator):
    """Opens the review over `screen`, whose conversation is on `display`."""

    def __init__(self, screen: Screen[Any], bridge: Bridge, display: Display) -> None:
        super().__init__(screen, bridge)
        self._display = display
        self._reviews: dict[str, Review] = {}
        self._shown: ReviewScreen | None = None

    def handlers(self) -> dict[str, Handler]:
        return {"review": self.open}

    def open(self, _argument: str = "", *, call: str = "") -> None:
        """Show it, first what `call` has changed."""
        conversation_id = self.begun()
        if conversation_id is None or self._shown is not None:
            return
        from cogency_tui.tui.review.screen import ReviewScreen

        title = self._display.transcript.title
        review = self._review_of(conversation_id)
        self._shown = ReviewScreen(review, self._bridge.agent.project, title, call)
        app_of(self._screen).push_screen(self._shown, self._closed)
        self.work()

    def look(self) -> None:
        """The agent may have changed something."""
        if self._shown is not None and self._shown.is_mounted:
            self._shown.look()

    def work(self) -> None:
        """A turn has begun or ended: show it, or look at what it changed so that the review opens at once."""
        working, shown = self._bridge.working, self._shown
        if shown is not None:
            self._screen.call_after_refresh(partial(shown.work, working))
            self.look()
        elif not working and self._called and (conversation_id := self._bridge.conversation_id) is not None:
            self._screen.run_worker(partial(self._prepare, conversation_id), group="review", exclusive=True)

    @property
    def _called(self) -> bool:
        """Whether the last turn called a tool at all."""
        calls, begun = self._display.transcript.calls, self._display.transcript.turn_start
        return bool(calls) and calls[-1] >= begun

    async def _prepare(self, conversation_id: str) -> None:
        try:
            await self._review_of(conversation_id).prepare()
        except CogencyError:
            # It is told when the person asks for the review.
            return

    def _review_of(self, conversation_id: str) -> "Review":
        """One for each conversation, which remembers what it has worked out."""
        review = self._reviews.get(conversation_id)
        if review is None:
            review = self._bridge.agent.review(conversation_id)
            self._reviews = {conversation_id: review}
        return review

    async def _closed(self, answer: "Jump | Command | None") -> None:
        from cogency_tui.tui.review.screen import Command, Jump

        self._shown = None
        if isinstance(answer, Jump):
            self._go_to(answer)
        elif isinstance(answer, Command):
            await self._screen.run_action(f"command({answer.handler!r}, {answer.argument!r})")

    def _go_to(self, jump: "Jump") -> None:
        """Have the call in view; where it is in no part of the conversation, what the person said."""
        transcript = self._display.transcript
        found = transcript.call_with(jump.call)
        said = [index for index, unit in enumerate(transcript.units) if isinstance(unit, Said)]
        unit = found[0] if found else said[jump.turn - 1] if 0 < jump.turn <= len(said) else None
        if unit is None:
            self.warn("The conversation does not show that turn.")
            return
        self._screen.query_one(Panes).show_middle(self._screen.size.width)
        conversation = self._screen.query_one(Conversation)
        conversation.go_to_unit(unit)
        self._screen.set_focus(conversation)
