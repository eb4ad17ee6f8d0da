"""Messages that wait until the agent has done what it works on: in order, and the person's to change.

Invariant: a message that is being edited is not sent, and neither is one behind it.
"""

from collections.abc import Callable

from cogency_tui.store.prompts import Written
from cogency_tui.tui.written import joined


class MessageQueue:
    """The messages and which of them is `held` for editing (its place, or None). `changed` is called after
    each change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._messages: list[Written] = []
        self.held: int | None = None

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def messages(self) -> tuple[Written, ...]:
        """All of them, the held one as it was."""
        return tuple(self._messages)

    def add(self, message: Written) -> None:
        """Let `message` wait behind the others."""
        self._messages.append(message)
        self._changed()

    def take(self) -> Written | None:
        """The first message, which leaves the queue; None if there is none, or it is being edited.

        Who takes it knows of the change.
        """
        if not self._messages or self.held == 0:
            return None
        if self.held is not None:
            self.held -= 1
        return self._messages.pop(0)

    def hold(self, place: int) -> Written:
        """Keep the message at `place` for editing."""
        self.held = place
        self._changed()
        return self._messages[place]

    def release(self, message: Written) -> None:
        """Put what became of the held message in its place; an empty one goes away."""
        if self.held is not None:
            place, self.held = self.held, None
            self._messages[place : place + 1] = [message] if message.text.strip() else []
            self._changed()

    def move(self, place: int, step: int) -> None:
        """Let the message at `place` change places with one before or after it."""
        other = place + step
        if 0 <= place < len(self._messages) and 0 <= other < len(self._messages):
            messages = self._messages
            messages[place], messages[other] = messages[other], messages[place]
            if self.held in (place, other):
                self.held = other if self.held == place else place
            self._changed()

    def remove(self, place: int) -> None:
        """Drop the message at `place`."""
        if 0 <= place < len(self._messages):
            del self._messages[place]
            if self.held is not None and self.held >= place:
                self.held = None if self.held == place else self.held - 1
            self._changed()

    def clear(self) -> list[Written]:
        """All messages, which leave the queue; the held one is not among them: it is in the prompt."""
        left = [message for place, message in enumerate(self._messages) if place != self.held]
        if self._messages:
            self._messages, self.held = [], None
            self._changed()
        return left


def is_own_command(text: str) -> bool:
    """Whether a message is a command of the shell: `!` and what to run."""
    return text.startswith("!") and bool(text[1:].strip())


def given_back(unsent: list[Written], written: Written) -> tuple[Written, list[Written]]:
    """What comes back into the prompt of messages that were not sent, before what is `written` there; and the
    commands among them, which are no part of a text: joined to one they would be run as something else."""
    commands = [message for message in unsent if is_own_command(message.text)]
    messages = [message for message in unsent if not is_own_command(message.text)]
    if messages and is_own_command(written.text):
        commands.append(written)
        written = Written("")
    elif commands and not messages and not written.text.strip():
        written = commands.pop()
    return joined([*messages, written]), commands
