"""The usage report on the screen: a tab for each dimension, a row with a bar for each group, and the selected
one with its weeks and its trends. Enter searches past conversations for it."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import date, timedelta
from functools import partial
from operator import attrgetter
from pathlib import Path
from time import time
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.widget import Widget

from cogency_tui.agent.recall.recall import Where
from cogency_tui.agent.usage_report import (
    DIMENSIONS,
    Dimension,
    Span,
    Trend,
    UsageReport,
    UsageRow,
)
from cogency_tui.errors import CogencyError
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.cell_text import cells, fit, fit_path
from cogency_tui.tui.kit.dialogs import LOW, SHORT, Choice, DialogBody
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.list_dialog import ListDialog, Note
from cogency_tui.tui.kit.meter import draw_bar
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.select_list import SelectList, list_keys
from cogency_tui.tui.kit.tab_bar import TabBar
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.usage.columns import (
    SPENT,
    SUCCESS,
    Column,
    amount_of,
    columns_of,
    describe_too_few,
    describe_trend,
)
from cogency_tui.workspace.protected_names import short_path

_DAY = 86_400.0
_PERIODS = {"7 days": 7, "30 days": 30, "90 days": 90, "1 year": 365, "all time": None}
_SHORTEST_BAR, _LONGEST_BAR = 8, 24
_LABEL = 36
_GAP = 2
_SPARKS = "▁▂▃▄▅▆▇█"
_WEEKS = 26
"""Weeks of a spark line, at most."""

_VIEWS = ("spent", "success")
_VERDICTS = {
    "worse": ("✗", "bad"),
    "better": ("✓", "good"),
    "no clear change": ("=", "dim"),
    "too few": ("·", "dim"),
}

Ask = Callable[[Sequence[Dimension], Span], Awaitable[UsageReport]]


class Found(NamedTuple):
    """A search for the conversations of a row, and its scope."""

    query: str
    where: Where


class _Layout(NamedTuple):
    """The cells of the labels and of the bars, the amount of the longest bar, and the columns that fit, each
    with its cells."""

    label: int
    bar: int
    most: float
    columns: list[tuple[Column, int]]


def draw_spark(values: Sequence[int]) -> str:
    """Draw a bar of one to eight steps for each value, and a dot for none."""
    most, last = max(values, default=0), len(_SPARKS) - 1
    return "".join(_SPARKS[round(value / most * last)] if value else "·" for value in values)


def query_of(dimension: Dimension, label: str, since: float | None, project: str | None) -> Found:
    """The search for the conversations of a row, which changed in the period."""
    where: Where = "everywhere" if project is None else "project"
    if dimension == "week":
        year, _, number = label.partition("-W")
        monday = date.fromisocalendar(int(year), int(number), 1)
        return Found(f"since:{monday} before:{monday + timedelta(weeks=1)}", where)
    period = "" if since is None else f" since:{date.fromtimestamp(since)}"  # noqa: DTZ012 (local days)
    return Found(f'{dimension}:"{label}"{period}', where)


class UsageScreen(ListDialog[Found | None, UsageRow]):
    """Shows the reports that `ask` makes, of the directory `project` or of all; by `by` first."""

    BINDING_GROUP_TITLE = "Usage"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter", "open", "Conversations", id="usage.open", tooltip="Search the conversations of the row"
        ),
        Binding(
            "tab",
            "view",
            "Spent or success",
            id="usage.view",
            tooltip="Switch between what was spent and what came of it",
        ),
        Binding("s", "sort", "Sort", id="usage.sort", tooltip="Sort by the next column"),
        Binding(
            "p", "period", "Period", id="usage.period", tooltip="Choose the next period: 7 days to all time"
        ),
        Binding("a", "place", "Projects", id="usage.place", tooltip="This project or all projects"),
        *(
            Binding(str(number), f"detail({name!r})", f"By {name}", show=False, id=f"usage.{name}")
            for number, name in enumerate(DIMENSIONS, 1)
        ),
        Binding(
            "f1,question_mark", "help", "Help", show=False, id="usage.help", tooltip="Keys of this screen"
        ),
        Binding("escape,q", "close", "Close", id="usage.close"),
        *list_keys("usage"),
    ]
    BOX = "-tall -wide"

    def __init__(
        self, ask: Ask, project: str, by: Dimension = "model", *, clock: Callable[[], float] = time
    ) -> None:
        rows: SelectList[UsageRow] = SelectList(self._draw_row, attrgetter("labels"), id="usage-list")
        super().__init__("usage", "Usage", rows, Note(self._draw_note, id="usage-note"))
        self._ask = ask
        self._project: str | None = project
        self._own_project = project
        self._by: Dimension = by
        self._clock = clock
        self._period = "30 days"
        self._view = _VIEWS[0]
        self._sorted: dict[str, str] = {}
        """The heading of the column that each view is sorted by."""
        self._report: UsageReport | None = None
        self._laid_out_for: tuple[object, ...] = ()
        self._cells = _Layout(0, 0, 0, [])
        self._tabs = TabBar(DIMENSIONS, id="usage-tabs")
        self._titles = DialogBody(self._draw_titles, id="usage-columns")

    def parts(self) -> list[Widget]:
        assert self.note is not None
        return [self._tabs, self._titles, self.rows, self.note]

    def note_lines(self, height: int) -> int:
        return 5 if height >= LOW else 4 if height >= SHORT else 2

    def on_mount(self) -> None:
        self._read()

    def choices(self) -> list[Choice]:
        open_row: list[Choice] = [("enter", "conversations", "open")] if self.rows.rows else []
        other = _VIEWS[1 - _VIEWS.index(self._view)]
        place = "this project" if self._project is None else "all projects"
        return [
            *open_row,
            ("tab", other, "view"),
            ("s", "sort", "sort"),
            ("p", "period", "period"),
            ("a", place, "place"),
            ("escape", "close", "close"),
        ]

    async def clicked(self) -> None:
        await self.moved()

    def action_open(self) -> None:
        if (row := self.rows.row) is not None and self._report is not None:
            found = query_of(self._by, row.labels[0], self._report.since, self._project)
            if self._by == "project":
                found = found._replace(where="everywhere")
            self.dismiss(found)

    def action_detail(self, name: Dimension) -> None:
        """Report by the dimension of this name."""
        self._by = name
        self._read()

    def action_view(self) -> None:
        """Show the other columns."""
        self._view = _VIEWS[1 - _VIEWS.index(self._view)]
        self._show(self.rows.key)

    def action_sort(self) -> None:
        """Sort by the next column; after the last one by the amount again."""
        if self._report is None:
            return
        names = ["", *(column.heading for column in self._columns(self._report))]
        now = self._sorted.get(self._view, "")
        self._sorted[self._view] = names[(names.index(now) + 1) % len(names)] if now in names else ""
        self._show(self.rows.key)

    def action_period(self) -> None:
        """Report the next period."""
        names = [*_PERIODS]
        self._period = names[(names.index(self._period) + 1) % len(names)]
        self._read()

    def action_place(self) -> None:
        """Report all projects, or this one."""
        self._project = self._own_project if self._project is None else None
        self._read()

    def _read(self) -> None:
        """Make the report; one that is still being made is given up."""
        self._report = None
        self.rows.notice = "Loading…"
        self._show(None)
        now, days = self._clock(), _PERIODS[self._period]
        span = Span(now, None if days is None else now - days * _DAY, self._project)
        self.run_worker(partial(self._load, span), group="usage", exclusive=True)

    async def _load(self, span: Span) -> None:
        try:
            self._report = await self._ask((self._by,), span)
            self.rows.notice = f"No usage by {self._by} in this period."
        except CogencyError as exc:
            self.rows.notice = exc.advice
        self._show(None)

    def _show(self, key: object) -> None:
        rows = [] if self._report is None else self._sorted_rows(self._report)
        if key is None:
            self.rows.show(rows)
        else:
            self.rows.rows = rows
            self.rows.restore(key, 0)
        self._tabs.show(self._by, "")
        place = "all projects" if self._project is None else "this project"
        self.heading.state(f"{self._view}, {self._period}, {place}")
        self._titles.redraw()
        self.show_selected()

    def _columns(self, report: UsageReport) -> list[Column]:
        return columns_of(report, SPENT if self._view == "spent" else SUCCESS)

    def _sorted_rows(self, report: UsageReport) -> list[UsageRow]:
        name = self._sorted.get(self._view, "")
        column = next((each for each in self._columns(report) if each.heading == name), None)
        if column is None:
            return [*report.rows]
        return sorted(report.rows, key=lambda row: -column.value(row.figures))

    # Drawing.

    def _layout(self, report: UsageReport, width: int) -> "_Layout":
        """The layout of the rows, which is the same for all."""
        key = (report.by, report.before, self._view, width)
        if self._laid_out_for != key:
            self._laid_out_for, self._cells = key, self._lay_out(report, width)
        return self._cells

    def _lay_out(self, report: UsageReport, width: int) -> "_Layout":
        labels = max((cells(self._name_of(row)) for row in report.rows), default=8)
        label = min(max(labels, 8), _LABEL, max(8, width // 3))
        left = width - 2 - label - _GAP - _SHORTEST_BAR
        shown: list[tuple[Column, int]] = []
        for column in self._columns(report):
            texts = (column.text(row.figures) for row in report.rows)
            room = max(cells(column.heading) + 1, *(cells(text) for text in texts), 1) + _GAP
            if room > left:
                break
            shown.append((column, room))
            left -= room
        bar = min(_LONGEST_BAR, _SHORTEST_BAR + left)
        value = amount_of(report).value
        most = max((value(row.figures) for row in report.rows), default=0)
        return _Layout(label, bar, most, shown)

    def _name_of(self, row: UsageRow) -> str:
        label = row.labels[0]
        return one_line(short_path(Path(label)) if self._by == "project" else label) or "–"

    def _draw_titles(self, width: int, styles: ThemeStyles) -> list[Line]:
        if self._report is None or not self._report.rows:
            return [Line([])]
        label, bar, _most, columns = self._layout(self._report, width)
        mark = self._sorted.get(self._view, "")
        text = " " * (2 + label + _GAP) + amount_of(self._report).heading.ljust(bar)
        for column, room in columns:
            heading = f"{column.heading}▾" if column.heading == mark else column.heading
            text += heading.rjust(room)
        return [Line([Segment(text, styles("dim"))])]

    def _draw_row(self, row: UsageRow, width: int, styles: ThemeStyles, on: str) -> Line:
        report = self._report
        assert report is not None
        label, bar, most, columns = self._layout(report, width)
        name = self._name_of(row)
        shown = fit_path(name, label) if self._by in ("file", "project") else fit(name, label)
        segments = [Segment("  " + shown + " " * (label - cells(shown)), styles("text", on))]
        drawn = draw_bar(amount_of(report).value(row.figures), most, bar, styles)
        segments.append(Segment(" " * _GAP, styles("dim", on)))
        segments += [
            Segment(part.text, styles(role, on)) for part, role in zip(drawn, ("accent", "rule"), strict=True)
        ]
        for column, room in columns:
            segments.append(Segment(column.text(row.figures).rjust(room), styles("text", on)))
        return Line(segments)

    def _draw_note(self, width: int, styles: ThemeStyles) -> list[Line]:
        report, row = self._report, self.rows.row
        if report is None or row is None:
            return []
        lines = [self._draw_weeks(report, row, width, styles)]
        compared = [trend for trend in row.trends if trend.verdict != "too few"]
        lines += [line for trend in compared for line in _draw_trend(trend, width, styles)]
        if few := describe_too_few(row.trends):
            lines += wrap([Segment(f"· {few[:1].upper()}{few[1:]}", styles("dim"))], width)
        if not row.trends:
            lines += wrap([Segment("All time has no period before to compare with.", styles("dim"))], width)
        return lines

    def action_help(self) -> None:
        """Show the keys of this screen."""
        from cogency_tui.tui.help.screen import HelpScreen, collect_keys

        app_of(self).push_screen(HelpScreen("Usage", collect_keys(self)))

    def _draw_weeks(self, report: UsageReport, row: UsageRow, width: int, styles: ThemeStyles) -> Line:
        amount = amount_of(report)
        if self._by == "week":
            return Line([Segment(plural(row.figures.conversation_count, "conversation"), styles("dim"))])
        weeks, names = row.weeks[-_WEEKS:], report.week_names[-_WEEKS:]
        span = " to ".join(dict.fromkeys((*names[:1], *names[-1:])))
        text = f"{amount.heading.capitalize()} by week  "
        return Line(
            [
                Segment(text, styles("dim")),
                Segment(draw_spark(weeks), styles("accent")),
                Segment(fit(f"  {span}", max(0, width - cells(text) - len(weeks))), styles("dim")),
            ]
        )


def _draw_trend(trend: Trend, width: int, styles: ThemeStyles) -> list[Line]:
    mark, role = _VERDICTS[trend.verdict]
    text = f"{trend.name.capitalize()}: {describe_trend(trend)}"
    return wrap(
        [Segment(f"{mark} ", styles(role)), Segment(text, styles("text" if role != "dim" else "dim"))], width
    )
