"""What threads keep of the memory that they freed.

The C library of GNU gives each thread an arena of its own, up to eight for each core. Python's threads take
turns anyway, so one arena serves them as fast, and what one has freed another can use.
"""

import sys

_ARENA_MAX = -8


def share_arena() -> None:
    """Have the threads that begin from now on share the arenas that are there."""
    if sys.platform == "linux":
        # Takes as long to import as much of the rest: only once the app stands.
        import ctypes

        # Other libraries than that of GNU have no such function, or one that does nothing.
        if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
            mallopt(_ARENA_MAX, 1)
