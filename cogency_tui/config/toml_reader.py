"""Reads untrusted TOML, limited in size and in the depth of its keys, reports its errors, and locates tables
and keys.

tomllib takes memory with the square of the parts of a key, so they are counted before it receives the text.
It returns values without their lines; these are found in one pass over the text that skips strings and
comments, so that a header in one does not count. Patterns are compiled on first use: themes are read at the
start, and need none.
"""

import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any, cast

from cogency_tui.errors import ConfigError

LONGEST = 1 << 20
"""Characters of a text, and bytes of a file."""

MOST_PARTS = 32
"""Parts of a key, separated by dots."""

_TOKEN = (
    r'"""(?:\\[\s\S]|[^\\])*?(?:"""|\Z)'
    r"|'''[\s\S]*?(?:'''|\Z)"
    r'|"(?:\\.|[^"\\\n])*+"?'
    r"|'[^'\n]*+'?"
    r"|[\w-]++"
    r"|(?P<dot>\.)"
    r"|#.*"
    r"|(?P<other>[^\s])"
)


_HINT = "Correct it, or move the file away."


def read_text(path: Path, hint: str = _HINT) -> str:
    """The text of a file of the user's; empty if there is none.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        return _read(path)
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{path} cannot be read: {exc}.", hint) from exc


def parse(path: Path, text: str, hint: str = _HINT) -> dict[str, Any]:
    """The table in the `text` of the file at `path`.

    Raises:
        ConfigError: it is no TOML.
    """
    try:
        return loads(text)
    except (ValueError, RecursionError) as exc:
        # A number of very many digits is no TOMLDecodeError; neither is very deep nesting.
        raise ConfigError(f"{path} is not valid TOML: {exc}.", hint) from exc


def place(path: Path, line: int) -> str:
    """A line of a file, for a message; without a line, the file."""
    return f"{path}, line {line}" if line else str(path)


def loads(text: str) -> dict[str, Any]:
    """Parse a text as TOML.

    Raises:
        ValueError: it is no TOML, or exceeds the limits.
        RecursionError: it is nested too deeply.
    """
    if len(text) > LONGEST:
        raise ValueError(f"it has more than {LONGEST:,} characters")
    parts, end = 1, 0
    for token in re.finditer(_TOKEN, text) if text.count(".") >= MOST_PARTS else ():
        if token["dot"]:
            parts += 1
            if parts > MOST_PARTS:
                line = text.count("\n", 0, token.start()) + 1
                raise ValueError(f"a key has more than {MOST_PARTS} parts (at line {line})")
        elif token["other"] or "\n" in text[end : token.start()]:
            parts = 1
        end = token.end()
    return tomllib.loads(text)


def _read(path: Path) -> str:
    """The text of a file.

    Raises:
        OSError: it cannot be read, or is too large.
        UnicodeDecodeError: it is no UTF-8.
    """
    # Opening a FIFO would wait for a writer.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode) and str(path) != os.devnull:
            raise OSError("it is not a regular file")
        data = file.read(LONGEST + 1)
    if len(data) > LONGEST:
        raise OSError(f"it has more than {LONGEST:,} bytes")
    return data.decode("utf-8-sig")


_KEY = r"""(?:"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[^\]\n"'#])+"""
_LINE_TOKEN = (
    rf"^[ \t]*(?:\[\[(?P<array>{_KEY})\]\]|\[(?P<table>{_KEY})\])[ \t]*(?:#.*)?$"
    r'|"""(?:\\[\s\S]|[^\\])*?"""'
    r"|'''[\s\S]*?'''"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|#.*"
)
_ASSIGNED = r"^[ \t]*(?P<key>[\w-]+(?:[ \t]*\.[ \t]*[\w-]+)*)[ \t]*="
_EQUALS = r"[ \t]*="


def line_of(text: str, keys: tuple[str, ...], index: int = 0) -> int:
    """The line, counted from 1, of the header of the table `keys`, or of the `index`-th in an array of
    them.

    For a table without a header of its own (an inline table), that of the nearest table around it; 0 for
    none.
    """
    text = text.replace("\r\n", "\n")
    found: dict[tuple[str, ...], list[int]] = {}
    line, end = 1, 0
    for token in re.finditer(_LINE_TOKEN, text, re.MULTILINE):
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
    """The parts of a header's key, none if it is no header after all."""
    if not key:
        return ()
    try:
        table: Any = loads(f"[{key}]")
    except ValueError:
        return ()
    parts: list[str] = []
    while table:
        part, table = next(iter(cast("dict[str, Any]", table).items()))
        parts.append(part)
    return tuple(parts)


def line_of_key(text: str, keys: tuple[str, ...]) -> int:
    """The line, counted from 1, that assigns the last of `keys` in the table of those before it, whether
    its dots are quoted or not.

    If none does, that of the table's header, or of a table around it; 0 for none.
    """
    text = text.replace("\r\n", "\n")
    target = ".".join(keys)
    table: tuple[str, ...] = ()
    end = 0
    for token in re.finditer(_LINE_TOKEN, text, re.MULTILINE):
        place = _assignment(text, end, token.start(), table, target)
        if place < 0 and token[0][0] in "\"'" and re.compile(_EQUALS).match(text, token.end()):
            place = token.start() if ".".join((*table, token[0].strip("\"'"))) == target else -1
        if place >= 0:
            return text.count("\n", 0, place) + 1
        end = token.end()
        if path := _path(token["array"] or token["table"] or ""):
            table = path
    place = _assignment(text, end, len(text), table, target)
    return text.count("\n", 0, place) + 1 if place >= 0 else line_of(text, keys)


def _assignment(text: str, start: int, end: int, table: tuple[str, ...], target: str) -> int:
    """The position of the assignment to `target` in a range without strings and headers; -1 for none."""
    for found in re.compile(_ASSIGNED, re.MULTILINE).finditer(text, start, end):
        if ".".join((*table, *(part.strip() for part in found["key"].split(".")))) == target:
            return found.start("key")
    return -1
