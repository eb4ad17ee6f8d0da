"""The heading of every full screen: the same parts in the same columns."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.tui.kit.heading import ScreenHeading
from cogency_tui.tui.main.screen import MainScreen
from cogency_tui.tui.status.header import HeaderContents
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import at_work, finished, header_of, opened, send, shown, until


def heading(pilot: Pilot[Any]) -> str:
    return shown(pilot.app.screen.query_one(ScreenHeading))


@pytest.fixture
def agent(project: Path) -> Agent:
    return Agent(ScriptedProvider("hello"), project=project, data=project.parent / "data")


async def test_it_is_alike_on_every_screen(agent: Agent) -> None:
    async with at_work(agent) as pilot:
        await send(pilot, "Fix the test")
        await finished(pilot)
        await until(pilot, lambda: heading(pilot).endswith("1 conversation"))
        assert heading(pilot).startswith(" cogency › Fix the test   ")
        for key, name in (("f5", "Review"), ("ctrl+t", "Timeline"), ("ctrl+r", "Recall")):
            await pilot.press(key)
            title = "" if name == "Recall" else "   Fix the test"
            await until(
                pilot, lambda name=name, title=title: heading(pilot).startswith(f" cogency › {name}{title}")
            )
            assert pilot.app.screen.query_one(ScreenHeading).region.y == 0
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(pilot.app.screen, MainScreen))


async def test_a_fork_names_its_origin_and_a_narrow_screen_drops_facts_before_the_title(
    agent: Agent,
) -> None:
    async with at_work(agent, (160, 40)) as pilot:
        await send(pilot, "Fix the test")
        await finished(pilot)
        await send(pilot, "/fork")
        await until(pilot, lambda: " Fix the test   ⑂ fork   " in shown(header_of(pilot)))
        await pilot.resize_terminal(50, 16)
        await until(pilot, lambda: "conversation" not in shown(header_of(pilot)))
        assert shown(header_of(pilot)).startswith(" cogency › Fix the test")
        await pilot.press("ctrl+n")
        await until(pilot, lambda: "fork" not in shown(header_of(pilot)))


@pytest.mark.parametrize("size", [(100, 30), (60, 16)])
async def test_a_fork_is_marked_beside_a_long_title(agent: Agent, size: tuple[int, int]) -> None:
    async with at_work(agent, size) as pilot:
        await send(pilot, "Explain why the parser fails on names of more than a hundred characters")
        await finished(pilot)
        assert "⑂" not in shown(header_of(pilot))
        await send(pilot, "/fork")
        await until(pilot, lambda: "⑂ fork" in shown(header_of(pilot)))
        assert "Explain" in shown(header_of(pilot))


_FORK = HeaderContents(
    path="/tmp/fm/T1/project", branch="master", dirty=True, title="hello again", count=15, origin="hello"
)


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (100, "› hello again   ⑂ fork of hello            /tmp/fm/T1/project   master*   15 conversations"),
        (81, "› hello again   ⑂ fork of hello            /tmp/fm/T1/project   master*"),
        (72, "› hello again   ⑂ fork of hello   /tmp/fm/T1/project   master*"),
        (60, "› hello again   ⑂ fork   /t/f/T1/project   master*"),
        (50, "› hello again   ⑂ fork   /t/f/T1/project"),
        (40, "› hello again   /t/f/T/project"),
        (30, "› hello again"),
    ],
)
async def test_the_count_gives_way_first_and_the_title_last(agent: Agent, width: int, line: str) -> None:
    async with at_work(agent, (width, 16)) as pilot:
        await opened(pilot)
        header_of(pilot).move(_FORK)
        assert heading(pilot) == f" cogency {line}"


@pytest.mark.parametrize("dirty", [False, True])
async def test_a_short_title_stays_beside_a_long_count(agent: Agent, dirty: bool) -> None:
    async with at_work(agent, (60, 16)) as pilot:
        await opened(pilot)
        header_of(pilot).move(
            HeaderContents(path="/tmp/fm/T1/project", branch="master", dirty=dirty, title="five", count=26)
        )
        assert heading(pilot).startswith(" cogency › five ")
        assert "conversations" not in heading(pilot)


async def test_it_counts_the_conversations_that_are_stored(agent: Agent) -> None:
    async with at_work(agent) as pilot:
        await opened(pilot)
        assert "conversation" not in heading(pilot)
        await send(pilot, "one")
        await finished(pilot)
        await until(pilot, lambda: heading(pilot).endswith("1 conversation"))
        await pilot.press("ctrl+n")
        await until(pilot, lambda: "one" not in heading(pilot))
        await opened(pilot)
        assert heading(pilot).endswith("1 conversation")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "1 conversation" in heading(pilot) and "Recall" in heading(pilot))


async def test_a_conversation_counts_as_soon_as_it_is_stored(project: Path) -> None:
    provider = ScriptedProvider("one <<hang>>", size=10_000)
    async with at_work(Agent(provider, project=project, data=project.parent / "data")) as pilot:
        await opened(pilot)
        await send(pilot, "one")
        await until(pilot, lambda: heading(pilot).endswith("1 conversation"))
