"""Replays git merges: merges the change between two versions of a file into a third, and continues from
there, as a rebase does.

If both sides changed the same lines, git leaves both of them in the file, between marks. The calls block.
"""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

from cogency_tui.workspace.git.merge_repository import MergingRepository

_MOST = 400
_SECONDS = 10.0
"""Limits on the merges tried for the files of one command: their number, and the seconds."""

_MOST_TIPS = 8
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_MARK = re.compile(rb"(<{7}|\|{7}|={7}|>{7})(?: ([^\r\n]{1,300}))?\r?\n?")
_TURNS = {b"<": (b"",), b"|": (b"<",), b"=": (b"<", b"|"), b">": (b"=",)}
"""The marks of a conflict, each with the marks that may precede it; none outside of one."""

Change = tuple[bytes, bytes]
"""The content of a file before and after."""


@dataclass(frozen=True, slots=True)
class Sides:
    """A file with all its conflicts resolved to one side, and to the other."""

    ours: bytes
    theirs: bytes

    @classmethod
    def of(cls, ours: bytes, theirs: bytes | None = None) -> "Sides":
        """Without the end of the last line, which git adds within a conflict."""
        return cls(*(each.removesuffix(b"\n") for each in (ours, ours if theirs is None else theirs)))


def sides(text: bytes, is_label: Callable[[str], bool], base: frozenset[bytes] | None) -> Sides | None:
    """Both sides of a file. None if the sides of a conflict are the same, or if the marks contain anything
    but the lines of a `base` or labels that git writes.
    """
    ours, theirs = list[bytes](), list[bytes]()
    place, begun = b"", (0, 0)
    for line in _LINE.findall(text):
        mark = _MARK.fullmatch(line)
        if mark and place in _TURNS[mark[1][:1]]:
            if mark[2] and not is_label(mark[2].decode(errors="replace")):
                return None
            place = mark[1][:1]
            if place == b"<":
                begun = len(ours), len(theirs)
            elif place == b">":
                place = b""
                if ours[begun[0] :] == theirs[begun[1] :]:
                    return None
        elif place == b"|":
            if base is not None and line.rstrip(b"\r\n") not in base:
                return None
        else:
            ours += [line] * (place != b"=")
            theirs += [line] * (place != b"<")
    return None if place else Sides.of(b"".join(ours), b"".join(theirs))


class Merges:
    """The merges of one command, limited in number and time."""

    def __init__(self, repository: MergingRepository) -> None:
        self._repository = repository
        self._left = _MOST
        self._until = time.monotonic() + _SECONDS

    @property
    def may_go_on(self) -> bool:
        return self._left > 0 and time.monotonic() < self._until

    def merged(self, ours: bytes, change: Change, *, union: bool) -> bytes | None:
        """The merge of a text and a change by git, with marks where both changed the same lines."""
        self._left -= 1
        return self._repository.merged(ours, *change, union=union)


class Search:
    """Searches for the merges that yield a file: `expected` are its sides, `tips` the versions to start from.
    If git `favors` a side, or merges as `union`, it leaves no conflict.
    """

    def __init__(
        self, merges: Merges, expected: Sides, tips: Iterable[bytes], *, favors: bool, union: bool
    ) -> None:
        self._merges = merges
        self._expected = expected
        self._favors = favors
        self._union = union
        self._reached = [*dict.fromkeys(tips)]
        self._tried: dict[tuple[bytes, Change], bytes | None] = {}
        self._found = False

    def finds(
        self, first: Iterable[tuple[bytes, Change]], named: Sequence[Change], between: Sequence[Change]
    ) -> bool:
        """Return whether the file results from a merge of the `first`, each a text and a change; by a `named`
        change, by the changes `between` one after the other, or by the change between any two versions.
        """
        self._merge_each(first)
        versions = dict.fromkeys(chain.from_iterable((*between, *named)))
        tips = self._reached[:_MOST_TIPS]
        self._merge_each((ours, change) for change in named for ours in tips)
        for ours in tips:
            self._merge_all(ours, between)
        every = dict.fromkeys((*named, *combinations(versions, 2)))
        self._merge_each((ours, change) for ours in self._reached for change in every)
        return self._found

    def _merge_each(self, pairs: Iterable[tuple[bytes, Change]]) -> None:
        for ours, change in pairs:
            if self._is_over:
                return
            self._merge(ours, change)

    def _merge_all(self, ours: bytes, changes: Sequence[Change]) -> None:
        """Merge changes one after the other, as a rebase does."""
        for change in changes:
            if self._is_over:
                return
            result = self._merge(ours, change)
            ours = ours if result is None else result

    @property
    def _is_over(self) -> bool:
        return self._found or not self._merges.may_go_on

    def _merge(self, ours: bytes, change: Change) -> bytes | None:
        """A text after a change; None if both changed the same lines."""
        key = ours, change
        if key not in self._tried:
            self._tried[key] = self._merge_now(ours, change)
        return self._tried[key]

    def _merge_now(self, ours: bytes, change: Change) -> bytes | None:
        text = change[1] if ours in change else self._merges.merged(ours, change, union=self._union)
        made = None if text is None else sides(text, lambda _label: True, None)
        if text is None or made is None:
            return None
        results = [Sides(each, each) for each in (made.ours, made.theirs)] if self._favors else [made]
        self._found = self._found or self._expected in results
        if made.ours != made.theirs:
            return None
        if text not in self._reached:
            self._reached.append(text)
        return text
