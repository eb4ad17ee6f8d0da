"""The line under the conversation: what the agent is doing and for how long, and what came in below."""

from rich.segment import Segment
from textual.message import Message

from cogency_tui.tui.activity import Activity
from cogency_tui.tui.drawing.cards import SPINNER
from cogency_tui.tui.drawing.figures import whole_seconds
from cogency_tui.tui.drawing.lines import fit, width_of
from cogency_tui.tui.widgets.bar import Bar, end_to_end

PATIENCE = 0.5
"""Seconds after which it is said that there is work going on."""


class LiveLine(Bar):
    """Empty while nothing goes on."""

    SURFACE = "surface"

    class Pressed(Message):
        """The reader wants to go to the end."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._activity: Activity | None = None
        self._elapsed = 0.0
        self._frame = 0
        self._following = True
        self._new = 0
        self._queued = 0

    def work(self, activity: Activity | None, elapsed: float, frame: int, queued: int) -> None:
        """Say what goes on (or nothing), for how many seconds, and how many messages wait."""
        if queued != self._queued:
            self._queued = queued
            self.refresh()
        shown = activity if elapsed > PATIENCE else None
        if shown or self._activity:
            self._activity, self._elapsed, self._frame = shown, elapsed, frame
            self.refresh()

    def follow(self, following: bool, new: int) -> None:
        """Say whether the reader is at the end, and how many units came in below."""
        if (following, new) != (self._following, self._new):
            self._following, self._new = following, new
            self.refresh()

    def segments(self, width: int) -> list[Segment]:
        inks = self.inks
        left = [Segment("  ", inks())]
        right: list[Segment] = []
        if not self._following:
            label = f"↓ {self._new} new" if self._new else "↓ end"
            right = [Segment(f"{label}  ", inks("accent", attributes="bold"))]
        if self._queued:
            left.append(Segment(f"{self._queued} queued   ", inks("accent", attributes="bold")))
        if activity := self._activity:
            time = "" if activity.counts_down else f"  {whole_seconds(self._elapsed)}"
            left.append(Segment(SPINNER[self._frame % len(SPINNER)], inks("accent")))
            room = width - width_of(left) - width_of(right) - len(time) - 2
            left.append(Segment(f" {fit(activity.text, room)}{time}", inks("dim")))
            hint = [Segment("   Esc", inks("accent")), Segment(" interrupts", inks("dim"))]
            if width_of(left) + width_of(hint) + width_of(right) < width:
                left += hint
        return end_to_end(left, right, width, inks, "surface")

    def on_click(self) -> None:
        if not self._following:
            self.post_message(self.Pressed())
