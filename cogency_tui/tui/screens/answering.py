"""The base of screens that return an answer: each answers once, and closes no screen but itself."""

from typing import TypeVar

from textual import events
from textual.await_complete import AwaitComplete
from textual.message import Message
from textual.screen import ModalScreen, Screen

Result = TypeVar("Result")


class AnsweringScreen(Screen[Result]):
    """Takes the first answer, and hears nothing that was typed or clicked after it.

    Textual's `dismiss` closes the screen on top, whichever it is: an answer that is given beneath another
    screen waits until that one is closed.
    """

    _answered = False
    _is_closed_by_answer = False
    _answer: Result | None = None

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        if self._answered:
            return AwaitComplete.nothing()
        self._answered, self._answer = True, result
        return self._close() if self.is_active else AwaitComplete.nothing()

    def on_screen_resume(self, _event: events.ScreenResume) -> None:
        # One that was answered as it came to the top hears of that afterwards.
        if self._answered and not self._is_closed_by_answer:
            self._close()

    async def _dispatch_message(self, message: Message) -> None:
        # What bubbles is what a user does, and what widgets make of it.
        if not (self._answered and message.bubble):
            await super()._dispatch_message(message)

    def _close(self) -> AwaitComplete:
        self._is_closed_by_answer = True
        for callback in self._result_callbacks[-1:]:
            if callback.future is not None and callback.future.cancelled():
                # The worker that waited for the answer is gone.
                callback.future = None
        return super().dismiss(self._answer)


class Dialog(ModalScreen[Result], AnsweringScreen[Result]):
    """An `AnsweringScreen` over the one that it belongs to."""
