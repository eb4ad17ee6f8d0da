"""An obstacle holds back the files that content of its own was moved to: no text leaves the disk."""

from pathlib import Path

import pytest

from cogency_tui.agent.edits.undo import Undo
from cogency_tui.agent.review.model import Target
from tests.agent.journaling import Desk, desk_at

A, B = ("".join(f"{name} {number}\n" for number in range(5)) for name in "ab")
SWAP = "mv a t; mv b a; mv t b"


async def swapped(desk: Desk, mine: str) -> dict[str, str]:
    """Two files that a command swapped beside another change, with a line of the user's in one; all texts."""
    desk.put("a", A)
    desk.put("b", B)
    await desk.run(f"{SWAP}; echo c > c")
    path = desk.root / mine
    path.write_text(path.read_text().replace(" 1\n", " mine\n"))
    return {name: (desk.root / name).read_text() for name in ("a", "b")}


@pytest.mark.parametrize("mine", ["a", "b"])
async def test_a_swap_is_reverted_as_one(tmp_path: Path, mine: str) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        before = await swapped(desk, mine)
        undo = Undo(desk.journal, desk.conversation)
        plan = await undo.of_turn()
        assert [each.change.path for each in plan.changes] == ["c"]
        other = "b" if mine == "a" else "a"
        reasons = {each.path: each.reason for each in plan.deviations}
        assert reasons[other] == f"it has the content of {mine}, which cannot be reverted"
        await undo.apply(plan.unobstructed)
        assert {name: (desk.root / name).read_text() for name in ("a", "b")} == before

        overwriting = (await undo.of_turn()).overwriting
        assert overwriting is not None
        await undo.apply(overwriting)
        assert ((desk.root / "a").read_text(), (desk.root / "b").read_text()) == (A, B)
        await undo.apply(await undo.redo())
        assert {name: (desk.root / name).read_text() for name in ("a", "b")} == before


@pytest.mark.parametrize("mine", ["a", "b"])
async def test_the_review_reverts_a_swap_as_one_too(tmp_path: Path, mine: str) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        before = await swapped(desk, mine)
        outcome = await desk.review.revert(Target(1))
        assert ([each.path for each in outcome.conflicts], outcome.held) == (
            [mine],
            ("b" if mine == "a" else "a",),
        )
        assert {name: (desk.root / name).read_text() for name in ("a", "b")} == before
        assert not (desk.root / "c").exists()
        # The user may still revert it alone.
        await desk.review.revert(Target(1, outcome.held[0]))
        assert (desk.root / outcome.held[0]).read_text() == (B if mine == "a" else A)


async def test_a_file_moved_over_another_stays_where_its_place_is_taken(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        desk.put("a", A)
        desk.put("b", B)
        await desk.run("mv a b")
        desk.put("a", "mine\n")
        undo = Undo(desk.journal, desk.conversation)
        plan = await undo.of_turn()
        assert {each.path for each in plan.obstacles} == {"a", "b"}
        assert not plan.changes
        await desk.review.revert(Target(1))
        assert ((desk.root / "a").read_text(), (desk.root / "b").read_text()) == ("mine\n", A)
