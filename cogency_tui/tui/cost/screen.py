"""The usage of a conversation as a table in a dialog: a row for each model, then the savings."""

from collections.abc import Iterable
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult

from cogency_tui.safe_text import one_line
from cogency_tui.tui.cost.context_usage import ConversationUsage
from cogency_tui.tui.cost.usage_totals import Cost, Saving
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.dialogs import Choices, DialogBody, DialogBox, DialogTitle, ReadingScreen
from cogency_tui.tui.kit.lines import BLANK, Line, wrap
from cogency_tui.tui.kit.number_format import dollars, duration, plural, ratio, tokens
from cogency_tui.tui.theme_styles import ThemeStyles

_COLUMNS = (("sent", 9), ("billed", 9), ("cached", 8), ("generated", 11), ("cost", 9), ("time", 13))
_FIGURES = sum(size for _name, size in _COLUMNS)
_LEFT_OUT = ("time", "billed", "cached")
"""Columns omitted where space is short, in this order."""

_MEANINGS = {
    "sent": "sent: to the provider",
    "billed": "billed: as input",
    "cached": "cached: input read from the cache, cheaper",
    "generated": "generated: output",
}


class NameColumn(NamedTuple):
    """The names of the rows, in so many `cells` beside the figures. Where space is short, a name has a line
    of its own above its figures; a `fixed` column stays beside them, and columns of figures give way.
    """

    cells: int
    fixed: bool = False


_MODELS = NameColumn(20)


def draw_costs(costs: list[Cost], total: Cost, saved: Saving, width: int, styles: ThemeStyles) -> list[Line]:
    """One row for each of `costs`, the `total` if there are several, and an explanation of the figures."""
    return [*draw_cost_table(costs, total, width, styles), *draw_remarks(total, saved, width, styles)]


def draw_remarks(
    total: Cost, saved: Saving, width: int, styles: ThemeStyles, names: NameColumn = _MODELS
) -> list[Line]:
    """An explanation of the figures that `draw_cost_table` has room for."""
    lines: list[Line] = []
    for remark in (_explain(_columns(width, names)[0]), *_remarks(total, saved)):
        lines += [BLANK, *wrap([Segment(remark, styles("dim"))], width)]
    return lines


def draw_cost_table(
    costs: list[Cost], total: Cost, width: int, styles: ThemeStyles, names: NameColumn = _MODELS
) -> list[Line]:
    """One row for each of `costs`, and the `total` if there are several."""
    columns, beside = _columns(width, names)
    head = "".join(title.rjust(size) for title, size in columns)
    lines = [_figures("", head, width, styles("dim"), styles)]
    for cost in costs:
        lines += _row(cost, columns, width, styles, beside=beside)
    if len(costs) > 1:
        lines.append(Line([Segment("─" * width, styles("rule"))]))
        lines += _row(total, columns, width, styles, beside=beside)
    return lines


def _row(
    cost: Cost, fitting: list[tuple[str, int]], width: int, styles: ThemeStyles, *, beside: bool
) -> list[Line]:
    about = "~" if cost.estimated else ""
    shown = (
        about + tokens(cost.sent),
        about + tokens(cost.billed),
        "–" if cost.cached is None else tokens(cost.cached),
        about + tokens(cost.generated),
        "–" if cost.dollars is None else about + dollars(cost.dollars) + ("+" if cost.unpriced else ""),
        duration(cost.seconds),
    )
    columns = zip(shown, _COLUMNS, strict=True)
    figures = "".join(text.rjust(column[1]) for text, column in columns if column in fitting)
    name = one_line(cost.name)
    if beside:
        return [_figures(name, figures, width, styles("text"), styles)]
    above = Line([Segment(fit(name, width), styles("text", attributes="bold"))])
    return [above, _figures("", figures, width, styles("text"), styles)]


def _columns(width: int, names: NameColumn) -> tuple[list[tuple[str, int]], bool]:
    """The columns that fit, and whether the names are beside them."""
    beside = names.fixed or width >= names.cells + _FIGURES
    return _fitting(width - names.cells if beside else width), beside


def _explain(columns: list[tuple[str, int]]) -> str:
    """What the columns mean."""
    names = [name for name, _size in columns]
    meanings = " · ".join(_MEANINGS[name] for name in names if name in _MEANINGS)
    time = " Time includes tool calls and waiting for your answers." if "time" in names else ""
    return f"{meanings}.{time}"


def _fitting(width: int) -> list[tuple[str, int]]:
    """The columns that fit."""
    columns = [*_COLUMNS]
    for name in _LEFT_OUT:
        if sum(size for _name, size in columns) > width:
            columns = [column for column in columns if column[0] != name]
    return columns


def _figures(name: str, figures: str, width: int, style: Style, styles: ThemeStyles) -> Line:
    label = fit(name, width - cells(figures))
    space = " " * max(0, width - cells(label) - cells(figures))
    return Line([Segment(label + space, styles("text", attributes="bold")), Segment(figures, style)])


def _remarks(total: Cost, saved: Saving) -> Iterable[str]:
    if total.dollars is None:
        yield "Cost unknown: no price for this model."
    elif total.unpriced:
        yield f"+: no price known for {plural(total.unpriced, 'request')} of {total.requests}."
    if total.estimated:
        yield "~ estimated"
    yield _describe_saving(saved)


def _describe_saving(saved: Saving) -> str:
    if saved.replayed <= saved.sent or not saved.sent:
        return "No savings: every request sent the whole conversation, as in replay mode."
    replayed = tokens(saved.replayed)
    if saved.estimated:
        replayed = f"about {replayed} (estimated)"
    less = ratio(saved.replayed / saved.sent)
    return f"Sent {tokens(saved.sent)}; replay mode would have sent {replayed}, {less} as many."


class CostScreen(ReadingScreen[None]):
    """Shows what was `spent`: at least one request."""

    def __init__(self, spent: ConversationUsage) -> None:
        super().__init__()
        self._costs, self._saved = spent.costs, spent.saving
        self._total = spent.cost

    def compose(self) -> ComposeResult:
        yield DialogBox(
            DialogTitle("Cost", id="cost-title"),
            DialogBody(self._draw, id="cost-body"),
            keys=Choices([("escape", "close", "close")]),
            id="cost",
        )

    def on_mount(self) -> None:
        self.query_one(DialogTitle).state(plural(self._total.requests, "request"))

    def _draw(self, width: int, styles: ThemeStyles) -> list[Line]:
        return draw_costs(self._costs, self._total, self._saved, width, styles)
