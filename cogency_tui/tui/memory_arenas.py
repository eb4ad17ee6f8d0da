"""Limits the memory arenas that threads leave behind.

The GNU C library gives each thread an arena of its own, up to eight for each core. Python's threads take
turns anyway, so one arena serves them as fast, and memory that one thread frees is available to the others.
"""

import sys

_ARENA_MAX = -8


def share_arena() -> None:
    """Make future threads share the existing arenas."""
    if sys.platform == "linux":
        # Takes as long to import as many other modules together: only once the app is running.
        import ctypes

        # Other C libraries have no such function, or one that does nothing.
        if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
            mallopt(_ARENA_MAX, 1)
