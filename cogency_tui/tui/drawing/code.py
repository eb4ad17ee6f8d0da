"""Code as lines on the raised surface, coloured by pygments with the theme's syntax colours.

A fence that is still being written is coloured line by line, each line once; when it closes, the block
is coloured as a whole, which only a text over several lines (a docstring) looks different for.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from rich.segment import Segment

from cogency_tui.tui.drawing.lines import Line, chop, width_of
from cogency_tui.tui.theming import Inks

_WHOLE_LIMIT = 100_000
_LINE_LIMIT = 2_000

_ROLES = {
    "Keyword.Type": "type",
    "Keyword.Constant": "number",
    "Keyword": "keyword",
    "Operator.Word": "keyword",
    "Operator": "operator",
    "Name.Function": "function",
    "Name.Class": "type",
    "Name.Exception": "type",
    "Name.Builtin": "builtin",
    "Name.Decorator": "function",
    "Name.Tag": "keyword",
    "Name.Attribute": "function",
    "Literal.String": "string",
    "Literal.Number": "number",
    "Comment": "comment",
    "Generic.Heading": "keyword",
    "Generic.Inserted": "good",
    "Generic.Deleted": "bad",
    "Generic.Prompt": "keyword",
}


@cache
def _role(token: Any) -> str:
    name = str(token).removeprefix("Token.")
    while name:
        if name in _ROLES:
            return _ROLES[name]
        name = name.rpartition(".")[0]
    return "text"


@cache
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


class CodePainter:
    """Draws the code of one fence, `width` cells wide with a cell of surface left and right."""

    def __init__(self, language: str, width: int, inks: Inks) -> None:
        self._lexer = _lexer(language.lower()) if language else None
        self._width = max(3, width)
        self._inks = inks

    def line(self, text: str) -> list[Line]:
        """One line of code by itself."""
        return self._frame(next(self._rows(text), list[Segment]()))

    def block(self, text: str) -> list[Line]:
        """A whole block of code."""
        return [line for row in self._rows(text) for line in self._frame(row)]

    def _rows(self, text: str) -> Iterator[list[Segment]]:
        plain = self._inks("text", "raised")
        text = text.expandtabs(4)
        longest = max(map(len, text.split("\n")), default=0)
        if self._lexer is None or len(text) > _WHOLE_LIMIT or longest > _LINE_LIMIT:
            for line in text.split("\n"):
                yield [Segment(line, plain)] if line else []
            return
        tokens: Iterable[tuple[Any, str]] = self._lexer.get_tokens(text)
        row: list[Segment] = []
        for token, value in tokens:
            first, *others = value.split("\n")
            style = self._inks(_role(token), "raised")
            if first:
                row.append(Segment(first, style))
            for other in others:
                yield row
                row = [Segment(other, style)] if other else []
        yield row

    def _frame(self, row: list[Segment]) -> list[Line]:
        fill = self._inks("text", "raised")
        lines: list[Line] = []
        for line in chop(row, self._width - 2):
            rest = self._width - 1 - width_of(line.segments)
            segments = [Segment(" ", fill), *line.segments, Segment(" " * rest, fill)]
            lines.append(Line(segments, line.joint, 1))
        return lines
