"""Conceals secrets in our own environment from other programs of the same user (Linux:
`/proc/PID/environ`).

Invariant: a concealed secret is no longer in the block that the system shows, and nothing else changes:
code in this process still gets it, including C libraries and programs started with our environment.

Not covered without a sandbox: the environment of our parents, from which the secrets may have come; our
memory, for a process that may trace us (where Yama's `ptrace_scope` is 0 or missing, and root). Making the
process undumpable would cover that, too, but takes `/proc/self` from us, and from our children between fork
and exec.
"""

import os
import sys
from collections.abc import Collection

_ENV_START, _ENV_END = 47, 48
"""Fields of `/proc/self/stat` with the bounds of the block, counted from the third (proc(5): 50 and 51)."""


def conceal(names: Collection[str]) -> bool:
    """Conceal these variables in the system's view of this process; return whether none of them is in it
    now.

    Blocks. May be called by any thread, any number of times.
    """
    if sys.platform != "linux":
        return True
    try:
        start, length = _block()
        shown = _shown(names)
        if shown:
            _overwrite(start, length, shown)
            shown = _shown(names)
    except (OSError, ValueError, IndexError):
        # No /proc here, or one that we cannot read: then no other process of this user can, either.
        return False
    return not shown


def _shown(names: Collection[str]) -> set[bytes]:
    """Return the entries that are readable and have something to conceal."""
    concealed = {os.fsencode(name) for name in names}
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 (there is no Path here to begin with)
        entries = file.read().split(b"\0")
    return {entry for entry in entries if entry.partition(b"=")[0] in concealed and entry.partition(b"=")[2]}


def _block() -> tuple[int, int]:
    """Return the address and the length of the block that the system shows."""
    with open("/proc/self/stat", "rb") as file:  # noqa: PTH123 (as above)
        # The command in brackets may itself contain spaces and brackets.
        fields = file.read().rpartition(b")")[2].split()
    start, end = int(fields[_ENV_START]), int(fields[_ENV_END])
    return start, end - start


def _overwrite(start: int, length: int, entries: Collection[bytes]) -> None:
    # Needed only here, and heavy to import.
    import ctypes

    for name in {entry.partition(b"=")[0] for entry in entries}:
        # First a copy elsewhere, to which the C library points from now on: the variables are always
        # readable.
        if (value := os.environ.get(os.fsdecode(name))) is not None:
            os.putenv(os.fsdecode(name), value)
    block = ctypes.string_at(start, length)
    for entry in entries:
        at = -1
        while (at := block.find(entry + b"\0", at + 1)) >= 0:
            if at == 0 or block[at - 1] == 0:
                ctypes.memset(start + at, 0, len(entry))
