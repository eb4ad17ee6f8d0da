"""The scroll bar of a column of lines, which is drawn anew with every line that comes in."""

from rich.segment import Segment
from textual.geometry import Region
from textual.scrollbar import ScrollBar
from textual.strip import Strip

from cogency_tui.tui.kit.bar import filtered
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.typed_app import app_of


class ColumnScrollBar(ScrollBar):
    """A vertical scroll bar whose strips bypass the styles cache, for which each would be a change."""

    def render_lines(self, crop: Region) -> list[Strip]:
        console, (width, height), style = app_of(self).console, self.size, self.rich_style
        options = console.options.update(width=width, height=height)
        drawn = Segment.apply_style(console.render(self.render(), options), style)
        lines = (Line([segment]) for segment in drawn if segment.text != "\n")
        strips = [line.strip(width, style) for line in lines]
        strips = [strip.crop(crop.x, crop.right) for strip in strips[crop.y : crop.bottom]]
        return filtered(self, strips)
