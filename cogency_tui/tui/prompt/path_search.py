"""The paths of a project, matched against a few typed letters.

Invariant: a search costs a few scans of two joined texts in C, for any input, so that it can run at each
key. Textual's `FuzzySearch` tries all ways to match letters, path by path: 0.5 to 2 s for 50,000 files
(measured), where this takes 1 to 30 ms.

The paths are ordered by quality as answers, shallow and short ones first, so that the first hits of a scan
are the best of their kind and the rest need no search.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from heapq import nlargest
from itertools import accumulate, islice, pairwise
from typing import TYPE_CHECKING

from cogency_tui.errors import CogencyError
from cogency_tui.tui.kit.fuzzy import fold, matched

if TYPE_CHECKING:
    from cogency_tui.workspace.paths import Workspace

MOST_PATHS = 200_000
MOST_FOUND = 100
_SCORED = 400
"""Paths that are scored when only scattered letters match."""

_DEEP = 64


class Paths:
    """The files and directories of a project, relative to it; those of directories end in `/`."""

    def __init__(self, paths: Iterable[str], exists: Callable[[str], bool] = lambda path: False) -> None:
        self.exists = exists
        """Returns whether there is a file or directory at a path, which may be ignored. Blocks."""
        by_depth: list[list[str]] = [[] for _ in range(_DEEP)]
        for path in paths:
            # An invisible name cannot be chosen, and a line break would split the joined text.
            if path.isprintable():
                by_depth[min(path.count("/", 0, -1), _DEEP - 1)].append(path)
        self.top = _as_listed(by_depth[0])
        self.all: list[str] = []
        for level in by_depth:
            level.sort(key=len)
            self.all += level
        folded = [fold(path) for path in self.all]
        self._paths = _Column(folded)
        self._names = _Column([path[path.rfind("/", 0, -1) + 1 :] for path in folded])

    def find(self, query: str) -> list[str]:
        """The matching paths, the best first, at most `MOST_FOUND`: first the file at the path `query`; the
        directory there is left out."""
        typed, query = query, fold(query)
        if not query:
            return self.top[:MOST_FOUND]
        exact = sorted(self._paths.equal(query), key=lambda place: self.all[place] != typed)
        found = dict.fromkeys(exact)
        if "/" in query:
            for place in _by_name(list(islice(self._paths.starting(query), _SCORED)), self.all):
                found[place] = None
        for scan in (self._names.starting, self._names.holding, self._paths.holding):
            for place in scan(query):
                found[place] = None
                if len(found) > MOST_FOUND:
                    break
            if len(found) > MOST_FOUND:
                break
        if len(found) <= MOST_FOUND:
            for place in self._scattered(query):
                found[place] = None
        texts = (self.all[place] for place in found)
        is_directory = query.endswith("/")
        return list(islice((p for p in texts if not (is_directory and fold(p) == query)), MOST_FOUND))

    def begins(self, prefix: str) -> bool:
        """Return whether a path begins with `prefix`."""
        return next(self._paths.starting(fold(prefix)), None) is not None

    def _scattered(self, query: str) -> list[int]:
        """The places of the paths with these letters in order, the most plausible matches first."""
        places = islice(self._paths.scattered(query), _SCORED)
        scored = [(_score(matched(query, self.all[place])), -place) for place in places]
        return [-place for _score_, place in nlargest(MOST_FOUND, scored)]


class _Column:
    """Texts joined to one, so that all are scanned at once."""

    def __init__(self, texts: list[str]) -> None:
        self._joined = "\n" + "\n".join(texts) + "\n"
        self._starts = list(accumulate((len(text) + 1 for text in texts), initial=1))

    def equal(self, query: str) -> Iterator[int]:
        """The numbers of the texts that are `query`."""
        return self._scan(f"\n{query}\n", 1)

    def starting(self, query: str) -> Iterator[int]:
        """The numbers of the texts that begin with `query`."""
        return self._scan(f"\n{query}", 1)

    def holding(self, query: str) -> Iterator[int]:
        """The numbers of the texts that contain `query`."""
        return self._scan(query, 0)

    def scattered(self, query: str) -> Iterator[int]:
        """The numbers of the texts that have the letters of `query` in this order."""
        steps = (f"[^\n{re.escape(letter)}]*+{re.escape(letter)}" for letter in query)
        for match in re.compile("\n" + "".join(steps)).finditer(self._joined):
            yield bisect_right(self._starts, match.start() + 1) - 1

    def _scan(self, query: str, lead: int) -> Iterator[int]:
        joined, starts = self._joined, self._starts
        at = joined.find(query)
        while at != -1:
            place = bisect_right(starts, at + lead) - 1
            if place < len(starts) - 1:
                yield place
            at = joined.find(query, starts[min(place + 1, len(starts) - 1)] - 1)
            if at != -1 and place + 1 >= len(starts) - 1:
                return


def _score(places: list[int]) -> int:
    """The plausibility of scattered letters: higher for fewer runs and shorter distances."""
    if not places:
        return -(1 << 20)
    runs = sum(1 for one, other in pairwise(places) if other != one + 1)
    return -(runs * 8 + places[-1] - places[0])


def _as_listed(paths: Iterable[str]) -> list[str]:
    """Directories first, each by name."""
    return sorted(paths, key=lambda path: (not path.endswith("/"), fold(path)))


def _by_name(places: list[int], paths: list[str]) -> list[int]:
    def key(place: int) -> tuple[int, bool, str]:
        path = paths[place]
        return path.count("/", 0, -1), not path.endswith("/"), fold(path)

    return sorted(places, key=key)


def read_paths(workspace: "Workspace") -> Paths:
    """Read the paths of a project without ignored ones, at most `MOST_PATHS`. Blocks.

    Raises:
        WorkspaceError: the project cannot be read.
    """
    from cogency_tui.workspace.gitignore_walk import WorkspaceTree

    paths: list[str] = []
    with closing(WorkspaceTree(workspace).walk(workspace.locate("."))) as levels:
        for level in levels:
            paths += [f"{entry.path}/" for entry in level.directories]
            paths += [entry.path for entry in level.others]
            if len(paths) >= MOST_PATHS:
                break
    return Paths(paths[:MOST_PATHS], partial(_exists, workspace))


def _exists(workspace: "Workspace", path: str) -> bool:
    try:
        return workspace.locate(path).path.exists()
    except (CogencyError, OSError, ValueError):
        return False
