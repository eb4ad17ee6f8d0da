"""stdin, stdout and stderr as the program received them, which may be closed, full, or without a reader.

Invariant: stdout carries data, stderr remarks; no foreign text reaches a terminal raw.
"""

import os
import re
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from cogency_tui.errors import CogencyError, UsageError
from cogency_tui.safe_text import clean, reveal


def prepare() -> None:
    """Claim the three standard handles, and print UTF-8.

    A file that is opened would otherwise get the number of a closed handle, and the output with it. A
    closed stdout is replaced by one that cannot be written, a closed stderr by one that discards its
    output, since `print` uses stdout otherwise. A closed stdin remains None.
    """
    if sys.stdin is None:
        _open_null(0, os.O_WRONLY)
    if sys.stdout is None:
        sys.stdout = open(_open_null(1, os.O_RDONLY), "w")  # noqa: SIM115 (open while the program runs)
    if sys.stderr is None:
        sys.stderr = open(_open_null(2, os.O_WRONLY), "w")  # noqa: SIM115 (open while the program runs)
    for stream in (sys.stdout, sys.stderr):
        # A test replaces them.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")


def remark(text: str, end: str = "\n") -> None:
    """Print on stderr; a remark that cannot be written is dropped, and stops nothing."""
    with suppress(OSError):
        print(text, end=end, file=sys.stderr, flush=True)


def discard_unwritable() -> None:
    """Discard output that cannot be written: at exit the interpreter would complain, and exit with 120."""
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


_ESCAPED = "[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
"""Characters that JSON does not escape. Outside of strings there are none."""


def print_json(value: Any) -> None:
    """Print one JSON value on one line of stdout, which may be a terminal. Characters that a terminal would
    act on, that readers take for the end of a line, and lone surrogates (they have no UTF-8) are escaped:
    the value is the same.
    """
    import json

    print_json_line(json.dumps(value, ensure_ascii=False))


def print_json_line(line: str) -> None:
    """Print a line of JSON."""
    print(re.sub(_ESCAPED, _escape, line), flush=True)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def print_text(text: str) -> None:
    """Print text for the user on stdout."""
    print(clean(text), flush=True)


@contextmanager
def unread() -> Generator[None]:
    """Print output in this block that decides nothing: if its reader is gone, the command continues."""
    try:
        yield
    except BrokenPipeError:
        discard_unwritable()


def talk(text: str, end: str = "\n") -> None:
    """Print a remark on stderr, apart from the data."""
    remark(clean(text), end)


def standard_input() -> TextIO:
    """stdin, open for reading.

    Raises:
        UsageError: it is closed.
    """
    if sys.stdin is None:
        raise UsageError("stdin is closed.", "Pass a file, or pipe input in.")
    return sys.stdin


def complain(error: CogencyError) -> None:
    """Print an error with its next step on stderr."""
    talk(f"cogency-tui: {error.advice}")


def agreed(question: str) -> bool:
    """Return whether the user says yes to a question; no, if no user can be asked."""
    if not (sys.stdin is not None and sys.stdin.isatty()):
        talk("Not a terminal: use --yes to confirm.")
        return False
    talk(f"{question} [y]es, [N]o: ", end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def describe_args(args: Mapping[str, Any], width: int = 60) -> str:
    """A call's arguments in a few words: the first text argument."""
    for value in args.values():
        if isinstance(value, str) and value:
            line = reveal(value.strip().splitlines()[0]) if value.strip() else ""
            return line if len(line) <= width else line[: width - 1] + "…"
    return ""
