"""What git makes of the versions of a file that commits have: it merges what changed between two of them into
a third, and goes on from there, as a rebase does.

Where both sides changed the same lines, git leaves both of them in the file, between marks. The calls block.
"""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

from cogency_tui.tools.git_merges import MergingRepository

_MOST = 400
_SECONDS = 10.0
"""Merges that are tried for the files of one command, and for how long."""

_MOST_TIPS = 8
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_MARK = re.compile(rb"(<{7}|\|{7}|={7}|>{7})(?: ([^\r\n]{1,300}))?\r?\n?")
_TURNS = {b"<": (b"",), b"|": (b"<",), b"=": (b"<", b"|"), b">": (b"=",)}
"""Between the sides of a conflict: each mark, and those that may come before it; none outside of one."""

Change = tuple[bytes, bytes]
"""What a file had before, and what after."""


@dataclass(frozen=True, slots=True)
class Sides:
    """A file with each of its conflicts resolved to one side, and to the other."""

    ours: bytes
    theirs: bytes

    @classmethod
    def of(cls, ours: bytes, theirs: bytes | None = None) -> "Sides":
        """Without the end of the last line, which git adds within a conflict."""
        return cls(*(each.removesuffix(b"\n") for each in (ours, ours if theirs is None else theirs)))


def sides(text: bytes, is_label: Callable[[str], bool], base: frozenset[bytes] | None) -> Sides | None:
    """Both sides of a file; None where the sides of a conflict are the same, or something other than the
    lines of a `base` or a label that git gives is in its marks."""
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
    """The merges of one command, of which there are so many and no more."""

    def __init__(self, repository: MergingRepository) -> None:
        self._repository = repository
        self._left = _MOST
        self._until = time.monotonic() + _SECONDS

    @property
    def may_go_on(self) -> bool:
        return self._left > 0 and time.monotonic() < self._until

    def merged(self, ours: bytes, change: Change, *, union: bool) -> bytes | None:
        """What git makes of a text and a change, with marks where both changed the same lines."""
        self._left -= 1
        return self._repository.merged(ours, *change, union=union)


class Search:
    """Looks for the merges of which a file is made: `wanted` are its sides, `tips` what they may begin with.
    Where git `favors` a side, it leaves no conflict, nor in a `union`."""

    def __init__(
        self, merges: Merges, wanted: Sides, tips: Iterable[bytes], *, favors: bool, union: bool
    ) -> None:
        self._merges = merges
        self._wanted = wanted
        self._favors = favors
        self._union = union
        self._reached = [*dict.fromkeys(tips)]
        self._tried: dict[tuple[bytes, Change], bytes | None] = {}
        self._found = False

    def finds(
        self, first: Iterable[tuple[bytes, Change]], named: Sequence[Change], between: Sequence[Change]
    ) -> bool:
        """Whether it is made as the `first` say, of which each is a text and a change; by the changes that
        are `named`, by those `between` one after the other, or by what lies between any two versions."""
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
        """One after the other, as a rebase does."""
        for change in changes:
            if self._is_over:
                return
            result = self._merge(ours, change)
            ours = ours if result is None else result

    @property
    def _is_over(self) -> bool:
        return self._found or not self._merges.may_go_on

    def _merge(self, ours: bytes, change: Change) -> bytes | None:
        """What a change makes of a text; None where both changed the same lines."""
        key = ours, change
        if key not in self._tried:
            self._tried[key] = self._merged_anew(ours, change)
        return self._tried[key]

    def _merged_anew(self, ours: bytes, change: Change) -> bytes | None:
        text = change[1] if ours in change else self._merges.merged(ours, change, union=self._union)
        made = None if text is None else sides(text, lambda _label: True, None)
        if text is None or made is None:
            return None
        results = [Sides(each, each) for each in (made.ours, made.theirs)] if self._favors else [made]
        self._found = self._found or self._wanted in results
        if made.ours != made.theirs:
            return None
        if text not in self._reached:
            self._reached.append(text)
        return text
