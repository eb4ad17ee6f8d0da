"""A diff laid out: its sections one below the other, and the section of each line.

Invariant: if there is a hunk, every line belongs to one; lines before the first belong to the first.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from rich.segment import Segment

from cogency_tui.agent.review.model import Hunk, Rewrite
from cogency_tui.tui.kit.diff_rows import Pen
from cogency_tui.tui.kit.lines import BLANK, Line, width_of
from cogency_tui.tui.review.diff_annotations import (
    draw_comments,
    draw_conflict,
    draw_fold,
    draw_head,
    draw_notes,
    draw_problems,
)
from cogency_tui.tui.review.open_file import WHOLE_FILE, OpenFile, unchanged_rows
from cogency_tui.tui.review.rewrites import Part, draw_rewrite
from cogency_tui.tui.review.section_drawing import Fold, Key, Section, SideBySide, Texts, Unified
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.workspace.diff_rows import ListedLines, Rows
from cogency_tui.workspace.three_way_merge import Range

CONTEXT = 3
"""Unchanged lines that are shown around a hunk."""

_SHORTEST = 2
"""Hidden lines up to which no fold is made: it would save nothing."""

FREE: Key = ("free", "")
"""The key of the lines that are left free."""


class Gap(NamedTuple):
    """Lines to leave free below a hunk, or above all of them (`WHOLE_FILE`)."""

    hunk: str
    rows: int


Known = dict[tuple[str, int, Range, bool, int], Section]


class Layout:
    """The sections of `file` in `width` cells, side by side if `split`.

    `known` caches sections of lines for the same file, width, colors and arrangement; `gap` leaves lines
    free below a hunk.
    """

    def __init__(
        self,
        file: OpenFile,
        width: int,
        styles: ThemeStyles,
        known: Known,
        *,
        split: bool,
        gap: Gap | None = None,
    ) -> None:
        self.file = file
        self._free = gap
        self._known = known
        self._split = split
        digits = len(str(max(len(file.diff.old), len(file.diff.new), 1)))
        self._pen = Pen(file, width, styles, digits)
        self.sections: Sequence[Section] = [each for each in self._make() if len(each)]
        self._tops = [0, *accumulate(len(each) for each in self.sections)]

    @property
    def height(self) -> int:
        return self._tops[-1]

    def locate(self, y: int) -> tuple[Section, int] | None:
        """The section of line `y`, and the line within it."""
        if not 0 <= y < self.height:
            return None
        index = bisect_right(self._tops, y) - 1
        return self.sections[index], y - self._tops[index]

    def line(self, y: int) -> Line | None:
        found = self.locate(y)
        return found[0].line(found[1]) if found else None

    def place(self, key: Key, offset: int) -> int | None:
        """The line that is `offset` lines into the section `key`, or its last one."""
        for top, section in zip(self._tops, self.sections, strict=False):
            if section.key == key:
                return top + min(offset, len(section) - 1)
        return None

    def hunk_span(self, index: int) -> Range:
        """The lines of a hunk, from its head to its last one, without the fold after it."""
        top = end = 0
        for start, section in zip(self._tops, self.sections, strict=False):
            if section.hunk == index and section.fold is None:
                top = start if section.key[0] == "head" else top
                end = start + len(section)
        return top, end

    def _make(self) -> Iterator[Section]:
        file, pen = self.file, self._pen
        yield Texts(("notes", ""), 0, draw_notes(file.file, file.notes, pen.width, pen.theme_styles))
        yield from self._conflict(WHOLE_FILE, 0)
        yield from self._free_lines(WHOLE_FILE, 0)
        gaps = file.diff.gaps()
        last = len(file.hunks)
        for index, (gap, new) in enumerate(gaps if file.hunks else []):
            yield from self._gap(index, gap, new, last)
            if index < last:
                yield from self._hunk(index)

    def _gap(self, index: int, gap: Range, new: int, last: int) -> Iterator[Section]:
        """Yield unchanged lines: those around the hunks, and between them a fold or all of them."""
        start, end = gap
        lead = min(CONTEXT, end - start) if index < last else 0
        if not index and end - start - lead <= _SHORTEST:
            lead = end - start
        trail = min(CONTEXT, end - start - lead) if index else 0
        hidden = end - start - lead - trail
        owner = max(0, index - 1)
        folded = hidden > _SHORTEST and index not in self.file.unfolded
        after = trail if folded else trail + hidden
        yield self._unchanged("after", owner, (start, start + after), new)
        if folded:
            line = draw_fold(hidden, self._pen.width, self._pen.theme_styles)
            yield Fold(owner, index, line, new + after + 1)
        if index < last:
            yield from self._head(index)
            yield self._unchanged("before", index, (end - lead, end), new + end - lead - start)

    def _head(self, index: int) -> Iterator[Section]:
        file, pen = self.file, self._pen
        hunk = file.hunks[index]
        # A reverted hunk is gone, and an edited one changed, for that reason.
        fate = None if hunk.state in ("reverted", "edited", "gone") else file.fates.get(hunk.id)
        head = draw_head(
            hunk,
            index + 1,
            len(file.hunks),
            fate.fate if fate else None,
            pen.width,
            pen.theme_styles,
            picked=hunk.id in file.picked,
        )
        yield Texts(("head", hunk.id), index, [head], hunk.outline.new[0] + 1)
        yield Texts(("comments", hunk.id), index, draw_comments(hunk.comments, pen.width, pen.theme_styles))

    def _hunk(self, index: int) -> Iterator[Section]:
        hunk, rows = self.file.hunks[index], self.file.rows[index]
        parts = self.file.parts.get(hunk.id) if self._shows_rewrites(hunk) else None
        if parts:
            yield from self._parts(index, parts)
        else:
            yield self._lines(
                "rows", index, hunk.outline.old, lambda: rows, gone=hunk.state in ("reverted", "gone")
            )
        problems = draw_problems(hunk.problems, self._pen.width, self._pen.theme_styles)
        yield Texts(("problems", hunk.id), index, problems, hunk.outline.new[1])
        yield from self._conflict(hunk.id, index)
        yield from self._free_lines(hunk.id, index)

    def _shows_rewrites(self, hunk: Hunk) -> bool:
        """Return whether the lines that were changed since are not shown elsewhere."""
        if hunk.state == "conflict":
            conflict = self.file.conflicts.get(hunk.id)
            return conflict is not None and conflict.merged is None
        return hunk.state != "reverted"

    def _free_lines(self, id: str, index: int) -> Iterator[Section]:
        if self._free is not None and self._free.hunk == id:
            yield Texts(
                FREE, index, [BLANK] * self._free.rows, self.file.hunks[index].outline.new[1] if id else 1
            )

    def _parts(self, index: int, parts: Sequence[Part]) -> Iterator[Section]:
        """Yield the rows of a hunk, and below those that were changed since what replaced them."""
        rows = self.file.rows[index]
        for number, part in enumerate(parts, 1):
            own = ListedLines(rows[at] for at in range(part.first, part.end))
            span = (part.first, part.end)
            gone = part.rewrite is not None
            yield self._lines("rows", index, span, lambda own=own: own, gone=gone, part=number)
            if part.rewrite is not None:
                lines = self._rewrite(part.rewrite)
                yield Texts(("rewrite", self.file.hunks[index].id), index, lines, part.rewrite.line)

    def _rewrite(self, rewrite: Rewrite) -> list[Line]:
        """The lines of a rewrite in the column of the new side."""
        pen, styles = self._pen, self._pen.theme_styles
        half = (pen.width - 1) // 2
        # The number of the other side, where there is room for both.
        before = [Segment(" " * (pen.gutter - pen.digits - 3), styles("dim", "raised"))]
        if self._split:
            before = [Segment(" " * half, styles()), Segment("│", styles("rule"))]
        room = half if self._split else pen.width - width_of(before)
        path, above = self.file.file.path, self.file.coloring.above(rewrite.first + 1)
        drawn = draw_rewrite(rewrite, path, above, pen.digits, room, styles)
        return [Line([*before, *line.segments], line.joint, width_of(before) + line.lead) for line in drawn]

    def _conflict(self, id: str, index: int) -> Iterator[Section]:
        obstacle = self.file.conflicts.get(id)
        if obstacle is not None:
            choices, by = self.file.choices[id], self.file.changed_by(id)
            lines = draw_conflict(obstacle, choices, by, self._pen.width, self._pen.theme_styles)
            yield Texts(("conflict", id), index, [BLANK, *lines])

    def _unchanged(self, kind: str, hunk: int, old: Range, new: int) -> Section:
        return self._lines(kind, hunk, old, lambda: unchanged_rows(self.file.diff, old, new))

    def _lines(
        self, kind: str, hunk: int, old: Range, rows: Callable[[], Rows], *, gone: bool = False, part: int = 0
    ) -> Section:
        """A section of lines, laid out only once: there may be very many; `part` is one of a hunk, from 1."""
        key = (kind, hunk, old, gone, part)
        section = self._known.get(key)
        if section is None:
            make = SideBySide if self._split else Unified
            section = self._known[key] = make(
                (kind, self.file.hunks[hunk].id), hunk, rows(), self._pen, gone=gone
            )
        return section
