"""How the recall screen looks in its main states, at all sizes, by night and by day."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.recall.results import Indexed
from cogency_tui.tui.recall.branch_comparison import ComparisonScreen
from cogency_tui.tui.recall.rename_export_dialogs import ExportScreen, RenameScreen
from cogency_tui.tui.recall.screen import RecallScreen
from cogency_tui.tui.recall.statistics import StatisticsScreen
from tests.tui.driving import app_over, until
from tests.tui.looks import SIZES, check_looks, each_size
from tests.tui.recall.past import agent_in, begin, date, fork, is_open, screen_of, settled, small, usual
from tests.tui.scripted import EPOCH

pytestmark = pytest.mark.exhaustive

Then = Callable[[Pilot[Any]], Awaitable[None]]

NARROW = tuple(size for size in SIZES if size[0] < 96)


async def past_with_forks(agent: Agent) -> None:
    made = await usual(agent)
    store = await agent.store()
    numbered = await store.numbered_events(made["flaky"].id)
    await fork(agent, made["flaky"], numbered[6][0], "try a lock instead", "With a lock it is slower.")
    await date(store, made["flaky"], EPOCH)
    await agent.recall.trash((await begin(store, agent.project, small("A wrong turn"), days=3)).id)


async def check(
    name: str,
    project: Path,
    then: Then,
    *,
    query: str = "",
    sizes: Sequence[tuple[int, int]] = SIZES,
) -> None:
    """Compare what is seen after `then` on a screen opened with `query`, over the store as it is."""
    agents: list[Agent] = []

    def make() -> App[Any]:
        agents.append(agent_in(project))
        return app_over(agents[-1])

    async def prepare(pilot: Pilot[Any]) -> None:
        screen = RecallScreen(agents[-1], lambda: True, query=query, clock=lambda: EPOCH + 600)
        pilot.app.push_screen(screen)
        await until(pilot, lambda: is_open(pilot))
        await settled(pilot)
        await then(pilot)
        await settled(pilot)

    await check_looks(name, make, prepare, sizes=sizes)
    for agent in agents:
        await agent.close()


def keys(*pressed: str, until_screen: type[Screen[Any]] | None = None) -> Then:
    """Press these, then wait for a dialog."""

    async def press(pilot: Pilot[Any]) -> None:
        for key in pressed:
            await pilot.press(key)
            await settled(pilot)
        if (wanted := until_screen) is not None:
            await until(pilot, lambda: isinstance(pilot.app.screen, wanted))

    return press


async def test_the_list(project: Path) -> None:
    agent = agent_in(project)
    await past_with_forks(agent)
    await check("recall-list", project, keys("down", "down"))
    await check("recall-folded", project, keys("down", "space"))
    await check("recall-everywhere", project, keys("f2"))
    await check("recall-trash", project, keys("f2", "f2"))
    await agent.close()


async def test_a_search(project: Path) -> None:
    agent = agent_in(project)
    await past_with_forks(agent)
    await check("recall-search", project, keys(), query="retry tool:read since:nonsense")
    await check("recall-nothing", project, keys(), query="no such thing")
    await agent.close()


@each_size
async def test_a_hit(project: Path, width: int, height: int) -> None:
    agent = agent_in(project)
    await past_with_forks(agent)
    await check("recall-hit", project, keys("down", "n"), query="retry", sizes=[(width, height)])
    await agent.close()


async def test_an_empty_store_and_an_index_in_the_making(project: Path) -> None:
    async def indexing(pilot: Pilot[Any]) -> None:
        screen_of(pilot).show_index(Indexed(412_000, 1_000_000))

    await check("recall-empty", project, indexing)


async def test_what_is_open_elsewhere(project: Path) -> None:
    agent = agent_in(project)
    made = await usual(agent)
    await agent.recall.enter(made["week"].id, EPOCH)
    await check("recall-live", project, keys())
    await agent.close()


async def test_hostile_texts(project: Path) -> None:
    agent = agent_in(project)
    store = await agent.store()
    evil = "\x1b[2J\x1b]0;x\x07[red]bold[/red] \u202eoverride 字字字字字 👩‍👩‍👧 needle " + "wide字" * 40
    made = await begin(store, project, small("harmless", evil))
    await store.rename(made.id, evil)
    await date(store, made, EPOCH)
    await check("recall-hostile", project, keys(), query="needle")
    await agent.close()


async def test_the_dialogs(project: Path) -> None:
    agent = agent_in(project)
    await past_with_forks(agent)
    await check("recall-export", project, keys("down", "x", until_screen=ExportScreen))
    await check("recall-branches", project, keys("down", "b", until_screen=ComparisonScreen))
    await agent.close()


@pytest.mark.parametrize(("width", "height"), NARROW)
async def test_a_preview(project: Path, width: int, height: int) -> None:
    agent = agent_in(project)
    await past_with_forks(agent)
    await check("recall-preview", project, keys("down", "f4"), query="needle", sizes=[(width, height)])
    await agent.close()


@each_size
async def test_renaming(project: Path, width: int, height: int) -> None:
    agent = agent_in(project)
    await past_with_forks(agent)
    press = keys("down", "r", until_screen=RenameScreen)
    await check("recall-rename", project, press, sizes=[(width, height)])
    await agent.close()


@each_size
async def test_statistics(project: Path, width: int, height: int) -> None:
    agent = agent_in(project)
    await past_with_forks(agent)
    store = await agent.store()
    await store.database.write(
        lambda connection: connection.execute("UPDATE usage SET timestamp = ? - 86400 * (id % 3)", (EPOCH,))
    )

    async def always(pilot: Pilot[Any]) -> None:
        await keys("down", "s", until_screen=StatisticsScreen)(pilot)
        await pilot.press("4")
        await until(pilot, lambda: "Tokens by day" in str(_body(pilot)))

    await check("recall-statistics", project, always, sizes=[(width, height)])
    await agent.close()


def _body(pilot: Pilot[Any]) -> list[str]:
    body: Any = pilot.app.screen.query_one("#statistics-body")
    return [line.text for y in range(5) if (line := body.line_at(y)) is not None]
