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
from cogency_tui.tui.main.screen import MainScreen
from cogency_tui.tui.recall.branch_comparison import ComparisonScreen
from cogency_tui.tui.recall.rename_export_dialogs import ExportScreen, RenameScreen
from cogency_tui.tui.recall.screen import RecallScreen
from cogency_tui.tui.recall.statistics import StatisticsScreen
from tests.tui.driving import app_over, until
from tests.tui.look_series import check_series, check_series_from_each_size
from tests.tui.looks import SIZES, Prepare, check_looks
from tests.tui.recall.past import (
    NothingOpen,
    agent_in,
    begin,
    date,
    fork,
    is_open,
    screen_of,
    settled,
    small,
    usual,
)
from tests.tui.scripted import EPOCH

pytestmark = pytest.mark.exhaustive

Then = Callable[[Pilot[Any]], Awaitable[None]]

NARROW = tuple(size for size in SIZES if size[0] < 96)
WIDE = tuple(size for size in SIZES if size not in NARROW)


async def past_with_forks(agent: Agent) -> None:
    made = await usual(agent)
    store = await agent.store()
    numbered = await store.numbered_events(made["flaky"].id)
    await fork(agent, made["flaky"], numbered[6][0], "try a lock instead", "With a lock it is slower.")
    await date(store, made["flaky"], EPOCH)
    await agent.recall.trash((await begin(store, agent.project, small("A wrong turn"), days=3)).id)


def opened(agents: Sequence[Agent], then: Then, query: str = "") -> Prepare:
    """What opens a screen of the last agent with `query`, whatever was shown before, and then does `then`."""

    async def prepare(pilot: Pilot[Any]) -> None:
        while not isinstance(pilot.app.screen, MainScreen):
            await pilot.app.pop_screen()
        screen = RecallScreen(agents[-1], lambda: True, NothingOpen(), query=query, clock=lambda: EPOCH + 600)
        await pilot.app.push_screen(screen)
        await until(pilot, lambda: is_open(pilot))
        await settled(pilot)
        await then(pilot)
        await settled(pilot)

    return prepare


async def check(name: str, agent: Agent, then: Then, *, query: str = "") -> None:
    """Compare what is seen after `then` on a screen opened with `query`, over the store of `agent`."""
    await check_looks(name, lambda: app_over(agent), opened([agent], then, query))
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


async def test_lists_searches_and_dialogs(project: Path) -> None:
    agent = agent_in(project)
    await past_with_forks(agent)
    agents = [agent]

    async def always(pilot: Pilot[Any]) -> None:
        store, sql = await agent.store(), "UPDATE usage SET timestamp = ? - 86400 * (id % 3)"
        await store.database.write(lambda connection: connection.execute(sql, (EPOCH,)))
        await keys("down", "s", until_screen=StatisticsScreen)(pilot)
        await pilot.press("4")
        await until(pilot, lambda: "Tokens by day" in str(_body(pilot)))

    await check_series(
        lambda: app_over(agent),
        ("recall-list", opened(agents, keys("down", "down"))),
        ("recall-folded", opened(agents, keys("down", "space"))),
        ("recall-everywhere", opened(agents, keys("f2"))),
        ("recall-trash", opened(agents, keys("f2", "f2"))),
        ("recall-search", opened(agents, keys(), "retry tool:read since:nonsense")),
        ("recall-nothing", opened(agents, keys(), "no such thing")),
        ("recall-export", opened(agents, keys("down", "x", until_screen=ExportScreen))),
        ("recall-branches", opened(agents, keys("down", "b", until_screen=ComparisonScreen))),
        ("recall-rename", opened(agents, keys("down", "r", until_screen=RenameScreen))),
        ("recall-statistics", opened(agents, always)),
        in_one_theme=("recall-folded", "recall-everywhere", "recall-trash", "recall-nothing"),
    )
    await agent.close()


async def test_an_empty_store_and_an_index_in_the_making(project: Path) -> None:
    async def indexing(pilot: Pilot[Any]) -> None:
        screen_of(pilot).show_index(Indexed(412_000, 1_000_000))

    await check("recall-empty", agent_in(project), indexing)


async def test_what_is_open_elsewhere(project: Path) -> None:
    agent = agent_in(project)
    made = await usual(agent)
    await agent.recall.enter(made["week"].id, EPOCH)
    await check("recall-live", agent_in(project), keys())
    await agent.close()


async def test_hostile_texts(project: Path) -> None:
    agent = agent_in(project)
    store = await agent.store()
    evil = "\x1b[2J\x1b]0;x\x07[red]bold[/red] \u202eoverride 字字字字字 👩‍👩‍👧 needle " + "wide字" * 40
    made = await begin(store, project, small("harmless", evil))
    await store.rename(made.id, evil)
    await date(store, made, EPOCH)
    await check("recall-hostile", agent, keys(), query="needle")


async def test_what_depends_on_the_size_that_it_was_prepared_in(project: Path) -> None:
    past = agent_in(project)
    await past_with_forks(past)
    await past.close()
    agents: list[Agent] = []

    async def make() -> App[Any]:
        agents.append(agent_in(project))
        return app_over(agents[-1])

    preview = ("recall-preview", opened(agents, keys("down", "f4"), "needle"))
    hit = ("recall-hit", opened(agents, keys("down", "n"), "retry"))
    await check_series_from_each_size(make, hit, sizes=WIDE)
    await check_series_from_each_size(make, hit, sizes=NARROW)
    # Heights that are still estimated are known once the theme has changed: the scroll bar differs by a line.
    await check_series_from_each_size(make, preview, sizes=NARROW, themes=["night"])
    for agent in agents:
        await agent.close()


def _body(pilot: Pilot[Any]) -> list[str]:
    body: Any = pilot.app.screen.query_one("#statistics-body")
    return [line.text for y in range(5) if (line := body.line_at(y)) is not None]
