"""Why the conversation costs what it does: its dearest parts, all requests, and the results carried along."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import ClassVar

import msgspec
from rich.segment import Segment
from textual.binding import Binding, BindingType

from cogency_tui.agent.timeline.costs import CostReport, RequestCost, ResultCost
from cogency_tui.protocol.events import Measure
from cogency_tui.safe_text import one_line
from cogency_tui.tui.cost.cache_misses import draw_cache_miss, missed_cache
from cogency_tui.tui.cost.usage_totals import Cost, cost_of, in_all
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.dialogs import Choice
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.list_dialog import ListDialog, Note
from cogency_tui.tui.kit.number_format import dollars, percent, plural, tokens
from cogency_tui.tui.kit.select_list import Heading, SelectList, list_keys
from cogency_tui.tui.theme_styles import ThemeStyles

_DEAREST = 10
_REMEDY = " /compact removes it from the context."
_TOKENS, _COST = 9, 9


_OTHERS = {
    "title": ("Title", "Gave this conversation its title."),
    "summary": ("Summary", "Summarized earlier messages."),
    "profile": ("Preferences", "Updated what is remembered about you."),
    "llm": ("llm", "Answered questions of the llm tool."),
    "rest": ("Stopped answers", "Went on at the provider after they were stopped."),
}
"""The name and the meaning of each purpose of requests that belong to no step."""

_OTHER = ("Other", "Made for titles, summaries or tools.")


class CostRow(msgspec.Struct, frozen=True):
    """A request or a result, in the part of the list called `group`."""

    group: str
    cost: RequestCost | ResultCost


class OtherRow(msgspec.Struct, frozen=True):
    """The requests of one purpose that belong to no step, with their sum."""

    purpose: str
    cost: Cost


Row = Heading | CostRow | OtherRow


def cost_rows(report: CostReport) -> list[Row]:
    """The total, the dearest parts, then all requests in order, then all results by cost.

    In a short list, the dearest parts would only repeat the others.
    """
    is_long = len(report.requests) + len(report.results) >= 2 * _DEAREST
    rows: list[Row] = [Heading(_describe_total(report), _figures_of_total(report))] if report.measures else []
    rows += _group("Most expensive", report.dearest(_DEAREST) if is_long else ())
    rows += _group("Requests", report.requests)
    rows += [Heading("Other requests"), *_other_rows(report.beside)] if report.beside else []
    return [*rows, *_group("Tool results", report.results)]


def _group(name: str, costs: Sequence[RequestCost | ResultCost]) -> list[Row]:
    return [Heading(name), *(CostRow(name, cost) for cost in costs)] if costs else []


def _other_rows(measures: Sequence[Measure]) -> Iterator[OtherRow]:
    costs: dict[str, list[Cost]] = {}
    for measure in measures:
        costs.setdefault(measure.get("purpose", ""), []).append(cost_of(measure, ""))
    return (OtherRow(purpose, in_all(each)) for purpose, each in costs.items())


def _describe_total(report: CostReport) -> str:
    by_agents = sum(each.agent is not None for each in report.requests)
    of_them = f", {by_agents:,} by sub-agents" if by_agents else ""
    return f"Total of {plural(len(report.measures), 'request')}{of_them}"


def _figures_of_total(report: CostReport) -> str:
    return _figures_of(in_all([cost_of(measure, "") for measure in report.measures]))


def _figures_of(cost: Cost) -> str:
    paid = "–" if cost.dollars is None else dollars(cost.dollars) + "+" * bool(cost.unpriced)
    return _figures("~" * cost.estimated + tokens(cost.billed + cost.generated), paid)


def _figures(counted: str, paid: str) -> str:
    return counted.rjust(_TOKENS) + paid.rjust(_COST)


def draw_cost_row(
    row: Row, width: int, styles: ThemeStyles, on: str, subject: Callable[[str], str] = lambda _call: ""
) -> Line:
    """Draw one line of the list: the part, its tokens and its cost. `subject` is that of a call."""
    if isinstance(row, Heading):
        text = fit(row.text, width - cells(row.aside)).ljust(width - cells(row.aside))
        return Line([Segment(text + row.aside, styles("text", on, "bold"))])
    if isinstance(row, OtherRow):
        name, detail = _other(row)[0], plural(row.cost.requests, "request")
        figures = _figures_of(row.cost)
    else:
        cost = row.cost
        name, detail = _name(cost, subject), _detail(cost)
        paid = "–" if cost.dollars is None else dollars(cost.dollars)
        figures = _figures(_about(cost) + tokens(cost.tokens), paid)
    room = max(0, width - 2 - cells(figures))
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


def draw_cost_note(row: Row | None, width: int, styles: ThemeStyles) -> list[Line]:
    """Explain the figures of the selected row."""
    if isinstance(row, OtherRow):
        return wrap([Segment(_other(row)[1], styles("text"))], width)
    if not isinstance(row, CostRow):
        return wrap([Segment("No request has been answered yet.", styles("text"))], width)
    missed = draw_cache_miss(row.cost.measure, width, styles) if isinstance(row.cost, RequestCost) else []
    return [*missed, *wrap([Segment(_explain(row.cost), styles("text"))], width)]


def _other(row: OtherRow) -> tuple[str, str]:
    return _OTHERS.get(row.purpose, _OTHER)


def _about(cost: RequestCost | ResultCost) -> str:
    return "~" if isinstance(cost, ResultCost) or cost.measure.get("estimated") else ""


def _name(cost: RequestCost | ResultCost, subject: Callable[[str], str]) -> str:
    agent = one_line(cost.agent.name) if cost.agent else ""
    if isinstance(cost, RequestCost):
        return f"{agent or f'Turn {cost.asked.turn}'}, step {cost.asked.cycle}"
    about = subject(cost.event["id"]) or one_line(cost.event["payload"]["outcome"])
    return f"{agent and f'{agent}: '}{one_line(cost.event['tool'])}  {about}"


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
        where = f"In sub-agent {one_line(cost.agent.name)}" if cost.agent else f"Turn {cost.point.turn}"
        return (
            f"{where}: ~{tokens(cost.size)} tokens, included in "
            f"{plural(cost.requests, 'request')} since.{'' if cost.agent else _REMEDY}"
        )
    measure = cost.measure
    sent, cached = measure.get("input", 0), measure.get("cached")
    parts = [f"{tokens(sent)} tokens sent", f"{tokens(cost.billed)} billed as input"]
    parts += [f"{tokens(cached)} of them read from the provider's cache"] if cached is not None else []
    if written := measure.get("cache_written"):
        parts.append(f"{tokens(written)} written to it")
    parts.append(f"{tokens(measure.get('output', 0))} generated")
    model = f"{measure.get('provider', '?')}/{measure.get('model', '?')}"
    choices = [f"{measure['mode']} mode"] if "mode" in measure else []
    choices += [f"effort {measure['effort']}"] if "effort" in measure else []
    choices += [f"tier {one_line(measure['tier'])}"] if "tier" in measure else []
    by = f"By sub-agent {one_line(cost.agent.name)}: " if cost.agent else ""
    return f"{by}{', '.join(parts)}. {', '.join([one_line(model), *choices])}. Includes earlier tool results."


def _key_of(row: Row) -> Hashable:
    if isinstance(row, OtherRow):
        return row.purpose
    return None if isinstance(row, Heading) else (row.group, row.cost.agent, row.cost.point.number)


class WhyScreen(ListDialog[RequestCost | ResultCost | None, Row]):
    """Shows `report`; returns the part that the user wants to see."""

    BINDING_GROUP_TITLE = "Cost by request"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close", id="why.close"),
        Binding("enter", "open", "Show", id="why.open", tooltip="Show in conversation, or sub-agent"),
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
        show: list[Choice] = []
        if isinstance(row := self.rows.row, CostRow):
            show = [("enter", "show sub-agent" if row.cost.agent else "show in conversation", "open")]
        return [*show, ("escape", "close", "close")]

    async def clicked(self) -> None:
        await self.moved()

    def action_open(self) -> None:
        if isinstance(row := self.rows.row, CostRow):
            self.dismiss(row.cost)

    def _draw_note(self, width: int, styles: ThemeStyles) -> list[Line]:
        return draw_cost_note(self.rows.row, width, styles)
