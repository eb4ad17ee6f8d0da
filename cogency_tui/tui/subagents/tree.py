"""The tree of agents: a line for each, with its state, name and task, and its figures in columns."""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import ClassVar

import msgspec
from rich.segment import Segment
from textual.binding import BindingType

from cogency_tui.agent.subagent_tree import AgentNode
from cogency_tui.protocol.events import Measure
from cogency_tui.safe_text import one_line
from cogency_tui.tui.cost.usage_totals import Cost, cost_of, in_all
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.lines import Line, width_of
from cogency_tui.tui.kit.number_format import counted, dollars, duration, tokens, whole_seconds
from cogency_tui.tui.kit.select_list import Heading, SelectList, list_keys
from cogency_tui.tui.subagents.keys import TREE_KEYS
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.call_unit import GLYPHS, ROLES, State
from cogency_tui.tui.transcript.pen import SPINNER

COLUMNS = {"time": 14, "cost": 14, "tokens": 20, "lines": 20, "model": 36}
"""The columns, each with the cells that state, name and task must have beside it in the deepest branch.
Where space is short, the last columns are dropped."""

_GAP = 2

_LEAST_TASK = 8
"""Cells with which a task is shown."""

_NONE_YET = "No sub-agents yet."


class AgentRow(msgspec.Struct, frozen=True):
    """An agent; `branch` draws its place in the tree, `top` is the call in the user's conversation that it
    belongs to, `cost` what it used itself, and `figures` are the texts of its columns without the time."""

    node: AgentNode
    branch: str
    top: str
    cost: Cost | None
    figures: tuple[str, ...]


Row = AgentRow | Heading


class TreeRows:
    """Makes the rows of a tree, which grows. The usage of an agent is summed again only if there is more."""

    def __init__(self) -> None:
        self._costs: dict[str, tuple[Sequence[Measure], Cost | None]] = {}

    def of(self, root: AgentNode) -> list[Row]:
        """The rows from the root on."""
        rows = list[Row]([self._row(root, root, "", ""), *self._below(root, root, "", "")])
        return rows if len(rows) > 1 else [*rows, Heading(_NONE_YET)]

    def _below(self, root: AgentNode, above: AgentNode, branch: str, top: str) -> Iterator[AgentRow]:
        for child in above.children:
            is_last = child is above.children[-1]
            here = top or child.call
            yield self._row(child, root, f"{branch}{'└' if is_last else '├'} ", here)
            yield from self._below(root, child, f"{branch}{' ' if is_last else '│'} ", here)

    def _row(self, node: AgentNode, root: AgentNode, branch: str, top: str) -> AgentRow:
        cost = self._cost(node)
        return AgentRow(node, branch, top, cost, _figures(node, cost, root))

    def _cost(self, node: AgentNode) -> Cost | None:
        measures, cost = self._costs.get(node.key, (None, None))
        if measures is not node.measures:
            cost = cost_of_agent(node)
            self._costs[node.key] = node.measures, cost
        return cost


def _figures(node: AgentNode, cost: Cost | None, root: AgentNode) -> tuple[str, ...]:
    changes = counted(sum(file.added for file in node.files), sum(file.removed for file in node.files))
    return (
        dollars_of(cost) if cost else "",
        tokens_of(cost) if cost else "",
        changes or ("0" if node.files else ""),
        one_line(node.model.rpartition("/")[2]) if node.model not in ("", root.model) else "",
    )


def cost_of_agent(node: AgentNode) -> Cost | None:
    """The sum of what an agent used itself, if anything."""
    return in_all([cost_of(measure, "") for measure in node.measures]) if node.measures else None


def dollars_of(cost: Cost) -> str:
    """The dollars of a cost, if they are known: `+` follows where they are not for all of its requests."""
    if cost.dollars is None:
        return ""
    return f"{'~' * cost.estimated}{dollars(cost.dollars)}{'+' * bool(cost.unpriced)}"


def tokens_of(cost: Cost) -> str:
    """The tokens of a cost, sent and generated."""
    return f"{'~' * cost.estimated}{tokens(cost.sent + cost.generated)}"


def time_of_agent(node: AgentNode, now: float) -> str:
    """The time of an agent, if it has one."""
    seconds = node.elapsed(now)
    if node.running and node.call:
        return whole_seconds(seconds)
    return duration(seconds) if seconds else ""


class AgentList(SelectList[Row]):
    """Shows the tree; `now` is the time in Unix seconds, for running agents; `waits` whether a call of
    the user's conversation waits for the user."""

    BINDING_GROUP_TITLE = "Agents"

    BINDINGS: ClassVar[list[BindingType]] = [*TREE_KEYS, *list_keys("agents.tree")]

    def __init__(self, waits: Callable[[str], bool], *, id: str | None = None) -> None:
        super().__init__(self._draw_row, _key_of, focusable=True, id=id)
        self._waits = waits
        self.now = 0.0
        self.frame = 0
        self._rows = TreeRows()
        self._widths: dict[str, int] = {}
        """The cells of each column that has anything to show."""
        self._deepest = 0
        """The cells of the longest branch."""

    @property
    def agent(self) -> AgentRow | None:
        """The selected agent."""
        return self.row if isinstance(self.row, AgentRow) else None

    def state_of(self, row: AgentRow) -> State:
        """The state of an agent: while one waits for the user, so do all at work in the same call."""
        return "waiting" if row.node.running and self._waits(row.top) else row.node.state

    @property
    def running(self) -> Sequence[State]:
        """The states of the sub-agents at work, which are running or waiting."""
        return [
            self.state_of(row)
            for row in self.rows
            if isinstance(row, AgentRow) and row.top and row.node.running
        ]

    @property
    def total(self) -> Cost | None:
        """What all agents used together, if anything."""
        costs = [row.cost for row in self.rows if isinstance(row, AgentRow) and row.cost]
        return in_all(costs) if costs else None

    def show_tree(self, root: AgentNode, now: float) -> None:
        """Show the tree as it is at `now`, with the same agent selected."""
        self.now = now
        self.rows = self._rows.of(root)
        self._measure()
        self.restore(self.key, self.selected)

    def select_call(self, call: str) -> None:
        """Select the agent that `call` started, the last attempt of several."""
        places = [y for y, row in enumerate(self.rows) if isinstance(row, AgentRow) and row.node.call == call]
        if places and call:
            self.select(places[-1])

    def tick(self, now: float) -> None:
        """Advance the times of the running agents."""
        self.now = now
        self.frame += 1
        self._measure()
        self.refresh()

    def column_names(self) -> str:
        """The names of the columns that fit, to be shown above them."""
        columns = self._fitting(self.text_width)
        return "".join(" " * _GAP + name.rjust(size) for name, size in columns.items())

    def _measure(self) -> None:
        rows = [_texts(row, self.now) for row in self.rows if isinstance(row, AgentRow)]
        widest = {name: max(cells(texts[name]) for texts in rows) for name in COLUMNS}
        self._widths = {name: max(size, len(name)) for name, size in widest.items() if size}
        self._deepest = max(cells(row.branch) for row in self.rows if isinstance(row, AgentRow))

    def _fitting(self, width: int) -> dict[str, int]:
        """The columns that fit into `width` cells, each with its own."""
        room = width - self._deepest
        ends = accumulate(size + _GAP for size in self._widths.values())
        ended = zip(self._widths.items(), ends, strict=True)
        return {name: size for (name, size), end in ended if end + COLUMNS[name] <= room}

    def _draw_row(self, row: Row, width: int, styles: ThemeStyles, on: str) -> Line:
        if isinstance(row, Heading):
            return Line([Segment(fit(f"  {row.text}", width), styles("dim", on))])
        node, texts, columns = row.node, _texts(row, self.now), self._fitting(width)
        figures = "".join(" " * _GAP + texts[name].rjust(size) for name, size in columns.items())
        state = self.state_of(row)
        glyph = SPINNER[self.frame % len(SPINNER)] if state == "running" else GLYPHS[state]
        room = width - cells(figures)
        left = [
            Segment(row.branch, styles("dim", on)),
            Segment(f"{glyph} ", styles(ROLES[state], on)),
        ]
        left.append(Segment(fit(one_line(node.name), room - width_of(left)), styles("text", on, "bold")))
        beside = room - width_of(left)
        task = fit(f"  {one_line(node.task)}", beside) if beside >= _LEAST_TASK else ""
        space = " " * max(0, room - width_of(left) - cells(task))
        dim = styles("dim", on)
        return Line([*left, Segment(task + space, dim), Segment(figures, dim)])


def _texts(row: AgentRow, now: float) -> dict[str, str]:
    """The text of each column."""
    return dict(zip(COLUMNS, (time_of_agent(row.node, now), *row.figures), strict=True))


def _key_of(row: Row) -> str | None:
    return row.node.key if isinstance(row, AgentRow) else None
