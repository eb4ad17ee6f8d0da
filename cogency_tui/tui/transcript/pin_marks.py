"""The marks of pinned units in the margin of a transcript view."""

from rich.segment import Segment
from textual.strip import Strip

from cogency_tui.tui.kit.line_view import DrawContext
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.transcript.document import LinePosition
from cogency_tui.tui.transcript.view import TranscriptView

PIN = "◆"


class PinMarks:
    """Marks the first line of each pinned unit of `view`, and the line of a run that has one."""

    def __init__(self, view: TranscriptView) -> None:
        self._view = view

    def begin_frame(self) -> bool:
        return bool(self._view.transcript.pinned)

    def paint(self, strip: Strip, place: LinePosition, context: DrawContext) -> Strip:
        if not self._is_marked(place):
            return strip
        style = context.theme_styles("accent", self._view.surface_of(place))
        mark = Line([Segment(PIN, style)]).strip(1, style)
        # The first cell may have the bar of the cursor or of a message.
        at = 0 if strip.text.startswith(" ") else self._view.MARGIN - 1
        return Strip.join([strip.crop(0, at), mark, strip.crop(at + 1)])

    def _is_marked(self, place: LinePosition) -> bool:
        document = self._view.document
        unit, block, _line = place
        if block > document.own_block(unit) or place != document.first_line(unit, block):
            return False
        return not self._view.transcript.pinned.isdisjoint(document.shown_in(unit, block))
