"""What a period came to, in this project or everywhere: a dialog with charts."""

from collections.abc import Awaitable, Callable
from functools import partial
from time import time
from typing import ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from cogency_tui.agent.recall import Where
from cogency_tui.errors import CogencyError
from cogency_tui.store.statistics import Statistics
from cogency_tui.tui.drawing.cards import draw_problem
from cogency_tui.tui.drawing.lines import Line, wrap
from cogency_tui.tui.recall.charts import draw_statistics
from cogency_tui.tui.recall.dialogs import RECALL_STYLES
from cogency_tui.tui.screens.dialogs import STYLES, Choices, DialogBody
from cogency_tui.tui.screens.reading import ReadingScreen
from cogency_tui.tui.theming import Inks
from cogency_tui.tui.transcript import Problem
from cogency_tui.tui.widgets.pane_title import PaneTitle

_DAY = 86_400.0
_PERIODS = {"7 days": 7, "30 days": 30, "a year": 365, "always": None}

Ask = Callable[[Where, float | None], Awaitable[Statistics]]
"""The figures of a place since a moment in Unix seconds."""


class StatisticsScreen(ReadingScreen[None]):
    """Shows what `ask` tells of a period, which keys choose."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "period('7 days')", "7 days", id="statistics.week"),
        Binding("2", "period('30 days')", "30 days", id="statistics.month"),
        Binding("3", "period('a year')", "A year", id="statistics.year"),
        Binding("4", "period('always')", "Always", id="statistics.always"),
        Binding("a", "place", "Project or everywhere", id="statistics.place"),
    ]
    CSS_PATH: ClassVar = [STYLES, RECALL_STYLES]

    def __init__(self, ask: Ask, where: Where, *, clock: Callable[[], float] = time) -> None:
        super().__init__()
        self._ask = ask
        self._where: Where = "project" if where == "project" else "everywhere"
        self._clock = clock
        self._period = "30 days"
        self._found: Statistics | None = None
        self._problem: Problem | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="statistics", classes="recall-dialog -tall"):
            yield PaneTitle("Statistics", id="statistics-title")
            yield DialogBody(self._draw, id="statistics-body")
            with Vertical(classes="dialog-foot"):
                yield Choices([])

    def on_mount(self) -> None:
        self._look()

    def action_period(self, period: str) -> None:
        self._period = period
        self._look()

    def action_place(self) -> None:
        self._where = "everywhere" if self._where == "project" else "project"
        self._look()

    def _look(self) -> None:
        place = "this project" if self._where == "project" else "everywhere"
        self.query_one(PaneTitle).state(f"{self._period}, {place}")
        keys = [(str(key), name, f"period({name!r})") for key, name in enumerate(_PERIODS, 1)]
        other = "everywhere" if self._where == "project" else "this project"
        self.query_one(Choices).offer([*keys, ("a", other, "place"), ("escape", "close", "close")])
        days = _PERIODS[self._period]
        since = None if days is None else self._clock() - days * _DAY
        self.run_worker(partial(self._read, since), group="statistics", exclusive=True)

    async def _read(self, since: float | None) -> None:
        try:
            self._found, self._problem = await self._ask(self._where, since), None
        except CogencyError as exc:
            self._problem = Problem(str(exc), exc.hint)
        body = self.query_one(DialogBody)
        body.on_resize()
        body.jump(0)

    def _draw(self, width: int, inks: Inks) -> list[Line]:
        if self._problem:
            return draw_problem(self._problem, width, inks)
        if self._found is None:
            return wrap([Segment("Counting …", inks("dim"))], width)
        return draw_statistics(self._found, width, inks)
