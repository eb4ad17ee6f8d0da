"""A code block that is a diff, which may still grow: drawn like every diff, on the surface of code."""

from collections.abc import Iterable

from rich.segment import Segment

from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.code import CodeLines, padding
from cogency_tui.tui.kit.diff import DiffLayout
from cogency_tui.tui.kit.lines import Line, cells, fit, fit_path
from cogency_tui.tui.kit.number_format import counted
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.workspace.unified_diff import FileHead

_LANGUAGES = frozenset({"diff", "patch", "udiff"})


class DiffCode:
    """The lines of a diff that grows at its end, in `width` cells, a cell of surface left and right.

    The first line names the language, and the file if there is only one.
    """

    def __init__(self, language: str, width: int, styles: ThemeStyles) -> None:
        self._language = language
        self._width = max(12, width)
        self._theme_styles = styles
        self._rows: list[str] = []
        self._partial: str | None = None
        self._closed = False
        self._layout: DiffLayout | None = None

    def __len__(self) -> int:
        return 2 + len(self._laid())

    def line(self, y: int) -> Line:
        if not y:
            return self._draw_label()
        if y > len(self._laid()):
            return padding("", self._width, self._theme_styles, joint="")
        line, fill = self._laid().line(y - 1), Segment(" ", self._theme_styles("text", "raised"))
        # Nothing is copied of the label, not even its end.
        return Line([fill, *line.segments, fill], line.joint if y > 1 else "", line.lead + 1)

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
        return self._layout

    def _draw_label(self) -> Line:
        heads = [part for part in self._laid().parts if isinstance(part, FileHead)]
        room = self._width - 2
        name = fit(self._language, room)
        about = ""
        if len(heads) == 1 and (space := room - cells(name) - 2) >= _NARROWEST_PATH:
            counts = counted(heads[0].added, heads[0].removed)
            about = f"{fit_path(one_line(heads[0].path), space - len(counts) - 2)}  {counts}"
        text = f" {about}{' ' * (room - cells(about) - cells(name))}{name} "
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
