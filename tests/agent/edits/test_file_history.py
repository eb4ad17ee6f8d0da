"""The history of files: which edits are of one file, and what they come to."""

import pytest

from cogency_tui.agent.edits.file_history import histories, history_at, path_today, renames
from cogency_tui.store.edit_records import ABSENT, Edit, Undone, Version

A, B, C = (Version("file", name * 64, 1, 0o644, True) for name in "abc")


def edit(number: int, path: str, before: Version, after: Version, old_path: str = "", made: str = "") -> Edit:
    return Edit(path, before, after, old_path, made, id=number, call=f"c{number}", tool="edit")


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([edit(1, "a", A, B), edit(2, "a", B, C)], [("a", "", A, C, True)]),
        ([edit(1, "a", A, B), edit(2, "a", A, C)], [("a", "", A, C, False)]),
        ([edit(1, "a", A, B), edit(2, "a", B, A)], []),
        ([edit(1, "a", ABSENT, B), edit(2, "a", B, ABSENT)], []),
        ([edit(1, "a", ABSENT, B), edit(2, "b", B, B, "a")], [("b", "", ABSENT, B, True)]),
        ([edit(1, "a", A, B), edit(2, "b", B, C, "a")], [("b", "a", A, C, True)]),
        ([edit(1, "b", A, A, "a"), edit(2, "a", A, A, "b")], []),
        ([edit(1, "b", A, A, "a"), edit(2, "b", A, ABSENT)], [("a", "", A, ABSENT, True)]),
        ([edit(1, "a", A, A)], []),
        ([edit(1, "a", A, B), edit(2, "b", A, B)], [("a", "", A, B, True), ("b", "", A, B, True)]),
    ],
)
def test_several_edits_of_a_file_come_to_one_change(
    edits: list[Edit], expected: list[tuple[str, str, Version, Version, bool]]
) -> None:
    assert [
        (
            *(each.change.path, each.change.old_path, each.change.before, each.change.after),
            all(revision.edit for revision in each.revisions),
        )
        for each in histories(edits)
    ] == expected
    assert not any(each.is_replaced for each in histories(edits))


def test_a_file_that_comes_to_the_path_of_another_replaces_it() -> None:
    edits = [edit(1, "a", A, ABSENT), edit(2, "a", B, B, "b"), edit(3, "a", B, C)]
    found = {(each.change.path, each.is_replaced): each.change for each in histories(edits)}
    assert found["a", True].kind == "deleted"
    assert (found["a", False].old_path, found["a", False].before, found["a", False].after) == ("b", B, C)
    assert history_at("a", edits) == edits[1:]
    assert history_at("a", [*edits, edit(4, "c", C, C, "a")]) == []
    assert history_at("b", edits) == []


def test_of_several_deleted_files_of_a_path_the_last_one_is_there() -> None:
    edits = [edit(1, "b", A, A, "a"), edit(2, "b", A, ABSENT), edit(3, "a", B, ABSENT)]
    found = [(each.change.path, each.change.before, each.is_replaced) for each in histories(edits)]
    assert found == [("a", A, True), ("a", B, False)]
    # A file that is there is so whenever it came.
    edits = [edit(1, "b", A, A, "a"), edit(2, "a", ABSENT, C), edit(3, "b", A, ABSENT)]
    assert [(each.change.kind, each.is_replaced) for each in histories(edits)] == [
        ("deleted", True),
        ("created", False),
    ]


@pytest.mark.parametrize(
    ("edits", "made"),
    [
        ([edit(1, "d/a", ABSENT, A, made="d"), edit(2, "d/a", A, B)], "d"),
        ([edit(1, "d/e/a", ABSENT, A, made="d"), edit(2, "d/e/a", A, B, made="d/e")], "d"),
        ([edit(1, "d/e/a", ABSENT, A, made="d/e"), edit(2, "d/e/a", A, B, made="d")], "d"),
        ([edit(1, "d/a", ABSENT, A, made="d"), edit(2, "e/a", A, A, "d/a", "e")], "e"),
        ([edit(1, "d/a", ABSENT, A, made="d"), edit(2, "a", A, A, "d/a")], ""),
    ],
)
def test_the_topmost_directory_made_for_a_file_goes_with_it(edits: list[Edit], made: str) -> None:
    (found,) = histories(edits)
    assert found.change.made == made


def test_a_path_is_followed_to_that_of_today() -> None:
    swap = [edit(2, "t", A, A, "a"), edit(3, "a", B, B, "b"), edit(4, "b", A, A, "t")]
    back = [
        Edit("a", B, A, undoes=(Undone(2), Undone(4)), id=5, call="u", tool="undo"),
        Edit("b", A, B, undoes=(Undone(3),), id=6, call="u", tool="undo"),
    ]
    renamed = renames([edit(1, "a", C, A), *swap])
    assert [path_today("a", renamed, after) for after in (0, 2, 3)] == ["b", "a", "a"]
    assert path_today("b", renamed, 0) == "a"
    # The undo of a swap is recorded as two changes, and moves the files all the same.
    renamed = renames([edit(1, "a", C, A), *swap, *back])
    assert [path_today(path, renamed, 1) for path in ("a", "b")] == ["a", "b"]


def test_the_path_of_a_replaced_file_is_not_followed_on() -> None:
    renamed = renames([edit(1, "a", A, ABSENT), edit(2, "a", B, B, "b"), edit(3, "c", B, B, "a")])
    assert path_today("a", renamed, 1) == "a"
    assert path_today("b", renamed, 1) == "c"
