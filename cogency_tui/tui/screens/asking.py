"""Questions of permission: put to the person over whatever they look at, and marked at their call."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.host import app_of
from cogency_tui.tui.manners.presence import State
from cogency_tui.tui.screens.display import Display
from cogency_tui.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from cogency_tui.agent.permissions import Answer


class Asking:
    """Asks over `screen`; `changed` is told when the agent begins and ends to wait for the person."""

    def __init__(self, screen: Screen[Any], display: Display, changed: Callable[[State], None]) -> None:
        self._screen = screen
        self._display = display
        self._changed = changed

    def ask(self, asked: Bridge.Asked) -> None:
        """Show a question, and give its answer to who waits for it."""
        from cogency_tui.tui.screens.dialogs import PermissionQuestion

        found = self._display.transcript.call_with(asked.question.call_id)

        def answered(answer: "Answer | None") -> None:
            if answer is not None and not asked.answer.done():
                asked.answer.set_result(answer)
            if found:
                found[1].decide()
                self._display.touch({found[0]})
            self._changed("working")

        if found:
            found[1].ask()
            self._display.touch({found[0]})
        if not asked.answer.done():
            question = PermissionQuestion(asked.question, typed=self._screen.query_one(Prompt).take)
            app_of(self._screen).push_screen(question, answered)
            self._changed("waiting")

    def withdraw(self) -> None:
        """Nobody waits for an answer any more: take the question away."""
        from cogency_tui.tui.screens.dialogs import PermissionQuestion

        if isinstance(question := app_of(self._screen).screen, PermissionQuestion):
            question.dismiss(None)
