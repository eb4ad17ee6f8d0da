"""The tree of agents: a line for each, with its state, name and task, and its figures in columns."""

from collections.abc import Iterator
from itertools import accumulate
from typing import ClassVar

import msgspec
from rich.segment import Segment
from textual.binding import BindingType

from cogency_tui.agent.subagent_tree import AgentNode
from cogency_tui.safe_text import one_line
from cogency_tui.tui.cost.usage_totals import Cost, cost_of, in_all
from cogency_tui.tui.kit.lines import Line, cells, fit, width_of
from cogency_tui.tui.kit.number_format import counted, dollars, duration, tokens, whole_seconds
from cogency_tui.tui.kit.select_list import Heading, SelectList, list_keys
from cogency_tui.tui.subagents.keys import TREE_KEYS
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.call_unit import GLYPHS, ROLES
from cogency_tui.tui.transcript.pen import SPINNER

COLUMNS = {"time": 18, "cost": 18, "tokens": 24, "lines": 24, "model": 40}
"""The columns, each with the cells that state, name and task must have beside it. Where space is short, the
last ones are dropped."""

_GAP = 2

_LEAST_TASK = 8
"""Cells with which a task is shown."""

_NONE_YET = "No sub-agents yet."


class AgentRow(msgspec.Struct, frozen=True):
    """An agent; `branch` draws its place in the tree, `top` is the call in the user's conversation that it
    belongs to, and `figures` are the texts of its columns without the time."""

    node: AgentNode
    branch: str
    top: str
    figures: tuple[str, ...]


Row = AgentRow | Heading


def rows_of(root: AgentNode) -> list[Row]:
    """The rows of a tree from the root on."""
    rows = list[Row]([AgentRow(root, "", "", _figures(root, root)), *_rows_below(root, root, "", "")])
    return rows if len(rows) > 1 else [*rows, Heading(_NONE_YET)]


def _rows_below(root: AgentNode, above: AgentNode, branch: str, top: str) -> Iterator[AgentRow]:
    for child in above.children:
        is_last = child is above.children[-1]
        here = top or child.call
        yield AgentRow(child, f"{branch}{'└' if is_last else '├'} ", here, _figures(child, root))
        yield from _rows_below(root, child, f"{branch}{' ' if is_last else '│'} ", here)


def _figures(node: AgentNode, root: AgentNode) -> tuple[str, ...]:
    cost = cost_of_agent(node)
    about = "~" if cost and cost.estimated else ""
    changes = counted(sum(file.added for file in node.files), sum(file.removed for file in node.files))
    return (
        "" if cost is None or cost.dollars is None else about + dollars(cost.dollars),
        f"{about}{tokens(cost.sent + cost.generated)}" if cost else "",
        changes or ("0" if node.files else ""),
        one_line(node.model.rpartition("/")[2]) if node.model not in ("", root.model) else "",
    )


def cost_of_agent(node: AgentNode) -> Cost | None:
    """The sum of what an agent used itself, if anything."""
    return in_all([cost_of(measure, "") for measure in node.measures]) if node.measures else None


def time_of_agent(node: AgentNode, now: float) -> str:
    """The time of an agent, if it has one."""
    seconds = node.elapsed(now)
    if node.running and node.call:
        return whole_seconds(seconds)
    return duration(seconds) if seconds else ""


class AgentList(SelectList[Row]):
    """Shows the tree; `now` is the time in Unix seconds, for running agents."""

    BINDING_GROUP_TITLE = "Agents"

    BINDINGS: ClassVar[list[BindingType]] = [*TREE_KEYS, *list_keys("agents.tree")]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(self._draw_row, _key_of, focusable=True, id=id)
        self.now = 0.0
        self.frame = 0
        self._widths: dict[str, int] = {}
        """The cells of each column that has anything to show."""

    @property
    def agent(self) -> AgentRow | None:
        """The selected agent."""
        return self.row if isinstance(self.row, AgentRow) else None

    def show_tree(self, root: AgentNode, now: float) -> None:
        """Show the tree as it is at `now`, with the same agent selected."""
        self.now = now
        self.rows = rows_of(root)
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

    def _fitting(self, width: int) -> dict[str, int]:
        """The columns that fit into `width` cells, each with its own."""
        ends = accumulate(size + _GAP for size in self._widths.values())
        ended = zip(self._widths.items(), ends, strict=True)
        return {name: size for (name, size), end in ended if end + COLUMNS[name] <= width}

    def _draw_row(self, row: Row, width: int, styles: ThemeStyles, on: str) -> Line:
        if isinstance(row, Heading):
            return Line([Segment(fit(f"  {row.text}", width), styles("dim", on))])
        node, texts, columns = row.node, _texts(row, self.now), self._fitting(width)
        figures = "".join(" " * _GAP + texts[name].rjust(size) for name, size in columns.items())
        glyph = SPINNER[self.frame % len(SPINNER)] if node.running else GLYPHS[node.state]
        room = width - cells(figures)
        left = [
            Segment(row.branch, styles("dim", on)),
            Segment(f"{glyph} ", styles(ROLES[node.state], on)),
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
