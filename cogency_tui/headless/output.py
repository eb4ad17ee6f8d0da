"""What commands print: stdout carries data, stderr talk; nothing foreign reaches a terminal raw."""

import json
import sys
from collections.abc import Mapping
from typing import Any

from cogency_tui.errors import CogencyError
from cogency_tui.text import clean


def print_json(value: Any) -> None:
    """One JSON value on one line of stdout. A lone surrogate is escaped: it has no UTF-8."""
    line = json.dumps(value, ensure_ascii=False)
    if not line.isascii():
        try:
            line.encode()
        except UnicodeEncodeError:
            line = json.dumps(value)
    print(line, flush=True)


def print_text(text: str) -> None:
    """Text for a person on stdout."""
    print(clean(text), flush=True)


def talk(text: str) -> None:
    """A remark beside the data, on stderr."""
    print(clean(text), file=sys.stderr, flush=True)


def complain(error: CogencyError) -> None:
    """An error with its next step, on stderr."""
    talk(f"cogency-tui: {error.advice}")


def describe_args(args: Mapping[str, Any], width: int = 60) -> str:
    """A call's arguments in a few words: the first that says what it is about."""
    for value in args.values():
        if isinstance(value, str) and value:
            line = value.strip().splitlines()[0] if value.strip() else ""
            return line if len(line) <= width else line[: width - 1] + "…"
    return ""
