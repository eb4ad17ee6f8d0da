"""The paths that words of a shell's command stand for.

A word is looked up from every directory that the command may be in by then: `(cd a && …); …` leaves it
open which one that is. The calls block.
"""

import glob
import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice, product
from pathlib import Path

from cogency_tui.tools.shell_words import Simple, Word

MOST = 5000
"""Paths that one word may stand for; the rest is not looked at."""

_DEEPEST_GLOB = 3
_MOST_PLACES = 20
_MOST_ALTERNATIVES = 64
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_DEEPEST_BRACES = 5
_ROW = re.compile(r"\{(?:-?\d+|[A-Za-z])\.\.(?:-?\d+|[A-Za-z])(?:\.\.-?\d+)?\}")
_SEQUENCE = re.compile(r"\{[^{},]*\.\.[^{}]*\}")


class Places:
    """The directories that a command may be in: the one that it starts in, and those that it goes to."""

    def __init__(self, start: Path) -> None:
        self.directories = [start]
        self.known = True
        """Whether it went nowhere that is not known."""

    def follow(self, simple: Simple) -> None:
        """Take note of a `cd`."""
        if simple.program not in ("cd", "pushd"):
            return
        target = next(iter(simple.operands()), None if simple.arguments else Word(str(Path.home())))
        earlier = target is None or target.text[:1] in ("-", "+")
        found = None if target is None or earlier else self.targets(target)
        if found is None:
            self.known = False
            return
        for path in found:
            if path.is_dir() and path not in self.directories and len(self.directories) < _MOST_PLACES:
                self.directories.append(path)

    def paths(self, word: Word) -> list[Path] | None:
        """What is there of what a word stands for; None where that is not known.

        The directory is resolved, the last component may be a link.
        """
        if not word.known or (not self.known and not word.text.startswith("/")):
            return None
        names = _alternatives(word.pattern) if word.pattern else [word.text]
        if names is None:
            return None
        found = (path for place in self.directories for path in _expanded(place, names, bool(word.pattern)))
        return list(islice(dict.fromkeys(path for path in found if os.path.lexists(path)), MOST))

    def targets(self, word: Word) -> list[Path] | None:
        """Where a word may lead, whether something is there or not; None where that is not known."""
        pattern = word.resolved or word.pattern
        if not word.sure or not (self.known or (pattern or word.text).startswith("/")):
            return None
        names = _all_alternatives(pattern) if pattern else [word.text]
        if names is None:
            return None
        matched = (path for place in self.directories for path in _expanded(place, names, globbing=True))
        literal = (joined(place, name) for place in self.directories for name in names if name)
        globbing = any(map(glob.has_magic, names))
        return list(dict.fromkeys([*islice(matched if globbing else (), MOST), *literal]))

    def all_of(self, words: Iterable[Word]) -> tuple[list[Path], bool]:
        """What several words stand for, and whether all of them are known."""
        found = [self.paths(word) for word in words]
        return [path for each in found for path in each or ()], None not in found


def resolved(path: Path) -> Path:
    """The path with the links on the way to it resolved, not its own."""
    if path.name in ("", "..", "."):
        return Path(os.path.realpath(path))
    return Path(os.path.realpath(path.parent), path.name)


def joined(place: Path, text: str) -> Path:
    """Where a word of this text leads from `place`."""
    ending = text.rstrip("/")
    path = resolved(Path(place, ending or text))
    # A slash at the end means what a link leads to.
    return Path(os.path.realpath(path)) if ending and ending != text else path


def _alternatives(pattern: str) -> list[str] | None:
    if _SEQUENCE.search(pattern):
        return None
    pieces = _BRACES.split(pattern)
    choices = [piece.split(",") if index % 2 else [piece] for index, piece in enumerate(pieces)]
    found = ["".join(parts) for parts in islice(product(*choices), _MOST_ALTERNATIVES + 1)]
    return found if len(found) <= _MOST_ALTERNATIVES else None


def _all_alternatives(pattern: str) -> list[str] | None:
    """The alternatives of braces, within braces too; a row of numbers or letters counts as one name."""
    names = [_ROW.sub("0", pattern)]
    for _ in range(_DEEPEST_BRACES):
        if not any(map(_BRACES.search, names)):
            return names
        found = [_alternatives(name) for name in names]
        names = [name for each in found for name in each or ()]
        if None in found or len(names) > _MOST_ALTERNATIVES:
            return None
    return None


def _expanded(place: Path, names: list[str], globbing: bool) -> Iterator[Path]:
    for name in names:
        if not name or "\0" in name:
            continue
        if not globbing or not glob.has_magic(name):
            yield joined(place, name)
        elif sum(map(glob.has_magic, name.split("/"))) <= _DEEPEST_GLOB:
            matches = islice(glob.iglob(name, root_dir=place), MOST)  # noqa: PTH207 (as the shell matches)
            yield from (joined(place, match) for match in sorted(matches))
        else:
            # Whoever lists so much waits for minutes: what is above it stands for it.
            yield joined(place, _above(name))


def _above(name: str) -> str:
    parts = name.split("/")
    first = next(index for index, part in enumerate(parts) if glob.has_magic(part))
    return "/".join(parts[:first]) or ("/" if name.startswith("/") else ".")
