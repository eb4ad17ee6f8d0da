"""The dialog of `/share` in all its states, and where sharing is shown beside it."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from cogency_tui.config.schema import Settings
from cogency_tui.team.local_state import Share
from cogency_tui.team.sharing import Terms
from cogency_tui.tui.status.status_bar import TeamWork
from cogency_tui.tui.team.screen import ShareScreen
from tests.tui.driving import app_over, header_of, shown, status_of, until
from tests.tui.looks import check_looks
from tests.tui.scripted import ScriptedAgent

TERMS = Terms("/home/ada/src/shop", "shop", "db.example.org/history", 1234)
SHARE = Share("/home/ada/src/shop", "shop", "project", 1577880000.0)


@pytest.mark.parametrize(
    ("name", "share", "private"),
    [
        ("share-ask", None, False),
        pytest.param("share-shared", SHARE, False, marks=pytest.mark.exhaustive),
        pytest.param("share-private", SHARE, True, marks=pytest.mark.exhaustive),
    ],
)
async def test_the_dialog(project: Path, name: str, share: Share | None, private: bool) -> None:
    async def ask(pilot: Pilot[Any]) -> None:
        await pilot.app.push_screen(ShareScreen(TERMS, share, is_private=private))

    await check_looks(name, lambda: app_over(ScriptedAgent(project)), ask)


async def test_the_heading_has_it_in_any_width(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(160, 24)) as pilot:
        header = header_of(pilot)
        place = replace(header.place, branch="a-branch-with-a-name", count=12, title="A long title " * 5)
        header.move(replace(place, shared="project"))
        for width in (160, 100, 80, 60, 40):
            await pilot.resize_terminal(width, 24)
            await until(pilot, lambda width=width: header.size.width == width)
            assert "shared: project" in shown(header)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: header.size.width == 80)
        header.move(replace(place, shared="project", is_elsewhere=True))
        assert "open in another" in shown(header)


async def test_the_status_bar_says_what_waits_and_why(project: Path) -> None:
    agent = ScriptedAgent(project, settings=Settings(provider="openai", footer=False))
    async with app_over(agent).run_test(size=(100, 16)) as pilot:
        bar = status_of(pilot)
        for work, expected in (
            (TeamWork(), ""),
            (TeamWork(1200), "team: 1,200 waiting"),
            (TeamWork(0, "Out of reach.", is_offline=True), "team: offline"),
            (TeamWork(3, "Out of reach.", is_offline=True), "team: offline, 3 waiting"),
            (TeamWork(3, "Not a member", is_offline=False), "team: failed, 3 waiting"),
        ):
            bar.show_team(work)
            assert shown(bar).rstrip().endswith(expected or "gpt-5.6-sol")
        await pilot.hover(bar, offset=(shown(bar).index("team"), 0))
        assert str(bar.tooltip) == "Not a member. Click for details"
