"""The last wall before the terminal: whatever becomes a strip is disarmed, whoever wrote it.

Texts are cleaned or revealed where they come in, so that nothing is left to do here; what was forgotten
there does no harm. Our own strips pass `disarmed`, those of Textual's widgets the `TerminalGuard`.
"""

from collections.abc import Iterable

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from cogency_tui.text import disarm


def disarmed(segments: Iterable[Segment]) -> list[Segment]:
    """`segments` without anything that a terminal would act on."""
    return [
        segment if (text := disarm(segment.text)) == segment.text else Segment(text, segment.style)
        for segment in segments
    ]


class TerminalGuard(LineFilter):
    """Disarms the strips of widgets that are not ours, and leaves them as wide as they were."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        del background
        left = disarmed(segments)
        if left == segments:
            return segments
        return Segment.adjust_line_length(left, Segment.get_line_length(segments))
