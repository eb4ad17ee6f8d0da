"""Hunks of which nothing is left are not counted among those to decide about."""

from cogency_tui.agent.review.model import FileKey, HunkState, Target
from tests.agent.journaling import Desk
from tests.agent.review.conftest import LINES, review_of, swapped


async def states(desk: Desk, turn: int = 1) -> tuple[HunkState, ...]:
    overview = await review_of(desk).overview()
    (file,) = (file for group in overview.groups for file in group.files if file.key == FileKey(turn, "a"))
    diff = await review_of(desk).diff(file.key)
    assert tuple(hunk.state for hunk in diff.hunks) == file.states
    return file.states


async def test_lines_that_the_agent_overwrites_are_gone_and_those_that_stay_are_new(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "one\n"), (10, "ten\n"), (20, "first\nsecond\n"))))
    await desk.say()
    await desk.write(("a", swapped((2, "uno\n"), (10, "line 10\n"), (20, "first\nother\n"))))
    assert await states(desk) == ("gone", "gone", "new")
    assert await states(desk, 2) == ("new", "new", "new")
    counts = (await review_of(desk).overview()).counts
    assert (counts["new"], counts["gone"]) == (4, 2)


async def test_lines_are_to_be_decided_again_once_what_replaced_them_is_reverted(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "one\n"))))
    await desk.say()
    await desk.write(("a", swapped((2, "two\n"))))
    assert await states(desk) == ("gone",)
    await review_of(desk).revert(Target(2))
    assert await states(desk) == ("new",)


async def test_lines_that_the_user_changes_are_new_and_those_that_the_user_removes_are_gone(
    desk: Desk,
) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "one\n"), (20, "two\n"))))
    desk.put("a", swapped((2, "mine\n")))
    assert await states(desk) == ("new", "gone")


async def test_a_decision_about_lines_stays_though_they_are_gone(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "one\n"))))
    await review_of(desk).keep(Target(1, "a"))
    desk.put("a", LINES)
    assert await states(desk) == ("kept",)


async def test_a_created_file_is_gone_with_its_removal_and_a_deletion_is_not(desk: Desk) -> None:
    desk.put("b", "b\n")
    await desk.write(("a", "a\n"))
    await desk.run("rm b")
    (desk.root / "a").unlink()
    (files,) = ((*group.files,) for group in (await review_of(desk).overview()).groups)
    assert [(file.path, file.state) for file in files] == [("a", "gone"), ("b", "new")]
