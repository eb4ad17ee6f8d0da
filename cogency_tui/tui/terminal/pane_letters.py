"""Letters typed in a pane: its commands, or the beginning of a text for the text field of the screen.

- A key that the pane has no use for is text: it goes to the field, which gets the focus.
- The letter of a command is held for `HOLD`. With another printable key within it both are text, "read" as
  well as "r "; otherwise the command runs, and with any other key it runs at once.
- A motion (j, k, g, [, Space…), which is pressed again and again, is held like it, as are different motions
  after it: "just" and "go" are text. Pressed twice it runs, and from then on motions run at once, as long as
  each follows the one before within `SERIES`: a key that is held down is not slowed. A letter right after
  different motions that have run makes a text of them after all, but "jjr" moves twice and reviews.
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

SERIES = 1.0
"""Seconds after a motion within which another one is no beginning of a text. Keyboards take up to 0.7 s until
a key that is held down repeats."""

_MOTIONS = frozenset(
    {
        *("move", "page", "end", "open", "close", "fold", "line", "first", "last", "block", "message"),
        *("find_next", "hit"),
    }
)
"""Actions that change only what is selected or in view."""

_FIELDS = frozenset({"filter", "find", "search"})
"""Actions that open a field."""

_MOST = 3
"""Motions that may begin a text."""


class _Use(Enum):
    """The use that a pane has for a letter."""

    TEXT = auto()
    """None: it is text."""
    MOTION = auto()
    FIELD = auto()
    COMMAND = auto()


class PaneLetters:
    """Sifts the keys of `screen` while a pane has the focus; `type_text` gets those of a text. While
    `passes_all` holds, as for a question that answers to keys, none is held or text."""

    def __init__(
        self,
        screen: Screen[Any],
        type_text: Callable[[events.Key], object],
        passes_all: Callable[[], bool],
    ) -> None:
        self._screen = screen
        self._passes_all = passes_all
        self._type_text = type_text
        self._order = key_order_of(screen)
        self._held = HeldLetter(app_of(screen))
        self._letters: list[events.Key] = []
        """The letters that are held: motions, or the one of a command."""
        self._motions: list[events.Key] = []
        """The last motions that have run, each within `HOLD` of the one before."""
        self._last_motion: events.Key | None = None

    def sift(self, event: Typed) -> Typed | None:
        """Return the key to handle now in place of `event`; None if it is held, or text."""
        if (held := self._held.release()) is None:
            return self._sift_unheld(event)
        if not _continues(event, held):
            return self._run_before(event)
        if _is_text(event) and {self._use_of(held.key), self._use_of(event.key)} == {_Use.MOTION}:
            is_new = event.key not in {each.key for each in self._letters}
            return self._hold(event, *self._letters) if is_new else self._run_before(event)
        self._order.put_back(event)
        for each in self._letters:
            self._type_text(each)
        return None

    def _run_before(self, event: Typed) -> events.Key:
        """Return the first letter that is held; the others, and then `event`, come next."""
        first, *others = self._letters
        self._note_motions(self._letters)
        for each in (event, *reversed(others)):
            self._order.put_back(each)
        return first

    def _hold(self, event: events.Key, *before: events.Key) -> None:
        """Hold a letter, with those held `before` it."""
        self._letters = [*before, event]
        self._held.hold(event, HOLD, partial(self._run, self._letters))

    async def _run(self, letters: Sequence[events.Key]) -> None:
        self._note_motions(letters)
        for each in letters:
            await self._order.pass_now(each)

    def _note_motions(self, letters: Sequence[events.Key]) -> None:
        """Note that letters run: if they are motions, more of these may follow at once."""
        if self._use_of(letters[-1].key) is _Use.MOTION:
            self._last_motion, self._motions = letters[-1], [*letters]

    def _sift_unheld(self, event: Typed) -> Typed | None:
        motions, self._motions = self._motions, []
        if not _is_text(event) or isinstance(self._screen.focused, Input) or self._passes_all():
            return event
        before = motions if motions and _continues(event, motions[-1]) else []
        use = self._use_of(event.key)
        if use is _Use.MOTION:
            return self._sift_motion(event, before)
        if use is _Use.FIELD:
            return event
        return self._sift_letter(event, use, before if _are_different(before) else [])

    def _sift_motion(self, event: events.Key, before: Sequence[events.Key]) -> events.Key | None:
        """Return a motion that follows another one; hold the first, which may begin a text."""
        last = self._last_motion
        if last is None or event.time - last.time > SERIES:
            return self._hold(event)
        self._last_motion, self._motions = event, [*before, event][-_MOST:]
        return event

    def _sift_letter(self, event: events.Key, use: _Use, before: Sequence[events.Key]) -> None:
        """Hold the letter of a command; type one that is text, or makes a text of the letters before it."""
        if use is _Use.COMMAND and not before:
            self._hold(event)
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
        own = (bindings for node, bindings in chain if node is not app_of(screen))
        bound = (each.key_to_bindings[key] for each in own if key in each.key_to_bindings)
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
