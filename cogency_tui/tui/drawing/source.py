"""A source file as lines: numbered, and coloured row by row where it is looked at."""

from rich.segment import Segment

from cogency_tui.tui.drawing.code import draw_code
from cogency_tui.tui.drawing.lines import Line
from cogency_tui.tui.drawing.sheet import Sheet
from cogency_tui.tui.output import Lines, TextLine
from cogency_tui.tui.theming import Inks

_FRAME = 2
"""Cells that a row of code has around it."""


class SourceSheet(Sheet):
    """The lines of `text` with their numbers, `width` cells wide."""

    def __init__(self, text: Lines, language: str, width: int, inks: Inks) -> None:
        self._language = language
        self._digits = len(str(max(1, text.total)))
        self._numbers: list[int] = []
        number = 0
        for line in text.lines:
            number += not line.continued
            self._numbers.append(0 if line.continued else number)
        super().__init__(text, max(self._digits + 8, width) - self._digits - _FRAME, inks)

    def lay(self, index: int, line: TextLine) -> list[Line]:
        drawn = draw_code(self._language, line.text, self.width + _FRAME, self.inks)
        drawn = drawn[1:] if self._language else drawn
        number = self._numbers[index]
        first = str(number) if number else ""
        dim = self.inks("dim")
        heads = [first.rjust(self._digits), *[" " * self._digits] * (len(drawn) - 1)]
        joints = ["" if line.continued else "\n", *[""] * (len(drawn) - 1)]
        return [
            Line([Segment(head, dim), *each.segments], joint, self._digits + 1)
            for head, each, joint in zip(heads, drawn, joints, strict=True)
        ]
