"""A limit of the budget is asked about on the screen before anything is sent; a change of it counts at once."""

from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import BudgetSettings, Settings, SpanLimits
from cogency_tui.providers.models import ModelFacts, Prices
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import (
    answer,
    asked,
    at_work,
    conversation_of,
    finished,
    live_line_of,
    send,
    shown,
    until,
)

pytestmark = pytest.mark.exhaustive

PRICED = ModelFacts(context_size=200_000, prices=Prices(input=100, cached=10, cache_write=100, output=100))


@pytest.mark.usefixtures("short_pause")
async def test_a_hard_limit_is_asked_about_and_a_no_is_told(project: Path) -> None:
    provider = ScriptedProvider("Fine.")
    provider.facts = PRICED
    settings = Settings(budget=BudgetSettings(turn=SpanLimits(hard=0.01)))
    agent = Agent(provider, project=project, data=project.parent / "data", settings=settings)
    async with at_work(agent, (110, 40)) as pilot:
        for key, told in (("n", "⊘ Request not sent (you declined)."), ("y", "Fine.")):
            await send(pilot, "hi")
            question = await asked(pilot)
            await until(pilot, lambda asked=question: shown(asked.query_one("#question-body")).strip())
            said = " ".join(shown(question.query_one("#question-body")).split())
            assert "Spending limit per turn: $0 of $0.01 used; the next request needs about $" in said
            assert "Yes allows this request and another $0.01 after it." in said
            assert "budget.turn" not in said
            await until(pilot, lambda: "Waiting for your answer" in shown(live_line_of(pilot)))
            assert provider.sent == []
            await answer(pilot, key)
            await finished(pilot)
            await until(pilot, lambda words=told: words in " ".join(shown(conversation_of(pilot)).split()))
            assert "✗" not in shown(conversation_of(pilot))
