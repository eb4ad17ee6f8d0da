"""Screens that draw only the widgets and rows in the region that changed.

Textual draws the whole of every widget whose clip overlaps that region: the clip of most is the screen.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

from textual._compositor import Compositor
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip

Result = TypeVar("Result")


class PartialScreen(Screen[Result]):
    """The base of every screen."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._compositor = _PartialCompositor()

    @property
    def unsaved(self) -> str:
        """The text of the user that would be lost with the screen, as the user knows it; empty if none."""
        return ""


class _PartialCompositor(Compositor):
    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        """The widgets that overlap `crop`, each with its region, the part of it drawn, and the strips."""
        crop = crop or self.size.region
        # Strips are cut where widgets begin and end, and not where a change does.
        rows = Region(0, crop.y, self.size.width, crop.height)
        for widget, (region, clip) in self.visible_widgets.items():
            if (seen := region.intersection(clip)) and crop.overlaps(seen):
                seen = seen.intersection(rows)
                yield region, seen, widget.render_lines(seen.translate(-region.offset))
