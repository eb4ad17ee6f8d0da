"""The line at the top: the project, its branch, the conversation and its place among the others."""

import msgspec
from rich.segment import Segment

from cogency_tui.text import one_line
from cogency_tui.tui.drawing.figures import plural
from cogency_tui.tui.drawing.lines import cells, fit, fit_path, width_of
from cogency_tui.tui.widgets.bar import Bar, end_to_end


class Place(msgspec.Struct, frozen=True):
    """What the header says. `ordinal` of `count` conversations; 0 where not known."""

    path: str = ""
    branch: str = ""
    dirty: bool = False
    title: str = ""
    ordinal: int = 0
    count: int = 0


class Header(Bar):
    """Draws a `Place`."""

    def __init__(self, place: Place, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.place = place

    def move(self, place: Place) -> None:
        """Say something else."""
        if place != self.place:
            self.place = place
            self.refresh()

    def segments(self, width: int) -> list[Segment]:
        place, inks = self.place, self.inks
        gap = Segment("   ", inks("text", "background"))
        left = [
            Segment(" ", inks("text", "background")),
            Segment("cogency", inks("accent", "background", "bold")),
        ]
        path = fit_path(one_line(place.path), max(8, width // 3))
        left += [gap, Segment(path, inks("text", "background"))]
        if place.branch and width >= 50:
            left += [gap, Segment(fit(one_line(place.branch), 24), inks("branch", "background"))]
            left += [Segment("*", inks("edit", "background"))] if place.dirty else []
        right: list[Segment] = []
        if place.count:
            counted = f"conversation {place.ordinal} of {place.count}  "
            if not place.ordinal:
                counted = f"{plural(place.count, 'conversation')}  "
            if width_of(left) + cells(counted) + 2 <= width:
                right = [Segment(counted, inks("dim", "background"))]
        room = width - width_of(left) - width_of(right) - 5
        if place.title and room >= 8:
            left += [gap, Segment(fit(one_line(place.title), room), inks("text", "background", "bold"))]
        return end_to_end(left, right, width, inks, "background")
