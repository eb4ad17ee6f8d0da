"""The cost of an agent as lines: a row for it and each agent below it, then one for each of its requests."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.segment import Segment

from cogency_tui.agent.subagent_tree import AgentNode
from cogency_tui.protocol.events import Measure
from cogency_tui.tui.cost.screen import NameColumn, draw_cost_table, draw_remarks
from cogency_tui.tui.cost.usage_totals import Cost, cost_of, in_all, saving
from cogency_tui.tui.kit.lines import BLANK, Line, wrap
from cogency_tui.tui.subagents.tree import cost_of_agent
from cogency_tui.tui.theme_styles import ThemeStyles

_NAMES = NameColumn(14, fixed=True)
"""The names of requests and agents."""

_NO_USAGE = "No usage yet."
_COUNTED_BY = (
    "Sub-agents count toward /cost, /status and the spending limits; "
    "the turn footer and the status line leave them out."
)


def draw_agent_cost(node: AgentNode, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw the cost of each request of an agent, and the sum with the agents below it."""
    if not (node.measures or any(each.measures for each in node.below())):
        return wrap([Segment(_NO_USAGE, styles("dim"))], width)
    lines = _family(node, width, styles)
    if node.measures:
        costs = [*_requests(node.measures)]
        total = in_all(costs)
        lines += [_heading("Requests", styles)] if lines else []
        lines += draw_cost_table(costs, total, width, styles, _NAMES)
        lines += draw_remarks(total, saving(node.measures), width, styles, _NAMES)
    return [*lines, BLANK, *wrap([Segment(_COUNTED_BY, styles("dim"))], width)]


def _requests(measures: Sequence[Measure]) -> Iterator[Cost]:
    """The figures of each request; one with a purpose is a summary, a title, or a question of a tool."""
    number = 0
    for measure in measures:
        number += "purpose" not in measure
        yield cost_of(measure, "Other request" if "purpose" in measure else f"Request {number}")


def _family(node: AgentNode, width: int, styles: ThemeStyles) -> list[Line]:
    """The agent and each one below it, with their sum; nothing for an agent by itself."""
    agents = [(each, cost) for each in (node, *node.below()) if (cost := cost_of_agent(each))]
    costs = [replace(cost, name=each.name) for each, cost in agents]
    if len(costs) < 2:
        return []
    # The agents below it run within its time.
    above, below = (costs[:1], costs[1:]) if agents[0][0] is node else (costs, [])
    table = draw_cost_table(costs, in_all(above, below), width, styles, _NAMES)
    return [_heading("With sub-agents", styles), *table, BLANK]


def _heading(text: str, styles: ThemeStyles) -> Line:
    return Line([Segment(text, styles("text", attributes="bold"))])
