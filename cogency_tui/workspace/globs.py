"""File name patterns as regular expressions that take linear time in each path component.

Invariant: a piece between two stars, or between two `**`, is matched at its first fit and never retried (an
atomic group), so that no combination of pattern and path takes long.
"""

import re
from functools import lru_cache
from itertools import product

from cogency_tui.errors import ToolError

_MOST_ALTERNATIVES = 64
_MOST_DEEP = 4
_LONGEST = 1000
_BRACES = re.compile(r"\{([^{},]*,[^{}]*)\}")
_STARS = re.compile(r"\*+")


@lru_cache(maxsize=64)
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern to `fullmatch` against a path with slashes.

    `*` and `?` stay within a name, `**` crosses directories, `[ab]` and `{a,b}` are alternatives. A pattern
    without a slash is matched against the name in any directory.

    Raises:
        ToolError: the pattern is too long or has too many alternatives.
    """
    if len(pattern) > _LONGEST:
        raise ToolError(
            f"The file name pattern is too long: {len(pattern):,} characters, at most {_LONGEST:,}."
        )
    alternatives = _alternatives(pattern.removeprefix("./"))
    return re.compile("|".join(f"(?:{_translated(one)})" for one in alternatives), re.DOTALL)


def _alternatives(pattern: str) -> list[str]:
    pieces = _BRACES.split(pattern)
    # Every second piece is the inside of a pair of braces.
    choices = [piece.split(",") if index % 2 else [piece] for index, piece in enumerate(pieces)]
    count = 1
    for choice in choices:
        count *= len(choice)
    if count > _MOST_ALTERNATIVES:
        raise ToolError(f"The file name pattern has {count:,} alternatives; at most {_MOST_ALTERNATIVES}.")
    return ["".join(parts) for parts in product(*choices)]


def _translated(pattern: str) -> str:
    anywhere = "/" not in pattern
    parts = [part for part in pattern.split("/") if part]
    if anywhere:
        parts.insert(0, "**")
    collapsed = [
        part for index, part in enumerate(parts) if part != "**" or parts[index - 1 : index] != ["**"]
    ]
    if collapsed.count("**") > _MOST_DEEP:
        raise ToolError(f"The file name pattern has ** more than {_MOST_DEEP} times.")
    runs: list[list[str]] = [[]]
    for part in collapsed:
        if part == "**":
            runs.append([])
        else:
            runs[-1].append(_component(part))
    first, *others = ("/".join(run) for run in runs)
    source = f"{first}/" if first and others else first
    for index, names in enumerate(others, 1):
        if index < len(others):
            source += f"(?>(?:[^/]+/)*?{names}/)"
        else:
            source += f"(?:[^/]+/)*{names}" if names else ".*"
    return source


def _component(part: str) -> str:
    first, *rest = _STARS.split(part)
    source = _fixed(first)
    for index, piece in enumerate(rest):
        if index == len(rest) - 1:
            source += f"[^/]*{_fixed(piece)}"
        else:
            source += f"(?>[^/]*?{_fixed(piece)})"
    return source


def _fixed(piece: str) -> str:
    """Translate a piece without stars: characters, `?`, and classes in brackets."""
    source = ""
    position = 0
    while position < len(piece):
        character = piece[position]
        position += 1
        if character == "?":
            source += "[^/]"
            continue
        if character == "[":
            end = piece.find(
                "]", position + 2 if piece[position : position + 1] in ("!", "^") else position + 1
            )
            if end != -1:
                source += _class(piece[position:end])
                position = end + 1
                continue
        source += re.escape(character)
    return source


def _class(inside: str) -> str:
    negated = inside[:1] in ("!", "^")
    members = inside[1:] if negated else inside
    escaped = re.sub(r"([\\\[\]^&~|])", r"\\\1", members)
    try:
        re.compile(f"[{escaped}]")
    except re.error:
        # A backward range: the brackets are part of the name.
        return re.escape(f"[{inside}]")
    return f"(?!/)[{'^' if negated else ''}{escaped}]"
