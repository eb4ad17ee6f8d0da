"""The circumstances in which the units of a transcript are drawn."""

from typing import NamedTuple

from rich.segment import Segment

from cogency_tui.tui.kit.lines import Line, width_of
from cogency_tui.tui.theme_styles import ThemeStyles

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

TAIL = 3
"""Lines that are shown of an error, and of output."""


class Pen(NamedTuple):
    """Draws lines of `width` cells at `now` in Unix seconds; `frame` counts animation frames.

    `review_key` is the key that opens the review; where it is None, no line offers that. `tail` lines are
    shown of the output of a running command.
    """

    width: int
    styles: ThemeStyles
    now: float = 0.0
    frame: int = 0
    review_key: str | None = None
    tail: int = TAIL

    @property
    def spinner(self) -> str:
        return SPINNER[self.frame % len(SPINNER)]

    def apart(self, left: list[Segment], right: list[Segment], on: str = "surface") -> Line:
        """A line with `left` at its beginning and `right` at its end."""
        gap = max(0, self.width - width_of(left) - width_of(right))
        return Line([*left, Segment(" " * gap, self.styles("text", on)), *right])
