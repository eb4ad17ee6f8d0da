"""When the garbage collector may look at what.

A full collection takes as long as there are objects: a tenth of a second in a long conversation, which would
be seen while one scrolls or types. So what is young is collected as it comes, and everything when the user
has paused, or when much has piled up since.
"""

import gc
from collections.abc import Callable
from time import monotonic

PAUSE = 3.0
"""Seconds without a key or a click after which nobody is kept waiting by a full collection."""

_YOUNG, _MIDDLE = 5_000, 4

_OLD = 10
"""Collections of the middle generation after which everything is collected, also for a user who never pauses:
what would be left of a long session has no bound."""


class Collecting:
    """The collector of an app; `later` calls a function after so many seconds."""

    def __init__(self, later: Callable[[float, Callable[[], None]], object]) -> None:
        self._later = later
        self._touched = 0.0
        self._waiting = False

    def begin(self) -> None:
        """Collect from now on. What exists lives as long as the program and is not looked at again."""
        gc.freeze()
        gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
        gc.enable()

    def touch(self) -> None:
        """The person does something."""
        self._touched = monotonic()

    def rest(self) -> None:
        """Something has ended: collect everything as soon as the person pauses."""
        if not self._waiting:
            self._waiting = True
            self._later(PAUSE, self._collect)

    def _collect(self) -> None:
        if (left := self._touched + PAUSE - monotonic()) > 0:
            self._later(left, self._collect)
        else:
            self._waiting = False
            gc.collect()
