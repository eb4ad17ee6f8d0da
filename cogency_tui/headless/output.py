"""What commands print: stdout carries data, stderr talk; nothing foreign reaches a terminal raw."""

import json
import re
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

from cogency_tui.errors import CogencyError, UsageError
from cogency_tui.standard_streams import discard_unwritable, remark
from cogency_tui.text import clean, reveal

_ESCAPED = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What JSON lets stand as it is. Outside of strings there is none of it."""


def print_json(value: Any) -> None:
    """One JSON value on one line of stdout, which may be a terminal. What that would act on, what readers
    take for the end of a line, and lone surrogates (they have no UTF-8) are escaped: the value is the same.
    """
    print_json_line(json.dumps(value, ensure_ascii=False))


def print_json_line(line: str) -> None:
    """A line of JSON that is written already."""
    print(_ESCAPED.sub(_escape, line), flush=True)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def print_text(text: str) -> None:
    """Text for a person on stdout."""
    print(clean(text), flush=True)


@contextmanager
def unread() -> Generator[None]:
    """Print in this block what decides nothing: where nobody reads it any more, the command goes on."""
    try:
        yield
    except BrokenPipeError:
        discard_unwritable()


def talk(text: str, end: str = "\n") -> None:
    """A remark beside the data, on stderr."""
    remark(clean(text), end)


def standard_input() -> TextIO:
    """stdin, to be read from.

    Raises:
        UsageError: it is closed.
    """
    if sys.stdin is None:
        raise UsageError("stdin is closed.", "Give a file, or pipe something in.")
    return sys.stdin


def complain(error: CogencyError) -> None:
    """An error with its next step, on stderr."""
    talk(f"cogency-tui: {error.advice}")


def agreed(question: str) -> bool:
    """Whether the user says yes to a question; where nobody can be asked, they do not."""
    if not (sys.stdin is not None and sys.stdin.isatty()):
        talk("Nobody can be asked here: --yes agrees to it.")
        return False
    talk(f"{question} [y]es, [N]o: ", end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def describe_args(args: Mapping[str, Any], width: int = 60) -> str:
    """A call's arguments in a few words: the first that says what it is about."""
    for value in args.values():
        if isinstance(value, str) and value:
            line = reveal(value.strip().splitlines()[0]) if value.strip() else ""
            return line if len(line) <= width else line[: width - 1] + "…"
    return ""
