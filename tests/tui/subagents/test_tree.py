"""The rows of the tree of agents: their sums, and how they are drawn where there is little room."""

from pathlib import Path

import pytest

from cogency_tui.agent.subagent_tree import AgentNode
from cogency_tui.protocol.events import Measure
from cogency_tui.tui.subagents.tree import AgentRow, TreeRows
from tests.tui.recall.past import agent_in
from tests.tui.subagents.stage import make_chain, watching

PRICED: Measure = {"input": 100, "output": 20, "cost": 0.5, "mode": "replay"}
UNPRICED: Measure = {"input": 1000, "output": 80, "mode": "replay"}
ESTIMATED: Measure = {"input": 10, "output": 2, "cost": 0.25, "mode": "replay", "estimated": True}


def node(*measures: Measure) -> AgentNode:
    return AgentNode("c", "", "Conversation", "", "done", "s/m", 0.0, 0.0, "", measures, (), ())


def row(rows: TreeRows, agent: AgentNode) -> AgentRow:
    made = rows.of(agent)[0]
    assert isinstance(made, AgentRow)
    return made


@pytest.mark.parametrize(
    ("measures", "figures"),
    [
        ((), ("", "")),
        ((PRICED,), ("$0.50", "120")),
        ((UNPRICED,), ("", "1.1k")),
        ((PRICED, UNPRICED), ("$0.50+", "1.2k")),
        ((PRICED, ESTIMATED), ("~$0.75", "~132")),
    ],
)
def test_a_sum_says_what_is_unknown_or_estimated(
    measures: tuple[Measure, ...], figures: tuple[str, str]
) -> None:
    assert row(TreeRows(), node(*measures)).figures[:2] == figures


def test_usage_is_summed_again_when_there_is_more() -> None:
    rows, agent = TreeRows(), node(PRICED)
    before = row(rows, agent)
    assert row(rows, agent).cost is before.cost
    assert row(rows, node(PRICED, PRICED)).figures[:2] == ("$1.00", "240")


@pytest.mark.parametrize("size", [(160, 45), (100, 30), (80, 24), (60, 16), (30, 10)])
async def test_agents_far_down_have_a_name_at_every_size(project: Path, size: tuple[int, int]) -> None:
    agent = agent_in(project)
    id = await make_chain(agent, 8)
    async with watching(agent, size=size, id=id) as agents:
        assert len(agents.rows.rows) == 9
        assert all("審" in line for line in agents.tree[1:])
        assert not any("\x1b" in line or "\u202e" in line for line in agents.tree)
        await agents.press("G", "enter")
        assert "Done." in agents.messages
