"""A change that the agent makes again after its revert is decided by itself, though the content is the same."""

import pytest

from cogency_tui.agent.review.model import HunkState, Target
from tests.agent.journaling import Desk
from tests.agent.review.conftest import LINES, review_of, swapped

CHANGED = swapped((2, "two\n"), (20, "twenty\n"))
CHANGES = pytest.mark.parametrize(
    ("before", "after"),
    [(None, LINES), (LINES, CHANGED), (LINES, None)],
    ids=["created", "changed", "deleted"],
)
"""The contents of the file before and after the agent's change; None if it is not there."""

TARGETS = pytest.mark.parametrize("target", [Target(2, "a"), Target(2)], ids=["file", "turn"])


def content(desk: Desk) -> str | None:
    path = desk.root / "a"
    return path.read_text() if path.exists() else None


async def change(desk: Desk, after: str | None) -> None:
    if after is None:
        await desk.run("rm a")
    else:
        await desk.write(("a", after))


async def revert_twice(desk: Desk, before: str | None, after: str | None, target: Target) -> None:
    """Revert the agent's change, which it makes again in the next turn, and then revert that."""
    if before is not None:
        desk.put("a", before)
    await change(desk, after)
    await review_of(desk).revert(Target(1, "a"))
    await desk.say()
    await change(desk, after)
    await review_of(desk).revert(target)
    assert content(desk) == before


async def states(desk: Desk) -> list[set[HunkState]]:
    """The states of the hunks by turn, the latest first."""
    groups = (await review_of(desk).overview()).groups
    return [{state for file in group.files for state in file.states} for group in groups]


@CHANGES
@TARGETS
async def test_undo_restores_a_repeated_change_and_redo_reverts_it(
    desk: Desk, before: str | None, after: str | None, target: Target
) -> None:
    await revert_twice(desk, before, after, target)
    for _ in range(2):
        await review_of(desk).undo()
        assert (content(desk), await states(desk)) == (after, [{"new"}, {"reverted"}])
        await review_of(desk).redo()
        assert (content(desk), await states(desk)) == (before, [{"reverted"}, {"reverted"}])


@CHANGES
@TARGETS
async def test_keep_restores_a_repeated_change(
    desk: Desk, before: str | None, after: str | None, target: Target
) -> None:
    await revert_twice(desk, before, after, target)
    await review_of(desk).keep(target)
    assert (content(desk), await states(desk)) == (after, [{"kept"}, {"reverted"}])


@CHANGES
async def test_undo_of_each_revert_restores_its_own_change(
    desk: Desk, before: str | None, after: str | None
) -> None:
    await revert_twice(desk, before, after, Target(2, "a"))
    await review_of(desk).undo()
    await review_of(desk).undo()
    assert content(desk) == after
    assert "reverted" not in set().union(*await states(desk))


async def test_a_repeated_hunk_is_reverted_and_restored_by_itself(desk: Desk) -> None:
    await revert_twice(desk, LINES, CHANGED, Target(2, "a"))
    file = (await review_of(desk).overview()).groups[0].files[0]
    await review_of(desk).keep(Target(2, "a", (file.hunks[1].id,)))
    assert content(desk) == swapped((20, "twenty\n"))
    await review_of(desk).undo()
    assert content(desk) == LINES
    await review_of(desk).undo()
    assert content(desk) == CHANGED
