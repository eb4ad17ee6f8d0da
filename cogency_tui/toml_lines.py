"""Where a table or a key of a TOML text is: tomllib gives values without their lines.

One pass over the text, in which strings and comments are stepped over: a header in one does not count.
"""

import re
from typing import Any, cast

from cogency_tui import toml_text

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
_ASSIGNED = re.compile(r"^[ \t]*(?P<key>[\w-]+(?:[ \t]*\.[ \t]*[\w-]+)*)[ \t]*=", re.MULTILINE)
_EQUALS = re.compile(r"[ \t]*=")


def headers(text: str) -> list[tuple[tuple[str, ...], int]]:
    """The tables that have a header, as the parts of their keys, and where the header's line begins."""
    return [
        (path, token.start())
        for token in _TOKEN.finditer(text)
        if (path := _path(token["array"] or token["table"] or ""))
    ]


def line_of(text: str, keys: tuple[str, ...], index: int = 0) -> int:
    """The line, counted from 1, of the header of the table `keys`, or of the `index`-th in an array of them.

    Where it has no header of its own (an inline table), that of the nearest table around it; 0 for none.
    """
    text = text.replace("\r\n", "\n")
    found: dict[tuple[str, ...], list[int]] = {}
    line, end = 1, 0
    for token in _TOKEN.finditer(text):
        line += text.count("\n", end, token.end())
        end = token.end()
        if path := _path(token["array"] or token["table"] or ""):
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
        table: Any = toml_text.loads(f"[{key}]")
    except ValueError:
        return ()
    parts: list[str] = []
    while table:
        part, table = next(iter(cast("dict[str, Any]", table).items()))
        parts.append(part)
    return tuple(parts)


def line_of_key(text: str, keys: tuple[str, ...]) -> int:
    """The line, counted from 1, where the last of `keys` is given a value in the table of those before it,
    whether its dots are quoted or not.

    Where it is given none by itself, that of the table's header, or of a table around it; 0 for none.
    """
    text = text.replace("\r\n", "\n")
    wanted = ".".join(keys)
    table: tuple[str, ...] = ()
    end = 0
    for token in _TOKEN.finditer(text):
        place = _assignment(text, end, token.start(), table, wanted)
        if place < 0 and token[0][0] in "\"'" and _EQUALS.match(text, token.end()):
            place = token.start() if ".".join((*table, token[0].strip("\"'"))) == wanted else -1
        if place >= 0:
            return text.count("\n", 0, place) + 1
        end = token.end()
        if path := _path(token["array"] or token["table"] or ""):
            table = path
    place = _assignment(text, end, len(text), table, wanted)
    return text.count("\n", 0, place) + 1 if place >= 0 else line_of(text, keys)


def _assignment(text: str, start: int, end: int, table: tuple[str, ...], wanted: str) -> int:
    """Where `wanted` is assigned to between two places that no string and no header is between; -1 if not."""
    for found in _ASSIGNED.finditer(text, start, end):
        if ".".join((*table, *(part.strip() for part in found["key"].split(".")))) == wanted:
            return found.start("key")
    return -1
