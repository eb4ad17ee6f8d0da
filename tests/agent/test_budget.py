"""The budget over real turns: told of before it is passed, asked about, and held where nobody says yes."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.budget import ANSWER, Budget, Forecast
from cogency_tui.agent.cycle_metrics import Calibration
from cogency_tui.agent.permissions.gate import Answer, Gate, Question
from cogency_tui.config.schema import AgentSettings, BudgetSettings, Settings, SpanLimits
from cogency_tui.protocol.events import Event
from cogency_tui.providers.models import ModelFacts, Prices
from cogency_tui.providers.token_counting import CHARACTERS_PER_TOKEN
from cogency_tui.store.store import Store
from cogency_tui.store.usage import Spent
from tests.peers.scripted import ScriptedProvider

PRICED = ModelFacts(context_size=200_000, prices=Prices(input=100, cached=10, cache_write=100, output=100))
"""100 USD for a million tokens: a request with our instructions takes some tenths of a dollar."""

LIST = '<execute>[{"name": "list", "args": {}}]</execute>'


class Desk:
    """A person who answers, and an agent over a priced model."""

    def __init__(
        self, project: Path, *replies: str, facts: ModelFacts = PRICED, **limits: SpanLimits
    ) -> None:
        self.asked: list[Question] = []
        self.answer: Callable[[], Answer] = lambda: Answer(allow=True)
        self.provider = ScriptedProvider(*replies)
        self.provider.facts = facts
        settings = Settings(
            mode="replay",
            permissions="auto",
            budget=BudgetSettings(**limits),
            agents={"helper": AgentSettings(description="helps")},
        )
        data = project.parent / "data"
        self.agent = Agent(self.provider, project=project, data=data, settings=settings, ask=self._ask)

    async def _ask(self, question: Question) -> Answer:
        self.asked.append(question)
        return self.answer()

    async def turn(self, query: str = "hi", conversation: str = "c") -> list[Event]:
        return [event async for event in self.agent(query, conversation_id=conversation)]


def notices(events: list[Event]) -> list[str]:
    return [e["payload"]["error"] for e in events if e["type"] == "error" and e["payload"].get("notice")]


def ended(events: list[Event]) -> str:
    before, last = events[-2:]
    return before["payload"]["error"] if before["type"] == "error" else last["type"]


async def test_without_limits_nothing_is_told_or_asked(project: Path) -> None:
    desk = Desk(project, "Fine.")
    assert ended(await desk.turn()) == "end"
    assert desk.asked == []


async def test_a_soft_limit_is_told_of_once_and_nothing_is_asked(project: Path) -> None:
    desk = Desk(project, LIST, "One.", "Two.", conversation=SpanLimits(soft=0.01))
    first = await desk.turn()
    assert ended(first) == "end"
    (told,) = notices(first)
    assert told.startswith(
        "Spending warning per conversation: $0 of $0.01 used; the next request needs about $0."
    )
    assert notices(await desk.turn()) == []
    assert desk.asked == []


async def test_a_hard_limit_is_asked_about_before_anything_is_sent(project: Path) -> None:
    desk = Desk(project, "Fine.", turn=SpanLimits(hard=0.01))

    def look() -> Answer:
        assert desk.provider.sent == []
        return Answer(allow=True)

    desk.answer = look
    assert ended(await desk.turn()) == "end"
    (question,) = desk.asked
    assert question.effect == "money"
    assert question.summary.startswith("Spending limit per turn: $0 of $0.01 used; the next request needs")
    assert question.explanation == "Yes allows this request and another $0.01 after it."


async def test_a_no_ends_the_turn_and_nothing_was_sent(project: Path) -> None:
    desk = Desk(project, "Fine.", turn=SpanLimits(hard=0.01))
    desk.answer = lambda: Answer(allow=False)
    events = await desk.turn()
    assert ended(events).startswith(
        "Request not sent (you declined). Spending limit per turn: $0 of $0.01 used"
    )
    (failure,) = [event["payload"] for event in events if event["type"] == "error"]
    assert failure.get("declined")
    assert failure.get("hint") == "Raise the limit in /settings (budget.turn.hard in config.toml)."
    assert desk.provider.sent == []
    desk.answer = lambda: Answer(allow=True)
    assert ended(await desk.turn()) == "end"


async def test_a_no_after_the_first_cycle_counts_that_cycle_once(project: Path) -> None:
    free = await Desk(project, LIST, "Fine.").turn(conversation="free")
    first = next(event for event in free if event["type"] == "metric")
    limit = first["step"].get("cost", 0.0) * 1.5
    desk = Desk(project, LIST, "Fine.", turn=SpanLimits(hard=limit))
    desk.answer = lambda: Answer(allow=False)
    events = await desk.turn()
    assert "declined" in ended(events)
    assert [event["type"] for event in events].count("metric") == 1


async def test_where_nobody_can_be_asked_the_turn_ends(project: Path) -> None:
    desk = Desk(project, "Fine.", day=SpanLimits(hard=0.01))
    desk.agent.ask = None
    assert ended(await desk.turn()).startswith(
        "Request not sent (no user is available to approve it). Spending limit per day: $0 of"
    )
    assert desk.provider.sent == []


async def test_a_yes_allows_the_request_and_as_much_as_the_limit_after_it(tmp_path: Path) -> None:
    asked: list[Question] = []

    async def allow(question: Question) -> Answer:
        asked.append(question)
        return Answer(allow=True)

    async def note(text: str) -> None:
        raise AssertionError(text)

    store = await Store.open(tmp_path)

    async def opened() -> Store:
        return store

    limits = BudgetSettings(turn=SpanLimits(hard_tokens=2_500))
    budget = Budget("c", Gate(lambda: "ask", lambda: allow), lambda: limits, opened)
    provider = ScriptedProvider()
    provider.facts = replace(PRICED, prices=None)
    # Nothing is spent here, so a request of as many tokens stands for those before it as well.
    for tokens, questions in ((9_500, 1), (12_000, 1), (12_001, 2)):
        characters = (tokens - ANSWER) * CHARACTERS_PER_TOKEN
        await budget.check(provider, characters, Calibration(), note)
        assert len(asked) == questions, tokens
    assert asked[0].explanation == "Yes allows this request and another 2,500 tokens after it."
    await store.close()


async def test_what_was_allowed_for_the_conversation_is_not_asked_about_again(project: Path) -> None:
    desk = Desk(project, "One.", "Two.", "Three.", "Four.", conversation=SpanLimits(hard=0.001))
    await desk.turn()
    await desk.turn()
    assert len(desk.asked) == 2, "a yes lets it go on for as much again, which is little here"
    desk.answer = lambda: Answer(allow=True, scope="conversation")
    await desk.turn()
    await desk.turn()
    assert len(desk.asked) == 3


async def test_a_day_counts_every_conversation(project: Path) -> None:
    first = Desk(project, "One.")
    async with first.agent:
        await first.turn(conversation="one")
        spent = await (await first.agent.store()).spent(0.0)
    assert spent.dollars > 0
    desk = Desk(project, "Two.", day=SpanLimits(hard=spent.dollars))
    await desk.turn(conversation="two")
    assert desk.asked[0].summary.startswith(f"Spending limit per day: ${spent.dollars:.4g} of")


async def test_a_turn_counts_its_sub_agents(project: Path) -> None:
    task = '<execute>[{"name": "agent", "args": {"name": "helper", "parameters": {"task": "x"}}}]</execute>'
    desk = Desk(project, task, LIST, "Done by the helper.", "Fine.", turn=SpanLimits(hard=0.35))
    desk.answer = lambda: Answer(allow=False)
    async with desk.agent:
        events = await desk.turn()
        store = await desk.agent.store()
        (helper,) = await store.delegated("c")
        own, whole = await store.usage("c"), await store.spent(0.0, "c")
        helpers = await store.usage(helper.id)
    assert "per turn" in desk.asked[0].summary
    assert len(desk.provider.sent) < 4
    assert "Request not sent" in str(events)
    assert helpers.get("cost", 0) > 0
    assert whole.dollars > own.get("cost", 0)


async def test_a_model_without_a_price_is_counted_in_tokens(project: Path) -> None:
    desk = Desk(
        project, "Fine.", facts=replace(PRICED, prices=None), turn=SpanLimits(hard=0.01, hard_tokens=100)
    )
    async with desk.agent:
        events = await desk.turn()
        spent = await (await desk.agent.store()).spent(0.0, "c")
    assert ended(events) == "end"
    assert notices(events) == []
    (question,) = desk.asked
    assert question.summary.startswith("Token limit per turn: 0 of 100 tokens used; the next request needs")
    assert spent.tokens > 100


async def test_limits_in_dollars_that_cannot_hold_are_told_once(project: Path) -> None:
    desk = Desk(project, "One.", "Two.", facts=replace(PRICED, prices=None), turn=SpanLimits(hard=0.01))
    (told,) = notices(await desk.turn())
    assert told.startswith("The price of scripted/scripted-1 is unknown, so dollar limits do not apply to it")
    assert notices(await desk.turn()) == []
    assert desk.asked == []


async def test_interrupting_takes_the_question_away(project: Path) -> None:
    desk = Desk(project, "Fine.", turn=SpanLimits(hard=0.01))
    waiting = asyncio.Event()

    async def wait(question: Question) -> Answer:
        waiting.set()
        await asyncio.Event().wait()
        raise AssertionError(question)

    desk.agent.ask = wait
    async with desk.agent:
        work = asyncio.create_task(desk.turn())
        await waiting.wait()
        desk.agent.interrupt("c")
        assert ended(await work) == "interrupt"
    assert desk.provider.sent == []


async def test_max_cost_is_a_hard_limit_of_each_turn(project: Path) -> None:
    desk = Desk(project)
    agent = Agent(desk.provider, project=project, data=project.parent / "data", max_cost=0.01)
    assert agent.settings.budget.turn.hard == 0.01
    assert agent.configured.origin("budget.turn.hard").where == "--max-cost"


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({}, Spent(0.15, 0)),
        ({"input": 1000, "billed_input": 1000, "cached": 500, "output": 100}, Spent(0.065, 0)),
    ],
)
def test_what_is_expected_follows_what_was_taken(step: Any, expected: Spent) -> None:
    provider = ScriptedProvider()
    provider.facts = PRICED
    forecast = Forecast()
    forecast.observe(step)
    seen = forecast.expect(provider, 1000)
    assert seen.dollars == pytest.approx(expected.dollars)
    provider.facts = ModelFacts()
    assert forecast.expect(provider, 1000).tokens == 1000 + (step.get("output") or ANSWER)
