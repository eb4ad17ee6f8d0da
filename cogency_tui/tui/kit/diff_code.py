"""A code block that is a diff, which may still grow: drawn like every diff, on the surface of code."""

from collections.abc import Iterable

from rich.segment import Segment

from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.cell_text import cells, fit, fit_path
from cogency_tui.tui.kit.code import CodeLines, padding
from cogency_tui.tui.kit.diff import DiffLayout
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.number_format import counted
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.workspace.unified_diff import FileHead

_LANGUAGES = frozenset({"diff", "patch", "udiff"})


class DiffCode:
    """The lines of a diff that grows at its end, in `width` cells, a cell of surface left and right.

    If there is only one file, the first line names it, and the language. Where surfaces look the same, the
    language has a line in any case, and a rule is below.
    """

    def __init__(self, language: str, width: int, styles: ThemeStyles) -> None:
        self._language = language
        self._width = max(12, width)
        self._theme_styles = styles
        self._rows: list[str] = []
        self._partial: str | None = None
        self._closed = False
        self._layout: DiffLayout | None = None
        self._file = ""

    def __len__(self) -> int:
        return self._labels + len(self._laid()) + self._theme_styles.palette.flat

    def line(self, y: int) -> Line:
        y -= self._labels
        if y < 0:
            return self._draw_label()
        if y >= len(self._laid()):
            return padding("", self._width, self._theme_styles, joint="")
        line, fill = self._laid().line(y), Segment(" ", self._theme_styles("text", "raised"))
        # Nothing is copied of the label, not even its end.
        joint = line.joint if y else "" if self._labels else "\n"
        return Line([fill, *line.segments, fill], joint, line.lead + 1)

    def extend(self, rows: Iterable[str], partial: str | None = None) -> None:
        """Add complete rows, and the unfinished row, which the next call replaces."""
        self._rows += rows
        self._partial = partial
        self._layout = None

    def close(self) -> None:
        """End the code: its hunks are now colored as a whole."""
        self._closed, self._partial, self._layout = True, None, None

    def _laid(self) -> DiffLayout:
        if self._layout is None:
            text = "\n".join(self._rows if self._partial is None else [*self._rows, self._partial])
            self._layout = DiffLayout(
                text, self._width - 2, self._theme_styles, bare=True, on="raised", growing=not self._closed
            )
            self._file = self._name_file(self._layout)
        return self._layout

    @property
    def _labels(self) -> int:
        """The number of lines that name the file; where surfaces look the same, there is one in any case."""
        self._laid()
        return int(self._theme_styles.palette.flat or bool(self._file))

    def _name_file(self, layout: DiffLayout) -> str:
        """The only file with its counts, if there is room for them."""
        heads = [part for part in layout.parts if isinstance(part, FileHead)]
        space = self._width - 4 - cells(self._language)
        if len(heads) != 1 or space < _NARROWEST_PATH:
            return ""
        counts = counted(heads[0].added, heads[0].removed)
        return f"{fit_path(one_line(heads[0].path), space - len(counts) - 2)}  {counts}"

    def _draw_label(self) -> Line:
        room, file = self._width - 2, self._file
        name = fit(self._language, room)
        text = f" {file}{' ' * (room - cells(file) - cells(name))}{name} "
        return Line([Segment(text, self._theme_styles("dim", "raised"))], lead=len(text))


_NARROWEST_PATH = 20
"""Cells below which the label has no room for a path."""


def code_block(language: str, width: int, styles: ThemeStyles) -> CodeLines | DiffCode:
    """The lines of code in this language, which are added as it is written."""
    make = DiffCode if language.lower() in _LANGUAGES else CodeLines
    return make(language, width, styles)


def draw_code(language: str, source: str, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw all lines of a block of code."""
    code = code_block(language, width, styles)
    code.extend(source.split("\n"))
    code.close()
    return [code.line(index) for index in range(len(code))]
