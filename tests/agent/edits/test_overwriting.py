"""Overwriting in an undo: each line that is lost by it is counted, whoever wrote it and wherever."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cogency_tui.agent.review.model import FileKey, Target
from tests.agent.journaling import Desk, desk_at

LINES = "".join(f"line {number}\n" for number in range(30))
AGENTS = LINES.replace("line 3\n", "agent 3\n").replace("line 20\n", "agent 20\n")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        desk.put("a", LINES)
        await desk.write(("a", AGENTS))
        yield desk


async def hunks(desk: Desk) -> tuple[Target, Target]:
    file = await desk.review.file(FileKey(1, "a"))
    one, two = (Target(1, "a", (hunk.id,)) for hunk in file.hunks)
    return one, two


async def lost(desk: Desk) -> str:
    (file,) = (await desk.undo.of_turn()).deviations
    assert file.is_restorable
    return str(file.lost)


async def test_lines_that_the_user_wrote_in_the_review_are_counted(desk: Desk) -> None:
    one, two = await hunks(desk)
    await desk.review.edit(one, "mine\nand mine\n")
    assert await lost(desk) == "+2 −1"
    await desk.review.edit(one, "mine\n")
    assert await lost(desk) == "+1 −1"
    # A decision about other lines changes nothing in that.
    await desk.review.revert(two)
    assert await lost(desk) == "+1 −1"


async def test_lines_of_the_review_that_are_gone_are_not_counted(desk: Desk) -> None:
    one, two = await hunks(desk)
    await desk.review.edit(one, "mine\n")
    await desk.review.undo()
    await desk.review.edit(two, "mine, too\n")
    await desk.review.revert(two)
    desk.put("a", (desk.root / "a").read_text().replace("agent 3\n", "outside\n"))
    assert await lost(desk) == "+1 −1"


async def test_lines_that_were_changed_between_the_agents_edits_are_counted(desk: Desk) -> None:
    mine = AGENTS.replace("agent 3\n", "mine\n")
    desk.put("a", mine)
    await desk.write(("a", mine.replace("agent 20\n", "agent 20!\n")))
    assert await lost(desk) == "+1 −1"
