"""Paths in a git configuration: included files, and directories of hooks.

Invariant: all conditions of an include count as true, so that no file is missing which git could read.
Nothing is run; at most `_LONGEST` bytes of a file and `_MOST` files are read, each again only when it has
changed. The calls block.
"""

import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_LONGEST = 1 << 18
_MOST = 20
_SECTION = re.compile(r"\s*\[\s*([\w.-]+)[^\]\"]*(?:\"(?:[^\"\\]|\\.)*+\")?\s*\]")
_SETTING = re.compile(r"\s*([A-Za-z][\w-]*)\s*=\s*(.*)")
_PART = re.compile(r"\\(.)|(\")|([#;])|([^\\\"#;]+)")
_ESCAPED = {"n": "\n", "t": "\t", "b": "\b"}


@dataclass(frozen=True, slots=True)
class Named:
    """The files that a configuration includes, and its directories of hooks, unresolved: relative to the
    top of a working tree."""

    includes: tuple[Path, ...]
    hooks: tuple[str, ...]


def named(configurations: Iterable[Path]) -> Named:
    """Collect the names in these files, and in the files that they include."""
    left, includes, hooks = list(configurations), dict[Path, None](), dict[str, None]()
    seen: set[Path] = set()
    while left and len(seen) < _MOST:
        path = left.pop(0)
        if path not in seen:
            seen.add(path)
            found = _read(path)
            below = [Path(os.path.realpath(path.parent / os.path.expanduser(each))) for each in found[0]]  # noqa: PTH111 (text of git's)
            includes |= dict.fromkeys(below)
            hooks |= dict.fromkeys(found[1])
            left += below
    return Named(tuple(includes), tuple(hooks))


def _read(path: Path) -> tuple[Sequence[str], Sequence[str]]:
    """Return the includes and the directories of hooks that one file names."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LONGEST:
            return (), ()
        return _parsed(str(path), found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    except (OSError, ValueError):
        return (), ()


@lru_cache(maxsize=256)
def _parsed(path: str, *_stamp: int) -> tuple[Sequence[str], Sequence[str]]:
    with Path(path).open("rb") as file:
        text = os.fsdecode(file.read(_LONGEST)).removeprefix("\ufeff").replace("\r\n", "\n")
    section, includes, hooks = "", list[str](), list[str]()
    for line in text.replace("\\\n", "").split("\n"):
        start = 0
        while header := _SECTION.match(line, start):
            section, start = header[1].casefold(), header.end()
        if setting := _SETTING.match(line, start):
            match section, setting[1].casefold():
                case "include" | "includeif", "path":
                    includes.append(_value(setting[2]))
                case "core", "hookspath":
                    hooks.append(_value(setting[2]))
                case _:
                    pass
    return [each for each in includes if each][:_MOST], [each for each in hooks if each][:_MOST]


def _value(text: str) -> str:
    """Parse a value as git does: quotes and escapes are removed, a comment ends it."""
    found, end, quoted = "", 0, False
    for escaped, quote, comment, plain in _PART.findall(text):
        if comment and not quoted:
            break
        quoted = quoted != bool(quote)
        found += _ESCAPED.get(escaped, escaped) or comment or plain
        if quoted or quote or escaped:
            end = len(found)
    return found[:end] + found[end:].rstrip()
