"""A line of parts, each with its own tooltip; some are buttons. One that is too short drops its right end."""

from collections.abc import Sequence

import msgspec
from rich.segment import Segment
from textual import events
from textual.content import Content
from textual.message import Message

from cogency_tui.tui.drawing.lines import cells, width_of
from cogency_tui.tui.widgets.bar import Bar


class Part(msgspec.Struct, frozen=True):
    """How it looks, what it means, what a click on it does (an action of the screen), and what is before it.

    One that is `spare` gives way to all others; a `steady` one keeps, under that name, the room that it once
    took.
    """

    segments: list[Segment]
    tooltip: str
    action: str = ""
    lead: str = "   "
    spare: bool = False
    steady: str = ""

    @property
    def width(self) -> int:
        return cells(self.lead) + width_of(self.segments)


class ButtonBar(Bar):
    """Subclasses say which parts there are, and lay them out."""

    class Pressed(Message):
        """A button was clicked: `action` is what it does."""

        def __init__(self, action: str) -> None:
            self.action = action
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._places: list[tuple[int, int, Part]] = []

    def lay(self, parts: Sequence[Part], width: int) -> list[Segment]:
        """The parts side by side, as many as fit into `width` cells."""
        ground = self.inks("dim", self.SURFACE)
        shown: list[Segment] = []
        self._places = []
        for part in parts:
            start = width_of(shown) + cells(part.lead)
            end = start + width_of(part.segments)
            if end > width:
                break
            shown += [Segment(part.lead, ground), *part.segments]
            self._places.append((start, end, part))
        return [segment for segment in shown if segment.text]

    def on_mouse_move(self, event: events.MouseMove) -> None:
        part = self._part_at(event.x)
        # As content: of a plain string Textual would read markup.
        tooltip = Content(part.tooltip) if part else None
        if tooltip != self.tooltip:
            self.tooltip = tooltip

    def on_click(self, event: events.Click) -> None:
        part = self._part_at(event.x)
        if part and part.action:
            self.post_message(self.Pressed(part.action))

    def _part_at(self, x: int) -> Part | None:
        return next((part for start, end, part in self._places if start <= x < end), None)
