"""Why the conversation costs what it does: its dearest parts, all requests, and the results carried along."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import ClassVar

import msgspec
from rich.segment import Segment
from textual.binding import Binding, BindingType

from cogency_tui.agent.timeline.costs import CostReport, RequestCost, ResultCost
from cogency_tui.agent.timeline.model import Point
from cogency_tui.safe_text import one_line
from cogency_tui.tui.cost.cache_misses import draw_cache_miss, missed_cache
from cogency_tui.tui.cost.usage_totals import cost_of, in_all
from cogency_tui.tui.kit.dialogs import Choice
from cogency_tui.tui.kit.lines import Line, cells, fit, wrap
from cogency_tui.tui.kit.list_dialog import ListDialog, Note
from cogency_tui.tui.kit.number_format import dollars, percent, plural, tokens
from cogency_tui.tui.kit.select_list import Heading, SelectList, list_keys
from cogency_tui.tui.theme_styles import ThemeStyles

_DEAREST = 10
_TOKENS, _COST = 9, 9


class CostRow(msgspec.Struct, frozen=True):
    """A request or a result, in the part of the list called `group`."""

    group: str
    cost: RequestCost | ResultCost


Row = Heading | CostRow


def cost_rows(report: CostReport) -> list[Row]:
    """The dearest parts, then all requests in order, then all results by cost."""
    dearest = report.dearest(_DEAREST)
    groups: tuple[tuple[str, Sequence[RequestCost | ResultCost]], ...] = (
        ("Most expensive", dearest if len(dearest) == _DEAREST else ()),
        ("Requests", report.requests),
        ("Tool results", report.results),
    )
    rows: list[Row] = []
    for group, costs in groups:
        rows += [Heading(group), *(CostRow(group, cost) for cost in costs)] if costs else []
    return rows


def draw_cost_row(
    row: Row, width: int, styles: ThemeStyles, on: str, subject: Callable[[str], str] = lambda _call: ""
) -> Line:
    """Draw one line of the list: the part, its tokens and its cost. `subject` is that of a call."""
    if isinstance(row, Heading):
        return Line([Segment(fit(row.text, width), styles("text", on, "bold"))])
    cost = row.cost
    paid = "–" if cost.dollars is None else dollars(cost.dollars)
    figures = f"{_about(cost)}{tokens(cost.tokens)}".rjust(_TOKENS) + paid.rjust(_COST)
    room = max(0, width - 2 - cells(figures))
    name, detail = _name(cost, subject), _detail(cost)
    shown = fit(name, room)
    detail = fit(f"  {detail}", room - cells(shown)) if room - cells(shown) > 8 else ""
    space = " " * (room - cells(shown) - cells(detail))
    return Line(
        [
            Segment("  ", styles("text", on)),
            Segment(shown, styles("text", on)),
            Segment(detail + space, styles("dim", on)),
            Segment(figures, styles("text", on)),
        ]
    )


def draw_cost_note(row: Row | None, report: CostReport, width: int, styles: ThemeStyles) -> list[Line]:
    """Explain the figures of the selected row, and what the list leaves out."""
    text = _explain(row.cost) if isinstance(row, CostRow) else "No request has been answered yet."
    lines: list[Line] = []
    if isinstance(row, CostRow) and isinstance(row.cost, RequestCost):
        lines += draw_cache_miss(row.cost.measure, width, styles)
    lines += wrap([Segment(text, styles("text"))], width)
    if report.beside:
        beside = in_all([cost_of(measure, "") for measure in report.beside])
        paid = "" if beside.dollars is None else f", {dollars(beside.dollars)}"
        other = f"Not listed: {plural(beside.requests, 'request')} for summaries, titles and tools"
        lines += wrap(
            [Segment(f"{other}, {tokens(beside.billed + beside.generated)} tokens{paid}.", styles("dim"))],
            width,
        )
    return lines


def _about(cost: RequestCost | ResultCost) -> str:
    return "~" if isinstance(cost, ResultCost) or cost.measure.get("estimated") else ""


def _name(cost: RequestCost | ResultCost, subject: Callable[[str], str]) -> str:
    if isinstance(cost, RequestCost):
        return f"Turn {cost.asked.turn}, step {cost.asked.cycle}"
    about = subject(cost.event["id"]) or one_line(cost.event["payload"]["outcome"])
    return f"{one_line(cost.event['tool'])}  {about}"


def _detail(cost: RequestCost | ResultCost) -> str:
    if isinstance(cost, ResultCost):
        return f"{tokens(cost.size)} × {plural(cost.requests, 'request')}"
    cached = cost.measure.get("cached")
    share = f" · {percent(cached / cost.billed)} cached" if cached and cost.billed else ""
    missed = " · cache miss" if missed_cache(cost.measure) else ""
    generated = tokens(cost.measure.get("output", 0))
    return f"{tokens(cost.billed)} in{share}{missed} · {generated} out"


def _explain(cost: RequestCost | ResultCost) -> str:
    if isinstance(cost, ResultCost):
        return (
            f"Turn {cost.point.turn}: ~{tokens(cost.size)} tokens, included in "
            f"{plural(cost.requests, 'request')} since. /compact removes it from the context."
        )
    measure = cost.measure
    sent, cached = measure.get("input", 0), measure.get("cached")
    parts = [f"{tokens(sent)} tokens sent", f"{tokens(cost.billed)} billed as input"]
    parts += [f"{tokens(cached)} of them read from the provider's cache"] if cached is not None else []
    if written := measure.get("cache_written"):
        parts.append(f"{tokens(written)} written to it")
    parts.append(f"{tokens(measure.get('output', 0))} generated")
    model = f"{measure.get('provider', '?')}/{measure.get('model', '?')}"
    mode = f", {measure['mode']} mode" if "mode" in measure else ""
    return f"{', '.join(parts)}. {one_line(model)}{mode}. Includes earlier tool results."


def _key_of(row: Row) -> Hashable:
    return None if isinstance(row, Heading) else (row.group, row.cost.point.number)


class WhyScreen(ListDialog[Point | None, Row]):
    """Shows `report`; returns the point of the part that the user wants to see."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close", id="why.close"),
        Binding("enter", "open", "Show", id="why.open", tooltip="Show in conversation"),
        *list_keys("why"),
    ]

    def __init__(self, report: CostReport, subject: Callable[[str], str]) -> None:
        draw = partial(draw_cost_row, subject=subject)
        rows: SelectList[Row] = SelectList(draw, _key_of, id="why-list")
        super().__init__("why", "Cost by request and result", rows, Note(self._draw_note, id="why-note"))
        self._report = report

    def on_mount(self) -> None:
        self.rows.show(cost_rows(self._report))
        self.heading.note("tokens    cost")
        self.show_selected()

    def choices(self) -> list[Choice]:
        show: list[Choice] = [("enter", "show in conversation", "open")] if self.rows.row else []
        return [*show, ("escape", "close", "close")]

    async def clicked(self) -> None:
        await self.moved()

    def action_open(self) -> None:
        if isinstance(row := self.rows.row, CostRow):
            self.dismiss(row.cost.point)

    def _draw_note(self, width: int, styles: ThemeStyles) -> list[Line]:
        return draw_cost_note(self.rows.row, self._report, width, styles)
