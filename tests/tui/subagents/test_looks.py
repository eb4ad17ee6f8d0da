"""How the agents of a conversation look, by night and by day: with both panes, and with one at a time."""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.tui.app import CogencyApp
from tests.tui.driving import app_over, conversation_of, until
from tests.tui.looks import check_looks
from tests.tui.recall.past import agent_in
from tests.tui.subagents.stage import Watcher, make_agents

pytestmark = pytest.mark.exhaustive


@pytest.fixture(autouse=True)
def universal_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The time of a message is told by the clock on the wall: everywhere the same one here."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
async def conversation(project: Path) -> str:
    agent = agent_in(project)
    id = await make_agents(agent)
    await agent.close()
    return id


def app(project: Path, conversation: str) -> CogencyApp:
    return app_over(agent_in(project), conversation_id=conversation)


async def watch(pilot: Pilot[Any], *keys: str) -> None:
    await until(pilot, lambda: conversation_of(pilot).transcript.units)
    watcher = Watcher(pilot)
    await watcher.open()
    await watcher.press(*keys)
    watcher.app.clear_notifications()


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("agents", ("down",)),
        ("agents-messages", ("down", "2", "left_square_bracket")),
        ("agents-prompt", ("down", "1")),
        ("agents-cost", ("down", "3")),
        ("agents-files", ("down", "down", "4")),
        ("agents-declined", ("G",)),
    ],
)
async def test_the_agents(project: Path, conversation: str, name: str, keys: tuple[str, ...]) -> None:
    sizes = ((160, 45), (100, 30), (80, 24), (60, 16)) if name == "agents" else ((160, 45), (60, 16))
    prepare = partial(_prepare, keys)
    await check_looks(name, lambda: app(project, conversation), prepare, sizes=sizes)


async def _prepare(keys: tuple[str, ...], pilot: Pilot[Any]) -> None:
    await watch(pilot, *keys)
