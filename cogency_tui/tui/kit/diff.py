"""A unified diff as lines, of any length: numbers, signs, colored code, and the words that differ.

The text is parsed at once; a row is colored and compared when it is rendered. Text that is no diff is shown
as it is, control characters visibly.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from rich.segment import Segment

from cogency_tui.safe_text import one_line, reveal
from cogency_tui.tui.kit.cell_text import cells, fit, fit_path
from cogency_tui.tui.kit.code import Pieces
from cogency_tui.tui.kit.command_output import OutputLines, TextLine
from cogency_tui.tui.kit.diff_rows import Coloring, Pen, RowBlock
from cogency_tui.tui.kit.lazy_text_layout import Fixed, LayoutBlock, LazyLayout
from cogency_tui.tui.kit.lines import BLANK, Line, width_of
from cogency_tui.tui.kit.number_format import counted, plural
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.workspace.diff_rows import HunkRows, Row, Span
from cogency_tui.workspace.unified_diff import DiffNotes, FileHead, ParsedHunk, parse_unified

_COLORED_WHOLE = 3_000
"""Characters of a hunk up to which its sides are colored as a whole, not line by line."""

_RENAMED = " → "
"""Between the paths of a renamed file."""


def draw_diff(
    diff: str, width: int, styles: ThemeStyles, *, path: str = "", headed: bool | None = None
) -> list[Line]:
    """Draw all lines of a short diff; see `DiffLayout`."""
    layout = DiffLayout(diff, width, styles, path=path, headed=headed)
    return [layout.line(y) for y in range(len(layout))]


class DiffLayout:
    """The lines of `diff` in `width` cells on the surface `on`, each drawn when it is rendered.

    A row with the name of the file is above the hunks of each if `headed`, by default if there are several
    files. `path` names the file of a diff without headers. With `bare`, lines with signs are a diff even
    without any header.
    """

    def __init__(
        self,
        diff: str,
        width: int,
        styles: ThemeStyles,
        *,
        path: str = "",
        headed: bool | None = None,
        bare: bool = False,
        growing: bool = False,
        on: str = "surface",
    ) -> None:
        self._width = max(8, width)
        self._theme_styles = styles
        self._on = on
        self._whole = 0 if growing else _COLORED_WHOLE
        self.parts = parse_unified(diff, bare=bare)
        heads = [part for part in self.parts if isinstance(part, FileHead)]
        self._headed = len(heads) > 1 if headed is None else headed
        self._hunks = [part for part in self.parts if isinstance(part, ParsedHunk)]
        self._digits = max((_digits(hunk) for hunk in self._hunks), default=0)
        self._blocks = [block for block in self._draw_parts(path) if len(block)]
        self._tops = [0, *accumulate(map(len, self._blocks))]

    def __len__(self) -> int:
        return self._tops[-1]

    def line(self, y: int) -> Line:
        if not 0 <= y < self._tops[-1]:
            return BLANK
        place = bisect_right(self._tops, y) - 1
        return self._blocks[place].line(y - self._tops[place])

    def _draw_parts(self, path: str) -> Iterator[LayoutBlock]:
        for place, part in enumerate(self.parts):
            match part:
                case FileHead():
                    path = part.path
                    yield Fixed(self._draw_head(part, first=not place))
                case ParsedHunk():
                    yield Fixed(self._draw_gap(part))
                    yield self._draw_rows(part, path)
                case DiffNotes():
                    # Below other files it is about the next one.
                    yield Fixed([BLANK] if self._headed and place else [])
                    yield self._draw_notes(part)

    def _draw_head(self, head: FileHead, *, first: bool) -> list[Line]:
        if not self._headed:
            return []
        line = draw_file_head(head, self._width, self._theme_styles)
        return [line] if first else [BLANK, line]

    def _draw_gap(self, hunk: ParsedHunk) -> list[Line]:
        """Draw the line between two hunks, with the number of unchanged lines and the text of the header."""
        # Unchanged lines above the first hunk of a file are as good as unknown.
        hidden = bool(hunk.skipped) if hunk.numbered else hunk is not self._hunks[0]
        if not hidden and not hunk.section:
            return []
        count = plural(hunk.skipped, "unchanged line") if hunk.skipped else ""
        return [self._note_line("⋯ " + "  ".join(filter(None, (count, reveal(hunk.section)))))]

    def _note_line(self, text: str) -> Line:
        text = fit(f" {text}", self._width)
        fill = " " * (self._width - cells(text))
        return Line([Segment(text + fill, self._theme_styles("dim", self._on))], lead=self._width)

    def _draw_rows(self, hunk: ParsedHunk, path: str) -> RowBlock:
        digits = self._digits if hunk.numbered else 0
        pen = Pen(
            _HunkSource(hunk.rows, path, self._whole), self._width, self._theme_styles, digits, self._on
        )
        return RowBlock(hunk.rows, pen)

    def _draw_notes(self, notes: DiffNotes) -> LazyLayout:
        role = "dim" if self._hunks else "text"
        text = OutputLines()
        text.write("\n".join(reveal(line.expandtabs(4)) for line in notes.lines))
        return _Notes(text, self._width, self._theme_styles, role=role, on=self._on)


class _Notes(LazyLayout):
    """Lines of text that fill their width."""

    def lay(self, index: int, line: TextLine) -> list[Line]:
        style = self.theme_styles(self.role, self.on)
        lines = super().lay(index, line)
        fills = [Segment(" " * (self.width - width_of(each.segments)), style) for each in lines]
        return [
            Line([*each.segments, fill], each.joint, each.lead)
            for each, fill in zip(lines, fills, strict=True)
        ]


class _HunkSource:
    """Colors and compares the rows of a parsed hunk, once one is rendered."""

    def __init__(self, rows: HunkRows, path: str, whole: int) -> None:
        self._rows = rows
        self._path = path
        self._whole = whole
        self._coloring: Coloring | None = None

    def pieces(self, row: Row) -> Pieces:
        coloring = self._coloring
        if coloring is None:
            rows = self._rows
            sides = rows.sides if rows.size <= self._whole else ((), ())
            coloring = self._coloring = Coloring(
                self._path, *sides, whole=self._whole, old_first=rows.old, new_first=rows.new
            )
        return coloring.pieces(row)

    def changed_words(self, row: Row) -> Sequence[Span]:
        return self._rows.changed_words(row)


def draw_file_head(head: FileHead, width: int, styles: ThemeStyles) -> Line:
    """Draw the name of a file and its counts of lines."""
    fate = "created" if not head.old else "" if head.new else "deleted"
    counts = "  ".join(filter(None, (counted(head.added, head.removed), fate)))
    path = _fit_name(head, max(1, width - cells(counts) - 4))
    left = [
        Segment(f" {path}", styles("text", "raised", "bold")),
        Segment(f"  {counts}", styles("dim", "raised")),
    ]
    return Line([*left, Segment(" " * max(0, width - width_of(left)), styles("text", "raised"))], lead=1)


def _fit_name(head: FileHead, width: int) -> str:
    """The path of a file in at most `width` cells; of a renamed one, both paths."""
    if not head.old or not head.new or head.old == head.new:
        return fit_path(one_line(head.path), width)
    old, new = one_line(head.old), one_line(head.new)
    room = width - len(_RENAMED)
    beside = max(room // 2, room - cells(new))
    old = fit_path(old, beside)
    return fit(f"{old}{_RENAMED}{fit_path(new, room - cells(old))}", width)


def _digits(hunk: ParsedHunk) -> int:
    return len(str(max(hunk.rows.old_end, hunk.rows.new_end) - 1)) if hunk.numbered else 0
