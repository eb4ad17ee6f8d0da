"""One line of segments, drawn by whoever owns it; changing it never lays anything out again."""

from collections.abc import Sequence

from rich.segment import Segment
from textual.containers import Vertical
from textual.filter import ANSIToTruecolor
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from cogency_tui.tui.drawing.guard import TerminalGuard, disarmed
from cogency_tui.tui.drawing.lines import width_of
from cogency_tui.tui.host import app_of
from cogency_tui.tui.theming import Inks, inks_of


def end_to_end(
    left: Sequence[Segment], right: Sequence[Segment], width: int, inks: Inks, on: str
) -> list[Segment]:
    """`left` and `right` at the two ends of `width` cells; `right` gives way where both do not fit."""
    space = width - width_of(left) - width_of(right)
    if space < 1:
        return list(left)
    return [*left, Segment(" " * space, inks("text", on)), *right]


def filtered(widget: Widget, strips: list[Strip]) -> list[Strip]:
    """`strips` as the app's filters have them (`NO_COLOR`). Ours have no ANSI colours, and are disarmed."""
    for line_filter in widget.get_line_filters():
        if not isinstance(line_filter, ANSIToTruecolor | TerminalGuard):
            background = widget.background_colors[1]
            strips = [strip.apply_filter(line_filter, background) for strip in strips]
    return strips


class Surface(Vertical):
    """A container of nothing but its background, which costs next to nothing to draw under what is on it."""

    BLANK = True


class Bar(Widget):
    """A widget one line high. Subclasses say what is on it."""

    ALLOW_SELECT = False
    SURFACE = "background"

    @property
    def inks(self) -> Inks:
        return inks_of(app_of(self).theme)

    def segments(self, width: int) -> list[Segment]:
        """What the line shows, in at most `width` cells."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        ground = self.inks("text", self.SURFACE)
        width = self.size.width
        if y:
            return Strip.blank(width, ground)
        return Strip(disarmed(self.segments(width))).simplify().adjust_cell_length(width, ground)

    def render_lines(self, crop: Region) -> list[Strip]:
        strips = [self.render_line(y).crop(crop.x, crop.right) for y in crop.line_range]
        return filtered(self, strips)


class Divider(Bar):
    """A faint rule between two parts of a pane."""

    SURFACE = "surface"

    def segments(self, width: int) -> list[Segment]:
        return [Segment("  ", self.inks()), Segment("─" * max(0, width - 4), self.inks("rule"))]
