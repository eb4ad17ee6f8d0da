"""The file whose diff is open: its lines as they are drawn, and what the person has opened and picked in it.

Making one blocks, and is done off the loop: a file may have very many lines.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from cogency_tui.agent.reversal import Obstacle
from cogency_tui.agent.review.conflicts import Choice
from cogency_tui.agent.review.file_diff import FileDiff
from cogency_tui.agent.review.model import ChangedFile, Hunk, HunkFate, Row
from cogency_tui.tui.drawing.code import read_code
from cogency_tui.tui.preview import language_of
from cogency_tui.tui.review.lines_of_diff import Rows, rows_of_hunk

WHOLE_FILE = ""
"""Stands for the id of a hunk where a file has none."""

_COLOURED_WHOLE = 60_000
"""The most characters of both sides that are coloured as a whole; of more, each line by itself."""

_KEPT = 2_000

Pieces = Sequence[tuple[str, str]]
"""The parts of a line of code, each with the role that it is coloured by."""


class Colouring:
    """What the lines of a diff are coloured by.

    Where a text or comment goes on over several lines, they are right if the file is short enough to be read
    as a whole.
    """

    def __init__(self, diff: FileDiff) -> None:
        self._language = language_of(diff.file.path)
        self._sides: list[list[Pieces]] = []
        self._lines: OrderedDict[str, Pieces] = OrderedDict()
        size = sum(map(len, diff.old)) + sum(map(len, diff.new))
        if self._language and size <= _COLOURED_WHOLE:
            self._sides = [[*read_code(self._language, "\n".join(side))] for side in (diff.old, diff.new)]

    def pieces(self, row: Row) -> Pieces:
        """A line in pieces, which together are its text."""
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
            # What the lexer makes other lines of is shown as it is.
            whole = len(read) == 1 and "".join(piece for piece, _ in read[0]) == text
            pieces = self._lines[text] = read[0] if whole else [(text, "text")]
            if len(self._lines) > _KEPT:
                self._lines.popitem(last=False)
        return pieces


@dataclass(slots=True, eq=False)
class OpenFile:
    """`rows` are the lines of each hunk. `conflicts` and `choices` are by the id of a hunk; a choice is None
    as long as none is made for that place."""

    diff: FileDiff
    rows: list[Rows]
    colouring: Colouring
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
        """The file as it stands now; False where its lines are others, so that they have to be read again."""
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
        """What was opened and picked in what was shown of the same file before."""
        self.picked = other.picked & {hunk.id for hunk in self.hunks}
        self.fates = other.fates
        if len(other.hunks) == len(self.hunks):
            self.unfolded = other.unfolded

    def in_conflict(self) -> list[str]:
        """The hunks in conflict by their ids, or the file."""
        if not self.hunks:
            return [WHOLE_FILE] if self.file.state == "conflict" else []
        return [hunk.id for hunk in self.hunks if hunk.state == "conflict"]

    def settle(self, conflicts: dict[str, Obstacle]) -> None:
        """These are the conflicts now; what was chosen for those that are as they were stays."""
        choices: dict[str, list[Choice | None]] = {}
        for id, obstacle in conflicts.items():
            places = len(obstacle.merged.conflicts) if obstacle.merged else 1
            same = self.conflicts.get(id) == obstacle
            choices[id] = self.choices[id] if same else [None] * places
        self.conflicts, self.choices = conflicts, choices


def read_open(diff: FileDiff) -> OpenFile:
    """A diff made ready to be drawn. Blocks."""
    return OpenFile(diff, [rows_of_hunk(diff, hunk) for hunk in diff.hunks], Colouring(diff))
