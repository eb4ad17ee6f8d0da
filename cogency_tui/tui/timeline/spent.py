"""What a conversation had taken by a point, as lines."""

from bisect import bisect_left

from rich.segment import Segment

from cogency_tui.agent.timeline.model import Past, Spent
from cogency_tui.protocol.events import Measure
from cogency_tui.tui.costs import Cost, by_model, in_all, running_totals, saving
from cogency_tui.tui.drawing.costs import draw_costs
from cogency_tui.tui.drawing.figures import dollars, duration, tokens
from cogency_tui.tui.drawing.lines import BLANK, Line, wrap
from cogency_tui.tui.theming import Inks

_NOTHING = "Nothing was taken by then: no request had come to its end."


class Totals:
    """The sum of all that `past` had taken by each of its points."""

    def __init__(self, past: Past) -> None:
        self._past = past
        figures = sorted([*past.inherited, *past.own, *past.delegated], key=lambda each: each.moment)
        self._moments = [each.moment for each in figures]
        self._totals = running_totals(each.measure for each in figures)

    def at(self, index: int) -> Cost | None:
        """The sum, if there was anything."""
        count = bisect_left(self._moments, self._past.until(index))
        return self._totals[count - 1] if count else None


def draw_spent(spent: Spent, width: int, inks: Inks) -> list[Line]:
    """A table by model, and the figures of the cycle that the point belongs to."""
    costs = _costs(spent)
    if not costs:
        return wrap([Segment(_NOTHING, inks("dim"))], width)
    everything = [*spent.inherited, *spent.own, *spent.delegated]
    lines = [*_draw_step(spent.step, width, inks)] if spent.step else []
    return [*lines, *draw_costs(costs, in_all(costs), saving(everything), width, inks)]


def _costs(spent: Spent) -> list[Cost]:
    return [
        *by_model(spent.inherited, " (before the fork)"),
        *by_model(spent.own),
        *by_model(spent.delegated, " (sub-agents)"),
    ]


def _draw_step(step: Measure, width: int, inks: Inks) -> list[Line]:
    about = "~" if step.get("estimated") else ""
    facts = [f"{step.get('mode', '')}", f"↑ {about}{tokens(step.get('input', 0))} tokens"]
    facts.append(f"↓ {about}{tokens(step.get('output', 0))}")
    if step.get("cached"):
        facts.append(f"cached {tokens(step.get('cached', 0))}")
    if "cost" in step:
        facts.append(dollars(step["cost"]))
    if "ttft" in step:
        facts.append(f"first token after {duration(step['ttft'])}")
    if step.get("context"):
        facts.append(f"context {tokens(step.get('context', 0))}")
    head = [
        Segment("This cycle  ", inks("text", attributes="bold")),
        Segment(" · ".join(fact for fact in facts if fact), inks("text")),
    ]
    return [*wrap(head, width), BLANK]
