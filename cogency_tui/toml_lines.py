"""Where a table of a TOML text begins: tomllib gives values without their lines.

One pass over the text, in which strings and comments are stepped over: a header in one does not count.
"""

import re
import tomllib
from typing import Any, cast

_KEY = r"""(?:"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[^\]\n"'#])+"""
_TOKEN = re.compile(
    rf"^[ \t]*(?:\[\[(?P<array>{_KEY})\]\]|\[(?P<table>{_KEY})\])[ \t]*(?:#.*)?$"
    r'|"""(?:\\[\s\S]|[^\\])*?"""'
    r"|'''[\s\S]*?'''"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|#.*",
    re.MULTILINE,
)


def line_of(text: str, keys: tuple[str, ...], index: int = 0) -> int:
    """The line, counted from 1, of the header of the table `keys`, or of the `index`-th in an array of them.

    Where it has no header of its own (an inline table), that of the nearest table around it; 0 for none.
    """
    text = text.replace("\r\n", "\n")
    found: dict[tuple[str, ...], list[int]] = {}
    for token in _TOKEN.finditer(text):
        if path := _path(token["array"] or token["table"] or ""):
            line = text.count("\n", 0, token.end()) + 1
            found.setdefault(path, []).append(line)
    for length in range(len(keys), 0, -1):
        lines = found.get(keys[:length], [])
        if length == len(keys) and index < len(lines):
            return lines[index]
        if length < len(keys) and lines:
            return lines[-1]
    return 0


def _path(key: str) -> tuple[str, ...]:
    """The parts of a header's key, none where it is no header after all."""
    if not key:
        return ()
    try:
        table: Any = tomllib.loads(f"[{key}]")
    except tomllib.TOMLDecodeError:
        return ()
    parts: list[str] = []
    while table:
        part, table = next(iter(cast("dict[str, Any]", table).items()))
        parts.append(part)
    return tuple(parts)
