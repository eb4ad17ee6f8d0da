"""Screens that draw only the widgets and rows in the region that changed, and at once after a key.

Textual draws the whole of every widget whose clip overlaps that region: the clip of most is the screen. It
draws at most 60 times a second, too: the effect of a key would wait up to 17 ms while an answer streams in.
"""

from collections.abc import Iterable
from time import monotonic
from typing import Any, TypeVar

from textual import events
from textual._compositor import Compositor
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip

Result = TypeVar("Result")

_EFFECT = 0.05
"""Seconds within which what changes is taken for the effect of a key."""


class PartialScreen(Screen[Result]):
    """The base of every screen."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._compositor = _PartialCompositor()
        self._draws_until = 0.0

    @property
    def unsaved(self) -> str:
        """The text of the user that would be lost with the screen, as the user knows it; empty if none."""
        return ""

    def sift(self, event: events.Key | events.Paste) -> events.Key | events.Paste | None:
        """Return the key or paste to handle now in place of `event`, None for nothing yet."""
        return event

    def draw_soon(self) -> None:
        """Draw the effect of a key on the focused widget as soon as it is there."""
        self._draws_until = monotonic() + _EFFECT

    async def _on_idle(self, event: events.Idle) -> None:
        del event
        if self.focused in self._dirty_widgets and monotonic() < self._draws_until:
            self._draws_until = 0.0
            self._on_timer_update()


class _PartialCompositor(Compositor):
    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        """The widgets that overlap `crop`, each with its region, the part of it drawn, and the strips."""
        crop = crop or self.size.region
        # Strips are cut where widgets begin and end, and not where a change does.
        rows = Region(0, crop.y, self.size.width, crop.height)
        for widget, (region, clip) in self.visible_widgets.items():
            if widget.parent is None and not widget.is_dom_root:
                # Removed from a screen below the top one, which is not laid out again before it is the top.
                continue
            if (seen := region.intersection(clip)) and crop.overlaps(seen):
                seen = seen.intersection(rows)
                yield region, seen, widget.render_lines(seen.translate(-region.offset))
