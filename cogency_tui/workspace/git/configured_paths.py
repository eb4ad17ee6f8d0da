"""Paths in a git configuration: included files, other files that git reads, and directories of hooks.

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
_LONGEST_POINTER = 4096
_OWN_CONFIGURATIONS = ("config", "config.worktree")
_READ = frozenset(
    (("core", "excludesfile"), ("core", "attributesfile"), ("diff", "orderfile"), ("mailmap", "file"))
)
"""Settings that name a file which git reads."""

_ESCAPED = {"n": "\n", "t": "\t", "b": "\b"}


@dataclass(frozen=True, slots=True)
class Named:
    """The files that a configuration includes, its directories of hooks and the other files that it has git
    read; both of these unresolved: relative to the top of a working tree."""

    includes: tuple[Path, ...]
    hooks: tuple[str, ...]
    read: tuple[str, ...] = ()


def directories(git: Path) -> list[Path]:
    """Return the directory that a `.git` is, or leads to, and the one that it shares with other working
    trees."""
    own = git if git.is_dir() else _pointed_to(git, "gitdir: ")
    common = None if own is None else _pointed_to(own / "commondir", "")
    return [each for each in (own, common) if each is not None]


def configurations(git: Path) -> list[Path]:
    """Return where the configuration of the repository may be that a `.git` is, or leads to."""
    return [each / name for each in directories(git) for name in _OWN_CONFIGURATIONS]


def _pointed_to(pointer: Path, beginning: str) -> Path | None:
    """Return the directory that a small file of git's names; None where it names none."""
    try:
        if not pointer.is_file():
            return None
        with pointer.open("rb") as file:
            text = os.fsdecode(file.read(_LONGEST_POINTER)).rstrip("\r\n")
        return pointer.parent / text.removeprefix(beginning) if text.startswith(beginning) else None
    except (OSError, ValueError):
        return None


def named(configurations: Iterable[Path]) -> Named:
    """Collect the names in these files, and in the files that they include."""
    left, includes = list(configurations), dict[Path, None]()
    hooks, others = dict[str, None](), dict[str, None]()
    seen: set[Path] = set()
    while left and len(seen) < _MOST:
        path = left.pop(0)
        if path not in seen:
            seen.add(path)
            found = _read(path)
            below = [Path(os.path.realpath(path.parent / os.path.expanduser(each))) for each in found[0]]  # noqa: PTH111 (text of git's)
            includes |= dict.fromkeys(below)
            hooks |= dict.fromkeys(found[1])
            others |= dict.fromkeys(os.path.expanduser(each) for each in found[2])  # noqa: PTH111 (text of git's)
            left += below
    return Named(tuple(includes), tuple(hooks), tuple(others))


_Texts = tuple[Sequence[str], Sequence[str], Sequence[str]]


def _read(path: Path) -> _Texts:
    """Return the includes, the directories of hooks and the other files that one file names."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LONGEST:
            return (), (), ()
        return _parsed(str(path), found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    except (OSError, ValueError):
        return (), (), ()


@lru_cache(maxsize=256)
def _parsed(path: str, *_stamp: int) -> _Texts:
    with Path(path).open("rb") as file:
        text = os.fsdecode(file.read(_LONGEST)).removeprefix("\ufeff").replace("\r\n", "\n")
    section, includes, hooks, others = "", list[str](), list[str](), list[str]()
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
                case key if key in _READ:
                    others.append(_value(setting[2]))
                case _:
                    pass
    found = ([each for each in texts if each][:_MOST] for texts in (includes, hooks, others))
    return next(found), next(found), next(found)


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
