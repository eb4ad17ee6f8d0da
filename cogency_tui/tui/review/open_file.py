"""The open file of the review: its lines as they are drawn, and the user's folds and picks in it.

Construction blocks, and runs off the event loop: a file may have very many lines.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from cogency_tui.agent.edits.reverse import Obstacle
from cogency_tui.agent.review.conflicts import Choice
from cogency_tui.agent.review.file_diff import FileDiff
from cogency_tui.agent.review.model import ChangedFile, Hunk, HunkFate, Row
from cogency_tui.tui.kit.code import read_code
from cogency_tui.tui.kit.file_text import language_of
from cogency_tui.workspace.three_way_merge import Range


class Rows(Protocol):
    """Lines by their number from 0. A run of one kind may be very long: it creates each line on request."""

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
    return ListedLines(diff.rows(hunk))


def unchanged_rows(diff: FileDiff, old: Range, new: int) -> Rows:
    """Unchanged lines: those at `old`, of which the first is at `new` on the other side."""
    return Run(Row("same", old[0] + 1, new + 1, ""), diff.old, *old)


WHOLE_FILE = ""
"""The id in place of a hunk's, for a file without hunks."""

_COLORED_WHOLE = 60_000
"""Characters of both sides up to which they are colored as a whole, not line by line."""

_CACHED = 2_000

Pieces = Sequence[tuple[str, str]]
"""The parts of a line of code, each with its color role."""


class Coloring:
    """The colors of a diff's lines.

    Strings and comments that span several lines are right only if the file is short enough to be read as a
    whole.
    """

    def __init__(self, diff: FileDiff) -> None:
        self._language = language_of(diff.file.path)
        self._sides: list[list[Pieces]] = []
        self._lines: OrderedDict[str, Pieces] = OrderedDict()
        size = sum(map(len, diff.old)) + sum(map(len, diff.new))
        if self._language and size <= _COLORED_WHOLE:
            self._sides = [[*read_code(self._language, "\n".join(side))] for side in (diff.old, diff.new)]

    def pieces(self, row: Row) -> Pieces:
        """The pieces of a line, which together are its text."""
        side, number = (0, row.old) if row.kind == "removed" else (1, row.new)
        if self._sides and number and number <= len(self._sides[side]):
            pieces = self._sides[side][number - 1]
            if "".join(text for text, _ in pieces) == row.text:
                return pieces
        return self._by_itself(row.text)

    def _by_itself(self, text: str) -> Pieces:
        pieces = self._lines.get(text)
        if pieces is None:
            read = [*read_code(self._language, text)]
            # A line that the lexer changes is shown as it is.
            whole = len(read) == 1 and "".join(piece for piece, _ in read[0]) == text
            pieces = self._lines[text] = read[0] if whole else [(text, "text")]
            if len(self._lines) > _CACHED:
                self._lines.popitem(last=False)
        return pieces


@dataclass(slots=True, eq=False)
class OpenFile:
    """`rows` are the lines of each hunk. `conflicts` and `choices` are by the id of a hunk; a choice is
    None until one is made for that place."""

    diff: FileDiff
    rows: list[Rows]
    coloring: Coloring
    unfolded: set[int] = field(default_factory=set[int])
    picked: set[str] = field(default_factory=set[str])
    fates: dict[str, HunkFate] = field(default_factory=dict[str, HunkFate])
    conflicts: dict[str, Obstacle] = field(default_factory=dict[str, Obstacle])
    choices: dict[str, list[Choice | None]] = field(default_factory=dict[str, list[Choice | None]])

    @property
    def file(self) -> ChangedFile:
        return self.diff.file

    @property
    def hunks(self) -> Sequence[Hunk]:
        return self.diff.hunks

    def take(self, file: ChangedFile) -> bool:
        """Update the file's state; return False if its lines changed, so that they have to be read again."""
        old = self.file
        if (file.key, file.hunks, file.edits, file.no_lines) != (old.key, old.hunks, old.edits, old.no_lines):
            return False
        hunks = tuple(
            replace(hunk, state=state, comments=tuple(each for each in file.comments if each.hunk == hunk.id))
            for hunk, state in zip(self.hunks, file.states, strict=False)
        )
        self.diff = replace(self.diff, file=file, hunks=hunks)
        return True

    def take_over(self, other: "OpenFile") -> None:
        """Adopt the folds and picks from an earlier state of the same file."""
        self.picked = other.picked & {hunk.id for hunk in self.hunks}
        self.fates = other.fates
        if len(other.hunks) == len(self.hunks):
            self.unfolded = other.unfolded

    def in_conflict(self) -> list[str]:
        """The ids of the hunks in conflict, or that of the file."""
        if not self.hunks:
            return [WHOLE_FILE] if self.file.state == "conflict" else []
        return [hunk.id for hunk in self.hunks if hunk.state == "conflict"]

    def settle(self, conflicts: dict[str, Obstacle]) -> None:
        """Set the conflicts; choices for unchanged ones stay."""
        choices: dict[str, list[Choice | None]] = {}
        for id, obstacle in conflicts.items():
            places = len(obstacle.merged.conflicts) if obstacle.merged else 1
            same = self.conflicts.get(id) == obstacle
            choices[id] = self.choices[id] if same else [None] * places
        self.conflicts, self.choices = conflicts, choices


def read_open(diff: FileDiff) -> OpenFile:
    """Prepare a diff for drawing. Blocks."""
    return OpenFile(diff, [rows_of_hunk(diff, hunk) for hunk in diff.hunks], Coloring(diff))
