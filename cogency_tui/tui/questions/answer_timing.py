"""When the key of an answer counts: after a pause, since an earlier one is meant for something else, and not
right after the key of another answer.

A key that is too early does nothing. It does not begin the pause again, so that a rhythm of answers gets
through; but a question about a loss, and another letter than the one before it ("any" is a text), take a real
pause. No answer counts within the gap of the pace after the answer before it: a key that repeats is no second
answer.
"""

from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

from textual import events

PAUSE = 0.8
"""Seconds without a key before a question accepts one: earlier keys are meant for the prompt."""

FOLLOWING_PAUSE = 0.35
"""The same after an answer to another question: a key that is pressed twice is no second one."""

GAP = 0.3
"""Seconds between the key of an answer that did nothing, or of the answer before, and one that counts."""

NEXT_EDIT_PAUSE, NEXT_EDIT_GAP = 0.05, 0.12
"""The same for an edit that follows an answer to another one, from its first frame on: a user who answers in
a rhythm has decided about all, as with `a`. A key that repeats is faster than the gap.
"""

RHYTHM = 0.6
"""Seconds after an answer within which another one is in its rhythm. A letter that comes later may begin a
text, which is typed more slowly than answers are held back in a rhythm."""

WIDE_HOLD, HOLD, NEXT_EDIT_HOLD = 0.5, 0.2, 0.05
"""Seconds for which the letter of an answer beyond this one call or a yes to a loss, of any other answer, or
of one in a rhythm is held back: with another letter within them it begins a text, like "yes but" or "now"."""

CONFIRMATION, LOSS_CONFIRMATION = 0.1, 0.5
"""Seconds for which an answer, or one about a loss, is selected before Enter confirms it."""

BURST = 0.02
"""Seconds within which keys come as parts of a text that is pasted as keys: a line break does not confirm the
answer before it."""

REPEAT = 0.1
"""Seconds within which a key that does nothing comes again if it is held, or pasted."""


class Pace(NamedTuple):
    """How fast a question may be answered: seconds before its first answer, between answers, and for which
    the letter of one is held back."""

    pause: float
    gap: float
    hold: float


class AnswerTiming:
    """Times the answers to one question on `clock`, in seconds.

    `is_loss`: the question is about a loss. `after` times the question that the user has just answered;
    `is_next_edit`: both are plain edits.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        is_loss: bool,
        after: "AnswerTiming | None" = None,
        is_next_edit: bool = False,
    ) -> None:
        self.follows = after is not None
        self.passed_on = False
        """True if input went to the prompt since the question last began to accept keys."""
        self._clock = clock
        self._is_loss = is_loss
        self._is_next_edit = is_next_edit
        """True for an edit right after another one, as long as nothing comes between."""
        self._last = clock() - (after.since_answer if after is not None else PAUSE)
        """When the last key of an answer was pressed, to this question or the one before."""
        self._tried = ""
        """This key, if it was too early."""
        self._idle = 0.0
        """When the last key that did nothing was pressed."""
        self._selected = 0.0
        """When the selected answer was selected."""
        self._early: list[events.Key] = []
        """Keys of answers that did not count: not passed to the prompt yet."""
        self._from = 0.0
        """When the pause ends."""
        self.begin_pause()

    @property
    def pace(self) -> Pace:
        if not self.follows or self.passed_on or self._is_loss:
            return Pace(PAUSE, GAP, HOLD)
        if self._is_next_edit and self.since_answer < RHYTHM:
            return Pace(NEXT_EDIT_PAUSE, NEXT_EDIT_GAP, NEXT_EDIT_HOLD)
        return Pace(FOLLOWING_PAUSE, GAP, HOLD)

    @property
    def is_paused(self) -> bool:
        return self._clock() < self._from

    @property
    def since_answer(self) -> float:
        """The seconds since the key of an answer was pressed."""
        return self._clock() - self._last

    def wait(self, *, drafting: bool) -> float:
        """The seconds after which to check again; when the user ends a draft is not known."""
        return PAUSE if drafting else max(0.0, self._from - self._clock())

    def begin_pause(self) -> None:
        self._from = self._clock() + self.pace.pause

    def break_rhythm(self) -> None:
        """Require longer pauses from now on, since the user may have been elsewhere."""
        self._is_next_edit = False

    def show(self) -> None:
        """Count the pause of an edit after an edit from its first frame, which is now."""
        if self._is_next_edit:
            self._from = max(self._from, self._clock() + self.pace.pause)

    def is_in_time(self, key: events.Key) -> bool:
        """Return whether a key was pressed after the pause, and not right after that of an answer."""
        pressed = self._pressed_at(key)
        gap = max(self.pace.pause, self.pace.gap) if self._may_be_text(key) else self.pace.gap
        return pressed >= self._from and pressed - max(self._last, self._idle) >= gap

    def note(self, key: events.Key, *, is_early: bool = False) -> None:
        """Count the gap from the key of an answer."""
        self._last, self._tried = self._pressed_at(key), key.key if is_early else ""

    def note_idle(self, key: events.Key) -> None:
        """Count the gap from a key that does nothing: it is no text, and takes no pause."""
        self._idle = self._pressed_at(key)

    def is_repeated(self, key: events.Key) -> bool:
        """Return whether a key came right after one that does nothing: both were not pressed one by one."""
        return self._pressed_at(key) - self._idle < REPEAT

    @property
    def has_early(self) -> bool:
        """True if a text may have begun with keys of answers that did not count."""
        return bool(self._early)

    def keep(self, key: events.Key) -> None:
        """Keep a key of an answer that did not count: with another one after it, it begins a text."""
        self._early.append(key)

    def forget_old(self, now: events.Key) -> None:
        """Forget the keys that are too old to begin a text with `now`."""
        if self._pressed_at(now) - self._last >= PAUSE:
            self._early.clear()

    def release(self) -> list[events.Key]:
        """Return the keys that begin a text, and forget them."""
        early, self._early = self._early, []
        return early

    def hold_of(self, action: str) -> float:
        """The seconds for which the letter of an answer is held back."""
        is_wide = "'once'" not in action or (self._is_loss and action.startswith("answer(True"))
        return WIDE_HOLD if is_wide else self.pace.hold

    def note_selection(self) -> None:
        """Note that another answer is selected now."""
        self._selected = self._clock()

    @property
    def is_confirmed(self) -> bool:
        """True if the selected answer has been seen as such: keys in a burst select and confirm nothing."""
        return self._clock() - self._selected >= (LOSS_CONFIRMATION if self._is_loss else CONFIRMATION)

    def remark_on(self, key: events.Key) -> str:
        """Say why a key that was too early did nothing."""
        takes_pause = self._is_loss or self._may_be_text(key)
        return f"wait, then press {key.key}" if takes_pause else f"{key.key} was too early"

    def _may_be_text(self, key: events.Key) -> bool:
        """Return whether an early answer and this one differ."""
        return self._tried not in ("", key.key)

    def _pressed_at(self, key: events.Key) -> float:
        """The time of a key, which may have waited in a queue."""
        return self._clock() - (monotonic() - key.time)
