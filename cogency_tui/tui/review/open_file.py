"""The open file of the review: its lines as they are drawn, and the user's folds and picks in it.

Construction blocks, and runs off the event loop: a file may have very many lines.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from cogency_tui.agent.edits.reverse import Obstacle
from cogency_tui.agent.review.conflicts import Choice
from cogency_tui.agent.review.file_diff import FileDiff
from cogency_tui.agent.review.lines_of_others import OthersLines
from cogency_tui.agent.review.model import ChangedFile, Hunk, HunkFate, Rewrite
from cogency_tui.tui.kit.code import Pieces
from cogency_tui.tui.kit.diff_rows import Coloring
from cogency_tui.tui.review.rewrites import Part, parts_of
from cogency_tui.workspace.diff_rows import ListedLines, Row, Rows, Run, Span
from cogency_tui.workspace.three_way_merge import Range


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


@dataclass(slots=True, eq=False)
class OpenFile:
    """`rows` are the lines of each hunk. `parts`, `conflicts` and `choices` are by the id of a hunk: its rows
    divided where some were changed since; a choice is None until one is made for that place. `others` are the
    lines of other conversations."""

    diff: FileDiff
    rows: list[Rows]
    coloring: Coloring
    unfolded: set[int] = field(default_factory=set[int])
    picked: Collection[str] = frozenset[str]()
    fates: dict[str, HunkFate] = field(default_factory=dict[str, HunkFate])
    parts: dict[str, list[Part]] = field(default_factory=dict[str, list[Part]])
    others: Sequence[OthersLines] = ()
    conflicts: dict[str, Obstacle] = field(default_factory=dict[str, Obstacle])
    choices: dict[str, list[Choice | None]] = field(default_factory=dict[str, list[Choice | None]])

    def pieces(self, row: Row) -> Pieces:
        """The parts of a line, each with its color role."""
        return self.coloring.pieces(row)

    def changed_words(self, row: Row) -> Sequence[Span]:
        """The characters of a line that differ from its twin."""
        return self.diff.changed_words(row)

    @property
    def file(self) -> ChangedFile:
        return self.diff.file

    @property
    def hunks(self) -> Sequence[Hunk]:
        return self.diff.hunks

    def survived(self, fates: Iterable[HunkFate]) -> None:
        """Set the fates of the hunks."""
        self.fates = {fate.hunk: fate for fate in fates}
        pairs = zip(self.hunks, self.rows, strict=True)
        self.parts = {
            hunk.id: parts_of(rows, self.fates[hunk.id].rewrites)
            for hunk, rows in pairs
            if hunk.id in self.fates
        }

    @property
    def notes(self) -> Sequence[str]:
        """The notes of the diff, and which lines are of other conversations."""
        return [*self.diff.notes, *map(describe_others, self.others)]

    def take(self, file: ChangedFile) -> bool:
        """Update the file's state; return False if its lines changed, so that they have to be read again."""
        old = self.file
        if (file.key, file.hunks, file.edits, file.no_lines) != (old.key, old.hunks, old.edits, old.no_lines):
            return False
        hunks = tuple(
            replace(
                hunk,
                state=state,
                comments=tuple(each for each in file.comments if each.hunk == hunk.id),
                last_edit=file.last_edits.get(hunk.id),
            )
            for hunk, state in zip(self.hunks, file.states, strict=False)
        )
        for hunk in hunks:
            if file.texts.get(hunk.id) != old.texts.get(hunk.id):
                # It is about other lines; what is drawn of it stays until the next one.
                self.fates.pop(hunk.id, None)
        self.diff = replace(self.diff, file=file, hunks=hunks)
        return True

    def take_over(self, other: "OpenFile") -> None:
        """Adopt the folds from an earlier state of the same file."""
        self.survived(other.fates.values())
        self.others = other.others
        if len(other.hunks) == len(self.hunks):
            self.unfolded = other.unfolded

    def text(self, hunk: Hunk) -> str:
        """The lines of a hunk, each with a newline: those in the file, or of a reverted one the agent's."""
        fate = self.fates.get(hunk.id)
        if fate is None and (written := self.file.texts.get(hunk.id)) is not None:
            return written
        rewrites = fate.rewrites if fate and hunk.state not in ("reverted", "conflict") else ()
        return "".join(f"{line}\n" for line in self._lines(hunk.outline.new, rewrites))

    def changed_by(self, id: str) -> str:
        """The title of the one other conversation that changed the lines of a hunk since; else empty."""
        fate = self.fates.get(id)
        titles = {rewrite.by for rewrite in fate.rewrites} if fate else set[str]()
        return titles.pop() if len(titles) == 1 else ""

    def line(self, hunk: Hunk) -> int:
        """The line of a hunk in the file, from 1, or where the agent left it."""
        fate = self.fates.get(hunk.id)
        return (fate.line if fate else 0) or hunk.outline.new[0] + 1

    def _lines(self, own: Range, rewrites: Iterable[Rewrite]) -> Iterator[str]:
        done, end = own
        for rewrite in rewrites:
            yield from (*self.diff.new[done : rewrite.first], *rewrite.texts)
            done = rewrite.end
        yield from self.diff.new[done:end]

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


_MOST_RANGES = 6


def describe_others(others: OthersLines) -> str:
    """`Lines 3–5 and 12 of the file are from “fix parser”, and not part of this review.`"""
    ranges = [str(first + 1) if end - first == 1 else f"{first + 1}–{end}" for first, end in others.ranges]
    more = len(ranges) - _MOST_RANGES
    ranges = [*ranges[:_MOST_RANGES], f"{more} more places"] if more > 1 else ranges
    listed = f"{', '.join(ranges[:-1])} and {ranges[-1]}" if len(ranges) > 1 else ranges[0]
    is_one = len(others.ranges) == 1 and others.ranges[0][1] - others.ranges[0][0] == 1
    whose = f"“{others.title}”" if others.title else "another conversation"
    lines = f"Line {listed} of the file is" if is_one else f"Lines {listed} of the file are"
    return f"{lines} from {whose}, and not part of this review."


def read_open(diff: FileDiff) -> OpenFile:
    """Prepare a diff for drawing. Blocks."""
    coloring = Coloring(diff.file.path, diff.old, diff.new, whole=_COLORED_WHOLE)
    coloring.read()
    return OpenFile(diff, [rows_of_hunk(diff, hunk) for hunk in diff.hunks], coloring)
