"""What all panes of the timeline have in common: the keys that travel, and those by which one reads.

They are the panes' own, because a pane would take them for itself otherwise: to scroll.
"""

from typing import ClassVar

from textual.binding import BindingType

from cogency_tui.tui.timeline.keys import READING_KEYS, TRAVELLING_KEYS
from cogency_tui.tui.widgets.line_view import LineView


class Travelled(LineView):
    """Can be travelled from."""

    BINDING_GROUP_TITLE = "In time"

    BINDINGS: ClassVar[list[BindingType]] = TRAVELLING_KEYS


class Read(Travelled):
    """Scrolls."""

    BINDING_GROUP_TITLE = "In a pane of the timeline"

    BINDINGS: ClassVar[list[BindingType]] = READING_KEYS

    def action_line(self, step: int) -> None:
        self.jump(max(0, min(self.scroll_offset.y + step, self.max_scroll_y)))

    def action_page(self, direction: int) -> None:
        self.action_line(direction * max(1, self.page - 2))
