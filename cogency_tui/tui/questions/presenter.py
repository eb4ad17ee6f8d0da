"""Permission questions: shown to the user over any screen, and marked at their call."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual import events
from textual.screen import Screen

from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.display_protocol import Display
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.terminal.title_and_notifications import State

if TYPE_CHECKING:
    from cogency_tui.agent.permissions.gate import Answer


class Questions:
    """Asks over `screen`.

    `changed` gets the state as the agent starts and stops waiting for the user; `typed` receives input that
    is not meant for a question.
    """

    def __init__(
        self,
        screen: Screen[Any],
        display: Display,
        changed: Callable[[State], None],
        typed: Callable[[events.Key | events.Paste], None],
    ) -> None:
        self._screen = screen
        self._typed = typed
        self._display = display
        self._changed = changed

    def ask(self, asked: Bridge.Asked) -> None:
        """Show a question, and pass its answer to the waiting agent."""
        from cogency_tui.tui.questions.screen import PermissionQuestion

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
            question = PermissionQuestion(asked.question, typed=self._typed)
            app_of(self._screen).push_screen(question, answered)
            self._changed("waiting")

    def withdraw(self) -> None:
        """Close the question, whose answer is no longer needed."""
        from cogency_tui.tui.questions.screen import PermissionQuestion

        if isinstance(question := app_of(self._screen).screen, PermissionQuestion):
            question.dismiss(None)
