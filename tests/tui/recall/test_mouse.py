"""The recall screen by mouse, and what is said of a conversation that is in the trash."""

from pathlib import Path

import pytest

from tests.tui.driving import main_of, shown, told, until
from tests.tui.recall.past import (
    agent_in,
    is_open,
    list_of,
    listed,
    previewed,
    recalled,
    screen_of,
    settled,
    usual,
)
from tests.tui.recall.test_going_on import gone_on

pytestmark = pytest.mark.exhaustive


def row_of(text: str, wanted: str) -> int:
    return next(y for y, line in enumerate(text.splitlines()) if wanted in line)


async def test_a_click_selects_and_the_preview_follows(project: Path) -> None:
    agent = agent_in(project)
    made = await usual(agent)
    async with recalled(agent) as pilot:
        place = (6, row_of(listed(pilot), "Add pagination"))
        assert await pilot.click(list_of(pilot), offset=place)
        await until(pilot, lambda: list_of(pilot).key == made["week"].id)
        await settled(pilot)
        assert "Add pagination to orders" in previewed(pilot)
        # A heading is nothing to select.
        assert await pilot.click(list_of(pilot), offset=(6, 0))
        await settled(pilot)
        assert list_of(pilot).key == made["week"].id


async def test_a_click_on_what_is_selected_goes_on_with_it(project: Path) -> None:
    agent = agent_in(project)
    made = await usual(agent)
    async with recalled(agent, query="needle") as pilot:
        assert await pilot.click(list_of(pilot), offset=(10, row_of(listed(pilot), "needle")))
        assert "the needle in the output" in await gone_on(pilot)
        assert main_of(pilot).bridge.conversation_id == made["flaky"].id


async def test_a_click_on_the_chip_looks_everywhere(project: Path) -> None:
    agent = agent_in(project)
    await usual(agent)
    async with recalled(agent) as pilot:
        chips = screen_of(pilot).query_one("#recall-chips")
        assert "Write about the retry loop" not in listed(pilot)
        assert await pilot.click(chips, offset=(shown(chips).index("this project") + 2, 0))
        await until(pilot, lambda: "Write about the retry loop" in listed(pilot))


async def test_going_on_with_what_is_in_the_trash_says_so(project: Path) -> None:
    agent = agent_in(project)
    made = await usual(agent)
    await agent.recall.trash(made["old"].id)
    async with recalled(agent) as pilot:
        await pilot.press("f2", "f2")
        await settled(pilot)
        await pilot.press("down", "enter")
        await until(pilot, lambda: not is_open(pilot))
        assert "Nothing to retry." in await gone_on(pilot)
        assert main_of(pilot).bridge.conversation_id == made["old"].id
        assert "Still in the trash" in told(pilot)
