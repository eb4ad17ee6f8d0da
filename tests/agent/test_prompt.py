"""The system prompt: how much of the context it may take, and what it does not mention."""

from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import AgentSettings
from cogency_tui.protocol import DIALECTS, Dialect
from cogency_tui.tools.registry import default_tools
from tests.agent.delegation import Bench, turn
from tests.peers.scripted import ScriptedProvider

MOST = 1_900
"""Tokens of four characters, instructions and profile apart."""


async def prompt_of(agent: Agent) -> str:
    """The system prompt that a turn is sent with."""
    await turn(agent)
    assert isinstance(agent.provider, ScriptedProvider)
    return agent.provider.sent[0][0]["content"]


@pytest.fixture
def bench(tmp_path: Path, project: Path) -> Bench:
    return Bench(project, tmp_path / "data")


async def test_the_whole_prompt_stays_within_its_room(bench: Bench) -> None:
    assert "search" in {tool.name for tool in default_tools()}, "the web extra is part of what is measured"
    taken = -(-len(await prompt_of(bench.agent("Yes."))) // 4)
    assert taken < MOST, f"the system prompt takes {taken:,} of {MOST:,}"


async def test_nothing_in_it_depends_on_the_project(bench: Bench, tmp_path: Path) -> None:
    elsewhere = Bench(tmp_path, tmp_path / "other")
    assert await prompt_of(bench.agent("Yes.")) == await prompt_of(elsewhere.agent("Yes."))


async def test_tools_that_are_seldom_needed_take_a_line_each(bench: Bench) -> None:
    lines = (await prompt_of(bench.agent("Yes."))).splitlines()
    for form in (
        'processes([id: str = ""], [action: "list" | "read" | "stop" | "wait" | "watch" = "list"], ',
        'recall([query: str = ""], ',
        "relic(name: str, [parameters: object]): ",
        "llm(name: str, [parameters: object]): ",
    ):
        (number,) = [number for number, line in enumerate(lines) if line.startswith(form)]
        assert not "".join(lines[number + 1 : number + 2]).startswith("- ")


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_what_is_not_there_is_not_mentioned(bench: Bench, dialect: Dialect) -> None:
    reviewer = {"reviewer": AgentSettings(description="reads a change")}
    without = await prompt_of(bench.agent("Yes.", dialect=dialect))
    with_agent = await prompt_of(bench.agent("Yes.", dialect=dialect, agents=reviewer))
    for name in ("workflow", "agent"):
        assert f'type="{name}"' not in without
        assert f"\n{name}: " not in without
    assert "\nagent: " in with_agent
    assert ('type="agent"' in with_agent) is (dialect == "action")
    assert 'type="workflow"' not in with_agent
