"""What lies below directories, as far as it matters to commands that are given the names of it.

Each directory is looked through once for one command, and no more entries in all than are allowed. Links are
not followed. The calls block.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

from cogency_tui.tools.odd_names import is_odd


@dataclass(slots=True)
class Tree:
    """The links below a directory, and what has an odd name. It is not `complete` where there was too much
    to look at."""

    links: list[Path] = field(default_factory=list[Path])
    odd: list[Path] = field(default_factory=list[Path])
    complete: bool = True


class Trees:
    """Looks through directories for one command, through at most `entries` entries in all."""

    def __init__(self, entries: int) -> None:
        self._left = entries
        self._found: dict[Path, Tree] = {}

    def below(self, start: Path) -> Tree:
        """What lies below a directory."""
        if start not in self._found:
            above = next((path for path in start.parents if path in self._found), None)
            self._found[start] = self._walked(start) if above is None else _part(self._found[above], start)
        return self._found[start]

    def _walked(self, start: Path) -> Tree:
        tree = Tree(complete=self._left >= 0)
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
                    for entry in entries:
                        self._left -= 1
                        if is_odd(entry.name):
                            tree.odd.append(Path(entry.path))
                        if entry.is_symlink():
                            tree.links.append(Path(entry.path))
                        elif entry.is_dir(follow_symlinks=False):
                            pending.append(Path(entry.path))
                        tree.complete = self._left >= 0
                        if not tree.complete:
                            break
            except OSError:
                continue
        return tree


def _part(tree: Tree, start: Path) -> Tree:
    """The part of a tree that lies below a directory in it."""
    links = [path for path in tree.links if path.is_relative_to(start)]
    odd = [path for path in tree.odd if path.is_relative_to(start)]
    return Tree(links, odd, tree.complete)
