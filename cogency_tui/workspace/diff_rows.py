"""The lines of a diff by number, each created on request: a diff may have very many.

Pure. Which words differ is determined only for the rows that are asked for.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Literal, NamedTuple, Protocol

RowKind = Literal["same", "removed", "added", "note"]
"""The kind of a row; a note is not a line of either side."""

_KINDS: dict[str, RowKind] = {" ": "same", "-": "removed", "+": "added", "\\": "note"}

Span = tuple[int, int]
"""Characters of a line: the first, and the one after the last."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a diff: its number before and after, from 1, None if it is missing there.

    `twin` is the index, in the other side's lines, of the line that it was changed from or to, if that can
    be determined: between these, words can be marked (`changed_words`).
    """

    kind: RowKind
    old: int | None
    new: int | None
    text: str
    twin: int | None = None


class Rows(Protocol):
    """Lines by their index from 0."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Row: ...

    def __iter__(self) -> Iterator[Row]: ...

    def texts(self) -> Sequence[str]: ...


class ListedLines(list[Row]):
    """Lines that all exist already."""

    def texts(self) -> Sequence[str]:
        """The texts of the lines."""
        return [row.text for row in self]


@dataclass(frozen=True, slots=True)
class Run:
    """Lines `first` to `end` of `side`; `like` is the first of them."""

    like: Row
    side: Sequence[str]
    first: int
    end: int

    def __len__(self) -> int:
        return self.end - self.first

    def __getitem__(self, index: int, /) -> Row:
        old, new = self.like.old, self.like.new
        return Row(
            self.like.kind,
            None if old is None else old + index,
            None if new is None else new + index,
            self.side[self.first + index],
        )

    def __iter__(self) -> Iterator[Row]:
        return (self[index] for index in range(len(self)))

    def texts(self) -> Sequence[str]:
        """The texts of the lines."""
        return self.side[self.first : self.end]


class _Stretch(NamedTuple):
    """Lines of one kind in a hunk: the index of the first, their count, and the first's numbers."""

    kind: RowKind
    first: int
    size: int
    old: int
    new: int


Twins = tuple[dict[int, int], dict[int, int]]
"""The added line that each removed one was changed into, by their places in their stretches; and back."""


class HunkRows:
    """The lines of one hunk of a unified diff, each given with its sign.

    `old` and `new` are the numbers of the first line on both sides, `old_end` and `new_end` those after the
    last.
    """

    def __init__(self, signed: Sequence[str], old: int = 1, new: int = 1) -> None:
        self.old = old
        self.new = new
        self._signed = signed
        self._stretches: list[_Stretch] = []
        first = 0
        for sign, lines in groupby(signed, itemgetter(slice(1))):
            kind, size = _KINDS[sign], sum(1 for _ in lines)
            self._stretches.append(_Stretch(kind, first, size, old, new))
            first += size
            old += size if kind in ("same", "removed") else 0
            new += size if kind in ("same", "added") else 0
        self.old_end = old
        self.new_end = new
        self._firsts = [stretch.first for stretch in self._stretches]
        self._twins: dict[int, Twins] = {}

    def __len__(self) -> int:
        return len(self._signed)

    def __getitem__(self, index: int, /) -> Row:
        place = bisect_right(self._firsts, index) - 1
        kind, first, _, old, new = self._stretches[place]
        text, offset = self._signed[index][1:], index - first
        match kind:
            case "same":
                return Row(kind, old + offset, new + offset, text)
            case "removed":
                twin = self._twins_of(place)[0].get(offset)
                return Row(kind, old + offset, None, text, None if twin is None else new + twin - 1)
            case "added":
                before = self._before(place)
                twin = None if before is None else self._twins_of(before)[1].get(offset)
                first_old = 0 if before is None else self._stretches[before].old
                return Row(kind, None, new + offset, text, None if twin is None else first_old + twin - 1)
            case "note":
                return Row(kind, None, None, text.strip())

    def __iter__(self) -> Iterator[Row]:
        return (self[index] for index in range(len(self)))

    def texts(self) -> Sequence[str]:
        """The texts of the lines."""
        return [line[1:] for line in self._signed]

    @cached_property
    def sides(self) -> tuple[list[str], list[str]]:
        """The lines before and after."""
        old = [line[1:] for line in self._signed if line[0] in " -"]
        return old, [line[1:] for line in self._signed if line[0] in " +"]

    @property
    def size(self) -> int:
        """The number of characters."""
        return sum(map(len, self._signed))

    def count(self, kind: RowKind) -> int:
        """The number of lines of this kind."""
        return sum(stretch.size for stretch in self._stretches if stretch.kind == kind)

    def changed_words(self, row: Row) -> tuple[Span, ...]:
        """The characters of a row that differ from its twin."""
        return changed_words(row, *self.sides, self.old - 1, self.new - 1)

    def _before(self, place: int) -> int | None:
        """The removed lines that the added ones of stretch `place` replace."""
        for other in range(place - 1, max(-1, place - 3), -1):
            kind = self._stretches[other].kind
            if kind != "note":
                return other if kind == "removed" else None
        return None

    def _after(self, place: int) -> int | None:
        """The added lines that replace the removed ones of stretch `place`."""
        for other in range(place + 1, min(len(self._stretches), place + 3)):
            kind = self._stretches[other].kind
            if kind != "note":
                return other if kind == "added" else None
        return None

    def _twins_of(self, place: int) -> Twins:
        """Pair the removed lines of stretch `place` with the added ones below it."""
        found = self._twins.get(place)
        if found is None:
            # Imports difflib, which the first frame does not need.
            from cogency_tui.workspace.intraline import twins

            after = self._after(place)
            pairs = {} if after is None else twins(self._lines(place), self._lines(after))
            found = self._twins[place] = pairs, {new: old for old, new in pairs.items()}
        return found

    def _lines(self, place: int) -> list[str]:
        _, first, size, _, _ = self._stretches[place]
        return [line[1:] for line in self._signed[first : first + size]]


def changed_words(
    row: Row, old: Sequence[str], new: Sequence[str], old_before: int = 0, new_before: int = 0
) -> tuple[Span, ...]:
    """The characters of a removed or an added line that differ from its twin; none without one.

    `old` and `new` are the lines of both sides, without the first `old_before` and `new_before` ones.
    """
    if row.twin is None or row.kind not in ("removed", "added"):
        return ()
    from cogency_tui.workspace.intraline import marks

    if row.kind == "removed":
        return marks(row.text, new[row.twin - new_before])[0]
    return marks(old[row.twin - old_before], row.text)[1]
