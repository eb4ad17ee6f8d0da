"""The recall screen by mouse."""

from pathlib import Path

import pytest

from tests.tui.driving import main_of, shown, until
from tests.tui.recall.past import (
    agent_in,
    list_of,
    listed,
    previewed,
    recalled,
    screen_of,
    search,
    settled,
    usual,
)
from tests.tui.recall.test_going_on import gone_on

pytestmark = pytest.mark.exhaustive


def row_of(text: str, wanted: str) -> int:
    return next(y for y, line in enumerate(text.splitlines()) if wanted in line)


async def test_a_click_selects_looks_everywhere_and_goes_on_with_what_is_selected(project: Path) -> None:
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

        chips = screen_of(pilot).query_one("#recall-chips")
        assert "Write about the retry loop" not in listed(pilot)
        assert await pilot.click(chips, offset=(shown(chips).index("this project") + 2, 0))
        await until(pilot, lambda: "Write about the retry loop" in listed(pilot))

        await search(pilot, "needle")
        assert list_of(pilot).key == made["flaky"].id
        assert await pilot.click(list_of(pilot), offset=(10, row_of(listed(pilot), "needle")))
        assert "the needle in the output" in await gone_on(pilot)
        assert main_of(pilot).bridge.conversation_id == made["flaky"].id
