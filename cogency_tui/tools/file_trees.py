"""What lies below directories, as far as it matters to commands that are given the names of it.

Each directory is looked through once for one command, and no more entries in all than are allowed. Links are
not followed. The calls block.
"""

import os
import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from cogency_tui.tools.odd_names import is_plain

_MOST_OUTWARD = 100
"""Links that are told of one tree; one is enough to ask."""

_PYTHON = re.compile(r"python[\d.]*")

Kind = Literal["file", "directory", "nothing"]


@dataclass(frozen=True, slots=True)
class Link:
    """A link that leads outside, and what is there."""

    path: Path
    kind: Kind


@dataclass
class Tree:
    """The links below a directory, and what has a name that is not plain. It is not `complete` where there
    was too much to look at."""

    links: list[str] = field(default_factory=list[str])
    odd: list[str] = field(default_factory=list[str])
    complete: bool = True

    @cached_property
    def odd_names(self) -> Set[str]:
        """The names that are not plain."""
        return {path.rpartition("/")[2] for path in self.odd}


class Trees:
    """Looks through directories for one command, through at most `entries` entries in all."""

    def __init__(self, entries: int) -> None:
        self._left = entries
        self._found: dict[Path, Tree] = {}
        self._outward: dict[Path, Sequence[Link]] = {}

    def below(self, start: Path) -> Tree:
        """What lies below a directory."""
        if start not in self._found:
            above = next((path for path in start.parents if path in self._found), None)
            self._found[start] = self._walked(start) if above is None else _part(self._found[above], start)
        return self._found[start]

    def outward(self, start: Path, roots: Sequence[Path]) -> Sequence[Link]:
        """The links below a directory that lead out of these, which are the same for one command."""
        if start not in self._outward:
            self._outward[start] = outward(self.below(start).links, roots)
        return self._outward[start]

    def _walked(self, start: Path) -> Tree:
        tree = Tree()
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

    def _enters(self, entry: "os.DirEntry[str]", tree: Tree) -> bool:
        """Note an entry; whether to go on in it."""
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
    """Those of some links that lead out of these directories."""
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


def _part(tree: Tree, start: Path) -> Tree:
    """The part of a tree that lies below a directory in it."""
    lead = f"{start}/"
    links, odd = ([path for path in paths if path.startswith(lead)] for paths in (tree.links, tree.odd))
    return Tree(links, odd, tree.complete)


def _is_interpreter(link: Path, target: Path) -> bool:
    """Whether a link is the interpreter of a virtual environment: it holds no text of anybody's."""
    named = _PYTHON.fullmatch(link.name) and _PYTHON.fullmatch(target.name)
    return bool(named) and (link.parent.parent / "pyvenv.cfg").is_file()
