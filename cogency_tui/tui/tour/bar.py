"""The line above the prompt that says what comes next in the tour."""

from rich.segment import Segment

from cogency_tui.tui.drawing.lines import fit, width_of
from cogency_tui.tui.tour.steps import LAST, STEPS
from cogency_tui.tui.widgets.button_bar import ButtonBar, Part

_LEAST = 20


class TourBar(ButtonBar):
    """Shows one step; after the last one it says so."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.step = 0

    def show(self, step: int) -> None:
        """Show the step of this number."""
        self.step = step
        self.refresh()

    def segments(self, width: int) -> list[Segment]:
        accent, text = self.inks("accent", self.SURFACE, "bold"), self.inks("text", self.SURFACE)
        if self.step >= len(STEPS):
            return self.lay([Part([Segment(fit(LAST, width - 1), text)], LAST, lead=" ")], width)
        step = STEPS[self.step]
        count = Segment(f"Tour {self.step + 1}/{len(STEPS)} ", self.inks("dim", self.SURFACE))
        key = [Segment("F7", accent), Segment(" writes it", self.inks("dim", self.SURFACE))]
        room = max(_LEAST, width - width_of([count, *key]) - 5)
        shows = Segment(fit(step.shows, room), text)
        return self.lay(
            [
                Part([count, shows], f"{step.shows}: {step.prompt}", "tour_write", " "),
                Part(key, f"Write into the prompt: {step.prompt}", "tour_write"),
            ],
            width,
        )
