"""Which edits an undo takes back, and what it takes back in one step."""

import pytest

from cogency_tui.agent.edits.undo_selection import (
    latest_turn,
    latest_undo,
    made_in,
    steps,
    to_undo,
    undone_edits,
)
from cogency_tui.store.edit_records import ABSENT, Edit, Origin, Undone, Version

A, B, C, D = (Version("file", name * 64, 1, 0o644, True) for name in "abcd")


def edit(
    id: int, path: str = "a", before: Version = A, after: Version = B, *, old: str = "", turn: int = 1
) -> Edit:
    return Edit(
        path, before, after, old, id=id, origin=Origin("c", "c", turn, "/p"), call=f"c{id}", tool="edit"
    )


def undo(id: int, *targets: int, hunk: str = "", turn: int = 1, tool: str = "undo") -> Edit:
    undoes = tuple(Undone(target, hunk) for target in targets)
    return Edit(
        *("a", B, A, "", "", undoes),
        id=id,
        origin=Origin("c", "c", turn, "/p"),
        call=f"u{id}",
        tool=tool,
    )


def numbers(edits: list[Edit]) -> list[int]:
    return [each.id for each in edits]


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([edit(1), edit(2)], set[int]()),
        ([edit(1), undo(2, 1)], {1}),
        ([edit(1), undo(2, 1), undo(3, 2)], {2}),
        ([edit(1), undo(2, 1), undo(3, 2), undo(4, 3)], {1, 3}),
        ([edit(1), undo(2, 1), undo(3, 2), undo(4, 1)], {1, 2}),
        ([edit(1), undo(2, 1, hunk="h")], set[int]()),
    ],
)
def test_an_edit_is_taken_back_while_its_undo_holds(edits: list[Edit], expected: set[int]) -> None:
    assert undone_edits(edits) == expected


@pytest.mark.parametrize(
    ("edits", "wanted", "expected"),
    [
        ([edit(1), edit(2), edit(3)], {2, 3}, [2, 3]),
        # What is undone already is left alone.
        ([edit(1), edit(2), undo(3, 2)], {1, 2}, [1]),
        # An undo of something before the point is undone, one of something after it is not.
        ([edit(1), undo(2, 1), edit(3)], {2, 3}, [2, 3]),
        ([edit(1), edit(2), undo(3, 2)], {2, 3}, []),
        # One of both is undone, and then what it had taken back after the point, too.
        ([edit(1), edit(2), undo(3, 1, 2)], {2, 3}, [2, 3]),
        ([edit(1), edit(2, after=A)], {1, 2}, [1]),
        ([edit(1), undo(2, 1, hunk="h")], {1, 2}, [1]),
    ],
)
def test_what_has_to_be_undone(edits: list[Edit], wanted: set[int], expected: list[int]) -> None:
    assert numbers(to_undo(edits, wanted)) == expected


def test_the_last_turn_and_the_last_undo_that_hold() -> None:
    edits = [edit(1), edit(2, turn=2), undo(3, 2, turn=2)]
    assert latest_turn(edits) == 1
    assert made_in(edits, 2) == {2}
    assert latest_undo(edits) == {3}
    assert latest_turn([*edits, undo(4, 1, turn=2)]) is None
    assert latest_undo([*edits, undo(4, 3, turn=2, tool="redo")]) == set()
    assert latest_turn([edit(5, after=A)]) is None


def test_edits_that_follow_each_other_are_one_step() -> None:
    first, second, third = steps([edit(1), edit(2, before=B, after=C), edit(3, "b"), edit(4, before=D)])
    assert (first.change.before, first.change.after, first.undoes) == (D, B, (Undone(4),))
    assert (second.change.path, second.undoes) == ("b", (Undone(3),))
    assert (third.change.before, third.change.after, third.undoes) == (A, C, (Undone(1), Undone(2)))


@pytest.mark.parametrize(
    ("edits", "wanted", "expected"),
    [
        # What is undone after a later edit is still in that edit's content.
        ([edit(1), edit(2, before=B, after=C), undo(3, 1)], 2, (A, C)),
        # What was undone before is not, though the same content was there again.
        ([edit(1), undo(2, 1), edit(3), undo(4, 3)], 4, (B, A)),
        ([edit(1), undo(2, 1), edit(3, before=B, after=C)], 3, (B, C)),
        (
            [edit(1), edit(2, before=B, after=C), undo(3, 1), edit(4, before=C, after=D), undo(5, 2)],
            4,
            (C, D),
        ),
        # An undo that is itself undone does not count.
        ([edit(1), undo(2, 1), undo(3, 2), edit(4, before=B, after=C), undo(5, 1)], 4, (A, C)),
    ],
)
def test_an_edit_follows_those_that_were_in_effect(
    edits: list[Edit], wanted: int, expected: tuple[Version, Version]
) -> None:
    (step,) = steps([each for each in edits if each.id == wanted], edits)
    assert (step.change.before, step.change.after) == expected
    assert step.undoes == (Undone(wanted),)


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([edit(1, "b", A, A, old="a"), edit(2, "c", A, B, old="b")], [("c", "a", A, B)]),
        ([edit(1, "a", ABSENT, A), edit(2, "b", A, A, old="a")], [("b", "", ABSENT, A)]),
        ([edit(1, "b", A, A, old="a"), edit(2, "a", A, B, old="b")], [("a", "", A, B)]),
        ([edit(1, "b", A, A, old="a"), edit(2, "b", A, ABSENT)], [("b", "a", A, ABSENT)]),
        (
            [edit(1, "b", A, A, old="a"), edit(2, "a", ABSENT, C)],
            [("a", "", ABSENT, C), ("b", "a", A, A)],
        ),
    ],
)
def test_a_file_is_followed_through_its_names(
    edits: list[Edit], expected: list[tuple[str, str, Version, Version]]
) -> None:
    found = [
        (step.change.path, step.change.old_path, step.change.before, step.change.after)
        for step in steps(edits)
    ]
    assert found == expected
