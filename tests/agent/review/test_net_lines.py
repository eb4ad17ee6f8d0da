"""The net difference that the agent's edits make on the disk."""

from tests.agent.journaling import Desk
from tests.agent.review.conftest import LINES, review_of, swapped


async def test_successive_changes_count_once_and_those_of_the_user_do_not(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "agent\n"))))
    await desk.say()
    await desk.write(("a", swapped((2, "agent again\n"))))
    review = review_of(desk)
    assert (await review.changed_lines()).net == {"a": (1, 1)}
    desk.put("a", swapped((2, "agent again\n"), (9, "mine\n")))
    assert await review.net_lines() == {"a": (1, 1)}
    desk.put("a", swapped((2, "agent again\nand mine\n"), (9, "mine\n")))
    assert await review.net_lines() == {"a": (1, 1)}
    desk.put("a", swapped((2, "mine instead\n")))
    assert await review.net_lines() == {"a": (1, 1)}
    desk.put("a", swapped((9, "mine\n")))
    assert await review.net_lines() == {}
    desk.put("a", LINES)
    assert await review.net_lines() == {}


async def test_the_lines_of_the_user_from_before_the_edits_do_not_count_when_both_are_gone(
    desk: Desk,
) -> None:
    desk.put("a", swapped((9, "mine\n")))
    await desk.write(("a", swapped((2, "agent\n"), (9, "mine\n"), (20, "agent\n"))))
    review = review_of(desk)
    assert (await review.changed_lines()).net == {"a": (2, 2)}
    desk.put("a", swapped((20, "agent\n")))
    assert await review.net_lines() == {"a": (1, 1)}
    desk.put("a", LINES)
    assert await review.net_lines() == {}


async def test_the_last_turn_adds_its_files_to_those_known(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "agent\n"))))
    review = review_of(desk)
    for _ in range(2):
        await review.lines_of_last_turn()
    assert await review.net_lines() == {"a": (1, 1)}
    await desk.say()
    await desk.write(("a", swapped((2, "agent again\n"))), ("b", "new\n"))
    await review.lines_of_last_turn()
    assert (
        await review.net_lines() == (await review_of(desk).changed_lines()).net == {"a": (1, 1), "b": (1, 0)}
    )
    (desk.root / "b").unlink()
    assert await review.net_lines() == {"a": (1, 1)}


async def test_a_renamed_file_one_of_another_mode_and_one_without_lines_differ(desk: Desk) -> None:
    for name in ("old", "run", "image"):
        desk.put(name, LINES)
    await desk.run(r"mv old new; chmod 755 run; printf '\0\1' > image")
    review = review_of(desk)
    expected = {"new": (0, 0), "run": (0, 0), "image": (0, 0)}
    assert (await review.changed_lines()).net == expected
    other = review_of(desk)
    for _ in range(2):
        await other.lines_of_last_turn()
    assert await other.net_lines() == expected


async def test_a_deleted_file_and_a_link_in_its_place(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "agent\n"))))
    review = review_of(desk)
    await review.changed_lines()
    (desk.root / "a").unlink()
    assert await review.net_lines() == {}
    (desk.root / "a").symlink_to("elsewhere")
    assert await review.net_lines() == {"a": (0, 0)}


async def test_a_file_that_the_agent_deleted_counts_until_it_is_there_again(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.run("rm a; touch empty")
    review = review_of(desk)
    assert (await review.changed_lines()).net == {"a": (0, 30), "empty": (0, 0)}
    desk.put("a", LINES)
    assert await review.net_lines() == {"empty": (0, 0)}
