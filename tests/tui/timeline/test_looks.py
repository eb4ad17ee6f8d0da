"""How the timeline looks, by night and by day: with both panes, and with one at a time."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.tui.app import CogencyApp
from tests.tui.driving import app_over, conversation_of, until
from tests.tui.looks import check_looks
from tests.tui.recall.past import agent_in
from tests.tui.timeline.stage import Traveller, make_past

pytestmark = pytest.mark.exhaustive


@pytest.fixture(autouse=True)
def universal_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The moment of an event is told by the clock on the wall: everywhere the same one here."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


class Desk:
    """The same past for each look."""

    def __init__(self, project: Path, agent: Agent, id: str) -> None:
        self.project = project
        self.agent = agent
        self.id = id

    def app(self) -> CogencyApp:
        return app_over(agent_in(self.project), conversation_id=self.id)

    async def travel(self, pilot: Pilot[Any], *keys: str) -> None:
        await until(pilot, lambda: conversation_of(pilot).transcript.units)
        timeline = Traveller(pilot)
        await timeline.open()
        for key in keys:
            await timeline.press(key)
        timeline.app.clear_notifications()


@pytest.fixture
async def desk(project: Path) -> Desk:
    agent = agent_in(project)
    id = await make_past(agent)
    await agent.close()
    return Desk(project, agent, id)


async def test_the_messages(desk: Desk) -> None:
    async def prepare(pilot: Pilot[Any]) -> None:
        await desk.travel(pilot, "left_square_bracket", "left", "left", "2")

    await check_looks("timeline-messages", desk.app, prepare)


async def test_the_files(desk: Desk) -> None:
    async def prepare(pilot: Pilot[Any]) -> None:
        await desk.travel(pilot, "left_square_bracket", "left", "3")

    await check_looks("timeline-files", desk.app, prepare, sizes=((160, 45), (80, 24)))


async def test_the_conversation_then_and_the_costs(desk: Desk) -> None:
    async def prepare(pilot: Pilot[Any]) -> None:
        await desk.travel(pilot, "left", "4", "tab")

    await check_looks("timeline-then", desk.app, prepare, sizes=((100, 30), (60, 16)))
