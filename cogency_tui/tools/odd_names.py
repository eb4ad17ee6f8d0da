"""Names of files that a program may take for something else when it is given a list of them.

A list is taken apart at blanks and quotes unless it is told otherwise: of `x /tmp/y` that makes `x` and
`/tmp/y`. A name is one component of a path here.
"""

import re
from collections.abc import Mapping
from typing import Literal

Splitting = Literal["", "nul", "lines", "shell", "xargs", "code"]
"""How a list is taken apart: at NUL, at ends of lines, as the shell does, as `xargs` does, or as code in
which its names are put; empty where that is not said."""

_ODD_NAME = re.compile(r"-|.*[\s\\'\"]|\..*[*?\[]", re.DOTALL)
_LEADS_OUT = r"[\n\r\\]|\s(?:-\S|\Z)|(?:\A|\s)\.\.\s|\s\.\.\Z|(?:\A|\s)\.\S*[*?\[]"
_ODD: Mapping[str, re.Pattern[str]] = {
    "nul": re.compile(r"(?!)"),
    "lines": re.compile(r"\n"),
    "shell": re.compile(_LEADS_OUT),
    "xargs": re.compile(rf"['\"]|{_LEADS_OUT}"),
    "code": re.compile(r"[^\w.+@=,:%-]"),
}
_BREAKS: Mapping[str, re.Pattern[str]] = {
    "nul": re.compile(r"(?!)"),
    "lines": re.compile(r"\n"),
    "shell": re.compile(r"[\s\\*?\[]"),
    "xargs": re.compile(r"[\s\\'\"]"),
    "code": re.compile(r"[^\w./+@=,:%-]"),
}
_PLAIN = re.compile(r"[\w.+@=,:%][\w.+@=,:%-]*")


def is_plain(name: str) -> bool:
    """Whether a name is the same in every list."""
    return bool(_PLAIN.fullmatch(name))


def is_odd(name: str) -> bool:
    """Whether a name may be odd in any list."""
    return bool(_ODD_NAME.match(name))


def leads_elsewhere(name: str, splitting: str, *, first: bool) -> bool:
    """Whether a name in a list may come to be an option or a path that begins elsewhere; `first`: nothing
    need stand before it there."""
    return bool(_ODD[splitting].search(name)) or (first and name.startswith("-"))


def may_break(name: str) -> bool:
    """Whether a name may come to be anything but itself in the words of a command."""
    return breaks(name, "shell") or breaks(name, "xargs")


def breaks(path: str, splitting: str) -> bool:
    """Whether a path in a list may come to be anything but itself."""
    return bool(_BREAKS[splitting].search(path))
