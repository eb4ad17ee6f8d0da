"""Names of files that a program may misread in a list, and the trees of directories with such names and
links.

A list is split at blanks and quotes by default: `x /tmp/y` becomes `x` and `/tmp/y`. A name is one
component of a path here.

Each directory is walked once for one command, and a command walks at most a given number of entries. Links
are not followed. The calls block.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

Splitting = Literal["", "nul", "lines", "shell", "xargs", "code"]
"""Splitting of a list: at NUL, at ends of lines, as the shell does, as `xargs` does, or as code with the
names inserted; empty where that is not known."""

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
    """Return whether a name is the same in every list."""
    return bool(_PLAIN.fullmatch(name))


def is_odd(name: str) -> bool:
    """Return whether a name may be odd in any list."""
    return bool(_ODD_NAME.match(name))


def leads_elsewhere(name: str, splitting: str, *, first: bool) -> bool:
    """Return whether a name in a list may become an option or a path that begins elsewhere; `first`: even
    without text before it."""
    return bool(_ODD[splitting].search(name)) or (first and name.startswith("-"))


def may_break(name: str) -> bool:
    """Return whether a name may become anything but itself in the words of a command."""
    return breaks(name, "shell") or breaks(name, "xargs")


def breaks(path: str, splitting: str) -> bool:
    """Return whether a path in a list may become anything but itself."""
    return bool(_BREAKS[splitting].search(path))


_MOST_OUTWARD = 100
"""Most links that are reported of one tree; one is enough to ask."""

_PYTHON = re.compile(r"python[\d.]*")

Kind = Literal["file", "directory", "nothing"]


@dataclass(frozen=True, slots=True)
class Link:
    """A link that leads outside, and its target's kind."""

    path: Path
    kind: Kind


@dataclass
class LinkTree:
    """The links below a directory, and the paths with names that are not plain. It is not `complete` where
    there were too many entries."""

    links: list[str] = field(default_factory=list[str])
    odd: list[str] = field(default_factory=list[str])
    complete: bool = True

    @cached_property
    def odd_names(self) -> Set[str]:
        """Names that are not plain."""
        return {path.rpartition("/")[2] for path in self.odd}


class Trees:
    """Walks directories for one command, at most `entries` entries in all."""

    def __init__(self, entries: int) -> None:
        self._left = entries
        self._found: dict[Path, LinkTree] = {}
        self._outward: dict[Path, Sequence[Link]] = {}

    def below(self, start: Path) -> LinkTree:
        """Return the tree below a directory."""
        if start not in self._found:
            above = next((path for path in start.parents if path in self._found), None)
            self._found[start] = self._walked(start) if above is None else _part(self._found[above], start)
        return self._found[start]

    def outward(self, start: Path, roots: Sequence[Path]) -> Sequence[Link]:
        """Return the links below a directory that lead out of `roots`, which are the same for one command."""
        if start not in self._outward:
            self._outward[start] = outward(self.below(start).links, roots)
        return self._outward[start]

    def _walked(self, start: Path) -> LinkTree:
        tree = LinkTree()
        pending = [start]
        while pending and tree.complete:
            directory = pending.pop()
            if directory in self._found:
                known = self._found[directory]
                tree.links += known.links
                tree.odd += known.odd
                tree.complete = known.complete
                continue
            try:
                with os.scandir(directory) as entries:
                    pending += [Path(entry.path) for entry in entries if self._enters(entry, tree)]
            except OSError:
                continue
        return tree

    def _enters(self, entry: "os.DirEntry[str]", tree: LinkTree) -> bool:
        """Record an entry; return whether to enter it."""
        self._left -= 1
        tree.complete = self._left >= 0
        if not tree.complete:
            return False
        if not is_plain(entry.name):
            tree.odd.append(entry.path)
        if entry.is_symlink():
            tree.links.append(entry.path)
        return entry.is_dir(follow_symlinks=False)


def outward(links: Iterable[str], roots: Sequence[Path]) -> Sequence[Link]:
    """Return the links that lead out of these directories."""
    found: list[Link] = []
    for link in map(Path, links):
        if len(found) == _MOST_OUTWARD:
            break
        target = Path(os.path.realpath(link))
        if any(target.is_relative_to(root) for root in roots) or _is_interpreter(link, target):
            continue
        if target.is_file():
            found.append(Link(link, "file"))
        elif target.is_dir():
            found.append(Link(link, "directory"))
        elif not os.path.lexists(target):
            found.append(Link(link, "nothing"))
    return found


def _part(tree: LinkTree, start: Path) -> LinkTree:
    """Return the part of a tree that is below a directory in it."""
    lead = f"{start}/"
    links, odd = ([path for path in paths if path.startswith(lead)] for paths in (tree.links, tree.odd))
    return LinkTree(links, odd, tree.complete)


def _is_interpreter(link: Path, target: Path) -> bool:
    """Return whether a link is the interpreter of a virtual environment, which contains no untrusted text."""
    named = _PYTHON.fullmatch(link.name) and _PYTHON.fullmatch(target.name)
    return bool(named) and (link.parent.parent / "pyvenv.cfg").is_file()
