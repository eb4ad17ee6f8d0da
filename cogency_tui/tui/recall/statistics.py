"""The statistics of a period, in this project or everywhere: a dialog with small bar charts."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import time
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from cogency_tui.agent.recall.recall import Where
from cogency_tui.errors import CogencyError
from cogency_tui.safe_text import one_line
from cogency_tui.store.usage import Spending, Statistics, ToolUse
from cogency_tui.tui.kit.cell_text import cells, fit, fit_path
from cogency_tui.tui.kit.dialogs import STYLES, Choices, DialogBody, DialogBox, DialogTitle, ReadingScreen
from cogency_tui.tui.kit.lines import BLANK, Line, wrap
from cogency_tui.tui.kit.meter import draw_bar
from cogency_tui.tui.kit.number_format import dollars, duration, plural, tokens
from cogency_tui.tui.recall.background_search import Place
from cogency_tui.tui.recall.rename_export_dialogs import RECALL_STYLES
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.messages_and_notices import draw_problem
from cogency_tui.tui.transcript.units import Problem

_LABEL = 32
_SHORTEST_BAR = 8
_LONGEST_BAR = 48
_DAYS = 31
_MOST = 10


class _Bar(NamedTuple):
    label: str
    value: float
    note: str


def draw_statistics(found: Statistics, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw a period's totals, then its figures by day, model, tool and file."""
    total = found.total
    facts = [
        plural(found.conversations, "conversation"),
        plural(found.turns, "turn"),
        f"{tokens(total.input)} tokens sent",
        f"{tokens(total.cached)} cached",
        f"{tokens(total.output)} generated",
    ]
    facts += [dollars(total.cost)] if total.cost else []
    lines = wrap([Segment(" · ".join(facts), styles("text"))], width)
    days = [_spent(day) for day in found.days[-_DAYS:]]
    tools = [
        _Bar(use.tool, use.calls, f"{_describe_calls(use)}, {duration(use.seconds)}")
        for use in found.tools[:_MOST]
    ]
    files = [_Bar(path, count, plural(count, "change")) for path, count in found.files[:_MOST]]
    for title, bars in (
        ("Tokens by day", days),
        ("Tokens by model", [_spent(model) for model in found.models[:_MOST]]),
        ("Calls by tool", tools),
        ("Changes by file", files),
    ):
        if bars:
            heading = Line([Segment(title, styles("text", attributes="bold"))])
            lines += [BLANK, heading, *_draw(bars, width, styles)]
    if not found.conversations:
        lines += [BLANK, Line([Segment("No activity in this period.", styles("dim"))])]
    return lines


def _describe_calls(use: ToolUse) -> str:
    """The calls of a tool, with those that failed, and those that the user declined or stopped."""
    counts = ((use.failed, "failed"), (use.stopped, "stopped"))
    ends = [f"{count} {word}" for count, word in counts if count]
    return ", ".join([plural(use.calls, "call"), *ends])


def _spent(spending: Spending) -> _Bar:
    cost = f"  {dollars(spending.cost)}" if spending.cost else ""
    used = spending.input + spending.output
    return _Bar(spending.label, used, f"{tokens(used)}{cost}")


def _draw(bars: Sequence[_Bar], width: int, styles: ThemeStyles) -> list[Line]:
    most = max(bar.value for bar in bars)
    labels = [one_line(bar.label) for bar in bars]
    column = min(max(cells(label) for label in labels), _LABEL, width // 3)
    note = max(cells(bar.note) for bar in bars)
    room = width - column - note - 4
    lines: list[Line] = []
    for label, bar in zip(labels, bars, strict=True):
        shown = fit_path(label, column)
        head = Segment(shown + " " * (column - cells(shown) + 2), styles("text"))
        if room < _SHORTEST_BAR:
            lines.append(Line([head, Segment(fit(bar.note, width - column - 2), styles("dim"))]))
            continue
        drawn = draw_bar(bar.value, most, min(room, _LONGEST_BAR), styles)
        lines.append(Line([head, *drawn, Segment(f"  {bar.note.rjust(note)}", styles("dim"))]))
    return lines


_DAY = 86_400.0
_PERIODS = {"7 days": 7, "30 days": 30, "1 year": 365, "all time": None}

Ask = Callable[[Where, float | None], Awaitable[Statistics]]
"""Returns the figures of a scope since a moment in Unix seconds."""


class StatisticsScreen(ReadingScreen[None]):
    """Shows the figures from `ask` for a period, which the user selects by key."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "period('7 days')", "7 days", id="statistics.week"),
        Binding("2", "period('30 days')", "30 days", id="statistics.month"),
        Binding("3", "period('1 year')", "1 year", id="statistics.year"),
        Binding("4", "period('all time')", "All time", id="statistics.always"),
        Binding("a", "place", "This project or all projects", id="statistics.place"),
    ]
    CSS_PATH: ClassVar = [STYLES, RECALL_STYLES]

    def __init__(self, ask: Ask, where: Place, *, clock: Callable[[], float] = time) -> None:
        super().__init__()
        self._ask = ask
        self._where: Where = "project" if where == "project" else "everywhere"
        self._clock = clock
        self._period = "30 days"
        self._found: Statistics | None = None
        self._problem: Problem | None = None

    def compose(self) -> ComposeResult:
        yield DialogBox(
            DialogTitle("Statistics", id="statistics-title"),
            DialogBody(self._draw, id="statistics-body"),
            keys=Choices([]),
            id="statistics",
            classes="-tall",
        )

    def on_mount(self) -> None:
        self._reload()

    def action_period(self, period: str) -> None:
        self._period = period
        self._reload()

    def action_place(self) -> None:
        self._where = "everywhere" if self._where == "project" else "project"
        self._reload()

    def _reload(self) -> None:
        place = "this project" if self._where == "project" else "all projects"
        self.query_one(DialogTitle).state(f"{self._period}, {place}")
        keys = [(str(key), name, f"period({name!r})") for key, name in enumerate(_PERIODS, 1)]
        other = "all projects" if self._where == "project" else "this project"
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

    def _draw(self, width: int, styles: ThemeStyles) -> list[Line]:
        if self._problem:
            return draw_problem(self._problem, width, styles)
        if self._found is None:
            return wrap([Segment("Loading…", styles("dim"))], width)
        return draw_statistics(self._found, width, styles)
