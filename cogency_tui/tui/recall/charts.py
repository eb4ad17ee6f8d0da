"""Figures of a period as small bar charts: a label, a bar, what it stands for."""

from collections.abc import Sequence
from typing import NamedTuple

from rich.segment import Segment

from cogency_tui.store.statistics import Spending, Statistics
from cogency_tui.text import one_line
from cogency_tui.tui.drawing.figures import dollars, duration, plural, tokens
from cogency_tui.tui.drawing.lines import BLANK, Line, cells, fit, fit_path, wrap
from cogency_tui.tui.theming import Inks

_EIGHTHS = " ▏▎▍▌▋▊▉"
_LABEL = 32
_SHORTEST_BAR = 8
_DAYS = 31
_MOST = 10


class _Bar(NamedTuple):
    label: str
    value: float
    note: str


def draw_statistics(found: Statistics, width: int, inks: Inks) -> list[Line]:
    """What a period came to in all, then by day, by model, by tool and by file."""
    total = found.total
    facts = [
        plural(found.conversations, "conversation"),
        plural(found.turns, "turn"),
        f"{tokens(total.input)} tokens sent",
        f"{tokens(total.cached)} cached",
        f"{tokens(total.output)} generated",
    ]
    facts += [dollars(total.cost)] if total.cost else []
    lines = wrap([Segment(" · ".join(facts), inks("text", attributes="bold"))], width)
    days = [_spent(day) for day in found.days[-_DAYS:]]
    tools = [
        _Bar(
            use.tool,
            use.calls,
            f"{plural(use.calls, 'call')}{f', {use.failed} failed' if use.failed else ''}"
            f", {duration(use.seconds)}",
        )
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
            heading = Line([Segment(title, inks("accent", attributes="bold"))])
            lines += [BLANK, heading, *_draw(bars, width, inks)]
    if not found.conversations:
        lines += [BLANK, Line([Segment("Nothing was asked in this period.", inks("dim"))])]
    return lines


def _spent(spending: Spending) -> _Bar:
    cost = f"  {dollars(spending.cost)}" if spending.cost else ""
    used = spending.input + spending.output
    return _Bar(spending.label, used, f"{tokens(used)}{cost}")


def _draw(bars: Sequence[_Bar], width: int, inks: Inks) -> list[Line]:
    most = max(bar.value for bar in bars)
    labels = [one_line(bar.label) for bar in bars]
    column = min(max(cells(label) for label in labels), _LABEL, width // 3)
    note = max(cells(bar.note) for bar in bars)
    room = width - column - note - 4
    lines: list[Line] = []
    for label, bar in zip(labels, bars, strict=True):
        shown = fit_path(label, column)
        head = Segment(shown + " " * (column - cells(shown) + 2), inks("text"))
        if room < _SHORTEST_BAR:
            lines.append(Line([head, Segment(fit(bar.note, width - column - 2), inks("dim"))]))
            continue
        drawn = bar_of(bar.value, most, room)
        lines.append(
            Line([head, Segment(drawn, inks("accent")), Segment(f"  {bar.note.rjust(note)}", inks("dim"))])
        )
    return lines


def bar_of(value: float, most: float, width: int) -> str:
    """`value` of `most` as a bar in `width` cells, to an eighth of one; what is not nothing is seen."""
    eighths = round(value * width * 8 / most) if most > 0 else 0
    full, part = divmod(max(eighths, 1 if value > 0 else 0), 8)
    return ("█" * full + (_EIGHTHS[part] if part else "")).ljust(width)
