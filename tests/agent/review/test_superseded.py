"""Hunks of which nothing is left are not counted among those to decide about."""

import pytest

from cogency_tui.agent.review.model import FileKey, HunkState, Target
from cogency_tui.errors import UsageError, WorkspaceError
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


@pytest.mark.parametrize("edited", [swapped((2, "one\n")), LINES + "last\n", LINES.replace("line 2\n", "")])
async def test_a_change_that_others_discarded_is_gone_though_the_agent_makes_it_again(
    desk: Desk, edited: str
) -> None:
    desk.put("a", LINES)
    await desk.write(("a", edited))
    desk.put("a", LINES)
    await desk.say()
    await desk.write(("a", edited))
    assert await states(desk) == ("gone",)
    assert await states(desk, 2) == ("new",)
    await review_of(desk).revert(Target(2))
    assert (desk.root / "a").read_text() == LINES
    assert await states(desk) == ("gone",)


async def test_a_created_file_that_others_removed_is_gone_though_the_agent_makes_it_again(
    desk: Desk,
) -> None:
    await desk.write(("a", "a\n"))
    (desk.root / "a").unlink()
    await desk.say()
    await desk.write(("a", "a\n"))
    assert await states(desk) == ("gone",)
    assert await states(desk, 2) == ("new",)


async def test_a_deletion_that_others_undid_is_gone_though_the_agent_makes_it_again(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.run("rm a")
    desk.put("a", LINES)
    await desk.say()
    await desk.run("rm a")
    assert await states(desk) == ("gone",)
    assert await states(desk, 2) == ("new",)


async def test_a_change_is_remade_by_a_later_edit_than_the_first_after_it_was_discarded(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "one\n"))))
    desk.put("a", LINES)
    for turn in (swapped((20, "two\n")), swapped((2, "one\n"), (20, "two\n"))):
        await desk.say()
        await desk.write(("a", turn))
    assert [await states(desk, turn) for turn in (1, 2, 3)] == [("gone",), ("new",), ("new",)]


async def test_a_change_that_others_stashed_and_restored_is_new(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "one\n"))))
    desk.put("a", LINES)
    await desk.say()
    await desk.write(("a", swapped((20, "two\n"))))
    desk.put("a", swapped((2, "one\n"), (20, "two\n")))
    assert await states(desk) == ("new",)
    assert await states(desk, 2) == ("new",)


async def test_the_same_line_added_twice_is_new_twice(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", "same\n" + LINES))
    desk.put("a", "same\n" + swapped((20, "mine\n")))
    await desk.say()
    await desk.write(("a", "same\n" + swapped((20, "mine\n")) + "same\n"))
    assert await states(desk) == ("new",)
    assert await states(desk, 2) == ("new",)


async def test_keeping_what_others_discarded_restores_it_and_undo_removes_it_again(desk: Desk) -> None:
    desk.put("a", LINES)
    edited = swapped((2, "one\n"), (20, "two\n"))
    await desk.write(("a", edited), ("b", "b\n"))
    desk.put("a", swapped((20, "two\n")))
    (desk.root / "b").unlink()
    review = review_of(desk)
    hunk, _ = (await review.diff(FileKey(1, "a"))).hunks
    assert (await review.keep(Target(1, "a", (hunk.id,)))).edits
    assert (desk.root / "a").read_text() == edited
    assert await states(desk) == ("kept", "new")
    await review.keep(Target(1, "b"))
    assert (desk.root / "b").read_text() == "b\n"
    await review.undo()
    await review.undo()
    assert not (desk.root / "b").exists()
    assert (desk.root / "a").read_text() == swapped((20, "two\n"))
    assert await states(desk) == ("gone", "new")
    await review.redo()
    assert await states(desk) == ("kept", "new")
    await review.revert(Target(1))
    assert (desk.root / "a").read_text() == LINES


async def test_keeping_hunks_of_which_one_is_gone_keeps_the_others_too(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "one\n"), (20, "two\n"))))
    desk.put("a", swapped((20, "two\n")))
    hunks = tuple(hunk.id for hunk in (await review_of(desk).diff(FileKey(1, "a"))).hunks)
    await review_of(desk).keep(Target(1, "a", hunks))
    assert await states(desk) == ("kept", "kept")


async def test_a_file_of_which_a_part_is_gone_is_kept_as_it_is(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "one\n"), (20, "two\n"))))
    desk.put("a", swapped((20, "two\n")))
    await review_of(desk).keep(Target(1, "a"))
    assert await states(desk) == ("gone", "kept")
    assert (desk.root / "a").read_text() == swapped((20, "two\n"))


async def test_lines_that_a_later_edit_replaced_are_not_restored_over_it(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "one\n"))))
    await desk.say()
    await desk.write(("a", swapped((2, "two\n"))))
    with pytest.raises(WorkspaceError, match=r"Not restored: .*same lines"):
        await review_of(desk).keep(Target(1, "a"))
    assert await states(desk) == ("gone",)
    assert (desk.root / "a").read_text() == swapped((2, "two\n"))


async def test_what_is_gone_cannot_be_reverted(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "one\n"))), ("b", "b\n"))
    desk.put("a", LINES)
    (desk.root / "b").unlink()
    for target in (Target(1, "a"), Target(1, "b"), Target(1)):
        with pytest.raises(UsageError, match="no longer in the file"):
            await review_of(desk).revert(target)
    assert await states(desk) == ("gone",)


async def test_a_discarded_file_without_lines_is_not_kept(desk: Desk) -> None:
    await desk.write(("a", ""))
    (desk.root / "a").unlink()
    with pytest.raises(UsageError, match="Nothing to keep"):
        await review_of(desk).keep(Target(1, "a"))
