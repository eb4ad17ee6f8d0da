"""The lines of a diff as sequences. A run of lines of one kind may be very long: it makes each when it is
looked at."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from cogency_tui.agent.review.file_diff import FileDiff
from cogency_tui.agent.review.model import Hunk, Row
from cogency_tui.workspace.merge import Range


class Rows(Protocol):
    """Lines by their number from 0."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Row: ...

    def __iter__(self) -> Iterator[Row]: ...

    def texts(self) -> Sequence[str]: ...


class Listed(list[Row]):
    """Lines that are all there."""

    def texts(self) -> Sequence[str]:
        """What they say."""
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
        """What they say."""
        return self.side[self.first : self.end]


def rows_of_hunk(diff: FileDiff, hunk: Hunk) -> Rows:
    """The lines of a hunk."""
    if len(hunk.changes) == 1:
        old, old_end, new, new_end = hunk.changes[0]
        outline = hunk.outline
        if (outline.old, outline.new) == ((old, old_end), (new, new_end)):
            if old == old_end:
                return Run(Row("added", None, new + 1, ""), diff.new, new, new_end)
            if new == new_end:
                return Run(Row("removed", old + 1, None, ""), diff.old, old, old_end)
    return Listed(diff.rows(hunk))


def unchanged_rows(diff: FileDiff, old: Range, new: int) -> Rows:
    """Lines outside of changes: those at `old`, of which the first is at `new` in the other side."""
    return Run(Row("same", old[0] + 1, new + 1, ""), diff.old, *old)
