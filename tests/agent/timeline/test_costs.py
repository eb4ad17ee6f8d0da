"""Why a conversation costs what it does: each request with its figures, each result by being carried along."""

from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.timeline.costs import (
    CostAgent,
    CostReport,
    RequestCost,
    ResultCost,
    report_costs,
    with_subagents,
)
from cogency_tui.config.schema import Mode, Settings
from cogency_tui.providers.models import ModelFacts, Prices
from cogency_tui.store.forks import Forks
from tests.agent.timeline.test_timeline import block, say
from tests.peers.scripted import ScriptedProvider

PRICES = Prices(1.0, 0.1, 1.0, 10.0)
READ = block("read", file="big.txt")


def agent_over(project: Path, *replies: str, prices: Prices | None = PRICES, mode: Mode = "replay") -> Agent:
    provider = ScriptedProvider(*replies)
    provider.facts = ModelFacts(context_size=100_000, prices=prices)
    (project / "big.txt").write_text("all work and no play\n" * 400)
    data = project.parent / "data"
    return Agent(provider, project=project, data=data, mode=mode, settings=Settings(titles=False))


async def report_of(agent: Agent, id: str = "c") -> CostReport:
    return report_costs(await agent.timeline(id).read(), agent.prices)


async def test_a_result_costs_for_every_request_that_carries_it(project: Path) -> None:
    async with agent_over(project, READ, "Dull.", "Yes.", "Bye.") as agent:
        await say(agent, "read it", "sure?", "thanks")
        report = await report_of(agent)
        total = (await (await agent.store()).usage("c")).get("cost", 0.0)
    assert [(each.asked.turn, each.asked.cycle) for each in report.requests] == [
        (1, 1),
        (1, 2),
        (2, 1),
        (3, 1),
    ]
    assert sum(each.dollars or 0.0 for each in report.requests) == pytest.approx(total)
    (result,) = report.results
    assert (result.event["tool"], result.requests) == ("read", 3)
    assert 2000 < result.size < 3000
    assert result.dollars == pytest.approx(result.size * 3 / 1_000_000)
    assert report.dearest(1) == [result]


async def test_a_summary_ends_what_a_result_costs(project: Path) -> None:
    async with agent_over(project, READ, "Dull.", "## So far\n\nDull.", "Yes.", "Bye.") as agent:
        await say(agent, "read it")
        await agent.compact("c")
        await say(agent, "sure?", "thanks")
        report = await report_of(agent)
    assert [result.requests for result in report.results] == [1]
    assert len(report.beside) == 1


async def test_without_a_price_the_tokens_order_the_parts(project: Path) -> None:
    async with agent_over(project, READ, "Dull.", "Yes.", prices=None) as agent:
        await say(agent, "read it", "sure?")
        report = await report_of(agent)
    assert [result.dollars for result in report.results] == [None]
    kinds = [type(each) for each in report.dearest(3)]
    assert kinds.count(RequestCost) + kinds.count(ResultCost) == 3
    tokens = [each.tokens for each in report.dearest(10)]
    assert tokens == sorted(tokens, reverse=True)


async def test_a_fork_has_only_its_own_costs(project: Path) -> None:
    async with agent_over(project, READ, "Dull.", "Yes.") as agent:
        await say(agent, "read it")
        fork = await Forks((await agent.store()).database).fork("c")
        await say(agent, "sure?", id=fork.id)
        report = await report_of(agent, fork.id)
    assert [each.asked.turn for each in report.requests] == [2]
    assert [result.requests for result in report.results] == [1]


async def test_a_session_that_bills_only_what_is_new_carries_a_result_once(project: Path) -> None:
    async with agent_over(project, READ, "Dull.", "Yes.", "Bye.", mode="resume") as agent:
        await say(agent, "read it", "sure?", "thanks")
        report = await report_of(agent)
    assert [result.requests for result in report.results] == [1]


async def test_the_costs_of_sub_agents_are_marked_and_part_of_the_total(project: Path) -> None:
    async with agent_over(project, READ, "Dull.", READ, "Yes.") as agent:
        await say(agent, "read it")
        await say(agent, "look at it", id="d")
        editor = CostAgent("editor", "c1")
        own, other = await report_of(agent), await report_of(agent, "d")
        report = with_subagents(own, [(editor, other)])
        spent = [(await (await agent.store()).usage(id)).get("cost", 0.0) for id in ("c", "d")]
    assert [each.agent for each in report.requests] == [None, None, editor, editor]
    assert {each.agent for each in report.results} == {None, editor}
    assert {each.agent for each in report.dearest(6)} == {None, editor}
    assert sum(each.get("cost", 0.0) for each in report.measures) == pytest.approx(sum(spent))
