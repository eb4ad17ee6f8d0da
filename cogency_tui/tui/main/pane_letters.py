"""Letters typed in a pane: its commands, or the beginning of a text for the prompt.

- A key that the pane has no use for is text: it goes to the prompt, which gets the focus.
- The letter of a command is held for `HOLD`. With another printable key within it both are text, "read" as
  well as "r "; otherwise the command runs, and with any other key it runs at once.
- A motion (j, k, g, [, Space…), which is pressed again and again, runs at once. Motions and a letter after
  them, each within `HOLD`, are text after all if no motion is repeated: "just" is text, but "jjr" moves twice
  and reviews.
- `/` opens the field of the pane at once, however fast the rest follows. In a field all keys are the field's,
  and Enter never sends: a command line typed there is no message.
"""

from collections.abc import Callable, Sequence
from enum import Enum, auto
from functools import partial
from typing import Any, TypeGuard

from textual import events
from textual.screen import Screen
from textual.widgets import Input

from cogency_tui.tui.kit.held_letter import HeldLetter
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.terminal.key_order import Typed, key_order_of

HOLD = 0.2
"""Seconds within which another key makes a text of a letter."""

_MOTIONS = frozenset(
    {"move", "page", "end", "open", "close", "fold", "line", "first", "last", "block", "message", "find_next"}
)
"""Actions that change only what is selected or in view."""

_FIELDS = frozenset({"filter", "find"})
"""Actions that open a field."""

_MOST = 3
"""Motions that may begin a text."""


class _Use(Enum):
    """The use that a pane has for a letter."""

    TEXT = auto()
    """None: it is the prompt's."""
    MOTION = auto()
    FIELD = auto()
    COMMAND = auto()


class PaneLetters:
    """Sifts the keys of `screen` while a pane has the focus; `type_text` gets those of a text. While a
    question `answers` to keys, it has them all."""

    def __init__(
        self,
        screen: Screen[Any],
        type_text: Callable[[events.Key], object],
        answers: Callable[[], bool],
    ) -> None:
        self._screen = screen
        self._answers = answers
        self._type_text = type_text
        self._order = key_order_of(screen)
        self._held = HeldLetter(app_of(screen))
        self._motions: list[events.Key] = []
        """The last motions, each within `HOLD` of the one before."""

    def sift(self, event: Typed) -> Typed | None:
        """Return the key to handle now in place of `event`; None if it is held, or text."""
        if (held := self._held.release()) is None:
            return self._sift_unheld(event)
        self._order.put_back(event)
        if not _continues(event, held):
            return held
        self._type_text(held)
        return None

    def _sift_unheld(self, event: Typed) -> Typed | None:
        motions, self._motions = self._motions, []
        if not _is_text(event) or isinstance(self._screen.focused, Input) or self._answers():
            return event
        before = motions if motions and _continues(event, motions[-1]) else []
        use = self._use_of(event.key)
        if use is _Use.MOTION:
            self._motions = [*before, event][-_MOST:]
        if use in (_Use.MOTION, _Use.FIELD):
            return event
        return self._sift_letter(event, use, before if _are_different(before) else [])

    def _sift_letter(self, event: events.Key, use: _Use, before: Sequence[events.Key]) -> None:
        """Hold the letter of a command; type one that is text, or makes a text of the letters before it."""
        if use is _Use.COMMAND and not before:
            self._held.hold(event, HOLD, partial(self._order.pass_now, event))
            return
        for each in (*before, event):
            self._type_text(each)

    def _use_of(self, key: str) -> _Use:
        action = self._action_of(key)
        if action in _MOTIONS or (action and key == "space"):
            return _Use.MOTION
        if action in _FIELDS:
            return _Use.FIELD if key in self._screen.active_bindings else _Use.TEXT
        return _Use.COMMAND if action else _Use.TEXT

    def _action_of(self, key: str) -> str:
        """The name of the action of `key` here, though it may do nothing now; empty without one."""
        screen = self._screen
        if (active := screen.active_bindings.get(key)) is not None:
            return _name_of(active.binding.action)
        chain = screen._binding_chain  # pyright: ignore[reportPrivateUsage] (includes what does nothing now)
        panes = (bindings for node, bindings in chain if node not in (screen, app_of(screen)))
        bound = (each.key_to_bindings[key] for each in panes if key in each.key_to_bindings)
        return next((_name_of(each[0].action) for each in bound), "")


def _is_text(event: Typed) -> TypeGuard[events.Key]:
    return isinstance(event, events.Key) and event.is_printable and "+" not in event.key


def _continues(event: Typed, before: events.Key) -> bool:
    """Return whether `event` can make a text of the letter right before it."""
    is_text = isinstance(event, events.Paste) or _is_text(event)
    return is_text and event.time - before.time <= HOLD


def _are_different(keys: Sequence[events.Key]) -> bool:
    return len({each.key for each in keys}) == len(keys)


def _name_of(action: str) -> str:
    return action.partition("(")[0]
