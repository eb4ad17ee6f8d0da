"""stdin, stdout and stderr as they were handed over: closed, full, or with nobody at the other end."""

import os
import sys
from contextlib import suppress


def prepare() -> None:
    """Let the three handles be ours, and what is printed be UTF-8.

    A file that is opened would get the number of a closed one, and what is printed with it. In place of a
    closed stdout there is one that cannot be written; in place of a closed stderr one that loses what it is
    sent, since `print` takes stdout otherwise. A closed stdin remains None.
    """
    if sys.stdin is None:
        _open_null(0, os.O_WRONLY)
    if sys.stdout is None:
        sys.stdout = open(_open_null(1, os.O_RDONLY), "w")  # noqa: SIM115 (open while the program runs)
    if sys.stderr is None:
        sys.stderr = open(_open_null(2, os.O_WRONLY), "w")  # noqa: SIM115 (open while the program runs)
    for stream in (sys.stdout, sys.stderr):
        # A test puts others in their place.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")


def remark(text: str, end: str = "\n") -> None:
    """Print on stderr; a remark that cannot be written is lost, and stops nothing."""
    with suppress(OSError):
        print(text, end=end, file=sys.stderr, flush=True)


def discard_unwritable() -> None:
    """Write to nowhere what cannot be written: at exit the interpreter would complain, and end with 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _open_null(stream.fileno(), os.O_WRONLY)


def _open_null(handle: int, flags: int) -> int:
    null = os.open(os.devnull, flags)
    if null != handle:
        os.dup2(null, handle, inheritable=True)
        os.close(null)
    else:
        os.set_inheritable(handle, True)
    return handle
