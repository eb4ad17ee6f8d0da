"""Messages queued until the agent finishes its work: in order, and editable by the user.

Invariant: neither a message that is being edited nor one behind it is sent.
"""

from collections.abc import Callable

from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.paste_chips import joined


class MessageQueue:
    """The messages, and the place of the one `held` for editing. `changed` is called after each change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._messages: list[Written] = []
        self.held: int | None = None

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def messages(self) -> tuple[Written, ...]:
        """All messages; the held one has its text from before the edit."""
        return tuple(self._messages)

    def edited(self, text: Written) -> tuple[Written, ...]:
        """All messages, with the held one as `text`; without it if that is empty."""
        if self.held is None:
            return self.messages
        own = (text,) if text.text.strip() else ()
        return (*self._messages[: self.held], *own, *self._messages[self.held + 1 :])

    def add(self, message: Written) -> None:
        """Append `message` to the queue."""
        self._messages.append(message)
        self._changed()

    def take(self) -> Written | None:
        """Remove and return the first message; None if there is none, or it is being edited.

        Does not call `changed`: the caller knows of the change.
        """
        if not self._messages or self.held == 0:
            return None
        if self.held is not None:
            self.held -= 1
        return self._messages.pop(0)

    def hold(self, place: int) -> Written:
        """Hold the message at `place` for editing."""
        self.held = place
        self._changed()
        return self._messages[place]

    def release(self, message: Written) -> None:
        """Replace the held message with its edited text; an empty one is removed."""
        if self.held is not None:
            place, self.held = self.held, None
            self._replace(place, message)
            self._changed()

    def hold_instead(self, place: int, message: Written) -> Written | None:
        """Release `message`, and hold the one at `place` instead; None past the end.

        Invariant: this is one change. Between two, the first message could be sent and `place` name another.
        """
        if self.held is None:
            return None
        if self._replace(self.held, message) and place > self.held:
            place -= 1
        target = self._messages[place] if place < len(self._messages) else None
        self.held = None if target is None else place
        self._changed()
        return target

    def _replace(self, place: int, message: Written) -> bool:
        """Put `message` in the place of another; return whether it is empty, and the place removed."""
        empty = not message.text.strip()
        self._messages[place : place + 1] = [] if empty else [message]
        return empty

    def move(self, place: int, step: int) -> None:
        """Swap the message at `place` with the one `step` places away."""
        other = place + step
        if 0 <= place < len(self._messages) and 0 <= other < len(self._messages):
            messages = self._messages
            messages[place], messages[other] = messages[other], messages[place]
            if self.held in (place, other):
                self.held = other if self.held == place else place
            self._changed()

    def remove(self, place: int) -> None:
        """Remove the message at `place`."""
        if 0 <= place < len(self._messages):
            del self._messages[place]
            if self.held is not None and self.held >= place:
                self.held = None if self.held == place else self.held - 1
            self._changed()

    def clear(self) -> list[Written]:
        """Remove and return all messages except the held one, which is in the prompt."""
        left = [message for place, message in enumerate(self._messages) if place != self.held]
        if self._messages:
            self._messages, self.held = [], None
            self._changed()
        return left


def is_own_command(text: str) -> bool:
    """Return whether a message is a shell command of the user: `!` and a command line."""
    return text.startswith("!") and bool(text[1:].strip())


def given_back(unsent: list[Written], written: Written) -> tuple[Written, list[Written]]:
    """Join unsent messages before the prompt's draft `written`; return the new draft, and separately the
    shell commands among the messages: joined to a text, a command would run as something else."""
    commands = [message for message in unsent if is_own_command(message.text)]
    messages = [message for message in unsent if not is_own_command(message.text)]
    if messages and is_own_command(written.text):
        commands.append(written)
        written = Written("")
    elif commands and not messages and not written.text.strip():
        written = commands.pop()
    return joined([*messages, written]), commands
