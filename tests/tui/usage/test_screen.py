"""`/usage`: the report by each dimension, sorted, of each period and scope, and the search for a row."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.errors import StoreError
from cogency_tui.tui.help.screen import HelpScreen
from cogency_tui.tui.recall.screen import RecallScreen
from cogency_tui.tui.recall.search_bar import SearchField
from cogency_tui.tui.usage.screen import Found, UsageScreen, draw_spark, query_of
from tests.tui.driving import app_over, seen, send, shown, until
from tests.tui.looks import check_looks
from tests.usage_past import NOW, usual

LOADING = "Loading…"


def agent_in(project: Path) -> Agent:
    return Agent("offline", project=project, data=project.parent / "data", permissions="auto")


@asynccontextmanager
async def reported(project: Path, size: tuple[int, int] = (160, 45)) -> AsyncGenerator[Pilot[Any]]:
    """The report of the usual past on the screen."""
    agent = agent_in(project)
    await usual(agent)
    async with app_over(agent).run_test(size=size) as pilot:
        await show(pilot, agent)
        yield pilot


async def show(pilot: Pilot[Any], agent: Agent) -> None:
    screen = UsageScreen(agent.recall.usage, agent.recall.project, clock=lambda: NOW)
    await pilot.app.push_screen(screen)
    await until(pilot, lambda: LOADING not in listed(pilot))


def listed(pilot: Pilot[Any]) -> str:
    return shown(pilot.app.screen.query_one("#usage-list"))


def note(pilot: Pilot[Any]) -> str:
    return shown(pilot.app.screen.query_one("#usage-note"))


def titles(pilot: Pilot[Any]) -> str:
    return shown(pilot.app.screen.query_one("#usage-columns"))


def labels(pilot: Pilot[Any]) -> list[str]:
    return [line.split()[0] for line in listed(pilot).splitlines() if line.strip()]


async def test_each_dimension_has_a_tab_and_the_selected_row_its_weeks_and_trends(project: Path) -> None:
    async with reported(project) as pilot:
        assert labels(pilot) == ["openai/gpt", "anthropic/claude", "local/qwen"]
        await until(pilot, lambda: "✗ Failed calls: 37% of 35, before 7% of 30: worse" in note(pilot))
        assert "Tokens by week  █·▆·  2026-W12 to 2026-W15" in note(pilot)
        await pilot.press("end")
        await until(pilot, lambda: "· Too few cases to compare: failed calls" in note(pilot))
        for key, first in (("2", "shell"), ("3", "part_0.py"), ("4", "shop"), ("5", "2026-W12")):
            await pilot.press(key)
            await until(pilot, lambda first=first: labels(pilot)[0].endswith(first))


async def test_columns_change_and_sort_and_period_and_scope_are_chosen(project: Path) -> None:
    async with reported(project) as pilot:
        assert "~$0.25" in listed(pilot)
        await pilot.press("tab")
        await until(pilot, lambda: "13 (37%)" in listed(pilot))
        assert "malf./100" in titles(pilot)
        for _ in range(4):
            await pilot.press("s")
        await until(pilot, lambda: "reverted▾" in titles(pilot))
        assert labels(pilot)[0] == "anthropic/claude"
        await pilot.press("a", "4")
        await until(pilot, lambda: len(labels(pilot)) == 2)
        await pilot.press("p", "p", "p", "1")
        await until(pilot, lambda: "All time has no period before" in note(pilot))
        assert len(labels(pilot)) == 3


async def test_f1_lists_its_keys(project: Path) -> None:
    async with reported(project) as pilot:
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        await until(pilot, lambda: "Choose the next period: 7 days to all time" in seen(pilot))
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, UsageScreen))


async def test_enter_searches_the_conversations_of_a_row(project: Path) -> None:
    agent = agent_in(project)
    await usual(agent)
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "/usage tool")
        await until(pilot, lambda: isinstance(pilot.app.screen, UsageScreen))
        await pilot.press("p", "p", "p")
        await until(pilot, lambda: labels(pilot)[:1] == ["shell"])
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, RecallScreen))
        await until(pilot, lambda: pilot.app.screen.query_one(SearchField).value == 'tool:"shell"')


async def test_an_empty_period_and_a_failing_store_are_reported(project: Path) -> None:
    agent = agent_in(project)

    async def fail(*_asked: object) -> Any:
        raise StoreError("The disk is gone.", "Mount it.")

    async with app_over(agent).run_test(size=(80, 24)) as pilot:
        await show(pilot, agent)
        assert "No usage by model in this period." in listed(pilot)
        await pilot.press("enter", "s", "tab", "escape")
        await pilot.app.push_screen(UsageScreen(fail, str(project)))
        await until(pilot, lambda: "The disk is gone. Mount it." in listed(pilot))


def test_a_row_is_searched_in_its_period() -> None:
    assert query_of("model", "openai/gpt", None, None) == Found('model:"openai/gpt"', "everywhere")
    week = query_of("week", "2026-W15", None, "/shop")
    assert week == Found("since:2026-04-06 before:2026-04-13", "project")
    assert query_of("file", "a b.py", NOW, "/shop").query == 'file:"a b.py" since:2026-04-07'


@pytest.mark.parametrize(
    ("values", "drawn"), [((), ""), ((0, 0), "··"), ((1, 1000), "▁█"), ((8, 4, 0, 2), "█▅·▃")]
)
def test_a_spark_line_has_a_step_for_each_value(values: tuple[int, ...], drawn: str) -> None:
    assert draw_spark(values) == drawn


def after(agent: Agent, *keys: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    async def prepare(pilot: Pilot[Any]) -> None:
        await show(pilot, agent)
        await pilot.press(*keys)
        await until(pilot, lambda: LOADING not in listed(pilot))
        await pilot.pause()

    return prepare


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("name", "keys"), [("models", ()), ("success", ("tab",)), ("files", ("3", "tab")), ("weeks", ("5",))]
)
async def test_the_report_looks(project: Path, name: str, keys: tuple[str, ...]) -> None:
    agent = agent_in(project)
    await usual(agent)
    await check_looks(f"usage-{name}", lambda: app_over(agent), after(agent, *keys))
