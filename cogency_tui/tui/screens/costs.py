"""What the conversation took: a dialog that only shows."""

from textual.app import ComposeResult
from textual.containers import Vertical

from cogency_tui.tui.costs import by_model, in_all, saving
from cogency_tui.tui.drawing.costs import draw_costs
from cogency_tui.tui.drawing.figures import plural
from cogency_tui.tui.drawing.lines import Line
from cogency_tui.tui.inquiry import Spent
from cogency_tui.tui.screens.dialogs import Choices, DialogBody
from cogency_tui.tui.screens.reading import ReadingScreen
from cogency_tui.tui.theming import Inks
from cogency_tui.tui.widgets.pane_title import PaneTitle


class CostScreen(ReadingScreen[None]):
    """Shows what was `spent`: at least one request."""

    def __init__(self, spent: Spent) -> None:
        super().__init__()
        self._costs = [*by_model(spent.own), *by_model(spent.delegated, " (sub-agents)")]
        self._total = in_all(self._costs)
        self._saved = saving([*spent.own, *spent.delegated])

    def compose(self) -> ComposeResult:
        with Vertical(id="cost"):
            yield PaneTitle("Cost", id="cost-title")
            yield DialogBody(self._draw, id="cost-body")
            with Vertical(classes="dialog-foot"):
                yield Choices([("escape", "close", "close")])

    def on_mount(self) -> None:
        self.query_one(PaneTitle).state(plural(self._total.requests, "request"))

    def _draw(self, width: int, inks: Inks) -> list[Line]:
        return draw_costs(self._costs, self._total, self._saved, width, inks)
