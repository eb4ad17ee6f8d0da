"""Messages queued while the agent works: in order, and editable by the user.

A message goes at the next step of the turn, or after the turn: a shell command, one that the user has put
off, and all behind these. Invariant: neither a message that is being edited nor one behind it is sent.
"""

from collections.abc import Callable

import msgspec

from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.paste_chips import joined


class Queued(msgspec.Struct, frozen=True):
    """A message, which goes `after_turn` if the user has put it off until then."""

    message: Written
    after_turn: bool = False


class MessageQueue:
    """The messages, and the place of the one `held` for editing. `changed` is called after each change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._queued: list[Queued] = []
        self.held: int | None = None
        self.in_turn = False
        """True while a turn runs: between its steps messages can go."""

    def __len__(self) -> int:
        return len(self._queued)

    @property
    def messages(self) -> tuple[Written, ...]:
        """All messages; the held one has its text from before the edit."""
        return tuple(each.message for each in self._queued)

    @property
    def steers(self) -> bool:
        """True if the first message goes at the next step, and is not being edited."""
        return bool(self._queued) and self.held != 0 and self.goes_at_step(0)

    def goes_at_step(self, place: int) -> bool:
        """Return whether the message at `place` goes at the next step, once it is not being edited."""
        return self.first_after_turn(place) is None

    def first_after_turn(self, place: int) -> int | None:
        """The place of the first message that goes after the turn: those behind it do, too. None if it is
        behind `place`, or there is none."""
        after = (at for at, each in enumerate(self._queued[: place + 1]) if _goes_after_turn(each))
        return next(after, None)

    def edited(self, text: Written) -> tuple[Written, ...]:
        """All messages, with the held one as `text`; without it if that is empty."""
        if self.held is None:
            return self.messages
        own = (text,) if text.text.strip() else ()
        return (*self.messages[: self.held], *own, *self.messages[self.held + 1 :])

    def add(self, message: Written) -> None:
        """Append `message` to the queue."""
        self._queued.append(Queued(message))
        self._changed()

    def take(self) -> Written | None:
        """Remove and return the first message; None if there is none, or it is being edited.

        Does not call `changed`: the caller knows of the change.
        """
        if not self._queued or self.held == 0:
            return None
        if self.held is not None:
            self.held -= 1
        return self._queued.pop(0).message

    def exchange(self, message: Written, other: Written) -> None:
        """Put `other` in the place of `message`, if it still waits and is not being edited."""
        place = next((place for place, each in enumerate(self.messages) if each == message), None)
        if place is not None and place != self.held:
            self._replace(place, other)
            self._changed()

    def hold(self, place: int) -> Written:
        """Hold the message at `place` for editing."""
        self.held = place
        self._changed()
        return self._queued[place].message

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
        target = self._queued[place].message if place < len(self._queued) else None
        self.held = None if target is None else place
        self._changed()
        return target

    def _replace(self, place: int, message: Written) -> bool:
        """Put `message` in the place of another; return whether it is empty, and the place removed."""
        empty = not message.text.strip()
        changed = msgspec.structs.replace(self._queued[place], message=message)
        self._queued[place : place + 1] = [] if empty else [changed]
        return empty

    def is_put_off(self, place: int) -> bool:
        """Return whether the user has put the message at `place` off until after the turn."""
        return self._queued[place].after_turn

    def can_toggle_time(self, place: int) -> bool:
        """Return whether the message at `place` can go both at the next step and after the turn."""
        return self.in_turn and (self.goes_at_step(place) or self.is_put_off(place))

    def toggle_time(self, place: int) -> None:
        """Put the message at `place` off until after the turn, or let it go at the next step again."""
        queued = self._queued[place]
        self._queued[place] = msgspec.structs.replace(queued, after_turn=not queued.after_turn)
        self._changed()

    def move(self, place: int, step: int) -> None:
        """Swap the message at `place` with the one `step` places away."""
        other = place + step
        if 0 <= place < len(self._queued) and 0 <= other < len(self._queued):
            queued = self._queued
            queued[place], queued[other] = queued[other], queued[place]
            if self.held in (place, other):
                self.held = other if self.held == place else place
            self._changed()

    def remove(self, place: int) -> None:
        """Remove the message at `place`."""
        if 0 <= place < len(self._queued):
            del self._queued[place]
            if self.held is not None and self.held >= place:
                self.held = None if self.held == place else self.held - 1
            self._changed()

    def clear(self) -> list[Written]:
        """Remove and return all messages except the held one, which is in the prompt."""
        left = [message for place, message in enumerate(self.messages) if place != self.held]
        if self._queued:
            self._queued, self.held = [], None
            self._changed()
        return left


def describe_time(*, at_step: bool) -> str:
    """Describe when a message goes."""
    return "at the next step" if at_step else "after this turn"


def _goes_after_turn(queued: Queued) -> bool:
    return queued.after_turn or is_own_command(queued.message.full)


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
