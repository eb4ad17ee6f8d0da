"""Blame: each line of today's file with the edit that put it there, the person's lines with none."""

from cogency_tui.agent.review.blame import blame_of
from cogency_tui.agent.review.model import FileKey, Target
from tests.agent.journaling import Desk
from tests.agent.review.conftest import LINES, review_of, swapped


async def owners(desk: Desk, path: str = "a") -> dict[str, int]:
    """The agent's lines of today's file, each with the turn that it is of."""
    blame = await blame_of(desk.journal, desk.store, path)
    texts = (desk.root / path).read_text().splitlines()
    assert [line.text for line in blame.lines] == texts
    assert [line.line for line in blame.lines] == list(range(1, len(texts) + 1))
    return {line.text: line.edit.origin.turn for line in blame.lines if line.edit is not None}


async def test_lines_belong_to_the_turn_that_wrote_them(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "first\n"), (9, "both 1\n"))))
    await desk.say()
    await desk.write(("a", swapped((2, "first\n"), (9, "both 2\n"), (20, "second\n"))))
    desk.put("a", "mine\n" + swapped((2, "first\n"), (9, "both 2\n"), (20, "second\n"), (4, "mine too\n")))
    assert await owners(desk) == {"first": 1, "both 2": 2, "second": 2}


async def test_a_renamed_file_keeps_its_history_and_a_new_one_at_its_old_name_has_none_of_it(
    desk: Desk,
) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "first\n"))))
    await desk.say()
    await desk.run("mv a b")
    desk.put("a", "first\n")
    assert await owners(desk, "b") == {"first": 1}
    assert await owners(desk, "a") == {}


async def test_lines_that_were_taken_back_and_came_again_are_whose_they_were(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "first\n"), (20, "other\n"))))
    review = review_of(desk)
    one, _ = (await review.diff(FileKey(1, "a"))).hunks
    await review.revert(Target(1, "a", (one.id,)))
    assert await owners(desk) == {"other": 1}
    await review.keep(Target(1, "a", (one.id,)))
    assert await owners(desk) == {"first": 1, "other": 1}
    await review.edit(Target(1, "a", (one.id,)), "the person's\n")
    assert await owners(desk) == {"other": 1}


async def test_a_created_file_is_all_the_agents(desk: Desk) -> None:
    await desk.write(("new", "x\ny\n"))
    assert await owners(desk, "new") == {"x": 1, "y": 1}
    blame = await blame_of(desk.journal, desk.store, "new")
    assert list(blame.prompts.values()) == ["go on"]


async def test_lines_that_are_restored_after_edits_in_between_are_whose_they_were(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "first\n"))))
    await desk.undo.apply(await desk.undo.of_turn())
    await desk.say()
    await desk.write(("a", swapped((20, "second\n"))))
    await desk.undo.apply(await desk.undo.redo())
    assert await owners(desk) == {"first": 1, "second": 2}
