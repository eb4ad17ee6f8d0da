"""The review: the person decides hunk by hunk, later lines stay, and every decision can be undone."""

from pathlib import Path
from typing import Literal

import pytest

from cogency_tui.agent.edits.undo import Undo
from cogency_tui.agent.review.conflicts import Text
from cogency_tui.agent.review.model import ChangedFile, FileKey, Target
from cogency_tui.agent.review.review import Review
from cogency_tui.errors import UsageError, WorkspaceError
from tests.agent.journaling import Desk, desk_at
from tests.agent.review.conftest import LINES, review_of, swapped


async def files(review: Review) -> list[ChangedFile]:
    return [file for group in (await review.overview()).groups for file in group.files]


async def states(desk: Desk, key: FileKey | None = None) -> tuple[str, ...]:
    review = review_of(desk)
    file = await review.file(key) if key else (await files(review))[0]
    return file.states


async def hunk_ids(desk: Desk, turn: int | None = 1, path: str = "a") -> list[str]:
    return [hunk.id for hunk in (await review_of(desk).diff(FileKey(turn, path))).hunks]


async def two_hunks(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "agent 2\n"), (20, "agent 20\n"))))


def read(desk: Desk, name: str = "a") -> str:
    return (desk.root / name).read_text()


async def test_edits_of_one_turn_are_one_change_of_a_file(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "first\n"), (20, "other\n"))))
    await desk.write(("a", swapped((2, "second\nand more\n"), (20, "other\n"))), ("b", "new\n"))
    await desk.say()
    await desk.write(("b", "newer\n"))

    overview = await review_of(desk).overview()
    assert [(group.turn, [file.path for file in group.files]) for group in overview.groups] == [
        (2, ["b"]),
        (1, ["a", "b"]),
    ]
    assert overview.counts == {"new": 3, "kept": 0, "reverted": 0, "edited": 0, "conflict": 0, "gone": 1}
    file = overview.groups[1].files[0]
    assert (file.kind, file.added, file.removed, len(file.edits)) == ("changed", 3, 2, 2)
    by_file = await review_of(desk).overview("file")
    assert [(group.title, [file.key.turn for file in group.files]) for group in by_file.groups] == [
        ("a", [1]),
        ("b", [2, 1]),
    ]


async def test_a_diff_has_rows_with_numbers_and_marked_words(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "line two\nline more\n"), (20, ""))))
    diff = await review_of(desk).diff(FileKey(1, "a"))
    first, second = diff.hunks
    told = [(row.kind, row.old, row.new, row.text) for row in diff.rows(first)]
    assert told == [
        ("removed", 3, None, "line 2"),
        ("added", None, 3, "line two"),
        ("added", None, 4, "line more"),
    ]
    assert [(row.kind, row.old, row.new) for row in diff.rows(second)] == [("removed", 21, None)]
    removed, added, _ = diff.rows(first)
    assert (diff.changed_words(removed), diff.changed_words(added)) == (((5, 6),), ((5, 8),))
    assert diff.patch(first) == "-line 2\n+line two\n+line more\n"
    gaps = diff.gaps()
    assert [(range, new) for range, new in gaps] == [((0, 2), 0), ((3, 20), 4), ((21, 30), 21)]
    rows = [row for gap in gaps for row in diff.unchanged(*gap)]
    assert all(diff.new[row.new - 1] == row.text for row in rows if row.new)


async def test_hunks_are_kept_and_reverted_one_by_one(desk: Desk) -> None:
    await two_hunks(desk)
    one, two = await hunk_ids(desk)
    await review_of(desk).keep(Target(1, "a", (one,)))
    outcome = await review_of(desk).revert(Target(1, "a", (two,)))
    assert [edit.path for edit in outcome.edits] == ["a"]
    assert read(desk) == swapped((2, "agent 2\n"))
    assert await states(desk) == ("kept", "reverted")
    assert await hunk_ids(desk) == [one, two]


async def test_lines_that_are_reverted_do_not_count_as_applied(desk: Desk) -> None:
    await two_hunks(desk)
    await desk.write(("b", "one\ntwo\n"))
    await desk.say()
    await desk.write(("a", swapped((2, "agent 2\nmore\n"), (20, "agent 20\n"))))
    review = review_of(desk)
    assert (await review.changed_lines()).net == {"a": (3, 2), "b": (2, 0)}
    _, second = await hunk_ids(desk)
    await review.revert(Target(1, "a", (second,)))
    await review.revert(Target(1, "b"))
    assert (await review.changed_lines()).net == {"a": (2, 1)}
    assert await reverted_turns(review) == set()
    await review.revert(Target(2))
    assert await reverted_turns(review) == {2}
    await review.undo()
    assert await reverted_turns(review) == set()
    await review.undo()
    assert (await review.changed_lines()).net == {"a": (2, 1), "b": (2, 0)}


async def reverted_turns(review: Review) -> set[int]:
    turns = (await review.changed_lines()).turns
    return {turn for turn, lines in turns.items() if lines.decision == "reverted"}


async def test_a_reverted_hunk_can_be_kept_after_all_and_an_edited_one_stays_edited(desk: Desk) -> None:
    await two_hunks(desk)
    one, two = await hunk_ids(desk)
    review = review_of(desk)
    await review.revert(Target(1, "a", (one, two)))
    assert read(desk) == LINES
    await review.keep(Target(1, "a", (one,)))
    assert read(desk) == swapped((2, "agent 2\n"))
    assert await states(desk) == ("kept", "reverted")
    await review.edit(Target(1, "a", (one,)), "mine\n")
    await review.edit(Target(1, "a", (two,)), "mine too\nand this\n")
    assert read(desk) == swapped((2, "mine\n"), (20, "mine too\nand this\n"))
    assert await states(desk) == ("edited", "edited")
    with pytest.raises(UsageError, match="Already kept"):
        await review.keep(Target(1, "a", (two,)))
    await review.revert(Target(1, "a", (one,)))
    await review.keep(Target(1, "a", (one, two)))
    assert read(desk) == swapped((2, "agent 2\n"), (20, "mine too\nand this\n"))
    assert await states(desk) == ("kept", "edited")


async def test_keeping_picked_hunks_marks_the_undecided_ones_alone(desk: Desk) -> None:
    await two_hunks(desk)
    one, two = await hunk_ids(desk)
    review = review_of(desk)
    await review.edit(Target(1, "a", (one,)), "mine\n")
    await review.keep(Target(1, "a", (one, two)))
    assert read(desk) == swapped((2, "mine\n"), (20, "agent 20\n"))
    assert await states(desk) == ("edited", "kept")


async def test_marks_and_undo_survive_a_restart(tmp_path: Path) -> None:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        await two_hunks(desk)
        one, two = await hunk_ids(desk)
        review = review_of(desk)
        await review.revert(Target(1, "a", (one,)))
        await review.edit(Target(1, "a", (two,)), "mine\n")
        await review.comment(Target(1, "a", (one,)), "not this way")
        conversation = desk.conversation
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        desk.conversation = conversation
        assert await states(desk) == ("reverted", "edited")
        (file,) = await files(review_of(desk))
        assert [(comment.hunk, comment.text, comment.delivered) for comment in file.comments] == [
            (one, "not this way", False)
        ]
        kinds = [(await review_of(desk).undo())[0] for _ in range(3)]
        assert kinds == ["comment", "edit", "revert"]
        assert read(desk) == swapped((2, "agent 2\n"), (20, "agent 20\n"))
        assert await states(desk) == ("new", "new")
        with pytest.raises(UsageError, match="Nothing to undo"):
            await review_of(desk).undo()
        kinds = [(await review_of(desk).redo())[0] for _ in range(3)]
        assert kinds == ["revert", "edit", "comment"]
        assert read(desk) == swapped((20, "mine\n"))
        assert await states(desk) == ("reverted", "edited")


async def test_a_new_action_ends_redo(desk: Desk) -> None:
    await two_hunks(desk)
    one, two = await hunk_ids(desk)
    review = review_of(desk)
    await review.revert(Target(1, "a", (one,)))
    await review.undo()
    assert (await review.overview()).can_redo
    await review.keep(Target(1, "a", (two,)))
    assert not (await review.overview()).can_redo
    with pytest.raises(UsageError, match="Nothing to redo"):
        await review.redo()


async def test_later_lines_stay_and_the_same_lines_are_a_conflict_that_is_settled_in_place(
    desk: Desk,
) -> None:
    await two_hunks(desk)
    one, two = await hunk_ids(desk)
    desk.put("a", "top\n" + swapped((2, "agent 2, and me\n"), (20, "agent 20\n")))
    review = review_of(desk)
    outcome = await review.revert(Target(1, "a"))
    assert read(desk) == "top\n" + swapped((2, "agent 2, and me\n"))
    assert await states(desk) == ("conflict", "reverted")
    (conflict,) = outcome.conflicts
    assert conflict.merged is not None
    (place,) = conflict.merged.conflicts
    assert (place.base, place.ours, place.theirs) == (b"agent 2\n", b"agent 2, and me\n", b"line 2\n")

    with pytest.raises(UsageError, match="1 conflicts"):
        await review.resolve(Target(1, "a"), conflict, [])
    await review.resolve(Target(1, "a"), conflict, [Text("both\n")])
    assert read(desk) == "top\n" + swapped((2, "both\n"))
    assert await states(desk) == ("edited", "reverted")
    with pytest.raises(UsageError, match="no conflict left to resolve"):
        await review.resolve(Target(1, "a"), conflict, ["ours"])
    assert (await review.undo())[0] == "resolve"
    assert read(desk) == "top\n" + swapped((2, "agent 2, and me\n"))
    (conflict,) = await review.conflicts(Target(1, "a", (one,)))
    await review.resolve(Target(1, "a"), conflict, ["ours"])
    assert await states(desk) == ("edited", "reverted")
    await review.undo()
    (conflict,) = await review.conflicts(Target(1, "a"))
    await review.resolve(Target(1, "a"), conflict, ["theirs"])
    assert read(desk) == "top\n" + LINES
    assert await states(desk) == ("reverted", "reverted")
    assert two


async def test_a_conflict_that_went_stale_changes_nothing(desk: Desk) -> None:
    await two_hunks(desk)
    desk.put("a", swapped((2, "me\n"), (20, "agent 20\n")))
    review = review_of(desk)
    (conflict,) = (await review.revert(Target(1, "a"))).conflicts
    desk.put("a", swapped((2, "me again\n")))
    with pytest.raises(WorkspaceError, match="was modified meanwhile"):
        await review.resolve(Target(1, "a"), conflict, ["theirs"])
    assert read(desk) == swapped((2, "me again\n"))


async def test_a_turn_is_taken_back_as_a_whole_and_comes_back(desk: Desk) -> None:
    desk.put("a", LINES, 0o755)
    desk.put("gone", "old\n")
    desk.put("name", LINES)
    desk.put("binary", b"\0\1\2")
    before = desk.tree()
    await desk.write(("a", swapped((2, "agent\n"))), ("new/file", "x\n"))
    await desk.run("rm gone; mv name renamed; chmod 600 a; printf '\\0\\2' > binary")
    await desk.run("sed -i s/3/three/ renamed")
    after = desk.tree()
    review = review_of(desk)
    kinds = {file.path: (file.kind, file.no_lines) for file in await files(review)}
    assert kinds == {
        "a": ("changed", ""),
        "new/file": ("created", ""),
        "gone": ("deleted", ""),
        "renamed": ("renamed", ""),
        "binary": ("changed", "binary"),
    }
    assert await hunk_ids(desk, path="binary") == []
    outcome = await review.revert(Target(1))
    assert desk.tree() == before
    assert outcome.conflicts == ()
    assert (await review.overview()).counts["new"] == 0
    await review.undo()
    assert desk.tree() == after
    assert set((await review.overview()).counts.items()) >= {("reverted", 0)}
    await review.redo()
    assert desk.tree() == before


async def test_hunks_of_a_file_that_was_renamed_since_are_found(desk: Desk) -> None:
    await two_hunks(desk)
    one, _ = await hunk_ids(desk)
    await desk.say()
    await desk.run("mv a b")
    await review_of(desk).revert(Target(1, "a", (one,)))
    assert read(desk, "b") == swapped((20, "agent 20\n"))


async def test_a_review_over_the_conversation_leaves_out_what_others_did(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "agent 2\n"))))
    desk.put("a", swapped((2, "agent 2\n"), (10, "person\n")))
    await desk.say()
    await desk.write(("a", swapped((2, "agent 2\n"), (10, "person\n"), (20, "agent 20\n"))))
    review = review_of(desk)
    diff = await review.diff(FileKey(None, "a"))
    assert [diff.patch(hunk) for hunk in diff.hunks] == ["-line 2\n+agent 2\n", "-line 20\n+agent 20\n"]
    assert [hunk.turns for hunk in diff.hunks] == [(1,), (2,)]
    await review.revert(Target(None, "a", (diff.hunks[0].id,)))
    assert read(desk) == swapped((10, "person\n"), (20, "agent 20\n"))
    assert await states(desk, FileKey(1, "a")) == ("reverted",)
    await review.revert(Target(None))
    assert read(desk) == swapped((10, "person\n"))


async def test_a_hunk_of_several_edits_one_of_which_is_undone_is_reverted(desk: Desk) -> None:
    desk.put("a", "one\n")
    for text in ("one\ntwo\n", "one\ntwo\nthree\n", "one\ntwo\nthree\nfour\n"):
        await desk.write(("a", text))
    await desk.undo.apply(await desk.undo.of_edits([(await desk.edits())[-1].id]))
    assert read(desk) == "one\ntwo\nthree\n"
    assert not (await review_of(desk).revert(Target(1, "a"))).conflicts
    assert read(desk) == "one\n"


async def test_a_restored_hunk_is_undone_and_reverted_again_as_any_other(desk: Desk) -> None:
    desk.put("a", "one\n")
    await desk.write(("a", "one\ntwo\n"))
    (hunk,) = (await review_of(desk).file(FileKey(1, "a"))).hunks
    target = Target(1, "a", (hunk.id,))
    for _ in range(2):
        await review_of(desk).revert(target)
        await review_of(desk).keep(target)
    await desk.undo.apply(await desk.undo.of_turn())
    assert read(desk) == "one\n"
    await desk.undo.apply(await desk.undo.redo())
    assert read(desk) == "one\ntwo\n"


@pytest.mark.parametrize(
    "command", ["echo new > n", "rm gone", "mv a b; echo more >> b", "chmod +x a; echo >> a"]
)
async def test_what_was_reverted_as_a_whole_is_new_after_a_redo(desk: Desk, command: str) -> None:
    desk.put("a", LINES)
    desk.put("gone", LINES)
    before = desk.tree()
    await desk.run(command)
    after = desk.tree()
    review = review_of(desk)
    for _ in range(2):
        await review.revert(Target(1))
        assert desk.tree() == before
        await desk.undo.apply(await desk.undo.redo())
        assert desk.tree() == after
        (group,) = (await review.overview()).groups
        assert {state for file in group.files for state in file.states} == {"new"}


@pytest.mark.parametrize("second", ["rm a", "cp opening a"])
async def test_undo_does_not_bring_back_what_was_undone_before(desk: Desk, second: str) -> None:
    """The first undo has nothing to do: a later edit has done it already."""
    desk.put("opening", LINES)
    if second != "rm a":
        desk.put("a", LINES)
    before = desk.tree()
    await desk.write(("a", swapped((3, "agent 3\n"))))
    await desk.say()
    await desk.run(second)
    for turn in (1, 2):
        await desk.undo.apply(await desk.undo.of_turn(turn))
        assert desk.tree() == before


@pytest.mark.parametrize(("choice", "text"), [("ours", "person\ntwo\n"), ("theirs", "one\ntwo\n")])
async def test_a_conflict_in_a_file_that_was_deleted_since_is_resolved(
    desk: Desk, choice: Literal["ours", "theirs"], text: str
) -> None:
    desk.put("a", "one\ntwo\n")
    await desk.write(("a", "agent\ntwo\n"))
    desk.put("a", "person\ntwo\n")
    await desk.run("rm a")
    review = review_of(desk)
    (conflict,) = (await review.revert(Target(1))).conflicts
    await review.resolve(Target(1), conflict, [choice])
    assert read(desk) == text


async def test_a_revert_under_another_name_counts_once_the_name_is_reverted(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "agent 2\n"))))
    await desk.write(("a", swapped((2, "agent 2\n"), (9, "agent 9\n"))))
    await desk.say()
    await desk.run("mv a b")
    desk.put("b", "person\n" + swapped((2, "agent 2\n"), (9, "agent 9\n")))
    await review_of(desk).revert(Target(1, "a", ((await hunk_ids(desk))[1],)))
    await desk.undo.apply(await desk.undo.back_to(1))
    assert await states(desk, FileKey(1, "a")) == ("new", "new")
    assert read(desk) == "person\n" + swapped((2, "agent 2\n"), (9, "agent 9\n"))
    await desk.undo.apply(await desk.undo.back_to(0))
    assert read(desk) == "person\n" + LINES


async def test_undo_goes_back_beyond_a_reverted_turn_that_wrote_a_file_anew(desk: Desk) -> None:
    await desk.write(("a", "one\n"))
    await desk.say()
    await desk.run("rm a")
    await desk.write(("a", "two\n"))
    await review_of(desk).revert(Target(2))
    assert read(desk) == "one\n"
    await desk.undo.apply(await desk.undo.back_to(0))
    assert not desk.tree()


async def test_edits_that_cancel_out_are_in_the_review_once_one_is_undone(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.run("mv a b")
    await desk.run("mv b a")
    review = review_of(desk)
    assert (await review.overview()).groups == ()
    await desk.undo.apply(await desk.undo.of_edits([(await desk.edits())[-1].id]))
    ((file,),) = [group.files for group in (await review.overview()).groups]
    assert (file.path, file.states) == ("a", ("new",))
    await review.revert(Target(1))
    assert read(desk) == LINES
    ((file,),) = [group.files for group in (await review.overview()).groups]
    assert file.states == ("reverted",)


async def test_lines_that_others_changed_between_two_edits_are_not_lost(desk: Desk) -> None:
    desk.put("a", LINES)
    await desk.write(("a", swapped((2, "agent\n"))))
    desk.put("a", swapped((2, "agent and person\n")))
    await desk.write(("a", swapped((2, "agent and person and agent\n"))))
    review = review_of(desk)
    (file,) = await files(review)
    assert file.hunks[0].mixed
    outcome = await review.revert(Target(1, "a"))
    assert "person" in read(desk)
    assert outcome.conflicts or "person" in read(desk)


async def test_what_undo_and_the_review_take_back_are_the_same_marks(desk: Desk) -> None:
    await two_hunks(desk)
    await desk.undo.apply(await desk.undo.of_turn())
    assert await states(desk) == ("reverted", "reverted")
    (one, _) = await hunk_ids(desk)
    await review_of(desk).keep(Target(1, "a", (one,)))
    assert await states(desk) == ("kept", "reverted")
    assert read(desk) == swapped((2, "agent 2\n"))
    await review_of(desk).revert(Target(1, "a"))
    assert read(desk) == LINES


async def test_a_file_keeps_its_encoding_and_line_endings_when_a_hunk_is_edited(desk: Desk) -> None:
    desk.put("a", "één\r\ntwee\r\ndrie".encode("latin-1"), 0o750)
    await desk.write(("a", "één\r\nZWEI\r\ndrei".encode("latin-1")))
    (one,) = await hunk_ids(desk)
    await review_of(desk).edit(Target(1, "a", (one,)), "zwéi\ndréi\n")
    assert (desk.root / "a").read_bytes() == "één\r\nzwéi\r\ndréi".encode("latin-1")
    with pytest.raises(UsageError, match="cannot be written"):
        await review_of(desk).edit(Target(1, "a", (one,)), "日\n")
    assert (desk.root / "a").stat().st_mode & 0o777 == 0o750


async def test_what_is_not_there_is_said(desk: Desk) -> None:
    await two_hunks(desk)
    review = review_of(desk)
    with pytest.raises(UsageError, match=r"did not change b"):
        await review.keep(Target(1, "b"))
    with pytest.raises(UsageError, match="no hunk 'nope'"):
        await review.revert(Target(1, "a", ("nope",)))
    with pytest.raises(UsageError, match="changed no file"):
        await review.revert(Target(7))
    await review.revert(Target(1))
    with pytest.raises(UsageError, match="Already reverted"):
        await review.revert(Target(1))
    await review.keep(Target(1))
    with pytest.raises(UsageError, match="Already kept"):
        await review.keep(Target(1))


async def test_keeping_what_was_reverted_as_a_whole_restores_it(desk: Desk) -> None:
    desk.put("old", LINES)
    desk.put("gone", "gone\n")
    await two_hunks(desk)
    await desk.run("mv old new; rm gone")
    before = desk.tree()
    review = review_of(desk)
    await review.revert(Target(1))
    assert desk.tree() != before
    await review.keep(Target(1))
    assert desk.tree() == before
    assert {state for file in await files(review) for state in file.states} == {"kept"}
    await review.undo()
    assert {state for file in await files(review) for state in file.states} == {"reverted"}
    for name in ("a", "new", "gone"):
        await review.keep(Target(1, name))
    assert desk.tree() == before


async def test_a_file_reverted_together_with_another_turn_is_restored_by_that_undo(desk: Desk) -> None:
    await desk.write(("a", "one\n"))
    await desk.say()
    await desk.write(("a", "one\ntwo\n"))
    undo = Undo(desk.journal, desk.conversation)
    await undo.apply(await undo.back_to(0))
    with pytest.raises(UsageError, match="reverted together with others"):
        await review_of(desk).keep(Target(1, "a"))


async def test_fates_say_where_a_hunk_is_today(desk: Desk) -> None:
    desk.put("a", LINES)
    new = [(2, "agent 2\n"), (10, "agent 10\n"), (16, "agent 16\n"), (22, "agent 22\n"), (28, "")]
    await desk.write(("a", swapped(*new)))
    lines = swapped((2, "agent 2\n"), (16, "agent 16!\n"), (28, "")).splitlines(keepends=True)
    desk.put("a", "".join(["top\n", *lines, "agent 22\n"]))
    fates = await review_of(desk).fates(FileKey(1, "a"))
    assert [(fate.fate, fate.line) for fate in fates] == [
        ("still there", 4),
        ("gone", 12),
        ("changed since", 18),
        ("moved", 31),
        ("still there", 30),
    ]
    (desk.root / "a").unlink()
    assert {fate.fate for fate in await review_of(desk).fates(FileKey(1, "a"))} == {"gone"}


async def test_a_file_in_whose_place_another_was_moved_is_reviewed_by_itself(desk: Desk) -> None:
    desk.put("a", "old\n")
    desk.put("b", "new\n")
    await desk.run("rm a")
    await desk.run("mv b a")
    review = review_of(desk)
    (group,) = (await review.overview()).groups
    removed, moved = group.files
    assert [(file.key.path, file.kind, file.old_path) for file in group.files] == [
        ("a", "deleted", ""),
        ("a", "renamed", "b"),
    ]
    assert (removed.key.replaced, moved.key.replaced) == (removed.last.id, 0)
    assert (await review.diff(removed.key)).old == ("old",)
    assert (await review.file(moved.key)) == moved

    await review.revert(Target(1, "a"))
    assert {name: data for name, (_, data) in desk.tree().items()} == {"b": b"new\n"}
    await review.revert(Target(1, "a", replaced=removed.key.replaced))
    assert {name: data for name, (_, data) in desk.tree().items()} == {"a": b"old\n", "b": b"new\n"}
    assert {file.state for file in (await review.overview()).groups[0].files} == {"reverted"}


async def test_the_decision_about_a_turn_and_about_each_of_its_calls(desk: Desk) -> None:
    await two_hunks(desk)
    await desk.write(("b", "one\n"))
    calls = [edit.call for edit in await desk.edits()]
    review = review_of(desk)

    async def decided() -> tuple[str, ...]:
        lines = await review.changed_lines()
        return lines.turns[1].decision, *(lines.decisions[call] for call in calls)

    assert await decided() == ("", "", "")
    one, two = await hunk_ids(desk)
    await review.revert(Target(1, "a", (one,)))
    assert await decided() == ("", "", "")
    await review.keep(Target(1, "a", (two,)))
    assert await decided() == ("", "reviewed", "")
    await review.keep(Target(1, "b"))
    assert await decided() == ("reviewed", "reviewed", "kept")
    await review.revert(Target(1))
    assert await decided() == ("reverted", "reverted", "reverted")
    await review.undo()
    assert await decided() == ("reviewed", "reviewed", "kept")


async def test_a_call_whose_changes_cancel_out_has_no_decision(desk: Desk) -> None:
    desk.put("a", "one\n")
    await desk.write(("a", "two\n"))
    await desk.write(("a", "one\n"))
    last = (await desk.edits())[-1]
    await desk.undo.apply(await desk.undo.of_edits([last.id]))
    assert (await review_of(desk).changed_lines()).decisions[last.call] == "reverted"
    await desk.undo.apply(await desk.undo.redo())
    assert (await review_of(desk).changed_lines()).decisions[last.call] == ""


async def test_hunks_of_several_files_and_turns_are_decided_in_one_action(desk: Desk) -> None:
    desk.put("a", LINES)
    desk.put("b", LINES)
    await desk.write(("a", swapped((2, "one\n"), (20, "two\n"))), ("b", swapped((2, "one\n"))))
    await desk.say()
    await desk.write(("a", swapped((2, "one\n"), (20, "two\n"), (10, "ten\n"))))
    review = review_of(desk)
    targets = [
        Target(turn, path, (((await review.diff(FileKey(turn, path))).hunks)[0].id,))
        for turn, path in ((2, "a"), (1, "a"), (1, "b"))
    ]
    await review.revert(*targets)
    assert (desk.root / "a").read_text() == swapped((20, "two\n"))
    assert (desk.root / "b").read_text() == LINES
    await review.keep(*targets)
    await review.undo()
    await review.undo()
    assert (desk.root / "a").read_text() == swapped((2, "one\n"), (20, "two\n"), (10, "ten\n"))
    assert (desk.root / "b").read_text() == swapped((2, "one\n"))
    assert not (await review.overview()).can_undo
