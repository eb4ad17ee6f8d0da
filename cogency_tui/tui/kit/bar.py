"""Bars: lines of segments, with or without buttons. A change never triggers a new layout."""

from collections.abc import Sequence
from typing import ClassVar, Self

import msgspec
from msgspec.structs import replace
from rich.segment import Segment
from textual import events
from textual.containers import Vertical
from textual.content import Content
from textual.filter import ANSIToTruecolor
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from cogency_tui.tui.kit.cell_text import cells
from cogency_tui.tui.kit.lines import TerminalGuard, disarmed, width_of
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.theme_styles import ThemeStyles, theme_styles_of


def end_to_end(
    left: Sequence[Segment], right: Sequence[Segment], width: int, styles: ThemeStyles, on: str
) -> list[Segment]:
    """Join `left` and `right` at the two ends of `width` cells; `right` is dropped where both do not fit."""
    space = width - width_of(left) - width_of(right)
    if space < 1:
        return list(left)
    return [*left, Segment(" " * space, styles("text", on)), *right]


def filtered(widget: Widget, strips: list[Strip]) -> list[Strip]:
    """Apply the app's filters (`NO_COLOR`) to `strips`, which are disarmed and have no ANSI colors."""
    for line_filter in widget.get_line_filters():
        if not isinstance(line_filter, ANSIToTruecolor | TerminalGuard):
            background = widget.background_colors[1]
            strips = [strip.apply_filter(line_filter, background) for strip in strips]
    return strips


class Surface(Vertical):
    """A container with only a background, which costs next to nothing to draw under its children."""

    BLANK = True


class Bar(Widget):
    """A widget one line high. Subclasses provide its segments."""

    ALLOW_SELECT = False
    SURFACE = "background"

    @property
    def theme_styles(self) -> ThemeStyles:
        return theme_styles_of(app_of(self).theme)

    def segments(self, width: int) -> list[Segment]:
        """The segments of the line, in at most `width` cells."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        ground = self.theme_styles("text", self.SURFACE)
        width = self.size.width
        segments = self.row(y, width)
        return Strip(disarmed(segments)).simplify().adjust_cell_length(width, ground)

    def row(self, y: int, width: int) -> Sequence[Segment]:
        """The segments of line `y`: those of the bar, and none below."""
        return () if y else self.segments(width)

    def render_lines(self, crop: Region) -> list[Strip]:
        strips = [self.render_line(y).crop(crop.x, crop.right) for y in crop.line_range]
        return filtered(self, strips)


class Divider(Bar):
    """A faint rule between two parts of a pane."""

    SURFACE = "surface"

    def segments(self, width: int) -> list[Segment]:
        return [
            Segment("  ", self.theme_styles()),
            Segment("─" * max(0, width - 4), self.theme_styles("rule")),
        ]


class Part(msgspec.Struct, frozen=True):
    """A part of a bar: its segments, its tooltip, the action of the screen on a click, and the text before
    it.

    A `spare` part gives way to all others; a `steady` one retains, under that name, its largest width so
    far.
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

    def led_by(self, lead: str) -> Self:
        """The same part after another text."""
        return replace(self, lead=lead)


class ButtonBar(Bar):
    """A line of parts, each with its own tooltip; parts with an action are buttons.

    Subclasses provide the parts and lay them out. A line that is too short drops its right end.
    """

    BESIDE: ClassVar = ""
    """The action of a click beside the parts."""

    class Pressed(Message):
        """A button with this action was clicked."""

        def __init__(self, action: str) -> None:
            self.action = action
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._places: list[tuple[int, int, Part]] = []

    def lay(self, parts: Sequence[Part], width: int) -> list[Segment]:
        """Lay the parts out side by side, as many as fit into `width` cells."""
        ground = self.theme_styles("dim", self.SURFACE)
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
        # Textual would parse markup in a plain string.
        tooltip = Content(part.tooltip) if part else None
        if tooltip != self.tooltip:
            self.tooltip = tooltip

    def on_click(self, event: events.Click) -> None:
        part = self._part_at(event.x)
        if action := part.action if part else self.BESIDE:
            self.post_message(self.Pressed(action))

    def _part_at(self, x: int) -> Part | None:
        return next((part for start, end, part in self._places if start <= x < end), None)
